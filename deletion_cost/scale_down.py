"""How many pods a HorizontalPodAutoscaler may take at the next scale-down, as its controller reads it. Pure."""

import math

from cluster_model.objects import ApiObject, ObjectMeta

DEFAULT_WINDOW_SECONDS = 300


class ScalingPolicy(ApiObject, frozen=True):
    type: str = ""
    value: int = 0
    period_seconds: int = 15


class ScalingRules(ApiObject, frozen=True):
    stabilization_window_seconds: int | None = None
    select_policy: str = "Max"
    policies: tuple[ScalingPolicy, ...] = ()


class Behavior(ApiObject, frozen=True):
    scale_down: ScalingRules = ScalingRules()


class ScaleTarget(ApiObject, frozen=True):
    kind: str = ""
    name: str = ""


class AutoscalerSpec(ApiObject, frozen=True):
    scale_target_ref: ScaleTarget = ScaleTarget()
    min_replicas: int = 1
    behavior: Behavior = Behavior()


class HorizontalPodAutoscaler(ApiObject, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: AutoscalerSpec = AutoscalerSpec()


EVERYTHING = (ScalingPolicy(type="Percent", value=100),)  # Kubernetes' default


def window_seconds(autoscaler: HorizontalPodAutoscaler) -> int:
    """Say how long a lower number must be wished before the autoscaler acts on it."""
    set_to = autoscaler.spec.behavior.scale_down.stabilization_window_seconds
    return DEFAULT_WINDOW_SECONDS if set_to is None else set_to


def most_victims(autoscaler: HorizontalPodAutoscaler, replicas: int, within_seconds: float) -> int:
    """Say how many pods can go within a time: what is above minReplicas and what the policies allow."""
    spare = max(0, replicas - autoscaler.spec.min_replicas)
    rules = autoscaler.spec.behavior.scale_down
    if rules.select_policy == "Disabled":
        return 0
    allowed = [_allowed(policy, replicas, within_seconds) for policy in rules.policies or EVERYTHING]
    return min(spare, min(allowed) if rules.select_policy == "Min" else max(allowed))


def _allowed(policy: ScalingPolicy, replicas: int, within_seconds: float) -> int:
    """Say how many pods one policy lets go in all the periods that the time touches; a share of the rest each time."""
    periods = math.ceil(within_seconds / max(1, policy.period_seconds))
    if policy.type == "Pods":
        return policy.value * max(1, periods)
    left = replicas
    for _ in range(min(max(1, periods), replicas)):
        left = math.floor(left * (1 - policy.value / 100))
    return replicas - left
