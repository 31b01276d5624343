"""References to subscriptions in a snapshot, small enough to be sent to workers.

A task carries a reference, never the subscriptions. A process opens what it refers to once, for all of its tasks.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import NamedTuple

from tamis.engines import AUTO
from tamis.matchers import Matchers
from tamis.operators.discovery import INSTALLED, OperatorSettings, check_installed
from tamis.verification.search import GREEDY

_MOST_OPEN = 4
"""References that a process keeps open: a shard and the routing table of the newest version, and those of the
version before, which a late task may still need."""


class _OpenSnapshot(NamedTuple):
    """A version that is open, and the operators that its conditions call."""

    matchers: Matchers
    operators: frozenset[str]


_open_snapshots: OrderedDict[SnapshotRef, _OpenSnapshot] = OrderedDict()


@dataclass(frozen=True, slots=True)
class SnapshotRef:
    """The subscriptions of a task: a version of a snapshot, or some segments of it.

    Attributes:
        url: Where the snapshot is, as workers reach it.
        version: The version of the snapshot.
        engine: The engine that matches.
        segments: The names of the segments; None for all.
        operators: Where operators come from; loaded if a condition calls one.
        call_order: Which call of an operator is made next.
        expired: With subscriptions that expired lately, for events that were accepted before.
        parts: With the parts of composite subscriptions.
    """

    url: str = field(repr=False)  # it may hold keys
    version: int
    engine: str = AUTO
    segments: frozenset[str] | None = None
    operators: OperatorSettings = INSTALLED
    expired: bool = False
    call_order: str = GREEDY
    parts: bool = False

    def matchers(self) -> Matchers:
        """The matchers of this process, with all the operators that they need.

        Raises:
            OperatorError: An operator that conditions call cannot be loaded, or is not known here.
        """
        found = _open_snapshots.pop(self, None)
        if found is None:
            opened = Matchers.open(
                self.url,
                self.version,
                segments=self.segments,
                engine=self.engine,
                call_order=self.call_order,
                expired=self.expired,
                parts=self.parts,
            )
            found = _OpenSnapshot(opened, frozenset(name for each in opened for name in opened[each].operators()))
        if found.operators:  # each time: a task of another query may have loaded others of the same names
            self.operators.load()
            check_installed(found.operators)
        _open_snapshots[self] = found
        while len(_open_snapshots) > _MOST_OPEN:
            _open_snapshots.popitem(last=False)
        return found.matchers
