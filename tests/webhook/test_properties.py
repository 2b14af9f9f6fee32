"""What holds for any pod: the patch applies, once is enough, nothing else is touched, the uid comes back."""

import copy
import json
from typing import Any

import jsonpatch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.webhook.build import COST, FRACTION, MEMORY, MODEL, patch, review, workload
from webhook import config as configuration
from webhook import templates
from webhook.app import create_app
from webhook.patches import ANNOTATIONS, SCHEDULER_NAME

APPS = {scope: create_app(configuration.read(f"scope: {scope}")).test_client() for scope in ("annotated", "gpu")}
ALLOWED_PATHS = (SCHEDULER_NAME, ANNOTATIONS, f"{ANNOTATIONS}/controller.kubernetes.io~1pod-deletion-cost")

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=8
)
keys = st.sampled_from([MODEL, MEMORY, FRACTION, COST, "gpu.nvidia.com/x", "a/b~c"]) | st.text(max_size=9)
values = st.sampled_from(["A100", "A100-80GB,H100", "40Gi", "0.5", "1", "-50", ""]) | st.text(max_size=9)
amounts = st.sampled_from(["1", 2, "0", "500m", "-1", "x"])
resources = st.fixed_dictionaries(
    {}, optional={"limits": st.dictionaries(st.sampled_from(["nvidia.com/gpu", "cpu"]), amounts)}
)
containers = st.lists(st.fixed_dictionaries({"name": st.text(max_size=5)}, optional={"resources": resources}))
meta = st.fixed_dictionaries(
    {},
    optional={"annotations": st.none() | st.dictionaries(keys, values, max_size=5), "labels": st.none(), "z": anything},
)
spec = st.fixed_dictionaries(
    {"containers": containers},
    optional={
        "schedulerName": st.sampled_from(["default-scheduler", "gpu-scheduler", "other", "", None]),
        "z": anything,
    },
)
pods = st.fixed_dictionaries({"kind": st.just("Pod"), "metadata": meta, "spec": spec})
wild_pods = st.fixed_dictionaries(
    {"kind": st.just("Pod")}, optional={"metadata": anything | meta, "spec": anything | spec}
)
scopes = st.sampled_from(sorted(APPS))
surrogate_free = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


def ask(scope: str, path: str, body: Any) -> Any:
    answered = APPS[scope].post(path, data=json.dumps(body))
    assert answered.status_code == 200
    return json.loads(answered.data)["response"]


@given(scopes, pods | wild_pods)
@settings(deadline=None)
def test_patch_applies_touches_only_what_it_may_and_once_is_enough(scope: str, pod: Any) -> None:
    operations = patch(ask(scope, "/mutate", review(pod)))
    patched = jsonpatch.apply_patch(pod, operations)

    assert {step["path"] for step in operations} <= set(ALLOWED_PATHS)
    assert patch(ask(scope, "/mutate", review(patched))) == []
    assert untouched(patched) == untouched(pod)


def untouched(pod: Any) -> Any:
    """The pod without what a patch may touch."""
    rest = copy.deepcopy(pod)
    for parent, key in (("spec", "schedulerName"), ("metadata", "annotations")):
        if isinstance(rest.get(parent), dict):
            left = rest[parent].pop(key, None)
            if isinstance(left, dict):
                rest[parent][key] = {name: value for name, value in left.items() if name != COST} or None
            rest[parent] = {name: value for name, value in rest[parent].items() if value is not None}
    return rest


@given(scopes, pods)
@settings(deadline=None)
def test_mutation_changes_nothing_about_the_verdict(scope: str, pod: Any) -> None:
    patched = jsonpatch.apply_patch(pod, patch(ask(scope, "/mutate", review(pod))))

    before, after = (ask(scope, "/validate", review(body)) for body in (pod, patched))

    assert before == after


@given(surrogate_free, st.sampled_from(["/mutate", "/validate"]), pods | wild_pods)
@settings(deadline=None)
def test_uid_comes_back_byte_for_byte(uid: str, path: str, pod: Any) -> None:
    assert ask("annotated", path, review(pod, uid=uid))["uid"] == uid


@given(st.sampled_from(["/mutate", "/validate"]), st.sampled_from([kind for _, kind in templates.PATHS]), anything)
@settings(deadline=None)
def test_any_object_of_any_kind_is_answered_without_a_failure_of_ours(path: str, kind: str, anything: Any) -> None:
    body = anything if kind == "Pod" else workload(kind, {"spec": anything, "metadata": anything})

    response = ask("annotated", path, review(body) if isinstance(body, dict) else review(None, object=body))

    assert response["auditAnnotations"]["rule"] != "failed"


@given(st.binary() | anything.map(lambda value: json.dumps({"request": value}).encode()))
@settings(deadline=None)
def test_any_body_is_answered_with_200_or_400(body: bytes) -> None:
    for path in ("/mutate", "/validate"):
        assert APPS["annotated"].post(path, data=body).status_code in (200, 400)


@given(pods, pods)
@settings(deadline=None)
def test_update_never_refuses_what_the_old_object_had(old: Any, new: Any) -> None:
    created = ask("annotated", "/validate", review(new))
    updated = ask("annotated", "/validate", review(new, operation="UPDATE", old=old))

    assert updated["allowed"] or not created["allowed"]
    assert ask("annotated", "/validate", review(old, operation="UPDATE", old=old))["allowed"]
