"""Atoms that need no analyser, and their formulas, which are those of the analyser."""

from __future__ import annotations

import numpy as np
import pytest

from tamis.events import EventType
from tamis.language.analysis import resolve_name
from tamis.language.condition import compile_condition
from tamis.language.operands import AttributeOperand, OperandClass, atoms_of, compilable_atoms, operand_class
from tamis.language.skeleton import shapes, skeletons
from tamis.syntax.token_column import tokenise_column
from tamis.values.types import parse_type

TYPE = EventType.of(
    {
        "attributes": {
            "n": "int",
            "d": "double",
            "p": "decimal(8,2)",
            "s": "string",
            "f": "boolean",
            "t": "timestamp",
        }
    }
)


@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        ("tinyint", OperandClass.INTEGRAL),
        ("double", OperandClass.DOUBLE),
        ("float", OperandClass.OTHER),
        ("decimal(8,2)", OperandClass.DECIMAL),
        ("decimal(30,2)", OperandClass.OTHER),
        ("string", OperandClass.STRING),
        ("boolean", OperandClass.BOOLEAN),
        ("date", OperandClass.OTHER),
    ],
)
def test_classes_of_types(type_: str, expected: OperandClass) -> None:
    assert operand_class(parse_type(type_)) is expected


@pytest.mark.parametrize(
    ("text", "compilable"),
    [
        ("n < 3", True),
        ("n < 3.5", False),
        ("n = '3'", False),
        ("d < 3.5", True),
        ("d = 1e2", True),
        ("p >= 1.5", True),
        ("p >= 1.555", False),
        ("s = 'x'", True),
        ("s LIKE '%x'", True),
        ("s = 3", False),
        ("n LIKE 'x'", False),
        ("n IN (1, 2)", True),
        ("n IN (1, 'x')", False),
        ("n BETWEEN 1 AND 2", True),
        ("f", True),
        ("n", False),
        ("f = 1", False),
        ("t IS NOT NULL", True),
        ("t > '2026-01-01'", False),
        ("missing = 1", False),
    ],
)
def test_atoms_without_the_analyser_have_its_formulas(text: str, compilable: bool) -> None:
    content = np.frombuffer(text.encode(), np.uint8)
    tokens = tokenise_column(content, np.array([0, len(content)], np.int64))
    found = shapes(tokens, skeletons(tokens, 50))
    names = [text[start:end] for start, end in zip(found.name_starts, found.name_ends, strict=True)]
    attributes = [resolve_name((name,), TYPE) for name in names]
    operands = [None if each is None else AttributeOperand(each, "UTC") for each in attributes]
    assert compilable_atoms(found, operands, most_constants=100, longest_pattern=100).tolist() == [compilable]
    if compilable:
        (operand,) = operands
        assert operand is not None
        atoms = atoms_of(found, content, operands)
        assert operand.formula(atoms, 0, holds=True) == compile_condition(text, TYPE).formula
        assert operand.formula(atoms, 0, holds=False) == compile_condition(f"NOT ({text})", TYPE).formula
