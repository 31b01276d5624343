"""How `risk.onnx` was made: a small neural network, trained on payments of another seed. Needs the package `onnx`.

A payment becomes four numbers, scaled inside of the model: so conditions pass attributes as they are.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from payments import payments
from sklearn.neural_network import MLPClassifier

INPUTS = ("amount", "hour", "km_from_home", "card_days")
SCALE = np.array([500, 24, 1_000, 1_000], np.float32)


def train(seed: int = 4) -> onnx.ModelProto:
    """Fit the network and write its three layers as a graph of ONNX: rows [n, 4] to risks [n, 1]."""
    seen = payments(5_000, seed)
    rows = np.array([[row[name] for name in INPUTS] for row in seen], np.float32) / SCALE
    fitted = MLPClassifier((8, 4), solver="lbfgs", alpha=1e-3, max_iter=1_000, random_state=seed)
    fitted.fit(rows, [row["fraud"] for row in seen])
    arrays = [
        SCALE,
        *(
            each.astype(np.float32)
            for pair in zip(fitted.coefs_, fitted.intercepts_, strict=True)
            for each in pair
        ),
    ]
    nodes = [helper.make_node("Div", ["rows", "a0"], ["layer0"])]
    for layer, activation in enumerate(("Relu", "Relu", "Sigmoid")):
        last = "risk" if activation == "Sigmoid" else f"layer{layer + 1}"
        nodes += [
            helper.make_node("Gemm", [f"layer{layer}", f"a{2 * layer + 1}", f"a{2 * layer + 2}"], [f"sum{layer}"]),
            helper.make_node(activation, [f"sum{layer}"], [last]),
        ]
    graph = helper.make_graph(
        nodes,
        "risk",
        [helper.make_tensor_value_info("rows", TensorProto.FLOAT, [None, len(INPUTS)])],
        [helper.make_tensor_value_info("risk", TensorProto.FLOAT, [None, 1])],
        [numpy_helper.from_array(array, f"a{number}") for number, array in enumerate(arrays)],
    )
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


if __name__ == "__main__":
    Path("risk.onnx").write_bytes(train().SerializeToString())
