"""Evaluations: rows are what plain torch gives."""

import numpy as np
import pandas as pd
import pytest
import torch
from made_predictors import FEW, linear
from torch import nn

import scuff
from scuff.data import array_source, open_source
from scuff.data.source import ClassMap
from scuff.engine import LocalEngine
from scuff.evaluation import CLEAN, plan_evaluation, read_evaluation
from scuff.export import export

CELLS = [(CLEAN, 0), ("gaussian_noise", 1), ("gaussian_noise", 5), ("contrast", 1), ("contrast", 5)]


def by_hand(classifier, source, entry, severity, suite="cifar10-c"):
    """Predictions and confidences, by plain torch on all images at once."""
    images = torch.from_numpy(source.images.array).permute(0, 3, 1, 2)
    if entry != CLEAN:
        images = scuff.corrupt(images, f"{suite}/{entry}", severity, ids=source.ids)
    pixels = (images.float() / 255 - 0.5) / 0.1
    with torch.no_grad():
        probabilities = classifier.model(pixels).softmax(1)
    best = probabilities.max(1)
    return best.indices.numpy(), best.values.numpy()


def test_rows_are_what_plain_torch_gives(source):
    classifier = linear()
    rows = scuff.evaluate(classifier, "cifar10-c", source, **FEW)
    assert list(rows.columns) == [
        "model", "source", "suite", "corruption", "severity", "image_id", "label", "prediction", "confidence",
    ]  # fmt: skip
    assert len(rows) == 5 * 50
    for entry, severity in CELLS:
        cell = rows[(rows["corruption"] == entry) & (rows["severity"] == severity)]
        predictions, confidences = by_hand(classifier, source, entry, severity or None)
        assert cell["prediction"].tolist() == predictions.tolist()
        # float32 products of 360 terms, summed in another order
        np.testing.assert_allclose(cell["confidence"], confidences, rtol=1e-4)
        assert cell["label"].tolist() == source.labels.tolist()
        assert cell["image_id"].tolist() == source.ids.tolist()
    assert rows["prediction"].nunique() > 3  # a network that always says the same would prove nothing
    assert set(rows["model"]) == {"net"}
    assert set(rows["source"]) == {"noise"}
    assert set(rows["suite"]) == {"cifar10-c"}


def test_the_published_layout_gives_the_rows_of_its_files(tmp_path):
    """CIFAR-10-C's files, 20 images at 5 severities, against reading them by hand."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 10, 20)
    stored = {}
    for entry in ("fog", "jpeg_compression"):
        stored[entry] = rng.integers(0, 256, (100, 32, 32, 3), dtype=np.uint8)
        np.save(tmp_path / f"{entry}.npy", stored[entry])
    np.save(tmp_path / "labels.npy", np.tile(labels, 5))
    classifier = linear(pixels=32 * 32 * 3, classes=10)
    rows = scuff.evaluate(classifier, None, f"cifar10-c:{tmp_path}")
    assert len(rows) == 2 * 5 * 20
    for entry in stored:
        pixels = (torch.from_numpy(stored[entry]).permute(0, 3, 1, 2).float() / 255 - 0.5) / 0.1
        with torch.no_grad():
            best = classifier.model(pixels).softmax(1).max(1)
        ours = rows[rows["corruption"] == entry].sort_values(["severity", "image_id"])
        assert ours["prediction"].tolist() == best.indices.tolist()
        np.testing.assert_allclose(ours["confidence"], best.values, rtol=1e-4)  # sums in another order
        assert ours["label"].tolist() == np.tile(labels, 5).tolist()
        assert ours["severity"].tolist() == np.repeat([1, 2, 3, 4, 5], 20).tolist()


def test_published_data_may_have_a_clean_counterpart(tmp_path, source):
    np.save(tmp_path / "fog.npy", np.tile(source.images.array, (5, 1, 1, 1)))
    np.save(tmp_path / "labels.npy", np.tile(source.labels, 5))
    rows = scuff.evaluate(linear(classes=10), None, f"cifar10-c:{tmp_path}", clean=source, severities=[2])
    clean, fog = (rows[rows["corruption"] == entry].reset_index(drop=True) for entry in (CLEAN, "fog"))
    pd.testing.assert_series_equal(clean["prediction"], fog["prediction"])  # the same pixels


@pytest.fixture
def pictures(tmp_path):
    """JPEGs of 300 x 260 pixels in two classes, and their corrupted copies as ImageNet-C was made, but lossless."""
    from PIL import Image

    rng = np.random.default_rng(0)
    for k, name in enumerate(["n01440764/a", "n01440764/b", "n01443537/c"]):
        path = tmp_path / "clean" / f"{name}.JPEG"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (260, 300 + k, 3), dtype=np.uint8)).save(path)
    export(
        tmp_path / "clean",
        tmp_path / "c",
        "imagenet-c",
        only=["contrast"],
        severities=[2],
        resize=256,
        crop=224,
        engine=LocalEngine(1),
    )
    return tmp_path


def test_published_pictures_and_their_clean_ones_each_have_their_cut(pictures):
    """What was published is cropped to 224, its clean counterpart resized first: as if we had corrupted it."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.AdaptiveAvgPool2d(8), nn.Flatten(), nn.Linear(192, 1000))
    options = {"workers": 0, "severities": [2]}
    published = scuff.evaluate(
        {"net": network}, None, f"imagenet-c:{pictures / 'c'}", clean=f"folder:{pictures / 'clean'}", **options
    )
    ours = scuff.evaluate({"net": network}, "imagenet-c", f"folder:{pictures / 'clean'}", only="contrast", **options)
    assert len(published) == len(ours) == 6
    for column in ("corruption", "severity", "label", "prediction", "confidence"):
        assert published[column].tolist() == ours[column].tolist()
    assert published.groupby("image_id").size().tolist() == [2, 2, 2]  # clean and corrupted know each other


