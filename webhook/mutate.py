"""/mutate: a new GPU pod is sent to our scheduler, and a pod whose cost is kept gets its first one. Refuses nothing.

Who wants the cost may not want the scheduler: the pod's or its namespace's switch decides on the cost alone.
"""

from cluster_model import deletion_cost, objects, request
from cluster_model.verdict import BadRequest
from webhook import patches, scope, typed
from webhook.config import Config
from webhook.review import Decision, Object, Operation, Review
from webhook.rules import Rules

_OPERATIONS = frozenset({"CREATE"})
# Their controllers never look at the cost.
_DEAF = frozenset({"StatefulSet", "Job", "DaemonSet"})


def decide(review: Review, rules: Rules) -> Decision:
    """Decide on one request from a namespace that says nothing of deletion costs."""
    return _decide(review, rules, {})


def decide_where_on(review: Review, rules: Rules) -> Decision:
    """Decide on one request from a namespace that is labelled `scheduling.gpu/deletion-cost: on`."""
    return _decide(review, rules, {deletion_cost.SWITCH: "on"})


def decide_where_off(review: Review, rules: Rules) -> Decision:
    """Decide on one request from a namespace that is labelled `scheduling.gpu/deletion-cost: off`."""
    return _decide(review, rules, {deletion_cost.SWITCH: "off"})


def _decide(review: Review, rules: Rules, namespace_labels: dict[str, str]) -> Decision:
    """Decide on one request; what is no new pod of ours passes unchanged."""
    rule = scope.unrelated(review, _OPERATIONS)
    body = review.object
    # Of all kinds with a pod template only pods themselves are changed: a changed template is a rollout.
    if rule or body is None or review.kind != "Pod":
        return _unchanged(rule or "unrelated-kind")
    if rule := scope.left_alone(review, body, rules.config):
        return _unchanged(rule)
    try:
        pod = typed.read(body)
    except BadRequest as error:
        return _unchanged("unreadable", f"not changed for {rules.config.scheduler_name}: {error}")
    passed = _passed_by(pod, rules)
    with_cost = _gets_cost(pod, deletion_cost.switched(pod.metadata.annotations, namespace_labels), passed is None)
    if passed and not (with_cost and rules.config.initial_deletion_cost is not None):
        return passed
    operations = () if passed else patches.scheduler_name(body, rules.config.scheduler_name)
    operations += _cost(body, rules.config) if with_cost else ()
    return _patched(operations, body, rules.config.scheduler_name, passed.warnings if passed else ())


def _passed_by(pod: objects.Pod, rules: Rules) -> Decision | None:
    """Say why a pod is not sent to our scheduler; None where it is."""
    name = rules.config.scheduler_name
    if not _is_wanted(request.parse(pod, rules.parsing).gpu, rules.config):
        return _unchanged("no-gpu" if rules.config.scope == "gpu" else "not-annotated")
    if pod.spec.node_name:
        return _unchanged("node-name-set", f"spec.nodeName is set: the pod bypasses {name}")
    if pod.spec.scheduler_name not in ("", patches.DEFAULT_SCHEDULER, name):
        return _unchanged("other-scheduler", f"spec.schedulerName names another scheduler: not sent to {name}")
    return None


def _is_wanted(gpu: request.GpuRequest, config: Config) -> bool:
    return gpu.annotated or (config.scope == "gpu" and gpu.asks)


def _gets_cost(pod: objects.Pod, switched: bool | None, ours: bool) -> bool:
    """Say whether a pod starts with a cost: as it or its namespace says, else if our scheduler gets it."""
    owners = {owner.kind for owner in pod.metadata.owner_references if owner.controller}
    return not owners & _DEAF and (ours if switched is None else switched)


def _cost(body: Object, config: Config) -> tuple[Operation, ...]:
    if config.initial_deletion_cost is None:
        return ()
    return patches.annotation(body, deletion_cost.ANNOTATION, str(config.initial_deletion_cost))


def _patched(operations: tuple[Operation, ...], body: Object, name: str, warnings: tuple[str, ...]) -> Decision:
    if not operations:
        # The second look at our own work says nothing: the first one is in the audit log already.
        return Decision(True, "already-set", audited=False)
    try:
        patches.apply(operations, body)
    except patches.DoesNotApply as error:
        return _unchanged("patch-failed", f"not changed for {name}: the patch does not apply: {error}")
    return Decision(True, "mutated", warnings=warnings, patch=operations)


def _unchanged(rule: str, *warnings: str) -> Decision:
    return Decision(True, rule, warnings=warnings)
