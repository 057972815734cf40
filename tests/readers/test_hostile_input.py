"""What broken and hostile files have done to readers: each is refused at once, with a sentence."""

import contextlib
import json
import struct
import time
from typing import Any, NotRequired, TypedDict

import numpy as np
import pandas as pd
import pytest
import safetensors.torch
import torch

import scuff
from scuff.corruptions import get, names, registry
from scuff.data import open_points, open_source
from scuff.door import resolve
from scuff.engine import read_statuses
from scuff.evaluation.results import read_evaluation
from scuff.export import export
from scuff.metrics.evaluation.tables import read_cells
from scuff.models import open_model
from scuff.ranges import Range
from scuff.readers import check_form, read_json, read_yaml
from scuff.store import Store
from scuff.studies.validity.table import read_accuracy_table, read_mapping
from scuff.suites import SuiteError, list_suites, load_suite

SUITE = "suite: s\nversion: 1\nsize: 32\nentries: {fog: {strength: 1.0, decay: 2.0}}\n"
LAUGHS = "a0: &a0 [x, x]\n" + "".join(f"a{k}: &a{k} [*a{k - 1}, *a{k - 1}]\n" for k in range(1, 60))
MERGES = "a0: &a0 {x: 1}\n" + "".join(f"a{k}: &a{k} {{<<: [*a{k - 1}, *a{k - 1}]}}\n" for k in range(1, 60))


# --- YAML and JSON --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (LAUGHS, "aliases written out it holds more than"),
        (MERGES, "aliases written out it holds more than"),
        ("a: &a [*a]", "an alias stands inside of what it stands for"),
        ("- &a0 [1]\n" + "".join(f"- &a{k} [*a{k - 1}]\n" for k in range(1, 200)), "nested more than 100"),
        ("[" * 5000, "nested too deeply"),
        ("a: 1\na: 2", "the key a occurs more than once"),
        ("{[1]: 2}", "unhashable key"),
        ("a: 99999999999999999999999", "must fit into 64 bits"),
        ("a: " + "9" * 5000, "digits"),
        ("a: 2001-99-99", "month must be in"),
        (b"\xff\xfe\xff", "not valid YAML"),
        ("a: !!python/object/apply:os.system [ls]", "could not determine a constructor"),
        ("just words", "expected a mapping, got 'just words'"),
    ],
)
def test_yaml_that_would_hang_or_surprise_is_refused_at_once(text, words):
    began = time.monotonic()
    with pytest.raises(ValueError, match=words):
        read_yaml(text, "some.yaml")
    assert (
        time.monotonic() - began < 60
    )  # written out, the aliases would take hours; a busy machine is slow with brackets


def test_aliases_that_are_no_trap_work():
    assert read_yaml("a: &a {x: 1}\nb: {<<: *a, y: 2}", "some.yaml") == {"a": {"x": 1}, "b": {"x": 1, "y": 2}}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 300 + "1" + "}" * 300, "nested more than 100"),
        ('{"a": 99999999999999999999999}', "must fit into 64 bits"),
        ("[]", "expected a mapping"),
        ("{", "not readable as JSON"),
    ],
)
def test_json_that_would_surprise_is_refused(text, words):
    with pytest.raises(ValueError, match=f"some.json.*{words}"):
        read_json(text, "some.json")


class Form(TypedDict):
    count: int
    names: NotRequired[list[str] | None]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"count": "3"}, "cell.count: expected a whole number, got '3'"),
        ({"count": True}, "cell.count: expected a whole number, got True"),
        ({"names": []}, "cell: count is missing"),
        ({"count": 1, "names": [None]}, "cell.names.0: expected text, got None"),
        ({"count": 1, "names": {}}, "cell.names: expected a list or nothing"),
    ],
)
def test_forms_say_where_a_file_is_wrong(value, words):
    check_form({"cell": {"count": 1, "names": None}}, dict[str, Form])
    with pytest.raises(ValueError, match=words):
        check_form({"cell": value}, dict[str, Form])


