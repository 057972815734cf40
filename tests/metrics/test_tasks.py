"""Average precision against pycocotools, intersections over unions by hand, and the intervals of both."""

from __future__ import annotations

import contextlib
import io

import numpy as np
import pandas as pd
import pytest

from scuff.metrics import cell_scores, corruption_scores, performance, task_scores
from scuff.metrics.tasks.groups import group_images, jackknife
from scuff.metrics.tasks.performance import Performance
from scuff.metrics.tasks.precision import MOST_FOUND, _annotations, average_precision
from scuff.metrics.tasks.regions import count_pairs, mean_iou

IMAGES, CLASSES = 25, 3


def made_cell(seed: int, noise: float, images: int = IMAGES) -> dict:
    """Boxes, most of which are near an object, some of which are not, with scores that know a little about it."""
    random = np.random.default_rng(seed)
    cell: dict[str, list] = {name: [] for name in ("boxes", "scores", "labels", "ghosts")}
    cell |= {name: [] for name in ("true_boxes", "true_labels", "true_crowd")}
    truths = np.random.default_rng(99)  # the same in every cell
    for _ in range(images):
        count = int(truths.integers(0, 5))
        corner, sides = truths.uniform(0, 60, (count, 2)), truths.uniform(10, 40, (count, 2))
        true = np.concatenate([corner, corner + sides], 1)
        labels = truths.integers(0, CLASSES, count)
        crowd = truths.random(count) < 0.1
        extra = int(random.integers(0, 4))
        stray = random.uniform(0, 50, (extra, 4))
        stray[:, 2:] += stray[:, :2]
        found = np.concatenate([true + random.normal(0, noise, true.shape), stray])
        cell["boxes"].append(found.astype(np.float32).ravel())
        cell["scores"].append(np.round(random.uniform(0, 1, count + extra), 2).astype(np.float32))  # with ties
        cell["labels"].append(np.concatenate([labels, random.integers(0, CLASSES + 1, extra)]).astype(np.int32))
        cell["ghosts"].append(np.zeros(count + extra, bool))
        cell["true_boxes"].append(true.astype(np.float32).ravel())
        cell["true_labels"].append(labels.astype(np.int32))
        cell["true_crowd"].append(crowd)
    return cell


