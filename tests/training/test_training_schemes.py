"""Training with augmentation schemes: what images meet, what the loss is, and that it can be repeated."""

import math
from dataclasses import replace

import pytest
import torch
from made_images import bars
from torch.nn import functional as F
from typer.testing import CliRunner

from scuff.augment import AugMix, PatchGaussian, jensen_shannon, open_scheme
from scuff.cli import app
from scuff.models import build, open_model, read_origin
from scuff.training import Recipe, find_recipe, fit, resume, train
from scuff.training import run as run_module
from scuff.training.adversarial_noise import AdversarialTraining
from scuff.training.augment import augment, epoch_seed
from scuff.training.fit import begin, blocks
from scuff.training.run import generator_file
from scuff.training.step import make_step
from scuff.training.treatment import Augmented, choose_treatment, second_seed

CPU = torch.device("cpu")
QUICK = Recipe("quick", "small_cnn", epochs=2, batch_size=64, learning_rate=0.1, optimiser="muon", flip=True, crop=2)
ANT = AdversarialTraining(steps=2, batch_size=16)


def weights(path):
    return open_model(str(path)).model.state_dict()


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(one.values(), other.values(), strict=True))


def pixels(count=128):
    return bars(count).read(range(count))


def block(treatment, count=128):
    """The only block of the first epoch."""
    return next(blocks(pixels(count), QUICK, 0, 0, CPU, treatment))


def test_a_scheme_acts_on_mirrored_and_shifted_images():
    places, found = block(Augmented(AugMix()))
    seed = epoch_seed(0, 0)
    moved = augment(pixels()[places], places, seed, flip=True, crop=2)
    assert torch.equal(found, AugMix()(moved, places, seed))


def test_patch_gaussian_acts_before_the_shift_so_that_what_comes_in_is_black():
    places, found = block(Augmented(PatchGaussian(width=99)))
    seed = epoch_seed(0, 0)
    noisy = PatchGaussian(width=99)(pixels()[places], places, seed)
    assert torch.equal(found, augment(noisy, places, seed, flip=True, crop=2))
    shifted = (found[:, 0, 0] == 0).all(1)  # the whole first row came from outside
    assert 0.2 < shifted.float().mean() < 0.6  # as two of five shifts have it
    places, after = block(Augmented(PatchGaussian(width=99, varies=True)))
    moved = augment(pixels()[places], places, seed, flip=True, crop=2)
    assert torch.equal(after, PatchGaussian(width=99, varies=True)(moved, places, seed))


def test_three_views_share_flip_and_shift():
    places, views = block(Augmented(AugMix(), 12.0))
    moved = augment(pixels()[places], places, epoch_seed(0, 0), flip=True, crop=2)
    assert views.shape == (128, 3, *moved.shape[1:])
    assert torch.equal(views[:, 0], moved.float())
    for view, seed in ((1, epoch_seed(0, 0)), (2, second_seed(epoch_seed(0, 0)))):
        assert torch.equal(views[:, view], AugMix()(moved, places, seed))
    assert not torch.equal(views[:, 1], views[:, 2])


def test_a_step_with_consistency_is_that_of_the_loss_written_out():
    torch.manual_seed(0)
    recipe = replace(QUICK, optimiser="sgd", momentum=0.0, nesterov=False, weight_decay=0.0, learning_rate=0.5)
    network = build("small_cnn", 4, 1)
    state = {key: value.clone() for key, value in network.state_dict().items()}
    views, labels = torch.rand(16, 3, 1, 12, 12) * 255, torch.randint(4, (16,))
    factor, summand = torch.full((1, 1, 1, 1), 1 / 255), torch.full((1, 1, 1, 1), -0.5)
    training = begin(network, recipe, CPU)
    make_step(training.network, training.optimiser, recipe, (factor, summand), 12.0)(views, labels)

    by_hand = build("small_cnn", 4, 1)
    by_hand.load_state_dict(state)
    logits = by_hand.train()(torch.cat([views[:, k] for k in range(3)]) / 255 - 0.5)
    clean, first, second = logits.split(16)
    loss = F.cross_entropy(clean, labels) + 12 * jensen_shannon([clean, first, second])
    loss.backward()
    for name, parameter in by_hand.named_parameters():
        moved = state[name] - 0.5 * parameter.grad
        assert torch.allclose(network.state_dict()[name], moved, atol=1e-6)  # float32, in another order of sums


def test_the_rate_of_the_paper_falls_once_per_epoch():
    recipe = find_recipe("cifar-augmentation")
    assert (recipe.architecture, recipe.epochs, recipe.batch_size, recipe.crop) == ("wide_resnet40_2", 100, 128, 4)
    steps = 390 * 100
    for epoch in (0, 1, 50, 99):
        expected = (1 + math.cos(math.pi * epoch / 100)) / 2
        for step in (390 * epoch, 390 * epoch + 389):
            assert recipe.share(step, steps) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("scheme", ["augmix", "augmix-jsd", "patch-gaussian", "autoaugment"])
