"""Models in ONNX files. Collected only where onnx, which makes the files, and onnxruntime can be imported."""

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

from scuff.models import open_model

RNG = np.random.default_rng(0)
KERNEL = RNG.normal(size=(4, 3, 3, 3)).astype(np.float32)
WEIGHT = RNG.normal(size=(4, 5)).astype(np.float32)


def write_onnx(path, shape, channels_last=False, dtype=TensorProto.FLOAT, inputs=1) -> None:
    """A convolution, ReLU, the mean over all places and a linear layer of five classes."""
    kind = helper.tensor_dtype_to_np_dtype(dtype)
    nodes = [helper.make_node("Transpose", ["x0"], ["chw"], perm=[0, 3, 1, 2])] if channels_last else []
    nodes += [
        helper.make_node("Conv", ["chw" if channels_last else "x0", "kernel"], ["edges"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["edges"], ["active"]),
        helper.make_node("GlobalAveragePool", ["active"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("MatMul", ["flat", "weight"], ["logits"]),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info(f"x{n}", dtype, shape) for n in range(inputs)],
        [helper.make_tensor_value_info("logits", dtype, [shape[0], 5])],
        [numpy_helper.from_array(a.astype(kind), n) for a, n in ((KERNEL, "kernel"), (WEIGHT, "weight"))],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def make_images(count=5, channels=3, size=16) -> torch.Tensor:
    return torch.randint(
        0, 256, (count, channels, size, size), dtype=torch.uint8, generator=torch.Generator().manual_seed(0)
    )


def expected_logits(images: torch.Tensor) -> torch.Tensor:
    pixels = images.expand(-1, 3, -1, -1).float() / 255
    edges = torch.conv2d(pixels, torch.from_numpy(KERNEL), padding=1)
    return edges.relu().mean((2, 3)) @ torch.from_numpy(WEIGHT)


@pytest.mark.parametrize(
    ("shape", "channels_last", "size"),
    [
        (["N", 3, 16, 16], False, 16),
        (["N", 3, "H", "W"], False, None),
        ([1, 3, 16, 16], False, 16),
        ([4, 3, 16, 16], False, 16),
        (["N", 16, 16, 3], True, 16),
        ([2, 16, 16, 3], True, 16),
    ],
)
def test_logits_are_those_of_the_same_network_in_torch(tmp_path, shape, channels_last, size):
    write_onnx(tmp_path / "net.onnx", shape, channels_last)
    classifier = open_model(f"onnx:{tmp_path / 'net.onnx'}")
    assert (classifier.name, classifier.input_size, classifier.channels) == ("net", size, 3)
    assert classifier.parameter_count() is None
    for images in (make_images(5), make_images(1), make_images(4, channels=1)):
        # Two libraries, which add up in different orders.
        torch.testing.assert_close(classifier(images), expected_logits(images), atol=1e-5, rtol=1e-5)
    assert classifier(make_images(0)).shape == (0, 5)


def test_a_fixed_size_is_kept_to(tmp_path):
    write_onnx(tmp_path / "net.onnx", ["N", 3, 16, 16])
    classifier = open_model(tmp_path / "net.onnx")  # the suffix says enough
    large = make_images(3, size=40)
    small = torch.nn.functional.interpolate(large.float() / 255, (16, 16), mode="bilinear", antialias=True)
    torch.testing.assert_close(classifier(large), classifier(small), atol=1e-5, rtol=1e-5)


def test_normalisation_happens_before_the_graph(tmp_path):
    write_onnx(tmp_path / "net.onnx", ["N", 3, 16, 16])
    plain = open_model(tmp_path / "net.onnx")
    normalised = open_model(tmp_path / "net.onnx", mean=[0.0] * 3, std=[0.5] * 3)
    images = make_images() // 2
    torch.testing.assert_close(normalised(images), plain(images * 2), atol=1e-5, rtol=1e-5)


def test_half_precision_graphs_get_half_precision(tmp_path):
    write_onnx(tmp_path / "half.onnx", ["N", 3, 16, 16], dtype=TensorProto.FLOAT16)
    logits = open_model(tmp_path / "half.onnx")(make_images())
    assert logits.dtype == torch.float32
    torch.testing.assert_close(logits, expected_logits(make_images()), atol=0.02, rtol=0.02)  # 11 bits


def test_a_fingerprint_is_of_the_file_not_of_its_place(tmp_path):
    write_onnx(tmp_path / "a.onnx", ["N", 3, 16, 16])
    write_onnx(tmp_path / "b.onnx", ["N", 3, 16, 16])
    prints = [open_model(tmp_path / f"{n}.onnx").fingerprint() for n in "ab"]
    assert prints[0] == prints[1]
    assert open_model(tmp_path / "a.onnx").on("cpu").fingerprint() == prints[0]
    assert open_model(tmp_path / "a.onnx", mean=[0.5] * 3, std=[0.5] * 3).fingerprint() != prints[0]
    (tmp_path / "b.onnx.data").write_bytes(b"weights beside the graph")
    assert open_model(tmp_path / "b.onnx").fingerprint() != prints[0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"shape": ["N", 3, 16, 16], "inputs": 2}, "expected one input"),
        ({"shape": ["N", 3, 16, 12]}, "square images, got 16 x 12"),
    ],
)
def test_graphs_that_are_no_classifiers(tmp_path, options, words):
    write_onnx(tmp_path / "odd.onnx", **options)
    with pytest.raises(ValueError, match=words):
        open_model(tmp_path / "odd.onnx")


def test_files_that_are_no_graphs(tmp_path):
    (tmp_path / "text.onnx").write_text("hello")
    with pytest.raises(ValueError, match=r"cannot read .*text\.onnx as an ONNX model"):
        open_model(f"onnx:{tmp_path / 'text.onnx'}")
    with pytest.raises(ValueError, match="there is no file gone"):
        open_model("onnx:gone")
