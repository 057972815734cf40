"""Every byte of every suite, on any machine: the locks of this repository hold.

If a test fails after a change that is meant to change images: `make locks`, and a new version of the suites.
"""

from __future__ import annotations

import pytest
from repository_locks import GOLDEN, SOURCES, SUITES, lock_file, open_locked

import scuff
from scuff.locks import read_lock, verify

CASES = [(suite, source) for suite in SUITES for source in SOURCES]


@pytest.mark.parametrize(("suite", "source"), CASES)
def test_every_byte_is_as_it_was(suite: str, source: str) -> None:
    lock = read_lock(lock_file(suite, source))
    assert lock.levels == scuff.load_suite(suite).choose(validation=True)
    verdict = verify(lock, data=open_locked(source), device="cpu")
    assert verdict.is_equal, verdict


def test_there_are_no_others() -> None:
    assert {path.name for path in (GOLDEN / "locks").iterdir()} == {lock_file(*case).name for case in CASES}