def test_a_training_with_a_scheme_repeats_whatever_the_size_of_blocks(tmp_path, monkeypatch, scheme):
    one = weights(train(bars(), QUICK, tmp_path / "one.safetensors", augment=scheme))
    monkeypatch.setitem(fit.BLOCK, "cpu", 64 * pixels(1).numel() * 2)
    assert same(one, weights(train(bars(), QUICK, tmp_path / "two.safetensors", augment=scheme)))
    assert not same(one, weights(train(bars(), QUICK, tmp_path / "three.safetensors", augment=scheme, seed=1)))


@pytest.mark.slow
def test_adversarial_training_repeats_with_one_object_and_whatever_the_size_of_blocks(tmp_path, monkeypatch):
    def run(name, seed=0):
        images = run_module.load_training_images(bars(), QUICK, CPU)
        return run_module.train_on(images, QUICK, tmp_path / name, ANT, seed=seed, device="cpu")

    one = run("one.safetensors")
    assert ANT.turns == 0  # what is learned belongs to a training
    monkeypatch.setitem(fit.BLOCK, "cpu", 64 * pixels(1).numel() * 2)
    two = run("two.safetensors")
    assert same(weights(one), weights(two))
    assert not same(weights(one), weights(run("three.safetensors", seed=1)))
    noise = [open_scheme(f"ant:{generator_file(path)}") for path in (one, two)]
    assert noise[0].settings() == noise[1].settings()
    noisy = noise[0](pixels(), torch.arange(128))
    assert (noisy != pixels()).any()
    assert ((noisy >= 0) & (noisy <= 255)).all()


@pytest.mark.slow
def test_an_interrupted_adversarial_training_ends_as_if_it_had_not_been(tmp_path, monkeypatch):
    recipe, images = replace(QUICK, epochs=3), run_module.load_training_images(bars(), QUICK, CPU)
    whole = run_module.train_on(images, recipe, tmp_path / "whole.safetensors", ANT, device="cpu")
    monkeypatch.setattr(run_module, "SECONDS_BETWEEN", 0.0)
    saved = []

    def save(*arguments):
        resume.save_training(*arguments)
        saved.append(1)
        if len(saved) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(run_module, "save_training", save)
    with pytest.raises(KeyboardInterrupt):
        run_module.train_on(images, recipe, tmp_path / "cut.safetensors", ANT, device="cpu")
    cut = run_module.train_on(images, recipe, tmp_path / "cut.safetensors", ANT, device="cpu")
    assert same(weights(whole), weights(cut))
    assert generator_file(whole).read_bytes() == generator_file(cut).read_bytes()


def test_weights_say_what_they_were_trained_with(tmp_path):
    recipe = replace(QUICK, epochs=1)
    origins = []
    for place, scheme in enumerate([None, "augmix", "augmix-jsd", "powerset:rotate"]):
        path = train(bars(), recipe, tmp_path / f"{place}.safetensors", augment=scheme)
        origins.append(read_origin(path)["augment"])
    assert origins[0] is None
    assert origins[1]["operations"] == list(AugMix().operations)
    assert origins[2] == {**origins[1], "consistency": 12.0}
    assert origins[3]["operations"] == ["rotate"]
    for treatment in (Augmented(AugMix(), 3.0), ANT):  # what names cannot say
        path = train(bars(), recipe, tmp_path / f"{type(treatment).__name__}.safetensors", augment=treatment)
        assert read_origin(path)["augment"] == treatment.settings()
    with pytest.raises(ValueError, match="augment differ"):
        train(bars(), recipe, tmp_path / "1.safetensors", augment="autoaugment")


def test_what_cannot_be_trained_with():
    with pytest.raises(ValueError, match="not with two of them"):
        choose_treatment("cifar10-c/fog", augment="augmix")
    with pytest.raises(ValueError, match="did you mean augmix"):
        choose_treatment(augment="augmx")
    with pytest.raises(ValueError, match=r"a scuff\.augment\.Scheme, got int"):
        choose_treatment(augment=5)
    with pytest.raises(ValueError, match="must act after these"):
        choose_treatment(augment="patch-gaussian-jsd")


@pytest.mark.slow
def test_the_command_line_trains_with_a_scheme(tmp_path):
    out = tmp_path / "net.safetensors"
    arguments = ["train", "--data", "fashion", "--recipe", "fashion", "--epochs", "1", "--out", str(out)]
    wrong = CliRunner().invoke(app, [*arguments, "--augment", "augmix:severty=1"])
    assert wrong.exit_code == 2
    assert "its options are operations, severity" in wrong.output
    found = CliRunner().invoke(app, [*arguments, "--augment", "augmix:severity=1"])
    assert found.exit_code == 0, found.output
    assert read_origin(out)["augment"]["severity"] == 1.0
