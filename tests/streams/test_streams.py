"""Streams: what is at a position depends on nothing but recipe, source, seed and the position."""

import numpy as np
import pytest
import torch

import scuff
from scuff.streams import list_recipes, load_recipe

IMAGES = 24


@pytest.fixture(scope="module")
def source():
    """Few images, of all classes."""
    fashion = scuff.open_source("fashion")
    first = [np.flatnonzero(fashion.labels == k)[: IMAGES // 8] for k in range(8)]
    return fashion.take(np.sort(np.concatenate(first)))


def open_stream(source, recipe, **options):
    return scuff.stream(source, recipe, device="cpu", **options)


def test_an_image_is_what_corrupt_makes_of_it(source):
    stream = open_stream(source, "continual:severities=3", seed=7)
    there = stream[5 * IMAGES + 2]
    assert there.steps == (("motion_blur", 3),)
    clean = source.read([there.place])
    wanted = scuff.corrupt(clean, "cifar10-c/motion_blur", 3, seed=7, ids=[there.id])
    assert torch.equal(there.image, wanted[0] / 255)
    assert there.label == source.labels[there.place]
    assert there.id == source.ids[there.place]


@pytest.mark.parametrize("recipe", ["continual:severities=2", "mixed_domains", "gradual:corruptions=fog;contrast"])
def test_seeking_equals_iterating_for_any_size_of_batches(source, recipe):
    stream = open_stream(source, recipe)
    whole = torch.cat([batch.images for batch in stream.batches(64)])
    assert len(whole) == len(stream)
    for position in (0, 17, IMAGES + 1, len(stream) - 1):
        assert torch.equal(stream[position].image, whole[position])
    for size, across in ((7, True), (10, False)):
        batches = list(stream.batches(size, across=across))
        assert torch.equal(torch.cat([batch.images for batch in batches]), whole)
        assert torch.equal(torch.cat([batch.positions for batch in batches]), torch.arange(len(stream)))
    rest = list(stream.batches(7, start=45, stop=60))
    assert torch.equal(torch.cat([batch.images for batch in rest]), whole[45:60])


def test_batches_stay_inside_segments_unless_they_may_cross_them(source):
    stream = open_stream(source, "continual")
    inside = [len(batch.images) for batch in stream.batches(10)]
    assert inside[:4] == [10, 10, 4, 10]
    assert all(len(batch.segments.unique()) == 1 for batch in stream.batches(10, stop=4 * IMAGES))
    assert [len(batch.images) for batch in stream.batches(10, across=True)] == [10] * 36
    assert [len(batch.images) for batch in stream.batches(10, start=20, stop=30)] == [4, 6]


def test_the_start_does_not_move_the_borders_of_batches(source):
    stream = open_stream(source, "continual")
    all_of_them = [tuple(batch.positions.tolist()) for batch in stream.batches(10)]
    later = [tuple(batch.positions.tolist()) for batch in stream.batches(10, start=34)]
    assert later == all_of_them[4:]


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_workers_change_nothing(source, workers):
    stream = open_stream(source, "continual:corruptions=contrast;brightness")
    wanted = list(stream.batches(9))
    got = list(stream.loader(9, workers))
    assert len(got) == len(wanted) == len(stream.loader(9, workers))
    for mine, theirs in zip(got, wanted, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(mine, theirs, strict=True))


def test_ranks_divide_the_batches_among_them(source):
    stream = open_stream(source, "continual:corruptions=contrast;brightness")
    parts = [list(stream.loader(5, rank=rank, ranks=3)) for rank in range(3)]
    in_turn = [parts[k % 3][k // 3].positions for k in range(sum(map(len, parts)))]
    assert torch.equal(torch.cat(in_turn), torch.arange(len(stream)))


def test_pairs_are_images_and_labels(source):
    images, labels = next(open_stream(source, "continual").pairs(6))
    assert images.shape == (6, 1, 28, 28)
    assert images.dtype == torch.float32
    assert labels.dtype == torch.int64


@pytest.mark.parametrize(
    ("recipe", "segments", "resets"),
    [
        ("episodic", 75, 75),
        ("reset_each_shift", 15, 15),
        ("continual", 15, 1),
        ("continual_orders", 150, 10),
        ("gradual_cotta", 131, 1),
        ("gradual", 135, 1),
        ("mixed_domains", 1, 1),
        ("lifelong", 30, 0),
        ("recurring", 300, 1),
    ],
)
def test_segments_are_those_of_the_papers(source, recipe, segments, resets):
    stream = open_stream(source, recipe)
    assert (len(stream.segments), sum(s.reset for s in stream.segments)) == (segments, resets)
    assert [s.start for s in stream.segments[1:]] == [s.stop for s in stream.segments[:-1]]


def test_the_order_of_cotta_is_its_own(source):
    stream = open_stream(source, "gradual_cotta:corruptions=cotta-3")
    assert stream.segments[0].steps == (("shot_noise", 5),)
    assert [s.severity for s in stream.segments[:9]] == list("543211234")
    assert stream.segments[-1].corruption == "zoom_blur"


def test_recipes_are_read_back_from_their_text(tmp_path):
    for name in list_recipes():
        recipe = load_recipe(name)
        (tmp_path / "mine.yaml").write_text(recipe.to_yaml())
        assert load_recipe(tmp_path / "mine.yaml") == recipe


@pytest.mark.parametrize(
    ("recipe", "reason"),
    [
        ("continul", "did you mean continual"),
        ("continual:ordr=file", "did you mean order"),
        ("continual:order=up", "order must be file or shared"),
        ("continual:batch=0", "at least 1"),
        ("continual:corruptions=fogg", "did you mean fog"),
        ("continual:severities=6", "severities 1 to 5"),
        ("mixed_domains:clean=true", "leave one out"),
        ("continual:speed=3", "is no walk"),
        ("continual:limit=99", "fewer than the limit"),
        ({"stream": "x", "images": {"oder": "file"}}, "did you mean order"),
    ],
)
def test_mistakes_are_named(source, recipe, reason):
    with pytest.raises(ValueError, match=reason):
        open_stream(source, recipe)


def test_the_fingerprint_tells_streams_apart(source):
    prints = {
        open_stream(source, recipe, seed=seed).fingerprint
        for recipe in ("continual", "continual:severities=4", "gradual")
        for seed in (0, 1)
    }
    assert len(prints) == 6
    assert open_stream(source, "continual").fingerprint in prints
