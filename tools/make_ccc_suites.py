"""Write the suites imagenet-ccc and cifar10-ccc: level q is severity q / 4 of CCC, Continuously Changing Corruptions.

CCC moves every constant of ImageNet-C on a straight line between whole severities, from a row of its own at severity 0.
For CIFAR-10-C we do the same, from a row at which images stay as they are.

    python tools/make_ccc_suites.py
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from pathlib import Path

import numpy as np
import yaml

from scuff.suites import load_suite

SUITES = Path(__file__).parents[1] / "src" / "scuff" / "suites" / "walks"
LEVELS = 20
# Severity 0: CCC's own for ImageNet; ours for CIFAR, where it differs. `end` is where the factors of zoom_blur end.
NEUTRAL = {
    "gaussian_noise": {"std": 0.0},
    "shot_noise": {"photons": np.inf},
    "impulse_noise": {"amount": 0.0},
    "defocus_blur": {"radius": 0.0, "softness": 0.0},
    "glass_blur": {"sigma": 0.0, "reach": 0, "passes": 0},
    "motion_blur": {"radius": 0, "sigma": 0.0},
    "zoom_blur": {"end": 1.0, "step": 0.01},
    "snow": {"mean": 0.1, "std": 0.3, "zoom": 3.0, "threshold": 1.0, "radius": 10, "sigma": 4.0, "keep": 1.0},
    "frost": {"keep": 1.0, "ice": 0.0},
    "fog": {"strength": 0.0, "decay": 2.0},
    "brightness": {"shift": 0.0},
    "contrast": {"gain": 1.0},
    "elastic_transform": {"alpha": 0.0, "sigma": 999.0, "jitter": 0.0},
    "pixelate": {"fraction": 1.0},
    "jpeg_compression": {"quality": 85},
}
CIFAR_NEUTRAL = {
    "snow": {"mean": 0.1, "std": 0.2, "zoom": 1.0, "threshold": 1.0, "radius": 8, "sigma": 3.0, "keep": 1.0},
    "fog": {"strength": 0.0, "decay": 3.0},
    "elastic_transform": {"alpha": 0.0, "sigma": 0.0, "jitter": 0.0},
    "jpeg_compression": {"quality": 100},
}
ZOOM_ENDS = {"imagenet-c": (1.11, 1.16, 1.21, 1.26, 1.31), "cifar10-c": (1.06, 1.11, 1.16, 1.21, 1.26)}
ROUNDED = {"reach": lambda v: max(1, round(v)), "passes": round, "quality": round}  # half to even


def interpolate(start: float, values: Sequence[float]) -> list[float]:
    """The values at severities 1/4, 2/4, ..., 5, on straight lines between whole ones."""
    columns = [start, *values]
    return [
        columns[q // 4] + (columns[min(q // 4 + 1, 5)] - columns[q // 4]) * (q % 4) / 4 for q in range(1, LEVELS + 1)
    ]


def make_entry(suite: str, entry: str) -> dict[str, list[float] | float]:
    """The parameters of an entry, one value per level unless it never changes."""
    original = load_suite(suite).entries[entry]
    neutral = (CIFAR_NEUTRAL if suite == "cifar10-c" else {}).get(entry, NEUTRAL[entry])
    made: dict[str, list[float] | float] = {p: v for p, v in original.items() if p not in neutral and p != "steps"}
    for name, start in neutral.items():
        given = ZOOM_ENDS[suite] if name == "end" else original[name]
        columns = given if isinstance(given, (list, tuple)) else [given] * 5
        if name == "photons":  # what moves is the variance
            values = [1 / v for v in interpolate(0.0, [1 / v for v in columns])]
        else:
            values = interpolate(start, columns)
        if name in ROUNDED:
            values = [ROUNDED[name](v) for v in values]
        elif name == "radius" and entry != "defocus_blur":
            values = [ceil(v) for v in values]  # ImageMagick's taps
        made[name] = values
    if entry == "zoom_blur":
        ends, steps = made.pop("end"), made["step"]
        made = {"steps": [len(np.arange(1, e, s)) for e, s in zip(ends, steps, strict=True)], "step": steps}
    return {name: _plain(v) for name, v in made.items()}


def _plain(values: list[float] | float) -> list[float] | float:
    if not isinstance(values, list):
        return values
    plain = [v if isinstance(v, int) else round(float(v), 6) for v in values]
    return plain[0] if len(set(plain)) == 1 else plain


def make_suite(original: str, name: str, about: str) -> str:
    """The text of a suite file."""
    suite = load_suite(original)
    entries = {entry: make_entry(original, entry) for entry in NEUTRAL}
    head = {
        "suite": name,
        "version": 1,
        "size": suite.size,
        "severities": LEVELS,
        "about": about,
        "reference": "Press, Schneider, Kümmerer and Bethge, RDumb: A simple approach that questions our progress in "
        "continual test-time adaptation, NeurIPS 2023",
        "validation": ["brightness"],
    }
    dump = {"sort_keys": False, "default_flow_style": None, "width": 120, "allow_unicode": True}
    parts = [yaml.safe_dump(part, **dump) for part in (head, {"entries": entries})]
    return "".join(["# Made by tools/make_ccc_suites.py.\n", *parts])


if __name__ == "__main__":
    for original, name, about in (
        ("imagenet-c", "imagenet-ccc", "corruptions of CCC at 224 pixels: level q is severity q / 4 of ImageNet-C"),
        ("cifar10-c", "cifar10-ccc", "the same for 32 pixels: level q is severity q / 4 of CIFAR-10-C"),
    ):
        (SUITES / f"{name}.yaml").write_text(make_suite(original, name, about), encoding="utf-8")
