"""How a ReplicaSet reads: its name, its policy, and how its pods are asked."""

from typing import Any

from deletion_cost import workload
from deletion_cost.policy import Policy
from deletion_cost.workload import Workload
from tests.deletion_cost.build import pod, replica_set

ALL = frozenset({"none", "endpoint", "prometheus", "metrics"})
PORTS = [{"name": "http", "containerPort": 80}, {"name": "deletion-cost", "containerPort": 81}]


def read(**annotations: str) -> Workload:
    return workload.read(replica_set("web-1", 5, "web", **annotations), Policy(), ALL)


def with_spec(**spec: Any) -> Any:
    return pod("p", spec=spec)


def test_a_workload_has_the_name_that_users_know() -> None:
    bare = workload.read(replica_set("bare"), Policy(), ALL)
    assert (read().name, bare.name, bare.owner.kind, bare.owner.uid) == ("web", "bare", "ReplicaSet", "uid-bare")


def port(wished: str | None, **spec: Any) -> int:
    found = workload.target(read(**({} if wished is None else {"port": wished})), with_spec(**spec))
    return 0 if found is None else found.port


def test_the_port_is_the_one_named_or_the_one_called_deletion_cost() -> None:
    containers = [{"name": "c", "ports": PORTS}]
    assert [port(wished, containers=containers) for wished in (None, "http", "8080", "absent")] == [81, 80, 8080, 0]
    assert port(None, containers=[{"name": "c"}]) == 0


def test_a_sidecar_may_answer_and_an_init_container_may_not() -> None:
    assert port(None, initContainers=[{"name": "s", "ports": PORTS, "restartPolicy": "Always"}]) == 81
    assert port(None, initContainers=[{"name": "i", "ports": PORTS}]) == 0


def test_nothing_is_asked_without_a_source() -> None:
    assert workload.target(read(source="none"), with_spec()) is None


def test_a_query_needs_neither_port_nor_address() -> None:
    found = workload.target(read(query="up"), with_spec())
    assert found is not None
    assert (found.query, found.workload, found.namespace, found.port) == ("up", "web", "ns", 0)


def cpu(*amounts: str) -> list[dict[str, Any]]:
    return [{"name": "c", "resources": {"requests": {"cpu": amount}}} for amount in amounts]


def test_requests_are_those_of_running_containers_or_the_pods_own() -> None:
    beside = [{**cpu("100m")[0], "restartPolicy": "Always"}, *cpu("7")]
    assert workload.requested_cpu_milli(with_spec(containers=cpu("1", "250m"), initContainers=beside)) == 1350
    own = {"requests": {"cpu": "4"}}
    assert workload.requested_cpu_milli(with_spec(containers=cpu("1"), resources=own)) == 4000
    assert workload.target(read(source="metrics"), with_spec(containers=[{"name": "c"}])) is None
