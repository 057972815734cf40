"""Classifiers without their weights: small, sent anywhere, and the same again when they are opened."""

import pickle

import pytest
import torch
from torch import nn

from scuff.models import Classifier, build, close_model, open_model, save_model
from scuff.models.classifier import Closed

IMAGES = torch.rand(4, 1, 16, 16, generator=torch.Generator().manual_seed(0))
MEAN, STD = (0.4,), (0.3,)


def network(seed=0):
    torch.manual_seed(seed)
    return build("small_cnn", 10, 1)


@pytest.fixture
def file(tmp_path):
    return save_model(network(), tmp_path / "net.safetensors", class_names=[*"abcdefghij"])


def test_a_closed_model_is_small_and_answers_as_before(file):
    opened = open_model(f"mine={file}", mean=MEAN, std=STD)
    closed = close_model(opened)
    assert isinstance(closed.model, Closed)
    assert close_model(closed) is closed
    for key in ("name", "address", "mean", "std", "channels", "class_names", "cut", "precision"):
        assert getattr(closed, key) == getattr(opened, key)
    assert closed.fingerprint() == opened.fingerprint() != open_model(file).fingerprint()
    assert closed.parameter_count() == opened.parameter_count() > 20_000
    assert len(pickle.dumps(closed)) < 5_000
    again = pickle.loads(pickle.dumps(closed)).on("cpu")
    assert torch.equal(again(IMAGES), opened.on("cpu")(IMAGES))
    assert again.fingerprint() == opened.fingerprint()
    assert closed.on("cpu", precision="bfloat16").precision == "bfloat16"


def test_a_closed_model_is_not_called(file):
    with pytest.raises(ValueError, match=r"net\.safetensors is closed; call on\(device\)"):
        close_model(open_model(file))(IMAGES)


def test_a_file_that_has_changed_is_refused(file):
    closed = close_model(open_model(file))
    save_model(network(seed=1), file)
    with pytest.raises(ValueError, match=r"the model net is not what it was .*net\.safetensors has been written anew"):
        closed.on("cpu")


def test_what_changes_after_closing_changes_the_fingerprint(file):
    opened = open_model(file)
    later = open_model(close_model(opened), mean=MEAN, std=STD)
    assert later.fingerprint() == open_model(file, mean=MEAN, std=STD).fingerprint()
    assert torch.equal(later.on("cpu")(IMAGES), open_model(file, mean=MEAN, std=STD)(IMAGES))


def test_a_relative_file_is_found_from_another_folder(file, monkeypatch, tmp_path):
    monkeypatch.chdir(file.parent)
    closed = close_model(open_model("net.safetensors"))
    assert closed.address == "net.safetensors"
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert closed.on("cpu")(IMAGES).shape == (4, 10)


def test_remote_files_are_closed_too():
    address = save_model(network(), "memory://closed/net.safetensors")
    closed = close_model(open_model(address))
    assert isinstance(closed.model, Closed)
    assert torch.equal(closed.on("cpu")(IMAGES), open_model(address).on("cpu")(IMAGES))


def test_objects_stay_as_they_are(file):
    for thing in (network(), lambda images: images.mean((2, 3)), Classifier(network())):
        opened = open_model(thing, name="mine")
        assert close_model(opened) is opened


MODULE = """
import torch
from scuff.models import Classifier, build

def same():
    with torch.random.fork_rng():
        torch.manual_seed(3)
        return Classifier(build("small_cnn", 10, 1), mean=(0.5,), std=(0.2,))

def other():
    return build("small_cnn", 10, 1)

def function(images):
    return images.mean((2, 3))
"""


def test_models_from_code_are_made_again_if_they_are_the_same(tmp_path, monkeypatch):
    (tmp_path / "made_by_code.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    opened = open_model("made_by_code:same")
    closed = close_model(opened)
    assert isinstance(closed.model, Closed)
    assert closed.mean == (0.5,)
    assert torch.equal(pickle.loads(pickle.dumps(closed)).on("cpu")(IMAGES), opened.on("cpu")(IMAGES))
    drawn = close_model(open_model("made_by_code:other"))
    assert isinstance(drawn.model, nn.Module)  # other weights every time: these are kept
    function = close_model(open_model("made_by_code:function"))
    assert isinstance(function.model, Closed)
    assert function.parameter_count() is None
    assert torch.equal(function.on("cpu")(IMAGES), IMAGES.mean((2, 3)))
