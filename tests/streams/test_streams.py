"""Streams: what is at a position depends on nothing but recipe, source, seed and the position."""

import copy
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import scuff
from scuff.models.architectures import build
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


SETTINGS = st.fixed_dictionaries(
    {
        "corruptions": st.sampled_from([("contrast", "brightness"), ("contrast", "brightness+fog", "pixelate")]),
        "severities": st.sampled_from([[2], [1, 5], {"outer": [5, 3]}, {"walk": 2}]),
        "order": st.sampled_from(["file", "shared", "fresh", "class", "slots"]),
        "mixed": st.booleans(),
        "visits": st.integers(1, 2),
        "draws": st.sampled_from(["image", "position"]),
        "limit": st.sampled_from([None, 1, 13]),
        "across": st.booleans(),
    }
)


@settings(max_examples=15)
@given(SETTINGS, st.integers(0, 99), st.data())
def test_any_stream_is_the_same_by_seeking_iterating_and_sharing(source, changes, seed, data):
    stream = open_stream(source, load_recipe("continual").replace(**changes), seed=seed)
    whole = next(stream.batches(len(stream), across=True))
    assert whole.positions.tolist() == list(range(len(stream)))
    position, start = (data.draw(st.integers(0, len(stream) - 1)) for _ in range(2))
    there = stream[position]
    assert torch.equal(there.image, whole.images[position])
    assert (there.label, there.id) == (whole.labels[position], whole.ids[position])
    assert there.steps == stream.at(position).steps == stream.steps(whole)[position]
    size, ranks = data.draw(st.integers(1, 40)), data.draw(st.integers(1, 3))
    rest = list(stream.batches(size, start))
    assert all(torch.equal(torch.cat(parts), each[start:]) for *parts, each in zip(*rest, whole, strict=True))
    shares = [torch.cat([b.positions for b in stream.loader(size, rank=r, ranks=ranks)] or [torch.empty(0)])
              for r in range(ranks)]  # fmt: skip
    assert sorted(torch.cat(shares).tolist()) == list(range(len(stream)))


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


def test_a_stream_can_be_sent_to_another_process(source):
    stream = open_stream(source, "mixed_domains", seed=4)
    copy = pickle.loads(pickle.dumps(stream))
    assert copy.fingerprint == stream.fingerprint
    assert torch.equal(copy[100].image, stream[100].image)


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
        ("severity_walk", 135, 1),
        ("two_at_once", 15, 1),
        ("constant_speed", 15, 15),
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
        ("continual:limit=[3", "limit="),
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
    renamed = {**load_recipe("continual").to_dict(), "stream": "mine", "about": "", "suite": "cifar10-c"}
    assert open_stream(source, renamed).fingerprint in prints


def test_segments_as_a_table(source):
    stream = open_stream(source, "gradual:corruptions=fog")
    table = stream.segment_table()
    assert table["stop"].tolist() == [*table["start"][1:], len(stream)]
    assert table["severity"].tolist() == list("123454321")


def test_severity_walks_go_up_and_down_a_level_at_a_time(source):
    stream = open_stream(source, load_recipe("continual").replace(severities={"walk": 9}))
    levels = [segment.steps[0][1] for segment in stream.segments]
    assert len(levels) == 15 * 9
    assert set(levels) == {1, 2, 3, 4, 5}
    assert set(np.abs(np.diff(levels))) == {1}


def test_two_corruptions_at_once_come_one_after_the_other(source):
    stream = open_stream(source, "continual:together=2,severities=2")
    assert stream.segments[-1].corruption == "jpeg_compression + gaussian_noise"
    assert stream.segments[-1].severity == "2 + 2"
    there = stream[10 * IMAGES + 4]
    image = source.read([there.place])
    for entry in ("brightness", "contrast"):
        image = scuff.corrupt(image, f"cifar10-c/{entry}", 2, ids=[there.id])
    assert torch.equal(there.image, image[0] / 255)


def test_clean_images_come_after_every_corruption(source):
    stream = open_stream(source, "lifelong:severities=1;2,corruptions=fog;snow")
    assert [s.corruption for s in stream.segments] == ["fog", "fog", "clean", "snow", "snow", "clean"]
    there = stream[2 * IMAGES]
    assert torch.equal(there.image, source.read([there.place])[0] / 255)


def test_short_batches_are_left_out_as_the_papers_do(source):
    note = open_stream(source, "note:order=slots,batch=10,least=10")
    assert {len(batch.images) for batch in note.batches(stop=3 * IMAGES)} == {10}
    assert len(note.grid()) == 15 * 2


