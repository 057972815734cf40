"""Schemes: what all of them promise, the laws of their draws, their addresses, and the module for other loops.

Draws are keyed, so a test of chance has one outcome for ever; tests/laws.py says how likely a false alarm was.
"""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest
import torch
from laws import assert_fair, assert_shares, assert_uniform, assert_unrelated
from scipy import stats
from torch.nn import functional as F

from scuff import kernels
from scuff.augment import (
    NINE,
    Augment,
    AugMix,
    GaussianNoise,
    PatchGaussian,
    UniformNoise,
    consistency_loss,
    expand_schemes,
    jensen_shannon,
    open_scheme,
    powerset,
)
from scuff.augment.augmix import OVERLAPPING, mix_chains
from scuff.augment.operations import operate
from scuff.augment.scheme import NoAugmentation, Scheme
from scuff.augment.schemes import KINDS, scheme_address, subset_number, subset_of

ADDRESSES = (
    "none",
    "augmix",
    "augmix:severity=1,whole=true,depth=2,width=2,alpha=0.5",
    f"augmix:operations={'+'.join(OVERLAPPING)}",
    "powerset:none",
    "powerset:rotate+equalize",
    "autoaugment",
    "autoaugment:convention=original,cutout=4",
    "autoaugment:imagenet,convention=torchvision",
    "randaugment",
    "randaugment:count=3,level=4,convention=tpu",
    "patch-gaussian:5",
    "patch-gaussian:width=9,varies=true",
    "gaussian:0.1",
    "gaussian:0.2,varies=true",
    "uniform:0.1",
)
IDS = torch.arange(4000)


def pictures(count: int, channels: int = 3, size: tuple[int, int] = (11, 9)) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(3).integers(0, 256, (count, channels, *size), dtype=np.uint8))


# --- what all schemes promise ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("channels", [1, 3])
def test_an_image_meets_the_same_alone_and_in_any_batch(address, channels):
    scheme, images = open_scheme(address), pictures(12, channels)
    ids = torch.tensor([5, -3, 2**40, 7, 8, 9, 10, 11, 12, 13, 14, 15])
    before = images.clone()
    together = scheme(images, ids, seed=4)
    assert torch.equal(images, before)
    assert together.shape == images.shape
    assert together.dtype in (torch.uint8, torch.float32)
    assert together.min() >= 0
    assert together.max() <= 255
    for k in range(len(ids)):
        assert torch.equal(scheme(images[k : k + 1], ids[k : k + 1], seed=4)[0], together[k])
    assert torch.equal(scheme(images.flip(0), ids.flip(0), seed=4).flip(0), together)
    changed = not torch.equal(scheme(images, ids, seed=5), together)
    assert changed == (address not in ("none", "powerset:none"))


@pytest.mark.parametrize("address", ADDRESSES)
def test_one_id_is_one_transform(address):
    scheme, image = open_scheme(address), pictures(1)
    out = scheme(image.expand(3, -1, -1, -1), torch.tensor([6, 6, 7]))
    assert torch.equal(out[0], out[1])


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("size", [(1, 1), (1, 5), (6, 2)])
def test_any_size_and_no_image_at_all(address, size):
    scheme = open_scheme(address)
    assert scheme(pictures(4, 3, size), torch.arange(4)).shape == (4, 3, *size)
    assert scheme(pictures(0, 3, size), torch.arange(0)).shape == (0, 3, *size)


@pytest.mark.parametrize("address", ADDRESSES)
def test_settings_are_plain_and_addresses_are_stable(address):
    scheme = open_scheme(address)
    assert json.loads(json.dumps(scheme.settings())) == scheme.settings()
    (canonical,) = expand_schemes([address])
    assert expand_schemes([canonical]) == [canonical]
    assert open_scheme(canonical) == scheme


def test_settings_tell_schemes_apart():
    texts = {json.dumps(open_scheme(address).settings()) for address in ADDRESSES}
    assert len(texts) == len(ADDRESSES)


@dataclasses.dataclass(frozen=True)
class Darker(Scheme):
    """A scheme of one's own, as it should be."""

    by: int = 10

    kind = "darker"

    def __call__(self, images, ids, seed=0):
        return (images.int() - self.by).clamp(min=0).byte()


class Hiding(Scheme):
    """No dataclass: what it was told is no field."""

    kind = "hiding"

    def __init__(self, by: int) -> None:
        object.__setattr__(self, "by", by)

    def __call__(self, images, ids, seed=0):
        return images - self.by


