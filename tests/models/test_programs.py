"""Networks of one's own: a class and its weights, TorchScript, torch.export; and pickles, which are refused."""

import os
import pickle
import sys
import zipfile
from pathlib import Path

import pytest
import torch
from torch import nn

import scuff
from scuff.models import close_model, open_model, save_model

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # which people still use

MODULE = """
from torch import nn
from scuff import Classifier

class Net(nn.Module):
    def __init__(self, classes=7):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.5))
        self.head = nn.Linear(4, classes)

    def forward(self, x):
        return self.head(self.body(x).mean((2, 3)))

def bigger():
    return Classifier(Net(9), mean=[0.5] * 3, std=[0.25] * 3)

def brightness(images):
    return images.mean((2, 3))
"""
IMAGES = torch.randint(0, 256, (5, 3, 8, 8), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def net(tmp_path, monkeypatch):
    """A trained network of an own class, in the module own_net of the current folder."""
    (tmp_path / "own_net.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    import own_net

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        network = own_net.Net()
        network(torch.rand(4, 3, 8, 8))  # so that batch normalisation has seen something
    yield network.eval()
    sys.modules.pop("own_net", None)


def logits(network):
    with torch.inference_mode():
        return network(IMAGES / 255)


@pytest.mark.parametrize("file", ["w.pt", "w.pth", "w.safetensors", "deep/w.pt"])
@pytest.mark.parametrize("wrap", [dict, lambda state: {"state_dict": {f"module.{k}": v for k, v in state.items()}}])
def test_a_class_and_its_weights(net, file, wrap):
    os.makedirs("deep", exist_ok=True)
    if file.endswith(".safetensors"):
        save_model(net, file, mean=[0.4] * 3, std=[0.2] * 3)
        classifier = open_model(f"own_net:Net@{file}")
        assert classifier.mean == (0.4,) * 3  # the file knows them
        classifier = open_model(f"own_net:Net@{file}", mean=[0.0], std=[1.0])
    else:
        torch.save(wrap(net.state_dict()), file)
        classifier = open_model(f"own_net:Net@{file}")
    torch.testing.assert_close(classifier(IMAGES), logits(net), atol=1e-6, rtol=0)  # but for roundings
    assert not classifier.model.training


def test_it_is_closed_and_opened_again_elsewhere(net, monkeypatch, tmp_path):
    torch.save(net.state_dict(), "w.pt")
    classifier = open_model("mine=own_net:Net@w.pt")
    closed = close_model(classifier)
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert classifier.name == "mine"
    assert closed.fingerprint() == classifier.fingerprint()
    assert torch.equal(closed.on("cpu")(IMAGES), logits(net))


def test_weights_go_into_a_classifier_that_a_function_makes(net):
    bigger = sys.modules["own_net"].Net(9)
    torch.save(bigger.state_dict(), "w.pt")
    classifier = open_model("own_net:bigger@w.pt")
    assert classifier.mean == (0.5,) * 3
    assert torch.equal(classifier.model.head.weight, bigger.head.weight)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("own_net:Net@none.pt", "there is no file none.pt"),
        ("own_net:bigger@w.pt", r"w.pt are not those of Net: size mismatch for head.weight"),
        ("own_net:brightness@w.pt", "only torch modules have weights to load"),
        ("own_net:Net@script.pt", "script.pt holds a program, which needs no class"),
        ("w.pt", "no architecture of ours.*and open package.module:Class@FILE"),
    ],
)
def test_weights_that_do_not_suit(net, address, words):
    torch.save(net.state_dict(), "w.pt")
    torch.jit.script(net).save("script.pt")
    with pytest.raises(ValueError, match=words):
        open_model(address)


# --- programs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [torch.jit.script, lambda net: torch.jit.trace(net, torch.rand(2, 3, 8, 8))])
@pytest.mark.parametrize("file", ["net.pt", "net.ts"])
def test_torchscript_opens(net, make, file):
    make(net).save(file)
    classifier = open_model(file)
    assert classifier.name == "net"
    torch.testing.assert_close(classifier.on("cpu")(IMAGES), logits(net), atol=1e-6, rtol=0)
    assert close_model(classifier).on("cpu")(IMAGES).shape == (5, 7)


