"""/validate: refuses what the one parser cannot understand, in pods and in pod templates. Changes nothing."""

from collections.abc import Sequence

from cluster_model import deletion_cost, objects, request
from cluster_model.verdict import BadRequest, Problem
from webhook import scope, templates, typed
from webhook.review import Decision, Object, Review
from webhook.rules import Rules

_OPERATIONS = frozenset({"CREATE", "UPDATE"})
# The others' controllers never look at the deletion cost; of a bare pod's owner we know nothing.
_HEED_DELETION_COST = frozenset({"Pod", "Deployment", "ReplicaSet"})


def decide(review: Review, rules: Rules) -> Decision:
    """Decide on one request: on CREATE every problem refuses, on UPDATE only those the old object did not have."""
    rule = scope.unrelated(review, _OPERATIONS)
    if rule or review.object is None:
        return Decision(True, rule or "no-object")
    try:
        template = templates.find(review.group, review.kind, review.object)
        if rule := scope.left_alone(review, template.raw, rules.config):
            return Decision(True, rule)
        pod = typed.read(template.raw, template.at)
    except BadRequest as error:
        return _unreadable(review, error.problems, rules)
    return _judged(review, pod, template.at, rules)


def problems(review: Review, body: Object, rules: Rules) -> tuple[Problem, ...]:
    """Return all that is wrong with an object, as field paths from its root."""
    try:
        template = templates.find(review.group, review.kind, body)
        pod = typed.read(template.raw, template.at)
    except BadRequest as error:
        return error.problems
    return request.parse(pod, rules.parsing, template.at).problems


def _judged(review: Review, pod: objects.Pod, at: str, rules: Rules) -> Decision:
    asked = request.parse(pod, rules.parsing, at)
    warnings = (*_unheeded(review, pod, at, rules), *asked.warnings)
    found = _new(review, asked.problems, rules)
    if found:
        return Decision(False, "invalid", aggregate(found), warnings)
    return Decision(True, "valid", warnings=warnings)


def _unreadable(review: Review, found: Sequence[Problem], rules: Rules) -> Decision:
    """Refuse a wrong type, unless it was there before or the configuration lets it pass."""
    if rules.config.validation.unreadable == "Deny" and _new(review, found, rules):
        return Decision(False, "unreadable", aggregate(found))
    return Decision(True, "unreadable", warnings=tuple(map(str, found)))


def _new(review: Review, found: Sequence[Problem], rules: Rules) -> list[Problem]:
    """Drop what the old object had too: a stricter rule must not freeze what is already running."""
    if review.operation != "UPDATE" or review.old_object is None or not found:
        return list(found)
    before = problems(review, review.old_object, rules)
    return [problem for problem in found if problem not in before]


def _unheeded(review: Review, pod: objects.Pod, at: str, rules: Rules) -> list[str]:
    """Warn of settings that have no effect where they stand; controllers' pods are warned of at their workload."""
    prefix = f"{at}." if at else ""
    texts = []
    if pod.spec.node_name and review.operation == "CREATE":
        texts.append(f"{prefix}spec.nodeName is set: the pod bypasses {rules.config.scheduler_name}")
    if deletion_cost.ANNOTATION in pod.metadata.annotations and review.kind not in _HEED_DELETION_COST:
        texts.append(
            f"{prefix}metadata.annotations[{deletion_cost.ANNOTATION}]: has no effect on pods of a {review.kind}"
        )
    return texts


def aggregate(found: Sequence[Problem]) -> str:
    """Join problems as the API server does: one bare, several in brackets, none twice."""
    texts = list(dict.fromkeys(map(str, found)))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
