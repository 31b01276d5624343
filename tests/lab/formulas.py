"""Conditions as formulas, for the tests of engines."""

from __future__ import annotations

from tamis.formulas.formula import Formula
from tamis.language.condition import compile_condition


def formulas_of(*texts: str) -> list[Formula]:
    return [compile_condition(text).formula for text in texts]
