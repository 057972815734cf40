"""A weighted sum of cell errors from a sample: theta = sum_c W_c p_c, with an interval that knows what it is for.

There are two questions. What would the full run over *these* images print? And what would *images like these* give,
which is what the bootstrap over images answers for a full run? The second is less certain by what the images at hand
differ from others. A sample that visits no image twice cannot tell the two apart, and gives the wider interval for
both.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from scipy.special import ndtri

from scuff.metrics.intervals import percent
from scuff.metrics.score import Score

Population = Literal["these", "like"]

POOLED = 6000  # below so many passes all cells share the slopes of a control: single corruptions have too few


@dataclass(frozen=True, eq=False)
class Sample:
    """What passes have shown: `wrong[k]` of image place `image[k]` in cell place `cell[k]`, and all images' number."""

    wrong: np.ndarray
    image: np.ndarray
    cell: np.ndarray
    images: int
    counts: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", np.bincount(self.cell))
        if not len(self.wrong) or self.counts.min() < 2:
            raise ValueError("every cell needs at least two images before their spread can be told; take more passes")


@dataclass(frozen=True, eq=False)
class Control:
    """What is known of ALL images without a pass, and tells something of the result of one.

    `features` are (images, cells or 1, features): the clean result of the image for every cell alike, or the result of
    another model in the same cell. `groups` numbers the cells that share slopes.
    """

    features: np.ndarray
    groups: np.ndarray


def estimate_sampled(
    sample: Sample,
    weights: np.ndarray,
    *,
    of: Population = "these",
    level: float = 0.95,
    control: Control | None = None,
) -> Score:
    """The weighted sum of cell errors, from images of which each cell has a simple random sample.

    The interval takes images as clusters: visits of one image are not independent.

    >>> sample = Sample(np.arange(40) % 4 == 0, np.arange(40), np.arange(40) // 4 % 2, images=1000)
    >>> print(estimate_sampled(sample, np.array([0.5, 0.5])))
    0.25 [0.11, 0.39] (n = 40; sampled)
    """
    y, cell = np.asarray(sample.wrong, float), sample.cell
    predicted, known, spread = np.zeros(len(y)), 0.0, 0.0
    if control is not None:
        predicted, of_images = _predict(sample, control, weights)
        known, spread = of_images.mean(), of_images.var(ddof=1) / sample.images
    rest = y - predicted
    means = np.bincount(cell, rest) / sample.counts
    value = float(weights @ means + known)
    like, these = _variances(sample, weights, rest - means[cell])
    variance = these if of == "these" else like + spread
    half = float(ndtri(0.5 + level / 2) * np.sqrt(variance))
    who = "these images" if of == "these" else "images like these"
    note = f"for {who}" + (" with a control" if control is not None else "")
    return Score(value, value - half, value + half, len(y), f"sampled, {percent(level)} {note}")


def _variances(sample: Sample, weights: np.ndarray, e: np.ndarray) -> tuple[float, float]:
    """Of the estimate, for images like these and for these images, from what is left of every result."""
    n, w = sample.counts[sample.cell], weights[sample.cell]
    like = float((np.bincount(sample.image, w * e / np.sqrt(n * (n - 1))) ** 2).sum())
    visits = np.bincount(sample.image)
    repeats = float((visits * (visits - 1)).sum())
    cells = len(sample.counts)
    if len(e) == sample.images * cells:  # everything was tried
        return like, 0.0
    if not repeats:
        return like, like
    own = float((w**2 * e**2 / (n - 1)).sum())
    shared = float((np.bincount(sample.image, w * e) ** 2).sum() - (w**2 * e**2).sum())
    of_images = own + cells * (cells - 1) / repeats * shared  # the variance over images of an image's weighted sum
    return like, max(0.0, like - of_images / sample.images)


def _predict(sample: Sample, control: Control, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The prediction for every pass, and the weighted sum of predictions of every image.

    Slopes of one half of the images are fitted on the other half: a prediction must not know its own result.
    """
    features = control.features - control.features.mean(axis=0)
    column = sample.cell if features.shape[1] > 1 else np.zeros_like(sample.cell)
    groups = control.groups if len(sample.wrong) >= POOLED else np.zeros_like(control.groups)
    x = features[sample.image, column]
    y = np.asarray(sample.wrong, float)
    y = y - (np.bincount(sample.cell, y) / sample.counts)[sample.cell]
    predicted, of_images = np.zeros(len(y)), np.zeros(sample.images)
    for half in (0, 1):
        mine = np.arange(sample.images) % 2 == half
        for group in np.unique(groups):
            members = groups[sample.cell] == group
            fit = members & ~mine[sample.image]
            slopes = np.linalg.lstsq(x[fit], y[fit], rcond=None)[0]
            use = members & mine[sample.image]
            predicted[use] = x[use] @ slopes
            cells = np.flatnonzero(groups == group)
            columns = features[:, cells] if features.shape[1] > 1 else features
            shares = weights[cells] if features.shape[1] > 1 else weights[cells].sum(keepdims=True)
            of_images[mine] += np.einsum("icf,f,c->i", columns[mine], slopes, shares)
    return predicted, of_images
