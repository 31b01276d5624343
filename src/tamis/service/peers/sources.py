"""The conditions behind a site, kept up to date by the change log of the store.

What a store has is read once; after that a change costs as much as there is that changed.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from tamis.service.names import link_of
from tamis.store import Store
from tamis.store.records import StoredSubscription
from tamis.store.tables import ACTIVE, LIVING, WAITING, Row


class Source(NamedTuple):
    """A condition behind this site: the link that it lives behind (None: here), its type, text and dialect."""

    link: str | None
    event_type: str
    condition: str
    dialect: str


class SourceTable:
    """What the living subscriptions and entries of a store ask for; several threads may call it.

    Attributes:
        version: Of the store, as it was read last; -1 before.
    """

    def __init__(self, store: Store) -> None:
        self.version = -1
        self._store = store
        self._by_id: dict[str, Source] = {}
        self._uses: Counter[Source] = Counter()
        self._held: dict[str, dict[str, int]] = {}
        self._lock = threading.Lock()

    def read(self) -> frozenset[Source]:
        """All conditions that are matched, or will be."""
        with self._lock:
            self._refresh()
            return frozenset(self._uses)

    def held(self, link: str) -> dict[str, int]:
        """The entries that came over a link: their keys, and the bytes of their texts."""
        with self._lock:
            self._refresh()
            return {**self._held.get(link, {})}

    def _refresh(self) -> None:
        """Read what has changed, as far as the log has it."""
        with self._store.view() as view:
            if self.version < view.trimmed:
                self._by_id.clear()
                self._uses.clear()
                self._held.clear()
                self._take((each.id, each) for each in view.subscriptions())
            elif self.version < view.version:
                ids = view.changed_subscriptions(self.version).ids
                rows = view.rows(ids)
                self._take((id, rows.get(id)) for id in ids)
            self.version = view.version

    def _take(self, rows: Iterable[tuple[str, Row | StoredSubscription | None]]) -> None:
        for id, row in rows:
            old = self._by_id.pop(id, None)
            if old is not None:
                self._uses[old] -= 1
                if not self._uses[old]:
                    del self._uses[old]
            if row is not None and row.state in (ACTIVE, WAITING) and row.refusal is None:
                source = Source(link_of(row.owner or ""), row.event_type, row.condition, row.dialect)
                self._by_id[id] = source
                self._uses[source] += 1
            link = link_of(id)
            if link is not None:
                key = id.rpartition("/")[2]
                held = self._held.setdefault(link, {})
                held.pop(key, None)
                if row is not None and row.state in LIVING:
                    held[key] = len(row.condition.encode())