class HidingToo(AugMix):
    def __init__(self, by: int) -> None:
        super().__init__(width=2)
        object.__setattr__(self, "by", by)


class Nameless(Scheme):
    def __call__(self, images, ids, seed=0):
        return images + (self.keys(ids, seed) % 2)


def test_schemes_of_ones_own_say_what_they_are():
    assert Darker(3).settings() == {"scheme": "darker", "by": 3}
    assert int(Augment(Darker(3))(torch.full((1, 1, 2, 2), 9, dtype=torch.uint8)).max()) == 6
    for scheme in (Hiding(3), HidingToo(3)):
        with pytest.raises(
            ValueError, match=r"attributes that are no fields: by; make it a frozen dataclass, or defin"
        ):
            scheme.settings()
    with pytest.raises(ValueError, match="Nameless has no kind; give its class a name"):
        Nameless().settings()
    with pytest.raises(ValueError, match="Nameless has no kind"):
        Nameless()(pictures(1), torch.arange(1))
    assert NoAugmentation().settings() == {"scheme": "none"}
    with pytest.raises(TypeError, match="abstract"):  # what does nothing is noticed where it is made
        type("Idle", (Scheme,), {"kind": "idle"})()


# --- AugMix ---------------------------------------------------------------------------------------------------------


def drawn_values(scheme: AugMix, operation: str, size: tuple[int, int] = (32, 32)) -> np.ndarray:
    chains = scheme.draw(IDS, size)
    return chains.values[chains.which == chains.operations.index(operation)].numpy()


def test_depths_operations_and_shares_follow_their_laws():
    chains = AugMix().draw(IDS, (32, 32))
    real = (chains.which < 9).numpy()
    assert (np.diff(real.astype(int), axis=2) <= 0).all(), "nothing comes after the end of a chain"
    for chain in range(3):
        assert_shares(real[:, chain].sum(1) - 1, [1 / 3] * 3)
    assert_shares(chains.which.numpy()[real], [1 / 9] * 9)
    assert_uniform(chains.share.double().numpy(), 0, 1)
    weights = chains.weights.double().numpy()
    assert np.allclose(weights.sum(1), 1, atol=1e-6)
    for chain in range(3):  # a part of a flat simplex of three is Beta(1, 2)
        assert stats.kstest(weights[:, chain], stats.beta(1, 2).cdf).pvalue > 1e-4
    assert_unrelated(chains.share.numpy(), weights[:, 0], real[:, 0].sum(1), chains.values[:, 0, 0].numpy())


@pytest.mark.parametrize("alpha", [0.3, 1.0, 5.0])
def test_alpha_makes_a_dirichlet_and_a_beta_draw(alpha):
    chains = AugMix(alpha=alpha).draw(IDS, (32, 32))
    assert stats.kstest(chains.share.double().numpy(), stats.beta(alpha, alpha).cdf).pvalue > 1e-4
    for chain in range(3):
        weight = chains.weights[:, chain].double().numpy()
        assert stats.kstest(weight, stats.beta(alpha, 2 * alpha).cdf).pvalue > 1e-4


@pytest.mark.parametrize(
    ("operation", "rate"),
    [("rotate", 3), ("shear_x", 0.03), ("shear_y", 0.03), ("translate_x", 24 / 30), ("translate_y", 32 / 30)],
)
def test_signed_values_are_uniform_and_fair(operation, rate):
    values = drawn_values(AugMix(), operation, (32, 24))
    assert_uniform(np.abs(values) / rate, 0.1, 3)
    assert_fair(values)


def test_values_without_a_sign_and_whole_ones():
    assert_shares(4 - drawn_values(AugMix(), "posterize").astype(int), [24 / 29, 5 / 29])
    thresholds = drawn_values(AugMix(), "solarize")
    assert set(thresholds) <= set(range(180, 255))
    assert thresholds.min() < 190
    factors = drawn_values(AugMix(OVERLAPPING), "color")
    assert_uniform((factors - 0.1) / 0.18, 0.1, 3)
    assert set(drawn_values(AugMix(whole=True), "rotate")) == set(range(-8, 9))
    assert set(drawn_values(AugMix(whole=True), "translate_x")) == set(range(-3, 4))
    assert set(drawn_values(AugMix(severity=1, whole=True), "translate_y", (224, 224))) == set(range(-7, 8))


