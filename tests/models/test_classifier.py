"""Classifiers: what they do to pixels, what they give, and what they refuse."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from made_models import MEAN, STD, Seen, make_images, network
from torch import nn

from scuff.models import Classifier, open_model

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


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
