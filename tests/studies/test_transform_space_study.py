"""Distances of augmentation schemes to corruptions, and the studies that are built on them, on embedded data."""

import json
import shlex
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from made_encoders import open_encoder
from made_images import bars
from torch import nn
from typer.testing import CliRunner

from scuff.augment import AugMix, NoAugmentation, expand_schemes, open_scheme
from scuff.cli import app
from scuff.data import open_source
from scuff.engine import LocalEngine
from scuff.evaluation import evaluate
from scuff.metrics import mmd, msd, read_distances
from scuff.models import Classifier, build, open_model
from scuff.models.features import hidden_layer
from scuff.studies import (
    DistancesStudy,
    MixingStudy,
    SubsetsStudy,
    correlation,
    distances,
    mixing,
    read_distance_study,
    subsets,
)
from scuff.studies.transform_space import cells as module
from scuff.studies.transform_space.cells import distances_between, measure_scheme
from scuff.studies.transform_space.features import (
    Encoder,
    corruption_transform,
    digest_seed,
    resampling_seed,
    scheme_transform,
)
from scuff.studies.transform_space.files import short_name
from scuff.studies.transform_space.mixing import Mixture
from scuff.studies.transform_space.subsets import FewDraws, choose_draws
from scuff.suites import load_suite
from scuff.training import find_recipe

SUITE = load_suite("cifar10-c")
FEW = {"images": 8, "samples": 5, "augmentations": 12, "only": ["fog", "gaussian_noise"], "severities": [1, 5]}
QUICK = replace(find_recipe("fashion"), epochs=1, batch_size=64)
ONE = LocalEngine(processes=1)


def network(seed=0, channels=1):
    torch.manual_seed(seed)
    return build("small_cnn", 10, channels).eval()


@pytest.fixture(scope="module")
def small():
    return open_source("fashion", "train").take(range(640))


@pytest.fixture
def encoder(small):
    return open_encoder(network(), small, images=8)


# --- features -------------------------------------------------------------------------------------------------------


def test_the_hidden_layer_is_what_the_last_linear_layer_sees():
    net, x = network(), torch.randint(256, (4, 1, 28, 28), dtype=torch.uint8)
    classifier = Classifier(net, mean=(0.3,), std=(0.5,))
    features = hidden_layer(classifier, x[:1])(x)
    assert features.shape == (4, 64)
    with torch.inference_mode():
        assert torch.equal(net.fc(features), classifier(x))


class Odd(nn.Module):
    """Its head is registered first, and a softmax follows it."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(6, 3)
        self.body = nn.Linear(16, 6)

    def forward(self, x):
        return self.head(self.body(x.flatten(1))).softmax(1)


def test_what_follows_the_head_and_where_it_is_registered_make_no_difference():
    net, x = Odd().eval(), torch.rand(5, 1, 4, 4)
    found = hidden_layer(Classifier(net, probabilities=True), x[:2])
    with torch.inference_mode():
        assert torch.equal(found(x), net.body(x.flatten(1)))
        assert torch.equal(found.on("cpu")(x), net.body(x.flatten(1)))  # a copy sees its own network


class TwoHeads(nn.Module):
    """As some transformers have them."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(16, 3), nn.Linear(16, 3)

    def forward(self, x):
        return (self.a(x.flatten(1)) + self.b(x.flatten(1))) / 2


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (lambda x: x.flatten(1), "torch module"),
        (nn.Flatten(), "no linear layer"),
        (nn.Sequential(nn.Linear(4, 4), nn.Conv2d(1, 5, 4), nn.Flatten()), "none of its linear layers"),
        (TwoHeads(), "any of a, b could have made"),
    ],
)
def test_a_model_without_a_hidden_layer_is_refused(model, said):
    if isinstance(model, nn.Module):
        model.eval()
    with pytest.raises(ValueError, match=said):
        hidden_layer(Classifier(model), torch.rand(2, 1, 4, 4))


