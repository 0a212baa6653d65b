"""From what the service shows of itself to what the routes say of servers."""

from collections import defaultdict
from collections.abc import Mapping

from gadget.api.schemas import LinkShown, NodeBrief, Nodes, NodeShown, WorkersHere
from gadget.api.usage import Amounts, find_reserved, find_used
from gadget.engine.state import State
from gadget.model.cluster import Server


def show_nodes(state: State) -> Nodes:
    """The servers in the order of the cluster."""
    used, hosted = find_used(state), _find_hosted(state)
    nodes = [_brief(state, server, used, hosted) for server in state.cluster.servers]
    return Nodes(total=len(nodes), nodes=nodes)


def show_node(state: State, name: str) -> NodeShown:
    """A server of the cluster, with its links."""
    server = state.cluster.server_by_name[name]
    reserved = find_reserved(state)
    links = [
        LinkShown(
            to=other,
            gbps=gbps,
            out_gbps=reserved.get((name, other), 0.0),
            in_gbps=reserved.get((other, name), 0.0),
        )
        for other, gbps in state.cluster.neighbours[name].items()
    ]
    return NodeShown(**_brief(state, server, find_used(state), _find_hosted(state)).model_dump(), links=links)


def find_server_state(state: State, server: str) -> str:
    """`up`, `drained` or `down`; one that is both drained and down is down."""
    if server in state.down:
        return "down"
    return "drained" if server in state.drained else "up"


def _find_hosted(state: State) -> Mapping[str, Mapping[str, int]]:
    hosted: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for ring in state.running.rings:
        for server, workers in ring.workers_by_server().items():
            hosted[server][ring.job] = workers
    return hosted


def _brief(
    state: State, server: Server, used: Mapping[str, Amounts], hosted: Mapping[str, Mapping[str, int]]
) -> NodeBrief:
    taken = used.get(server.name, {})
    return NodeBrief(
        name=server.name,
        state=find_server_state(state, server.name),
        resources=dict(server.resources),
        used={resource: taken.get(resource, 0.0) for resource in server.resources},
        workers=[
            WorkersHere(
                job=job,
                workers=count,
                used={name: amount * count for name, amount in state.record_of(job).job.resources.items()},
            )
            for job, count in hosted.get(server.name, {}).items()
        ],
    )
