"""/mutate: a new GPU pod is sent to our scheduler and gets its initial deletion cost. Never refuses anything."""

from cluster_model import deletion_cost, objects, request
from cluster_model.verdict import BadRequest
from webhook import patches, scope, typed
from webhook.config import Config
from webhook.review import Decision, Object, Operation, Review
from webhook.rules import Rules

_OPERATIONS = frozenset({"CREATE"})


def decide(review: Review, rules: Rules) -> Decision:
    """Decide on one request; everything that is not a new GPU pod passes unchanged."""
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
    return _gpu_pod(pod, body, rules)


def _gpu_pod(pod: objects.Pod, body: Object, rules: Rules) -> Decision:
    name = rules.config.scheduler_name
    if not _is_wanted(request.parse(pod, rules.parsing).gpu, rules.config):
        return _unchanged("no-gpu" if rules.config.scope == "gpu" else "not-annotated")
    if pod.spec.node_name:
        return _unchanged("node-name-set", f"spec.nodeName is set: the pod bypasses {name}")
    if pod.spec.scheduler_name not in ("", patches.DEFAULT_SCHEDULER, name):
        return _unchanged("other-scheduler", f"spec.schedulerName names another scheduler: not sent to {name}")
    return _patched(_operations(body, rules.config), body, name)


def _is_wanted(gpu: request.GpuRequest, config: Config) -> bool:
    return gpu.annotated or (config.scope == "gpu" and gpu.asks)


def _operations(body: Object, config: Config) -> tuple[Operation, ...]:
    operations = patches.scheduler_name(body, config.scheduler_name)
    if config.initial_deletion_cost is not None:
        operations += patches.annotation(body, deletion_cost.ANNOTATION, str(config.initial_deletion_cost))
    return operations


def _patched(operations: tuple[Operation, ...], body: Object, name: str) -> Decision:
    if not operations:
        # The second look at our own work says nothing: the first one is in the audit log already.
        return Decision(True, "already-set", audited=False)
    try:
        patches.apply(operations, body)
    except patches.DoesNotApply as error:
        return _unchanged("patch-failed", f"not changed for {name}: the patch does not apply: {error}")
    return Decision(True, "mutated", patch=operations)


def _unchanged(rule: str, *warnings: str) -> Decision:
    return Decision(True, rule, warnings=warnings)