# --- suites and parameters ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("size: 32", "size: 0", "size must be a whole number from 1 to"),
        ("size: 32", "size: -5", "size must be a whole number from 1 to"),
        ("size: 32", "size: 1000000000000", "size must be a whole number from 1 to"),
        ("size: 32", "size: 32\nseverities: 1000000000", "severities must be a whole number from 1 to"),
        ("version: 1", "version: 1\nabout: [1]", "about must be text"),
        ("version: 1", "version: 1\naliases: {1: fog}", "aliases must map names"),
        ("strength: 1.0", "strength: 1.0e+300, image_size: 99999999999", "image_size must be"),
        ("suite: s", LAUGHS + "suite: s", "more than"),
    ],
)
def test_a_suite_that_makes_no_sense_is_refused(tmp_path, old, new, words):
    (tmp_path / "my.yaml").write_text(SUITE.replace(old, new))
    with pytest.raises(SuiteError, match=words):
        load_suite(tmp_path / "my.yaml")


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("vertical_artifacts", {"count": 10, "scale": 1e5}, "scale: expected a number within"),
        ("rhombus", {"count": 10, "scale": 1000.0}, "scale: expected a number within"),
        ("rhombus", {"count": 10, "scale": 0.0}, "scale: expected a number within"),
        ("gaussian_blur", {"sigma": -1.0}, "sigma: expected a number within"),
        ("motion_blur", {"radius": 10**9, "sigma": 3.0}, "radius: expected a whole number within"),
        ("jpeg_compression", {"quality": 7.5}, "quality: expected a whole number within 1 .. 100"),
        ("rain", {"count": (10, 10**7), "scale": 1.0}, "count: expected a whole number, or a range of them, within"),
        ("shot_noise", {"photons": float("nan")}, "photons: expected a number within"),
        ("shot_noise", {"photons": "many"}, "photons: expected a number within"),
        ("gaussian_noise", {"std": 10**400}, "std: expected a number within"),
    ],
)
def test_parameters_that_would_hang_or_kill_the_process_are_refused(name, parameters, words):
    with pytest.raises(ValueError, match=f"{name}.*{words}"):
        scuff.corrupt(np.zeros((1, 1, 3), np.uint8), name, parameters=parameters)


def test_a_suite_with_such_a_parameter_is_refused_before_anything_is_written(tmp_path):
    from PIL import Image

    (tmp_path / "pictures").mkdir()
    Image.new("RGB", (8, 8)).save(tmp_path / "pictures" / "a.png")
    (tmp_path / "my.yaml").write_text(SUITE.replace("decay: 2.0", "decay: -2.0"))
    with pytest.raises(ValueError, match="fog: decay: expected a number within"):
        export(tmp_path / "pictures", tmp_path / "out", suite=tmp_path / "my.yaml")
    assert not (tmp_path / "out").exists()


def test_every_parameter_of_ours_has_limits_within_which_all_suites_lie():
    ours = [name for name in names() if (get(name).apply.__module__ or "").startswith("scuff.")]
    assert len(ours) > 100
    for name in ours:
        assert set(get(name).limits) == set(get(name).parameters), name
    for suite in map(load_suite, list_suites()):
        for entry in suite.entries:
            for level in suite.listed_levels(entry) or (None,):
                resolve(entry, level, suite=suite)


def test_numbers_of_numpy_and_torch_are_parameters_too():
    image = np.full((8, 8, 3), 100, np.uint8)
    plain = scuff.corrupt(image, "jpeg_compression", parameters={"quality": 10})
    for quality in (np.int64(10), torch.tensor(10)):
        assert np.array_equal(scuff.corrupt(image, "jpeg_compression", parameters={"quality": quality}), plain)


@pytest.mark.parametrize("name", ["fog", "perspective", "checkerboard_cutout"])
def test_images_so_elongated_that_memory_would_not_do_are_refused(name):
    values = {"strength": 1.0, "decay": 2.0, "scale": 0.2, "amount": 2.0}
    own = {p: values[p] for p in get(name).parameters}
    with pytest.raises(
        ValueError, match=rf"{name} with .* GiB of memory on images of 1000000 x 1 pixels, and .* are free"
    ):
        scuff.corrupt(torch.zeros(1, 3, 1, 1_000_000), name, parameters=own)


