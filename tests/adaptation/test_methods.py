"""Every method against its formula, calculated by hand on a tiny network."""

import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from scuff.adaptation import METHODS, Method, ask_method, ask_methods, similar_benchmark
from scuff.adaptation.cotta import CoTTA, augment, consistency
from scuff.adaptation.entropy import Eata, Eta, RDumb, Tent, entropy
from scuff.adaptation.norm import BatchNorm, PriorNorm, RunningNorm, Source
from scuff.random import image_keys

CLASSES, WIDTH = 5, 4


class Tiny(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.fc = nn.Conv2d(3, WIDTH, 3), nn.BatchNorm2d(WIDTH), nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        return self.fc(F.relu(self.norm(self.conv(x))).mean((2, 3)))


@pytest.fixture
def network():
    torch.manual_seed(0)
    network = Tiny()
    with torch.no_grad():
        network.norm.running_mean.copy_(torch.tensor([0.3, -0.2, 0.1, 0.0]))
        network.norm.running_var.copy_(torch.tensor([0.5, 1.5, 0.8, 2.0]))
        network.norm.weight.uniform_(0.5, 1.5)
        network.norm.bias.uniform_(-0.5, 0.5)
        network.fc.weight.mul_(12)
    return network.eval()


def batches(count, size=8):
    drawn = torch.Generator().manual_seed(1)
    return [torch.rand(size, 3, 6, 6, generator=drawn) for _ in range(count)]


def statistics(network, x, unbiased):
    """Mean and variance of each channel in front of the normalisation, the long way."""
    with torch.no_grad():
        values = network.conv(x).double().permute(1, 0, 2, 3).reshape(WIDTH, -1).numpy()
    return values.mean(1), values.var(1, ddof=1 if unbiased else 0)


def by_hand(network, x, mean, variance, scale=None, shift=None):
    """Logits with these statistics."""
    scale = network.norm.weight if scale is None else scale
    shift = network.norm.bias if shift is None else shift
    mean, variance = (torch.as_tensor(v, dtype=torch.float32)[:, None, None] for v in (mean, variance))
    y = (network.conv(x) - mean) / torch.sqrt(variance + 1e-5) * scale[:, None, None] + shift[:, None, None]
    return network.fc(F.relu(y).mean((2, 3)))


def batch_logits(network, x, scale, shift):
    """The same with the statistics of the batch, through which gradients pass."""
    y = network.conv(x)
    mean = y.mean((0, 2, 3), keepdim=True)
    y = (y - mean) / torch.sqrt(((y - mean) ** 2).mean((0, 2, 3), keepdim=True) + 1e-5)
    return network.fc(F.relu(y * scale[:, None, None] + shift[:, None, None]).mean((2, 3)))


def learned(network):
    return [p.detach().clone().requires_grad_() for p in (network.norm.weight, network.norm.bias)]


def close(a, b, atol=2e-6):
    assert torch.allclose(torch.as_tensor(a), torch.as_tensor(b), atol=atol), (a, b)


def test_source_uses_its_own_statistics(network):
    (x,) = batches(1)
    expected = by_hand(network, x, network.norm.running_mean, network.norm.running_var)
    close(Source(network).adapt(x), expected)


def test_bn_uses_those_of_the_batch_with_a_biased_variance_and_carries_nothing_over(network):
    first, second = batches(2)
    expected = [by_hand(network, x, *statistics(network, x, unbiased=False)) for x in (first, second)]
    method = BatchNorm(network)
    for x, logits in zip((first, second), expected, strict=True):
        close(method.adapt(x), logits)


@pytest.mark.parametrize(("options", "share"), [({"prior": 16}, 8 / 24), ({"share": 0.1}, 0.1), ({"prior": 0}, 1.0)])
def test_a_prior_mixes_statistics_with_an_unbiased_variance(network, options, share):
    first, second = batches(2)
    source = [v.double().numpy().copy() for v in (network.norm.running_mean, network.norm.running_var)]
    mixed = [
        [(1 - share) * s + share * b for s, b in zip(source, statistics(network, x, unbiased=True), strict=True)]
        for x in (first, second)
    ]
    expected = [by_hand(network, x, *its) for x, its in zip((first, second), mixed, strict=True)]
    method = PriorNorm(network, **options)
    for x, logits in zip((first, second), expected, strict=True):
        close(method.adapt(x), logits)


def test_running_statistics_move_by_a_tenth_and_only_when_adapting(network):
    first, second = batches(2)
    now, expected = [v.double().numpy().copy() for v in (network.norm.running_mean, network.norm.running_var)], []
    for x in (first, second):
        now = [0.9 * old + 0.1 * b for old, b in zip(now, statistics(network, x, unbiased=True), strict=True)]
        expected.append(by_hand(network, x, *now))
    method = RunningNorm(network)
    close(method.adapt(first), expected[0])
    with torch.no_grad():
        network(second)  # a prediction, no adaptation
    close(method.adapt(second), expected[1])
    method.reset()
    close(method.adapt(first), expected[0])


def test_tent_is_one_step_of_adam_on_the_mean_entropy_of_scales_and_shifts(network):
    first, second = batches(2)
    scale, shift = learned(network)
    logits = batch_logits(network, first, scale, shift)
    p = logits.softmax(1)
    gradients = torch.autograd.grad((-(p * p.log()).sum(1)).mean(), (scale, shift))
    # The first step of Adam: both averages are unbiased, so that g / sqrt(g²) is left.
    moved = [w - 1e-3 * g / (g.abs() + 1e-8) for w, g in zip((scale, shift), gradients, strict=True)]
    others = {name: p.detach().clone() for name, p in network.named_parameters() if "norm" not in name}
    expected = batch_logits(network, second, *moved)
    method = Tent(network)
    close(method.adapt(first), logits)
    close(network.norm.weight, moved[0])
    close(network.norm.bias, moved[1])
    close(method.adapt(second), expected, atol=1e-5)
    assert all(torch.equal(p, others[name]) for name, p in network.named_parameters() if name in others)


def test_tent_on_imagenet_is_sgd_with_momentum(network):
    weights, speed = learned(network), [0.0, 0.0]
    x = batches(3)
    for images in x:
        loss = entropy(batch_logits(network, images, *weights)).mean()
        speed = [0.9 * v + g for v, g in zip(speed, torch.autograd.grad(loss, weights), strict=True)]
        weights = [(w - 2.5e-4 * v).detach().requires_grad_() for w, v in zip(weights, speed, strict=True)]
    method = ask_method("tent").open(network, "imagenet")
    for images in x:
        method.adapt(images)
    close(network.norm.weight, weights[0], atol=1e-7)
    close(network.norm.bias, weights[1], atol=1e-7)


def eta_by_hand(network, weights, x, average, margin=0.4, penalty=lambda weights: 0.0, rate=0.01):
    """A plain SGD step of ETA on weights; what it keeps is decided image by image."""
    logits = batch_logits(network, x, *weights)
    most, kept = 0.4 * math.log(CLASSES), []
    for place, p in enumerate(logits.detach().softmax(1).double().numpy()):
        is_new = average is None or abs(p @ average) / np.linalg.norm(p) / np.linalg.norm(average) < margin
        if -(p * np.log(p)).sum() < most and is_new:
            kept.append(place)
    assert 0 < len(kept) < len(x)
    chosen = logits[kept]
    h = entropy(chosen)
    loss = (torch.exp(most - h.detach()) * h).sum() / len(kept) + penalty(weights)
    gradients = torch.autograd.grad(loss, weights)
    now = chosen.detach().softmax(1).double().numpy().mean(0)
    return (
        logits,
        [(w - rate * g).detach().requires_grad_() for w, g in zip(weights, gradients, strict=True)],
        now if average is None else 0.9 * average + 0.1 * now,
    )


MARGIN = 0.97


def test_eta_learns_from_sure_and_new_images_with_weights(network):
    first, second = batches(2, size=24)
    _, weights, average = eta_by_hand(network, learned(network), first, None)
    logits, weights_2, average_2 = eta_by_hand(network, weights, second, average, MARGIN)
    method = Eta(network, "sgd", 0.01, margin=MARGIN)
    method.adapt(first)
    close(network.norm.weight, weights[0])
    close(method.memory["average"].double(), average)
    method.optimiser.state.clear()  # momentum: of no interest here
    close(method.adapt(second), logits, atol=1e-5)
    close(network.norm.weight, weights_2[0])
    close(network.norm.bias, weights_2[1])
    close(method.memory["average"].double(), average_2)


def test_eta_takes_no_step_if_no_image_is_kept(network):
    (x,) = batches(1)
    method = Eta(network, sure=1e-6)
    before = network.norm.weight.clone()
    method.adapt(x)
    assert torch.equal(network.norm.weight, before)
    assert not method.memory


def test_eata_holds_weights_that_matter_for_clean_images(network):
    clean, (first, second) = batches(3, size=10), batches(2, size=24)
    start, squares = learned(network), [0.0, 0.0]
    for x in clean:
        logits = batch_logits(network, x, *start)
        picked = logits.argmax(1)
        loss = -logits.log_softmax(1)[torch.arange(len(x)), picked].mean()
        squares = [s + g**2 / 3 for s, g in zip(squares, torch.autograd.grad(loss, start), strict=True)]

    def penalty(weights):
        each = zip(squares, weights, start, strict=True)
        return 50 * sum((s * (w - w0.detach()) ** 2).sum() for s, w, w0 in each)

    _, weights, average = eta_by_hand(network, learned(network), first, None, penalty=penalty)
    _, weights, _ = eta_by_hand(network, weights, second, average, MARGIN, penalty)
    method = Eata(network, "sgd", 0.01, margin=MARGIN, hold=50.0)
    with pytest.raises(ValueError, match="clean images first"):
        method.adapt(first)
    method.prepare(clean)
    method.adapt(first)
    method.optimiser.state.clear()
    method.adapt(second)
    close(network.norm.weight, weights[0])
    close(network.norm.bias, weights[1])


def test_rdumb_is_eta_from_the_start_at_batches_0_3_6(network):
    x = batches(8, size=24)
    state = {name: value.clone() for name, value in network.state_dict().items()}
    expected = []
    for start in range(0, 8, 3):
        fresh = Tiny().eval()
        fresh.load_state_dict(state)
        eta = Eta(fresh, rate=0.05)
        expected += [eta.adapt(images) for images in x[start : start + 3]]
    method = RDumb(network, rate=0.05, every=3)
    logits = [method.adapt(images) for images in x]
    assert all(torch.equal(a, b) for a, b in zip(logits, expected, strict=True))
    assert ask_method("rdumb").options("cifar10")["every"] == 1000


def test_cotta_one_batch_by_hand(network):
    (x,) = batches(1)
    start = {name: p.detach().clone() for name, p in network.named_parameters()}
    norm = learned(network)
    others = [network.conv.weight, network.conv.bias, network.fc.weight, network.fc.bias]
    logits = batch_logits(network, x, *norm)
    keys = image_keys("cotta/augment", None, torch.arange(2), 0)
    taught = sum(batch_logits(network, augment(x, keys[k : k + 1]), *norm) for k in range(2)).detach() / 2
    loss = -(taught.softmax(1) * logits.log_softmax(1)).sum(1).mean()
    gradients = torch.autograd.grad(loss, [*norm, *others])
    names = ["norm.weight", "norm.bias", "conv.weight", "conv.bias", "fc.weight", "fc.bias"]
    stepped = {n: start[n] - 0.1 * g for n, g in zip(names, gradients, strict=True)}
    method = CoTTA(network, "sgd", 0.1, unsure=1.1, restore=0.3, momentum=0.9, copies=2)
    close(method.adapt(x), taught, atol=1e-5)
    teacher, restored = dict(method.teacher.named_parameters()), 0
    for name, p in network.named_parameters():
        returned = p == start[name]
        close(torch.where(returned, stepped[name], p), stepped[name], atol=1e-5)
        close(teacher[name], 0.9 * start[name] + 0.1 * stepped[name], atol=1e-5)
        restored += int(returned.sum())
    total = sum(p.numel() for p in network.parameters())
    assert 0.15 < restored / total < 0.45


def test_cotta_restores_the_asked_share_of_weights():
    network = nn.Sequential(nn.Conv2d(3, 40, 3), nn.BatchNorm2d(40), nn.Flatten(), nn.Linear(40 * 16, 100))
    method = CoTTA(network.eval(), restore=0.01)
    with torch.no_grad():
        for p in network.parameters():
            p += 1
        method._forget(0)
    kept = [w - a for w, a in zip(network.parameters(), method.anchor.parameters(), strict=True)]
    share = sum(int((d.abs() < 0.5).sum()) for d in kept) / sum(d.numel() for d in kept)
    assert share == pytest.approx(0.01, abs=0.0012)  # three standard deviations of 65 000 draws


def test_cotta_averages_logits_of_augmented_copies_where_the_anchor_is_unsure(network):
    (x,) = batches(1)
    method = CoTTA(network, unsure=1.1, copies=3)
    keys = image_keys("cotta/augment", None, 7 * 3 + torch.arange(3), 0)
    with torch.no_grad():
        expected = sum(method.teacher(augment(x, keys[k : k + 1])) for k in range(3)) / 3
    close(method.teach(x, 7), expected)
    method.unsure = 0.0
    close(method.teach(x, 7), batch_logits(network, x, *learned(network)))


def test_the_loss_of_cotta_for_imagenet_is_symmetric():
    a, b = torch.randn(2, 6, 4, generator=torch.Generator().manual_seed(0)).double()
    p, q = (F.softmax(z, 1).numpy() for z in (a, b))
    close(consistency(a, b), -(q * np.log(p)).sum(1))
    close(consistency(a, b, True), -0.5 * (q * np.log(p)).sum(1) - 0.5 * (p * np.log(q)).sum(1))


UNCHANGED = dict.fromkeys(("brightness", "contrast", "saturation", "gamma", "scale"), 1)
UNCHANGED |= {"hue": 0, "right": 0, "down": 0, "sigma": 0.001, "mirror": 0.9}


def test_augmentation_without_any_change_leaves_noise_only(monkeypatch):
    same = {**UNCHANGED, "angle": 0}
    monkeypatch.setattr("scuff.adaptation.cotta._number", lambda key, name, low, high: same[name])
    x = 0.1 + 0.8 * torch.rand(4, 3, 9, 12, generator=torch.Generator().manual_seed(0))
    noise = augment(x, torch.tensor([3])) - x
    assert float(noise.std()) == pytest.approx(0.005, rel=0.1)
    assert float(noise.mean()) == pytest.approx(0, abs=5e-4)
    same |= {"right": 2, "down": -1, "mirror": 0.1}
    moved = augment(x, torch.tensor([3])).flip(-1)
    close(moved[..., 1:-2, 3:], x[..., 2:-1, 1:-2], atol=0.03)


def test_augmentation_turns_by_the_angle(monkeypatch):
    same = {**UNCHANGED, "angle": 90}
    monkeypatch.setattr("scuff.adaptation.cotta._number", lambda key, name, low, high: same[name])
    x = torch.rand(1, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    close(augment(x, torch.tensor([1])), x.rot90(-1, (2, 3)), atol=0.03)


@pytest.mark.parametrize("name", METHODS)
def test_a_saved_state_goes_on_as_if_nothing_had_happened(network, name, tmp_path):
    from scuff.tensors import read_tensors, write_tensors

    options = {"cotta": ":copies=2", "rdumb": ":every=3"}.get(name, "")
    x, clean = batches(5, size=12), batches(1)
    state = {key: value.clone() for key, value in network.state_dict().items()}

    def opened():
        fresh = Tiny().eval()
        fresh.load_state_dict(state)
        method = ask_method(name + options).open(fresh, "cifar10")
        if hasattr(method, "prepare"):
            method.prepare(clean)
        return method

    method = opened()
    expected = [method.adapt(images) for images in x]
    begun = opened()
    for images in x[:2]:
        begun.adapt(images)
    write_tensors(tmp_path / "a.safetensors", begun.state_dict())
    resumed = opened()
    resumed.load_state_dict(read_tensors(tmp_path / "a.safetensors")[0])
    assert all(torch.equal(resumed.adapt(images), logits) for images, logits in zip(x[2:], expected[2:], strict=True))
    method.reset()
    again = [method.adapt(images) for images in x]
    assert all(torch.equal(a, b) for a, b in zip(again, expected, strict=True))


# --- names ------------------------------------------------------------------------------------------------------------


def test_options_are_those_published_for_similar_data():
    assert [similar_benchmark(*at) for at in ((32, 10), (32, 100), (224, 1000))] == ["cifar10", "cifar100", "imagenet"]
    assert ask_method("cotta").options("imagenet")["restore"] == 0.001
    assert ask_method("cotta:restore=0.5,symmetric=false").options("imagenet")["symmetric"] is False
    assert ask_method("eta").options("cifar100")["margin"] == 0.1


def test_a_method_that_draws_has_the_seed_of_the_run_or_its_own():
    assert ask_method("cotta").options("cifar10", seed=3)["seed"] == 3
    assert ask_method("cotta:seed=5").options("cifar10", seed=3)["seed"] == 5
    assert "seed" not in ask_method("tent").options("cifar10", seed=3)


OWN = """
class Mine:
    def __init__(self, network, factor=2.0):
        self.network, self.factor = network, factor

    def adapt(self, images):
        return self.factor * self.network(images)

    def reset(self):
        pass
"""


def test_a_method_of_ones_own_is_a_class_in_a_file(network, tmp_path, monkeypatch):
    monkeypatch.setattr("scuff.plugins._files", [])
    monkeypatch.setattr("scuff.plugins._modules", [])
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own_adaptation.py").write_text(OWN)
    asked = ask_methods([f"{tmp_path}/own_adaptation.py:Mine:factor=3"])
    assert list(asked) == ["mine:factor=3"]
    assert asked["mine:factor=3"].file_name == "mine-factor-3"
    (x,) = batches(1)
    close(asked["mine:factor=3"].open(network, "cifar10").adapt(x), 3 * network(x))
    given = ask_method(Source)
    assert (given.name, given.code) == ("source", "")
    assert len(asked["mine:factor=3"].code) == 16
    with pytest.raises(ValueError, match="module own_adaptation has no 'Yours'"):
        ask_method(f"{tmp_path}/own_adaptation.py:Yours")


class NeedsMore:
    def __init__(self, network, anchor, *others, **options):
        pass


class Chooses:
    def __init__(self, network, limit=None):
        pass


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("tnet", "no method is called 'tnet'; did you mean tent"),
        ("tent:speed=1", "cannot read 'speed=1' of the method 'tent:speed=1'; its options are optimiser, rate"),
        ("tent:rate=fast", "rate of the method 'tent:rate=fast' cannot be 'fast'"),
        (["tent", "tent"], "asked for twice"),
        ([], "expected a method"),
        (3, "expected the class of a method"),
        ("math:pi", "expected the class of a method, which is called with a network; got 3.14"),
        (type("Tent", (), {}), "tent is a method of scuff's own; call yours by another name"),
        (NeedsMore, "made with a network alone, so anchor of needsmore needs a default"),
        (f"{__name__}:Chooses:limit=3", "limit of the method .* cannot be '3'"),
    ],
)
def test_mistakes_are_explained(method, message):
    with pytest.raises(ValueError, match=message):
        ask_methods(method)


def test_networks_and_classes_that_cannot_adapt_are_refused(network):
    with pytest.raises(ValueError, match="no BatchNorm2d"):
        Tent(nn.Sequential(nn.Flatten(), nn.Linear(12, 3)))
    with pytest.raises(ValueError, match="has no function reset"):
        ask_method(type("Half", (), {"__init__": lambda self, net: None, "adapt": (1).__add__})).open(
            network, "cifar10"
        )
    with pytest.raises(ValueError, match="optimiser must be one of"):
        Tent(network, "lion")
    with pytest.raises(ValueError, match="no scales and shifts"):
        Tent(nn.Sequential(nn.BatchNorm2d(3, affine=False)))
    with pytest.raises(TypeError, match="adapt"):
        Method(network)
