"""This site as its neighbours meet it: it agrees to links, keeps their entries, and takes their events once.

A neighbour is heard only after a handshake with this process. The network stays without cycles: a handshake says
which sites are behind each end, and a link that leads where another one leads is refused. If an event comes back
all the same, it is dropped and its link is cut.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tamis._version import __version__
from tamis.events.event_type import EventType
from tamis.routing.load import Load, LoadCutOff
from tamis.service.inbox import Arrival
from tamis.service.names import link_owner, local_name, tenant_of
from tamis.service.peers import protocol
from tamis.service.peers.announcements import ANYTHING, AnnouncedFilter, Announcements
from tamis.service.peers.entries import Entry, EntryRules, EntrySet, LinkEntries, digest_of
from tamis.service.peers.links import CUT, DOWN, LINKED, REFUSED, Link, LinkError, Links
from tamis.service.peers.outbox import IN_VAIN, UNKNOWN, USEFUL, LinkTotals, Outbox
from tamis.service.peers.samples import EventSamples
from tamis.service.peers.sources import SourceTable
from tamis.store.records import now_us

if TYPE_CHECKING:
    from tamis.service.core import Service

_log = logging.getLogger(__name__)

_EVENT_SECONDS = 0.001
"""To take an event from a neighbour and to write it down, besides filtering it."""
_HIGHEST = 7
_LEAST_EVENTS = 500
"""Events between two handshakes; if there are fewer, the next ones count as well."""


def link_cutoff() -> LoadCutOff:
    """How far entries are generalised, by what the neighbour that filters with them says in its handshakes."""
    return LoadCutOff(_EVENT_SECONDS, highest=_HIGHEST, least_events=_LEAST_EVENTS)


class Site:
    """The links of a running service; all methods block, and may be called from several threads.

    Attributes:
        name: Of this site; empty if it has no links.
        links: To its neighbours.
        outbox: What goes to them.
        received: Counts, by link and kind, of events since the start: taken, repeated, refused, looped.
        sent_entries: What each neighbour was last sent.
        announcements: Which events may go to neighbours, and come from them.
        forwarded: Events that were sent since the start, by link.
        answered: Of these, those of which the neighbour has said whether anybody wanted them.
        in_vain: Of these, those that nobody wanted.
        versions: Of tamis and of the protocol, as each neighbour has said it.
    """

    def __init__(self, service: Service) -> None:
        """Make the links of the settings."""
        self.name = service.settings.site
        self.links = Links(service.accounts.database, self.name)
        self.outbox = Outbox(service.feed.database)
        self.received: Counter[tuple[str, str]] = Counter()
        self.sent_entries: dict[str, EntrySet] = {}
        self._service = service
        self._store = service.store
        self._lock = threading.RLock()
        self._accepted: set[str] = set()
        self.announcements = Announcements(service)
        self.forwarded: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.in_vain: Counter[str] = Counter()
        self.versions: dict[str, tuple[str, int]] = {}
        self._cutoffs: dict[str, LoadCutOff] = {}
        self._sources = SourceTable(service.store)
        self._entries: dict[str, tuple[LinkEntries, AnnouncedFilter]] = {}
        self._samples = EventSamples(service.inbox)
        if self.name:
            self.links.adopt(service.settings.neighbours)

    # --- what neighbours ask -----------------------------------------------------------------------------

    def hello(self, link: Link, said: protocol.Hello) -> protocol.HelloAnswer:
        """Agree to a link.

        Raises:
            LinkError: The two sites do not fit, or the link would close a cycle.
        """
        with self._lock:
            self.agree(link.name, said)
            self._accepted.add(link.name)
            held = self.held_keys(link.name)
        entries = None if digest_of(held) == said.digest else sorted(held)
        return protocol.HelloAnswer(**self.introduction(link.name).model_dump(), entries=entries)

    def introduction(self, link: str, digest: str = "") -> protocol.Hello:
        """What this site says of itself to a neighbour."""
        announced = self.announced_to(link)
        return protocol.Hello(
            site=self.name,
            protocol=protocol.PROTOCOL,
            tamis=__version__,
            reach=sorted(self.links.reach_without(link)),
            types=protocol.type_hashes(self._store.event_types()),
            digest=digest,
            announced=None if ANYTHING in announced else sorted(announced),
            load=self.load(link),
        )

    def load(self, link: str) -> Load:
        """What filtering costs here, and what was sent to a neighbour in vain."""
        events, seconds = self._service.reports.filtered
        return Load(
            events=events,
            seconds=seconds,
            forwarded=self.forwarded[link],
            answered=self.answered[link],
            in_vain=self.in_vain[link],
        )

    def announced_to(self, link: str) -> frozenset[Entry]:
        """The events that may go to a neighbour."""
        return self.announcements.for_neighbour(link, self.links.all())

    def agree(self, link: str, said: protocol.Hello, *, has_answered: bool = False) -> None:
        """Take what a neighbour says of itself, or cut the link to it.

        Args:
            link: To the neighbour.
            said: When it called, or when it was called.
            has_answered: Was it called?

        Raises:
            LinkError: The two sites do not fit, or the link would close a cycle.
        """
        with self._lock:
            self.versions[link] = said.tamis, said.protocol
            try:
                protocol.check_hello(said, link, protocol.type_hashes(self._store.event_types()))
                self.links.check_acyclic(link, said.reach)
            except LinkError as error:
                self.cut(link, error, REFUSED)
                raise
            self.links.reach(link, said.reach)
            self.announcements.hear(link, said.announced)
            if self._service.settings.link_cutoff:
                cutoff = self._cutoffs.setdefault(link, link_cutoff())
                cutoff.observe(said.load, self.load(link).filter_seconds)
            if has_answered or self.links.get(link).state != DOWN:  # who can call us need not be reached
                self.links.note(link, LINKED)

    def cut(self, link: str, error: LinkError, state: str = CUT) -> None:
        """Hear a neighbour no more until the next handshake, and forget what it wanted if there is a cycle."""
        with self._lock:
            self._accepted.discard(link)
            self.links.note(link, state, error)
            if error.kind == "cycle":
                self.forget_entries(link)
        _log.warning("the link to %r is %s: %s", link, state, error)

    def take_entries(self, link: Link, changes: protocol.EntryChanges) -> protocol.EntriesAnswer:
        """Keep and remove entries of a neighbour.

        Raises:
            LinkError: The neighbour has not shaken hands, or declares a type in another way.
        """
        self._check_accepted(link.name)
        store = self._store.acting_as(f"link {link.name}")
        tenants = self._service.accounts.tenants()
        known = store.event_types()
        for name, described in changes.types.items():
            declared = EventType.from_dict(dict(described))
            if name not in known and tenant_of(name) in tenants and local_name(name):
                store.set_event_type(declared)
                self._service.forget_types()
            elif name in known and known[name] != declared:
                msg = f"site {link.name!r} has declared the event type {name!r} in another way"
                error = LinkError(msg, "event type")
                self.cut(link.name, error, REFUSED)
                raise error
        refused: dict[str, str] = {}
        records = []
        owner = link_owner(link.name)
        for entry in (Entry(*each) for each in changes.add):
            if tenant_of(entry.event_type) not in tenants:
                refused[entry.key] = "tenant"
                continue
            record = {"id": f"{owner}/{entry.key}", "owner": owner, **entry._asdict()}
            records.append(record)
        if records:
            imported = store.add_many(records, replace=True)
            refused |= {each.id.rpartition("/")[2]: "condition" for each in imported.refusals}
        if changes.remove:
            store.remove_many(f"{owner}/{key}" for key in changes.remove)
        return protocol.EntriesAnswer(digest=digest_of(self.held_keys(link.name)), refused=refused)

    def check_events(self, link: Link, arrivals: Sequence[Arrival]) -> list[Arrival]:
        """Those of the events of a neighbour that have a tenant and a type here.

        Raises:
            LinkError: The neighbour has not shaken hands, or an event has been here before.
        """
        self._check_accepted(link.name)
        looped = [each for each in arrivals if self.name in each.path]
        if looped:
            self.received[link.name, "looped"] += len(looped)
            msg = f"the event {looped[0].id!r} came back over {' -> '.join(looped[0].path)}: there is a cycle"
            error = LinkError(msg, "cycle")
            self.cut(link.name, error)
            raise error
        types = self._store.event_types()
        fit = [
            each
            for each in arrivals
            if each.event_type in types and tenant_of(each.id) == tenant_of(each.event_type)
        ]
        self.received[link.name, "refused"] += len(arrivals) - len(fit)
        return fit

    def outcomes(self, link: Link, ids: Sequence[str]) -> dict[str, str]:
        """What became of events of a neighbour; nothing is said of those that are not matched yet.

        Raises:
            LinkError: The neighbour has not shaken hands.
        """
        self._check_accepted(link.name)
        done, places = self._service.inbox.done(), self._service.inbox.places(ids)
        matched = [id for id in ids if id in places and places[id][0] <= done]
        useful = self.outbox.useful_events(matched)
        found = {id: USEFUL if id in useful else IN_VAIN for id in matched}
        return found | {id: UNKNOWN for id in ids if id not in places}

    def _check_accepted(self, link: str) -> None:
        if link not in self._accepted:
            msg = f"site {link!r} has not shaken hands since the service was started or the link was cut"
            raise LinkError(msg, "hello")

    # --- entries -----------------------------------------------------------------------------------------

    def held_keys(self, link: str) -> set[str]:
        """The keys of the entries of a neighbour."""
        return {*self._sources.held(link)}

    def forget_entries(self, link: str) -> None:
        """Remove the entries of a neighbour."""
        owner = link_owner(link)
        keys = self.held_keys(link)
        if keys:
            self._store.acting_as(f"link {link}").remove_many(f"{owner}/{key}" for key in keys)

    def halvings(self, link: str) -> int:
        """How often the bytes of the entries for a neighbour are halved, by what was measured."""
        return self._cutoffs[link].step if link in self._cutoffs else 0

    def rules(self, link: str) -> EntryRules:
        """How entries for a neighbour are generalised: as it has it in the settings, or else as all have it."""
        settings = self._service.settings
        rules = EntryRules(settings.link_bytes, settings.link_measure, settings.link_merging, self.halvings(link))
        for each in settings.neighbours:
            if each.name == link:
                return EntryRules(
                    rules.budget if each.link_bytes is None else each.link_bytes,
                    each.link_measure or rules.measure,
                    rules.merging if each.link_merging is None else each.link_merging,
                    rules.halvings,
                )
        return rules

    def wanted_entries(self, link: str, widened: set[str]) -> tuple[int, EntrySet]:
        """The version of the store, and what a neighbour is to have of this site."""
        types, rules = self._store.event_types(), self.rules(link)
        with self._lock:
            sources, version = self._sources.read(), self._sources.version
            entries, announced = self._entries.setdefault(link, (LinkEntries(link), AnnouncedFilter()))
        heard = self.announcements.heard(link)
        return version, entries.update(
            sources,
            types,
            rules,
            frozenset(widened),
            lambda name: self._samples.of(types[name]),
            lambda wanted: announced.overlapping(wanted, heard, types),
        )

    def note_entries(self, link: str, entries: EntrySet) -> None:
        """Keep what a neighbour is to have, and log once if that cannot keep to its budget."""
        before = self.sent_entries.get(link)
        self.sent_entries[link] = entries
        if entries.is_over_budget and not (before is not None and before.is_over_budget):
            _log.warning(
                "the %d entries for site %r take %d bytes, more than is allowed, and cannot be pruned further",
                len(entries.entries),
                link,
                entries.bytes,
            )

    def described_types(self, names: set[str]) -> dict[str, dict[str, Any]]:
        """Event types as a neighbour may declare them."""
        return {name: each.to_dict() for name, each in self._store.event_types().items() if name in names}

    # --- what people see ---------------------------------------------------------------------------------

    def remove_link(self, name: str) -> None:
        """Remove a link, its entries and its outbox.

        Raises:
            NotFound: There is none to that site.
            LinkError: It is one of the settings.
        """
        if self.links.get(name).origin == "settings":
            msg = f"the link to {name!r} is in the settings of the service; remove it there"
            raise LinkError(msg, "settings")
        with self._lock:
            self.links.remove(name)
            self._accepted.discard(name)
            self.forget_entries(name)
            self.announcements.forget(name)
            self.sent_entries.pop(name, None)
            self.versions.pop(name, None)
        self.tidy(0)

    def tidy(self, before: int) -> int:
        """Forget what was sent before a time, in microseconds, and what belongs to links that are gone."""
        return self.outbox.forget(before, [each.name for each in self.links.all()])

    def status(self) -> list[dict[str, Any]]:
        """How each link is doing."""
        totals, now = self.outbox.totals(), now_us()
        found = []
        for link in self.links.all():
            total = totals.get(link.name, LinkTotals())
            out = self.sent_entries.get(link.name)
            held = self._sources.held(link.name)
            tamis, spoken = self.versions.get(link.name, (None, None))
            heard, said = self.announcements.heard(link.name), self.announced_to(link.name)
            found.append(
                {
                    "name": link.name,
                    "url": link.url,
                    "origin": link.origin,
                    "state": link.state,
                    "since": link.since,
                    "kind": link.kind,
                    "reason": link.reason,
                    "reach": sorted(link.reach),
                    "tamis": tamis,
                    "protocol": spoken,
                    "entries_in": len(held),
                    "entries_in_bytes": sum(held.values()),
                    "entries_out": 0 if out is None else len(out.entries),
                    "entries_out_bytes": 0 if out is None else out.bytes,
                    "subscriptions_out": 0 if out is None else out.sources,
                    "is_over_budget": out is not None and out.is_over_budget,
                    "halvings": self.halvings(link.name),
                    "announced_in": None if ANYTHING in heard else len(heard),
                    "announced_out": None if ANYTHING in said else len(said),
                    **{key: value for key, value in asdict(total).items() if key != "oldest"},
                    "lag_seconds": 0.0 if total.oldest is None else max(0.0, (now - total.oldest) / 1e6),
                    **{
                        kind: self.received[link.name, kind] for kind in ("taken", "repeated", "refused", "looped")
                    },
                }
            )
        return found
