"""Make src/scuff/assets/demo: train the networks of `scuff demo --overlap`, and keep their weights in half precision.

python tools/make_demo_weights.py out/demo-weights src/scuff/assets/demo
"""

from __future__ import annotations

import sys
from pathlib import Path

from scuff.cli.demo import COMPARED, DATA, RECIPE, SUITE
from scuff.studies import overlap
from scuff.tensors import read_tensors, write_tensors


def halve(file: Path, out: Path) -> None:
    """Write weights in half precision, with all that the file says of them. They are opened in single precision."""
    state, about = read_tensors(file)
    write_tensors(out, {name: t.half() if t.is_floating_point() else t for name, t in state.items()}, about)


if __name__ == "__main__":
    study, assets = map(Path, sys.argv[1:])
    overlap(SUITE, DATA, study, recipe=RECIPE, only=COMPARED, device="cpu")
    for file in sorted((study / "models" / "seed-0").glob("*.safetensors")):
        halve(file, assets / file.name)
