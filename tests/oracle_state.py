"""The snapshot's columns against its nodes and pods, each added up anew."""

from cluster_model.state import ClusterState
from tests.oracle_images import image_names
from tests.oracle_view import View, views


def check(state: ClusterState) -> None:
    """Assert that every column of the snapshot is what its nodes and pods say, each added up anew."""
    snapshot = state.snapshot()
    assert len(set(snapshot.names)) == len(snapshot)
    for row, view in enumerate(views(state)):
        assert snapshot.nodes.rows[view.name] == row
        check_node(state, row, view)
        check_usage(state, row, view)


def check_node(state: ClusterState, row: int, view: View) -> None:
    nodes, facts = state.snapshot().nodes, view.facts
    assert {name: int(column[row]) for name, column in nodes.allocatable.items()} == {
        name: view.has(name) for name in nodes.allocatable
    }
    assert set(view.node.status.allocatable) <= {*nodes.allocatable, "pods"}
    assert nodes.max_pods[row] == view.has("pods")
    assert bool(nodes.unschedulable[row]) == view.node.spec.unschedulable
    assert nodes.taints.at(row) == view.node.spec.taints
    assert nodes.gpu_model.at(row) == facts.model
    assert nodes.gpu_memory_mib[row] == (-1 if facts.memory_mib is None else facts.memory_mib)
    assert nodes.gpu_utilization[row] == (-1 if facts.utilization is None else facts.utilization)
    assert nodes.features.at(row) == frozenset(view.node.status.declared_features)
    held = {name for name in nodes.images.spreads if nodes.images.holders(name)[row]}
    assert held == image_names(view.node)
    for key in {*nodes.label_columns, *view.node.metadata.labels}:
        assert nodes.label(key).at(row) == view.node.metadata.labels.get(key)


def check_usage(state: ClusterState, row: int, view: View) -> None:
    usage = state.snapshot().usage
    assert {name: int(column[row]) for name, column in usage.requested.items()} == {
        name: view.held(name) for name in state.snapshot().resources
    }
    assert usage.nonzero_milli_cpu[row] == view.held_with_defaults("cpu")
    assert usage.nonzero_memory_bytes[row] == view.held_with_defaults("memory")
    assert usage.pods[row] == len(view.pods)
    assert usage.ports.at(row) == frozenset(port for pod in view.pods for port in pod.host_ports)
