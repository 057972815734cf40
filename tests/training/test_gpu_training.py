"""Training on a GPU: recorded steps are the same steps, and the same seed gives the same weights."""

from dataclasses import replace

import pytest
import torch
from made_images import bars, make_folder

from scuff.models import open_model
from scuff.pictures import Cut
from scuff.training import Noise, Recipe, fit, train
from scuff.training import run as run_module
from scuff.training import step as step_module
from scuff.training.fit import blocks
from scuff.training.treatment import choose_treatment

QUICK = Recipe("quick", "resnet18_32", epochs=2, batch_size=64, learning_rate=0.1, optimiser="muon", flip=True, crop=2)
IMAGES = bars(512, channels=3, side=16)


def weights(path):
    return open_model(str(path)).model.state_dict()


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(one.values(), other.values(), strict=True))


@pytest.mark.filterwarnings("default")  # torch itself warns of this and that when it compiles
@pytest.mark.parametrize("compile", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("optimiser", ["sgd", "muon"])
def test_the_same_seed_gives_the_same_weights(tmp_path, optimiser, compile):
    recipe = replace(QUICK, optimiser=optimiser, compile=compile)
    one, other = (
        weights(train(IMAGES, recipe, tmp_path / f"{k}.safetensors", corruption="cifar10-c/fog", device="cuda"))
        for k in range(2)
    )
    assert same(one, other)


@pytest.mark.filterwarnings("default")
def test_dropout_is_decided_by_the_seed(tmp_path):
    recipe = replace(QUICK, architecture="wide_resnet28_10_dropout", optimiser="sgd", epochs=1, compile=True)
    one, other, seed = (
        weights(train(IMAGES, recipe, tmp_path / f"{k}.safetensors", noise=0.1, seed=k // 2, device="cuda"))
        for k in range(3)
    )
    assert same(one, other)
    assert not same(one, seed)


def test_an_interrupted_training_ends_as_if_it_had_not_been(tmp_path, monkeypatch):
    monkeypatch.setattr(run_module, "SECONDS_BETWEEN", 0.0)
    monkeypatch.setitem(fit.BLOCK, "cuda", 3 * 64 * IMAGES.read([0]).numel())
    whole = weights(train(IMAGES, QUICK, tmp_path / "whole.safetensors", device="cuda"))

    def stop(done, total):
        if done == 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(IMAGES, QUICK, tmp_path / "net.safetensors", device="cuda", progress=stop)
    assert same(weights(train(IMAGES, QUICK, tmp_path / "net.safetensors", device="cuda")), whole)


def test_a_recorded_step_is_the_step(tmp_path, monkeypatch):
    """In float32 and without a graph, the same kernels run: not a bit may differ."""
    recipe = replace(QUICK, precision="float32", epochs=1)
    recorded = weights(train(IMAGES, recipe, tmp_path / "recorded.safetensors", device="cuda"))
    monkeypatch.setattr(step_module, "_Recorded", lambda step, state: step)
    plain = weights(train(IMAGES, recipe, tmp_path / "plain.safetensors", device="cuda"))
    assert same(recorded, plain)


def test_noise_is_that_of_the_cpu():
    """Uniform numbers are equal; a multiplication may round otherwise by 2**-24 of 255 levels, twice."""
    images = IMAGES.read(range(len(IMAGES)))
    (_, made), *_ = blocks(images, QUICK, 0, 0, torch.device("cpu"), Noise(0.1))
    (_, gpu_made), *_ = blocks(images.cuda(), QUICK, 0, 0, torch.device("cuda"), Noise(0.1))
    assert (gpu_made.cpu() - made).abs().max() <= 2 * 255 * 2**-23


def test_blocks_are_those_of_the_cpu():
    """Order, flips, crops and draws are equal; corrupted pixels agree to one level on 99.9 %, as everywhere."""
    images = IMAGES.read(range(len(IMAGES)))
    treatment = choose_treatment(["cifar10-c/motion_blur", "cifar10-c/brightness"])
    (places, made), *_ = blocks(images, QUICK, 0, 0, torch.device("cpu"), treatment)
    (gpu_places, gpu_made), *_ = blocks(images.cuda(), QUICK, 0, 0, torch.device("cuda"), treatment)
    assert torch.equal(gpu_places.cpu(), places)
    assert ((gpu_made.cpu().int() - made.int()).abs() <= 1).float().mean() >= 0.999


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("compile", [False, True], ids=["eager", "compiled"])
def test_a_stream_of_crops_that_grow_repeats_and_resumes(tmp_path, monkeypatch, compile):
    """The step is recorded again when pictures grow; whoever decodes, and wherever it stopped, weights are the same."""
    monkeypatch.setattr(run_module, "SECONDS_BETWEEN", 0.0)
    recipe = replace(
        QUICK,
        crop=0,
        crop_area=(0.08, 1.0),
        sides=(16, 24),
        grows_at=(0.5,),
        batch_size=16,
        compile=compile,
        cut=Cut(28, 24),
    )
    monkeypatch.setitem(fit.BLOCK, "cuda", 2 * 16 * 3 * 16 * 16)
    data = f"folder:{make_folder(tmp_path / 'pictures', 96)}"
    options = {"corruption": "imagenet-c/contrast", "device": "cuda"}
    whole = weights(train(data, recipe, tmp_path / "whole.safetensors", workers=0, **options))

    def stop(done, total):
        if done == 9:  # three steps after pictures have grown
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(data, recipe, tmp_path / "net.safetensors", workers=2, progress=stop, **options)
    assert same(weights(train(data, recipe, tmp_path / "net.safetensors", workers=3, **options)), whole)


@pytest.mark.filterwarnings("default")  # that this mode of torch's does not see everything
@pytest.mark.parametrize("where", ["cuda", "cpu"])
def test_no_block_waits_for_the_gpu(where):
    """It has the steps of the block before to do, behind which a mixture of 75 cells is launched."""
    images, treatment = IMAGES.read(range(len(IMAGES))).to(where), choose_treatment(suite="cifar10-c")

    def prepare():
        for _ in blocks(images, QUICK, 0, 0, torch.device("cuda"), treatment):
            pass

    prepare()  # which also makes tables that are kept
    torch.cuda.set_sync_debug_mode("error")
    try:
        prepare()
    finally:
        torch.cuda.set_sync_debug_mode("default")
