"""Models of ONNX and of scikit-learn, made here: answers are the model's own, and do not depend on the batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pyarrow as pa
import pytest
import skops.io  # type: ignore[import-untyped]
from onnx import TensorProto, helper, numpy_helper
from sklearn.linear_model import LinearRegression, LogisticRegression  # type: ignore[import-untyped]
from sklearn.neural_network import MLPRegressor  # type: ignore[import-untyped]
from sklearn.preprocessing import FunctionTransformer  # type: ignore[import-untyped]

from tamis.arrays import F64
from tamis.operators import Operator, OperatorError
from tamis.operators.library.models import operators

WEIGHTS = np.array([[0.5], [-2.0]])
ROWS = np.random.default_rng(5).normal(size=(1_000, 2))


def made(file: Path, **spec: Any) -> Operator:
    (operator,) = operators(models={"risk_model": {"file": str(file), "inputs": ["amount", "age"], **spec}})
    return operator


def asked(operator: Operator, rows: F64) -> list[Any]:
    found: list[Any] = operator.function(*(pa.array(column) for column in rows.T)).to_pylist()
    return found


def saved(path: Path, graph: onnx.GraphProto) -> Path:
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    onnx.save(model, path)
    return path


def logistic(path: Path, kind: int = TensorProto.FLOAT) -> Path:
    """One table [n, 2] in; `score` [n, 1] and `both` [n, 2] out."""
    weights = numpy_helper.from_array(WEIGHTS.astype(helper.tensor_dtype_to_np_dtype(kind)), "weights")
    nodes = [
        helper.make_node("MatMul", ["table", "weights"], ["sum"]),
        helper.make_node("Sigmoid", ["sum"], ["score"]),
        helper.make_node("Concat", ["sum", "score"], ["both"], axis=1),
    ]
    outputs = [helper.make_tensor_value_info(name, kind, [None, n]) for name, n in (("score", 1), ("both", 2))]
    table = helper.make_tensor_value_info("table", kind, [None, 2])
    return saved(path, helper.make_graph(nodes, "logistic", [table], outputs, [weights]))


def expected_scores(rows: F64) -> F64:
    scores: F64 = 1 / (1 + np.exp(-(rows @ WEIGHTS)[:, 0]))
    return scores


@pytest.mark.parametrize(("kind", "error"), [(TensorProto.FLOAT, 1e-6), (TensorProto.DOUBLE, 1e-12)])
def test_a_model_of_one_table(kind: int, error: float, tmp_path: Path) -> None:
    operator = made(logistic(tmp_path / "risk.onnx", kind), output="score")
    assert operator.signature == "risk_model(double, double) double"
    assert operator.description == "The output of the model in risk.onnx for amount, age."
    assert asked(operator, ROWS) == pytest.approx(expected_scores(ROWS), abs=error)


def test_a_column_of_an_output(tmp_path: Path) -> None:
    operator = made(logistic(tmp_path / "risk.onnx"), output="both", column=1)
    assert asked(operator, ROWS) == pytest.approx(expected_scores(ROWS), abs=1e-6)


def test_a_model_of_several_inputs(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Cast", ["age"], ["years"], to=TensorProto.FLOAT),
        helper.make_node("Squeeze", ["amount", "axis"], ["flat"]),
        helper.make_node("Div", ["flat", "years"], ["rate"]),
    ]
    inputs = [
        helper.make_tensor_value_info("age", TensorProto.INT64, [None]),
        helper.make_tensor_value_info("amount", TensorProto.FLOAT, [None, 1]),
    ]
    output = helper.make_tensor_value_info("rate", TensorProto.FLOAT, [None])
    axis = numpy_helper.from_array(np.array([1], np.int64), "axis")
    file = saved(tmp_path / "rate.onnx", helper.make_graph(nodes, "rate", inputs, [output], [axis]))
    assert asked(made(file), np.array([[10.0, 4], [9.0, 2]])) == [2.5, 4.5]
    assert asked(made(file, inputs=["age", "amount"]), np.array([[4, 10.0]])) == [2.5]
    with pytest.raises(OperatorError, match="expected inputs age, amount, found height"):
        made(file, inputs=["height"])


def classes(path: Path) -> Path:
    model = LogisticRegression().fit(ROWS, np.where(ROWS @ WEIGHTS > 0, "bad", "good")[:, 0])
    skops.io.dump(model, path)
    return path


def test_a_classifier_of_scikit_learn(tmp_path: Path) -> None:
    file = classes(tmp_path / "risk.skops")
    model = skops.io.load(file)
    chances = asked(made(file, output="predict_proba", column=0), ROWS)
    assert chances == pytest.approx(model.predict_proba(ROWS)[:, 0])
    assert asked(made(file, returns="string"), ROWS) == model.predict(ROWS).tolist()


def test_a_regressor_of_scikit_learn(tmp_path: Path) -> None:
    file = tmp_path / "line.skops"
    skops.io.dump(LinearRegression().fit(ROWS, ROWS @ WEIGHTS), file)
    assert asked(made(file), ROWS) == pytest.approx((ROWS @ WEIGHTS)[:, 0])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["float", "double", "line", "net"])
def test_an_answer_does_not_depend_on_its_batch(kind: str, tmp_path: Path) -> None:
    """To the last bit, for batches of any size."""
    if kind in ("line", "net"):
        file = tmp_path / "model.skops"
        net = MLPRegressor(hidden_layer_sizes=(32,), max_iter=20, random_state=0, tol=1e9, n_iter_no_change=2)
        skops.io.dump((LinearRegression() if kind == "line" else net).fit(ROWS, ROWS[:, 0] ** 2), file)
        operator = made(file, trusted=["sklearn.neural_network._stochastic_optimizers.AdamOptimizer"])
    else:
        number = TensorProto.FLOAT if kind == "float" else TensorProto.DOUBLE
        operator = made(logistic(tmp_path / "model.onnx", number), output="score")
    together = asked(operator, ROWS)
    for size in (1, 2, 3, 7, 16, 333):
        parts = [asked(operator, ROWS[first : first + size]) for first in range(0, len(ROWS), size)]
        assert [each for part in parts for each in part] == together


def test_no_rows(tmp_path: Path) -> None:
    assert asked(made(logistic(tmp_path / "risk.onnx"), output="score"), np.empty((0, 2))) == []


def test_names_of_columns_must_be_those_of_the_training(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    file = tmp_path / "named.skops"
    table = pandas.DataFrame(ROWS, columns=["amount", "age"])
    skops.io.dump(LinearRegression().fit(table, ROWS[:, 0]), file)
    assert asked(made(file), ROWS[:3]) == pytest.approx(ROWS[:3, 0])
    with pytest.raises(OperatorError, match="expected inputs amount, age, found age, amount"):
        made(file, inputs=["age", "amount"])


def test_types_that_are_not_trusted_are_not_loaded(tmp_path: Path) -> None:
    file = tmp_path / "custom.skops"
    skops.io.dump(FunctionTransformer(func=np.testing.assert_equal), file)
    with pytest.raises(OperatorError, match=r"custom\.skops: it holds types that are not trusted: numpy\.testing"):
        made(file)


def test_files_that_are_no_models(tmp_path: Path) -> None:
    for name in ("bad.onnx", "bad.skops"):
        (tmp_path / name).write_bytes(b"nothing")
        with pytest.raises(OperatorError, match=rf"{name}: this cannot be"):
            made(tmp_path / name)


def test_outputs_must_be_there(tmp_path: Path) -> None:
    file = logistic(tmp_path / "risk.onnx")
    for spec, problem in (
        ({}, "several outputs; say which with the setting 'output': score, both"),
        ({"output": "scores"}, r"no output 'scores'; did you mean 'score'\?"),
        ({"output": "both"}, "its output has 2 columns; say which"),
        ({"output": "both", "column": 2}, "its output has 2 columns, found column = 2"),
        ({"output": "score", "inputs": ["a", "b", "c"]}, "it fails when it is tried"),
    ):
        with pytest.raises(OperatorError, match=problem):
            made(file, **spec)
    with pytest.raises(OperatorError, match=r"no output 'predict_prob'; did you mean 'predict_proba'\?"):
        made(classes(tmp_path / "risk.skops"), output="predict_prob")


def test_all_settings_that_are_wrong_are_named() -> None:
    with pytest.raises(OperatorError) as caught:
        operators(
            models={
                "a": {"file": "risk.pickle", "inputs": "amount", "returns": "date", "colunm": 1},
                "b": {"file": "missing.onnx", "inputs": ["x"], "column": "one"},
            }
        )
    text = str(caught.value)
    for problem in (
        "a: unknown setting 'colunm'; did you mean 'column'?",
        "a: expected a file .onnx or .skops, found 'risk.pickle'",
        "a: inputs: expected names, found 'amount'",
        "a: returns: expected a number, boolean or string, found date",
        "b: there is no file missing.onnx",
        "b: column: expected a number from 0 on, found 'one'",
    ):
        assert problem in text