def test_a_saved_dataset_can_be_the_clean_counterpart_of_arrays(tmp_path):
    import datasets

    pixels = np.random.default_rng(0).integers(0, 256, (4, 32, 32, 3), dtype=np.uint8)
    np.save(tmp_path / "fog.npy", np.tile(pixels, (5, 1, 1, 1)))
    np.save(tmp_path / "labels.npy", np.arange(4))
    names = list(open_source(f"cifar10-c:{tmp_path}").cell("fog", 1).class_names)
    kinds = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=names)})
    datasets.Dataset.from_dict({"image": list(pixels), "label": range(4)}, kinds).save_to_disk(tmp_path / "hf")
    models = {"net": linear(pixels=32 * 32 * 3, classes=10)}
    options = {"clean": f"hf:{tmp_path / 'hf'}", "severities": [1], "crop": 32, "workers": 0}
    rows = scuff.evaluate(models, None, f"cifar10-c:{tmp_path}", **options)
    clean, fog = (rows[rows["corruption"] == entry]["prediction"].tolist() for entry in (CLEAN, "fog"))
    assert clean == fog  # the same pixels


def test_other_clean_images_are_refused_before_anything_runs(pictures, tmp_path):
    (pictures / "clean" / "n01440764" / "b.JPEG").unlink()
    with pytest.raises(ValueError, match="of 2 clean and 3 corrupted ones 2 have the same place and label"):
        scuff.evaluate(
            linear(), None, f"imagenet-c:{pictures / 'c'}", tmp_path / "out", clean=f"folder:{pictures / 'clean'}"
        )
    assert not (tmp_path / "out").exists()


def test_several_models_share_every_corrupted_batch(source, monkeypatch):
    calls = []
    corrupt = scuff.evaluation.runner.corrupt
    monkeypatch.setattr("scuff.evaluation.runner.corrupt", lambda *a, **k: calls.append(a[1]) or corrupt(*a, **k))
    models = {"a": linear(0), "b": linear(1)}
    rows = scuff.evaluate(models, "cifar10-c", source, **FEW)
    assert sorted(calls) == ["contrast"] * 2 + ["gaussian_noise"] * 2  # one batch a cell, for both
    alone = scuff.evaluate({"b": linear(1)}, "cifar10-c", source, **FEW)
    ours = rows[rows["model"] == "b"].reset_index(drop=True)
    assert ours["prediction"].tolist() == alone["prediction"].tolist()
    assert rows[rows["model"] == "a"]["prediction"].tolist() != ours["prediction"].tolist()


def test_without_a_suite_images_are_evaluated_as_they_are(source, tmp_path):
    rows = scuff.evaluate(linear(), None, source, tmp_path)
    assert set(rows["corruption"]) == {CLEAN}
    assert rows["prediction"].tolist() == by_hand(linear(), source, CLEAN, None)[0].tolist()
    evaluation = read_evaluation(tmp_path)
    assert (evaluation.suite.name, dict(evaluation.suite.entries)) == ("none", {})


def test_data_may_move(source, tmp_path):
    """An address is noted, but it is the images that must stay the same."""
    for name in ("here", "there"):
        np.savez(tmp_path / f"{name}.npz", images=source.images.array, labels=source.labels)
    scuff.evaluate(linear(), "cifar10-c", f"npz:{tmp_path / 'here.npz'}", tmp_path / "out", **FEW)
    plan = plan_evaluation(linear(), "cifar10-c", f"npz:{tmp_path / 'there.npz'}", tmp_path / "out", **FEW)
    assert plan.missing() == {}
    np.savez(tmp_path / "other.npz", images=255 - source.images.array, labels=source.labels)
    with pytest.raises(ValueError, match="source_fingerprint was"):
        plan_evaluation(linear(), "cifar10-c", f"npz:{tmp_path / 'other.npz'}", tmp_path / "out", **FEW)


