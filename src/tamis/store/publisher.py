"""Publishes a store as a snapshot, incrementally.

Every version of the snapshot records which version of which store it holds, and holds exactly that. So the next
`sync` completes one that was interrupted: it applies what has changed since the version that was published.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tamis.composite.parts import compile_composite
from tamis.composite.syntax import MOST_PARTS
from tamis.errors import SnapshotError
from tamis.language.dialects import WITH_STATE
from tamis.segments.published import EXPIRED, PART_MARK, PARTS
from tamis.segments.records import Subscription
from tamis.store.database import StoreError
from tamis.store.store import Store
from tamis.store.tables import ACTIVE
from tamis.store.view import ChangedSubscriptions, StoreView
from tamis.urls import without_secrets

if TYPE_CHECKING:
    from tamis.matcher import Matcher, Refusal
    from tamis.matchers import Matchers

_SEGMENT_ROWS = 1_000_000
"""Subscriptions added together: they become one segment, and fewer segments match faster."""
_COLUMNS = ("id", "condition", "priority", "owner", "revision", "label", "dialect")


@dataclass(frozen=True, slots=True)
class PublishResult:
    """What `Publisher.sync` did.

    Attributes:
        snapshot_version: The newest version of the snapshot.
        store_version: The version of the store that it holds.
        changed: Was it published just now?
        added: How many subscriptions went into it, replaced ones included.
        removed: How many went out of it, replaced ones included.
        subscriptions: How many it holds.
        refusals: Subscriptions of the store that the matcher refuses; a store of the same version of tamis has
            none.
    """

    snapshot_version: int
    store_version: int
    changed: bool
    added: int
    removed: int
    subscriptions: int
    refusals: list[Refusal]


class Publisher:
    """Keeps the snapshot under a URL up to date with a store; one process at a time may."""

    def __init__(self, store: Store, url: str | os.PathLike[str]) -> None:
        self.store = store
        self.url = os.fspath(url)
        self._matchers: Matchers | None = None
        self._is_any_refused = True  # until the store has been counted

    def sync(self, valid_since: int | None = None) -> PublishResult:
        """Expire what is due, and publish what has changed since the newest version of the snapshot.

        Args:
            valid_since: A time in microseconds: what has expired since stays in the snapshot, for events that were
                accepted before it did. The version's `extra` has these under `EXPIRED`, with their times.

        Raises:
            StoreError: The snapshot is that of another store, or of a later version of this one.
            SnapshotError: Another process published meanwhile, or the URL cannot be written.
        """
        self.store.expire()
        try:
            return self._publish_changes(valid_since)
        except BaseException:
            self._matchers, self._is_any_refused = (
                None,
                True,
            )  # they may be half changed: the next call starts from what is published
            raise

    def _publish_changes(self, valid_since: int | None) -> PublishResult:
        matchers = self._matchers = self._open_matchers() if self._matchers is None else self._matchers
        held = self._held_version(matchers)
        refusals: list[Refusal] = []
        expired: dict[str, int] = dict(matchers.extra.get(EXPIRED, {}))
        ended = {id for id, at in expired.items() if valid_since is None or at <= valid_since}
        with self.store.view() as view:
            if matchers.version is not None and held is not None and held == view.version and not ended:
                count = len(matchers) - matchers.extra.get(PARTS, 0)
                return PublishResult(matchers.version, held, False, 0, 0, count, refusals)
            if held is not None and held > view.version:
                msg = (
                    f"{without_secrets(self.url)}: holds version {held} of the store {self.store.url}, which has "
                    f"{view.version} only; was it restored from a copy? Publish under another URL"
                )
                raise StoreError(msg)
            before = len(matchers) - matchers.extra.get(PARTS, 0)
            if held is None or held < view.trimmed:
                removed = before
                expired = {} if valid_since is None else view.expired(valid_since)
                is_composite = _build(matchers, view, valid_since, refusals)
                self._is_any_refused = True
            else:
                changed = view.changed_subscriptions(held, valid_since, ended)
                removed, is_composite = _update(matchers, view, held, changed, valid_since, refusals)
                self._is_any_refused |= changed.is_any_refused or bool(view.changed_event_types(held))
                for id in changed.ids:
                    expired.pop(id, None)
                expired |= changed.expired
            # Others went with their event type.
            expired = {id: at for id, at in expired.items() if any(id in matchers[name] for name in matchers)}
            version = view.version
            is_composite |= bool(matchers.extra.get(PARTS))
            parts = sum(len(matchers[name].part_ids()) for name in matchers) if is_composite else 0
            count = len(matchers) - parts
            # Counting the store takes time for all of it, so that is done only where it may tell something new.
            self._is_any_refused |= bool(refusals)
            refused = view.count(states=(ACTIVE,)) + len(expired) - count if self._is_any_refused else 0
            self._is_any_refused = refused != 0
        source = {"id": self.store.identity, "version": version, "refused": refused}
        more: dict[str, Any] = {EXPIRED: expired} if expired else {}
        if parts:
            more |= {PARTS: parts, "subscriptions": count}
        manifest = matchers.publish(self.url, extra={"store": source, **more})
        added = count - before + removed
        return PublishResult(manifest.version, version, True, added, removed, count, refusals)

    def _open_matchers(self) -> Matchers:
        from tamis.matchers import Matchers

        try:
            return Matchers.open(self.url, limits=self.store.limits, expired=True, parts=True)
        except SnapshotError as error:
            if error.kind != "missing":
                raise
            return Matchers(limits=self.store.limits)

    def _held_version(self, matchers: Matchers) -> int | None:
        """The version of the store that the snapshot holds, None if there is no snapshot."""
        if matchers.version is None:
            return None
        source = matchers.extra.get("store")
        if not isinstance(source, Mapping) or source.get("id") != self.store.identity:
            found = "was not published from a store" if source is None else "is that of another store"
            shown = without_secrets(self.url)
            msg = f"{shown}: version {matchers.version} {found}; publish {self.store.url} under another URL"
            raise StoreError(msg)
        return int(source["version"])


def _build(matchers: Matchers, view: StoreView, valid_since: int | None, refusals: list[Refusal]) -> bool:
    """Load all subscriptions of the store, whatever the matchers held before; is one of them composite?"""
    is_composite = False
    for name in [*matchers]:
        matchers.drop(name)
    for name, event_type in view.event_types().items():
        matchers.declare(event_type)
        is_composite |= _add(matchers, name, view.matchable(name, valid_since), refusals)
    return is_composite


def _update(
    matchers: Matchers,
    view: StoreView,
    held: int,
    changed: ChangedSubscriptions,
    valid_since: int | None,
    refusals: list[Refusal],
) -> tuple[int, bool]:
    """Apply the changes since version `held` of the store: how many were removed, and is a new one composite?"""
    is_composite, has_parts = False, bool(matchers.extra.get(PARTS))
    types = view.event_types()
    before = {name: len(matchers[name]) for name in matchers}
    if has_parts:
        before = {name: count - len(matchers[name].part_ids()) for name, count in before.items()}
    parts = [f"{id}{PART_MARK}{place}" for id in changed.ids for place in range(MOST_PARTS + 1)]
    changed_types = view.changed_event_types(held)
    for name in changed_types:
        if name in matchers and name not in types:
            matchers.drop(name)
    redeclared = [
        name
        for name in changed_types
        if name in types and (name not in matchers or matchers[name].event_type != types[name])
    ]
    removed = sum(before[name] for name in before if name in redeclared or name not in matchers)
    for name in redeclared:
        matchers.declare(types[name])
        is_composite |= _add(matchers, name, view.matchable(name, valid_since), refusals)
    for name in matchers:
        if name not in redeclared:
            removed += len(changed.ids) - len(matchers[name].remove_many(changed.ids))
            if has_parts:
                matchers[name].remove_many(parts)
            batches = changed.matchable.filter(pc.field("event_type") == name).to_batches()
            is_composite |= _add(matchers, name, batches, refusals)
    return removed, is_composite


def _add(matchers: Matchers, name: str, batches: Iterable[pa.RecordBatch], refusals: list[Refusal]) -> bool:
    """Add subscriptions; is one of them composite?"""
    is_composite = False
    for table in _tables(batches):
        refusals += matchers[name].add_records(table.select(_COLUMNS))
        composite = table.filter(pc.is_in(table["dialect"], pa.array(WITH_STATE, table["dialect"].type)))
        if composite.num_rows:
            is_composite = True
            refusals += matchers[name].add_many(_parts(composite, matchers[name]))
    return is_composite


def _parts(composite: pa.Table, matcher: Matcher) -> list[Subscription]:
    """The parts of composite subscriptions as ordinary ones, for whoever keeps what is open."""
    return [
        Subscription(
            f"{row['id']}{PART_MARK}{place}", part.local.text, row["priority"], row["owner"], row["revision"]
        )
        for row in composite.to_pylist()
        if row["id"] in matcher
        for place, part in enumerate(
            compile_composite(row["condition"], matcher.event_type, matcher.limits).all_parts
        )
    ]


def _tables(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The batches, gathered into few tables."""
    waiting: list[Any] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= _SEGMENT_ROWS:
            yield pa.Table.from_batches(waiting)
            waiting, rows = [], 0
    if rows:
        yield pa.Table.from_batches(waiting)
