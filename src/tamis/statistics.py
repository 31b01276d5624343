"""Statistics of events, from which selectivities are estimated.

For each attribute the fraction of events that have it, and a sample of its values, which serves as a histogram and
as a list of frequent values. They are learned from batches as they are matched, or from a large sample of events,
and kept beside snapshots, never inside a segment. Only speed depends on them, never a pair.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tamis.formulas.codec import FormulaReader, FormulaWriter
from tamis.formulas.expression import Constant, Typed, calls_in, to_syntax
from tamis.formulas.predicates.base import Frame
from tamis.syntax.printing import to_text
from tamis.values.column import Column, Value
from tamis.values.order import order_key
from tamis.values.types import is_ordered

SAMPLE = 256
"""Values kept of an attribute."""
_ROWS = 64
"""Events of a batch that are sampled."""
_HALF_LIFE = 1 << 16
"""Events after which the weight of older ones is halved."""
_QUARTILES = (0.0, 0.25, 0.5, 0.75, 1.0)
_FREQUENT = 5
"""The greatest number of values that are listed as frequent."""


@dataclass(slots=True)
class AttributeStatistics:
    """What is known of one attribute.

    Attributes:
        events: The number of events seen, older ones with less weight.
        present: In how many of them it was not NULL.
        sample: A sample of its values, in no order.
        distinct: The estimated number of distinct values; None if they were not counted.
    """

    events: float = 0.0
    present: float = 0.0
    sample: list[Value] = field(default_factory=list)
    distinct: float | None = None

    @property
    def non_null_fraction(self) -> float:
        """The fraction of events in which it is not NULL, smoothed: never quite 0 or 1."""
        return (self.present + 0.5) / (self.events + 1.0)


class Statistics:
    """What is known of events; methods may be called from several threads.

    Attributes:
        costs: Seconds that a call of an operator took, by its name.
        learned: The number of operator results that it learned from.

    Examples:
        >>> Statistics()
        Statistics(of 0 attributes)
    """

    def __init__(self) -> None:
        self._attributes: dict[Typed, AttributeStatistics] = {}
        self.costs: dict[str, float] = {}
        self.learned = 0
        self._lock = threading.Lock()
        self._random = np.random.Generator(np.random.PCG64(0))

    def __len__(self) -> int:
        """The number of attributes with statistics."""
        return len(self._attributes)

    def of(self, attribute: Typed) -> AttributeStatistics | None:
        """The statistics of an attribute; None if there are none."""
        return self._attributes.get(attribute)

    def learn(self, attribute: Typed, column: Column) -> None:
        """Learn from the values of an attribute, one for each event."""
        values = column.take(np.flatnonzero(column.valid)).to_list()
        with self._lock:
            self._learn(attribute, len(column), values)
            self.learned += len(column)

    def of_calls(self, most: int) -> Statistics:
        """The statistics of attributes that call operators: the `most` that were seen most often."""
        with self._lock:
            calling = [(known.events, at) for at, known in self._attributes.items() if calls_in(at)]
            chosen = [at for _, at in sorted(calling, key=lambda each: -each[0])[:most]]
            found = Statistics()
            found._attributes = {at: copy(self._attributes[at]) for at in chosen}
        return found

    def adopt(self, other: Statistics, *, replace: bool = False) -> None:
        """Copy the statistics of attributes that have none here; with `replace`, of all attributes."""
        with self._lock:
            for attribute, known in other._attributes.items():
                if replace or attribute not in self._attributes:
                    self._attributes[attribute] = copy(known)

    def observe(self, frame: Frame, attributes: Iterable[Typed]) -> None:
        """Learn from some rows of a frame."""
        rows = np.arange(frame.rows)
        if frame.rows > _ROWS:
            rows = np.sort(self._random.choice(frame.rows, _ROWS, replace=False))
        for attribute in attributes:
            column = frame.column(attribute)
            valid = column.valid[rows]
            values = column.take(rows[valid]).to_list() if valid.any() else []
            with self._lock:
                self._learn(attribute, len(rows), values)

    def survey(self, frame: Frame, attributes: Iterable[Typed], total: int) -> None:
        """Replace the statistics of some attributes by those of a large sample of events.

        Of the sorted values those at even distances are kept: every quantile and the fraction of every value is
        right to one part in `SAMPLE`, whatever the order of the events.

        Args:
            frame: The sample.
            attributes: Scalar ones.
            total: The number of events that the sample was drawn from.
        """
        for attribute in attributes:
            column = frame.column(attribute)
            values = column.take(np.flatnonzero(column.valid)).to_list()
            values.sort(key=order_key(attribute.type))
            kept = min(SAMPLE, len(values))
            places = ((np.arange(kept) + 0.5) * len(values) / max(1, kept)).astype(np.int64)
            found = AttributeStatistics(
                float(frame.rows),
                float(len(values)),
                [values[place] for place in places.tolist()],
                _estimate_distinct(values, frame.rows / max(1, total)),
            )
            with self._lock:
                self._attributes[attribute] = found

    def describe(self) -> list[dict[str, Any]]:
        """The statistics of each attribute, by name, for people; values are written as in conditions.

        Returns:
            `attribute`, `presence` (fraction of events), `distinct` (estimated number of values), `quartiles`
            (least to greatest; empty without an order) and `frequent` (value and share among the values of the
            attribute).
        """
        with self._lock:
            return sorted(
                (_describe(attribute, known) for attribute, known in self._attributes.items()),
                key=lambda each: str(each["attribute"]),
            )

    def describe_calls(self) -> dict[str, list[dict[str, Any]]]:
        """As `describe`, for the results of operator calls, by the name of the operator."""
        found: dict[str, list[dict[str, Any]]] = {}
        with self._lock:
            for attribute, known in self._attributes.items():
                for name in sorted({call.operator for call in calls_in(attribute)}):
                    found.setdefault(name, []).append(_describe(attribute, known))
        return found

    def _learn(self, attribute: Typed, events: int, values: list[Value]) -> None:
        known = self._attributes.setdefault(attribute, AttributeStatistics())
        if known.events > _HALF_LIFE:
            known.events /= 2
            known.present /= 2
        known.events += events
        known.present += len(values)
        free = SAMPLE - len(known.sample)
        known.sample.extend(values[:free])
        # Newer values replace older ones at random.
        share = min(1.0, SAMPLE / max(1.0, known.present))
        for value in values[free:] if free > 0 else values:
            if self._random.random() < share:
                known.sample[int(self._random.integers(SAMPLE))] = value

    def to_json(self) -> dict[str, Any]:
        writer = FormulaWriter()
        with self._lock:
            attributes = [
                {
                    "attribute": writer.expression(attribute),
                    "events": known.events,
                    "present": known.present,
                    "sample": [writer.expression(Constant(attribute.type, value)) for value in known.sample],
                    "distinct": known.distinct,
                }
                for attribute, known in self._attributes.items()
            ]
        return {"attributes": attributes, "expressions": writer.document(), "costs": self.costs}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Statistics:
        """The statistics that `to_json` wrote.

        Raises:
            CodecError: The content is something else.
        """
        found = cls()
        found.costs = {str(name): float(cost) for name, cost in content.get("costs", {}).items()}
        reader = FormulaReader(content["expressions"])
        for each in content["attributes"]:
            constants = (reader.expression(value) for value in each["sample"])
            sample = [constant.value for constant in constants if isinstance(constant, Constant)]
            attribute = reader.expression(each["attribute"])
            found._attributes[attribute] = AttributeStatistics(
                each["events"], each["present"], sample, each.get("distinct")
            )
        return found

    def __repr__(self) -> str:
        return f"Statistics(of {len(self)} attributes)"


def _describe(attribute: Typed, known: AttributeStatistics) -> dict[str, Any]:
    has_order = is_ordered(attribute.type)

    def text(value: Value) -> str:
        return to_text(to_syntax(Constant(attribute.type, value))) if has_order else repr(value)

    ordered = sorted(known.sample, key=order_key(attribute.type)) if has_order else known.sample
    texts = [text(value) for value in ordered]
    repeated = [(value, count) for value, count in Counter(texts).most_common(_FREQUENT) if count > 1]
    return {
        "attribute": to_text(to_syntax(attribute)),
        "presence": round(known.non_null_fraction, 4),
        "distinct": len(set(texts)) if known.distinct is None else round(known.distinct),
        "quartiles": [texts[round(share * (len(texts) - 1))] for share in _QUARTILES if texts and has_order],
        "frequent": {value: round(count / len(texts), 4) for value, count in repeated},
    }


def _estimate_distinct(values: Iterable[Value], taken: float) -> float:
    """Estimate the number of distinct values of all events from a sample, a fraction `taken` of them.

    Values seen repeatedly are counted once each. Those seen once stand for others that were not seen: there are at
    least these, and at most `1 / taken` times as many; the estimate is the geometric mean of the two.
    """
    counts = Counter(repr(value) for value in values)
    once = sum(count == 1 for count in counts.values())
    return float(len(counts) - once + once * max(1.0, 1.0 / max(taken, 1e-18)) ** 0.5)
