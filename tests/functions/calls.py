"""Calls of functions by name, as the analyser makes them."""

from __future__ import annotations

from typing import Any

from tamis.functions import FUNCTIONS
from tamis.functions.registry import Argument
from tamis.values.column import column_of
from tamis.values.types import (
    NULL,
    STRING,
    Type,
)


def call(name: str, *typed: tuple[Type, Any], zone: str = "UTC") -> Any:
    function = FUNCTIONS[name]
    signature = function.resolve([Argument(type_, True, value) for type_, value in typed], zone)
    return function.scalar(signature)(*(value for _, value in typed))


def results(name: str, types: list[Type], rows: list[tuple[Any, ...]]) -> list[Any]:
    """The results for rows of values in the parameter types, after checking that the batch form agrees."""
    function = FUNCTIONS[name]
    signature = function.resolve([Argument(type_) for type_ in types], "UTC")
    assert list(signature.parameters) == types, "the test gives values of the parameter types"
    expected = [function.scalar(signature)(*row) for row in rows]
    columns = [
        column_of(type_, list(values)) for type_, values in zip(types, zip(*rows, strict=True), strict=True)
    ]
    batch = function.apply(signature, columns, len(rows)).to_list()
    assert list(map(repr, batch)) == list(map(repr, expected))
    return expected


def check_batch(name: str, arguments: list[tuple[Type, list[Any]]], zone: str) -> None:
    """Check that the batch form gives what the scalar form gives row by row; texts are constants."""
    function = FUNCTIONS[name]
    described = [Argument(type_, type_ in (STRING, NULL), values[0]) for type_, values in arguments]
    signature = function.resolve(described, zone)
    columns = [
        column_of(type_, values) for type_, (_, values) in zip(signature.parameters, arguments, strict=True)
    ]
    rows = list(zip(*(values for _, values in arguments), strict=True))
    scalar = function.scalar(signature)
    assert function.apply(signature, columns, len(rows)).to_list() == [scalar(*row) for row in rows]
