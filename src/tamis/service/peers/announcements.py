"""What may come from a site: conditions that its events satisfy, announced from neighbour to neighbour.

A site announces to a neighbour what its own publishers advertise, and what its other neighbours announce to it.
The neighbour sends it only those entries that overlap with an announcement: no event that comes from there
satisfies another one. Only what must be as advertised can be announced. Everything is announced of a tenant whose
rights have another `conformity` than "refuse", of a site where `link_advertisements` is off, and of a neighbour
that was not heard yet.

An announcement that ends is repeated until the events that were accepted under it are matched here and taken by
the neighbour: until then they may need the entries that came because of it. That outlives the process: what was
announced is on disk before it is said (`SaidTable`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from tamis.errors import ConditionError
from tamis.events.event_type import EventType
from tamis.formulas.formula import TRUE, Formula
from tamis.language.bulk import compile_many
from tamis.routing.overlap import OverlapIndex
from tamis.service.names import qualified_name, tenant_of
from tamis.service.peers.entries import EVERYTHING, Entry, EntryRules, generalise_entries
from tamis.service.peers.links import DOWN, LINKED, Link
from tamis.service.peers.said import Said, SaidTable

if TYPE_CHECKING:
    from tamis.service.core import Service

ANYTHING = Entry("", EVERYTHING)
"""The announcement of any event of any tenant."""
_ANYTHING_SAID = Said(frozenset({ANYTHING}))
_MOST_BYTES = 1 << 16
"""Of the announcements to a neighbour; they are generalised to it as entries are."""
_KNOWN_SECONDS = 0.5
_IN_FLIGHT_SECONDS = 2.0
"""As long an event that was found to be as advertised may take to be accepted."""


def any_of_tenant(tenant: str) -> Entry:
    """The announcement of any event of a tenant."""
    return Entry(qualified_name(tenant, ""), EVERYTHING)


class Announcements:
    """What this site announces to each neighbour, and what each announces to it; thread-safe."""

    def __init__(self, service: Service, clock: Callable[[], float] = time.monotonic) -> None:
        """Nothing was heard yet.

        Args:
            service: Of this site.
            clock: Seconds.
        """
        self._service = service
        self._clock = clock
        self._lock = threading.Lock()
        self._heard: dict[str, frozenset[Entry]] = {}
        self._table = SaidTable(service.accounts.database)
        self._said: dict[str, Said] = {}
        self._since: dict[tuple[str, Entry], float] = {}
        self._generalised: dict[str, tuple[frozenset[Entry], frozenset[Entry]]] = {}
        self._own: tuple[float, frozenset[Entry]] | None = None

    @property
    def is_on(self) -> bool:
        return self._service.settings.link_advertisements

    def hear(self, link: str, announced: Iterable[tuple[str, str]] | None) -> None:
        """Take what a neighbour announces; None is anything."""
        found = frozenset({ANYTHING}) if announced is None else frozenset(Entry(*each) for each in announced)
        with self._lock:
            self._heard[link] = found

    def forget(self, link: str) -> None:
        """Nothing comes over a link any more."""
        with self._lock:
            for each in (self._heard, self._generalised):
                each.pop(link, None)
            self._forget_said(link)

    def heard(self, link: str) -> frozenset[Entry]:
        """What a neighbour announces; anything if it has not said so, or if that does not matter here."""
        return self._heard.get(link, frozenset({ANYTHING})) if self.is_on else frozenset({ANYTHING})

    def for_neighbour(self, link: str, links: Iterable[Link]) -> frozenset[Entry]:
        """What this site announces to a neighbour.

        Args:
            link: To the neighbour.
            links: All of this site.
        """
        if not self.is_on:
            with self._lock:
                if link not in self._said:
                    self._forget_said(link)
                    self._said[link] = _ANYTHING_SAID
            return frozenset({ANYTHING})
        now = {*self._own_advertisements()}
        for each in links:
            if each.name != link and each.state in (LINKED, DOWN):
                now |= self.heard(each.name)
        with self._lock:
            before = self._said.get(link)
            if before is None:
                before = self._table.read(link) or _ANYTHING_SAID
            said = Said(frozenset(now), self._ending(link, before, now))
            if said != self._said.get(link):
                self._table.write(link, said)
                self._said[link] = said
            return self._shorten(link, frozenset(now | said.ending.keys()))

    def _ending(self, link: str, before: Said, now: set[Entry]) -> dict[Entry, int | None]:
        """What was announced before and is needed still, and the last event that needs it, if that is known."""
        found: dict[Entry, int | None] = {}
        ended = (before.current | before.ending.keys()) - now
        end, through = (self._service.inbox.end(), self._through(link)) if ended else (0, 0)
        for entry in ended:
            upto = before.ending.get(entry)
            # After a restart the wait begins again: that is too long, never too short.
            since = self._since.setdefault((link, entry), self._clock())
            if upto is None and self._clock() - since >= _IN_FLIGHT_SECONDS:
                upto = end
            if upto is None or upto > through:
                found[entry] = upto
        for key in [key for key in self._since if key[0] == link and key[1] not in found]:
            del self._since[key]
        return found

    def _forget_said(self, link: str) -> None:
        """Forget what was announced over a link, here and on disk."""
        self._said.pop(link, None)
        for key in [key for key in self._since if key[0] == link]:
            del self._since[key]
        self._table.write(link, None)

    def _through(self, link: str) -> int:
        """Up to this number, all events are matched here, and those for the neighbour are taken by it."""
        done = self._service.inbox.done()
        pending = self._service.site.outbox.pending(link, 1)
        return min(done, pending[0] - 1) if pending else done

    def _own_advertisements(self) -> frozenset[Entry]:
        """What the publishers of this site may publish, as of a moment ago."""
        if self._own is None or self._clock() - self._own[0] > _KNOWN_SECONDS:
            found, accounts = set(), self._service.accounts
            for tenant in accounts.tenants():
                rights = accounts.rights(tenant)
                if rights is None or rights.conformity != "refuse":
                    found.add(any_of_tenant(tenant))
                else:
                    found |= {Entry(each.event_type, each.condition) for each in accounts.advertisements(tenant)}
            self._own = self._clock(), frozenset(found)
        return self._own[1]

    def _shorten(self, link: str, announced: frozenset[Entry]) -> frozenset[Entry]:
        """The announcements, generalised if they are too long for each handshake."""
        if ANYTHING in announced:
            return frozenset({ANYTHING})
        if sum(len(each.condition) for each in announced) <= _MOST_BYTES:
            return announced
        known = self._generalised.get(link)
        if known is None or known[0] != announced:
            types = {each.event_type: EventType(each.event_type) for each in announced}
            types |= self._service.store.event_types()
            found = generalise_entries(announced, types, EntryRules(_MOST_BYTES), lambda _: None)
            known = self._generalised[link] = announced, found
        return known[1]


class AnnouncedFilter:
    """Decides which conditions overlap with what a neighbour announces; what it has decided it remembers.

    The domains that event types declare take part: a value beyond them is NULL to every condition, at every site.
    """

    def __init__(self) -> None:
        self._announced: dict[str, frozenset[str]] = {}
        self._types: dict[str, EventType] = {}
        self._indexes: dict[str, OverlapIndex] = {}
        self._known: dict[Entry, bool] = {}

    def overlapping(
        self, wanted: Iterable[Entry], announced: frozenset[Entry], types: Mapping[str, EventType]
    ) -> set[Entry]:
        """Those of the conditions that an announced event may satisfy."""
        if ANYTHING in announced:
            return {*wanted}
        by_type: dict[str, set[str]] = {}
        for each in announced:
            by_type.setdefault(each.event_type, set()).add(each.condition)
        found, asked = set(), set()
        for each in wanted:
            if any_of_tenant(tenant_of(each.event_type)) in announced:
                found.add(each)
            elif each.event_type in by_type:
                asked.add(each)
        for name in {each.event_type for each in asked}:
            self._prepare(name, frozenset(by_type[name]), types[name])
        self._known = {each: known for each, known in self._known.items() if each in asked}
        for each, formula in _compile_entries(asked - self._known.keys(), types):
            self._known[each] = self._indexes[each.event_type].overlaps(each.event_type, formula)
        return found | {each for each in asked if self._known[each]}

    def _prepare(self, name: str, conditions: frozenset[str], event_type: EventType) -> None:
        """Index the announcements of a type, if they have changed."""
        if self._announced.get(name) == conditions and self._types.get(name) == event_type:
            return
        self._announced[name], self._types[name] = conditions, event_type
        self._known = {each: known for each, known in self._known.items() if each.event_type != name}
        index = self._indexes[name] = OverlapIndex([event_type])
        for each, formula in _compile_entries({Entry(name, text) for text in conditions}, {name: event_type}):
            index.add(each.condition, name, formula)


def _compile_entries(entries: Iterable[Entry], types: Mapping[str, EventType]) -> Iterable[tuple[Entry, Formula]]:
    """Conditions with their formulas; one that cannot be read here may be satisfied by any event."""
    by_type: dict[str, list[Entry]] = {}
    for each in sorted(entries):
        by_type.setdefault(each.event_type, []).append(each)
    for name, some in by_type.items():
        found = compile_many([each.condition for each in some], types[name])
        for each, formula in zip(some, found, strict=True):
            yield each, TRUE if isinstance(formula, ConditionError) else formula
