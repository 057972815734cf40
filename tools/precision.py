"""Figure 10 of the paper on augmentations: how far a distance moves if images and corruptions are drawn again.

    python tools/precision.py cifar10:data runs/precision --recipe cifar-fast --architecture wide_resnet40_2

Distances of single augmentations of AugMix to the centres of CIFAR-10-C, in the features of a network that is trained
first. The augmentations are the same all the time; images, and draws of the corruptions, are others in every
resampling. What is finished is not repeated.
"""

from __future__ import annotations

import argparse

from scuff.augment import open_scheme
from scuff.studies import DistancesStudy
from scuff.studies.transform_space.subsets import FewDraws


def main() -> None:
    """Measure what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="images, as in cifar10:DIR")
    parser.add_argument("out", help="folder for the study")
    parser.add_argument("--recipe", required=True, help="how the network is trained")
    parser.add_argument("--architecture", help="network to train instead of the recipe's")
    parser.add_argument("--epochs", type=int, help="number of epochs instead of the recipe's")
    parser.add_argument("--augmentations", type=int, default=100, help="number of single augmentations (100)")
    parser.add_argument("--resamplings", type=int, default=20, help="number of times that all is drawn again (20)")
    parser.add_argument("--images", type=int, default=100, help="number of images (100)")
    parser.add_argument("--samples", type=int, default=100, help="number of draws of a corruption (100)")
    parser.add_argument("--severities", type=int, nargs="+", help="severities instead of all")
    parser.add_argument("--precision", help="of features: float32, bfloat16 or float16")
    given = vars(parser.parse_args())
    augmix = open_scheme("augmix")
    schemes = {f"augmix-{k}": FewDraws(augmix, (k,)) for k in range(given.pop("augmentations"))}
    DistancesStudy(schemes=schemes, suite="cifar10-c", augmentations=1, **given).run()


if __name__ == "__main__":
    main()
