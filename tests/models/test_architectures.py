"""The networks that come with the package: their size as published, their shapes, and that they can learn."""

import pytest
import torch
from torch import nn

from scuff.models import build, list_architectures
from scuff.models.states import recognise, shapes_of

# Trainable parameters. ImageNet networks: torchvision's tables of weights (num_params). ResNets with the stem for 32
# pixels: those numbers less 1000 x width + 1000 of the classifier and less 64 x 3 x (49 - 9) of the first convolution,
# plus 10 x width + 10. WideResNets: the sums in `wide_resnet_parameters`; the paper says 36.5 and 2.2 million.
PARAMETERS = {
    ("resnet18", 1000): 11_689_512,
    ("resnet50", 1000): 25_557_032,
    ("wide_resnet50_2", 1000): 68_883_240,
    ("densenet121", 1000): 7_978_856,
    ("vgg19_bn", 1000): 143_678_248,
    ("resnet18_32", 10): 11_689_512 - 513_000 + 5_130 - 7_680,
    ("resnet50_32", 10): 25_557_032 - 2_049_000 + 20_490 - 7_680,
    ("densenet121_32", 10): 7_978_856 - 1_025_000 + 10_250 - 7_680,
    ("vgg19_bn_32", 10): 143_678_248 - (512 * 49 * 4096 + 4096**2 + 2 * 4096 + 4096 * 1000 + 1000) + 5_130,
    ("wide_resnet28_10", 10): 36_479_194,
    ("wide_resnet40_2", 10): 2_243_546,
}


def on_meta(name: str, classes: int = 10, channels: int = 3) -> nn.Module:
    """A network without memory for its weights: enough to count and to see shapes."""
    with torch.device("meta"):
        return build(name, classes, channels).eval()


def count(network: nn.Module) -> int:
    return sum(p.numel() for p in network.parameters())


