"""Scripts as people save them, without a `__main__` guard, start worker processes and end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

DOUBLE = """
def double(task, report):
    return 2 * task
"""
CALL = """
import scuff.pool
print("started")
pool = scuff.pool.Pool(double, processes=2)
print([pool.submit(number).result(timeout=60)[0] for number in (1, 2)])
pool.close()
"""
GUARDED = 'if __name__ == "__main__":' + CALL.replace("\n", "\n    ")


def _run(folder: Path, script: str) -> subprocess.CompletedProcess:
    (folder / "doubling.py").write_text(DOUBLE)
    (folder / "script.py").write_text(script)
    return subprocess.run([sys.executable, "script.py"], cwd=folder, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("script", ["from doubling import double" + CALL, DOUBLE + GUARDED])
def test_a_script_runs_once_and_ends(tmp_path: Path, script: str) -> None:
    done = _run(tmp_path, script)
    assert done.stdout.split("\n")[:2] == ["started", "[2, 4]"], done.stderr
    assert done.returncode == 0


def test_a_script_whose_own_function_is_needed_is_told_at_once_what_to_add(tmp_path: Path) -> None:
    done = _run(tmp_path, DOUBLE + CALL)
    assert done.returncode == 1
    assert 'if __name__ == "__main__":' in done.stderr
    assert done.stdout == "started\n"
