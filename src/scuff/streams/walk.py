"""Walks of CCC, Continuously Changing Corruptions: from one corruption to the next at a chosen mean accuracy.

A node (i, j) is the leaving corruption at severity i / 4 followed by the arriving one at j / 4. A matrix of accuracies
says how hard each node is; a path leads from (i, 0), one node at a time, to (0, j).
"""

from __future__ import annotations

import hashlib
import io
import random as python_random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from scuff import random
from scuff.arrays import reading_arrays
from scuff.streams.orders import keys
from scuff.streams.recipe import Recipe
from scuff.streams.segments import Segment, Steps, find_orders
from scuff.suites import Suite

if TYPE_CHECKING:
    import pandas as pd

NODES = 21  # severities 0, 1/4, ..., 5
QUARTERS = 4
PUBLISHED_LENGTH = 7_500_000
SHARD = 25_000  # images: the published streams end with the shard that reaches their length
KEYS = ("first", "second", "severity")
Node = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Matrix:
    """Accuracies in percent by (first, second): (21, 21) arrays, the first at i / 4 and the second at j / 4."""

    accuracies: Mapping[tuple[str, str], np.ndarray]

    def of(self, first: str, second: str) -> np.ndarray:
        """The accuracies of a pair."""
        if (first, second) not in self.accuracies:
            raise ValueError(f"the matrix has no accuracies for {first} followed by {second}; calibrate these, too")
        return self.accuracies[first, second]

    def digest(self) -> str:
        """A hash of all numbers."""
        state = hashlib.blake2b(digest_size=8)
        for pair, array in sorted(self.accuracies.items()):
            state.update(repr(pair).encode() + np.ascontiguousarray(array, np.float64).tobytes())
        return state.hexdigest()


def read_matrix(place: str | None, suite: Suite) -> Matrix:
    """The matrix in a file: `scuff stream calibrate` writes a .csv, and an .npz has arrays n1_FIRST_n2_SECOND.

    Without a file, the one that comes with the package for the suite.
    """
    if place is None:
        bundled = resources.files(__package__) / f"{suite.name}.csv"
        if not bundled.is_file():
            raise ValueError(
                f"a walk over {suite.name} needs a matrix of accuracies, walk: {{matrix: DIR/matrix.csv}}; make one "
                f"by scuff stream calibrate MODEL --suite {suite.name} --data DATA --out DIR"
            )
        return _read_table(bundled.read_bytes(), bundled.name)
    path = Path(place).expanduser()
    if path.suffix != ".npz":
        return _read_table(path.read_bytes(), place)
    with reading_arrays(path), np.load(path, allow_pickle=False) as arrays:
        pairs = {name: tuple(name.removeprefix("n1_").split("_n2_")) for name in arrays.files}
        return Matrix({pair: _on_grid(arrays[name], place) for name, pair in pairs.items() if len(pair) == 2})


@lru_cache(maxsize=4)
def _read_table(content: bytes, where: str) -> Matrix:
    """A row for each first corruption at a severity and each second one; a column for each severity of the second."""
    import pandas as pd

    try:
        table = pd.read_csv(io.BytesIO(content))
        columns = [name for name in table if name not in KEYS]
        severities = np.array([float(name) for name in columns])
        groups = table.groupby(["first", "second"])
        pairs = {pair: rows.set_index("severity")[columns].astype(float) for pair, rows in groups}
    except (KeyError, ValueError) as error:
        raise ValueError(f"{where} is no matrix of accuracies as scuff stream calibrate writes it: {error}") from error
    return Matrix({pair: _between(rows.sort_index(), severities, where) for pair, rows in pairs.items()})


def _between(rows: pd.DataFrame, severities: np.ndarray, where: str) -> np.ndarray:
    """Accuracies on all quarters: measured there, or bilinear between their neighbours."""
    grid = np.arange(NODES) / QUARTERS
    for given in (severities, rows.index.to_numpy()):
        if given[0] != 0 or given[-1] != 5:
            raise ValueError(f"{where}: severities of a matrix go from 0 to 5, got {given[0]:g} to {given[-1]:g}")
    along = np.array([np.interp(grid, severities, row) for row in rows.to_numpy()])
    return _on_grid(np.array([np.interp(grid, rows.index, column) for column in along.T]).T, where)


def _on_grid(array: np.ndarray, where: str) -> np.ndarray:
    if array.shape != (NODES, NODES) or not np.isfinite(array).all():
        raise ValueError(f"{where}: expected {NODES} x {NODES} accuracies for every pair, got {array.shape}")
    return array.astype(np.float64)


