"""Imperfect merging: entries of one neighbour become one, which is their OR, generalised some times.

The OR alone is perfect and saves nothing; each generalisation makes it smaller and less exact. Like everything
that hides entries behind others, merging has its price when one goes: the merger is made again of those that are
left.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from tamis.language.formula import Formula, disjunction
from tamis.routing.pruning import Entry, Pruner
from tamis.routing.ranking import Ranking, generalised


def merged(
    formulas: Iterable[Formula], ranking: Ranking, *, count: int | None = None, threshold: float | None = None
) -> Formula:
    """One formula for several: their OR, generalised."""
    return generalised(disjunction(formulas), ranking, count=count, threshold=threshold)


class Merging:
    """The mergers of a table; who uses it registers and deregisters entries here, and prunes the table itself."""

    def __init__(self, pruner: Pruner) -> None:
        """None yet, of the table's entries."""
        self._pruner = pruner
        self._parts: dict[Hashable, dict[Hashable, Entry]] = {}
        self._mergers: dict[Hashable, Hashable] = {}
        self._counts: dict[Hashable, int] = {}

    def merge(self, id_: Hashable, parts: Iterable[Hashable], count: int) -> Formula:
        """Make one entry of several, of which the originals count, not what they have become.

        Args:
            id_: Of the merger; must not be that of another entry.
            parts: Ids of entries of one neighbour, at least two.
            count: How often the merger is generalised: its imperfection.

        Raises:
            KeyError: An entry is not there.
            ValueError: They are too few or come from different neighbours, or the id is in use.
        """
        entries = {part: self._pruner[part] for part in parts}
        neighbours = {entry.neighbour for entry in entries.values()}
        if len(neighbours) != 1 or len(entries) < 2 or id_ in self._pruner:
            msg = (
                f"merger {id_!r}: expected an id of its own and entries of one neighbour, found {list(entries)!r}"
            )
            raise ValueError(msg)
        for part in entries:
            self._pruner.deregister(part)
            self._mergers[part] = id_
        self._parts[id_], self._counts[id_] = entries, count
        return self._make(id_)

    def deregister(self, part: Hashable) -> dict[Hashable, Formula]:
        """Remove an entry, merged or not; gives the merger, or the only one left of it, as it is now.

        Raises:
            KeyError: There is none; a merger is none, it goes with its parts.
        """
        if part in self._parts:
            raise KeyError(part)
        if part not in self._mergers:
            self._pruner.deregister(part)
            return {}
        id_ = self._mergers.pop(part)
        del self._parts[id_][part]
        self._pruner.deregister(id_)
        if len(self._parts[id_]) > 1:
            return {id_: self._make(id_)}
        (rest,) = self._parts.pop(id_).values()
        del self._counts[id_], self._mergers[rest.id]
        self._pruner.register(rest.id, rest.original, neighbour=rest.neighbour, hops=rest.hops)
        return {rest.id: rest.original}

    def _make(self, id_: Hashable) -> Formula:
        """Register a merger of the parts that there are, as near as the nearest."""
        parts = list(self._parts[id_].values())
        self._pruner.register(
            id_,
            disjunction(part.original for part in parts),
            neighbour=parts[0].neighbour,
            hops=min(part.hops for part in parts),
            count=self._counts[id_],
        )
        return self._pruner[id_].current