def test_entries_without_levels_have_severity_0(source):
    rows = scuff.evaluate(linear(), "imagenet-noc", source, only=["hue", "rain"])
    assert rows.groupby("corruption", observed=True)["severity"].unique().map(list).to_dict() == {
        CLEAN: [0], "hue": [0], "rain": [0],
    }  # fmt: skip


def test_batches_do_not_change_the_predictions(source):
    one, other = (scuff.evaluate(linear(), "cifar10-c", source, batch_size=size, **FEW) for size in (7, 64))
    assert one["prediction"].tolist() == other["prediction"].tolist()
    np.testing.assert_allclose(
        one["confidence"], other["confidence"], rtol=1e-5
    )  # a product's sums depend on the batch


def test_only_outputs_of_the_source_s_classes_count(source):
    """Outputs 2, 5 and 6 stand for the classes 0, 1 and 1: the largest of them wins, whatever the others say."""
    restricted = array_source("few", source.images.array, source.labels % 2)
    object.__setattr__(restricted, "classes", ClassMap((2, 5, 6), (0, 1, 1)))
    rows = scuff.evaluate(linear(), "cifar10-c", restricted, only=["contrast"], severities=[1])
    pixels = (torch.from_numpy(source.images.array).permute(0, 3, 1, 2).float() / 255 - 0.5) / 0.1
    with torch.no_grad():
        probabilities = linear().model(pixels)[:, [2, 5, 6]].softmax(1)
    clean = rows[rows["corruption"] == CLEAN]
    assert clean["prediction"].tolist() == np.array([0, 1, 1])[probabilities.argmax(1).numpy()].tolist()
    np.testing.assert_allclose(clean["confidence"], probabilities.max(1).values, rtol=1e-4)


def test_a_limit_spreads_over_the_data_and_keeps_the_ids(source):
    rows = scuff.evaluate(linear(), "cifar10-c", source, limit=10, **FEW)
    whole = scuff.evaluate(linear(), "cifar10-c", source, **FEW)
    assert rows["image_id"].unique().tolist() == list(range(0, 50, 5))
    same = whole[whole["image_id"].isin(range(0, 50, 5))]
    assert rows["prediction"].tolist() == same["prediction"].tolist()  # an image's noise is its own


def test_sequences_have_a_row_for_every_frame(source):
    classifier = linear()
    rows = scuff.evaluate(
        classifier, "cifar10-p", source, only=["translate", "gaussian_noise"], severities=[2], limit=6
    )
    assert set(rows["corruption"]) == {"translate", "gaussian_noise"}
    few = source.take(np.arange(6) * 50 // 6)
    for entry, difficulty, severity in (("translate", 1, 0), ("gaussian_noise", 2, 2)):
        images = torch.from_numpy(few.images.array).permute(0, 3, 1, 2)
        film = scuff.sequence(images, f"cifar10-p/{entry}", difficulty, ids=few.ids)
        pixels = (film.float() / 255 - 0.5) / 0.1
        with torch.no_grad():
            logits = classifier.model(pixels.flatten(0, 1))
        order = logits.argsort(dim=1, descending=True, stable=True)
        cell = rows[rows["corruption"] == entry].sort_values(["image_id", "frame"])
        assert set(cell["severity"]) == {severity}
        assert cell["frame"].tolist() == [*range(film.shape[1])] * 6
        for rank, column in enumerate(["prediction", "rank2", "rank3", "rank4", "rank5"]):
            assert cell[column].tolist() == order[:, rank].tolist()


def test_a_film_of_pictures_has_surroundings(tmp_path):
    """ImageNet-P's views move on the larger picture, and what models see is cut out of it."""
    from PIL import Image

    for label in ("a", "b"):
        (tmp_path / label).mkdir()
        Image.new("RGB", (50, 40), (200, 100, 50)).save(tmp_path / label / "x.png")
    seen = []

    def look(batch):
        seen.append(batch)
        return torch.zeros(len(batch), 2)

    scuff.evaluate(look, "imagenet-p", f"folder:{tmp_path}", only=["translate"], resize=40, crop=30, workers=0)
    assert {tuple(batch.shape) for batch in seen} == {(2, 3, 30, 30)}
    # the first frame is moved by 20 pixels of 224, which is 3 of 30: inside the margin of 5, no black comes into sight
    assert seen[0].min() > 0
