"""Trained models: each is an operator of the numbers that it was trained on, `risk_model(amount, age) >= 0.7`.

A model is a file of ONNX, or one that skops wrote of a model of scikit-learn; nothing is ever unpickled.

A batch is one run of the model. Numeric libraries sum up in another order when rows are few, so that the last bits
of an answer would depend on the others of its batch. Therefore every run is filled up to a multiple of 16 rows,
which they treat all alike, and ONNX uses one thread.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from tamis.arrays import F64, AnyArray
from tamis.errors import EventTypeError
from tamis.events.arrow_out import arrow_type
from tamis.events.schemas import suggestion
from tamis.operators.library.support import import_extra, raise_problems, read_tables
from tamis.operators.registry import Operator, OperatorError
from tamis.values.types import BOOLEAN, DOUBLE, STRING, Type, is_numeric, parse_type

_BLOCK_ROWS = 16
_COST_SECONDS = 5e-6
_ONNX_NUMBERS = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
}
_METHODS = ("predict", "predict_proba", "decision_function", "score_samples")


def operators(*, models: Mapping[str, Mapping[str, Any]]) -> list[Operator]:
    """An operator for each model, with an argument of type double for each of its inputs.

    Args:
        models: By the name of the operator: `file` (.onnx or .skops), `inputs` (what the arguments are called, in
            the order of the model's columns, or as the model calls its inputs if it has several) and, where
            needed, `returns` (double unless given), `output` (the name of an output of ONNX; a method of
            scikit-learn such as `predict_proba`, else `predict`), `column` (of an output that has several),
            `trusted` (types that a file of skops may hold beyond those that skops trusts by itself) and `cost` in
            seconds for an event.

    Raises:
        OperatorError: A package is not installed, or a model cannot be loaded or does not answer as it should.
    """
    specs = read_tables("models", models, _read_spec)
    made = {name: _Model(name, spec) for name, spec in specs.items()}
    return [
        Operator(
            name,
            (DOUBLE,) * len(spec.inputs),
            spec.returns,
            made[name].predict,
            cost=spec.cost,
            description=f"The output of the model in {Path(spec.file).name} for {', '.join(spec.inputs)}.",
        )
        for name, spec in specs.items()
    ]


@dataclass(frozen=True, slots=True)
class _ModelSpec:
    """A model, and how to ask it."""

    file: str
    inputs: tuple[str, ...]
    returns: Type = DOUBLE
    output: str | None = None
    column: int | None = None
    trusted: tuple[str, ...] = ()
    cost: float = _COST_SECONDS


class _Runner(Protocol):
    """A loaded model of any kind."""

    def run(self, rows: F64) -> Any:
        """Its output for rows [n, inputs]: values [n] or [n, columns]."""


class _Model:
    """A model with its settings; tried once when it is loaded."""

    def __init__(self, name: str, spec: _ModelSpec) -> None:
        self._spec = spec
        self._type = arrow_type(spec.returns)
        self._runner: _Runner = _OnnxRunner(spec) if spec.file.endswith(".onnx") else _SkopsRunner(spec)
        try:
            self.predict(*(pa.array([0.0]) for _ in spec.inputs))
        except OperatorError:
            raise
        except Exception as error:  # whatever the libraries raise
            msg = f"model {name!r}, {spec.file}: it fails when it is tried: {error}"
            raise OperatorError(msg) from error

    def predict(self, *inputs: pa.DoubleArray) -> pa.Array:
        """One prediction for each row."""
        rows = np.stack([each.to_numpy(zero_copy_only=False) for each in inputs], axis=1)
        if not len(rows):
            return pa.nulls(0, self._type)
        filled = np.concatenate([rows, np.zeros((-len(rows) % _BLOCK_ROWS, len(inputs)))])
        found = self._output_column(np.asarray(self._runner.run(filled)))[: len(rows)]
        return pa.array(found.tolist() if found.dtype == object else found).cast(self._type)

    def _output_column(self, found: AnyArray) -> AnyArray:
        """One value a row."""
        table = found.reshape(len(found), -1)
        columns, column = table.shape[1], self._spec.column
        if column is None and columns != 1:
            msg = f"{self._spec.file}: its output has {columns} columns; say which with the setting 'column'"
            raise OperatorError(msg)
        if column is not None and not 0 <= column < columns:
            msg = f"{self._spec.file}: its output has {columns} columns, found column = {column}"
            raise OperatorError(msg)
        chosen: AnyArray = table[:, column or 0]
        return chosen


# --- ONNX ------------------------------------------------------------------------------------------------------


class _OnnxRunner:
    """A session of ONNX Runtime."""

    def __init__(self, spec: _ModelSpec) -> None:
        onnxruntime = import_extra("onnxruntime", "models")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        try:
            self._session = onnxruntime.InferenceSession(spec.file, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # ONNX Runtime has no class for all of its errors
            msg = f"{spec.file}: this cannot be used as a model of ONNX: {error}"
            raise OperatorError(msg) from error
        self._inputs = self._session.get_inputs()
        self._one_table = len(self._inputs) == 1 and (len(spec.inputs) > 1 or len(self._inputs[0].shape) > 1)
        self._columns = {name: number for number, name in enumerate(spec.inputs)}
        self._output = self._output_name(spec)
        raise_problems(spec.file, self._problems(spec))

    def run(self, rows: F64) -> Any:
        """One run of the session."""
        with np.errstate(invalid="ignore"):  # NaN for a model of integers
            given = {each.name: self._input_values(each, rows) for each in self._inputs}
        return self._session.run([self._output], given)[0]

    def _input_values(self, each: Any, rows: F64) -> AnyArray:
        """An input of the model: all columns, or its own."""
        taken = rows if self._one_table else rows[:, self._columns[each.name]]
        typed = taken.astype(_ONNX_NUMBERS[each.type])
        return typed if self._one_table or len(each.shape) < 2 else typed[:, np.newaxis]

    def _output_name(self, spec: _ModelSpec) -> str:
        outputs = {each.name: each.type for each in self._session.get_outputs()}
        name = spec.output or next(iter(outputs))
        known = ", ".join(outputs)
        if spec.output is None and len(outputs) > 1:
            raise_problems(spec.file, [f"it has several outputs; say which with the setting 'output': {known}"])
        if name not in outputs:
            raise_problems(
                spec.file, [f"there is no output {name!r}{suggestion(name, outputs)}; known are {known}"]
            )
        if not outputs[name].startswith("tensor("):
            raise_problems(
                spec.file, [f"expected a tensor as output {name!r}, found {outputs[name]} (was it zipped?)"]
            )
        return name

    def _problems(self, spec: _ModelSpec) -> list[str]:
        problems = [
            f"expected numbers as input {each.name!r}, found {each.type}"
            for each in self._inputs
            if each.type not in _ONNX_NUMBERS
        ]
        own = {each.name for each in self._inputs}
        if not self._one_table and own != set(spec.inputs):
            problems.append(f"expected inputs {', '.join(sorted(own))}, found {', '.join(spec.inputs)}")
        return problems


# --- scikit-learn ----------------------------------------------------------------------------------------------


class _SkopsRunner:
    """A model of scikit-learn, loaded by skops."""

    def __init__(self, spec: _ModelSpec) -> None:
        io = import_extra("skops.io", "models")
        import_extra("sklearn", "models")
        try:
            untrusted = set(io.get_untrusted_types(file=spec.file)) - set(spec.trusted)
            if untrusted:
                raise_problems(spec.file, [f"it holds types that are not trusted: {', '.join(sorted(untrusted))}"])
            model = io.load(spec.file, trusted=list(spec.trusted))
        except OperatorError:
            raise
        except Exception as error:  # skops raises what the parts of a file make it raise
            msg = f"{spec.file}: this cannot be loaded as a model of scikit-learn: {error}"
            raise OperatorError(msg) from error
        method = spec.output or "predict"
        if method not in _METHODS or not hasattr(model, method):
            known = [each for each in _METHODS if hasattr(model, each)]
            raise_problems(
                spec.file, [f"there is no output {method!r}{suggestion(method, known)}; known are {known}"]
            )
        trained = getattr(model, "feature_names_in_", None)
        if trained is not None and list(trained) != list(spec.inputs):
            raise_problems(spec.file, [f"expected inputs {', '.join(trained)}, found {', '.join(spec.inputs)}"])
        self._predict = getattr(model, method)

    def run(self, rows: F64) -> Any:
        """One call of the model's method."""
        with warnings.catch_warnings():
            # The names were compared when the model was loaded.
            warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
            return self._predict(rows)


# --- settings --------------------------------------------------------------------------------------------------


def _read_spec(given: Mapping[str, Any]) -> tuple[_ModelSpec | None, list[str]]:
    known = [field.name for field in fields(_ModelSpec)]
    problems = [f"unknown setting {each!r}{suggestion(each, known)}" for each in given if each not in known]
    file, column = str(given.get("file", "")), given.get("column")
    if not file.endswith((".onnx", ".skops")):
        problems.append(f"expected a file .onnx or .skops, found {file!r}")
    elif not Path(file).is_file():
        problems.append(f"there is no file {file}")
    inputs, trusted = given.get("inputs", ()), given.get("trusted", ())
    for what, names, least in (("inputs", inputs, 1), ("trusted", trusted, 0)):
        if not _are_names(names) or len(names) < least:
            problems.append(f"{what}: expected names, found {names!r}")
    if column is not None and not isinstance(column, int):
        problems.append(f"column: expected a number from 0 on, found {column!r}")
    try:
        returns = parse_type(str(given.get("returns", "double")))
        if not is_numeric(returns) and returns not in (BOOLEAN, STRING):
            problems.append(f"returns: expected a number, boolean or string, found {returns}")
    except EventTypeError as error:
        problems.append(f"returns: {error}")
    if problems:
        return None, problems
    typed = {"file": file, "inputs": tuple(inputs), "trusted": tuple(trusted), "returns": returns}
    return _ModelSpec(**{**given, **typed}), []


def _are_names(given: object) -> bool:
    return (
        isinstance(given, Sequence) and not isinstance(given, str) and all(isinstance(each, str) for each in given)
    )
