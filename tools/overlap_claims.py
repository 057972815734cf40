"""Hold the claims of the paper on non-overlapping corruptions against a study of ours, as a table in Markdown.

    python tools/overlap_claims.py docs/results/overlap-cifar10/accuracies.csv

The study must hold the suites noc-candidates and cifar10-c, and the models all:imagenet-noc and all:cifar10-c.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import combinations, product
from pathlib import Path

from scuff.metrics import Accuracies, Overlaps, balance, coverage, direct_coverage, overlaps, read_accuracies
from scuff.studies import read_overlap
from scuff.suites import load_suite

THRESHOLD = 0.3  # above which the paper speaks of overlap
C = "cifar10-c/"
NOISES = [C + name for name in ("gaussian_noise", "shot_noise", "impulse_noise")]
BLURS = [C + name for name in ("defocus_blur", "glass_blur", "motion_blur", "zoom_blur")]
NOC = [f"noc-candidates/{name}" for name in load_suite("imagenet-noc").benchmark()]
IMAGENET_C = [C + name for name in load_suite("cifar10-c").benchmark()]


def main() -> None:
    place = Path(sys.argv[1])
    table = read_accuracies(place) if place.is_file() else read_overlap(place)
    print("| claim | measured | holds |\n|---|---|---|")
    for claim, measured, holds in claims(table, overlaps(table)):
        print(f"| {claim} | {measured} | {'yes' if holds else '**no**'} |")


def claims(table: Accuracies, matrix: Overlaps) -> Iterable[tuple[str, str, bool]]:
    """Each claim, what was measured, and whether it holds."""
    yield overlapping(matrix, "noises overlap with each other", combinations(NOISES, 2))
    yield overlapping(matrix, "noises overlap with blurs", product(NOISES, BLURS))
    yield overlapping(matrix, "noises overlap with jpeg", product(NOISES, [C + "jpeg_compression"]))
    yield overlapping(matrix, "noises overlap with pixelate", product(NOISES, [C + "pixelate"]))
    yield overlapping(matrix, "blurs overlap with each other", combinations(BLURS, 2))
    yield overlapping(matrix, "fog overlaps with contrast", [(C + "fog", C + "contrast")])
    yield overlapping(matrix, "snow overlaps with frost", [(C + "snow", C + "frost")])
    for name in ("hue", "border"):
        found = coverage(matrix, IMAGENET_C, [f"noc-candidates/{name}"]).iloc[0]
        text = f"largest overlap {found.overlap:.2f}, with {plain(found.nearest)}"
        yield f"{name} is covered by no ImageNet-C corruption", text, not found.covered
    found = coverage(matrix, NOC, IMAGENET_C)
    lacking = ", ".join(f"{plain(c.corruption)} ({c.overlap:.2f})" for c in found[~found.covered].itertuples())
    text = f"{found.covered.sum()} of 15" + (f"; not {lacking}" if lacking else "")
    yield "every ImageNet-C corruption is covered by ImageNet-NOC", text, bool(found.covered.all())
    found = direct_coverage(table, "all:imagenet-noc", IMAGENET_C, as_paper=True)
    yield "training on ImageNet-NOC helps on all of ImageNet-C", f"{found.helped.sum()} of 15", bool(found.helped.all())
    found = direct_coverage(table, "all:cifar10-c", NOC, as_paper=True)
    worse = [plain(name) for name in found.corruption[~found.helped]]
    text = f"worse on {', '.join(worse) or 'none'}"
    yield "training on ImageNet-C is worse than none on hue and border alone", text, set(worse) == {"hue", "border"}
    noc, c = (balance(table, names) for names in (NOC, IMAGENET_C))
    text = (
        f"range {noc.range.value:.0f} against {c.range.value:.0f}, "
        f"deviation {noc.std.value:.1f} against {c.std.value:.1f}"
    )
    holds = noc.range.value < c.range.value and noc.std.value < c.std.value
    yield "ImageNet-NOC is better balanced than ImageNet-C", text, holds


def overlapping(matrix: Overlaps, claim: str, pairs: Iterable[tuple[str, str]]) -> tuple[str, str, bool]:
    """A claim that all of some pairs overlap."""
    scores = sorted((matrix.score(a, b).value, plain(a), plain(b)) for a, b in pairs)
    (low, a, b), (high, *_) = scores[0], scores[-1]
    if len(scores) == 1:
        return claim, f"{low:.2f}", low > THRESHOLD
    above = sum(value > THRESHOLD for value, *_ in scores)
    text = f"{above} of {len(scores)} pairs above {THRESHOLD}; from {low:.2f} ({a}, {b}) to {high:.2f}"
    return claim, text, above == len(scores)


def plain(address: str) -> str:
    """The name without the suite."""
    return address.rpartition("/")[2]


if __name__ == "__main__":
    main()
