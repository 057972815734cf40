"""Walks of CCC: paths, chains and constants are those of the authors' program."""

import importlib.util
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import scuff
from scuff.ops.filters import disk_kernel
from scuff.streams import load_recipe
from scuff.streams.segments import CODES
from scuff.streams.walk import draw_chain, find_path, read_matrix
from scuff.suites.catalogue import WALKS

ROW, COLUMN = np.meshgrid(range(21), range(21), indexing="ij")
EXAMPLE = 75 * np.exp(-ROW / 10 - COLUMN / 8)


@pytest.fixture(scope="module")
def matrix(tmp_path_factory):
    """A matrix in a file: the same accuracies for all pairs, at half severities."""
    names = load_recipe("ccc-easy").corruptions
    severities = np.arange(11) / 2
    accuracies = pd.DataFrame(EXAMPLE[::2, ::2], columns=[f"{s:g}" for s in severities])
    rows = [
        accuracies.assign(first=first, second=second, severity=severities)
        for first in names
        for second in names
        if first != second
    ]
    path = tmp_path_factory.mktemp("ccc") / "matrix.csv"
    pd.concat(rows).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def source():
    return scuff.open_source("fashion").take(np.arange(40))


def open_walk(source, matrix, recipe="ccc-easy:speed=10,length=300", **changes):
    seed = changes.pop("seed", 43)
    return scuff.stream(source, load_recipe(recipe).replace(matrix=str(matrix), **changes), seed=seed, device="cpu")


# --- paths, section 2.2 ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "start", "end", "nodes", "mean", "moves"),
    [
        (40, (6, 0), (0, 5), 12, 39.9737, "uddudududud"),
        (20, (14, 0), (0, 10), 25, 19.9916, "dduuddududduuddududduudd"),
        (0, (20, 0), (0, 20), 41, None, "u" * 20 + "d" * 20),
    ],
)
def test_paths_are_those_of_the_published_recursion(target, start, end, nodes, mean, moves):
    path = find_path(EXAMPLE, target)
    assert (path[0], path[-1], len(path)) == (start, end, nodes)
    assert "".join("d" if b[0] < a[0] else "u" for a, b in pairwise(path)) == moves
    if mean is not None:
        assert np.mean([EXAMPLE[node] for node in path]) == pytest.approx(mean, abs=5e-5)


def test_a_path_may_start_anywhere():
    assert find_path(EXAMPLE, 40, start=9)[0] == (9, 0)
    assert find_path(EXAMPLE, 40, start=9)[-1][0] == 0


# --- chains, section 2.3 --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("recipe", "seed", "codes"),
    [
        ("ccc-easy", 43, "gn gb el px in sw mb co el px sn sw"),
        ("ccc-easy", 44, "zb fr el jp sn in zb db gb gn db sn"),
        ("ccc-easy", 45, "gb zb sw gb sn gb mb gn sn sw gn sn"),
        ("ccc-medium", 43, "gn gb el px in sw mb co el px sn sw"),
        ("ccc-medium", 44, "zb fr el sn in zb db gb gn db sn fg"),
        ("ccc-medium", 45, "gb zb sw gb sn gb mb gn sn sw gn sn"),
        ("ccc-hard", 43, "gn in sn co in gn co gn co in co sn"),
        ("ccc-hard", 44, "co gn sn co sn in gn sn gn sn in co"),
        ("ccc-hard", 45, "in co in gn in gn co gn in gn in gn"),
    ],
)
def test_chains_are_the_published_ones(recipe, seed, codes):
    names = load_recipe(recipe).corruptions
    assert list(islice(draw_chain(names, seed), 12)) == [CODES[code] for code in codes.split()]


def test_keyed_chains_never_repeat_a_corruption_at_once():
    names = list(islice(draw_chain(["a", "b", "c"], 0, "keyed"), 900))
    assert all(a != b for a, b in pairwise(names))
    assert {names.count(name) for name in "abc"} <= set(range(250, 350))


