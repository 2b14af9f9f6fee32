"""JSON patches of few `test` and `add` operations, built by hand and applied before they are sent.

A patch that does not apply breaks the creation of the pod even under failurePolicy Ignore, so none may leave untried.
"""

import jsonpatch
import jsonpointer

from webhook.review import Object, Operation

DEFAULT_SCHEDULER = "default-scheduler"
# All that a patch of ours may touch.
SCHEDULER_NAME = "/spec/schedulerName"
ANNOTATIONS = "/metadata/annotations"


class DoesNotApply(ValueError):
    """A patch that the object refuses."""


def scheduler_name(body: Object, wanted: str) -> tuple[Operation, ...]:
    """Send the pod to a scheduler; the caller knows that it names the default one or none."""
    current = (body.get("spec") or {}).get("schedulerName")
    add = {"op": "add", "path": SCHEDULER_NAME, "value": wanted}
    if current == wanted:
        return ()
    return ({"op": "test", "path": SCHEDULER_NAME, "value": current}, add) if current else (add,)


def annotation(body: Object, key: str, value: str) -> tuple[Operation, ...]:
    """Add an annotation that is absent, and the map where that is absent too; never replace either."""
    present = (body.get("metadata") or {}).get("annotations")
    if present is None:
        return ({"op": "add", "path": ANNOTATIONS, "value": {key: value}},)
    if present.get(key) is not None:
        return ()
    return ({"op": "add", "path": f"{ANNOTATIONS}/{jsonpointer.escape(key)}", "value": value},)


def apply(operations: tuple[Operation, ...], body: Object) -> Object:
    """Apply to a copy, as the API server will; raise DoesNotApply where it would fail."""
    copy = dict(body)
    # Only what a patch of ours can touch is copied: a deep copy would cost more than all the rest of the answer.
    for key in ("metadata", "spec"):
        if isinstance(copy.get(key), dict):
            copy[key] = dict(copy[key])
    if isinstance(copy.get("metadata"), dict) and isinstance(copy["metadata"].get("annotations"), dict):
        copy["metadata"]["annotations"] = dict(copy["metadata"]["annotations"])
    try:
        applied: Object = jsonpatch.JsonPatch(operations).apply(copy, in_place=True)
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException, TypeError, KeyError) as error:
        raise DoesNotApply(str(error)) from error
    return applied
