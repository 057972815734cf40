"""How far studies are: the status of a run, the page about it, and what the terminal shows."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from made_overlaps import make_accuracies, save_study
from pages import Page, table_of
from typer.testing import CliRunner

from scuff.cli import app, console
from scuff.cli.jobs import resumable_job
from scuff.engine import CellsFailed, Failure, LocalEngine, Run, read_statuses
from scuff.engine.status import SILENT, describe, read_status
from scuff.report import write_report
from scuff.store import Store

NOW = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
FAILURE = {"kind": "train", "cell": "fog", "reason": "<b>no</b> memory", "attempts": 3, "where": "node-7"}


def cells(total, done=0, *, there=0, running=0, failed=0, seconds=0.0, **more):
    """The numbers of a kind, as a journal has them."""
    counts = {"total": total, "there": there, "done": done, "running": running, "failed": failed, "retried": 0}
    return {**counts, "seconds": seconds, "slowest": ["fog", 2.0 * seconds / done] if done else None, **more}


def journal(state="running", *, silence=3.0, now=NOW, **kinds):
    """A run of 100 s with four workers that was heard of `silence` seconds ago."""
    updated = now - timedelta(seconds=silence)
    times = {"started": (updated - timedelta(seconds=100)).isoformat(), "updated": updated.isoformat()}
    begin = {"run": "a", "title": "overlap", "engine": "ray", "state": state, "seconds": 100.0, "workers": 4}
    timeline = [[10.0 * k, k, 4] for k in range(1, 11)]
    return begin | times | {"reason": "", "cells": kinds, "failures": [], "retries": [], "timeline": timeline}


def save(folder, *journals):
    (folder / "progress").mkdir(parents=True, exist_ok=True)
    for place, content in enumerate(journals):
        (folder / "progress" / f"{place}.json").write_text(json.dumps(content))
    return folder


def page_of(folder):
    return Page((folder / "report.html").read_text(encoding="utf-8"))


# --- status -----------------------------------------------------------------------------------------------------------


def test_time_left_is_that_of_all_kinds_that_are_known():
    now = journal(train=cells(50, 10, running=4, seconds=400.0), test=cells(30), draw=cells(7))
    status = read_status(now, now=NOW)
    assert status.seconds_left == pytest.approx(40 * 40.0 / 4)  # cells left x mean / workers
    assert status.then == {"test": 30, "draw": 7}
    assert describe(status).endswith("about 7 min left, then 30 test cells, 7 draw cells")
    before = journal("interrupted", test=cells(30, 5, seconds=50.0, workers=2))
    status = read_status(now, [before], NOW)
    assert status.seconds_left == pytest.approx(400 + 30 * 10.0 / 2)  # by the workers that tests had
    assert status.then == {"draw": 7}


def test_nothing_is_said_of_time_before_a_running_kind_is_known():
    before = journal("finished", test=cells(30, 5, seconds=50.0))
    status = read_status(journal(train=cells(50, running=4), test=cells(30)), [before], NOW)
    assert status.seconds_left is None
    assert "left" not in describe(status)


def test_few_cells_do_not_keep_many_workers_busy_and_parts_of_cells_count():
    status = read_status(journal(train=cells(11, 10, running=1, seconds=400.0, part=0.25)), now=NOW)
    assert status.seconds_left == pytest.approx(0.75 * 40.0)


def test_speed_is_that_of_the_kind_that_runs():
    now = journal(train=cells(8, 8, seconds=80.0), test=cells(9, 2, running=1, seconds=9.0, began=[80.0, 8]))
    assert read_status(now, now=NOW).per_minute == pytest.approx(60 * 2 / 20)
    assert read_status(now | {"state": "finished"}, now=NOW).per_minute == pytest.approx(60 * 10 / 100)


@pytest.mark.parametrize(("silence", "state"), [(SILENT - 1, "running"), (SILENT + 1, "lost")])
def test_a_run_that_is_silent_for_long_was_killed(silence, state):
    status = read_status(journal(silence=silence, train=cells(9, 3, running=2, seconds=30.0)), now=NOW)
    assert status.state == state
    assert (status.seconds_left is None) == (state == "lost")


def test_of_a_finished_run_nothing_is_left():
    (kind,) = read_status(journal("finished", test=cells(40, 10, seconds=5.0)), now=NOW).kinds
    assert (kind.left, kind.there) == (0, 30)


def test_a_run_tells_its_status_and_a_plain_callable_does_too(tmp_path):
    heard, seen = [], []

    class Watcher:
        def __call__(self, what, done, total):
            heard.append((what, self.status().current.name))

        def watch(self, status):
            self.status = status
            seen.append(status is not None)

    with Run(LocalEngine(1), Store(tmp_path), Watcher(), "numbers") as run:
        run.expect("later", 5)
        list(run.cells("do", lambda cell, advance: advance(1, 2), ["a"]))
    assert heard == [("do a", "do"), ("do a", "do")]
    assert seen == [True, False]
    (status,) = read_statuses(Store(tmp_path))
    assert (status.state, status.most_workers) == ("finished", 1)


def test_an_error_that_ends_a_run_is_in_its_journal(tmp_path):
    def end():
        with Run(LocalEngine(1), Store(tmp_path)) as run:
            run.expect("do", 1)
            raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        end()
    assert read_statuses(Store(tmp_path))[0].reason == "wrong"


# --- the page ---------------------------------------------------------------------------------------------------------


def test_a_page_of_a_study_without_results(tmp_path):
    now = datetime.now(UTC)
    before = journal("stopped", now=now, train=cells(50, 5, seconds=50.0)) | {"reason": "the disk is full"}
    last = journal(now=now, train=cells(50, 10, there=5, running=4, failed=1, seconds=400.0), test=cells(30))
    save(tmp_path, before, last | {"failures": [FAILURE], "retries": [FAILURE] * 30})
    assert write_report(tmp_path) == str(tmp_path / "report.html")
    page = page_of(tmp_path)
    text = page.section("progress")
    assert page.texts("h1") == ["Progress of overlap"]
    assert page.sections() == ["progress"]
    state = "Running on a Ray cluster, 4 workers, for 100 s: train 15 of 50 cells, 4 running, 1 failed"
    assert state in " ".join(" ".join(page.texts("body")).split())
    row = table_of(page, "Cells of the last run")["train"]
    assert [row[name] for name in ("all", "there before", "done", "running", "failed", "left")] == [50, 5, 10, 4, 1, 34]
    assert row["mean time"] == 40.0
    assert "<b>no</b> memory" in text  # as it is, not as a tag
    assert "node-7" in text
    assert "stopped: the disk is full" in text
    assert "the last 20" in text
    assert set(page.data()["figures"]) == {"progress-done", "progress-running"}
    assert page.data()["figures"]["progress-done"]["data"][0]["y"][-1] == 10


@pytest.mark.parametrize(("state", "words"), [("running", "it was probably killed"), ("interrupted", "Interrupted on")])
def test_a_study_that_does_not_run_any_more_says_how_to_go_on(tmp_path, state, words):
    save(tmp_path, journal(state, train=cells(50, 10, seconds=400.0)))
    page = Page(Path(write_report(tmp_path)).read_text(encoding="utf-8"))
    assert words in " ".join(" ".join(page.texts("body")).split())
    assert "The same command goes on from here" in page.section("again")
    assert "40 of 50 train cells" in " ".join(" ".join(page.texts("body")).split())


def test_the_command_shows_progress_until_there_are_results(tmp_path):
    study = save_study(make_accuracies(("cifar10-c",), seeds=2, most=4), tmp_path / "study")
    hits = (study / "hits.npz").read_bytes()
    (study / "hits.npz").unlink()
    refused = CliRunner().invoke(app, ["report", str(study)])
    assert refused.exit_code == 2  # nobody knows of a run
    save(study, journal("interrupted", train=cells(9, 3, seconds=30.0)))
    shown = CliRunner().invoke(app, ["report", str(study)])
    assert shown.exit_code == 0, shown.output
    assert "There are no results yet" in shown.output
    page = page_of(study)
    assert page.sections() == ["progress", "again"]
    assert "scuff overlap cifar10-c" in page.section("again")
    (study / "hits.npz").write_bytes(hits)
    write_report(study)
    assert page_of(study).sections()[-2:] == ["progress", "overlap-settings"]
    save(tmp_path / "export", journal("finished", corrupt=cells(9, 9, seconds=30.0)))
    assert CliRunner().invoke(app, ["report", str(tmp_path / "export")]).exit_code == 0
    assert page_of(tmp_path / "export").sections() == ["progress"]


def test_a_mistake_in_an_option_is_no_matter_of_progress(tmp_path):
    study = save_study(make_accuracies(("cifar10-c",), seeds=2, most=4), tmp_path)
    save(study, journal("interrupted", train=cells(9, 3, seconds=30.0)))
    (study / "report.html").unlink(missing_ok=True)
    assert CliRunner().invoke(app, ["report", str(study), "--data", "fashion"]).exit_code == 2
    assert not (study / "report.html").exists()


# --- the terminal -----------------------------------------------------------------------------------------------------


def test_the_verb_shows_what_is_in_the_folder(tmp_path):
    result = CliRunner().invoke(app, ["progress", str(tmp_path)])
    assert result.exit_code == 2
    assert "nothing has been run" in result.output
    now = datetime.now(UTC)
    running = journal(now=now, train=cells(50, 10, running=4, seconds=400.0))
    result = CliRunner().invoke(app, ["progress", str(save(tmp_path, running))])
    assert result.exit_code == 0, result.output
    assert "train 10 of 50 cells, 4 running" in result.output
    failed = journal("failed", now=now, train=cells(50, 49, failed=1, seconds=400.0)) | {"failures": [FAILURE]}
    result = CliRunner().invoke(app, ["progress", str(save(tmp_path, failed)), "--watch"])
    assert result.exit_code == 1  # and it does not wait for what has ended
    assert "failed: train fog: <b>no</b> memory, on node-7" in result.output


def test_a_log_has_a_line_now_and_then_and_short_jobs_have_none(tmp_path, monkeypatch, capsys):
    def work():
        with resumable_job() as advance, Run(LocalEngine(1), Store(tmp_path), advance, "numbers") as run:
            run.expect("later", 5)
            list(run.cells("do", lambda cell, tell: None, ["a", "b"]))

    work()
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(console, "SECONDS_BETWEEN_LINES", 0.0)
    work()
    first, *_ = capsys.readouterr().err.splitlines()
    assert first.startswith("do 1 of 2 cells, 1 running")
    assert first.endswith("then 5 later cells")


def test_failures_are_listed_with_the_beginning_and_the_end_of_long_reasons():
    reason = f"begin {'x' * 500} end"
    text = str(CellsFailed([Failure("train", "fog", reason, 2, "here")], "runs/progress/a.json"))
    line = text.splitlines()[1]
    assert line.startswith("  train fog: begin x")
    assert line.endswith("x end (after 2 attempts)")
    assert len(line) < 260
    assert text.endswith("runs/progress/a.json")