def test_one_draw_is_shared_by_all_images(small):
    """f of a draw is the mean over images of features under that one draw, whatever the batch."""
    encoder = open_encoder(network(), small, images=5, batch=5)
    fog = corruption_transform(SUITE, "fog", 3, seed=4)
    found = torch.cat(list(encoder.features(fog, 7)))
    for draw in range(7):
        alone = fog(encoder.images, torch.full((5,), draw))
        assert torch.allclose(encoder.extractor(alone).mean(0), found[draw], atol=1e-5)
    at_once = torch.cat(list(Encoder(encoder.extractor, encoder.images, 64).features(fog, 7)))
    assert torch.allclose(at_once, found, atol=1e-6)  # sums of another order
    assert not torch.allclose(found[0], found[1], atol=1e-3)


def test_a_centre_is_the_mean_over_draws_or_over_images_with_their_own(encoder):
    noise = corruption_transform(SUITE, "gaussian_noise", 5)
    features = torch.cat(list(encoder.features(noise, 6)))
    assert torch.allclose(encoder.centre(noise, 6), features.mean(0), atol=1e-6)
    own = noise(encoder.images, torch.arange(len(encoder.images)))
    assert torch.allclose(encoder.centre(noise, 6, "joint"), encoder.extractor(own).mean(0), atol=1e-6)


def test_the_images_are_drawn_once_by_the_seed(small):
    one, same, other = (open_encoder(network(), small, images=9, seed=seed).images for seed in (0, 0, 1))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
    assert len(torch.unique(one.flatten(1), dim=0)) == 9


def test_streamed_distances_are_those_of_all_features_at_once(encoder):
    scheme, draws = AugMix(), 30
    fog, noise = (corruption_transform(SUITE, entry, 4) for entry in ("fog", "gaussian_noise"))
    centres = torch.stack([encoder.centre(one, 5) for one in (fog, noise)])
    piecewise = Encoder(encoder.extractor, encoder.images, 4 * len(encoder.images))
    found = measure_scheme(piecewise, scheme, centres, draws, seed=3)
    features = torch.cat(list(encoder.features(scheme_transform(scheme, 3), draws))).numpy()
    assert np.allclose(found["msd"], msd(features, centres.numpy()), rtol=1e-5)
    assert np.allclose(found["mmd"], mmd(features, centres.numpy()), rtol=1e-5)


# --- the study of distances ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_study_on_embedded_data(tmp_path, small):
    """What the schemes are made of decides which corruptions they come near to."""
    found = distances(
        ["augmix", "gaussian:0.07", "none"],
        SUITE,
        "fashion",
        tmp_path,
        recipe="fashion",
        epochs=1,
        **FEW | {"images": 20, "augmentations": 100},
    )
    near = found.by_corruption("msd")
    assert near.loc["gaussian:0.07", "cifar10-c/gaussian_noise"] < near.loc["none", "cifar10-c/gaussian_noise"] / 2
    assert near.loc["augmix", "cifar10-c/fog"] < near.loc["none", "cifar10-c/fog"]
    nothing = list(found.schemes).index("none")
    assert np.allclose(found.msd[0, nothing], found.mmd[0, nothing], rtol=1e-6)  # one draw is its own mean
    again = read_distance_study(tmp_path)
    assert again.schemes == found.schemes
    assert np.allclose(again.msd, found.msd, rtol=1e-12)


def test_what_is_there_is_not_computed_again_and_schemes_can_join(tmp_path, small, monkeypatch):
    first = distances(["augmix", "none"], SUITE, small, tmp_path, extractor=network(), **FEW)
    measured = []
    original = module.measure_scheme
    monkeypatch.setattr(module, "measure_scheme", lambda *a: measured.append(a[1]) or original(*a))
    both = distances(["none", "autoaugment"], SUITE, small, tmp_path, extractor=network(), **FEW)
    assert measured == [open_scheme("autoaugment")]
    assert both.schemes == ("augmix", "none", "autoaugment")
    assert np.array_equal(both.msd[:, :2], first.msd)


