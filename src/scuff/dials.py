"""Plots of severity against distance: how much of a picture is lost as the dial of an entry is turned.

One small SVG for all entries of a suite that have levels. It is text, so it stays small and needs no package.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
from PIL import Image

from scuff.corruptions import get
from scuff.door import corrupt
from scuff.metrics.visual import SMALL_WINDOWS, vif_distance
from scuff.suites import Suite

Curve = list[tuple[float, float]]  # severities and distances

STEPS = 20  # of the way from the image to the last level
COLUMNS, WIDTH, HEIGHT = 5, 168, 124  # panels in a row, and pixels of one
LEFT, TOP, RIGHT, BOTTOM = 28, 22, 10, 22  # margins of a panel
INK, PALE, LINE = "#18181b", "#d4d4d8", "#1d4ed8"
STYLES = {"levels": "", "monotone": ' stroke-dasharray="3 3"'}


def dialled_entries(suite: Suite) -> list[str]:
    """The entries of a suite whose severity is a dial, if its images are large enough for a distance."""
    if suite.size < SMALL_WINDOWS[0]:
        return []
    return [e for e in suite.entries if suite.listed_levels(e) and not get(suite.corruption(e)).sequence]


def distance_curve(suite: Suite, entry: str, picture: Image.Image, path: str = "levels", seed: int = 0) -> Curve:
    """1 - VIF of a picture along the dial of an entry, by the draws that all severities share."""
    clean = np.asarray(picture)[None]
    severities = np.linspace(0, suite.listed_levels(entry)[-1], STEPS + 1).tolist()
    turned = [corrupt(clean, entry, s, suite=suite, seed=seed, path=path, draws="shared") for s in severities]
    distances = vif_distance(np.repeat(clean, len(turned), axis=0), np.concatenate(turned))
    return list(zip(severities, distances.tolist(), strict=True))


def draw_dials(suite: Suite, picture: Image.Image, seed: int = 0) -> str:
    """An SVG with a panel for every entry that has levels; the monotone path is dashed where it is another one."""
    panels = []
    for entry in dialled_entries(suite):
        paths = ["levels", *(["monotone"] if suite.monotone.get(entry) else [])]
        curves = {path: distance_curve(suite, entry, picture, path, seed) for path in paths}
        panels.append(_panel(entry, curves, suite.listed_levels(entry)))
    rows = -(-len(panels) // COLUMNS)
    width, height = min(len(panels), COLUMNS) * WIDTH, rows * HEIGHT
    placed = [
        f'<g transform="translate({k % COLUMNS * WIDTH},{k // COLUMNS * HEIGHT})">{panel}</g>'
        for k, panel in enumerate(panels)
    ]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="11" fill="{INK}">'
    )
    return "\n".join([head, f'<rect width="{width}" height="{height}" fill="white"/>', *placed, "</svg>\n"])


def _panel(entry: str, curves: dict[str, Curve], levels: Sequence[int]) -> str:
    """One entry: its name, distances from 0 to 1, a dot at every level."""

    def across(severity: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * severity / levels[-1]

    def down(distance: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - distance)

    parts = [f'<text x="{LEFT}" y="14">{escape(entry.replace("_", " "))}</text>']
    for distance in (0.0, 0.5, 1.0):
        y = f"{down(distance):.1f}"
        parts.append(f'<path d="M{LEFT} {y}H{WIDTH - RIGHT}" stroke="{PALE}"/>')
        parts.append(f'<text x="{LEFT - 4}" y="{y}" dy="4" text-anchor="end">{distance:g}</text>')
    for severity in dict.fromkeys([0, *levels[:: max(1, len(levels) // 5)], levels[-1]]):
        parts.append(f'<text x="{across(severity):.1f}" y="{HEIGHT - 7}" text-anchor="middle">{severity}</text>')
    for path, curve in curves.items():
        points = " ".join(f"{across(s):.1f},{down(d):.1f}" for s, d in curve)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{LINE}" stroke-width="1.5"{STYLES[path]}/>')
    dots = [(s, d) for s, d in curves["levels"] if s in levels]
    parts += [f'<circle cx="{across(s):.1f}" cy="{down(d):.1f}" r="2.2" fill="{LINE}"/>' for s, d in dots]
    return "".join(parts)
