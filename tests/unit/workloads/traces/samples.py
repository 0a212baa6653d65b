"""A few jobs of our own in the true form of every format, and where the real traces lie."""

import gzip
import os
from collections.abc import Iterable
from pathlib import Path

import pytest

GOOGLE_TABLE = """\
job_id,submit_us,schedule_us,end_us,end_event,sched_class,user_idx,logical_name_idx
11,0,0,,,3,0,0
12,700000000,701000000,761000000,FINISH,2,1,7
13,600000000,600500000,,,0,1,8
14,900000000,900000000,900000000,KILL,1,2,7
"""
# Job 3 is evicted and runs again; job 4 was submitted in a part that is not here.
GOOGLE_EVENTS = """\
0,,1,0,u1,3,n1,l1
600000000,,2,0,u1,2,n2,l2
610000000,,2,1,u1,2,n2,l2
650000000,,2,4,u1,2,n2,l2
700000000,,3,0,u2,0,n3,l2
700000000,,3,1,u2,0,n3,l2
800000000,,3,2,u2,0,n3,l2
900000000,,3,1,u2,0,n3,l2
901000000,,4,5,u2,0,n4,l4
"""
PHILLY = """\
timestamp,duration,num_gpus,gpu_time,cluster
2017-10-09 07:01:55,66.0,1,66.0,11cb48
2017-10-09 06:13:03,2951.0,8,23608.0,6214e9
2017-10-10 07:01:55,10.0,1,10.0,11cb48

"""
PHILLY_LOG = """[
{"status": "Pass", "vc": "ee9e8c", "jobid": "application_1", "attempts": [
   {"start_time": "2017-10-07 01:12:09", "end_time": "2017-10-07 01:13:23",
    "detail": [{"ip": "m47", "gpus": ["gpu0", "gpu1"]}]},
   {"start_time": "2017-10-07 01:13:30", "end_time": "2017-10-07 01:14:30",
    "detail": [{"ip": "m412", "gpus": ["gpu0", "gpu1"]}, {"ip": "m413", "gpus": ["gpu7"]}]}],
 "submitted_time": "2017-10-07 01:11:39", "user": "ce2f4c"},
{"status": "Killed", "vc": "ee9e8c", "jobid": "application_2", "attempts": [],
 "submitted_time": "2017-10-07 01:20:00", "user": "ce2f4c"},
{"status": "Killed", "vc": "0e4a51", "jobid": "application_3", "attempts": [
   {"start_time": "2017-10-07 01:00:09", "end_time": null, "detail": [{"ip": "m1", "gpus": ["gpu0"]}]}],
 "submitted_time": "2017-10-07 01:00:00", "user": "0a0a0a"}
]
"""
HELIOS = """\
job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
501,uAAAA,vcB,4,16,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:42:01,2020-06-09 18:52:01,600,60
502,uAAAA,vcB,0,8,1,COMPLETED,2020-06-09 18:41:02,2020-06-09 18:41:02,2020-06-09 18:41:12,10,0
503,uCCCC,vcD,16,64,2,CANCELLED,2020-06-09 18:40:00,2020-06-09 18:40:00,2020-06-09 18:41:00,60,0
504,uCCCC,vcD,1,1,1,CANCELLED,2020-06-09 18:45:00,None,2020-06-09 18:46:00,0,60
"""
PAI_TASKS = """\
4f057009a5d481acec67b088,ps,1.0,Terminated,1000.0,1900.0,600.0,29.296875,,
4f057009a5d481acec67b088,worker,2.0,Terminated,1100.0,1700.0,600.0,29.296875,50.0,MISC
4f057009a5d481acec67b089,tensorflow,3.0,Failed,2000.0,2060.0,600.0,29.296875,200.0,V100
4f057009a5d481acec67b08a,evaluator,1.0,Terminated,2000.0,2060.0,600.0,29.296875,,
4f057009a5d481acec67b08b,worker,1.0,Running,3000.0,,600.0,29.296875,100.0,T4
4f057009a5d481acec67b08c,worker,1.0,Waiting,,,600.0,29.296875,100.0,T4
"""
PAI_JOBS = f"""\
4f057009a5d481acec67b088,{"a" * 60},58540f191766,Terminated,990.0,1900.0
4f057009a5d481acec67b089,{"b" * 60},58540f191767,Failed,1900.0,2060.0
4f057009a5d481acec67b08b,{"c" * 60},58540f191767,Running,2500.0,
"""
PAI_TAGS = f"""\
{"b" * 60},58540f191767,V100,group-b,bert
{"a" * 60},58540f191766,MISC,group-a,
"""
OPENB = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
openb-pod-0000,12000,16384,1,460,,LS,Running,100,1100,150
openb-pod-0001,88000,327680,8,1000,V100M16|V100M32,Burstable,Succeeded,50,350,50
openb-pod-0002,20000,65536,0,0,,LS,Running,10,20,10
openb-pod-0003,11908,47104,1,1000,,BE,Pending,60,70,
"""
GAVEL_10 = """\
ResNet-18 (batch size 128)\tmain.py --batch_size 128\tcifar10\t--num_steps\t1\t3000\t2\t1\t-1.000000\t0
LM (batch size 5)\tpython main.py --cuda\tlm\t--steps\t1\t500\t1\t4\t1.200000\t120.5
"""
GAVEL_7 = """\
ResNet-18 (batch size 128)\tcd %s/ && python3 main.py\t--num_steps\t1\t3000\t10.000000\t2
LM (batch size 5)\tcd %s/ && python main.py --cuda\t--steps\t1\t500\t5.000000\t1
Idle\tcd %s/ && python main.py\t--steps\t1\t500\t7.000000\t0
"""
THROUGHPUTS = (
    """{"v100": {"('ResNet-18 (batch size 128)', 2)": {"null": 10.0, "('LM (batch size 5)', 1)": [1, 2]},"""
    """ "('LM (batch size 5)', 1)": {"null": 2.5}}, "k80": {"('LM (batch size 5)', 1)": {"null": 0.0}}}"""
)
TIRESIAS = """\
job_id,num_gpu,submit_time,iterations,model_name,duration,interval\r
0,1,0,606,vgg19,164,30\r
1,8,30,133,vgg11,147,23\r
"""
POLLUX = """\
name,time,application,num_replicas,batch_size
cifar10-0,107,cifar10,6,2048
bert-1,90,bert,2,96
"""

SAMPLES = {
    "google-2011 table": ("google-2011", [GOOGLE_TABLE]),
    "google-2011 events": ("google-2011", [GOOGLE_EVENTS]),
    "philly": ("philly", [PHILLY]),
    "philly-log": ("philly-log", [PHILLY_LOG]),
    "helios": ("helios", [HELIOS]),
    "alibaba-pai-2020": ("alibaba-pai-2020", [PAI_TASKS, PAI_JOBS, PAI_TAGS]),
    "alibaba-gpu-2023": ("alibaba-gpu-2023", [OPENB]),
    "gavel of 10": ("gavel", [GAVEL_10]),
    "gavel of 7": ("gavel", [GAVEL_7]),
    "tiresias": ("tiresias", [TIRESIAS]),
    "pollux": ("pollux", [POLLUX]),
}


def save(folder: Path, texts: Iterable[str | bytes], *, zipped: bool = False) -> list[Path]:
    """The texts as files whose names tell nothing."""
    paths = []
    for number, text in enumerate(texts):
        content = text.encode() if isinstance(text, str) else text
        paths.append(folder / f"file-{number}")
        paths[-1].write_bytes(gzip.compress(content, mtime=0) if zipped else content)
    return paths


def find_traces() -> Path | None:
    """The folder of the real traces, if it is there."""
    for folder in filter(None, (os.environ.get("GADGET_TRACES"), "../shared/traces")):
        if Path(folder).is_dir():
            return Path(folder)
    return None


TRACES = find_traces()
needs_traces = pytest.mark.skipif(TRACES is None, reason="the real traces are not there (GADGET_TRACES)")