def test_chains_are_carried_out_in_order_and_mixed():
    images, ids = pictures(6, size=(32, 32)), torch.arange(6)
    chains = AugMix().draw(ids, (32, 32))
    for k in range(6):
        expected = (1 - chains.share[k].double()) * images[k]
        for c in range(3):
            end = images[k : k + 1]
            for which, value in zip(chains.which[k, c], chains.values[k, c], strict=True):
                end = operate(end, [chains.operations[which]], torch.tensor([0]), value[None])
            expected = expected + chains.share[k].double() * chains.weights[k, c].double() * end[0]
        found = AugMix()(images, ids)[k]
        assert torch.allclose(found.double(), expected, atol=1e-4, rtol=0)  # float32 on 0..255, seven roundings


def test_extreme_shares_give_the_image_or_a_single_chain():
    images, ids = pictures(8, size=(32, 32)), torch.arange(8)
    chains = AugMix(depth=1, operations=("posterize",)).draw(ids, (32, 32))
    none = dataclasses.replace(chains, share=torch.zeros(8))
    assert torch.equal(mix_chains(images, none), images.float())
    single = dataclasses.replace(chains, share=torch.ones(8), weights=torch.eye(3)[torch.ones(8, dtype=torch.int64)])
    second = operate(images, ["posterize"], torch.zeros(8, dtype=torch.int64), chains.values[:, 1, 0])
    assert torch.equal(mix_chains(images, single), second.float())


def test_mixtures_of_white_are_not_whiter():
    """Shares are rounded, and add up to more than 1 for some ids. White stays white in either operation."""
    white, ids = torch.full((256, 3, 4, 4), 255, dtype=torch.uint8), torch.arange(256)
    scheme = AugMix(("autocontrast", "equalize"))
    chains = scheme.draw(ids, (4, 4))
    shares = torch.cat(((1 - chains.share)[None], chains.share * chains.weights.t()))
    unbounded = kernels.mix_bytes(white, white.expand(3, *white.shape), shares)
    assert unbounded.max() > 255
    assert torch.equal(scheme(white, ids), unbounded.clamp(max=255))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"operations": ("invert",)}, "no operation 'invert'"),
        ({"operations": ("rotate", "rotate")}, "once"),
        ({"severity": 10}, "below 10"),
        ({"width": 0}, "at least one chain"),
        ({"depth": -1}, "depth"),
        ({"alpha": 0}, "above 0"),
    ],
)
def test_augmix_refuses_what_has_no_meaning(options, message):
    with pytest.raises(ValueError, match=message):
        AugMix(**options)


# --- the powerset ---------------------------------------------------------------------------------------------------


def test_numbers_and_subsets_are_the_same():
    assert [subset_number(subset_of(number)) for number in range(512)] == list(range(512))
    assert subset_of(511) == NINE
    assert subset_of(0) == ()
    with pytest.raises(ValueError, match="0 to 511"):
        subset_of(512)


def test_the_powerset_has_every_subset_once_and_parts_of_it_are_even():
    every = powerset()
    assert len(set(every)) == 512
    assert expand_schemes(["powerset"]) == every
    some = powerset(64)
    assert expand_schemes(["powerset-64"]) == some
    sizes = np.bincount([len(open_scheme(address).operations) for address in some])
    assert sizes[0] == sizes[9] == 1
    assert sizes[1:9].sum() == 62
    assert set(sizes[1:9]) == {7, 8}
    assert set(some) < set(powerset(100)) < set(every)
    assert powerset(64, seed=1) != some
    for count in (1, 513):
        with pytest.raises(ValueError, match="2 to 512"):
            powerset(count)


# --- noise ----------------------------------------------------------------------------------------------------------


def test_patches_have_their_place_and_size():
    """Grey images with little noise: what changed is the patch, up to the one value in millions that is drawn 0."""
    images = torch.full((3000, 3, 32, 32), 128, dtype=torch.uint8)
    noise = PatchGaussian(sigma=0.1)(images, torch.arange(3000)) - 128
    changed = (noise != 0).any(1)
    rows, columns = changed.any(2), changed.any(1)
    assert torch.equal(changed, rows[:, :, None] & columns[:, None, :])
    possible = [len(range(max(0, r - 12), min(32, r + 13))) for r in range(32)]
    for side in (rows, columns):
        assert (side.int().diff(dim=1).abs().sum(1) <= 2).all()
        lengths = side.sum(1).numpy()
        assert_shares(lengths, np.bincount(possible) / 32)
    share, expected = changed.double().mean((1, 2)), (np.mean(possible) / 32) ** 2
    assert abs(share.mean() - expected) < 4 * share.std() / math.sqrt(3000)
    variance = noise.double().square().sum((1, 2, 3)) / (3 * changed.sum((1, 2)))
    strength = variance.sqrt() / 25.5  # estimated from 3 x 13 x 13 values or more: 3 % off
    assert abs(strength.mean() - 0.5) < 4 * math.sqrt(1 / 12 / 3000)
    assert 0.9 < strength.max() < 1.1