def test_the_schedule_of_constant_speed():
    recipe = load_recipe("continual:eta=1")
    assert [recipe.period(ratio) for ratio in (0.5, 1, 2.2, 9)] == [1, 1, 3, 9]
    assert load_recipe("continual:eta=0.5,speed_ratio=9").period() == 5
    assert load_recipe("continual").period() == 1
    with pytest.raises(ValueError, match="how much longer"):
        recipe.period()


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """Two files as those of CIFAR-10-C: every pixel of image n at severity s of corruption k is 100 k + 10 s + n."""
    folder = tmp_path_factory.mktemp("published")
    for k, name in enumerate(("fog", "snow")):
        blocks = [np.full((6, 8, 8, 3), 100 * k + 10 * s, np.uint8) + np.arange(6, dtype=np.uint8)[:, None, None, None]
                  for s in range(5)]  # fmt: skip
        np.save(folder / f"{name}.npy", np.concatenate(blocks))
    np.save(folder / "labels.npy", np.tile(np.arange(6), 5))
    return f"cifar10-c:{folder}"


def test_published_files_are_read_in_the_order_of_a_recipe(published):
    stream = open_stream(published, "gradual:corruptions=snow;fog,order=fresh")
    assert stream.suite.name == "cifar10-c"
    for batch in stream.batches(4):
        for image, label, segment in zip(batch.images, batch.labels, batch.segments, strict=True):
            ((name, level),) = stream.segments[segment].steps
            wanted = 100 * (name == "snow") + 10 * (level - 1) + int(label)
            assert (image * 255).round().unique().tolist() == [wanted]


@pytest.mark.parametrize(
    ("recipe", "reason"),
    [
        ("continual", "holds no gaussian_noise"),
        ("continual:corruptions=fog;snow,together=2", "leave out clean and together"),
        ("lifelong:corruptions=fog", "leave out clean and together"),
        ("continual:corruptions=fog,severities=2.5", "not 2.5"),
        ("continual:corruptions=fog,draws=position", "read as they are"),
    ],
)
def test_what_published_files_do_not_have(published, recipe, reason):
    with pytest.raises((ValueError, KeyError), match=reason):
        open_stream(published, recipe)


# --- loops of others, in plain torch ----------------------------------------------------------------------------------

LOOP = {"stream": "loop", "corruptions": ["contrast", "brightness"], "run": {"batch": 8}}


@pytest.fixture
def net():
    torch.manual_seed(0)
    return build("small_cnn", classes=10, channels=1).eval()


def normalise_by_batches(net):
    """As the authors of TENT and CoTTA configure their networks."""
    norms = [module for module in net.modules() if isinstance(module, torch.nn.BatchNorm2d)]
    for norm in norms:
        norm.track_running_stats = False
        norm.running_mean = norm.running_var = None
    return [parameter for norm in norms for parameter in norm.parameters()]


def check_rows(source, net, method, outputs, tmp_path):
    """What a loop has found is what `scuff adapt` finds."""
    rows = scuff.studies.adapt(net, LOOP, source, tmp_path, methods=method, device="cpu")
    confidence, prediction = torch.cat(outputs).softmax(1).max(1)
    ours = rows[rows["method"] == method]
    assert np.array_equal(ours["prediction"], prediction)
    assert np.allclose(ours["confidence"], confidence, atol=1e-5)
    before = rows[rows["method"] == "source"]["confidence"].to_numpy()
    assert not np.allclose(before, confidence, atol=1e-3)


def test_the_loop_of_tent_runs_unchanged(source, net, tmp_path):
    start, outputs = copy.deepcopy(net), []
    optimizer = torch.optim.Adam(normalise_by_batches(net), lr=1e-3)
    for x, _ in open_stream(source, LOOP).pairs():
        output = net(x)
        loss = -(output.softmax(1) * output.log_softmax(1)).sum(1).mean(0)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        outputs.append(output.detach())
    check_rows(source, start, "tent", outputs, tmp_path)


def test_the_loop_of_cotta_runs_unchanged(source, net, tmp_path):
    """Without its augmented copies and its random restoring, whose draws are our own."""
    start, outputs = copy.deepcopy(net), []
    normalise_by_batches(net)
    teacher, optimizer = copy.deepcopy(net), torch.optim.Adam(net.parameters(), lr=1e-3)
    for x, _ in open_stream(source, LOOP).pairs():
        taught = teacher(x).detach()
        loss = -(taught.softmax(1) * net(x).log_softmax(1)).sum(1).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        for old, new in zip(teacher.parameters(), net.parameters(), strict=True):
            old.data = 0.999 * old.data + 0.001 * new.data
        outputs.append(taught)
    check_rows(source, start, "cotta:unsure=0,restore=0", outputs, tmp_path)
