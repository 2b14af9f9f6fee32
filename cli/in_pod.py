"""What a long-running verb finds where it runs as a pod, and how it sets its interpreter up."""

from pathlib import Path

NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
NAMESPACE = "gpu-scheduler"
# Nearly nothing here is cyclic. With Python's own thresholds a fourteenth of the process's time goes into looking.
COLLECT = (20_000, 50, 100)


def own_namespace(file: Path) -> str:
    """Say in which namespace this pod runs; the product's own where it is no pod."""
    try:
        return file.read_text(encoding="utf-8").strip() or NAMESPACE
    except OSError:
        return NAMESPACE