def test_patches_are_anywhere_in_images_that_are_not_square():
    noise = PatchGaussian(width=1)(torch.full((3000, 1, 5, 20), 128, dtype=torch.uint8), torch.arange(3000)) - 128
    rows, columns = (noise[:, 0].abs().amax(dim).argmax(1).numpy() for dim in (2, 1))
    assert_shares(rows, [1 / 5] * 5)
    assert_shares(columns, [1 / 20] * 20)


def test_widths_of_patches_may_vary():
    images = torch.full((2000, 1, 64, 64), 128, dtype=torch.uint8)
    noise = PatchGaussian(width=8, varies=True, sigma=0.1)(images, torch.arange(2000)) - 128
    inner = (noise != 0)[:, 0].any(2).sum(1)
    # floor(w / 2) + ceil(w / 2) pixels, w uniform in 0..8: a quarter each of 1, 3, 5 and 7, unless borders cut them
    lengths = torch.bincount(inner, minlength=8) / 2000
    assert len(lengths) == 8
    for length in (1, 3, 5, 7):  # at most 6 of 64 rows are so near to a border that the patch is cut; 4 standard errors
        assert 0.25 * 58 / 64 - 0.04 < lengths[length] < 0.25 + 0.04
    assert lengths[0] == 0
    assert not PatchGaussian(varies=True).before_crop
    assert PatchGaussian().before_crop
    assert not AugMix().before_crop


def test_noise_has_its_strength_and_stays_in_range():
    grey = torch.full((50, 3, 16, 16), 128, dtype=torch.uint8)
    ids = torch.arange(50)
    gaussian = (GaussianNoise(0.1)(grey, ids) - 128).numpy().ravel()
    assert stats.kstest(gaussian / 25.5, stats.norm.cdf).pvalue > 1e-4
    uniform = (UniformNoise(0.1)(grey, ids) - 128).double().numpy()
    assert_uniform(uniform, -25.5001, 25.5001)  # float32 near 128 is exact to 8e-6
    spread = (GaussianNoise(0.1, varies=True)(grey, ids) - 128).double().std((1, 2, 3)) / 25.5
    assert_uniform(spread.numpy(), -0.05, 1.05)
    black = GaussianNoise(0.5)(torch.zeros_like(grey), ids)
    assert black.min() == 0
    assert abs((black == 0).double().mean() - 0.5) < 0.01


# --- addresses ------------------------------------------------------------------------------------------------------


def test_schemes_are_written_in_one_way():
    given = [
        "augmix:severity=3",
        "augmix",
        "powerset:17",
        "powerset:rotate+shear_x",
        "patch-gaussian:25",
        "gaussian:0.50",
    ]
    assert expand_schemes(given) == ["augmix", "powerset:shear_x+rotate", "patch-gaussian", "gaussian:0.5"]
    assert scheme_address(open_scheme("autoaugment:policy=imagenet")) == "autoaugment:imagenet"
    noises = {"patch-gaussian", "gaussian", "uniform"}
    assert set(KINDS) == {"none", "augmix", "autoaugment", "randaugment", "corruption", *noises}


def test_yes_and_no_are_written_in_any_case():
    assert open_scheme("augmix:whole=True") == open_scheme("augmix:whole=TRUE") == AugMix(whole=True)
    assert expand_schemes(["augmix:whole=True", "gaussian:0.1,varies=False"]) == ["augmix:whole=true", "gaussian:0.1"]


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("agmix", "did you mean augmix"),
        ("zzz", "did you mean none, augmix"),
        ("augmix:strength=3", "its options are operations, severity"),
        ("augmix:severity=high", "severity of the scheme .* cannot be 'high'"),
        ("augmix:whole=yes", "cannot be 'yes'"),
        ("augmix:severity=1,severity=2", "each once"),
        ("none:1", "cannot read '1' of the scheme 'none:1'; it has no options$"),
        ("augmix-jsd", r"is for training .scuff train --augment augmix-jsd.* the scheme is called 'augmix', the loss"),
        ("augmix-jsd:severity=1", "the scheme is called 'augmix'"),
        ("agmix-jsd", "did you mean augmix"),
        ("gaussian", "needs sigma"),
        ("gaussian:-1", "at least 0"),
        ("powerset", "is many schemes"),
        ("powerset:turn", "no operation 'turn'"),
        ("powerset:512", "0 to 511"),
        ("ant", r"for training .scuff train --augment ant.* ant:FILE, where FILE is the NAME\.generator\.safetensors"),
        ("ant:nowhere.safetensors", "cannot read nowhere"),
        ("randaugment:level=31", "0 to 30"),
        ("autoaugment:svhn", "no policy 'svhn'"),
    ],
)
def test_mistakes_are_explained(address, message):
    with pytest.raises(ValueError, match=message):
        open_scheme(address)


