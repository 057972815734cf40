"""Workers stop when they are told to."""

import contextlib
import time
from pathlib import Path

from scuff.pool import Stopping, raise_if_stopping, run_tasks


def work(task: tuple[str, Path]) -> str:
    """Return at once, or stay for a minute: ready to leave, or deaf."""
    kind, left = task
    for _ in range(0 if kind == "quick" else 600):
        time.sleep(0.1)
        try:
            raise_if_stopping()
        except Stopping:
            if kind == "ready":
                left.touch()
                raise
    return kind


def test_tasks_that_have_begun_are_stopped(tmp_path):
    left = tmp_path / "left"
    with contextlib.closing(run_tasks(work, [(kind, left) for kind in ("quick", "ready", "deaf")], 2)) as results:
        assert next(results)[1] == "quick"
        time.sleep(1.0)
        began = time.monotonic()
    assert time.monotonic() - began < 10
    assert left.exists()


def test_without_workers_tasks_run_here_in_order(tmp_path):
    tasks = [("quick", tmp_path / str(number)) for number in range(3)]
    assert list(run_tasks(work, tasks, 0)) == [(task, "quick") for task in tasks]
