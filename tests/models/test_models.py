"""Classifiers: what they do to pixels, every form of address that needs no further package, and files of weights."""

import json
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import safetensors.torch
import torch
from torch import nn

from scuff.models import Classifier, build, open_model, save_model
from scuff.models.open import default_name, split_name
from scuff.pictures import Cut

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def make_images(count: int = 5, channels: int = 3, height: int = 12, width: int = 12, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (count, channels, height, width), generator=generator, dtype=torch.uint8)


def network(channels: int = 3, classes: int = 10) -> nn.Module:
    """A small network whose batch normalisation has seen something, so that its two modes differ."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        net = build("small_cnn", classes, channels)
        net(torch.rand(8, channels, 16, 16))
    return net


class Seen:
    """A model that keeps the batch that it was given."""

    def __call__(self, batch):
        self.batch = batch.clone()
        return batch.mean((2, 3))


def given_to_the_model(images: torch.Tensor, **settings) -> torch.Tensor:
    seen = Seen()
    Classifier(seen, **settings)(images)
    return seen.batch


# --- pixels ---------------------------------------------------------------------------------------------------------


def test_bytes_without_settings_become_unit_floats():
    images = make_images()
    batch = given_to_the_model(images)
    assert batch.dtype == torch.float32
    assert torch.equal(batch, images.float() / 255)


def test_normalisation():
    images = make_images()
    expected = (images.double() / 255 - torch.tensor(MEAN)[:, None, None]) / torch.tensor(STD)[:, None, None]
    # Values reach 2.7; a float32 there is exact to 1.2e-7, and two roundings are made.
    torch.testing.assert_close(given_to_the_model(images, mean=MEAN, std=STD), expected.float(), atol=1e-6, rtol=0)


@pytest.mark.parametrize("settings", [{}, {"mean": MEAN, "std": STD}, {"input_size": 9}, {"channels": 1}])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_floats_are_seen_as_bytes_are(settings, dtype):
    images = make_images()
    as_bytes, as_floats = (given_to_the_model(x, **settings) for x in (images, images.to(dtype) / 255))
    torch.testing.assert_close(as_floats, as_bytes, atol=1e-6, rtol=0)  # they differ by roundings only


def test_one_number_normalises_all_channels():
    images = make_images()
    batch = given_to_the_model(images, mean=0.5, std=0.25)
    torch.testing.assert_close(batch, (images.float() / 255 - 0.5) / 0.25, atol=1e-6, rtol=0)


def test_grey_is_tripled_for_a_model_of_three_channels():
    images = make_images(channels=1)
    batch = given_to_the_model(images, channels=3)
    assert torch.equal(batch, (images.float() / 255).expand(-1, 3, -1, -1))
    normalised = given_to_the_model(images, channels=3, mean=MEAN, std=STD)
    assert torch.equal(normalised, given_to_the_model(images.expand(-1, 3, -1, -1), mean=MEAN, std=STD))


def test_colour_is_folded_to_luma_for_a_model_of_one_channel():
    images = make_images()
    expected = torch.einsum("nchw,c->nhw", images.double() / 255, torch.tensor([0.299, 0.587, 0.114]).double())
    batch = given_to_the_model(images, channels=1)
    assert batch.shape == (5, 1, 12, 12)
    torch.testing.assert_close(batch[:, 0], expected.float(), atol=1e-6, rtol=0)


@pytest.mark.parametrize("channels", [1, 3])
def test_images_of_the_wanted_channels_are_left_alone(channels):
    images = make_images(channels=channels)
    for wanted in (channels, None):
        assert torch.equal(given_to_the_model(images, channels=wanted), images.float() / 255)


def test_other_sizes_are_resized_as_pillow_does():
    from PIL import Image

    for height, width, size in ((40, 40, 16), (12, 12, 20), (30, 18, 24)):
        images = make_images(2, 3, height, width)
        batch = given_to_the_model(images, input_size=size)
        for image, resized in zip(images, batch, strict=True):
            picture = Image.fromarray(image.permute(1, 2, 0).numpy()).resize((size, size), Image.Resampling.BILINEAR)
            expected = torch.from_numpy(np.array(picture)).permute(2, 0, 1)
            # Pillow rounds to bytes after each of its two passes.
            torch.testing.assert_close(resized * 255, expected.float(), atol=1.01, rtol=0)


def test_images_of_the_wanted_size_are_not_resampled():
    images = make_images()
    assert torch.equal(given_to_the_model(images, input_size=12), images.float() / 255)


def test_images_are_never_modified():
    def greedy(batch):
        return batch.sub_(0.5).mean((2, 3))

    images = make_images().float() / 255
    before = images.clone()
    Classifier(greedy)(images)
    assert torch.equal(images, before)


# --- logits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
def test_logits_are_those_of_the_module_in_evaluation_mode(device):
    net, images = network(), make_images()
    classifier = open_model(net, mean=MEAN, std=STD).on(device)
    logits = classifier(images.to(device))
    assert net.training  # the caller's module is as it was
    net.eval()
    normalised = (images.float() / 255 - torch.tensor(MEAN)[:, None, None]) / torch.tensor(STD)[:, None, None]
    assert logits.dtype == torch.float32
    assert logits.shape == (5, 10)
    # On CUDA cuDNN may use TF32, with 10 bits.
    tolerance = 1e-5 if device == "cpu" else 1e-2
    torch.testing.assert_close(logits.cpu(), net(normalised).detach(), atol=tolerance, rtol=tolerance)


def test_an_image_has_the_same_logits_in_any_batch():
    classifier, images = open_model(network()), make_images(7)
    # Sums may be taken in another order for another number of images.
    torch.testing.assert_close(classifier(images[3:5]), classifier(images)[3:5], atol=1e-5, rtol=1e-5)
    assert classifier(images[:0]).shape == (0, 10)


def test_training_mode_is_refused():
    with pytest.raises(ValueError, match="training mode; call on"):
        Classifier(network())(make_images())


def test_on_leaves_the_original_alone():
    original = Classifier(network(), name="net")
    placed = original.on("cpu", precision="bfloat16")
    assert (original.precision, placed.precision) == ("float32", "bfloat16")
    assert original.model.training
    assert not placed.model.training
    next(placed.model.parameters()).data.zero_()
    assert original.fingerprint() != placed.fingerprint()


@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")  # said by torch where the processor has no bfloat16
@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
@pytest.mark.parametrize("device", DEVICES)
def test_lower_precision_is_used_and_is_near(device, precision):
    images = make_images().to(device)
    exact = open_model(network()).on(device)
    seen = []
    lower = exact.on(device, precision)
    lower.model.block2.register_forward_hook(lambda _module, _inputs, output: seen.append(output.dtype))
    logits = lower(images)
    assert seen == [getattr(torch, precision)]
    assert logits.dtype == torch.float32
    assert not torch.equal(logits, exact(images))
    torch.testing.assert_close(logits, exact(images), atol=0.05, rtol=0.05)  # bfloat16 has 8 bits: 0.4 % per layer


def test_float32_holds_inside_an_autocast_of_the_caller():
    classifier, images = open_model(network()), make_images()
    alone = classifier(images)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(classifier(images), alone)


def test_probabilities_become_logits_with_the_same_softmax():
    net, images = network().eval(), make_images()
    logits = Classifier(net)(images)
    back = Classifier(lambda x: net(x).softmax(1), probabilities=True)(images)
    torch.testing.assert_close(back.softmax(1), logits.softmax(1), atol=1e-6, rtol=0)
    certain = Classifier(lambda x: torch.eye(3)[: len(x)], probabilities=True)(make_images(3))
    assert torch.isfinite(certain).all()
    torch.testing.assert_close(certain.softmax(1), torch.eye(3))


def test_numpy_and_objects_with_logits_are_taken():
    class Output:
        def __init__(self, logits):
            self.logits = logits

    images = make_images()
    expected = (images.float() / 255).mean((2, 3))
    for model in (lambda x: x.numpy().mean((2, 3)), lambda x: Output(x.mean((2, 3)))):
        torch.testing.assert_close(Classifier(model)(images), expected)


@pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype")
@pytest.mark.parametrize("device", DEVICES)
def test_no_call_waits_for_the_device(device):
    """On CUDA, torch raises at anything that would wait; on a CPU, this only sees that all settings work together."""
    settings = {"mean": MEAN, "std": STD, "input_size": 16, "channels": 3}
    classifier = Classifier(network(), **settings).on(device, "bfloat16" if device == "cuda" else "float32")
    batches = [make_images(4, c, s, s).to(device) for c, s in ((3, 16), (1, 16), (3, 24), (1, 24))]
    batches.append(batches[0].float() / 255)
    mode = torch.cuda.get_sync_debug_mode() if device == "cuda" else None
    try:
        if device == "cuda":
            torch.cuda.set_sync_debug_mode("error")
        shapes = [classifier(batch).shape for batch in batches]
    finally:
        if device == "cuda":
            torch.cuda.set_sync_debug_mode(mode)
    assert shapes == [(4, 10)] * 5


# --- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("images", "words"),
    [
        (make_images()[0], r"\(N, C, H, W\).*got \(3, 12, 12\)"),
        (make_images().permute(0, 2, 3, 1), r"got \(5, 12, 12, 3\)"),
        (make_images().numpy(), r"expected a tensor"),
        (make_images().long(), "uint8, or as float"),
        ([1, 2], "got list"),
    ],
)
def test_images_of_other_kinds_are_refused(images, words):
    with pytest.raises(ValueError, match=words):
        Classifier(Seen())(images)


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (torch.zeros(5), r"here \(5, K\), got \(5,\)"),
        (torch.zeros(4, 10), r"got \(4, 10\)"),
        (torch.zeros(5, 10, 1, 1), r"got \(5, 10, 1, 1\)"),
        ((torch.zeros(5, 10),), "got tuple"),
        (None, "got NoneType"),
    ],
)
def test_outputs_that_are_no_logits_are_refused(output, words):
    with pytest.raises(ValueError, match=words):
        Classifier(lambda x: output, name="odd")(make_images())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"mean": MEAN}, "mean and std go together"),
        ({"mean": MEAN, "std": (0.2,)}, "one number per channel"),
        ({"mean": (0.5, 0.5), "std": (0.2, 0.2)}, "one number per channel"),
        ({"mean": (123.7, 116.3, 103.5), "std": (58.4, 57.1, 57.4)}, "divide those of bytes by 255"),
        ({"mean": MEAN, "std": (0.2, 0.2, 0.0)}, "divide"),
        ({"mean": MEAN, "std": STD, "channels": 1}, "3 means do not suit 1 channels"),
        ({"channels": 4}, "channels must be 1 or 3"),
        ({"input_size": 0}, "at least 1"),
        ({"precision": "int8"}, "precision must be one of float32, bfloat16, float16"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        Classifier(Seen(), **settings)


def test_three_means_and_one_channel_need_channels():
    with pytest.raises(ValueError, match="set channels=3"):
        Classifier(Seen(), mean=MEAN, std=STD)(make_images(channels=1))


def test_a_device_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="finds no CUDA device"):
        Classifier(Seen()).on("cuda")


# --- fingerprints ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
def test_a_fingerprint_is_of_weights_and_preprocessing(device):
    classifier = Classifier(network(), name="a", mean=MEAN, std=STD)
    same = classifier.fingerprint()
    assert len(same) == 16
    assert int(same, 16) >= 0
    for alike in (
        replace(classifier, name="b", address="elsewhere", class_names=("x",)),
        classifier.on(device),
        classifier.on(device, "bfloat16"),
        replace(classifier, model=nn.DataParallel(classifier.model)),
        replace(classifier, model=network().to(memory_format=torch.channels_last)),
    ):
        assert alike.fingerprint() == same
    for change in (
        {"mean": (0.5, 0.456, 0.406)},
        {"std": (0.229, 0.224, 0.226)},
        {"input_size": 32},
        {"channels": 3},
        {"probabilities": True},
    ):
        assert replace(classifier, **change).fingerprint() != same


def test_compiling_changes_neither_fingerprint_nor_logits(monkeypatch):
    # The real torch.compile, less its code generator, which takes long to import and needs a C++ compiler.
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="eager"))
    plain, images = open_model(network()), make_images()
    compiled = plain.on("cpu", compile=True)
    assert hasattr(compiled.model, "_orig_mod")
    assert compiled.fingerprint() == plain.fingerprint()
    assert torch.equal(compiled(images), plain(images))
    assert not hasattr(compiled.on("cpu").model, "_orig_mod")


def test_one_weight_changes_the_fingerprint():
    net = network()
    before = Classifier(net).fingerprint()
    with torch.no_grad():
        net.fc.bias[3] += 1e-6
    assert Classifier(net).fingerprint() != before


def test_of_other_callables_the_address_is_known():
    first, second = open_model(np.sum), open_model(np.mean)
    assert first.fingerprint() != second.fingerprint()
    assert first.fingerprint() == open_model(np.sum).fingerprint()


def test_parameters_are_counted():
    assert Classifier(network(1)).parameter_count() == 24_058
    assert Classifier(Seen()).parameter_count() is None


# --- objects and names ----------------------------------------------------------------------------------------------

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


# --- files of weights -----------------------------------------------------------------------------------------------


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