@pytest.mark.parametrize(("speed", "nodes"), [(1000, 7500), (2000, 3757), (5000, 1500)])
def test_walks_are_as_long_as_the_published_ones(matrix, speed, nodes):
    images = np.zeros((5000, 8, 8), np.uint8)
    stream = open_walk((images, np.arange(5000) % 10), matrix, f"ccc-medium:speed={speed}")
    assert len(stream.segments) == nodes
    assert len(stream) == nodes * speed


# --- walks ----------------------------------------------------------------------------------------------------------


def test_a_walk_goes_along_its_path(source, matrix):
    stream = open_walk(source, matrix)
    first, second = "gaussian_noise", "glass_blur"
    path = find_path(read_matrix(str(matrix), stream.suite).of(first, second), 40)
    for segment, (i, j) in zip(stream.segments, path, strict=False):
        assert segment.steps == tuple((name, level) for name, level in ((first, i), (second, j)) if level)
        assert segment.expected == pytest.approx(EXAMPLE[i, j], rel=0.02)
    assert stream.segments[0].severity == f"{path[0][0] / 4:g}"
    assert stream.segments[len(path)].steps[0][0] == second
    assert stream.suite.name == "cifar10-ccc"


def test_positions_of_a_walk_are_corrupted_twice_and_compressed(source, matrix):
    stream = open_walk(source, matrix, view="none")
    number = next(s.number for s in stream.segments if len(s.steps) == 2)
    there = stream[10 * number + 3]
    image = source.read([there.place])
    for k, (entry, level) in enumerate(there.steps):
        options = {"seed": 43, "ids": [there.position], "as_published": k == 1}
        image = scuff.corrupt(image, f"cifar10-ccc/{entry}", level, **options)
    assert torch.equal(there.image, image[0] / 255)
    nodes = stream.facts(np.arange(len(stream))).indices.reshape(-1, 10)
    assert all(len(set(node)) == 10 for node in nodes)
    assert len({tuple(node) for node in nodes}) == len(nodes)


def test_a_joined_walk_goes_on_where_it_was(source, matrix):
    joined = open_walk(source, matrix, "ccc-medium:speed=1,length=400", join=True)
    for before, after in pairwise(joined.segments):
        if len(before.steps) == 1 and len(after.steps) == 1 and before.steps[0][0] == after.steps[0][0]:
            assert abs(before.steps[0][1] - after.steps[0][1]) <= 1


def test_grey_images_with_an_axis_of_channels_have_random_views(source, matrix):
    with_axis = scuff.data.array_source("axis", source.images.array[..., None], source.labels)
    views = [open_walk(s, matrix, view="random", as_published=False)[5].image for s in (source, with_axis)]
    assert torch.equal(*views)


def test_random_views_are_drawn_by_position(source, matrix):
    stream = open_walk(source, matrix, "ccc-easy:speed=40,length=80", view="random", as_published=False)
    both = torch.cat([batch.images for batch in stream.batches(64)])
    assert both.shape == (80, 1, 28, 28)
    assert torch.equal(stream[33].image, both[33])


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"severities": [3]}, "leave severities out"),
        ({"mixed": True}, "mixed"),
        ({"visits": 2}, "leave visits out"),
        ({"clean": True}, "clean images"),
        ({"together": 2}, "leave together out"),
        ({"speed": 41}, "must not exceed the 40 images"),
        ({"suite": "cifar10-c"}, "needs a suite of 20 levels"),
        ({"corruptions": ["fog"]}, "at least two"),
        ({"corruptions": ["fog", "brightness"]}, "calibrate these"),
    ],
)
def test_what_a_walk_cannot_be(source, matrix, changes, reason):
    with pytest.raises(ValueError, match=reason):
        open_walk(source, matrix, **changes)


