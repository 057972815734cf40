"""MSCR of WideResNet-28-10 on CIFAR-10: the paper's recipe and radii, but in bfloat16.

    python tools/mscr_wide.py cifar10:data runs/wide --runs 1
    python tools/mscr_wide.py cifar10:data runs/wide --runs 3     # goes on: run 0 is there

Every training leaves one small file in `cells/` when it is tested, and is not repeated as long as that file is there:
to go on elsewhere take `cells/` and `mscr.json` along, and leave the weights in `models/`.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from scuff.studies import MscrStudy
from scuff.studies.separation.study import find_protocol
from scuff.training import find_recipe

RECIPE = replace(find_recipe("cifar-separation"), name="cifar-separation-bfloat16", precision="bfloat16")


def main() -> None:
    """Train and test what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("out")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=RECIPE.epochs, help="fewer for a try")
    parser.add_argument("--architecture", default=RECIPE.architecture)
    given = parser.parse_args()
    recipe = replace(RECIPE, epochs=given.epochs, architecture=given.architecture)
    options = find_protocol("paper-cifar10") | {"models": [recipe], "runs": given.runs}
    MscrStudy(data=given.data, out=given.out, **options).run()


if __name__ == "__main__":
    main()
