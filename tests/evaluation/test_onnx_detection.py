"""Detectors in ONNX files."""

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

from scuff.models.detectors import open_task_model


def test_outputs_are_told_by_their_names(tmp_path) -> None:
    values = {
        "detection_boxes": np.array([[[1, 2, 3, 4]]], np.float32),
        "scores": np.array([[0.5]], np.float32),
        "class_labels": np.array([[7]], np.int64),
    }
    constants = [
        helper.make_node("Constant", [], [name], value=numpy_helper.from_array(value)) for name, value in values.items()
    ]
    outputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in values.items()
    ]
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, "height", "width"])
    nothing = helper.make_node("Identity", ["image"], ["same"])
    same = helper.make_tensor_value_info("same", TensorProto.FLOAT, [1, 3, "height", "width"])
    graph = helper.make_graph([*constants, nothing], "detector", [image], [*outputs, same])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, tmp_path / "net.onnx")
    detector = open_task_model(f"onnx:{tmp_path}/net.onnx", "detection")
    assert detector.name == "net"
    found = detector.on("cpu")(torch.zeros(2, 3, 6, 9, dtype=torch.uint8))
    assert len(found) == 2
    assert found[0].boxes.tolist() == [[1, 2, 3, 4]]
    assert found[1].labels.tolist() == [7]
    assert detector.fingerprint() != ""
