"""The configuration of a Slurm of the tests, and of the daemon that keeps its books."""

CONF = """
ClusterName=gadgettest
SlurmctldHost={host}({address})
SlurmctldPort={port}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmdLogFile={folder}/slurmd-%n.log
SlurmdSpoolDir={folder}/spool-%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters={counted}
TopologyPlugin=topology/tree
GresTypes=gpu
SlurmdParameters=config_overrides
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost={address}
AccountingStoragePass={folder}/munge.socket
AccountingStoragePort={books}
AccountingStoreFlags=job_comment
MinJobAge={forget}
JobAcctGatherType=jobacct_gather/none
PropagateResourceLimits=NONE
ReturnToService=2
SlurmdTimeout=5
SlurmctldTimeout=5
MessageTimeout=5
KillWait=1
InactiveLimit=0
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,bf_resolution=1,sched_min_interval=0,sched_interval=2,batch_sched_delay=0
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
PartitionName=other Nodes=ALL MaxTime=INFINITE State=UP
"""

BOOKS = """
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
DbdHost={host}
DbdAddr={address}
DbdPort={books}
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageLoc=gadgettest
StorageUser=root
LogFile={folder}/slurmdbd.log
PidFile={folder}/slurmdbd.pid
"""
