"""What is settled when the sources are opened."""

import resource

from deletion_cost.sources import opening


def test_half_of_the_descriptors_stay_free() -> None:
    """With 1024 descriptors half may be kept connections; with as many as one likes there still is a limit."""
    assert opening.kept_connections(1024) == 512
    assert opening.kept_connections(1 << 20) == opening.MOST_KEPT
    assert opening.kept_connections(resource.RLIM_INFINITY) == opening.MOST_KEPT
