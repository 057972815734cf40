"""Loops over images: what they are given, how arrays are seen, and where compiled code is kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from numba.core.errors import TypingError

from scuff.kernels.numba_cpu import sharing
from scuff.kernels.numba_cpu.compiling import compiled, lines_of, values_of
from scuff.kernels.numba_cpu.filling import fill


@compiled
def _weigh(x, gain, shift, factor, room, out):
    """`room` is scratch, which a thread uses again for each of its images."""
    for k in range(x.size):
        room[k] = x[k] * gain[0] + shift
    for k in range(x.size):
        out[k] = factor * room[k]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("count", [0, 1, 7])
def test_images_get_rows_and_share_what_has_none(
    count: int, shared: bool, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing, "LEAST_VALUES", 1)
    x = torch.rand(count, 5, generator=torch.Generator().manual_seed(0))
    gain = torch.arange(1.0 if shared else float(count))[:, None] + 2.0
    shift = torch.arange(float(count))  # a number for each image
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        rooms = []

        def scratch() -> tuple[np.ndarray]:
            rooms.append(np.empty(5, np.float32))
            return (rooms[-1],)

        made = fill(torch.empty(count, 5), _weigh, x, gain, shift, 3.0, scratch=scratch)
    finally:
        torch.set_num_threads(before)
    assert torch.equal(made, 3.0 * (x * gain + shift[:, None]))
    assert len(rooms) == (threads if count > 1 else 1)


def test_rows_that_do_not_lie_side_by_side_are_put_there() -> None:
    x = torch.arange(24.0).view(4, 6)[:, ::2]
    made = fill(torch.empty(4, 3), _weigh, x, torch.ones(1, 1), 0.0, 1.0, scratch=lambda: (np.empty(3, np.float32),))
    assert torch.equal(made, x)


@compiled
def _see(array):
    return values_of(array), lines_of(array)


def test_arrays_are_seen_as_values_and_as_lines() -> None:
    array = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    values, lines = _see(array)
    assert np.array_equal(values, array.ravel())
    assert np.array_equal(lines, array.reshape(2, 12))
    values[5] = -1
    assert array[0, 1, 1] == -1  # a view
    assert values.base is not None
    with pytest.raises(TypingError, match="side by side"):
        _see(array[:, ::2])


FOUND = """
import torch
from scuff.kernels.numba_cpu import filling, pixels
pixels.salt_and_pepper(torch.rand(2, 3, 4, 4), torch.rand(2, 3, 4, 4), 0.5)
stats = filling._over_images(pixels._salt_and_pepper, (True, True, False, False)).stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


def test_the_next_process_finds_what_was_compiled(tmp_path: Path) -> None:
    """Numba looks for a function by its file, its name and its bytes, and must not find another one in their place."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONHASHSEED": "random"}

    def run() -> list[int]:
        done = subprocess.run(
            [sys.executable, "-c", FOUND], env=environment, capture_output=True, text=True, check=True
        )
        return [int(word) for word in done.stdout.split()]

    assert run() == [0, 1]
    assert run() == [1, 0]
