"""Painted markers and boxes: what is seen in corrupted pictures lies where targets say."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import scuff
from scuff.door import motions_of, resolve
from scuff.suites import load_suite
from scuff.targets import move_boxes, move_points

SUITES = ("imagenet-c", "coco-c", "c-bar-candidates-224", "noc-candidates", "syn2nat-candidates")
SIZE = (112, 144)
IDS = torch.arange(12)


def movers() -> list[tuple[str, float | None]]:
    """Every entry, at every level, whose corruption moves something."""
    found = []
    for suite in map(load_suite, SUITES):
        for entry in suite.entries:
            levels = suite.levels(entry)
            plan = resolve(entry, levels[0], suite=suite)
            if not motions_of(plan, IDS[:1], (3, *SIZE), 0, True, "content")[0].stays:
                found += [(f"{suite.name}/{entry}", level) for level in levels]
    return found


ALL = movers()
FEW = [  # one of each kind; the others take their time
    ("imagenet-c/elastic_transform", 3),
    ("imagenet-c/motion_blur", 3),
    ("c-bar-candidates-224/pinch_and_twirl", 3),
    ("noc-candidates/rotation", None),
    ("syn2nat-candidates/perspective", None),
    ("syn2nat-candidates/random_grid_shuffle", None),
]

# Smears and zooms have no edge: a spot is as long as the way of the camera, and its centre is that of all of it.
SMEARED = ("imagenet-c/motion_blur", "imagenet-c/zoom_blur", "coco-c/motion_blur", "coco-c/zoom_blur")
# Glass throws single pixels about, by up to 4 of them at 224 pixels: a spot falls apart. Typical errors are held.
SCATTERED = ("imagenet-c/glass_blur", "coco-c/glass_blur")


def motions(address: str, level: float | None):
    return motions_of(resolve(address, level), IDS, (1, *SIZE), 0, True, "content")


def differences(pictures: np.ndarray, address: str, level: float | None, grey: int = 102) -> np.ndarray:
    """How much the corrupted pictures differ from a corrupted flat grey, (N, H, W)."""
    flat = np.full((len(IDS), *SIZE, 1), grey, np.uint8)
    made = [scuff.corrupt(x, address, level, ids=IDS)[..., 0].astype(float) for x in (pictures, flat)]
    return np.abs(made[0] - made[1])


def is_steady(motion, x: float, y: float) -> bool:
    """Whether the picture is neither folded nor stretched much around a place of the corrupted one."""
    rows, columns = (at[0] for at in motion.sources())
    r, c = round(y), round(x)
    if not (4 <= r < SIZE[0] - 4 and 4 <= c < SIZE[1] - 4):
        return False
    window = torch.stack((rows, columns))[:, r - 4 : r + 5, c - 4 : c + 5].double()
    down, across = window.diff(dim=1)[:, :, :-1], window.diff(dim=2)[:, :-1]
    values = torch.linalg.svdvals(torch.stack((down, across), dim=-1).permute(1, 2, 0, 3))
    turned = torch.linalg.det(torch.stack((down, across), dim=-1).permute(1, 2, 0, 3))
    same = bool((turned > 0).all() or (turned < 0).all())
    return same and bool((values > 0.5).all() and (values < 2.0).all())


def marker_errors(address: str, level: float | None) -> np.ndarray:
    rng = np.random.default_rng(0)
    margin = 30 if address in SMEARED else 12
    height, width = SIZE
    spots = rng.uniform((margin, margin), (width - margin, height - margin), (len(IDS), 2))
    y, x = np.mgrid[:height, :width]
    far = (x - spots[:, 0, None, None]) ** 2 + (y - spots[:, 1, None, None]) ** 2
    grey, light = (30, 220) if address in SMEARED else (102, 90)  # a faint end of a smear is no whole level
    pictures = np.round(grey + light * np.exp(-far / (2 * 1.2**2))).astype(np.uint8)[..., None]
    changes, errors = differences(pictures, address, level, grey), []
    for spot, motion, change in zip(spots, motions(address, level), changes, strict=True):
        (place,), (seen,) = move_points(torch.tensor(spot)[None], motion)
        smeared = address in SMEARED or address in SCATTERED
        if not seen or not (smeared or motion.tiles is not None or is_steady(motion, *place.tolist())):
            continue
        window = 1000 if smeared else 8
        near = np.where(np.maximum(abs(x - float(place[0])), abs(y - float(place[1]))) <= window, change, 0.0)
        if near.sum() > 100:
            centre = np.array([(near * x).sum(), (near * y).sum()]) / near.sum()
            errors.append(np.linalg.norm(centre - place.numpy()))
    return np.array(errors)


def check_markers(address: str, level: float | None) -> None:
    errors = marker_errors(address, level)
    if address in SCATTERED:
        assert np.median(errors) <= 2.0
    elif len(errors):  # a picture may be folded everywhere
        assert np.quantile(errors, 0.95) <= (1.25 if address in SMEARED else 1.0)


@pytest.mark.parametrize(("address", "level"), FEW)
def test_points_lie_on_painted_markers(address, level):
    check_markers(address, level)


@pytest.mark.parametrize(("address", "level"), [one for one in ALL if one not in FEW])
def test_points_lie_on_painted_markers_at_every_level(address, level):
    check_markers(address, level)


def box_overlaps(address: str, level: float | None) -> np.ndarray:
    rng = np.random.default_rng(1)
    height, width = SIZE
    sides = rng.integers(24, 56, (len(IDS), 2))
    low = rng.integers(0, np.array([width, height]) - sides)
    boxes = np.concatenate((low, low + sides), axis=1)
    pictures = np.full((len(IDS), height, width, 1), 102, np.uint8)
    for picture, (left, top, right, bottom) in zip(pictures, boxes, strict=True):
        picture[top:bottom, left:right] = 192
    overlaps = []
    for box, motion, change in zip(boxes, motions(address, level), differences(pictures, address, level), strict=True):
        (moved,), (visible,) = move_boxes(torch.tensor(box)[None], motion)
        change = np.where(motion.filled()[0].numpy(), 0.0, change)
        if motion.tiles is not None:  # the largest piece
            tiles = motion.tiles[0].numpy()
            change = np.where(tiles == np.bincount(tiles[change > 0]).argmax(), change, 0.0)
        shown = change > 0.5 * change.max()
        if change.max() < 30 or visible < 0.05:
            continue
        rows, columns = np.flatnonzero(shown.any(1)), np.flatnonzero(shown.any(0))
        painted = np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1])
        overlaps.append(iou(painted, moved.numpy()))
    return np.array(overlaps)


def iou(a: np.ndarray, b: np.ndarray) -> float:
    common = (np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])).clip(min=0).prod()
    return common / ((a[2:] - a[:2]).prod() + (b[2:] - b[:2]).prod() - common)


# A half of a smear is seen earlier than its middle; blocks, jumps at the border, and threads of a fold are as wide as
# they are. Their boxes are off by a pixel or two, of sides of 24 to 55.
ROUGH = (*SMEARED, *SCATTERED, "noc-candidates/pixelate", "syn2nat-candidates/downscale")
ROUGH += ("syn2nat-candidates/random_rain", "c-bar-candidates-224/caustic_refraction")


def check_boxes(address: str, level: float | None) -> None:
    assert box_overlaps(address, level).mean() >= (0.85 if address in ROUGH else 0.95)


@pytest.mark.parametrize(("address", "level"), FEW)
def test_boxes_hold_painted_boxes(address, level):
    check_boxes(address, level)


@pytest.mark.parametrize(("address", "level"), [one for one in ALL if one not in FEW])
def test_boxes_hold_painted_boxes_at_every_level(address, level):
    check_boxes(address, level)
