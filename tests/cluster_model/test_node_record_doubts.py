"""The facts and the ledger both read a node's amounts; what neither can read is reported once."""

from cluster_model.node_record import NodeRecord
from tests.cluster_model.node_builder import GPU, node


def test_an_unreadable_amount_is_reported_once() -> None:
    found = NodeRecord.read(node(allocatable={GPU: "x"}), None, ())
    assert [doubt.label for doubt in found.unreadable] == [f"status.allocatable[{GPU}]"]
