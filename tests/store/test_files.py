"""Files are either whole or absent."""

import os
import stat

import pytest

from scuff.files import write_by_rename
from scuff.suites import load_suite


def test_writes_and_makes_the_folder(tmp_path):
    path = tmp_path / "a" / "b.bin"
    with write_by_rename(path) as file:
        file.write(b"new")
        assert not path.exists()
    assert path.read_bytes() == b"new"
    assert os.listdir(path.parent) == ["b.bin"]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_failure_keeps_the_old_file_and_leaves_nothing_else(tmp_path, error):
    path = tmp_path / "b.bin"
    path.write_bytes(b"old")

    def write_half():
        with write_by_rename(path) as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        write_half()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["b.bin"]


def test_a_rename_that_fails_leaves_nothing(tmp_path):
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match="taken"), write_by_rename(tmp_path / "taken") as file:
        file.write(b"x")
    assert os.listdir(tmp_path) == ["taken"]


def test_others_may_read_the_file_as_the_umask_says(tmp_path):
    before = os.umask(0o022)
    try:
        with write_by_rename(tmp_path / "b") as file:
            file.write(b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "b").stat().st_mode) == 0o644


def test_the_longest_possible_name(tmp_path):
    with write_by_rename(tmp_path / ("n" * 255)) as file:
        file.write(b"x")
    assert os.listdir(tmp_path) == ["n" * 255]


def test_a_suite_is_saved_whole(tmp_path):
    suite = load_suite("cifar10-c")
    path = suite.save(tmp_path / "deep" / "mine.yaml")
    assert load_suite(path) == suite
    assert os.listdir(path.parent) == ["mine.yaml"]