def find_path(accuracies: np.ndarray, target: float, start: int | None = None) -> list[Node]:
    """The path whose mean accuracy is near the target: a greedy recursion, exactly as the authors do it.

    >>> i, j = np.meshgrid(range(21), range(21), indexing="ij")
    >>> path = find_path(75 * np.exp(-i / 10 - j / 8), 40)
    >>> len(path), path[0], path[-1]
    (12, (6, 0), (0, 5))
    """
    last = NODES - 1
    sums, lengths = np.zeros((NODES, NODES)), np.ones((NODES, NODES))
    goes_down = np.zeros((NODES, NODES), bool)
    sums[0] = accuracies[0]
    for i in range(1, NODES):
        for j in range(last, -1, -1):
            here = accuracies[i, j]
            down = abs((sums[i - 1, j] + here) / (lengths[i - 1, j] + 1) - target)
            up = np.inf if j == last else abs((sums[i, j + 1] + here) / (lengths[i, j + 1] + 1) - target)
            goes_down[i, j] = j == last or down < up
            before = (i - 1, j) if goes_down[i, j] else (i, j + 1)
            sums[i, j], lengths[i, j] = here + sums[before], 1 + lengths[before]
    if start is None:
        start = 1 + int(np.argmin(np.abs(sums[1:, 0] / lengths[1:, 0] - target)))
    path = [(start, 0)]
    while path[-1][0] > 0:
        i, j = path[-1]
        path.append((i - 1, j) if goes_down[i, j] else (i, j + 1))
    return path


def draw_chain(names: Sequence[str], seed: int, chain: str = "published") -> Iterator[str]:
    """Corruptions one after the other, none twice in a row, without end.

    >>> names = "gaussian_noise shot_noise impulse_noise contrast".split()
    >>> [name for name, _ in zip(draw_chain(names, 44), range(4))]
    ['contrast', 'gaussian_noise', 'shot_noise', 'contrast']
    """
    draws = _published(names, seed) if chain == "published" else _keyed(names, seed)
    before = None
    for name in draws:
        if name != before:
            yield name
        before = name


def _published(names: Sequence[str], seed: int) -> Iterator[str]:
    generator = python_random.Random(seed)
    while True:
        yield generator.choice(names)


def _keyed(names: Sequence[str], seed: int) -> Iterator[str]:
    block = 0
    while True:
        drawn = random.integers(keys("chain", block, seed), "names", (256,), low=0, high=len(names) - 1)[0]
        yield from (names[k] for k in drawn.tolist())
        block += 1


def plan_walk(recipe: Recipe, suite: Suite, matrix: Matrix, images: int, seed: int) -> list[Segment]:
    """The segments of a walk, one for each node."""
    walk = recipe.walk
    assert walk is not None
    if suite.severities != NODES - 1:
        raise ValueError(
            f"a walk needs a suite of {NODES - 1} levels, quarter severities, as imagenet-ccc; got {suite.name}"
        )
    if walk.speed > images:
        raise ValueError(
            f"speed, the images of a node, must not exceed the {images} images there are; got {walk.speed}"
        )
    (names,) = find_orders(recipe, suite, seed)
    if len(set(names)) < 2 or any("+" in name for name in names):
        raise ValueError("a walk needs at least two different corruptions, each a name of its own")
    count = _count_nodes(walk.length, walk.speed)
    segments: list[Segment] = []
    chain = draw_chain(names, seed, walk.chain)
    first, start = next(chain), None
    while len(segments) < count:
        second = next(chain)
        accuracies = matrix.of(first, second)
        path = _path(matrix, first, second, walk.target, start)
        for k, (i, j) in enumerate(path[: count - len(segments)]):
            number = len(segments)
            steps: Steps = tuple((name, level) for name, level in ((first, i), (second, j)) if level)
            resets = {"first": number == 0, "corruption": k == 0, "segment": True, "never": False}[recipe.reset]
            expected = float(accuracies[i, j])
            at = number * walk.speed
            segments.append(Segment(number, at, walk.speed, (steps,), resets, 0, 0, QUARTERS, expected))
        start = max(1, path[-1][1]) if walk.join else None
        first = second
    return segments


@lru_cache(maxsize=1024)
def _path(matrix: Matrix, first: str, second: str, target: float, start: int | None) -> list[Node]:
    return find_path(matrix.of(first, second), target, start)


def _count_nodes(length: int, speed: int) -> int:
    """Nodes of a walk; the published length is rounded up to whole shards, as the published streams are."""
    shard = -(-SHARD // speed) if length == PUBLISHED_LENGTH else 1
    return -(-length // (speed * shard)) * shard
