"""Orders of images: permutations, statistics of correlated labels, and settings that go together or say why not."""

import itertools

import numpy as np
import pytest

import scuff
from scuff.streams import load_recipe
from scuff.streams.orders import make_order, shuffled

IMAGES = 200


@pytest.fixture(scope="module")
def source():
    fashion = scuff.open_source("fashion")
    return fashion.take(np.sort(np.concatenate([np.flatnonzero(fashion.labels == k)[:20] for k in range(10)])))


@pytest.mark.parametrize("order", ["file", "shared", "fresh", "class", "chunks", "slots"])
def test_orders_are_permutations(order):
    labels = np.arange(IMAGES) % 10
    for group in (0, 7):
        made = make_order(order, labels, 10, group, seed=3)
        assert np.array_equal(np.sort(made), np.arange(IMAGES))


def test_the_first_of_an_order_are_those_of_the_whole():
    whole = shuffled(5000, "order", 4, 0)
    for first in (1, 10, 999, 4999):
        assert np.array_equal(shuffled(5000, "order", 4, 0, first), whole[:first])


def test_shuffles_are_fair():
    firsts = [shuffled(10, "order", group, 0)[0] for group in range(2000)]
    assert np.bincount(firsts, minlength=10).std() < 25  # 13.4 is expected


# --- section 4: share of equal neighbours, mean run, classes per 64 images -------------------------------------------


def statistics(labels):
    changes = (labels[1:] != labels[:-1]).sum()
    windows = labels[: len(labels) // 64 * 64].reshape(-1, 64)
    return 1 - changes / (len(labels) - 1), len(labels) / (changes + 1), np.mean([len(set(w)) for w in windows])


@pytest.mark.parametrize(
    ("classes", "order", "concentration", "published", "tolerance"),
    [
        (10, "chunks", 0.1, (0.995, 212, 1.28), (0.002, 30, 0.06)),
        (10, "slots", 0.1, (0.994, 174, 1.34), (0.002, 25, 0.06)),
        (100, "chunks", 0.1, (0.773, 4.4, 15.0), (0.01, 0.2, 0.6)),
        (100, "chunks", 0.01, (0.948, 19.1, 4.2), (0.005, 1.5, 0.3)),
        (100, "chunks", 1, (0.392, 1.65, 37.7), (0.01, 0.03, 0.6)),
        (100, "slots", 0.1, (0.748, 4.0, 16.5), (0.01, 0.15, 0.6)),
    ],
)
def test_labels_are_as_correlated_as_those_of_the_originals(classes, order, concentration, published, tolerance):
    labels = np.arange(10_000) % classes
    orders = [make_order(order, labels, classes, 0, seed, None, concentration) for seed in range(4)]
    found = np.mean([statistics(labels[made]) for made in orders], axis=0)
    assert np.all(np.abs(found - published) <= tolerance), found


def test_imbalance_draws_one_class_after_the_other():
    labels = np.arange(1000) % 10
    drawn = labels[make_order("imbalance", labels, 10, 0, 0, 10_000, ratio=90.0)].reshape(10, 1000)
    shares = [np.bincount(turn, minlength=10).max() / 1000 for turn in drawn]
    assert np.mean(shares) == pytest.approx(90 / 99, abs=0.01)
    assert {np.bincount(turn).argmax() for turn in drawn} == set(range(10))


def test_imbalance_draws_as_many_as_it_is_asked_for_even_if_these_are_all(source):
    stream = scuff.stream(source, f"label_shift:samples={IMAGES}", device="cpu")
    assert len(stream) == 15 * IMAGES
    assert len(stream.table()) == len(stream)
    assert stream.table(0, IMAGES)["image_id"].duplicated().any()


def test_too_few_images_for_chunks_are_refused():
    with pytest.raises(ValueError, match="too few for chunks"):
        make_order("chunks", np.arange(90) % 10, 10, 0, 0)


def test_sorted_labels(source):
    stream = scuff.stream(source, "correlated", device="cpu")
    labels = stream.table(0, IMAGES)["label"].to_numpy()
    assert (np.diff(labels) >= 0).all()


# --- any two settings -----------------------------------------------------------------------------------------------

SETTINGS = {
    "corruptions": ["cotta-3", "cotta", "random", ["fog", "snow+contrast"]],
    "severities": [[2, 4], {"first": [5], "then": [1, 2]}, {"outer": [5, 1]}, {"walk": 3}],
    "together": [2],
    "mixed": [True],
    "clean": [True],
    "order": ["file", "fresh", "class", "chunks", "slots", "imbalance"],
    "limit": [150],
    "samples": [30],
    "draws": ["position"],
    "view": ["none", "random"],
    "as_published": [True],
    "reset": ["corruption", "segment", "never"],
    "visits": [2],
    "batch": [7],
    "across": [True],
    "least": [3],
    "eta": [1.0],
}
REASONS = ("leave", "samples are for", "is drawn by position", "do not begin", "none of them", "at most two", "too few")
ONE = [(key, value) for key, values in SETTINGS.items() for value in values]


def open_or_reason(source, changes):
    """A stream and what is last in it, or why there is none."""
    try:
        stream = scuff.stream(source, load_recipe("continual").replace(**changes), device="cpu")
        return stream, stream.at(len(stream) - 1)
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("key", SETTINGS)
def test_any_two_settings_go_together_or_say_why_not(source, key):
    for first, second in itertools.product([(key, v) for v in SETTINGS[key]], ONE):
        if first[0] == second[0]:
            continue
        opened = open_or_reason(source, dict([first, second]))
        if isinstance(opened, str):
            assert any(reason in opened for reason in REASONS), (first, second, opened)
            continue
        stream, there = opened
        assert there.label == source.labels[there.place]
        assert stream.segments[-1].stop == len(stream)
        grid = stream.grid()
        spans = [grid[number] for number in range(len(grid))]
        left_out = len(stream) - sum(stop - start for start, stop in spans)
        assert left_out == 0 or stream.recipe.least > 1
