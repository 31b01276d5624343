"""What a site sends to a neighbour: a routing entry for everything that lives behind it, generalised to a budget.

An entry is a condition of the language that is implied by the conditions it stands for, so no budget makes a
neighbour keep back an event that somebody wants. `tamis.routing` generalises: entries of one form are merged, what
is still too large is pruned by a measure, and widened in the end. The bytes that are counted are those of the
distinct texts, which are sent and stored.

Without a budget, entries follow each change. With one, they are made again in a share of the time only: what is
new meanwhile gets an exact entry at once, and what is gone keeps its entry until then.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tamis.engines import ENGINES, MAPPED_ENGINE
from tamis.engines.forest import Forest, forest_of
from tamis.engines.forest.join import join_forests
from tamis.events.event_type import EventType
from tamis.formulas.formula import FALSE, Formula
from tamis.routing.covering import uncovered
from tamis.routing.decayed_events import Sample, frames_of, learn_statistics
from tamis.routing.generalisation import Generalisation, generalise
from tamis.routing.merging import merge
from tamis.service.peers.entry_texts import (
    byte_count,
    compiled_texts,
    entry_texts,
    text_bytes,
    with_plain_presence,
    written_texts,
)
from tamis.service.peers.sources import Source

EVERYTHING = "TRUE"
"""The entry that every event satisfies."""
MEASURE = "occurrence"
_ROOM = 0.95
"""The share of a budget that is used when entries are made again; the rest is for what comes meanwhile."""
_WAIT = 10.0
"""Times that it takes to make entries which pass before they are made again."""
_DRIFT, _NOISE = 0.25, 0.02
"""Entries are made again if they admit so much more of the events than when they were made: a share, and events of
a sample that may differ by chance."""
_ATTEMPTS = 8


class Entry(NamedTuple):
    """A routing entry: the qualified name of its event type, and its condition."""

    event_type: str
    condition: str

    @property
    def key(self) -> str:
        """The same for the same entry, at every site."""
        return _key(self.event_type, self.condition)


@lru_cache(maxsize=1 << 18)
def _key(event_type: str, condition: str) -> str:
    return hashlib.blake2b(f"{event_type}\0{condition}".encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class EntrySet:
    """What a neighbour is to have.

    Attributes:
        entries: By their keys.
        sources: How many conditions they stand for.
        bytes: Of their texts.
        is_over_budget: Is that more than was allowed, as nothing else can be pruned?
        is_late: Will they be made again, as conditions have changed meanwhile?
    """

    entries: Mapping[str, Entry]
    sources: int
    bytes: int
    is_over_budget: bool = False
    is_late: bool = False


@dataclass(frozen=True, slots=True)
class EntryRules:
    """How entries are generalised.

    Attributes:
        budget: Most bytes; 0 for entries that are as exact as the conditions.
        measure: What is pruned first, of `tamis.routing.generalisation.known_measures`.
        merging: Are entries of one form merged before?
        halvings: How often the bytes of exact entries are halved, if that is less than the budget.
    """

    budget: int = 0
    measure: str = MEASURE
    merging: bool = True
    halvings: int = 0

    def allowed(self, exact: int) -> int:
        """Most bytes instead of those of exact entries; 0 for any number."""
        if not self.halvings:
            return self.budget
        return max(1, min(exact >> self.halvings, self.budget or exact))


def digest_of(keys: Iterable[str]) -> str:
    """The same for the same set of keys: both sides compare what they have by it."""
    return f"{sum(int(key, 16) for key in keys) % (1 << 128):032x}"


def entries_for(
    link: str,
    sources: Collection[Source],
    types: Mapping[str, EventType],
    rules: EntryRules = EntryRules(),
    widened: Iterable[str] = (),
    samples: Callable[[str], Sample] = lambda _: None,
) -> EntrySet:
    """What a neighbour is to have, made at once; see `LinkEntries.update`."""
    return LinkEntries(link).update(frozenset(sources), types, rules, frozenset(widened), samples)


class LinkEntries:
    """The entries of one link, as conditions come and go."""

    def __init__(self, link: str, clock: Callable[[], float] = time.monotonic) -> None:
        """Nothing is known yet.

        Args:
            link: Its name.
            clock: Seconds.
        """
        self._link = link
        self._clock = clock
        self._of_source: dict[Source, tuple[EventType, tuple[Entry, ...]]] = {}
        self._coverings: dict[str, _Covering] = {}
        self._made: _Made | None = None
        self._lock = threading.Lock()

    def update(
        self,
        sources: frozenset[Source],
        types: Mapping[str, EventType],
        rules: EntryRules,
        widened: frozenset[str] = frozenset(),
        samples: Callable[[str], Sample] = lambda _: None,
        admit: Callable[[set[Entry]], set[Entry]] = lambda entries: entries,
    ) -> EntrySet:
        """What the neighbour is to have: entries for all that does not live behind the neighbour itself.

        Args:
            sources: All conditions here.
            types: The event types, by qualified name.
            rules: How they are generalised.
            widened: Event types of which the neighbour cannot read some condition: it gets all of their events.
            samples: Gives events of a type, from which selectivities are estimated.
            admit: Leaves out exact entries that no event from the neighbour satisfies.
        """
        with self._lock:
            return self._update(sources, types, rules, widened, samples, admit)

    def _update(
        self,
        sources: frozenset[Source],
        types: Mapping[str, EventType],
        rules: EntryRules,
        widened: frozenset[str],
        samples: Callable[[str], Sample],
        admit: Callable[[set[Entry]], set[Entry]],
    ) -> EntrySet:
        behind = [each for each in sources if each.link != self._link and each.event_type in types]
        wanted = admit({entry for each in behind for entry in self._entries_of(each, types[each.event_type])})
        if len(self._of_source) > 2 * len(behind):
            self._of_source = {each: self._of_source[each] for each in behind}
        everything = {Entry(each.event_type, EVERYTHING) for each in wanted if each.event_type in widened}
        rest = self._uncovered({each for each in wanted if each.event_type not in widened}, types)
        exact = _bytes(rest) + _bytes(everything)
        rules = replace(rules, budget=rules.allowed(exact), halvings=0)
        if not rules.budget or exact <= rules.budget:
            self._made = None
            found, is_late = frozenset(rest), False
        else:
            made = self._made
            key = widened, rules, {each.event_type: types[each.event_type] for each in rest}
            if made is None or made.key != key or made.is_due(rest, rules.budget, self._clock(), types, samples):
                began = self._clock()
                entries = generalise_entries(rest, types, rules, samples)
                now = self._clock()
                made = self._made = _Made(key, frozenset(rest), entries, now + _WAIT * (now - began))
                made.has_drifted(types, samples)
            found, is_late = made.entries | (rest - made.of), rest != made.of
        found = found | everything
        size = _bytes(found)
        is_over = bool(rules.budget) and size > rules.budget
        return EntrySet({each.key: each for each in found}, len(behind), size, is_over, is_late)

    def _entries_of(self, source: Source, event_type: EventType) -> tuple[Entry, ...]:
        """The exact entries of a condition, which are the same objects each time."""
        known = self._of_source.get(source)
        if known is None or known[0] != event_type:
            made = tuple(Entry(source.event_type, text) for text in entry_texts(source, event_type))
            known = self._of_source[source] = event_type, made
        return known[1]

    def _uncovered(self, wanted: set[Entry], types: Mapping[str, EventType]) -> set[Entry]:
        """All entries but those that another one covers."""
        by_type: dict[str, set[Entry]] = {}
        for each in wanted:
            by_type.setdefault(each.event_type, set()).add(each)
        for gone in self._coverings.keys() - by_type.keys():
            del self._coverings[gone]
        found: set[Entry] = set()
        for name, entries in by_type.items():
            known = self._coverings.get(name)
            if known is None or known.event_type != types[name]:
                known = self._coverings[name] = _Covering(types[name])
            found |= known.update(entries)
        return found


class _Covering:
    """The exact entries of one event type, compiled, and those of them that no other covers.

    Attributes:
        event_type: Of all of them.
    """

    def __init__(self, event_type: EventType) -> None:
        self.event_type = event_type
        self._entries: list[Entry] = []
        self._all: set[Entry] = set()
        self._forest = forest_of([])
        self._uncovered: set[Entry] = set()

    def update(self, entries: set[Entry]) -> set[Entry]:
        """Have these; gives those that no other covers. Only new ones are compiled."""
        if entries == self._all:
            return self._uncovered
        new = sorted(entries - self._all)
        kept = np.array([place for place, each in enumerate(self._entries) if each in entries], np.int64)
        added = forest_of(compiled_texts([each.condition for each in new], self.event_type))
        self._forest = join_forests([(self._forest, kept), (added, np.arange(len(new)))])
        self._entries = [*(self._entries[place] for place in kept.tolist()), *new]
        self._all = set(entries)
        self._uncovered = {self._entries[place] for place in uncovered(self._forest)}
        return self._uncovered


class _Admitted(NamedTuple):
    """The share of a sample that entries admit, and of the sample when they were made."""

    sample: Sample
    share: float
    at_first: float


@dataclass(slots=True)
class _Made:
    """Generalised entries, what they were made of and under which rules, and when they may be made again."""

    key: tuple[object, ...]
    of: frozenset[Entry]
    entries: frozenset[Entry]
    again: float
    admitted: dict[str, _Admitted] = field(default_factory=dict)

    def is_due(
        self,
        wanted: set[Entry],
        budget: int,
        now: float,
        types: Mapping[str, EventType],
        samples: Callable[[str], Sample],
    ) -> bool:
        """Have conditions or events changed, and is there time, or too much that is new?"""
        if now >= self.again:
            return wanted != self.of or self.has_drifted(types, samples)
        return wanted != self.of and _bytes(self.entries | (wanted - self.of)) > budget

    def has_drifted(self, types: Mapping[str, EventType], samples: Callable[[str], Sample]) -> bool:
        """Do the entries admit more events than when they were made? Another sample is looked at once."""
        texts: dict[str, list[str]] = {}
        for each in self.entries:
            texts.setdefault(each.event_type, []).append(each.condition)
        for name, conditions in texts.items():
            sample, known = samples(name), self.admitted.get(name)
            if known is None or known.sample is not sample:
                share = _admitted_share(conditions, types[name], sample)
                self.admitted[name] = _Admitted(sample, share, known.at_first if known else share)
        return any(each.share > (1 + _DRIFT) * each.at_first + _NOISE for each in self.admitted.values())


def _admitted_share(conditions: Sequence[str], event_type: EventType, sample: Sample) -> float:
    """The share of events that satisfy one of the conditions; 0 without events."""
    frames = frames_of(sample)
    index = ENGINES[MAPPED_ENGINE].build(forest_of(compiled_texts(conditions, event_type)))
    admitted = sum(len(np.unique(index.match(frame)[0])) for frame in frames)
    return admitted / max(1, sum(frame.rows for frame in frames))


def generalise_entries(
    wanted: Iterable[Entry],
    types: Mapping[str, EventType],
    rules: EntryRules,
    samples: Callable[[str], Sample],
) -> frozenset[Entry]:
    """Entries for exact ones that keep to the budget, each event type to its share.

    Those that others cover are left out first: they are implied, so that they cost nothing but bytes.
    """
    by_type: dict[str, list[str]] = {}
    for each in sorted(wanted):
        by_type.setdefault(each.event_type, []).append(each.condition)
    exact = {name: _uncovered_texts(texts, types[name]) for name, texts in by_type.items()}
    total = sum(byte_count(texts) for texts, _ in exact.values())
    found: set[Entry] = set()
    for name, (texts, forest) in exact.items():
        budget = _ROOM * rules.budget * byte_count(texts) / total
        made = (
            set(texts)
            if total <= rules.budget
            else _generalised_texts(texts, forest, types[name], budget, rules, samples(name))
        )
        found |= {Entry(name, text) for text in made}
    return frozenset(found)


def _uncovered_texts(texts: Sequence[str], event_type: EventType) -> tuple[list[str], Forest]:
    """Those of the conditions that no other covers, and their formulas."""
    forest = forest_of(compiled_texts(texts, event_type))
    kept = uncovered(forest)
    return [texts[place] for place in kept], join_forests([(forest, np.array(kept, np.int64))])


def _generalised_texts(
    texts: Sequence[str], forest: Forest, event_type: EventType, budget: float, rules: EntryRules, sample: Sample
) -> set[str]:
    """Conditions to one event type, none of which covers another, as fewer, more general ones."""
    if rules.merging:
        formulas, of = merge(forest, budget, text_bytes)
        origins: list[list[int]] = [[] for _ in formulas]
        for place, number in enumerate(of.tolist()):
            origins[number].append(place)
    else:
        formulas, origins = [*forest], [[place] for place in range(len(forest))]
    written = written_texts(formulas, event_type)
    # What cannot be written as a text again stays as it was.
    exact = {texts[place] for number, text in enumerate(written) if text is None for place in origins[number]}
    kept = [number for number, text in enumerate(written) if text is not None]
    formulas, origins = [formulas[number] for number in kept], [origins[number] for number in kept]
    budget -= byte_count(exact)
    size = text_bytes(formulas)
    if formulas and size > budget:
        general = _prune_texts(formulas, max(budget, 0.0), size, rules.measure, sample)
        formulas = [with_plain_presence(each) for each in general.formulas]
        pruned_origins: list[list[int]] = [[] for _ in formulas]
        for some, number in zip(origins, general.of.tolist(), strict=True):
            pruned_origins[number] += some
        origins = pruned_origins
    found = written_texts(formulas, event_type)
    exact |= {texts[place] for number, text in enumerate(found) if text is None for place in origins[number]}
    readable = [
        (formula, text) for formula, text in zip(formulas, found, strict=True) if text and formula != FALSE
    ]
    left = uncovered([formula for formula, _ in readable])
    return exact | {readable[place][1] for place in left}


def _prune_texts(
    formulas: list[Formula], budget: float, size: float, measure: str, sample: Sample
) -> Generalisation:
    """Formulas pruned by a measure, with the selectivities of the sample, until their texts keep to a budget."""
    forest = forest_of(formulas)
    statistics = learn_statistics(forest, sample)
    # Kernels count the bytes of stored entries, to which those of texts are not proportional.
    allowed = Generalisation(formulas, np.arange(len(formulas), dtype=np.int32)).bytes * budget / size
    for _ in range(_ATTEMPTS):
        general = generalise(forest, allowed, measure, statistics, sample)
        size = text_bytes(general.formulas)
        if size <= budget:
            break
        allowed *= 0.9 * budget / size
    return general


def _bytes(entries: Iterable[Entry]) -> int:
    return byte_count(each.condition for each in entries)
