"""Imperfect merging: several entries of one neighbour become one, the generalised OR of all of them.

The OR alone is a perfect merger and saves nothing; each generalisation makes it smaller and less exact. When a
part is deregistered, the merger is built again from the remaining parts.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from tamis.formulas.formula import Formula, disjunction
from tamis.lab.bittner.pruning import Pruner, RoutingEntry
from tamis.lab.bittner.ranking import Ranking, generalise


def merge(
    formulas: Iterable[Formula], ranking: Ranking, *, count: int | None = None, threshold: float | None = None
) -> Formula:
    """One formula for several: their OR, generalised."""
    return generalise(disjunction(formulas), ranking, count=count, threshold=threshold)


class Merging:
    """The mergers of a routing table. Register and deregister merged entries here; prune the table itself."""

    def __init__(self, pruner: Pruner) -> None:
        self._pruner = pruner
        self._parts: dict[Hashable, dict[Hashable, RoutingEntry]] = {}
        self._mergers: dict[Hashable, Hashable] = {}
        self._counts: dict[Hashable, int] = {}

    def merge(self, id_: Hashable, parts: Iterable[Hashable], count: int) -> Formula:
        """Replace several entries by one, made from their original formulas.

        Args:
            id_: Of the merger; must not be that of another entry.
            parts: Ids of entries of one neighbour, at least two.
            count: Generalisations of the merger: its imperfection.

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
        """Remove an entry, merged or not; returns the entry that changes because of it, by id.

        Raises:
            KeyError: There is none. A merger cannot be removed itself, only its parts.
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
        """Register the merger of the current parts; its hops are the least of theirs."""
        parts = list(self._parts[id_].values())
        self._pruner.register(
            id_,
            disjunction(part.original for part in parts),
            neighbour=parts[0].neighbour,
            hops=min(part.hops for part in parts),
            count=self._counts[id_],
        )
        return self._pruner[id_].current