# --- losses ---------------------------------------------------------------------------------------------------------


def test_the_divergence_is_zero_for_equal_views_and_log_3_at_most():
    logits = torch.randn(8, 10, generator=torch.Generator().manual_seed(0))
    assert abs(float(jensen_shannon([logits] * 3))) < 1e-6
    certain = [1000.0 * F.one_hot(torch.full((8,), k), 10) for k in range(3)]
    assert math.isclose(float(jensen_shannon(certain)), math.log(3), rel_tol=1e-6)


def test_the_loss_is_the_one_of_the_paper_and_reaches_all_views():
    logits = torch.randn(12, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float32, requires_grad=True)
    labels = torch.tensor([0, 3, 1, 4])
    loss = consistency_loss(logits, labels)
    views = torch.softmax(logits.detach().double(), 1).view(3, 4, 5).numpy()
    divergence = np.mean([stats.entropy(views[i, k], views[:, k].mean(0)) for i in range(3) for k in range(4)])
    clean = -np.log(views[0, np.arange(4), labels]).mean()
    assert math.isclose(float(loss.detach()), clean + 12 * divergence, rel_tol=1e-5)
    loss.backward()
    assert (logits.grad.view(3, 4, 5).abs().amax((1, 2)) > 1e-3).all()
    with pytest.raises(ValueError, match="three views"):
        consistency_loss(logits, labels[:3])


# --- the module -----------------------------------------------------------------------------------------------------


def test_the_module_keeps_types_and_draws_anew():
    augment, x = Augment("augmix", seed=3), pictures(4)
    first, second = augment(x), augment(x)
    assert first.dtype == torch.uint8
    assert not torch.equal(first, second)
    again = Augment("augmix", seed=3)
    assert torch.equal(again(x), first)
    assert torch.equal(again(x), second)
    unit = Augment("augmix", seed=3)(x / 255)
    assert unit.dtype == torch.float32
    assert (unit * 255 - first).abs().max() <= 0.5001
    assert (unit * 255 - first).abs().max() > 0.1, "floats are not rounded"
    assert torch.equal(augment.eval()(x), x)


def test_epochs_of_the_module_do_not_depend_on_the_order():
    x = pictures(4)
    augment = Augment("randaugment").set_epoch(2)
    together = augment(x)
    assert torch.equal(torch.stack([augment(one) for one in x.flip(0)]).flip(0), together)
    assert not torch.equal(augment.set_epoch(3)(x), together)
    assert not torch.equal(Augment("randaugment", seed=1).set_epoch(2)(x), together)
    same = augment(x[:1].expand(2, -1, -1, -1), ids=[1, 2])
    assert not torch.equal(same[0], same[1])


def test_the_module_takes_arrays_and_refuses_wrong_pixels():
    picture = np.zeros((8, 8, 3), np.uint8)
    assert Augment("gaussian:0.1")(picture).shape == (8, 8, 3)
    with pytest.raises(ValueError, match="divide by 255"):
        Augment("none")(torch.full((3, 4, 4), 200.0))
    with pytest.raises(ValueError, match="did you mean"):
        Augment("augmx")
    with pytest.raises(ValueError, match=r"augmix-jsd' is for training .* the scheme is called 'augmix'"):
        Augment("augmix-jsd")
    for nothing in (None, 5, AugMix):
        with pytest.raises(ValueError, match="expected a scheme or its address, as in 'augmix'"):
            Augment(nothing)
    assert "AugMix" in repr(Augment("augmix"))


def test_the_module_may_be_part_of_a_compiled_network():
    """The compiler goes around it: it cannot read the kernels, and would draw the same numbers in every call."""
    x, last = pictures(4) / 255, torch.nn.Flatten()
    network = torch.compile(torch.nn.Sequential(Augment("augmix"), last), backend="eager")
    alone = Augment("augmix")
    for _ in range(3):
        assert torch.equal(network(x), last(alone(x)))
    assert torch.equal(network.eval()(x), last(x))
