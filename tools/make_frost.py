"""Synthesise the frost textures of scuff/assets from published statistics of the originals.

    python tools/make_frost.py src/scuff/assets

Nothing is copied from the original photographs, whose licence is unknown. Each texture starts as a drawing of random
crystals (thin bright needles, which give the heavy-tailed gradients of ice), and is then pushed back and forth between
two sets of targets until both hold: the radial power spectrum of the original's grey channel, and the quantiles of its
colour channels. The centre is made lighter or darker, and calmer, until random windows have the published mean and
deviation.

Frequencies are in cycles per 224 pixels, levels in 0..255. docs/frost.md compares targets and results.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw
from scipy.special import ndtri

TILE = 224
PERCENT = np.array((0, 1, 5, 10, 25, 50, 75, 90, 95, 99, 100)) / 100
PSD_AT = np.array((1, 2, 4, 8, 16, 32, 64, 100))


@dataclass(frozen=True)
class Target:
    """What a texture must look like to a statistician, and how its crystals are drawn."""

    width: int
    height: int
    quantiles: tuple[tuple[int, ...], ...]  # R, G, B at PERCENT
    psd: tuple[float, ...]  # of grey, at PSD_AT
    window_mean: float  # of grey over random 224-pixel windows
    window_std: float  # of grey inside a window, on average
    drift: float  # variance of waves longer than a window, relative to the rest
    needles: int
    length: tuple[int, int]
    angles: tuple[float, ...]  # directions, degrees; () for any
    grain: float = 0.15  # noise under the needles: less of it, heavier tails
    twist: float = 0.0  # how far red and blue depart from green: only the turquoise ripples do


TARGETS = {
    "frost-ripples": Target(
        900, 600,
        ((15, 31, 40, 46, 57, 74, 95, 115, 127, 150, 201),
         (99, 116, 123, 128, 137, 148, 160, 171, 178, 190, 230),
         (115, 134, 141, 146, 155, 166, 176, 186, 191, 202, 235)),
        (371e3, 82e3, 12.6e3, 1766, 454, 276, 143, 34), 128.9, 16.0, 0.30,
        5000, (4, 26), (20.0, 35.0, 160.0), twist=1.0,
    ),
    "frost-needles": Target(
        560, 315,
        ((55, 138, 162, 173, 189, 204, 216, 225, 230, 241, 253),
         (56, 140, 165, 176, 193, 209, 221, 230, 235, 245, 255),
         (60, 146, 172, 184, 202, 218, 231, 240, 244, 250, 255)),
        (272e3, 44.5e3, 15.9e3, 6707, 2899, 610, 194, 37), 201.6, 20.0, 0.12, 1500, (12, 80), (), grain=0.5,
    ),
    "frost-grains": Target(
        527, 350,
        ((15, 69, 91, 102, 120, 138, 155, 171, 183, 218, 251),
         (24, 84, 105, 118, 135, 153, 170, 186, 199, 234, 255),
         (31, 92, 115, 129, 147, 165, 183, 201, 214, 249, 255)),
        (289e3, 32.3e3, 16.7e3, 8142, 3627, 1915, 682, 151), 156.1, 26.1, 0.06, 5000, (3, 14), (0.0, 90.0, 45.0, 135.0),
    ),
    "frost-ferns": Target(
        660, 495,
        ((14, 34, 48, 59, 79, 107, 140, 174, 195, 233, 255),
         (25, 45, 60, 70, 91, 119, 151, 183, 203, 238, 255),
         (36, 57, 72, 83, 104, 131, 161, 192, 211, 243, 255)),
        (511e3, 179e3, 106e3, 32.7e3, 8286, 2299, 593, 274), 110.1, 35.6, 0.10, 170, (30, 90), (), grain=0.05,
    ),
}  # fmt: skip


def draw_crystals(target: Target, rng: np.random.Generator) -> np.ndarray:
    """Random needles with side branches, as a height map of mean 0 and deviation 1."""
    zoom = 2
    canvas = Image.new("F", (target.width * zoom, target.height * zoom), 0.0)
    pen = ImageDraw.Draw(canvas)
    for _ in range(target.needles):
        x, y = rng.uniform(0, target.width), rng.uniform(0, target.height)
        angle = np.deg2rad(rng.choice(target.angles) + rng.normal(0, 8) if target.angles else rng.uniform(0, 180))
        length, light = rng.uniform(*target.length), rng.normal() + 0.4
        dx, dy = np.cos(angle) * length, np.sin(angle) * length
        pen.line([(x * zoom, y * zoom), ((x + dx) * zoom, (y + dy) * zoom)], fill=light, width=int(rng.integers(1, 5)))
        if length < 28:
            continue
        for part in np.arange(0.1, 1.0, 6.0 / length):  # a fern: barbs on both sides, shorter towards the tip
            for side in (-1, 1):
                a, barb = angle + side * np.deg2rad(55), 0.35 * length * (1 - part)
                start = ((x + part * dx) * zoom, (y + part * dy) * zoom)
                end = (start[0] + np.cos(a) * barb * zoom, start[1] + np.sin(a) * barb * zoom)
                pen.line([start, end], fill=light * rng.uniform(0.5, 1.1), width=2)
    small = canvas.resize((target.width, target.height), Image.Resampling.BOX)
    drawn = np.asarray(small, dtype=np.float64)
    drawn = drawn + target.grain * drawn.std() * rng.normal(size=drawn.shape)
    return (drawn - drawn.mean()) / drawn.std()


def radial_frequency(height: int, width: int) -> np.ndarray:
    return np.hypot(np.fft.fftfreq(height)[:, None], np.fft.fftfreq(width)[None]) * TILE


def tile_spectrum(grey: np.ndarray) -> np.ndarray:
    """Mean radial power at k = 0..111 over Hann-windowed tiles that overlap by half."""
    window = np.hanning(TILE)[:, None] * np.hanning(TILE)[None]
    k = np.rint(radial_frequency(TILE, TILE)).astype(int).ravel()
    total, count = 0.0, 0
    for top in range(0, grey.shape[0] - TILE + 1, 45):
        for left in range(0, grey.shape[1] - TILE + 1, 45):
            tile = grey[top : top + TILE, left : left + TILE]
            power = np.abs(np.fft.fft2((tile - tile.mean()) * window)) ** 2
            total, count = total + np.bincount(k, power.ravel()) / np.bincount(k), count + 1
    return (total / count)[: TILE // 2]


def target_spectrum(target: Target) -> np.ndarray:
    """Power at k = 0..111, interpolated between the published values on double logarithmic axes."""
    k = np.maximum(np.arange(TILE // 2), 1)
    curve = np.interp(np.log(k), np.log(PSD_AT), np.log(target.psd))
    slope = np.log(target.psd[-1] / target.psd[-2]) / np.log(PSD_AT[-1] / PSD_AT[-2])
    beyond = k > PSD_AT[-1]
    curve[beyond] = np.log(target.psd[-1]) + slope * np.log(k[beyond] / PSD_AT[-1])
    return np.exp(curve)


def to_quantiles(field: np.ndarray, quantiles: tuple[int, ...]) -> np.ndarray:
    """Replace values by the target's quantiles at their ranks."""
    rank = np.empty(field.size)
    rank[np.argsort(field, axis=None, kind="stable")] = (np.arange(field.size) + 0.5) / field.size
    scores = ndtri(np.clip(PERCENT, 0.5 / field.size, 1 - 0.5 / field.size))  # straight lines would fatten the tails
    return np.interp(ndtri(rank), scores, quantiles).reshape(field.shape)