def test_an_interrupted_study_goes_on(tmp_path, small, monkeypatch):
    original, calls = module.measure_scheme, []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(*arguments)

    monkeypatch.setattr(module, "measure_scheme", interrupted)
    with pytest.raises(KeyboardInterrupt):
        distances(["none", "augmix"], SUITE, small, tmp_path, extractor=network(), **FEW)
    plan = DistancesStudy(["none", "augmix"], SUITE, small, tmp_path, extractor=network(), **FEW).plan()
    assert plan.work.missing_centres() == []
    assert [cell.name for cell in plan.work.missing_schemes()] == ["augmix"]
    assert plan.work.encodings() == 12 * 8
    monkeypatch.setattr(module, "measure_scheme", original)
    gone_on = distances(["none", "augmix"], SUITE, small, tmp_path, extractor=network(), **FEW)
    at_once = distances(["none", "augmix"], SUITE, small, tmp_path / "other", extractor=network(), **FEW)
    assert np.array_equal(gone_on.msd, at_once.msd)
    assert np.array_equal(gone_on.mmd, at_once.mmd)


def test_resamplings_have_fresh_images_and_draws(tmp_path, small):
    found = distances("augmix", SUITE, small, tmp_path, extractor=network(), resamplings=3, **FEW)
    assert found.msd.shape == (3, 1, 4)
    assert len(np.unique(found.msd[:, 0, 0])) == 3
    assert 0 < found.relative_spread("msd") < 1
    assert resampling_seed(5, 0) == 5 != resampling_seed(5, 1) != resampling_seed(5, 2)


