"""Our networks against torchvision's, and models opened from torchvision and timm. Collected only where both are."""

from __future__ import annotations

import pytest
import torch
import torchvision
from torchvision.transforms import v2

from scuff.models import build, open_model
from scuff.models.checkpoint import IMAGENET
from scuff.pictures import Cut

SHARED = ["resnet18", "resnet50", "wide_resnet50_2", "densenet121", "vgg19_bn"]


def busy_network(name: str) -> torch.nn.Module:
    """torchvision's network with random weights and statistics that do something."""
    torch.manual_seed(0)
    theirs = torchvision.models.get_model(name, weights=None)
    for module in theirs.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.8, 1.2)
    return theirs.eval()


def make_images(count: int = 2, size: int = 224, channels: int = 3) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randint(0, 256, (count, channels, size, size), dtype=torch.uint8, generator=generator)


@pytest.mark.parametrize("name", SHARED)
def test_names_shapes_and_logits_are_torchvisions(name):
    theirs, ours = busy_network(name), build(name, 1000).eval()
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.load_state_dict(theirs.state_dict())
    x = torch.rand(2, 3, 64, 80)
    with torch.inference_mode():
        torch.testing.assert_close(ours(x), theirs(x), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", SHARED)
def test_a_saved_state_dict_of_torchvision_opens(name, tmp_path):
    theirs = busy_network(name)
    torch.save(theirs.state_dict(), tmp_path / f"{name}.pth")
    classifier = open_model(tmp_path / f"{name}.pth")
    assert classifier.mean == IMAGENET["mean"]
    images = make_images()
    with torch.inference_mode():
        expected = theirs(v2.functional.normalize(images / 255, **IMAGENET))
    torch.testing.assert_close(classifier(images), expected, atol=1e-4, rtol=1e-4)


def test_torchvision_brings_its_preprocessing():
    classifier = open_model("torchvision:resnet50@random")
    weights = torchvision.models.ResNet50_Weights.DEFAULT
    steps = weights.transforms()
    assert (classifier.mean, classifier.std) == (tuple(steps.mean), tuple(steps.std))
    assert classifier.cut == Cut(232, 224, "bilinear")
    assert (classifier.input_size, classifier.channels) == (224, 3)
    assert classifier.class_names == tuple(weights.meta["categories"])
    assert classifier.name == "resnet50-random"
    assert classifier.parameter_count() == weights.meta["num_params"]
    images = make_images()
    with torch.inference_mode():
        expected = classifier.model(v2.functional.normalize(images / 255, steps.mean, steps.std))
    torch.testing.assert_close(classifier(images), expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("address", ["torchvision:resnet18@random", "timm:resnet18@random"])
def test_random_weights_are_always_the_same_ones(address):
    state = torch.get_rng_state()
    first = open_model(address)
    torch.manual_seed(5)
    assert open_model(address).fingerprint() == first.fingerprint()
    torch.set_rng_state(state)
    assert first(make_images(size=32, channels=1)).shape == (2, 1000)


def test_a_transformer_with_random_weights_has_its_own_size():
    assert open_model("torchvision:vit_b_16@random")(make_images(1, 96)).shape == (1, 1000)


def test_timm_brings_its_preprocessing():
    import timm

    classifier = open_model("timm:resnet50.a1_in1k@random")
    data = timm.data.resolve_model_data_config(classifier.model)
    assert (classifier.mean, classifier.std) == (tuple(data["mean"]), tuple(data["std"]))
    assert (classifier.channels, classifier.input_size) == (data["input_size"][0], data["input_size"][1])
    # timm's own transform is the judge of resize, crop and filter.
    resize, crop = timm.data.create_transform(**data, is_training=False).transforms[:2]
    assert classifier.cut == Cut(resize.size, crop.size[0], resize.interpolation.value)
    assert classifier.name == "resnet50.a1_in1k-random"


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("torchvision:resnet51", r"no classifier called 'resnet51'; did you mean .*resnet50"),
        ("torchvision:fasterrcnn_resnet50_fpn", "no classifier"),
        ("torchvision:resnet50@IMAGENET1K_V9", "there are IMAGENET1K_V1, IMAGENET1K_V2, DEFAULT, random"),
        ("timm:resnet5O", r"no model called 'resnet5O'; did you mean .*resnet50"),
        ("timm:resnet50@a1_in1k", r"timm:NAME\.TAG"),
    ],
)
def test_names_that_do_not_exist(address, words):
    with pytest.raises(ValueError, match=words):
        open_model(address)
