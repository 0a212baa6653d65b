"""What is done about a ring: it is handed in to Slurm, or its job is told something."""

import time
from dataclasses import replace

from gadget.backends.backend import EngineAway, RingMoved
from gadget.backends.ring_folder import RingFolder
from gadget.backends.slurm_answers import Refused
from gadget.backends.slurm_commands import Slurm
from gadget.backends.slurm_options import SlurmOptions, says_whom_to_charge
from gadget.backends.slurm_queue import SlurmQueue
from gadget.backends.slurm_ring import Deed, SlurmRing
from gadget.backends.slurm_script import build_sbatch, find_job_name
from gadget.backends.slurm_servers import Servers
from gadget.errors import printable

# Beyond the time for which a command waits for its answer.
_LATE_SECONDS = 2.0
# Words of a refusal that is no fault of the job: limits, closed partitions and nodes, a queue that is full.
_NO_ROOM = (
    "policy",
    "limit",
    "required node not available",
    "required partition not available",
    "partition configuration not available now",
    "nodes are busy",
    "temporarily",
    "reservation",
    "try again",
)
# And of one that is the operator's, unless the job itself has said whom it is charged to.
_NO_RIGHT = ("account", "association", "qos", "wckey", "not permitted", "access", "permission")


class SlurmHand:
    """Does deeds, one after another; EngineAway if Slurm does not answer."""

    def __init__(
        self, slurm: Slurm, queue: SlurmQueue, servers: Servers, folder: RingFolder, options: SlurmOptions
    ) -> None:
        self._slurm, self._queue, self._servers = slurm, queue, servers
        self._folder, self._options = folder, options

    def do(self, ring: SlurmRing, deed: Deed) -> RingMoved | None:
        """Do it; gives how the ring ended, if Slurm refused it."""
        if deed is Deed.SUBMIT:
            return self._submit(ring)
        if not ring.lead:
            return None
        match deed:
            case Deed.ASK:
                self._slurm.signal_batch(ring.lead, "USR1")
            case Deed.END:
                self._slurm.signal_batch(ring.lead, "USR2")
            case Deed.KILL:
                self._slurm.kill_step(ring.numbers)
            case Deed.CANCEL:
                self._slurm.cancel([ring.lead])
            case Deed.READ_BOOKS:
                name = find_job_name(self._queue.comment(ring.key))
                ring.note_books(self._slurm.read_books(ring.lead, name))
        return None

    def _submit(self, ring: SlurmRing) -> RingMoved | None:
        order = ring.order
        assert order is not None  # rings of an earlier life are not handed in
        if ring.is_unsure(self._queue.asked, self._servers.settings.message_seconds + _LATE_SECONDS):
            return None  # nobody heard the answer to the last try; a later look at the queue shows it
        options = replace(self._options, partition=self._servers.partition)
        words = build_sbatch(order, self._folder, options, self._queue.comment(ring.key))
        try:
            number = self._slurm.submit(words)
        except Refused as error:
            reason = printable(str(error))
            return ring.refuse(reason, taken=is_no_fault(reason, charges_itself=says_whom_to_charge(order)))
        except EngineAway:
            ring.doubt(time.time())
            raise
        ring.hand_in(time.time(), number)
        return None


def is_no_fault(reason: str, *, charges_itself: bool) -> bool:
    """Whether Slurm refused a ring for what its job can do nothing about."""
    said = reason.lower()
    words = _NO_ROOM if charges_itself else (*_NO_ROOM, *_NO_RIGHT)
    return any(word in said for word in words)