def test_one_resampling_is_the_first_of_several(tmp_path, small):
    several = distances("augmix", SUITE, small, tmp_path / "3", extractor=network(), resamplings=2, **FEW)
    one = distances("augmix", SUITE, small, tmp_path / "1", extractor=network(), **FEW)
    assert np.array_equal(several.msd[:1], one.msd)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"images": 0}, "images must be a whole number"),
        ({"images": 10**6}, "fewer than the 1000000"),
        ({"sampling": "both"}, "independent, joint"),
        ({"augmentations": 2.5}, "augmentations must be a whole number"),
        ({"extractor": None}, "a recipe to train one by"),
        ({"only": ["foog"]}, "did you mean fog"),
        ({"precision": "float8"}, "precision must be one of"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_happens(tmp_path, small, change, said):
    with pytest.raises(ValueError, match=said):
        distances("augmix", SUITE, small, tmp_path / "x", **{"extractor": network(), **FEW, **change})
    assert not (tmp_path / "x").exists()


def test_other_settings_need_another_folder(tmp_path, small):
    distances("none", SUITE, small, tmp_path, extractor=network(), **FEW)
    with pytest.raises(ValueError, match="samples was 5, is now 6"):
        distances("none", SUITE, small, tmp_path, extractor=network(), **FEW | {"samples": 6})
    with pytest.raises(ValueError, match=r"extractor\.fingerprint"):
        distances("none", SUITE, small, tmp_path, extractor=network(1), **FEW)
    distances({"mine": NoAugmentation()}, SUITE, small, tmp_path, extractor=network(), **FEW)
    with pytest.raises(ValueError, match="another scheme called mine"):
        distances({"mine": AugMix()}, SUITE, small, tmp_path, extractor=network(), **FEW)


def test_the_centres_of_another_experiment_are_not_taken(tmp_path, small):
    few = {"images": 6, "samples": 3, "only": ["fog"], "severities": [3]}
    options = {"recipe": QUICK, "extractor": network(), "sizes": (1,), "kinds": ["closest"], "draws": 5, "limit": 20}
    subsets("augmix", SUITE, small, tmp_path, test="fashion", engine=ONE, **options, **few)
    with pytest.raises(ValueError, match="images was 6, is now 8"):
        distances("augmix", SUITE, small, tmp_path, extractor=network(), **few | {"images": 8})


@pytest.mark.parametrize(
    ("schemes", "said"),
    [
        ({"mine": lambda images, ids, seed: images}, "a scuff.augment.Scheme for mine, got function"),
        ([AugMix()], "need names: give them in a mapping"),
        ([], "no augmentation scheme is given"),
    ],
)
def test_what_is_no_scheme_is_refused(tmp_path, small, schemes, said):
    with pytest.raises(ValueError, match=said):
        distances(schemes, SUITE, small, tmp_path, extractor=network(), **FEW)


def test_addresses_may_have_other_names(tmp_path, small):
    one = distances({"mine": "augmix"}, SUITE, small, tmp_path / "a", extractor=network(), **FEW)
    assert np.array_equal(one.msd, distances("augmix", SUITE, small, tmp_path / "b", extractor=network(), **FEW).msd)


def test_joint_sampling_has_no_number_of_samples(tmp_path, small):
    joint = {"extractor": network(), "sampling": "joint", **FEW}
    distances("none", SUITE, small, tmp_path, **joint)
    distances("none", SUITE, small, tmp_path, **joint | {"samples": 77})  # is the same study


def test_a_damaged_file_is_named(tmp_path, small):
    distances("none", SUITE, small, tmp_path, extractor=network(), **FEW)
    next((tmp_path / "schemes").rglob("*.npz")).write_bytes(b"PK nothing")
    with pytest.raises(ValueError, match=r"schemes/0/none.*is damaged"):
        distances("none", SUITE, small, tmp_path, extractor=network(), **FEW)
    np.savez(next((tmp_path / "schemes").rglob("*.npz")), other=np.zeros(3))
    with pytest.raises(ValueError, match=r"schemes/0/none.*is damaged"):
        distances("none", SUITE, small, tmp_path, extractor=network(), **FEW)


def test_short_names_differ():
    names = ["powerset:rotate", "powerset-rotate", "x" * 90, "x" * 91]
    assert len({short_name(name) for name in names}) == 4
    assert all(len(short_name(name)) < 70 for name in names)


# --- what is trained -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_correlations_from_the_command_line(tmp_path, small):
    out = tmp_path / "study"
    asked = (
        "distance correlation cifar10-c --schemes powerset-6,gaussian:0.07 --recipe fashion --limit 50 --processes 1 "
        "--only gaussian_noise,fog --severity 3 --images 8 --samples 4 --augmentations 10 --epochs 1"
    )
    arguments = [*shlex.split(asked), "--out", str(out)]
    for option, source in (("--data", small), ("--test", small.take(range(100)))):
        file = tmp_path / f"{len(source)}.npz"
        np.savez(file, images=source.read(range(len(source)))[:, 0].numpy(), labels=source.labels)
        arguments += [option, f"npz:{file}"]
    dry = CliRunner().invoke(app, [*arguments, "--dry-run"])
    assert dry.exit_code == 0
    assert "Trainings: 7, 0 already done" in dry.output
    assert not out.exists()
    first = CliRunner().invoke(app, arguments)
    assert first.exit_code == 0, first.output
    assert "gaussian_noise" in first.output
    assert f"scuff report {out}" in first.output
    errors = pd.read_csv(out / "errors.csv", keep_default_na=False)
    assert len(errors) == 7 * 3
    assert set(errors["corruption"]) == {"clean", "cifar10-c/fog", "cifar10-c/gaussian_noise"}
    table = pd.read_csv(out / "correlations.csv")
    assert table["schemes"].tolist() == [7, 7]
    assert table["rho"].between(-1, 1).all()
    its = errors[(errors["scheme"] == "gaussian:0.07") & (errors["corruption"] == "cifar10-c/fog")]["error"].item()
    model = next(path for path in out.rglob("*.safetensors") if path.name.startswith("gaussian-0.07"))
    rows = evaluate(model, "cifar10-c", small.take(range(100)), only=["fog"], severities=[3], limit=50)
    assert its == 1 - (rows["label"] == rows["prediction"])[rows["corruption"] == "fog"].mean()
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.safetensors")}
    second = CliRunner().invoke(app, arguments)
    assert second.exit_code == 0
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*.safetensors")} == before
    assert len(before) == 8


@pytest.mark.slow
def test_a_correlation_counts_its_own_schemes_and_the_seeds_of_the_folder(tmp_path, small):
    options = {"recipe": QUICK, "extractor": network(), "test": "fashion", "limit": 50, "engine": ONE, **FEW}
    options |= {"only": ["fog"], "severities": [3]}
    first = correlation("powerset-5", SUITE, small, tmp_path, **options)
    more = correlation(["powerset-5", "gaussian:0.1"], SUITE, small, tmp_path, **options)
    assert (first["schemes"].item(), more["schemes"].item()) == (5, 6)
    assert len(json.loads((tmp_path / "trials.json").read_text())["schemes"]) == 6
    same = correlation("powerset-5", SUITE, small, tmp_path, **options)  # the sixth stays in the folder, uncounted
    pd.testing.assert_frame_equal(first, same)
    settings = json.loads((tmp_path / "trials.json").read_text())
    assert settings["schemes"] == expand_schemes(["powerset-5"])
    assert settings["options"]["schemes"] == "powerset-5"
    assert read_distances(tmp_path / "distances.csv").schemes == (*settings["schemes"], "gaussian:0.1")
    again = correlation(["powerset-5", "gaussian:0.1"], SUITE, small, tmp_path, seeds=[1], **options)
    errors = pd.read_csv(tmp_path / "errors.csv", keep_default_na=False)
    assert again["schemes"].item() == 6
    assert errors.groupby("scheme")["seed"].nunique().tolist().count(2) == 6
    assert json.loads((tmp_path / "trials.json").read_text())["seeds"] == [0, 1]


def test_every_image_has_its_own_draw_in_joint_sampling(tmp_path, small):
    joint = distances("none", SUITE, small, tmp_path / "joint", extractor=network(), sampling="joint", **FEW)
    encoder = open_encoder(network(), small, images=8)
    fog = corruption_transform(SUITE, "fog", 1)
    centre = encoder.extractor(fog(encoder.images, torch.arange(8))).mean(0)
    clean = encoder.extractor(encoder.images).mean(0)
    cell = joint.cells.index(("cifar10-c/fog", 1))
    assert joint.msd[0, 0, cell] == pytest.approx(float((clean - centre).norm()), rel=1e-5)


def test_features_that_are_not_finite_are_refused_and_not_kept(tmp_path, small):
    broken = network()
    broken.block3[0].weight.data.fill_(torch.nan)
    with pytest.raises(ValueError, match="are infinite or NaN"):
        distances("none", SUITE, small, tmp_path, extractor=broken, **FEW)
    assert not list(tmp_path.rglob("*.npz"))


def test_the_command_line_measures_distances(tmp_path):
    asked = (
        "distance schemes cifar10-c --schemes augmix,randaugment:count=1,level=4 --data fashion --only fog --severity 3"
    )
    few = "--images 4 --samples 2 --augmentations 6 --recipe fashion --epochs 1 --out"
    dry = CliRunner().invoke(app, [*shlex.split(asked), *shlex.split(few), str(tmp_path), "--dry-run"])
    assert dry.exit_code == 0, dry.output
    assert "To compute: " in dry.output  # hours and bytes
    assert not list(tmp_path.iterdir())
    found = CliRunner().invoke(app, [*shlex.split(asked), *shlex.split(few), str(tmp_path)])
    assert found.exit_code == 0, found.output
    assert "Encoded: 56 images, " in found.output  # 4 x (2 + 6 + 6)
    assert "randaugment:count=1,level=4" in found.output
    wrong = CliRunner().invoke(app, [*shlex.split(asked.replace("augmix", "augmx")), *shlex.split(few), str(tmp_path)])
    assert wrong.exit_code == 2
    assert "did you mean augmix" in wrong.output


def test_a_study_says_how_fast_it_was(tmp_path, small):
    distances("augmix", SUITE, small, tmp_path, extractor=network(), **FEW)
    speed = json.loads((tmp_path / "distances.json").read_text())["images_per_second"]
    assert speed > 1
    distances("augmix", SUITE, small, tmp_path, extractor=network(), **FEW)  # does nothing, and forgets nothing
    assert json.loads((tmp_path / "distances.json").read_text())["images_per_second"] == speed


def test_more_images_than_a_batch_are_encoded_in_parts(small):
    many = open_encoder(network(), small, images=30, batch=8)
    seen = []

    def watched(images, ids):
        seen.append(len(images))
        return images

    found = many.encode(watched, torch.arange(2))
    assert max(seen) == 8
    assert torch.allclose(found, many.extractor(many.images).mean(0).expand(2, -1), atol=1e-6)


def test_a_mixture_does_not_draw_what_makes_the_centre(tmp_path, small):
    """With as many augmentations as samples, the mean of the right corruption would otherwise be the centre itself."""
    table = mixing(
        "cifar10-c/gaussian_noise", "cifar10-c/contrast", small, tmp_path, severity=5, shares=(0.0,), augmentations=5,
        recipe=QUICK, extractor=network(), test="fashion", limit=20, engine=ONE, images=6, samples=5,
    )  # fmt: skip
    assert table["mmd"].item() > 1e-4


def test_few_draws_are_replayed_and_nothing_else():
    images = bars(64, channels=3, side=16).read(range(64))
    few = FewDraws(AugMix(), (3, 77, 1000), seed=5)
    ids = torch.arange(64)
    found = few(images, ids, seed=9)
    each = torch.stack([AugMix()(images, torch.full((64,), draw), 5) for draw in (3, 77, 1000)])
    which = (found == each).flatten(2).all(2)
    assert (which.sum(0) >= 1).all()
    assert which.any(1).all()  # all three occur
    assert not torch.equal(found, few(images, ids, seed=10))


def test_which_draws_are_chosen():
    order = np.array([4, 2, 0, 1, 3])
    assert choose_draws(order, "closest", 2) == (2, 4)
    assert choose_draws(order, "farthest", 2) == (1, 3)
    drawn = choose_draws(order, "random", 3, seed=1)
    assert len(set(drawn)) == 3
    assert drawn == choose_draws(order, "random", 3, seed=1)


def test_subsets(tmp_path, small):
    options = {"recipe": QUICK, "extractor": network(), "sizes": (1, 4), "draws": 20, "limit": 100, "images": 6}
    options |= {"samples": 3, "only": ["fog"], "severities": [3], "engine": ONE}
    table = subsets("augmix", SUITE, small, tmp_path, test="fashion", **options)
    assert table[["kind", "size"]].to_numpy().tolist() == [
        ["all", 0], ["closest", 1], ["closest", 4], ["random", 1], ["random", 4], ["farthest", 1], ["farthest", 4],
    ]  # fmt: skip
    assert table["error"].between(0, 1).all()
    assert json.loads((tmp_path / "subsets.json").read_text())["sizes"] == [1, 4]
    assert (
        SubsetsStudy("augmix", SUITE, small, tmp_path, test="fashion", **options).plan().work.distances.encodings() == 0
    )
    anew = SubsetsStudy("augmix", SUITE, small, tmp_path / "anew", test="fashion", **options).plan()
    assert anew.work.distances.encodings() == 6 * (3 + 20)  # images x (samples of one cell + draws)
    encoder = open_encoder(network(), small, images=6)
    centre = encoder.centre(corruption_transform(SUITE, "fog", 3), 3)[None]
    features = torch.cat(list(encoder.features(scheme_transform(AugMix()), 20)))
    distances = distances_between(features, centre)
    with np.load(tmp_path / "order.npz") as file:
        assert file["order"].tolist() == distances[:, 0].argsort(stable=True).tolist()
    more = subsets("augmix", SUITE, small, tmp_path, test="fashion", **options | {"sizes": (1, 2)})
    assert more.loc[more["kind"] == "closest", "size"].tolist() == [1, 2, 4]  # what was there stays in the table
    both = table.merge(more, on=["kind", "size", "seed"])
    assert len(both) == len(table)
    assert (both["error_x"] == both["error_y"]).all()
    assert json.loads((tmp_path / "subsets.json").read_text())["sizes"] == [1, 2, 4]


def test_a_mixture_is_one_corruption_or_the_other():
    images = bars(200, channels=3, side=16).read(range(200))
    ids = torch.arange(200)
    ends = [Mixture(SUITE, "impulse_noise", "motion_blur", share, 3)(images, ids, 7) for share in (0.0, 1.0)]
    mixed = Mixture(SUITE, "impulse_noise", "motion_blur", 0.25, 3)(images, ids, 7)
    which = [(mixed == end).flatten(1).all(1) for end in ends]
    assert (which[0] | which[1]).all()
    assert 25 <= which[1].sum() <= 75  # of 200 with probability 1/4: four standard deviations
    right = corruption_transform(SUITE, "impulse_noise", 3, seed=digest_seed("mixture|7"))(images, ids)
    assert torch.equal(ends[0], right)


def test_mixing(tmp_path, small):
    table = mixing(
        "cifar10-c/gaussian_noise",
        "cifar10-c/contrast",
        small,
        tmp_path,
        severity=5,
        shares=(1.0, 0.0, 0.5),
        augmentations=20,
        recipe=QUICK,
        extractor=network(),
        test="fashion",
        limit=100,
        engine=ONE,
        images=6,
        samples=10,
    )
    assert table["share"].tolist() == [0.0, 0.5, 1.0]
    assert table["mmd"].is_monotonic_increasing  # the mean moves away in proportion
    assert table["msd"].iloc[1] < table["msd"].iloc[2] / 2  # half of the draws are still right
    assert (tmp_path / "mixing.csv").exists()
    assert json.loads((tmp_path / "mixing.json").read_text())["severity"] == 5


def test_corruptions_without_levels_are_mixed_without_a_severity(tmp_path, small):
    plan = MixingStudy(
        "noc-candidates/rain", "noc-candidates/blur", small, tmp_path, recipe=QUICK, test="fashion"
    ).plan()
    assert plan.settings["severity"] is None
    plan = MixingStudy("cifar10-c/fog", "cifar10-c/snow", small, tmp_path, recipe=QUICK, test="fashion").plan()
    assert plan.settings["severity"] == 3


def test_two_files_of_one_name_are_not_taken_for_one(tmp_path, small):
    for place, gain in enumerate((0.1, 0.9)):
        entries = {"fog": SUITE.entries["fog"], "contrast": {"gain": gain}}
        suite = replace(SUITE, name="ref", entries=entries, validation=(), monotone={})
        suite.save(tmp_path / f"{place}.yaml")
    with pytest.raises(ValueError, match="of one suite"):
        MixingStudy(f"{tmp_path}/0.yaml/fog", f"{tmp_path}/1.yaml/contrast", small, tmp_path / "x", recipe=QUICK).plan()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kinds": []}, "kinds of subsets are closest, random, farthest, got none"),
        ({"kinds": ["near"]}, "got 'near'"),
        ({"sizes": [0]}, "from 1 to the 20 draws"),
    ],
)
def test_subsets_that_make_no_sense(tmp_path, small, options, said):
    with pytest.raises(ValueError, match=said):
        subsets("augmix", SUITE, small, tmp_path, recipe=QUICK, draws=20, **options)
    with pytest.raises(ValueError, match="all the same"):
        subsets("none", SUITE, small, tmp_path, recipe=QUICK, draws=20)


@pytest.mark.parametrize(
    ("right", "other", "said"),
    [
        ("cifar10-c/fog", "imagenet-c/snow", "of one suite"),
        ("cifar10-c/fog", "cifar10-c/fog", "two different"),
    ],
)
def test_a_mixture_of_what_cannot_be_mixed(tmp_path, small, right, other, said):
    with pytest.raises(ValueError, match=said):
        mixing(right, other, small, tmp_path, recipe=QUICK)


def test_a_trained_network_can_be_the_extractor(tmp_path, small):
    plan = DistancesStudy("none", SUITE, small, tmp_path, recipe=QUICK, **FEW).plan()
    assert plan.work.training is not None
    assert plan.work.training.out.endswith("/models/extractor.safetensors")
    plan.run()
    trained = open_model(plan.work.training.out)
    again = distances("none", SUITE, small, tmp_path / "given", extractor=trained, **FEW)
    assert np.array_equal(again.msd, read_distance_study(tmp_path).msd)