@pytest.mark.parametrize(("size", "scale"), [((1, 1), 1000.0), ((1, 1_000_000), 0.2)])
def test_frost_enlarges_only_the_window_that_it_needs(size, scale):
    """Whole textures of these sizes would not fit into memory."""
    made = scuff.corrupt(torch.zeros(1, 3, *size), "frost", parameters={"keep": 1.0, "ice": 0.5, "scale": scale})
    assert made.shape[2:] == size
    assert 0 < made.max() <= 0.5


def test_lengths_are_held_against_their_limits_on_large_images_too(tmp_path):
    (tmp_path / "my.yaml").write_text("suite: s\nversion: 1\nsize: 1\nentries: {gaussian_blur: {sigma: 9000.0}}\n")
    with pytest.raises(ValueError, match=r"sigma becomes 72000\.0 on these images, 8 times as large"):
        scuff.corrupt(np.zeros((8, 8, 3), np.uint8), "gaussian_blur", suite=tmp_path / "my.yaml")


def test_limits_of_a_plug_in_are_its_own(monkeypatch):
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))

    @scuff.register(family="test", limits={"share": Range(0.0, 1.0)})
    def limited_fade(x, *, share, anything):
        return x * share

    values = {"share": 0.5, "anything": "goes"}
    assert scuff.corrupt(torch.ones(3, 2, 2), "limited_fade", parameters=values).max() < 0.6
    with pytest.raises(ValueError, match=r"share: expected a number within 0 \.\. 1"):
        scuff.corrupt(torch.ones(3, 2, 2), "limited_fade", parameters={**values, "share": 2.0})


# --- things that took forever ---------------------------------------------------------------------------------------


def test_a_regular_expression_that_backtracks_does_not_hang():
    table = pd.DataFrame({"model": [f"{'a' * 40}{k}!" for k in range(6)], "val": 70, "fog": 50, "sketch": 20})
    mapping: dict[str, Any] = {"unit": "percent", "clean": "val", "natural": {"sketch": "sketch"}}
    mapping |= {"synthetic": {"c": {"fog": "fog"}}, "families": {"none": "(a+)+$", "all": "^a+"}}
    began = time.monotonic()
    shifts = read_accuracy_table(table, mapping)
    assert time.monotonic() - began < 60  # backtracking would take days
    assert set(shifts.families) == {"all"}
    with pytest.raises(ValueError, match=r"families.odd must be a regular expression, without \(\?="):
        read_mapping({**mapping, "families": {"odd": "a(?=b)"}})


def test_a_table_of_very_many_columns_is_opened_in_seconds(tmp_path):
    columns = 20_000
    lines = [["label", *(f"c{k}" for k in range(columns))], *([str(r), *["0.5"] * columns] for r in range(2))]
    (tmp_path / "wide.csv").write_text("\n".join(map(",".join, lines)))
    began = time.process_time()
    assert open_points(str(tmp_path / "wide.csv")).x.shape == (2, columns)
    assert time.process_time() - began < 10


def test_one_huge_label_does_not_make_arrays_of_its_length(tmp_path):
    images = np.zeros((2, 4, 4, 3), np.uint8)
    np.savez(tmp_path / "odd.npz", images=images, labels=np.array([0, 10**15]))
    with pytest.raises(ValueError, match=r"labels count classes from 0, and 1000000000000000 is too large"):
        open_source(f"npz:{tmp_path / 'odd.npz'}")
    row = {"model": "m", "source": "s", "suite": "x", "corruption": "fog", "label": 0, "prediction": 0, "image_id": 1}
    with pytest.raises(ValueError, match="severity must be a level from 0 to"):
        read_cells(pd.DataFrame([{**row, "severity": 1}, {**row, "severity": 10**12}]))