def by_pycocotools(cell: dict, images: np.ndarray) -> float:
    """AP of some images, all by pycocotools itself."""
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    chosen = {key: [value[k] for k in images] for key, value in cell.items()}
    true = _annotations(chosen["true_boxes"], chosen["true_labels"], crowd=chosen["true_crowd"])
    found = _annotations(chosen["boxes"], chosen["labels"], scores=chosen["scores"])
    with contextlib.redirect_stdout(io.StringIO()):
        coco = COCO()
        coco.dataset = {
            "images": [{"id": k} for k in range(len(images))],
            "annotations": true,
            "categories": [{"id": k} for k in range(CLASSES)],
        }
        coco.createIndex()
        evaluation = COCOeval(coco, coco.loadRes(found), "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return float(evaluation.stats[0])


@pytest.mark.parametrize("noise", [1.0, 6.0])
def test_ap_and_what_is_left_of_it_without_a_group_are_those_of_pycocotools(noise: float) -> None:
    cell = made_cell(1, noise)
    groups = group_images(np.arange(IMAGES))
    value, left_out = average_precision(cell, groups)
    assert 0.05 < value < 0.95
    assert value == pytest.approx(by_pycocotools(cell, np.arange(IMAGES)), abs=1e-12)
    assert len(left_out) == 20
    for group in (0, 7, 19):
        assert left_out[group] == pytest.approx(by_pycocotools(cell, np.flatnonzero(groups != group)), abs=1e-12)


def test_boxes_on_mirror_images_do_not_count() -> None:
    cell = made_cell(1, 1.0)
    before, _ = average_precision(cell, group_images(np.arange(IMAGES)))
    best = float(average_precision(made_cell(1, 0.0), group_images(np.arange(IMAGES)))[0])
    right = [len(labels) for labels in cell["true_labels"]]
    cell["ghosts"] = [np.arange(len(g)) >= k for g, k in zip(cell["ghosts"], right, strict=True)]  # strays
    after, _ = average_precision(cell, group_images(np.arange(IMAGES)))
    assert before < after
    assert best > before


def test_nothing_found_is_0_and_nothing_to_find_is_not_a_number() -> None:
    cell = made_cell(1, 1.0)
    nothing = {key: [value[:0] for value in cell[key]] for key in ("boxes", "scores", "labels", "ghosts")}
    value, left_out = average_precision(cell | nothing, np.arange(IMAGES) % 5)
    assert value == 0
    assert not left_out.any()
    no_truth = {key: [value[:0] for value in cell[key]] for key in ("true_boxes", "true_labels", "true_crowd")}
    assert np.isnan(average_precision(cell | no_truth, np.arange(IMAGES) % 5)[0])
    assert MOST_FOUND == 100


def test_iou_by_hand() -> None:
    true = np.array([[0, 0, 1, 1], [0, 0, 1, 255]])
    taken = np.array([[0, 1, 1, 1], [0, 0, 2, 0]])
    pairs, counts = count_pairs(true, taken, 2)
    assert dict(zip(pairs.tolist(), counts.tolist(), strict=True)) == {0: 3, 1: 1, 4: 2, 5: 1}
    cell = {"pairs": [pairs, pairs[:1]], "counts": [counts, counts[:1]], "classes": [2, 2]}
    value, left_out = mean_iou(cell, np.array([0, 1]))
    assert value == pytest.approx(np.mean([6 / 7, 2 / 4]))
    assert left_out.tolist() == pytest.approx([1.0, np.mean([3 / 4, 2 / 4])])


def test_a_jackknife_of_means_is_their_standard_error() -> None:
    values = np.random.default_rng(0).normal(size=20)
    left_out = (values.sum() - values) / 19
    score = jackknife(values.mean(), left_out, 20)
    half = 2.093024 * values.std(ddof=1) / np.sqrt(20)
    assert score.low == pytest.approx(values.mean() - half, abs=1e-6)
    assert np.isnan(jackknife(1.0, np.array([1.0]), 1).low)


def test_groups_do_not_depend_on_the_order_of_images() -> None:
    ids = np.random.default_rng(0).permutation(1000)
    groups = group_images(ids)
    assert np.bincount(groups).tolist() == [50] * 20
    order = np.argsort(ids)
    assert np.array_equal(group_images(ids[order]), groups[order])


# --- P, mPC, rPC, CD --------------------------------------------------------------------------------------------------


def rows_of(noises: dict, seed: int = 0) -> pd.DataFrame:
    parts = []
    for k, ((corruption, severity), noise) in enumerate(noises.items()):
        cell = made_cell(seed + k, noise)
        ids = np.arange(IMAGES) * 7
        parts.append(pd.DataFrame({**cell, "image_id": ids, "corruption": corruption, "severity": severity}))
    return pd.concat(parts, ignore_index=True)


NOISES = {("clean", 0): 1.0, ("fog", 1): 2.0, ("fog", 2): 4.0, ("snow", 1): 3.0, ("snow", 2): 6.0}


def test_the_scores_of_a_detector() -> None:
    mine = performance(rows_of(NOISES))
    assert mine.cells == tuple(NOISES)
    of = dict(zip(mine.cells, mine.values, strict=True))
    scores = task_scores(mine)
    mpc = np.mean([(of["fog", 1] + of["fog", 2]) / 2, (of["snow", 1] + of["snow", 2]) / 2])
    assert scores["P"].value == pytest.approx(100 * of["clean", 0])
    assert scores["mPC"].value == pytest.approx(100 * mpc)
    assert scores["rPC"].value == pytest.approx(100 * mpc / of["clean", 0])
    assert all(score.low < score.value < score.high and score.n == IMAGES for score in scores.values())
    assert corruption_scores(mine)["fog"].value == pytest.approx(50 * (of["fog", 1] + of["fog", 2]))
    assert cell_scores(mine)["value"].tolist() == pytest.approx((100 * mine.values).tolist())
    assert set(task_scores(mine, entries=["fog"])) == {"P", "mPC", "rPC"}


def test_degradations_are_relative_to_a_reference() -> None:
    mine, other = performance(rows_of(NOISES)), performance(rows_of({cell: 2 * n for cell, n in NOISES.items()}, 50))
    alike = task_scores(mine, mine)
    assert (alike["CD"].value, alike["rCD"].value) == (100, 100)
    assert alike["CD"].low == alike["CD"].high == 100
    lost, theirs = 1 - mine.values, 1 - other.values
    by_hand = [lost[k].sum() / theirs[k].sum() for k in ([1, 2], [3, 4])]
    assert task_scores(mine, other)["CD"].value == pytest.approx(100 * np.mean(by_hand))
    more = [(lost[k] - lost[0]).sum() / (theirs[k] - theirs[0]).sum() for k in ([1, 2], [3, 4])]
    assert task_scores(mine, other)["rCD"].value == pytest.approx(100 * np.mean(more))
    with pytest.raises(ValueError, match="must have the cells and images of the model"):
        task_scores(mine, performance(rows_of({("clean", 0): 1.0})))


def test_cells_of_other_images_are_refused() -> None:
    rows = rows_of(NOISES)
    rows.loc[rows.index[-1], "image_id"] = 10**6
    with pytest.raises(ValueError, match="not of the images of the other cells"):
        performance(rows)


def test_published_definitions() -> None:
    """Of Faster R-CNN on COCO-C: P 36.3, mPC 18.2, rPC 50.2 (Michaelis et al. 2019), the ratio of means."""
    from scuff.metrics import Performance

    means = [16.7, 16.7, 13.6, 17.2, 10.8, 15.6, 7.5, 17.2, 21.4, 30.2, 32.0, 22.4, 20.5, 13.7, 14.7]
    cells = (("clean", 0), *((f"c{k}", 1) for k in range(15)))
    values = np.array([36.39, *means]) / 100
    scores = task_scores(Performance(cells, values, values[None].repeat(3, 0), 5000))
    assert scores["mPC"].value == pytest.approx(18.0, abs=0.05)
    assert scores["rPC"].value == pytest.approx(49.5, abs=0.1)


def test_a_model_that_is_never_right_has_no_ratio() -> None:
    cells = (("clean", 0), ("fog", 1))
    scores = task_scores(Performance(cells, np.array([0.0, 0.1]), np.full((3, 2), 0.1), 30))
    assert scores["P"].value == 0
    assert np.isnan(scores["rPC"].value)