def wide_resnet_parameters(depth: int, widen: int, classes: int) -> int:
    """Convolutions, two numbers per channel of every normalisation, and the classifier, added up from the paper."""
    total, width_in = 3 * 16 * 9, 16
    for width in (16 * widen, 32 * widen, 64 * widen):
        for _ in range((depth - 4) // 6):
            total += 2 * width_in + 9 * width_in * width + 2 * width + 9 * width * width
            total += width_in * width if width_in != width else 0
            width_in = width
    return total + 2 * width_in + width_in * classes + classes


@pytest.mark.parametrize(("name", "classes"), PARAMETERS)
def test_parameters_are_as_many_as_published(name, classes):
    assert count(on_meta(name, classes)) == PARAMETERS[name, classes]


@pytest.mark.parametrize(("depth", "widen"), [(28, 10), (40, 2)])
def test_wide_networks_add_up(depth, widen):
    assert count(on_meta(f"wide_resnet{depth}_{widen}")) == wide_resnet_parameters(depth, widen, 10)


def test_the_small_network_is_small():
    weights = 9 * (1 * 16 + 16 * 32 + 32 * 64) + 2 * (16 + 32 + 64) + 64 * 10 + 10
    assert count(on_meta("small_cnn", 10, 1)) == weights == 24_058


# Places of VGG-19's convolutions among its layers: each is followed by a normalisation and a ReLU, every stage by a
# pooling. Numbers of tensors: each convolution has one or two, each normalisation five, each linear layer two.
VGG = (0, 3, 7, 10, 14, 17, 20, 23, 27, 30, 33, 36, 40, 43, 46, 49)
TENSORS = {
    "resnet50": 53 + 53 * 5 + 2,
    "wide_resnet50_2": 53 + 53 * 5 + 2,
    "densenet121": 120 + 121 * 5 + 2,
    "vgg19_bn": 16 * 2 + 16 * 5 + 3 * 2,
}
SHAPES = {  # as torchvision's published weights have them
    "resnet50": {"layer1.0.conv1.weight": (64, 64, 1, 1), "layer4.0.downsample.0.weight": (2048, 1024, 1, 1)},
    "wide_resnet50_2": {
        "layer1.0.conv1.weight": (128, 64, 1, 1),
        "layer1.0.conv2.weight": (128, 128, 3, 3),
        "layer1.0.downsample.1.running_var": (256,),
        "layer4.2.conv3.weight": (2048, 1024, 1, 1),
        "fc.weight": (1000, 2048),
    },
    "densenet121": {
        "features.conv0.weight": (64, 3, 7, 7),
        "features.denseblock4.denselayer16.conv2.weight": (32, 128, 3, 3),
        "features.transition3.conv.weight": (512, 1024, 1, 1),
        "features.norm5.weight": (1024,),
        "classifier.bias": (1000,),
    },
    "vgg19_bn": {
        "features.0.weight": (64, 3, 3, 3),
        "features.4.running_mean": (64,),
        "features.49.weight": (512, 512, 3, 3),
        "features.50.weight": (512,),
        "classifier.0.weight": (4096, 25_088),
        "classifier.3.weight": (4096, 4096),
        "classifier.6.weight": (1000, 4096),
    },
}


@pytest.mark.parametrize("name", SHAPES)
def test_tensors_are_named_and_shaped_as_torchvisions(name):
    state = on_meta(name, 1000).state_dict()
    assert len(state) == TENSORS[name]
    assert {key: tuple(state[key].shape) for key in SHAPES[name]} == SHAPES[name]
    if name == "wide_resnet50_2":
        assert list(state) == list(on_meta("resnet50", 1000).state_dict())
    if name == "vgg19_bn":
        layers = [f"features.{k}" for place in VGG for k in (place, place + 1)] + [f"classifier.{k}" for k in (0, 3, 6)]
        assert list(dict.fromkeys(key.rpartition(".")[0] for key in state)) == layers


@pytest.mark.parametrize("name", list_architectures())
def test_any_classes_channels_and_sizes(name):
    network = on_meta(name, classes=7, channels=1)
    assert network(torch.zeros(2, 1, 45, 61, device="meta")).shape == (2, 7)


def sizes_seen(network: nn.Module, side: int) -> list[int]:
    """The sides of what the convolutions return, largest first."""
    sides = set()
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            module.register_forward_hook(lambda _module, _inputs, output: sides.add(output.shape[-1]))
    network(torch.zeros(2, 3, side, side, device="meta"))
    return sorted(sides, reverse=True)


@pytest.mark.parametrize(
    ("name", "side", "sides"),
    [
        ("resnet18", 224, [112, 56, 28, 14, 7]),
        ("resnet50", 224, [112, 56, 28, 14, 7]),
        ("wide_resnet50_2", 224, [112, 56, 28, 14, 7]),
        ("densenet121", 224, [112, 56, 28, 14, 7]),
        ("vgg19_bn", 224, [224, 112, 56, 28, 14]),
        ("resnet18_32", 32, [32, 16, 8, 4]),
        ("resnet50_32", 32, [32, 16, 8, 4]),
        ("densenet121_32", 32, [32, 16, 8, 4]),
        ("vgg19_bn_32", 32, [32, 16, 8, 4, 2]),
        ("wide_resnet28_10", 32, [32, 16, 8]),
        ("wide_resnet40_2", 32, [32, 16, 8]),
        ("small_cnn", 32, [32, 16, 8]),
    ],
)
def test_the_image_is_halved_as_in_the_papers(name, side, sides):
    assert sizes_seen(on_meta(name), side) == sides


@pytest.mark.parametrize("name", list_architectures())
def test_every_architecture_is_recognised_by_its_tensors(name):
    assert recognise(on_meta(name, classes=200, channels=1).state_dict()) == (name, 200, 1)


def test_no_two_architectures_look_alike():
    shapes = [tuple(sorted(shapes_of(name).items())) for name in list_architectures()]
    assert len(set(shapes)) == len(shapes)


@pytest.mark.parametrize("name", ["resnet18_32", "wide_resnet40_2", "densenet121_32", "small_cnn"])
def test_untrained_networks_neither_fade_nor_explode(name):
    """He et al. choose the spread of first weights so that signals keep their size through all layers."""
    torch.manual_seed(0)
    network = build(name, 10, 3)
    logits = network(torch.randn(8, 3, 16, 16))  # in training mode: normalised by the batch
    assert 0.05 < logits.std().item() < 5


@pytest.mark.parametrize("name", ["resnet18_32", "wide_resnet40_2"])
def test_convolutions_start_as_he_et_al_say(name):
    torch.manual_seed(0)
    for module in build(name, 10, 3).modules():
        if isinstance(module, nn.Conv2d) and module.weight.numel() > 30_000:
            expected = (2 / (module.out_channels * module.kernel_size[0] ** 2)) ** 0.5
            # The spread of n normal numbers is known to 1 / sqrt(2 n): 0.4 % here, so this is seven times that.
            assert module.weight.std().item() == pytest.approx(expected, rel=0.03)


def test_the_small_network_learns():
    """Two kinds of stripes, told apart after twenty steps."""
    torch.manual_seed(0)
    network = build("small_cnn", 2, 1)
    wave = (torch.arange(12) % 4 < 2).float()
    labels = torch.arange(32) % 2
    images = torch.where(labels[:, None, None, None] == 0, wave[None, None, :, None], wave[None, None, None, :])
    images = images + 0.3 * torch.randn(32, 1, 12, 12)
    for _ in range(20):
        loss = nn.functional.cross_entropy(network(images), labels)
        weights = list(network.parameters())
        for weight, slope in zip(weights, torch.autograd.grad(loss, weights), strict=True):
            weight.data -= 0.1 * slope
    assert (network(images).argmax(1) == labels).all()


def test_an_unknown_architecture_gets_near_names():
    with pytest.raises(ValueError, match=r"did you mean .*resnet18"):
        build("resnet-18", 10)
    with pytest.raises(ValueError, match="there are small_cnn"):
        build("???", 10)
