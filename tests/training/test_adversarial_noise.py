"""Adversarial noise: the generator, the scheme, and a training in which it learns."""

from __future__ import annotations

import copy
import json

import pytest
import torch
from laws import assert_normal
from torch import nn
from torch.nn import functional as F

from scuff.augment import ant, expand_schemes, open_scheme
from scuff.augment.ant import (
    AdversarialNoise,
    NoiseGenerator,
    default_epsilon,
    fingerprint,
    open_generator,
    save_generator,
    to_sphere,
)
from scuff.random import image_keys
from scuff.training import adversarial_noise
from scuff.training.adversarial_noise import AdversarialTraining

GREY = torch.full((8, 3, 32, 32), 128, dtype=torch.uint8)
IDS = torch.arange(8)
NORMALISATION = torch.full((1, 3, 1, 1), 1 / 64), torch.full((1, 3, 1, 1), -2.0)


def network() -> nn.Module:
    """Sees differences of neighbours, so that some patterns of noise harm it more than others."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(
            nn.Conv2d(3, 8, 3),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.Dropout(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(8, 4),
        )


def data(count: int = 64) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    images = torch.randint(0, 256, (count, 3, 12, 12), dtype=torch.uint8, generator=generator)
    return images, torch.arange(count) % 4


def learnt(turns: int, **options) -> AdversarialTraining:
    training, (images, labels) = AdversarialTraining(steps=3, batch_size=16, **options), data()
    for turn in range(turns):
        training.learn(network(), images, labels, NORMALISATION, seed=turn)
    return training


# --- generator and scheme -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kernel", "larger", "weights"), [(3, 2, 80 + 3620 + 420 + 63), (1, 0, 80 + 420 + 420 + 63)])
def test_a_generator_has_the_published_layers(kernel, larger, weights):
    generator = NoiseGenerator(3, kernel)
    assert sum(p.numel() for p in generator.parameters()) == weights
    assert generator(torch.zeros(2, 3, 10 + larger, 7 + larger)).shape == (2, 3, 10, 7)
    assert all((p == 0).all() for name, p in generator.named_parameters() if name.endswith("bias"))
    second = generator.layers[2].weight.detach()
    assert abs(float(second.std()) - 0.01) < 0.001  # of 400 values or more
    assert torch.equal(second, NoiseGenerator(3, kernel).layers[2].weight)
    assert not torch.equal(second, NoiseGenerator(3, kernel, seed=1).layers[2].weight)
    with pytest.raises(ValueError, match="1 or 3"):
        NoiseGenerator(3, 5)


def test_noise_does_not_depend_on_how_many_images_are_made_at_once(monkeypatch):
    noise = AdversarialNoise(NoiseGenerator())
    together = noise(GREY, IDS)
    monkeypatch.setattr(ant, "AT_ONCE", 3 * GREY[0].numel())  # pieces of 3, 3 and 2
    assert torch.allclose(noise(GREY, IDS), together, atol=1e-3)  # levels; convolutions may add in another order
    assert noise(GREY[:0], IDS[:0]).shape == (0, 3, 32, 32)


def test_the_noise_of_an_image_is_the_same_bits_alone_and_in_company():
    noise = AdversarialNoise(NoiseGenerator(seed=3))
    together = noise(GREY, IDS)
    assert len(GREY) < ant.FEWEST
    for count in (1, 3):
        assert torch.equal(noise(GREY[:count], IDS[:count]), together[:count])


def test_in_the_beginning_noise_is_gaussian_and_of_length_epsilon():
    generator = NoiseGenerator()
    z = generator.draw(image_keys("test", None, IDS), 32, 32)
    noise = generator(z).detach()
    assert (noise - z[..., 1:-1, 1:-1]).abs().max() < 1e-3
    assert_normal(noise.numpy())
    length = torch.linalg.vector_norm(to_sphere(noise, 19.3).flatten(1), dim=1)
    assert torch.allclose(length, torch.tensor(19.3), rtol=1e-5)


def test_only_the_wide_kernel_joins_neighbours():
    """Move one value of z, and see where the noise changes."""
    for kernel, reach in ((1, 1), (3, 9)):
        generator = NoiseGenerator(1, kernel)
        with torch.no_grad():
            for parameter in generator.parameters():
                parameter.uniform_(0.1, 0.2, generator=torch.Generator().manual_seed(0))
        z = torch.ones(1, 1, 12, 12)
        moved = z.clone()
        moved[0, 0, 6, 6] = 2
        assert int((generator(moved) != generator(z)).sum()) == reach


def test_the_scheme_adds_noise_of_that_length_and_clips():
    weak = AdversarialNoise(NoiseGenerator(), epsilon=2.0)(GREY, IDS) - 128
    assert torch.allclose(torch.linalg.vector_norm(weak.flatten(1), dim=1), torch.tensor(2.0 * 255), rtol=1e-5)
    assert default_epsilon(GREY.shape[1:]) == pytest.approx(19.29, abs=0.005)
    strong = AdversarialNoise(NoiseGenerator())(GREY, IDS)
    assert strong.dtype == torch.float32
    assert (strong.min(), strong.max()) == (0, 255)
    inside = (strong > 0) & (strong < 255)
    assert ((strong[inside] - 128).std() / 255).item() == pytest.approx(0.26, abs=0.02)  # 0.348, cut at 1.44 deviations
    with pytest.raises(ValueError, match="3 channels, the images have 1"):
        AdversarialNoise(NoiseGenerator())(GREY[:, :1], IDS)
    with pytest.raises(ValueError, match="epsilon"):
        AdversarialNoise(NoiseGenerator(), -1.0)


def test_the_scheme_is_keyed():
    """To a thousandth of a level: convolutions add in an order that depends on the batch."""
    scheme = AdversarialNoise(learnt(1).generator)
    together = scheme(GREY, IDS, 3)
    assert torch.allclose(scheme(GREY[5:6], IDS[5:6], 3)[0], together[5], atol=1e-3)
    assert not torch.allclose(scheme(GREY, IDS, 4), together, atol=1)
    assert torch.equal(GREY, torch.full_like(GREY, 128))
    same = scheme(GREY[:2], torch.tensor([7, 7]))
    assert torch.allclose(same[0], same[1], atol=1e-3)
    assert scheme(GREY[:0], IDS[:0]).shape == (0, 3, 32, 32)


def test_a_generator_stays_on_its_device():
    """Images on "meta", which is a device without numbers: the noise goes there, the generator does not."""
    generator = NoiseGenerator()
    before = fingerprint(generator)
    assert AdversarialNoise(generator)(GREY.to("meta"), IDS.to("meta")).device.type == "meta"
    assert {parameter.device.type for parameter in generator.parameters()} == {"cpu"}
    assert fingerprint(generator) == before
    assert ant._bring(generator, torch.device("cpu")) is generator


@pytest.mark.parametrize(("kernel", "epsilon"), [(3, None), (1, 12.5)])
def test_a_generator_survives_its_file(tmp_path, kernel, epsilon):
    noise = AdversarialNoise(NoiseGenerator(1, kernel, seed=4), epsilon)
    path = tmp_path / "generator.safetensors"
    save_generator(noise, path)
    again = open_scheme(f"ant:{path}")
    assert again.epsilon == epsilon
    assert again.settings() == noise.settings()
    assert json.loads(json.dumps(noise.settings()))["weights"] == fingerprint(again.generator)
    grey = GREY[:, :1]
    assert torch.equal(again(grey, IDS), noise(grey, IDS))
    assert expand_schemes([f"ant:{path}"]) == [f"ant:{path}"]
    assert fingerprint(NoiseGenerator(1, kernel, seed=5)) != fingerprint(noise.generator)


def test_other_files_are_refused(tmp_path):
    wrong = tmp_path / "wrong.safetensors"
    wrong.write_bytes(b"nothing of the kind")
    with pytest.raises(ValueError, match="expected a safetensors file of a noise generator"):
        open_generator(wrong)
    from safetensors.torch import save_file

    save_file({"weight": torch.zeros(1)}, wrong)
    with pytest.raises(
        ValueError, match=r"wrong\.safetensors holds no noise generator; .* NAME\.generator\.safetensors"
    ):
        open_generator(wrong)


# --- training -------------------------------------------------------------------------------------------------------


def harm(generator: NoiseGenerator, net: nn.Module, epsilon: float) -> float:
    """The loss of a network on noisy images, with the same draws for every generator."""
    images, labels = data(64)
    with torch.no_grad():
        noisy = AdversarialNoise(generator, epsilon)(images, torch.arange(64), seed=9)
        return float(F.cross_entropy(net.eval()(noisy * NORMALISATION[0] + NORMALISATION[1]), labels))


@pytest.mark.slow
def test_the_generator_learns_to_harm():
    net, (images, labels) = network(), data()
    training = AdversarialTraining(epsilon=8.0, steps=40, batch_size=32, learning_rate=1e-2)
    before = harm(training.generator, net, 8.0)
    training.learn(net, images, labels, NORMALISATION, seed=0)
    assert harm(training.generator, net, 8.0) > before + 0.02


def test_the_network_is_left_as_it_was():
    net, (images, labels) = network().train(), data()
    net[1].eval()
    net[0].weight.grad = torch.ones_like(net[0].weight)
    before = copy.deepcopy(net.state_dict())
    state = torch.random.get_rng_state()
    AdversarialTraining(steps=2, batch_size=8).learn(net, images, labels, NORMALISATION, seed=0)
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    assert [module.training for module in net] == [True, False, True, True, True, True, True]
    assert torch.equal(net[0].weight.grad, torch.ones_like(net[0].weight))
    assert net[0].bias.grad is None
    assert torch.equal(torch.random.get_rng_state(), state)


def test_no_noise_is_drawn_twice(monkeypatch):
    drawn = []
    monkeypatch.setattr(adversarial_noise, "image_keys", lambda *key: drawn.append(image_keys(*key)) or drawn[-1])
    training, (images, labels), net = AdversarialTraining(steps=2, batch_size=4), data(), network()
    for _ in range(2):  # two blocks of one epoch have one seed
        training.learn(net, images, labels, NORMALISATION, seed=0)
    assert len(torch.cat(drawn).unique()) == 2 * 2 * 4


def test_batches_have_their_shares_of_noise():
    training = learnt(3)
    assert len(training.snapshots) == 2
    images, ids = GREY.repeat(5, 1, 1, 1)[:40, :, :12, :12], torch.arange(40)
    treated = training.treat(images, ids, seed=1, batch_size=20)
    assert treated.dtype == torch.float32
    current = AdversarialNoise(training.generator)(images, ids, 1)
    earlier = torch.stack([AdversarialNoise(snapshot)(images, ids, 1) for snapshot in training.snapshots])
    for k in range(40):
        place = k % 20
        if place < 10:
            assert torch.equal(treated[k], images[k].float())
        elif place < 16:
            assert torch.allclose(treated[k], current[k], atol=1e-3)
        else:
            distance = (earlier[:, k] - treated[k]).abs().amax((1, 2, 3))
            assert distance.min() < 1e-3
            assert (current[k] - treated[k]).abs().max() > 3e-3, "it is not the noise of now"
    first = training.treat(images[:20], ids[:20], 1, 20)
    assert torch.allclose(first, treated[:20], atol=1e-3), "blocks may have any number of batches"


def test_without_snapshots_all_noise_is_of_now():
    training = learnt(1)
    images, ids = GREY[:, :, :12, :12], IDS
    treated = training.treat(images, ids, seed=0, batch_size=8)
    assert torch.equal(treated[:4], images[:4].float())
    assert torch.allclose(treated[4:], AdversarialNoise(training.generator)(images, ids, 0)[4:], atol=1e-3)


def test_the_generator_takes_the_channels_of_the_images():
    images, labels = data()
    grey = nn.Sequential(nn.Flatten(), nn.Linear(144, 4))
    training = AdversarialTraining(kernel=1, steps=1, batch_size=100)
    factor, summand = (value[:, :1] for value in NORMALISATION)
    training.learn(grey, images[:, :1], labels, (factor, summand), seed=0)
    assert training.generator.channels == 1
    assert training.treat(images[:, :1], torch.arange(64), 0, 32).shape == (64, 1, 12, 12)


def test_an_interrupted_training_goes_on_exactly():
    images, labels = data()
    whole = learnt(4)
    stopped = learnt(2)
    resumed = AdversarialTraining(steps=3, batch_size=16)
    resumed.restore(stopped.state())
    for turn in (2, 3):
        resumed.learn(network(), images, labels, NORMALISATION, seed=turn)
    expected, found = whole.state(), resumed.state()
    assert expected.keys() == found.keys()
    assert all(torch.equal(expected[name], found[name]) for name in expected)
    assert any(name.startswith("adam exp_avg.") for name in expected)
    assert int(expected["snapshots"]) == 3


def test_restarts_and_settings():
    assert not torch.equal(learnt(3).generator.layers[0].weight, learnt(3, restarts=2).generator.layers[0].weight)
    fresh = learnt(3, restarts=2).state()["adam step.layers.0.weight"]
    assert int(fresh) == 3
    settings = AdversarialTraining(kernel=1, epsilon=3.0).settings()
    assert json.loads(json.dumps(settings)) == settings
    assert settings["kernel"] == 1
    with pytest.raises(ValueError, match="at least one step"):
        AdversarialTraining(steps=0)


def test_old_snapshots_get_sparser(monkeypatch):
    monkeypatch.setattr(adversarial_noise, "MOST_SNAPSHOTS", 4)
    training, (images, labels), net = AdversarialTraining(steps=1, batch_size=4), data(), network()
    turn_of = {}
    for turn in range(1, 8):
        training.learn(net, images, labels, NORMALISATION, seed=turn)
        turn_of[fingerprint(training.generator)] = turn
    assert [turn_of[fingerprint(snapshot)] for snapshot in training.snapshots] == [1, 3, 5, 6]