@pytest.mark.parametrize("label", ["9" * 30, "10000000000"])
def test_one_huge_label_in_a_file_of_labels_is_refused(tmp_path, label):
    from PIL import Image

    Image.new("RGB", (4, 4)).save(tmp_path / "a.png")
    (tmp_path / "labels.csv").write_text(f"a.png,{label}\n")
    with pytest.raises(ValueError, match="labels count classes from 0"):
        open_source(f"folder:{tmp_path}")


# --- other files ----------------------------------------------------------------------------------------------------


def test_a_header_of_an_array_that_is_no_python_is_a_sentence(tmp_path):
    header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (((((".ljust(117) + b"\n"
    (tmp_path / "odd.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
    with pytest.raises(ValueError, match=r"cannot read .*odd\.npy as arrays"):
        open_source(f"npz:{tmp_path / 'odd.npy'}")


@pytest.mark.parametrize("key", ["mean", "class_names", "cut", "origin"])
@pytest.mark.parametrize("value", ["[" * 100_000, '{"a": 1}', "7", "null ", '["x", 1e400, 99999999999999999999999]'])
def test_metadata_of_weights_are_read_or_refused(tmp_path, key, value):
    from scuff.models.architectures import build
    from scuff.models.checkpoint import read_origin

    file = tmp_path / "odd.safetensors"
    metadata = {"format": "pt", "architecture": "small_cnn", key: value}
    safetensors.torch.save_file(build("small_cnn", 4, 3).state_dict(), file, metadata)
    for read in (open_model, read_origin):
        with contextlib.suppress(ValueError):
            read(file)


def test_an_archive_of_weights_whose_directory_is_broken_is_a_sentence(tmp_path):
    torch.save({"weight": torch.zeros(2)}, tmp_path / "odd.pt")
    content = (tmp_path / "odd.pt").read_bytes()
    (tmp_path / "odd.pt").write_bytes(content.replace(b"PK\x01\x02", b"PK\x01\x03"))
    with pytest.raises(ValueError, match=r"cannot read .*odd\.pt"):
        open_model(tmp_path / "odd.pt")


def test_journals_that_are_none_are_passed_over(tmp_path):
    store = Store(tmp_path)
    cells = {"total": 4, "there": 0, "done": 2, "running": 0, "failed": 0, "retried": 0, "seconds": 3.0}
    journal = {"run": "r", "title": "t", "engine": "local", "state": "finished", "seconds": 4.0, "workers": 2}
    journal |= {"started": "2026-01-01T00:00:00+00:00", "updated": "2026-01-01T00:01:40+00:00"}
    journal |= {"cells": {"train": cells}, "failures": [], "retries": [], "timeline": [[1.0, 1, 1]]}
    odd = [{"cells": []}, {"cells": {"train": 3}}, {"updated": "yesterday"}, {"updated": "2026-01-01T00:00:00"}]
    odd += [{"timeline": [3]}, {"workers": None}, {"state": ["running"]}]
    for number, change in enumerate([{}, *odd]):
        store.write(f"progress/{number}.json", json.dumps({**journal, **change}).encode())
    assert [status.title for status in read_statuses(store)] == ["t"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"suite": None}, "suite: expected a mapping, got None"),
        ({"families": ["noise"]}, "families: expected a mapping"),
        ({"images": "240"}, "images: expected a whole number, got '240'"),
        ({"cut": {"resize": 256}}, "cut: crop, filter is missing"),
        ({"class_names": {"a": 1}}, "class_names: expected a list"),
    ],
)
def test_settings_of_an_evaluation_that_were_edited_are_refused(tmp_path, change, words):
    from made_evaluations import make_evaluation, save_evaluation

    folder = save_evaluation(make_evaluation(tmp_path / "made", images=16, models=("mlp",)), tmp_path / "run")
    read_evaluation(folder)
    settings = json.loads((folder / "evaluation.json").read_text())
    (folder / "evaluation.json").write_text(json.dumps({**settings, **change}))
    with pytest.raises(ValueError, match=rf"evaluation\.json: {words}"):
        read_evaluation(folder)
