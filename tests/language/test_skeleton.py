"""Skeletons of conditions: atoms in postfix order with NOT pushed down, and the shapes of common atoms."""

from __future__ import annotations

import numpy as np
import pytest

from tamis.language.skeleton import (
    CONSTANT_DECIMAL,
    CONSTANT_DOUBLE,
    CONSTANT_INTEGER,
    CONSTANT_STRING,
    SHAPE_BARE,
    SHAPE_BETWEEN,
    SHAPE_IN,
    SHAPE_LIKE,
    SHAPE_NULL,
    SHAPE_OTHER,
    AtomShapes,
    Skeletons,
    shapes,
    skeletons,
)
from tamis.syntax.token_column import TokenColumn, tokenise_column
from tamis.syntax.tokens import Kind


def tokens_of(*texts: str) -> TokenColumn:
    encoded = [text.encode() for text in texts]
    offsets = np.concatenate([[0], np.cumsum([len(each) for each in encoded])]).astype(np.int64)
    return tokenise_column(np.frombuffer(b"".join(encoded), np.uint8), offsets)


def postfix(text: str, depth: int = 50) -> str:
    """The nodes of one condition: `+0` an atom that must be true, `-1` one that must be false, `&`, `|`."""
    found: Skeletons = skeletons(tokens_of(text), depth)
    signs = "+-&|"
    atoms = found.atoms.tolist()
    pairs = zip(found.kinds.tolist(), atoms, strict=True)
    return " ".join(signs[kind] + (str(atom) if atom >= 0 else "") for kind, atom in pairs)


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("a", "+0"),
        ("NOT a", "-0"),
        ("NOT NOT ! a", "-0"),
        ("a AND b OR c", "+0 +1 & +2 |"),
        ("a OR b AND c", "+0 +1 +2 & |"),
        ("a < 3 AND NOT (b = 'x' OR c)", "+0 -1 -2 & &"),
        ("(((a)))", "+0"),
        ("a BETWEEN 1 AND 2 AND b", "+0 +1 &"),
        ("f(a AND b) OR c", "+0 +1 |"),
        ("(a + 1) * 2 > 3 AND b", "+0 +1 &"),
    ],
)
def test_atoms_in_postfix_order(text: str, nodes: str) -> None:
    assert postfix(text) == nodes


@pytest.mark.parametrize(
    "text", ["", "a AND", "(a", "a)", "a, b", "a XOR b", "CASE WHEN a THEN b END", "f(?x)", "NOT"]
)
def test_what_is_unusual_is_left_to_the_parser(text: str) -> None:
    assert postfix(text) == ""


def test_depth_is_limited() -> None:
    assert postfix("((a))", depth=3) == "+0"
    assert postfix("((a))", depth=2) == ""


def shape_of(text: str) -> AtomShapes:
    tokens = tokens_of(text)
    return shapes(tokens, skeletons(tokens, 50))


@pytest.mark.parametrize(
    ("text", "shape", "negated", "constants"),
    [
        ("a", SHAPE_BARE, 0, 0),
        ("a.b = 3", int(Kind.EQ), 0, 1),
        ("a >= -3.5", int(Kind.GE), 0, 1),
        ("a IS NULL", SHAPE_NULL, 0, 0),
        ("a IS NOT NULL", SHAPE_NULL, 1, 0),
        ("a LIKE 'x%'", SHAPE_LIKE, 0, 1),
        ("a NOT LIKE 'x%'", SHAPE_LIKE, 1, 1),
        ("a BETWEEN 1 AND 2", SHAPE_BETWEEN, 0, 2),
        ("a NOT IN (1, 2, 3)", SHAPE_IN, 1, 3),
        ("a + 1 = 2", SHAPE_OTHER, 0, 0),
        ("a = b", SHAPE_OTHER, 0, 0),
        ("lower(a) = 'x'", SHAPE_OTHER, 0, 0),
    ],
)
def test_shapes_of_atoms(text: str, shape: int, negated: int, constants: int) -> None:
    found = shape_of(text)
    assert found.shapes.tolist() == [shape]
    if shape != SHAPE_OTHER:
        assert (found.negated.tolist(), np.diff(found.constants).tolist()) == ([negated], [constants])


@pytest.mark.parametrize(
    ("text", "kind", "mantissa", "scale"),
    [
        ("12", CONSTANT_INTEGER, 12, 0),
        ("-12", CONSTANT_INTEGER, -12, 0),
        ("1.50", CONSTANT_DECIMAL, 150, 2),
        ("-2e3", CONSTANT_DOUBLE, -2, -3),
        ("1.5e-2", CONSTANT_DOUBLE, 15, 3),
    ],
)
def test_numbers_are_a_mantissa_and_a_scale(text: str, kind: int, mantissa: int, scale: int) -> None:
    found = shape_of(f"a = {text}")
    assert found.constant_kinds.tolist() == [kind]
    assert (found.mantissas.tolist(), found.scales.tolist()) == ([mantissa], [scale])


def test_strings_are_bytes_of_the_column_and_names_are_numbered() -> None:
    text = "a = 'é' AND b = 'x' AND a = 'y'"
    found = shape_of(text)
    assert found.constant_kinds.tolist() == [CONSTANT_STRING] * 3
    values = [text.encode()[start:end].decode() for start, end in zip(found.starts, found.ends, strict=True)]
    assert values == ["é", "x", "y"]
    assert found.names.tolist() == [0, 1, 0]
