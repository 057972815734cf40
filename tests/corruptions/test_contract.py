"""The contract of the package, for everything registered, and that its checker notices what it claims to notice."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import scuff
from scuff import corruptions, random
from scuff.corruptions import registry

DRAWN = scuff.list_corruptions("noc-candidates") + scuff.list_corruptions("syn2nat-candidates")
CLASSIC = [a for name in ("imagenet-c", "tiny-imagenet-c", "cifar10-c") for a in scuff.list_corruptions(name)]


@pytest.mark.parametrize("address", CLASSIC + scuff.list_corruptions("c-bar-candidates-32"))
def test_every_corruption_keeps_the_contract(address: str) -> None:
    many_steps = address.endswith("fish_eye")  # the reference lays a drop at a time: seconds per level
    for severity in (1, 3, 5) if address in CLASSIC else (10,) if many_steps else (1, 10):
        scuff.check_corruption(address, severity)


@pytest.mark.parametrize("address", DRAWN)
def test_every_corruption_without_levels_keeps_the_contract(address: str) -> None:
    scuff.check_corruption(address)
    scuff.check_corruption(address, sizes=[(224, 224)], images=2)
    picture = torch.rand(1, 3, 700, 1100, generator=torch.Generator().manual_seed(0))
    y = scuff.corrupt(picture, address)
    assert y.shape == picture.shape
    assert bool(((y >= 0) & (y <= 1)).all())


@pytest.mark.slow
@pytest.mark.parametrize(
    "address", scuff.list_corruptions("imagenet-c") + scuff.list_corruptions("c-bar-candidates-224")
)
def test_at_full_and_larger_size(address: str) -> None:
    scuff.check_corruption(address, 4, sizes=[(224, 224)], images=2)
    picture = torch.rand(1, 3, 512, 300, generator=torch.Generator().manual_seed(0))
    y = scuff.corrupt(picture, address, 2)
    assert y.shape == picture.shape
    assert bool(((y >= 0) & (y <= 1)).all())


FAMILIES = (
    "noise", "blur", "weather", "digital", "field", "obscure", "warp", "aberration", "tint", "geometry", "light",
    "colour", "sequence",
)  # fmt: skip


def _moves_input(x: Tensor) -> Tensor:
    return x.mul_(0.5)


def _mixes_batch(x: Tensor) -> Tensor:
    return x - x.mean() + 0.5


def _reads_global_generator(x: Tensor) -> Tensor:
    return x + 0.1 * torch.randn(x.shape)


def _gives_nan(x: Tensor) -> Tensor:
    return x / 0.0 * 0.0


def _changes_shape(x: Tensor) -> Tensor:
    return x[..., :-1]


def _draw_shared(keys: Tensor, shape: tuple[int, int, int]) -> dict[str, Tensor]:
    return {"noise": random.normal(keys[:1], "n", shape).expand(len(keys), *shape)}


def _shares_draws(x: Tensor, noise: Tensor) -> Tensor:
    return x + 0.1 * noise


@pytest.mark.parametrize(
    ("apply", "draw", "message"),
    [
        (_moves_input, registry.draw_nothing, "the input was modified"),
        (_mixes_batch, registry.draw_nothing, "depends on its batch"),
        (_reads_global_generator, registry.draw_nothing, "global random generator was moved"),
        (_gives_nan, registry.draw_nothing, "NaN or infinity before rounding"),
        (_changes_shape, registry.draw_nothing, "came back|must match|shape"),
        (_shares_draws, _draw_shared, "depends on its batch|share their draws"),
    ],
)
def test_the_checker_notices(monkeypatch: pytest.MonkeyPatch, apply, draw, message: str) -> None:
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))
    registry.register(family="test", draw=draw)(apply)
    with pytest.raises((AssertionError, RuntimeError, ValueError), match=message):
        scuff.check_corruption(apply.__name__, parameters={}, sizes=[(16, 16)])


def test_a_plug_in_is_as_good_as_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))

    @scuff.register(family="test", lengths=("step",))
    def stripes(x: Tensor, *, step: int, gain: float) -> Tensor:
        """Darken every `step`-th row."""
        rows = torch.arange(x.shape[-2], device=x.device) % step == 0
        return torch.where(rows[:, None], gain * x, x)

    scuff.check_corruption("stripes", parameters={"step": 3, "gain": 0.5})
    assert corruptions.get("stripes").text == "Darken every `step`-th row."
    assert corruptions.names("test") == ["stripes"]
    assert corruptions.get("stripes").scaled({"step": 3, "gain": 0.5}, 0.1) == {"step": 1, "gain": 0.5}
    with pytest.raises(ValueError, match="missing: gain; unknown: strength"):
        scuff.corrupt(torch.rand(1, 3, 8, 8), "stripes", parameters={"step": 3, "strength": 1})
    with pytest.raises(ValueError, match="'stripes' is registered already"):
        scuff.register(family="test")(stripes)
    with pytest.raises(ValueError, match="has no parameter width to be a length"):

        @scuff.register(family="test", lengths=("width",))
        def bands(x: Tensor, *, step: int) -> Tensor:
            return x

    assert "bands" not in corruptions.names()


def test_unknown_corruption() -> None:
    with pytest.raises(KeyError, match="no corruption is called 'fogg'; did you mean fog"):
        corruptions.get("fogg")


def test_every_corruption_has_a_text_a_family_and_a_reference() -> None:
    for name in corruptions.names():
        c = corruptions.get(name)
        assert len(c.text) > 40, name
        assert c.family in FAMILIES, name
        papers = ("ICLR 2019", "NeurIPS 2021", "ICLR 2021", "BMVC 2021", "Michaelis")
        assert any(paper in c.reference for paper in papers), name
