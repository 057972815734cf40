"""Every form of address of a model that needs no further package."""

import sys

import pytest
import torch
from made_models import MEAN, STD, Seen, make_images, network

from scuff.models import Classifier, open_model
from scuff.models.open import default_name, split_name

MODELS_OF_A_USER = '''
import torch
from scuff.models import Classifier
from torch import nn

def brightness(batch):
    """A callable from images to logits."""
    mean = batch.mean((1, 2, 3))
    return torch.stack((mean, 1 - mean), 1)

class Net(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.conv = nn.Conv2d(3, classes, 3)

    def forward(self, x):
        return self.conv(x).mean((2, 3))

class Wide(nn.Module):
    def __init__(self, classes):
        super().__init__()

def make():
    return Net(7)

def classifier():
    return Classifier(Net(6).eval(), mean=[0.5] * 3, std=[0.5] * 3, input_size=8, channels=3)

def named():
    return Classifier(brightness, name="mine")

net = Net(5)
number = 3
'''


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A folder with a package of a user, which is the current one."""
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "__init__.py").touch()
    (tmp_path / "nets" / "mine.py").write_text(MODELS_OF_A_USER)
    (tmp_path / "nets" / "lame.py").write_text("import a_package_that_is_not_there")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before, path = set(sys.modules), list(sys.path)
    yield tmp_path
    assert sys.path == path  # what was opened has left no trace there
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("address", "classes"),
    [("net", 5), ("Net", 4), ("make", 7), ("classifier", 6), ("brightness", 2), ("named", 2)],
)
def test_python_objects_are_opened_from_the_current_folder(package, address, classes):
    classifier = open_model(f"nets.mine:{address}")
    assert classifier.name == ("mine" if address == "named" else address)
    assert classifier.address == f"nets.mine:{address}"
    assert classifier(make_images()).shape == (5, classes)
    assert classifier.mean == ((0.5, 0.5, 0.5) if address == "classifier" else None)


def test_a_module_of_three_channels_gets_grey_tripled(package):
    assert open_model("nets.mine:net").channels == 3
    assert open_model("nets.mine:net")(make_images(channels=1)).shape == (5, 5)


def test_a_plain_function_gets_pixels(package):
    images = make_images()
    expected = (images.float() / 255).mean((1, 2, 3))
    logits = open_model("nets.mine:brightness")(images)
    torch.testing.assert_close(logits, torch.stack((expected, 1 - expected), 1))


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("nets.mine:mate", r"no 'mate'; did you mean make"),
        ("nets.yours:net", r"no module is called 'nets\.yours'"),
        ("nowhere.at.all:net", "no module is called 'nowhere'"),
        ("torchvison:resnet50", "did you mean torchvision:resnet50"),
        ("nets.mine:number", "is of type int; expected a Classifier"),
        ("nets.mine:Wide", r"needs arguments \(classes\)"),
    ],
)
def test_python_objects_that_cannot_be_opened(package, address, words):
    with pytest.raises(ValueError, match=words):
        open_model(address)


def test_what_a_module_lacks_is_not_taken_for_the_module(package):
    with pytest.raises(ModuleNotFoundError, match="a_package_that_is_not_there"):
        open_model("nets.lame:net")


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("resnet50", "torchvision:NAME.*onnx:FILE.*did you mean torchvision:resnet50"),
        ("runs/model.bin", r"one of .*FILE\.safetensors"),
        ("", "expected the address of a model"),
        ("gone.pt", r"there is no file gone\.pt"),
        ("gone.safetensors", r"there is no file gone\.safetensors"),
    ],
)
def test_addresses_that_mean_nothing(address, words):
    with pytest.raises(ValueError, match=words):
        open_model(address)


@pytest.mark.parametrize("package", ["torchvision", "timm", "onnxruntime"])
def test_a_missing_package_is_named_with_its_extra(package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    address = {"onnxruntime": "onnx:model.onnx"}.get(package, f"{package}:resnet18")
    with pytest.raises(ValueError, match=rf'{package}, which is not installed; run pip install "scuff\[models\]"'):
        open_model(address)


def test_objects_are_taken_as_they_are(package):
    classifier = Classifier(Seen(), name="seen", mean=MEAN, std=STD)
    opened = open_model(classifier)
    assert (opened.name, opened.mean, opened.model) == ("seen", MEAN, classifier.model)
    assert open_model(network()).name == "SmallCNN"
    assert open_model(lambda x: x).name == "lambda"
    assert open_model(network, name="made").name == "made"
    with pytest.raises(ValueError, match="of type int"):
        open_model(3)


def test_names(package):
    assert open_model("pixel=nets.mine:brightness").name == "pixel"
    assert open_model("pixel=nets.mine:brightness", name="other").name == "other"
    assert split_name("torchvision:resnet50") == (None, "torchvision:resnet50")
    assert split_name("runs/a=b.pt") == (None, "runs/a=b.pt")  # no name has a slash
    assert default_name("timm:hf-hub:timm/vit@random") == "vit-random"
    assert default_name("onnx:C:\\nets\\best.v2.onnx") == "best.v2"
    for bad in ("a/b", "..", "-x", "a b", "é"):
        with pytest.raises(ValueError, match="letters, digits"):
            open_model("nets.mine:brightness", name=bad)


def test_given_mean_and_std_win(package):
    opened = open_model("nets.mine:classifier", mean=[0.1, 0.2, 0.3], std=[0.4, 0.5, 0.6])
    assert (opened.mean, opened.std) == ((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    assert open_model("nets.mine:classifier", std=[0.4, 0.5, 0.6]).mean == (0.5, 0.5, 0.5)
