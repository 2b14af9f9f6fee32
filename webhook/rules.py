"""What both endpoints decide by: the configuration, and what the one parser takes from it."""

from dataclasses import dataclass

from cluster_model import request
from cluster_model.gpu_models import KnownModels
from webhook.config import Config


@dataclass(frozen=True, slots=True)
class Rules:
    """Built once from the configuration, shared by every request."""

    config: Config
    parsing: request.Rules

    @classmethod
    def of(cls, config: Config) -> "Rules":
        """Build them from a configuration."""
        models = config.models
        return cls(config, request.Rules(KnownModels.extended(models.extra), models.allow_unknown))
