"""The dashboard's form: what Grafana's sidecar takes, and what dashboard-linter asks of one."""

from __future__ import annotations

import re

import pytest

from tests.manifests import rendering
from tests.monitoring import dashboard
from tests.monitoring.dashboard import Json

PANELS = dashboard.panels()
TYPES = {"timeseries", "stat", "table", "histogram", "bargauge", "piechart", "heatmap", "gauge"}
SOURCE = {"type": "prometheus", "uid": "${datasource}"}

each_panel = pytest.mark.parametrize("panel", PANELS, ids=lambda panel: f"{panel['title']}-{panel['id']}")


def test_board_is_of_the_classic_form() -> None:
    """A stable uid, a schema that Grafana 10 and newer read, not editable, no inputs to ask for."""
    board = dashboard.load()

    assert re.fullmatch(r"[a-z0-9-]{1,40}", board["uid"])
    assert 39 <= board["schemaVersion"] <= 42
    assert board["editable"] is False
    assert board["tags"] == ["gpu-scheduler"]
    assert "__inputs" not in board
    assert "id" not in board


def test_variables_begin_with_the_data_source() -> None:
    """Each other variable asks it, offers all values, and is used by some query."""
    first, *others = dashboard.load()["templating"]["list"]
    text = " ".join(expression for _, expression in dashboard.targets())

    assert (first["name"], first["type"], first["query"]) == ("datasource", "datasource", "prometheus")
    for variable in others:
        assert variable["datasource"] == SOURCE
        assert (variable["includeAll"], variable["multi"], variable["allValue"]) == (True, True, ".*")
        assert re.match(r"label_values\(.*, \w+\)$", variable["query"]["query"])
        assert f"${variable['name']}" in text


@each_panel
def test_panel_says_what_it_shows(panel: Json) -> None:
    """Title, description, unit, and a type that today's Grafana still draws."""
    assert panel["type"] in TYPES
    assert panel["title"]
    assert panel["description"].endswith(".")
    assert panel["fieldConfig"]["defaults"]["unit"]
    assert panel["datasource"] == SOURCE


@each_panel
def test_queries_select_their_job_and_rate_over_the_right_time(panel: Json) -> None:
    """Every selector names the job; counters are rated over Grafana's own interval or shown as they are."""
    assert panel["targets"]
    for target in panel["targets"]:
        assert target["datasource"] == SOURCE
        selectors = re.findall(r"\b[a-z_]+\{([^}]*)\}", target["expr"])
        assert selectors
        assert all('job=~"$job"' in selector for selector in selectors)
        assert set(re.findall(r"\[([^\]]+)\]", target["expr"])) <= {"$__rate_interval"}


@each_panel
def test_several_series_have_names(panel: Json) -> None:
    """Each line of a graph is named by what tells it from the others."""
    if panel["type"] == "timeseries":
        assert all(target["legendFormat"] for target in panel["targets"])


def test_titles_are_used_once() -> None:
    """A link, or a person, names a panel by it."""
    titles = [panel["title"] for panel in PANELS]
    assert len(set(titles)) == len(titles)


def test_panels_lie_side_by_side() -> None:
    """Nothing overlaps, nothing leaves the 24 columns, ids are used once."""
    cells: set[tuple[int, int]] = set()
    for panel in dashboard.load()["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        own = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not own & cells
        cells |= own
    ids = [panel["id"] for panel in dashboard.load()["panels"]]
    assert len(set(ids)) == len(ids)


def test_sidecar_finds_it() -> None:
    """A ConfigMap with the sidecar's label, small enough to be applied by a client, holding the very file."""
    objects = rendering.render(rendering.ROOT / "components" / "monitoring")
    found = rendering.only(objects, "ConfigMap")

    assert found["metadata"]["name"] == "gpu-scheduler-deletion-cost-dashboard"
    assert found["metadata"]["labels"]["grafana_dashboard"] == "1"
    [(key, text)] = found["data"].items()
    assert key.endswith(".json")
    assert text == dashboard.FILE.read_text()
    assert len(text) < 256 * 1024
