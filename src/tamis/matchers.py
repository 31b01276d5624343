"""Matchers of several event types, published and opened as one snapshot.

A version of a snapshot holds all event types at once, so that whoever works on one version sees the subscriptions
of all types as they were at one moment.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from tamis.engines import AUTO, EngineLike
from tamis.errors import SubscriptionError
from tamis.events.event_type import EventType
from tamis.limits import DEFAULT_LIMITS, Limits
from tamis.matcher import Matcher
from tamis.segments.published import EXPIRED, PARTS, open_subscriptions, publish_subscriptions
from tamis.snapshot import Manifest, Snapshots
from tamis.verification.search import GREEDY, check_order


class Matchers:
    """A matcher for each event type, by its name.

    >>> from tamis.events import EventType
    >>> matchers = Matchers([EventType("sale"), EventType("visit")])
    >>> matchers["sale"].add("cheap", "price < 10")
    >>> matchers["sale"].match({"price": 5}), matchers["visit"].match({"price": 5})
    (['cheap'], [])

    Attributes:
        version: The version of the snapshot that was opened or published last, None if there is none.
        extra: What was written down with it.
    """

    def __init__(
        self,
        event_types: Iterable[EventType] = (),
        *,
        engine: EngineLike = AUTO,
        limits: Limits = DEFAULT_LIMITS,
        threads: int = 1,
        call_order: str = GREEDY,
    ) -> None:
        """Empty matchers; the arguments are those of `Matcher`."""
        self.version: int | None = None
        self.extra: Mapping[str, Any] = {}
        self._settings: dict[str, Any] = {
            "engine": engine,
            "limits": limits,
            "threads": threads,
            "call_order": check_order(call_order),
        }
        self._matchers: dict[str, Matcher] = {}
        self._published: dict[str, int] = {}
        for event_type in event_types:
            self.declare(event_type)

    def declare(self, event_type: EventType) -> Matcher:
        """The matcher of an event type: the one that is there, an empty one if the type is new or has changed."""
        found = self._matchers.get(event_type.name)
        if found is None or found.event_type != event_type:
            found = self._matchers[event_type.name] = Matcher(event_type, **self._settings)
        return found

    def drop(self, name: str) -> None:
        """Forget an event type and its subscriptions."""
        del self._matchers[name]

    def __getitem__(self, name: str) -> Matcher:
        """The matcher of an event type."""
        return self._matchers[name]

    def __contains__(self, name: object) -> bool:
        """Is there an event type of that name?"""
        return name in self._matchers

    def __iter__(self) -> Iterator[str]:
        """The names of the event types."""
        return iter(self._matchers)

    def __len__(self) -> int:
        """Number of subscriptions of all event types."""
        return sum(len(matcher) for matcher in self._matchers.values())

    @property
    def only(self) -> Matcher:
        """The matcher, if there is one event type only.

        Raises:
            SubscriptionError: There are several, or none.
        """
        if len(self._matchers) != 1:
            names = ", ".join(sorted(self._matchers)) or "none"
            msg = f"expected subscriptions for one event type, found {names}"
            raise SubscriptionError(msg)
        return next(iter(self._matchers.values()))

    # --- snapshots ---------------------------------------------------------------------------------------

    def publish(self, url: str | os.PathLike[str], extra: Mapping[str, Any] | None = None) -> Manifest:
        """Make what the matchers hold a version of the snapshot at `url`.

        Only segments that are not there yet are written. A URL that has versions already takes a new one only
        from matchers that were opened from its newest version, or published it.

        Raises:
            SnapshotError: Another process published there meanwhile, or `url` cannot be written.
        """
        snapshots = Snapshots(url)
        manifest = publish_subscriptions(self._matchers, snapshots, self._published.get(snapshots.place), extra)
        self._published[snapshots.place] = self.version = manifest.version
        self.extra = manifest.extra
        return manifest

    @classmethod
    def open(
        cls,
        url: str | os.PathLike[str],
        version: int | None = None,
        *,
        segments: Collection[str] | None = None,
        engine: EngineLike = AUTO,
        limits: Limits = DEFAULT_LIMITS,
        threads: int = 1,
        call_order: str = GREEDY,
        expired: bool = False,
        parts: bool = False,
    ) -> Matchers:
        """The matchers that were published as a version of the snapshot at `url`, the newest by default.

        Args:
            url: Where the snapshot is.
            version: Which version.
            segments: The names of those to open, for whoever holds a part of the subscriptions; all by default.
            engine: As for `Matcher`.
            limits: As for `Matcher`.
            threads: As for `Matcher`.
            call_order: As for `Matcher`.
            expired: With subscriptions that expired lately, if the version has them; `extra` says when.
            parts: With the parts of composite subscriptions, for whoever keeps what is open of these.

        Raises:
            SnapshotError: There is no such version, or it is damaged, foreign or newer.
        """
        snapshots = Snapshots(url)
        manifest = snapshots.manifest(version)
        matchers = cls(engine=engine, limits=limits, threads=threads, call_order=call_order)
        published = open_subscriptions(snapshots, manifest, manifest.event_types, segments)
        matchers._matchers = {
            name: Matcher.of_segments(*each, **matchers._settings) for name, each in published.items()
        }
        if not expired and manifest.extra.get(EXPIRED):
            for matcher in matchers._matchers.values():
                matcher.remove_many(manifest.extra[EXPIRED], merge=False)
        if not parts and manifest.extra.get(PARTS):
            for matcher in matchers._matchers.values():
                matcher.remove_many(matcher.part_ids(), merge=False)
        if segments is None:
            matchers._published[snapshots.place] = manifest.version
        matchers.version, matchers.extra = manifest.version, manifest.extra
        return matchers
