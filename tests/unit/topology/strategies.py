"""Random topologies that the formats with writers can hold."""

from hypothesis import strategies as st

from gadget.topology.network import Cable, Host, Switch, Topology

NAMES = st.from_regex(r"[a-d](-?[a-d0-9]){0,5}", fullmatch=True)


@st.composite
def trees(draw: st.DrawFn, *, speeds: bool, levels: bool) -> Topology:
    """A tree of switches with hosts at its leaves, in the order in which a file would tell it.

    With `speeds` all links below a switch have one bandwidth or none; with `levels` tiers have names.
    """
    height = draw(st.integers(1, 3))
    taken: set[str] = set()

    def new_name() -> str:
        name = draw(NAMES.filter(lambda name: name not in taken))
        taken.add(name)
        return name

    switches = [Switch(new_name(), height)]
    cables: list[Cable] = []
    above = [switches[0].name]
    for tier in range(height - 1, 0, -1):
        parents, above = above, []
        for parent in parents:
            above += (children := [new_name() for _ in range(draw(st.integers(1, 3)))])
            switches += [Switch(child, tier) for child in children]
            cables += [Cable((child, parent)) for child in children]
    hosts: list[Host] = []
    for leaf in above:
        children = [new_name() for _ in range(draw(st.integers(1, 4)))]
        hosts += map(Host, children)
        cables += [Cable((child, leaf)) for child in children]
    if speeds:
        speed = st.none() | st.integers(0, 3200)
        chosen = {switch.name: draw(speed) for switch in switches}
        cables = [Cable(cable.ends, chosen[cable.ends[1]]) for cable in cables]
    named = {tier: f"level-{tier}" for tier in range(1, height + 1) if levels and draw(st.booleans())}
    return Topology(tuple(hosts), tuple(switches), tuple(cables), named)
