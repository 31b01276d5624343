"""Statistics: what is known of events, for whoever must guess which predicates are selective.

Per attribute how many events had it, and a sample of its values. Learned from batches as they are matched, or
given; kept beside snapshots and never inside a segment. Nothing that tamis answers depends on them, only how fast.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.language.codec import Reader, Writer
from tamis.language.expression import Constant, Typed
from tamis.predicates.base import Frame
from tamis.values.column import Value

SAMPLE = 256
"""Values kept of an attribute."""
_ROWS = 64
"""Events of a batch that are looked at."""
_HALF_LIFE = 1 << 16
"""Events after which older ones count half."""


@dataclass(slots=True)
class AttributeStatistics:
    """What is known of one attribute.

    Attributes:
        events: How many events were looked at.
        present: In how many of them it was not NULL.
        sample: Values of it, in no order.
    """

    events: float = 0.0
    present: float = 0.0
    sample: list[Value] = field(default_factory=list)

    @property
    def presence(self) -> float:
        """The share of events that have it, never quite 0 or 1."""
        return (self.present + 0.5) / (self.events + 1.0)


class Statistics:
    """What is known of events; methods may be called from several threads.

    >>> Statistics()
    Statistics(of 0 attributes)
    """

    def __init__(self) -> None:
        self._attributes: dict[Typed, AttributeStatistics] = {}
        self._lock = threading.Lock()
        self._random = np.random.Generator(np.random.PCG64(0))

    def __len__(self) -> int:
        """Number of attributes that something is known of."""
        return len(self._attributes)

    def of(self, attribute: Typed) -> AttributeStatistics | None:
        """What is known of an attribute, None if nothing is."""
        return self._attributes.get(attribute)

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
                }
                for attribute, known in self._attributes.items()
            ]
        return {"attributes": attributes, "expressions": writer.document()}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Statistics:
        """What `to_json` gave.

        Raises:
            CodecError: It is something else.
        """
        found = cls()
        reader = Reader(content["expressions"])
        for each in content["attributes"]:
            constants = (reader.expression(value) for value in each["sample"])
            sample = [constant.value for constant in constants if isinstance(constant, Constant)]
            attribute = reader.expression(each["attribute"])
            found._attributes[attribute] = AttributeStatistics(each["events"], each["present"], sample)
        return found

    def __repr__(self) -> str:
        """How much is known."""
        return f"Statistics(of {len(self)} attributes)"


def shares(ordered: npt.NDArray[np.int64], cuts: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """The share of a sorted sample of coordinates that is below each cut, smoothed: none is quite 0 or 1."""
    below = np.searchsorted(ordered, cuts, side="left")
    even = np.arange(1, len(cuts) + 1) / (len(cuts) + 1)
    return np.asarray((below + even) / (len(ordered) + 1.0))
