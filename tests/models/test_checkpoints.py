"""Files of weights: our own, and those of others."""

import json
from dataclasses import replace

import pytest
import safetensors.torch
import torch
from made_models import MEAN, STD, Seen, make_images, network
from torch import nn

from scuff.models import Classifier, build, open_model, save_model
from scuff.pictures import Cut


def test_a_saved_classifier_comes_back_whole(tmp_path):
    classifier = Classifier(
        network(1).eval(), mean=0.286, std=0.353, input_size=28, channels=1, class_names=["shirt", "coat"] * 5
    )
    classifier = replace(classifier, cut=Cut(32, 28, "bicubic"))
    path = save_model(classifier, tmp_path / "new" / "fashion.safetensors")
    again = open_model(path)
    for key in ("mean", "std", "input_size", "channels", "class_names", "cut", "probabilities"):
        assert getattr(again, key) == getattr(classifier, key)
    assert (again.name, again.address) == ("fashion", str(path))
    assert again.fingerprint() == classifier.fingerprint()
    assert torch.equal(again(make_images(channels=1)), classifier(make_images(channels=1)))
    assert [p.name for p in path.parent.iterdir()] == ["fashion.safetensors"]


def test_metadata_are_plain_text_of_json(tmp_path):
    path = save_model(network(), tmp_path / "a.safetensors", mean=MEAN, std=STD, class_names=["ä", "b"], input_size=32)
    with safetensors.safe_open(path, "pt") as file:
        metadata = file.metadata()
    assert metadata["architecture"] == "small_cnn"
    assert {k: json.loads(metadata[k]) for k in ("mean", "std", "class_names", "input_size")} == {
        "mean": list(MEAN),
        "std": list(STD),
        "class_names": ["ä", "b"],
        "input_size": 32,
    }


def test_a_network_in_any_state_can_be_saved(tmp_path):
    net = network().to(memory_format=torch.channels_last)
    wrapped = nn.DataParallel(torch.compile(net, backend="eager"))
    expected = Classifier(network(), channels=3).fingerprint()
    for number, model in enumerate((net, wrapped)):
        assert open_model(save_model(model, tmp_path / f"{number}.safetensors")).fingerprint() == expected


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    path = save_model(network(), tmp_path / "a.safetensors")
    before = path.read_bytes()
    with pytest.raises(ValueError, match="not those of resnet18"):
        save_model(network(), path, architecture="resnet18")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        save_model(network(classes=3), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_saved(tmp_path):
    with pytest.raises(ValueError, match=r"ends in \.safetensors"):
        save_model(network(), tmp_path / "a.pt")
    with pytest.raises(ValueError, match="only torch modules"):
        save_model(Classifier(Seen()), tmp_path / "a.safetensors")
    with pytest.raises(ValueError, match="none of small_cnn"):
        save_model(network(), tmp_path / "a.safetensors", architecture="lenet")
    with pytest.raises(ValueError, match="mean and std go together"):
        save_model(network(), tmp_path / "a.safetensors", mean=MEAN)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".pt", ".pth", ".safetensors"])
@pytest.mark.parametrize("prefix", ["", "module.", "_orig_mod.", "module._orig_mod."])
def test_state_dicts_of_others_are_recognised(tmp_path, suffix, prefix):
    net, path = network(), tmp_path / f"net{suffix}"
    state = {prefix + name: value for name, value in net.state_dict().items()}
    if suffix == ".safetensors":
        safetensors.torch.save_file(state, path)
    else:
        torch.save(state, path)
    opened = open_model(str(path))
    assert opened.fingerprint() == Classifier(net, channels=3).fingerprint()
    assert (opened.mean, opened.input_size, opened.cut) == (None, None, None)
    assert open_model(path, mean=MEAN, std=STD).mean == MEAN


@pytest.mark.parametrize(
    "wrap",
    [
        lambda s: {"state_dict": s, "epoch": 3},
        lambda s: {"model": s, "optimizer": {"state": {}}},
        lambda s: {"net": s, "acc": 93.5},
        lambda s: {"model": {"state_dict": s}},
        lambda s: {**s, "epoch": 3},
    ],
)
def test_state_dicts_inside_of_what_scripts_save(tmp_path, wrap):
    torch.save(wrap(network().state_dict()), tmp_path / "last.pt")
    assert open_model(tmp_path / "last.pt").fingerprint() == Classifier(network(), channels=3).fingerprint()


