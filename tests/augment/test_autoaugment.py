"""AutoAugment and RandAugment: tables as published, levels by each convention, and the laws of draws."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from laws import assert_fair, assert_shares, assert_unrelated

from scuff.augment import AutoAugment, RandAugment
from scuff.augment.conventions import Amount, comparison, original, torchvision, tpu
from scuff.augment.operations import operate
from scuff.augment.policies import POLICIES

# A second transcription: two letters, tenths of the probability (X is 10), the level. Compare it with the papers.
LETTERS = {
    "In": "invert",
    "Co": "contrast",
    "Ro": "rotate",
    "Tx": "translate_x",
    "Ty": "translate_y",
    "Sh": "sharpness",
    "Sx": "shear_x",
    "Sy": "shear_y",
    "Ac": "autocontrast",
    "Eq": "equalize",
    "Po": "posterize",
    "Cl": "color",
    "Br": "brightness",
    "So": "solarize",
}
ROWS = {
    "cifar10": (
        "In1-Co26 Ro72Tx39 Sh81Sh93 Sy58Ty79 Ac5-Eq9- Sy27Po37 Cl43Br67 Sh39Br79 Eq6-Eq5- Co67Sh65 Cl77Tx58 Eq3-Ac4- "
        "Ty43Sh26 Br96Cl28 So52In0- Eq2-Ac6- Eq2-Eq6- Cl99Eq6- Ac8-So28 Br13Cl70 So45Ac9- Ty99Ty79 Ac9-So83 Eq8-In1- "
        "Ty79Ac9-"
    ),
    "imagenet": (
        "Po48Ro69 So65Ac6- Eq8-Eq6- Po67Po66 Eq4-So24 Eq4-Ro88 So63Eq6- Po85EqX- Ro23So68 Eq6-Po46 Ro88Cl40 Ro49Eq6- "
        "Eq0-Eq8- In6-EqX- Cl64CoX8 Ro88ClX2 Cl88So87 Sh47In6- Sx65EqX- Cl40Eq6- Eq4-So24 So65Ac6- In6-EqX- Cl64CoX8 "
        "Eq8-Eq6-"
    ),
}
IDS = torch.arange(20_000)


@pytest.mark.parametrize("policy", POLICIES)
def test_policies_are_the_published_ones(policy):
    def written(step) -> str:
        tenths = round(10 * step.probability)
        letters = {name: two for two, name in LETTERS.items()}[step.operation]
        return f"{letters}{'X' if tenths == 10 else tenths}{'-' if step.level is None else step.level}"

    assert " ".join(written(a) + written(b) for a, b in POLICIES[policy]) == ROWS[policy]
    without = {"invert", "autocontrast", "equalize"}
    for step in (step for pair in POLICIES[policy] for step in pair):
        assert (step.level is None) == (step.operation in without)


def test_five_pairs_of_imagenet_are_repeated():
    policy = POLICIES["imagenet"]
    assert [policy.index(pair) + 1 for pair in policy[20:]] == [5, 2, 14, 15, 3]


# --- levels ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("convention", "bits"),
    [
        (comparison, [6, 6, 6, 7]),
        (original, [2, 2, 2, 1]),
        (lambda name, level, *size: torchvision(name, level / 9, *size), [6, 5, 5, 4]),
    ],
)
def test_bits_of_levels_5_to_8(convention, bits):
    assert [convention("posterize", level, 32, 32) for level in (5, 6, 7, 8)] == [Amount(b) for b in bits]


def near(amount: Amount, start: float, size: float) -> bool:
    return math.isclose(amount.start, start, abs_tol=1e-12) and math.isclose(amount.size, size, abs_tol=1e-12)


@pytest.mark.parametrize(
    ("operation", "compared", "first", "vision"),
    [
        ("shear_x", (0, 0.27), (0, 0.27), (0, 0.3)),
        ("shear_y", (0, 0.27), (0, 0.27), (0, 0.3)),
        ("translate_x", (0, 150 / 331 * 40 * 0.9), (0, 11), (0, 18)),
        ("translate_y", (0, 150 / 331 * 32 * 0.9), (0, 9), (0, 14)),
        ("rotate", (0, 27), (0, 27), (0, 30)),
        ("color", (1, 0.81), (1.72, 0), (1, 0.9)),
        ("sharpness", (1, 0.81), (1.72, 0), (1, 0.9)),
        ("solarize", (256 - 25.6 * 9, 0), (256 - 230, 0), (0, 0)),
        ("equalize", (0, 0), (0, 0), (0, 0)),
    ],
)
def test_level_9_on_32_by_40_pixels(operation, compared, first, vision):
    assert near(comparison(operation, 9, 32, 40), *compared)
    assert near(original(operation, 9, 32, 40), *first)
    assert near(torchvision(operation, 1.0, 32, 40), *vision)


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("shear_x", (0, 0.27)),
        ("translate_x", (0, 90)),
        ("rotate", (0, 27)),
        ("brightness", (1.72, 0)),
        ("posterize", (3, 0)),
        ("solarize", (230, 0)),
        ("cutout", (36, 0)),
        ("solarize_add", (99, 0)),
    ],
)
def test_level_9_of_the_tpu_program(operation, expected):
    assert near(tpu(operation, 9, 224, 224), *expected)


def test_levels_of_randaugment_by_torchvision():
    amounts = {name: RandAugment(level=9).amount(name, 32, 32) for name in ("shear_x", "rotate", "contrast")}
    assert near(amounts["shear_x"], 0, 0.09)
    assert near(amounts["rotate"], 0, 9)
    assert near(amounts["contrast"], 1, 0.27)
    assert RandAugment(level=9).amount("translate_x", 32, 32).size == 4
    assert [RandAugment(level=m).amount("posterize", 32, 32).start for m in (0, 3, 4, 9, 30)] == [8, 8, 7, 7, 4]
    assert RandAugment(level=10).amount("solarize", 32, 32).start == 170


# --- draws ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", POLICIES)
def test_operations_come_with_their_probabilities(policy):
    steps = AutoAugment(policy).draw(IDS, (32, 32))
    for position in (0, 1):
        expected = dict.fromkeys(steps.operations, 0.0)
        for pair in POLICIES[policy]:
            expected[pair[position].operation] += pair[position].probability / 25
        expected["identity"] = 1 - sum(expected.values())
        assert_shares(steps.which[:, position].numpy(), list(expected.values()))


def test_probabilities_0_and_1_are_certain():
    """Posterize at level 5 occurs in the 8th pair alone, whose Equalize always follows."""
    steps = AutoAugment("imagenet").draw(IDS, (32, 32))
    name = np.array(steps.operations)[steps.which.numpy()]
    eighth = (name[:, 0] == "posterize") & (steps.values[:, 0].numpy() == 6) & (name[:, 1] == "equalize")
    assert eighth.mean() > 0.025
    cifar = AutoAugment().draw(IDS, (32, 32))
    name = np.array(cifar.operations)[cifar.which.numpy()]
    assert not ((name[:, 0] == "solarize") & (name[:, 1] == "invert")).any(), "of the 15th pair, with probability 0"


def test_signs_are_fair_and_the_two_operations_independent():
    steps = AutoAugment().draw(IDS, (32, 32))
    shifts = steps.which == steps.operations.index("translate_y")
    values = steps.values.numpy()
    for position in (0, 1):
        assert_fair(values[shifts[:, position].numpy(), position])
    both = shifts.all(1).numpy()  # the 22nd pair
    assert_unrelated(*np.sign(values[both]).T)
    far = 150 / 331 * 32 * 0.9
    assert np.allclose(np.abs(values[both]), far)


def test_slips_are_repeated_on_demand():
    """A translation that always goes one way, and a shear by 1 +- 0.45."""
    steps = AutoAugment(slips=True).draw(IDS, (32, 32))
    both = (steps.which == steps.operations.index("translate_y")).all(1)
    assert (steps.values[both][:, 0] > 0).all()
    assert_fair(steps.values[both][:, 1].numpy())
    for slips, expected in ((False, {-0.15, 0.15}), (True, {0.55, 1.45})):
        steps = AutoAugment("imagenet", slips=slips).draw(IDS, (32, 32))
        shears = steps.values[steps.which == steps.operations.index("shear_x")]
        assert set(shears.numpy().round(9)) == expected
    with pytest.raises(ValueError, match="'comparison'"):
        AutoAugment(slips=True, convention="original")


@pytest.mark.parametrize("convention", ["torchvision", "tpu"])
def test_randaugment_draws_all_operations_alike(convention):
    steps = RandAugment(3, convention=convention).draw(IDS, (32, 32))
    count = {"torchvision": 14, "tpu": 16}[convention]
    for position in range(3):
        assert_shares(steps.which[:, position].numpy(), [1 / count] * count)
    assert_unrelated(*steps.which.numpy().T)
    assert_fair(steps.values[steps.which == steps.operations.index("rotate")].numpy())
    assert ("invert" in steps.operations) == ("identity" not in steps.operations) == (convention == "tpu")


# --- pixels ---------------------------------------------------------------------------------------------------------


def pictures(count: int, size: tuple[int, int] = (32, 32)) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(5).integers(0, 256, (count, 3, *size), dtype=np.uint8))


@pytest.mark.parametrize(
    ("scheme", "how"),
    [
        (AutoAugment(), {"resampling": "bilinear"}),
        (AutoAugment(convention="original"), {"resampling": "nearest", "fill": (125, 123, 114)}),
        (AutoAugment("imagenet", "torchvision"), {"resampling": "nearest"}),
        (RandAugment(), {"resampling": "nearest"}),
    ],
)
def test_steps_are_carried_out_one_after_the_other(scheme, how):
    images, ids = pictures(30), torch.arange(30)
    steps, found = scheme.draw(ids, (32, 32)), scheme(images, ids)
    for k in range(30):
        expected = images[k : k + 1]
        for which, value in zip(steps.which[k], steps.values[k], strict=True):
            expected = operate(expected, [steps.operations[which]], torch.tensor([0]), value[None], **how)
        assert torch.equal(found[k], expected[0])


def test_cutout_is_a_square_that_borders_cut():
    images, ids = pictures(1000), torch.arange(1000)
    for convention, colour in (("comparison", (128, 128, 128)), ("original", (125, 123, 114))):
        plain = AutoAugment(convention=convention)(images, ids)
        cut = AutoAugment(convention=convention, cutout=16)(images, ids)
        changed = (cut != plain).any(1)
        is_painted = (cut == torch.tensor(colour, dtype=torch.uint8)[:, None, None]).all(1)
        assert is_painted[changed].all()
        assert int(changed.sum(2).amax()) == int(changed.sum(1).amax()) == 16
        lengths = [len(range(max(0, r - 8), min(32, r + 8))) for r in range(32)]
        share, expected = changed.double().mean((1, 2)), (np.mean(lengths) / 32) ** 2
        # Where the square was of that colour before, nothing changed: borders that operations have filled.
        assert expected - 0.015 < share.mean() < expected + 4 * share.std() / math.sqrt(1000)


def test_the_extra_operations_of_the_tpu_program():
    images, ids = pictures(400), torch.arange(400)
    scheme = RandAugment(1, 5, "tpu")
    steps, found = scheme.draw(ids, (32, 32)), scheme(images, ids)
    name = np.array(steps.operations)[steps.which[:, 0].numpy()]
    add = torch.from_numpy(name == "solarize_add")
    assert add.any()
    expected = torch.where(images[add] < 128, (images[add].int() + 55).clamp(max=255), images[add].int())
    assert torch.equal(found[add].int(), expected)
    patches = torch.from_numpy(name == "cutout")
    assert patches.any()
    changed = (found[patches] != images[patches]).any(1)
    assert (found[patches] == 128).all(1)[changed].all()
    assert int(changed.sum((1, 2)).max()) in (
        15,
        16,
    )  # 20 * 32 / 224 pixels each way: a side of 4; one value may be 128
    inverted = torch.from_numpy(name == "invert")
    assert torch.equal(found[inverted], 255 - images[inverted])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AutoAugment("svhn"), "policy"),
        (lambda: AutoAugment(convention="paper"), "convention"),
        (lambda: AutoAugment(cutout=-1), "side of a square"),
        (lambda: RandAugment(0), "at least one"),
        (lambda: RandAugment(level=-1), "0 to 30"),
        (lambda: RandAugment(convention="paper"), "convention"),
    ],
)
def test_mistakes_are_explained(make, message):
    with pytest.raises(ValueError, match=message):
        make()
