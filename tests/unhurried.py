"""Hypothesis settings for a busy machine: slow examples say nothing about a claim; the whole run is limited anyway."""

from hypothesis import HealthCheck, settings

UNHURRIED = settings(deadline=None, suppress_health_check=(HealthCheck.too_slow,))
