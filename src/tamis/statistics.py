"""Statistics: what is known of events, for whoever must guess which predicates are selective.

Per attribute how many events had it, and a sample of its values, which is a histogram and a list of frequent
values at once. Learned from batches as they are matched, or from a large sample of events; kept beside snapshots
and never inside a segment. Nothing that tamis answers depends on them, only how fast.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.language.codec import Reader, Writer
from tamis.language.expression import Constant, Typed, calls_in, to_syntax
from tamis.language.printing import to_text
from tamis.predicates.base import Frame
from tamis.values.column import Column, Value
from tamis.values.order import order_key
from tamis.values.types import is_ordered

SAMPLE = 256
"""Values kept of an attribute."""
_ROWS = 64
"""Events of a batch that are looked at."""
_HALF_LIFE = 1 << 16
"""Events after which older ones count half."""
_QUARTILES = (0.0, 0.25, 0.5, 0.75, 1.0)
_FREQUENT = 5
"""Values that are described as frequent, at most."""


@dataclass(slots=True)
class AttributeStatistics:
    """What is known of one attribute.

    Attributes:
        events: How many events were looked at.
        present: In how many of them it was not NULL.
        sample: Values of it, in no order, each as often as it is likely.
        distinct: How many different values there are, as far as anybody can tell; None if nobody counted.
    """

    events: float = 0.0
    present: float = 0.0
    sample: list[Value] = field(default_factory=list)
    distinct: float | None = None

    @property
    def presence(self) -> float:
        """The share of events that have it, never quite 0 or 1."""
        return (self.present + 0.5) / (self.events + 1.0)


class Statistics:
    """What is known of events; methods may be called from several threads.

    Attributes:
        costs: Seconds that a call of an operator took, by its name.
        learned: Answers of operators that were learned from.

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
        """Number of attributes that something is known of."""
        return len(self._attributes)

    def of(self, attribute: Typed) -> AttributeStatistics | None:
        """What is known of an attribute, None if nothing is."""
        return self._attributes.get(attribute)

    def learn(self, attribute: Typed, column: Column) -> None:
        """Learn from values of an attribute, one an event."""
        values = column.take(np.flatnonzero(column.valid)).to_list()
        with self._lock:
            self._learn(attribute, len(column), values)
            self.learned += len(column)

    def of_calls(self, most: int) -> Statistics:
        """What is known of attributes that call operators, of those at most that were seen most."""
        with self._lock:
            calling = [(known.events, at) for at, known in self._attributes.items() if calls_in(at)]
            chosen = [at for _, at in sorted(calling, key=lambda each: -each[0])[:most]]
            found = Statistics()
            found._attributes = {at: copy(self._attributes[at]) for at in chosen}
        return found

    def adopt(self, other: Statistics, *, replace: bool = False) -> None:
        """Take over what another knows of attributes of which this one knows nothing; or of all that it knows."""
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
        """Take what a large sample of events says for all that is known of these attributes.

        Of the values in order, those at even distances are kept: every quantile and the share of every value is
        right to one part in `SAMPLE`, whatever the order of the events.

        Args:
            frame: The sample.
            attributes: Of single values.
            total: Number of events that the sample was drawn from.
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
                _distinct(values, frame.rows / max(1, total)),
            )
            with self._lock:
                self._attributes[attribute] = found

    def describe(self) -> list[dict[str, Any]]:
        """For people: what is known of each attribute, by name, its values as conditions write them.

        Returns:
            `attribute`, `presence` (share of events), `distinct` (values, as far as known), `quartiles` (least to
            greatest; empty without an order) and `frequent` (value and share among the values of the attribute).
        """
        with self._lock:
            return sorted(
                (_described(attribute, known) for attribute, known in self._attributes.items()),
                key=lambda each: str(each["attribute"]),
            )

    def describe_calls(self) -> dict[str, list[dict[str, Any]]]:
        """As `describe`, what calls of operators gave, by the name of the operator."""
        found: dict[str, list[dict[str, Any]]] = {}
        with self._lock:
            for attribute, known in self._attributes.items():
                for name in sorted({call.operator for call in calls_in(attribute)}):
                    found.setdefault(name, []).append(_described(attribute, known))
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
        # Newer values take the place of older ones, at random.
        share = min(1.0, SAMPLE / max(1.0, known.present))
        for value in values[free:] if free > 0 else values:
            if self._random.random() < share:
                known.sample[int(self._random.integers(SAMPLE))] = value

    def to_json(self) -> dict[str, Any]:
        """As data for JSON."""
        writer = Writer()
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
        """What `to_json` gave.

        Raises:
            CodecError: It is something else.
        """
        found = cls()
        found.costs = {str(name): float(cost) for name, cost in content.get("costs", {}).items()}
        reader = Reader(content["expressions"])
        for each in content["attributes"]:
            constants = (reader.expression(value) for value in each["sample"])
            sample = [constant.value for constant in constants if isinstance(constant, Constant)]
            attribute = reader.expression(each["attribute"])
            found._attributes[attribute] = AttributeStatistics(
                each["events"], each["present"], sample, each.get("distinct")
            )
        return found

    def __repr__(self) -> str:
        """How much is known."""
        return f"Statistics(of {len(self)} attributes)"


def _described(attribute: Typed, known: AttributeStatistics) -> dict[str, Any]:
    has_order = is_ordered(attribute.type)

    def text(value: Value) -> str:
        return to_text(to_syntax(Constant(attribute.type, value))) if has_order else repr(value)

    ordered = sorted(known.sample, key=order_key(attribute.type)) if has_order else known.sample
    texts = [text(value) for value in ordered]
    repeated = [(value, count) for value, count in Counter(texts).most_common(_FREQUENT) if count > 1]
    return {
        "attribute": to_text(to_syntax(attribute)),
        "presence": round(known.presence, 4),
        "distinct": len(set(texts)) if known.distinct is None else round(known.distinct),
        "quartiles": [texts[round(share * (len(texts) - 1))] for share in _QUARTILES if texts and has_order],
        "frequent": {value: round(count / len(texts), 4) for value, count in repeated},
    }


def _distinct(values: Iterable[Value], taken: float) -> float:
    """How many different values all events have, of which a share was `taken`.

    Values that were seen repeatedly are all there are of their kind. Those that were seen once stand for others
    that were not: there may be just these, or `1 / taken` times as many, and the geometric mean is never far off.
    """
    counts = Counter(repr(value) for value in values)
    once = sum(count == 1 for count in counts.values())
    return float(len(counts) - once + once * max(1.0, 1.0 / max(taken, 1e-18)) ** 0.5)


def shares(ordered: npt.NDArray[np.int64], cuts: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """The share of a sorted sample of coordinates that is below each cut, smoothed: none is quite 0 or 1."""
    below = np.searchsorted(ordered, cuts, side="left")
    even = np.arange(1, len(cuts) + 1) / (len(cuts) + 1)
    return np.asarray((below + even) / (len(ordered) + 1.0))
