"""Workers stop when they are told to."""

import time
from concurrent.futures import FIRST_COMPLETED, wait
from pathlib import Path

from scuff.pool import Pool, Stopping, raise_if_stopping


def work(task: tuple[str, Path], advance) -> str:
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
    pool = Pool(work, 2)
    futures = [pool.submit((kind, left)) for kind in ("quick", "ready", "deaf")]
    done, _ = wait(futures, return_when=FIRST_COMPLETED)
    assert done.pop().result()[0] == "quick"
    time.sleep(1.0)
    began = time.monotonic()
    pool.close()
    assert time.monotonic() - began < 10
    assert left.exists()
