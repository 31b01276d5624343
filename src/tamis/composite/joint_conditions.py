"""Conditions on two events, of all composite subscriptions, asked about many pairs of events at once.

Equal conditions are one, whoever has them. A condition that refers to several earlier parts is not one of these:
its subscription is slow, and goes through `Search`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from tamis.arrays import I64, Mask
from tamis.composite.key_steps import AskedPairs
from tamis.composite.parts import CompiledComposite
from tamis.events.batch import EventBatch
from tamis.formulas.expression import Path, walk
from tamis.frames import BatchFrame
from tamis.language.condition import Condition

EventsOf: TypeAlias = Callable[[Iterable[int], Sequence[str] | None], dict[int, Any]]
"""The attributes of events by number: all, or at least some."""


@dataclass(frozen=True, slots=True)
class JointConditions:
    """The conditions of the composites in all slots.

    Attributes:
        is_slow: bool[slots]: does one of its conditions refer to several parts?
        first_part: int64[slots]: where the parts of a composite begin in the next two.
        ids: int64[parts]: the condition of each part, -1 for none.
        refers: int64[parts]: the part that it refers to.
        conditions: By id, with the name of the earlier event.
        attributes: Of events that any of them reads.
    """

    is_slow: Mask
    first_part: I64
    ids: I64
    refers: I64
    conditions: list[tuple[Condition, str]] = field(default_factory=list)
    attributes: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, composites: Mapping[int, CompiledComposite], slots: int) -> JointConditions:
        """The conditions of composites by slot."""
        sizes = np.zeros(slots, np.int64)
        for slot, composite in composites.items():
            sizes[slot] = len(composite.all_parts)
        ids, refers = np.full(sizes.sum(), -1, np.int64), np.zeros(sizes.sum(), np.int64)
        made = cls(np.zeros(slots, np.bool_), np.cumsum(sizes) - sizes, ids, refers)
        known: dict[tuple[str, str, object], int] = {}
        for slot, composite in composites.items():
            names = {part.name: place for place, part in enumerate(composite.parts) if part.name}
            for place, part in enumerate(composite.all_parts):
                if part.joint is None:
                    continue
                steps = [node.steps for node in walk(part.joint.expression) if isinstance(node, Path)]
                named = {each[0] for each in steps if each[0] in names}
                if len(named) != 1:
                    made.is_slow[slot] = True
                    continue
                [name] = named
                id = known.setdefault((part.joint.text, name, part.joint.schema), len(known))
                if id == len(made.conditions):
                    made.conditions.append((part.joint, name))
                    made.attributes.update(each[1] if each[0] == name else each[0] for each in steps)
                ids[made.first_part[slot] + place], refers[made.first_part[slot] + place] = id, names[name]
        return made

    def hold(self, pairs: AskedPairs, number: I64, get_many: EventsOf) -> I64:
        """For which pairs the condition holds; `number` has the number of the event of each row."""
        if not len(pairs.place):
            return pairs.place
        ids = self.ids[self.first_part[pairs.slot] + pairs.part]
        earlier, later = number[pairs.earlier].tolist(), number[pairs.later].tolist()
        events = get_many({*earlier, *later}, [*self.attributes])
        found = []
        for id in np.unique(ids).tolist():
            condition, name = self.conditions[id]
            own = np.flatnonzero(ids == id)
            rows = [{**events[later[pair]], name: events[earlier[pair]]} for pair in own.tolist()]
            column = BatchFrame(EventBatch.of(rows, condition.schema)).column(condition.expression)
            found.append(own[column.valid & column.values])
        return np.concatenate(found)
