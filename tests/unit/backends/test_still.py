"""An engine that is only looked at has a cluster, and obeys nobody."""

import pytest

from gadget.backends.backend import Dismissal, Launch, RingKey
from gadget.backends.still import StillBackend
from gadget.errors import BadOption
from tests.engines import build_cluster, build_launch


def test_orders_change_nothing() -> None:
    still, told = StillBackend(build_cluster()), []
    assert still.open(told.append).cluster == build_cluster()
    order: Launch = build_launch("job", 1, ["s0"], "true")
    still.launch(order)
    still.dismiss(Dismissal(order.key, 0.0))
    still.forget(RingKey("job", 1))
    assert list(still.survey()) == []
    with pytest.raises(BadOption, match="only observes"):
        still.read_log("job", rank=0, lines=10)
    still.close(keep_rings=False)
    assert told == []
