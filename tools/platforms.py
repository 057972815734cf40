"""Digests of every entry, level, size and pixel type on this machine, and how many of them other machines share.

    python tools/platforms.py --write here.csv              # on each machine; a CUDA device counts as one of its own
    python tools/platforms.py here.csv there.csv            # prints the table of platforms, as in docs/fidelity.md

The first table, and in it the CPU, is what the others are held against. Pictures are made of whole numbers, so that
they are the same everywhere. With `--entries` only addresses that contain one of the words are looked at, and `--sizes
32x32` leaves out the others. A table of two devices also says how many values differ, and by how much at most.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import os
import platform
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

SIZES = ("32x32", "64x64", "224x224", "45x45", "37x70")
FIELDS = ("platform", "entry", "level", "size", "pixels", "digest", "differing", "most")
SEED = 3


class Cell(NamedTuple):
    """What is made at once: an entry of a suite at a level, on images of a size and a type."""

    entry: str
    level: int | None
    size: str
    pixels: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", type=Path)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--entries", nargs="*", default=[""])
    parser.add_argument("--sizes", nargs="*", default=SIZES)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    options = parser.parse_args()
    if options.write is not None:
        write(options.write, wanted_cells(options.entries, options.sizes), options.workers)
    for line in comparison([options.write, *options.tables] if options.write else options.tables):
        print(line)


def wanted_cells(words: Iterable[str], sizes: Iterable[str]) -> list[list[Cell]]:
    """All cells, those of one corruption together: a process then compiles few kernels."""
    from scuff import list_suites, load_suite

    groups: dict[tuple[str, str], list[Cell]] = {}
    for suite in map(load_suite, list_suites()):
        for entry in suite.entries:
            address = f"{suite.name}/{entry}"
            if any(word in address for word in words):
                group = groups.setdefault((suite.corruption(entry), suite.name[:5]), [])
                group += [Cell(address, *cell) for cell in product(suite.levels(entry), sizes, ("uint8", "float"))]
    return sorted(groups.values(), key=len, reverse=True)


def write(path: Path, groups: list[list[Cell]], workers: int) -> None:
    """Make all cells in several processes, on every device of this machine."""
    with (
        open(path, "w", newline="") as file,
        ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool,
    ):
        table = csv.DictWriter(file, FIELDS)
        table.writeheader()
        for rows in pool.map(rows_of, groups):
            table.writerows(rows)


def rows_of(cells: list[Cell]) -> list[dict[str, Any]]:
    """The rows of some cells, on the CPU first."""
    import torch

    torch.set_num_threads(1)
    devices = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    rows: list[dict[str, Any]] = []
    for cell in cells:
        first = None
        for device in devices:
            row: dict[str, Any] = {"platform": platform_name(device), **cell._asdict()}
            try:
                made = make(cell, device)
            except Exception as error:  # one broken kernel must not hide what the others do
                rows.append({**row, "digest": f"{type(error).__name__}: {error}"[:200]})
                continue
            first = made if first is None else first
            row["digest"] = hashlib.blake2b(made.numpy().tobytes(), digest_size=16).hexdigest()
            apart = (made.double() - first.double()).abs() * (1 if cell.pixels == "uint8" else 255)
            row["differing"], row["most"] = int((apart > 0).sum()), round(float(apart.max()), 3)
            rows.append(row)
    return rows


def make(cell: Cell, device: str):
    """The corrupted pictures of a cell, or the frames of all films."""
    import torch

    import scuff
    from scuff.corruptions import get

    suite, entry = cell.entry.split("/")
    height, width = map(int, cell.size.split("x"))
    x = pictures(2 if height > 64 else 3, height, width)
    if cell.pixels == "float":  # off the grid of bytes
        x = (x.double() * 251.0 + x.flip(3).double()).float() / torch.tensor(64260.0)
    x, options = x.to(device), {"seed": SEED, "ids": [7, 50_000, 3][: len(x)]}
    if get(scuff.load_suite(suite).corruption(entry)).sequence:
        return scuff.sequence(x, cell.entry, cell.level or 1, **options).cpu()
    return scuff.corrupt(x, cell.entry, cell.level, **options).cpu()


def pictures(count: int, height: int, width: int):
    """Slopes, bars, flat areas and grain, all of whole numbers: uint8 (N, 3, H, W)."""
    import torch

    n = torch.arange(1, count + 1).view(-1, 1, 1, 1)
    c = torch.arange(1, 4).view(1, -1, 1, 1)
    i, j = torch.arange(height).view(1, 1, -1, 1), torch.arange(width).view(1, 1, 1, -1)
    slope = 255 * (c * i * width + n * j * height) // ((c + n) * height * width)
    bars = (j * 12 // width + i * 5 * n // height) % 2 * 60
    grain = ((i * 7919 + j * 104_729 + c * 1_299_709 + n * 15_485_863) * 2_654_435_761 >> 16) % 41
    flat = (i * 4 // height + j * 4 // width) % 4 == 3
    return torch.where(flat, 80 * c - 40 + 0 * n, (slope + bars + grain).clamp(0, 255)).to(torch.uint8)


def platform_name(device: str) -> str:
    """The device and the versions that could matter."""
    import numpy as np
    import torch

    name = torch.cuda.get_device_name() if device == "cuda" else f"{platform.machine()} CPU"
    return f"{name}, torch {torch.__version__.partition('+')[0]}, numpy {np.__version__}"


def comparison(paths: Iterable[Path]) -> Iterator[str]:
    """The table of platforms in Markdown, then the entries that are not the same everywhere."""
    tables = read(paths)
    if not tables:
        return
    names = list(tables)
    reference = tables[names[0]]
    yield "| platform | identical entries | identical cells |\n|---|---|---|"
    unlike: dict[str, list[str]] = {}
    for name in names:
        cells = {cell: row for cell, row in tables[name].items() if cell in reference}
        other = {c for c, row in cells.items() if row["digest"] != reference[c]["digest"] or is_error(row["digest"])}
        entries, wrong = {cell.entry for cell in cells}, {cell.entry for cell in other}
        yield f"| {name} | {len(entries - wrong)} of {len(entries)} | {len(cells) - len(other)} of {len(cells)} |"
        for entry in sorted(wrong):
            its = [cells[cell] for cell in other if cell.entry == entry]
            worst = max(its, key=lambda row: int(row["differing"] or 0))
            what = f"{worst['differing']} values, most {worst['most']}"
            what = worst["digest"] if is_error(worst["digest"]) else what
            where = f"level {worst['level'] or '-'}, {worst['size']}, {worst['pixels']}"
            unlike.setdefault(name, []).append(f"{entry}: {len(its)} cells; at {where}: {what}")
    for name, lines in unlike.items():
        yield f"\n{name}:\n" + "\n".join(lines)


def is_error(digest: str) -> bool:
    """Whether it is the error of a cell that could not be made, which is equal to nothing."""
    return ":" in digest


def read(paths: Iterable[Path]) -> dict[str, dict[Cell, dict[str, str]]]:
    """The rows of each platform, by their cells."""
    tables: dict[str, dict[Cell, dict[str, str]]] = {}
    for path in paths:
        with open(path, newline="") as file:
            found: dict[str, dict[Cell, dict[str, str]]] = {}
            for row in csv.DictReader(file):
                cell = Cell(row["entry"], row["level"], row["size"], row["pixels"])  # type: ignore[arg-type]
                found.setdefault(row["platform"], {})[cell] = row
        tables |= {f"{name} ({path.name})" if name in tables else name: rows for name, rows in found.items()}
    return tables


if __name__ == "__main__":
    sys.exit(main())
