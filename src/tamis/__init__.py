"""tamis: standing conditions, matched exactly against streams of events.

Names are imported when they are first used, so that `tamis --help` need not wait for pyarrow and numba.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tamis._version import __version__

if TYPE_CHECKING:
    from tamis.composite.matcher import CompositeMatch, SequenceMatcher
    from tamis.errors import (
        ConditionError,
        DialectError,
        EventError,
        EventTypeError,
        MisfitError,
        Problem,
        SnapshotError,
        SubscriptionError,
        TamisError,
    )
    from tamis.events import EventBatch, EventType
    from tamis.explain import Explanation
    from tamis.formulas.formula import Formula
    from tamis.language.bulk import compile_conditions
    from tamis.language.condition import Condition, compile_condition, normalise
    from tamis.language.lint import Finding, lint, lint_many
    from tamis.limits import Limits
    from tamis.matcher import Matcher, OwnerMatch, Refusal
    from tamis.operators.registry import Operator, OperatorError, operator
    from tamis.segments.records import Subscription
    from tamis.statistics import Statistics
    from tamis.syntax.parser import parse
    from tamis.syntax.printing import to_text

__all__ = [
    "CompositeMatch",
    "Condition",
    "ConditionError",
    "DialectError",
    "EventBatch",
    "EventError",
    "EventType",
    "EventTypeError",
    "Explanation",
    "Finding",
    "Formula",
    "Limits",
    "Matcher",
    "MisfitError",
    "Operator",
    "OperatorError",
    "OwnerMatch",
    "Problem",
    "Refusal",
    "SequenceMatcher",
    "SnapshotError",
    "Statistics",
    "Subscription",
    "SubscriptionError",
    "TamisError",
    "__version__",
    "compile_condition",
    "compile_conditions",
    "lint",
    "lint_many",
    "normalise",
    "operator",
    "parse",
    "to_text",
]

_HOMES = {
    "tamis.composite.matcher": ("CompositeMatch", "SequenceMatcher"),
    "tamis.errors": (
        *("ConditionError", "DialectError", "EventError", "EventTypeError", "MisfitError", "Problem"),
        *("SnapshotError", "SubscriptionError", "TamisError"),
    ),
    "tamis.events": ("EventBatch", "EventType"),
    "tamis.explain": ("Explanation",),
    "tamis.language.bulk": ("compile_conditions",),
    "tamis.language.condition": ("Condition", "compile_condition", "normalise"),
    "tamis.formulas.formula": ("Formula",),
    "tamis.language.lint": ("Finding", "lint", "lint_many"),
    "tamis.syntax.parser": ("parse",),
    "tamis.syntax.printing": ("to_text",),
    "tamis.limits": ("Limits",),
    "tamis.matcher": ("Matcher", "OwnerMatch", "Refusal"),
    "tamis.operators.registry": ("Operator", "OperatorError", "operator"),
    "tamis.segments.records": ("Subscription",),
    "tamis.statistics": ("Statistics",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    value = globals()[name] = getattr(import_module(_HOME_OF[name]), name)
    return value