def test_half_precision_and_missing_counters(tmp_path):
    state = {k: v.half() for k, v in network().state_dict().items() if not k.endswith("num_batches_tracked")}
    torch.save(state, tmp_path / "half.pt")
    opened = open_model(tmp_path / "half.pt")
    assert {p.dtype for p in opened.model.parameters()} == {torch.float32}
    assert opened.fingerprint() == open_model(tmp_path / "half.pt").fingerprint()
    # Half precision has 11 bits: each weight is off by 0.05 % at most.
    torch.testing.assert_close(opened(make_images()), open_model(network())(make_images()), atol=0.01, rtol=0.01)


def test_a_file_whose_name_holds_an_equals_sign(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save(network().state_dict(), "epoch=3.pt")
    assert open_model("epoch=3.pt").name == "epoch-3"
    assert open_model("third=epoch=3.pt").name == "third"


def test_a_thousand_classes_without_metadata_are_imagenet(tmp_path):
    torch.save(network(classes=1000).state_dict(), tmp_path / "small.pt")
    small = open_model(tmp_path / "small.pt")
    assert (small.mean, small.std, small.input_size, small.cut) == (MEAN, STD, None, None)
    torch.save(build("resnet18", 1000).state_dict(), tmp_path / "resnet18.pt")
    large = open_model(tmp_path / "resnet18.pt")
    assert (large.mean, large.std, large.input_size, large.cut) == (MEAN, STD, 224, Cut(256, 224))
    # A file of ours that says nothing of normalisation means none.
    assert open_model(save_model(network(classes=1000), tmp_path / "ours.safetensors")).mean is None


def test_the_old_names_in_torchvisions_densenets_are_understood():
    from scuff.models.states import plain_name

    old = "features.denseblock3.denselayer12.norm.2.running_mean"
    assert plain_name(old) == "features.denseblock3.denselayer12.norm2.running_mean"
    assert plain_name("features.transition1.norm.weight") == "features.transition1.norm.weight"


class Payload:
    """An object that a file of weights has no business to hold."""


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (lambda: nn.Linear(3, 3), r"could run code.*state_dict"),
        (lambda: {"state_dict": network().state_dict(), "args": Payload()}, "could run code"),
        (lambda: {"epoch": 3}, "no state dict"),
        (lambda: [1, 2], "no state dict"),
        (lambda: nn.Linear(3, 3).state_dict(), r"no architecture of ours: none of its tensors \(weight, bias"),
        (lambda: {**network().state_dict(), "more": torch.zeros(3)}, "nearest is small_cnn, but more is unknown"),
        (
            lambda: {**network().state_dict(), "block2.1.bias": torch.zeros(3)},
            r"block2\.1\.bias is \(3,\) instead of \(32,\)",
        ),
        (
            lambda: {k: v for k, v in network().state_dict().items() if k != "fc.bias"},
            r"nearest is small_cnn, but fc\.bias is missing; write a function",
        ),
    ],
)
def test_weights_that_cannot_be_used(tmp_path, content, words):
    torch.save(content(), tmp_path / "bad.pt")
    with pytest.raises(ValueError, match=words):
        open_model(tmp_path / "bad.pt")


@pytest.mark.parametrize("suffix", [".pt", ".safetensors"])
@pytest.mark.parametrize("content", [b"", b"hello, this is text", "cut"])
def test_broken_files_are_refused(tmp_path, suffix, content):
    path = tmp_path / f"bad{suffix}"
    if content == "cut":
        save_model(network(), tmp_path / "whole.safetensors")
        torch.save(network().state_dict(), tmp_path / "whole.pt")
        content = (tmp_path / f"whole{suffix}").read_bytes()[:-5000]
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"bad{suffix}") as error:
        open_model(path)
    assert "cut short" in str(error.value) or "no file of torch.save" in str(error.value)


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({"architecture": "lenet"}, "architecture 'lenet' is none of small_cnn"),
        ({"architecture": "resnet18"}, "not those of resnet18"),
        ({"architecture": "small_cnn", "mean": "[0.5"}, "metadata of .* are not readable"),
        ({"architecture": "small_cnn", "cut": '{"zoom": 2}'}, "metadata of .* are not readable"),
    ],
)
def test_metadata_that_make_no_sense_are_refused(tmp_path, metadata, words):
    safetensors.torch.save_file(network().state_dict(), tmp_path / "odd.safetensors", metadata)
    with pytest.raises(ValueError, match=words):
        open_model(tmp_path / "odd.safetensors")


def test_opening_moves_no_global_generator(tmp_path):
    save_model(network(), tmp_path / "a.safetensors")
    before = torch.get_rng_state()
    open_model(tmp_path / "a.safetensors")
    assert torch.equal(torch.get_rng_state(), before)
