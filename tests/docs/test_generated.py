"""docs/configuration.md says what the code does today."""

from tests.docs import command_reference, generate, metrics_reference, probing, scheduler_reference, webhook_reference
from tests.docs.markdown import WIDTH, table
from webhook.config import Config, Server


def test_page_is_in_step_with_the_code() -> None:
    """If not: `make docs`."""
    assert generate.PAGE.read_text(encoding="utf-8") == generate.page()


def test_no_line_is_too_long() -> None:
    assert [line for line in generate.page().splitlines() if len(line) > WIDTH] == []


def test_fields_are_found_with_form_and_default() -> None:
    found = {setting.path: setting for setting in probing.settings()}
    assert found["leaderElection.leaseDuration"].default == "15 s"
    assert found["podMaxBackoffSeconds"].form == "a whole number"
    assert found["profiles[].schedulerName"].default == "gpu-scheduler"
    assert found["parallelism"].note.startswith("no effect")


def test_every_field_with_a_default_has_one_path() -> None:
    """So none of the probes moved a setting of another field."""
    paths = [setting.path for setting in probing.settings()]
    assert len(paths) == len(set(paths))
    assert sum(bool(setting.default) for setting in probing.settings()) == 10


def test_every_metric_has_its_labels() -> None:
    lines = metrics_reference.section()
    assert any("scheduler_unschedulable_pods" in line and "`plugin`, `profile`" in line for line in lines)
    assert any("gpu_scheduler_webhook_errors_total" in line and "`stage`" in line for line in lines)


def test_args_of_nested_lists_are_found_with_their_rules() -> None:
    lines = scheduler_reference.args()
    assert any("scoringStrategy.resources[].weight" in line for line in lines)
    assert any("GPUTopologyPlugin" in line and "must be one of: free, total" in line for line in lines)


def test_comments_of_fields_are_read_from_the_source() -> None:
    said = "annotated: pods with a GPU annotation; gpu: every pod that asks for a GPU."
    assert webhook_reference.comments(Config)["scope"] == said
    assert webhook_reference.comments(Server)["workers"] == ""


def test_options_of_sub_commands_are_found() -> None:
    options = command_reference.commands().options
    assert any(option.names == ("--overlap-hours",) for option in options["certs ensure"])
    assert options["read pod"][0].names == ("FILE",)


def test_long_cells_move_below_the_table() -> None:
    lines = table(["a", "b"], [["x", "word " * 60]])
    assert lines[2] == "| x | see below |"
    assert lines[4].startswith("- x: word")
