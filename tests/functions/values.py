"""The value of a constant expression, for tests of functions."""

from __future__ import annotations

from typing import Any

from tamis.errors import ConditionError
from tamis.events import EventType
from tamis.formulas.expression import Constant
from tamis.language.analysis import analyse
from tamis.syntax.parser import parse

EVENT_TYPE = EventType.of({"attributes": {"n": "int"}})


def value(text: str) -> Any:
    """What the analyser folds the expression to; a refusal raises."""
    expression, problems = analyse(parse(text), EVENT_TYPE, is_whole=False)
    if problems:
        raise ConditionError(text, problems)
    assert isinstance(expression, Constant), "the expression must be constant"
    return expression.value