class Shifted(nn.Module):
    def forward(self, x):
        return x.mean((2, 3)) + torch.ones(3, device=x.device)


def test_a_program_that_was_traced_on_another_device_says_so(net):
    torch.jit.trace(Shifted(), torch.rand(2, 3, 8, 8)).save("here.pt")
    assert open_model("here.pt").on("cpu")(IMAGES).shape == (5, 3)
    with zipfile.ZipFile("here.pt") as here, zipfile.ZipFile("there.pt", "w") as there:  # as if traced on a GPU
        for name in here.namelist():
            there.writestr(name, here.read(name).replace(b'torch.device("cpu")', b'torch.device("cuda:0")'))
    words = r"was traced on cuda, .* cannot run on cpu: use --device cuda, trace it again on cpu"
    with pytest.raises(ValueError, match=words):
        open_model("there.pt").on("cpu")(IMAGES)


@pytest.mark.parametrize("dynamic", [None, {"x": {0: torch.export.Dim.AUTO}}], ids=["fixed batch", "any batch"])
def test_programs_of_torch_export_open(net, dynamic):
    torch.export.save(torch.export.export(net, (torch.rand(2, 3, 8, 8),), dynamic_shapes=dynamic), "net.pt2")
    classifier = open_model("net.pt2")
    assert (classifier.input_size, classifier.channels) == (8, 3)
    for count in (1, 2, 5):
        torch.testing.assert_close(classifier.on("cpu")(IMAGES[:count]), logits(net)[:count], atol=1e-6, rtol=0)
    rows = scuff.evaluate("net.pt2", "cifar10-c", (IMAGES, [0, 1, 2, 3, 4]), only=["fog"], severities=[1])
    assert len(rows) == 10


def test_frozen_programs_of_other_weights_have_other_fingerprints(net):
    """Their weights are constants of the code, in no state dict."""
    for name in ("a", "b"):
        nn.init.normal_(net.head.weight)
        torch.jit.freeze(torch.jit.script(net)).save(f"{name}.pt")
    assert open_model("a.pt").fingerprint() != open_model("b.pt").fingerprint()
    assert open_model("a.pt").fingerprint() == open_model("a.pt").fingerprint()


# --- what would run code ---------------------------------------------------------------------------------------------


class Evil:
    def __reduce__(self):
        return os.mkdir, ("hacked",)


def test_pickled_modules_are_refused_with_the_way_out(net):
    torch.save(net, "whole.pt")
    with pytest.raises(
        ValueError, match=r"could run code.*save model.state_dict\(\).*package.module:Class@FILE.*export"
    ):
        open_model("whole.pt")


@pytest.mark.parametrize("member", ["data/sample_inputs/model.pt", "data/constants/opaque_obj_0"])
def test_pickles_inside_of_programs_are_not_run(net, member):
    torch.export.save(torch.export.export(net, (torch.rand(2, 3, 8, 8),)), "net.pt2")
    torch.save(Evil(), "evil.pt")
    evil = Path("evil.pt").read_bytes() if member.endswith(".pt") else pickle.dumps(Evil())
    with zipfile.ZipFile("net.pt2") as good, zipfile.ZipFile("bad.pt2", "w", zipfile.ZIP_STORED) as bad:
        for name in good.namelist():
            if not name.endswith(member):
                bad.writestr(name, good.read(name))
        bad.writestr(f"net/{member}", evil)
    with pytest.raises(ValueError, match=r"bad.pt2"):
        open_model("bad.pt2")
    assert not os.path.exists("hacked")


def test_a_broken_program(net):
    torch.jit.script(net).save("net.pt")
    with zipfile.ZipFile("net.pt") as good, zipfile.ZipFile("bad.pt", "w") as bad:
        for name in good.namelist():
            bad.writestr(name, good.read(name)[:20])
    with pytest.raises(ValueError, match=r"cannot open bad\.pt as a program of torch"):
        open_model("bad.pt")
