"""Pod deletion cost: the controller that follows pods' load, and what an application imports to report its own."""

from deletion_cost.reporter import DeletionCostReporter, ReporterSettings
from deletion_cost.tracker import ConnectionTracker

__all__ = ["ConnectionTracker", "DeletionCostReporter", "ReporterSettings"]