def window_means(grey: np.ndarray) -> np.ndarray:
    sums = np.pad(grey, ((1, 0), (1, 0))).cumsum(0).cumsum(1)
    return (sums[TILE:, TILE:] - sums[:-TILE, TILE:] - sums[TILE:, :-TILE] + sums[:-TILE, :-TILE]) / TILE**2


def window_stds(grey: np.ndarray) -> np.ndarray:
    return np.sqrt(np.maximum(window_means(grey * grey) - window_means(grey) ** 2, 0))


def synthesise(target: Target, rng: np.random.Generator, rounds: int = 80) -> np.ndarray:
    """The grey texture: alternate spectrum, window statistics and quantiles."""
    height, width = target.height, target.width
    grey_quantiles = tuple(np.dot((0.299, 0.587, 0.114), q) for q in zip(*target.quantiles, strict=True))
    k = radial_frequency(height, width)
    wanted = target_spectrum(target)
    bins = np.bincount(np.rint(radial_frequency(TILE, TILE)).astype(int).ravel())[: TILE // 2]
    centre = np.sin(np.pi * (np.arange(height) + 0.5) / height)[:, None] * np.sin(
        np.pi * (np.arange(width) + 0.5) / width
    )
    centre = (centre - centre.mean()) / centre.std()
    field = to_quantiles(draw_crystals(target, rng), grey_quantiles)
    slow = (k < 0.9) & (k > 0)
    for _ in range(rounds):
        found = tile_spectrum(field)  # the published units are unknown: only the shape is matched
        gain = np.clip(np.sqrt(wanted / found * (bins * found).sum() / (bins * wanted).sum()), 0.5, 2.0)
        filtered = np.fft.fft2(field - field.mean())
        filtered *= np.interp(k, np.arange(1, TILE // 2), gain[1:])
        energy = (np.abs(filtered[k >= 0.9]) ** 2).sum()
        filtered[slow] *= np.sqrt(target.drift * energy / (np.abs(filtered[slow]) ** 2).sum())
        field = np.fft.ifft2(filtered).real + field.mean()
        field += centre * (target.window_mean - window_means(field).mean()) * 0.7
        contrast = window_stds(field).mean() / target.window_std
        field = field.mean() + (field - field.mean()) * (1.0 - np.clip(0.08 * (contrast - 1.0), -0.01, 0.01) * centre)
        field = to_quantiles(field, grey_quantiles)
    return field


def smooth_like(field: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Gaussian noise with the amplitude spectrum of `field`: mean 0, deviation 1."""
    amplitude = np.abs(np.fft.fft2(field - field.mean()))
    noise = np.fft.ifft2(amplitude * np.exp(1j * np.angle(np.fft.fft2(rng.normal(size=field.shape))))).real
    return (noise - noise.mean()) / noise.std()


def colour(grey: np.ndarray, target: Target, rng: np.random.Generator) -> np.ndarray:
    """Give each channel its own quantiles. The ripples' red and blue also wander apart (correlations .82 .57 .93)."""
    z = (grey - grey.mean()) / grey.std()
    e, f = smooth_like(grey, rng), smooth_like(grey, rng)
    e -= (e * z).mean() * z
    red = z + target.twist * 0.70 * e
    blue = z - target.twist * 0.36 * e + target.twist * 0.16 * f
    planes = [to_quantiles(c, q) for c, q in zip((red, z, blue), target.quantiles, strict=True)]
    return np.clip(np.rint(np.stack(planes, axis=-1)), 0, 255).astype(np.uint8)


def main(folder: str) -> None:
    for number, (name, target) in enumerate(TARGETS.items()):
        rng = np.random.default_rng(number)
        picture = Image.fromarray(colour(synthesise(target, rng), target, rng))
        picture.save(Path(folder) / f"{name}.png", optimize=True)
        print(name, picture.size)


if __name__ == "__main__":
    main(sys.argv[1])
