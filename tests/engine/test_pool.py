"""Workers stop when they are told to, and save what they have."""

import time
from concurrent.futures import FIRST_COMPLETED, wait
from pathlib import Path

from scuff.pool import Pool, Stopping, if_cut_short, raise_if_stopping


def work(task: tuple[str, Path], advance) -> str:
    """Return at once, or stay for ten minutes: ready to leave, or deaf."""
    kind, folder = task
    (folder / f"{kind}-began").touch()
    with if_cut_short((folder / f"{kind}-saved").touch):
        for _ in range(0 if kind == "quick" else 6000):
            time.sleep(0.1)
            try:
                raise_if_stopping()
            except Stopping:
                if kind == "ready":
                    raise
    return kind


def test_tasks_that_have_begun_are_stopped(tmp_path):
    pool = Pool(work, 2)
    futures = [pool.submit((kind, tmp_path)) for kind in ("quick", "ready", "deaf")]
    done, _ = wait(futures, return_when=FIRST_COMPLETED)
    assert done.pop().result()[0] == "quick"
    while not (tmp_path / "ready-began").exists() or not (tmp_path / "deaf-began").exists():
        time.sleep(0.05)
    began = time.monotonic()
    pool.close()
    assert time.monotonic() - began < 60  # it takes a second, or a little more on a busy machine
    assert {file.name for file in tmp_path.glob("*-saved")} == {"ready-saved", "deaf-saved"}