def test_a_walk_goes_together_with_other_settings(source, matrix):
    for changes in (
        *({"order": order} for order in ("file", "shared", "fresh", "class", "slots", "imbalance")),
        *({"draws": "image"}, {"view": "random"}, {"view": "none"}, {"as_published": False}, {"limit": 30}),
        *({"reset": reset} for reset in ("corruption", "segment", "never")),
        *({"batch": 7}, {"across": False}, {"least": 3}, {"eta": 1.0}, {"chain": "keyed"}, {"join": True}),
    ):
        stream = open_walk(source, matrix, **changes)
        assert len(stream) == 300
        position = stream.at(299)
        assert position.label == source.labels[position.place]
        assert position.segment == 29


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\x7fELF\xd0\xff", "is no matrix of accuracies"),
        (b"", "is no matrix of accuracies"),
        (b"a,b\n1,2\n", "is no matrix of accuracies"),
        (b"first,second,severity,0,5\nfog,snow,0,1,x\n", "is no matrix of accuracies"),
        (b"first,second,severity,0,4\nfog,snow,0,1,2\n", "go from 0 to 5, got 0 to 4"),
        (b"first,second,severity,0,5\nfog,snow,0,1,\nfog,snow,5,1,2\n", "expected 21 x 21 accuracies"),
    ],
)
def test_a_damaged_matrix_is_named(source, tmp_path, content, reason):
    (tmp_path / "bad.csv").write_bytes(content)
    with pytest.raises(ValueError, match=f"bad.csv.* {reason}"):
        open_walk(source, tmp_path / "bad.csv")


def test_a_walk_without_a_matrix_says_how_to_make_one(source):
    with pytest.raises(ValueError, match="scuff stream calibrate MODEL --suite imagenet-ccc"):
        scuff.stream(source, "ccc-easy:suite=imagenet-ccc", device="cpu")


# --- constants, section 2.5 -----------------------------------------------------------------------------------------

WHOLE = {
    ("glass_blur", "reach"): "1 1 1 1 1 2 2 2 2 2 2 2 2 2 3 3 3 4 4 4",
    ("glass_blur", "passes"): "0 1 2 2 2 2 1 1 2 2 2 3 3 2 2 2 2 2 2 2",
    ("motion_blur", "radius"): "3 5 8 10 12 13 14 15 15 15 15 15 15 15 15 15 17 18 19 20",
    ("zoom_blur", "steps"): "3 6 9 12 13 14 15 16 14 13 12 11 12 12 13 13 13 12 11 11",
    ("jpeg_compression", "quality"): "70 55 40 25 23 22 20 18 17 16 16 15 14 12 11 10 9 8 8 7",
    ("snow", "radius"): "10 10 10 10 11 11 12 12 12 12 12 12 12 12 12 12 12 12 12 12",
}
SIDES = "201 179 156 134 128 123 117 112 106 100 95 89 84 78 72 67 64 61 58 56"
DISKS = "1 9 21 29 37 37 45 49 69 81 97 113 137 149 177 197 - 253 - 317"  # - is a half radius: see docs/fidelity.md


@pytest.mark.parametrize(("entry", "parameter"), WHOLE)
def test_whole_numbers_are_rounded_as_published(entry, parameter):
    values = scuff.load_suite("imagenet-ccc").entries[entry][parameter]
    assert " ".join(map(str, values)) == WHOLE[entry, parameter]


def test_sides_of_pixelate_and_disks_of_defocus():
    suite = scuff.load_suite("imagenet-ccc")
    fractions = suite.entries["pixelate"]["fraction"]
    assert " ".join(str(int(224 * fraction)) for fraction in fractions) == SIDES
    for radius, disk in zip(suite.entries["defocus_blur"]["radius"], DISKS.split(), strict=True):
        kernel = np.asarray(disk_kernel(radius, 0.001))
        if disk != "-":
            assert (kernel > 0).sum() == int(disk)


@pytest.mark.parametrize("walk", WALKS)
def test_whole_severities_are_those_of_the_benchmark(walk):
    fine, whole = scuff.load_suite(walk), scuff.load_suite(walk.replace("ccc", "c"))
    for entry in fine.entries:
        for severity in range(1, 6):
            assert fine.parameters(entry, 4 * severity) == pytest.approx(whole.parameters(entry, severity))


def test_the_suites_are_what_the_tool_makes():
    path = Path(__file__).parents[2] / "tools" / "make_ccc_suites.py"
    spec = importlib.util.spec_from_file_location("make_ccc_suites", path)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    for walk in WALKS:
        suite = scuff.load_suite(walk)
        made = {entry: tool.make_entry(walk.replace("ccc", "c"), entry) for entry in suite.entries}
        assert made == suite.entries
