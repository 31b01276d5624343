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
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tamis.composite.parts import compile_composite
from tamis.engines.forest import forest_of
from tamis.errors import ConditionError
from tamis.events.batch import EventBatch
from tamis.events.event_type import EventType
from tamis.formulas.expression import Apply, Path
from tamis.formulas.formula import FALSE, Formula, at_least, leaf
from tamis.formulas.predicates.within import Within
from tamis.frames import BatchFrame
from tamis.language.bulk import FormulaColumn, compile_many
from tamis.language.dialects import COMPOSITE, SQL, parse_dialect
from tamis.limits import DEFAULT_LIMITS
from tamis.routing.covering import Covering, uncovered
from tamis.routing.generalisation import Generalisation, generalise
from tamis.routing.merging import merge
from tamis.service.peers.sources import Source
from tamis.statistics import Statistics
from tamis.syntax.printing import to_text
from tamis.values.ranges import ALL

EVERYTHING = "TRUE"
"""The entry that every event satisfies."""
MEASURE = "occurrence"
_MOST_COVERED = 50_000
"""Of more conditions, none is looked for among the others."""
_ROOM = 0.95
"""The share of a budget that is used when entries are made again; the rest is for what comes meanwhile."""
_WAIT = 10.0
"""Times that it takes to make entries which pass before they are made again."""
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
    samples: Callable[[str], EventBatch | None] = lambda _: None,
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
        self._coverings: dict[str, tuple[EventType, Covering, set[Entry]]] = {}
        self._made: _Made | None = None
        self._lock = threading.Lock()

    def update(
        self,
        sources: frozenset[Source],
        types: Mapping[str, EventType],
        rules: EntryRules,
        widened: frozenset[str] = frozenset(),
        samples: Callable[[str], EventBatch | None] = lambda _: None,
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
        samples: Callable[[str], EventBatch | None],
        admit: Callable[[set[Entry]], set[Entry]],
    ) -> EntrySet:
        behind = [each for each in sources if each.link != self._link and each.event_type in types]
        wanted = admit({entry for each in behind for entry in self._entries_of(each, types[each.event_type])})
        if len(self._of_source) > 2 * len(behind):
            self._of_source = {each: self._of_source[each] for each in behind}
        everything = {Entry(each.event_type, EVERYTHING) for each in wanted if each.event_type in widened}
        rest = {each for each in wanted if each.event_type not in widened}
        exact = _bytes(rest) + _bytes(everything)
        rules = replace(rules, budget=rules.allowed(exact), halvings=0)
        if not rules.budget or exact <= rules.budget:
            self._made = None
            found, is_late = frozenset(self._exact(rest, types)), False
        else:
            self._coverings.clear()
            made = self._made
            key = widened, rules, {each.event_type: types[each.event_type] for each in rest}
            if made is None or made.key != key or made.is_due(rest, rules.budget, self._clock()):
                began = self._clock()
                entries = generalise_entries(rest, types, rules, samples)
                now = self._clock()
                made = self._made = _Made(key, frozenset(rest), entries, now + _WAIT * (now - began))
            found, is_late = made.entries | (rest - made.of), rest != made.of
        found = found | everything
        size = _bytes(found)
        is_over = bool(rules.budget) and size > rules.budget
        return EntrySet({each.key: each for each in found}, len(behind), size, is_over, is_late)

    def _entries_of(self, source: Source, event_type: EventType) -> tuple[Entry, ...]:
        """The exact entries of a condition, which are the same objects each time."""
        known = self._of_source.get(source)
        if known is None or known[0] != event_type:
            made = tuple(Entry(source.event_type, text) for text in _texts(source, event_type))
            known = self._of_source[source] = event_type, made
        return known[1]

    def _exact(self, wanted: set[Entry], types: Mapping[str, EventType]) -> set[Entry]:
        """All entries but those that another one covers."""
        by_type: dict[str, set[Entry]] = {}
        for each in wanted:
            by_type.setdefault(each.event_type, set()).add(each)
        for gone in self._coverings.keys() - by_type.keys():
            del self._coverings[gone]
        found: set[Entry] = set()
        for name, entries in by_type.items():
            if len(entries) > _MOST_COVERED:
                self._coverings.pop(name, None)
                found |= entries
                continue
            known = self._coverings.get(name)
            if known is None or known[0] != types[name]:
                known = self._coverings[name] = types[name], Covering(), set()
            _, covering, there = known
            for each in there - entries:
                covering.remove(each)
                there.remove(each)
            new = sorted(entries - there)
            formulas = _compiled([each.condition for each in new], types[name])
            for each, formula in zip(new, formulas, strict=True):
                covering.add(each, _accepted(formula))
                there.add(each)
            found.update(each for each in covering if isinstance(each, Entry))
        return found


class _Made(NamedTuple):
    """Generalised entries, what they were made of and under which rules, and when they may be made again."""

    key: tuple[object, ...]
    of: frozenset[Entry]
    entries: frozenset[Entry]
    again: float

    def is_due(self, wanted: set[Entry], budget: int, now: float) -> bool:
        """Have conditions changed, and is there time, or too much that is new?"""
        if wanted == self.of:
            return False
        return now >= self.again or _bytes(self.entries | (wanted - self.of)) > budget


def generalise_entries(
    wanted: Iterable[Entry],
    types: Mapping[str, EventType],
    rules: EntryRules,
    samples: Callable[[str], EventBatch | None],
) -> frozenset[Entry]:
    """Entries for exact ones that keep to the budget, each event type to its share."""
    by_type: dict[str, list[str]] = {}
    for each in sorted(wanted):
        by_type.setdefault(each.event_type, []).append(each.condition)
    total = sum(_size(texts) for texts in by_type.values())
    found: set[Entry] = set()
    for name, texts in by_type.items():
        budget = _ROOM * rules.budget * _size(texts) / total
        made = _generalised_texts(texts, types[name], budget, rules, samples(name))
        found |= {Entry(name, text) for text in made}
    return frozenset(found)


def _generalised_texts(
    texts: Sequence[str], event_type: EventType, budget: float, rules: EntryRules, sample: EventBatch | None
) -> set[str]:
    """Conditions to one event type as fewer, more general ones."""
    forest = forest_of(_compiled(texts, event_type))
    if rules.merging:
        formulas, of = merge(forest, budget, _text_bytes)
        origins: list[list[int]] = [[] for _ in formulas]
        for place, number in enumerate(of.tolist()):
            origins[number].append(place)
    else:
        every = [*forest]
        origins = [[place] for place in uncovered(every)]
        formulas = [every[place] for [place] in origins]
    written = _written(formulas, event_type)
    # What cannot be written as a text again stays as it was.
    exact = {texts[place] for number, text in enumerate(written) if text is None for place in origins[number]}
    kept = [number for number, text in enumerate(written) if text is not None]
    formulas, origins = [formulas[number] for number in kept], [origins[number] for number in kept]
    budget -= _size(exact)
    size = _text_bytes(formulas)
    if formulas and size > budget:
        general = _pruned(formulas, max(budget, 0.0), size, rules.measure, sample)
        formulas = [_with_plain_presence(each) for each in general.formulas]
        pruned_origins: list[list[int]] = [[] for _ in formulas]
        for some, number in zip(origins, general.of.tolist(), strict=True):
            pruned_origins[number] += some
        origins = pruned_origins
    found = _written(formulas, event_type)
    exact |= {texts[place] for number, text in enumerate(found) if text is None for place in origins[number]}
    readable = [
        (formula, text) for formula, text in zip(formulas, found, strict=True) if text and formula != FALSE
    ]
    left = uncovered([formula for formula, _ in readable])
    return exact | {readable[place][1] for place in left}


def _pruned(
    formulas: list[Formula], budget: float, size: float, measure: str, sample: EventBatch | None
) -> Generalisation:
    """Formulas pruned by a measure, with the selectivities of the sample, until their texts keep to a budget."""
    forest, statistics = forest_of(formulas), None
    if sample is not None and sample.rows:
        statistics = Statistics()
        statistics.survey(BatchFrame(sample), {axis.attribute: None for axis in forest.axes}, sample.rows)
    # Kernels count the bytes of stored entries, to which those of texts are not proportional.
    allowed = Generalisation(formulas, np.arange(len(formulas), dtype=np.int32)).bytes * budget / size
    for _ in range(_ATTEMPTS):
        general = generalise(forest, allowed, measure, statistics, sample)
        size = _text_bytes(general.formulas)
        if size <= budget:
            break
        allowed *= 0.9 * budget / size
    return general


def _compiled(texts: Sequence[str], event_type: EventType) -> Sequence[Formula] | FormulaColumn:
    """The formulas of conditions, none of which the store would have taken if it were refused."""
    found = compile_many(texts, event_type)
    if isinstance(found, FormulaColumn):
        assert not found.refused
        return found
    return [_accepted(each) for each in found]


def _accepted(found: Formula | ConditionError) -> Formula:
    assert isinstance(found, Formula), found
    return found


def _written(formulas: Sequence[Formula], event_type: EventType) -> list[str | None]:
    """The texts of formulas; None where a text does not mean the same again."""
    texts = [each.describe() for each in formulas]
    read = compile_many(texts, event_type)
    return [text if new == old else None for text, new, old in zip(texts, read, formulas, strict=True)]


def _with_plain_presence(formula: Formula) -> Formula:
    """The formula with "an attribute has some value" for "it has one of a type", which has no text."""
    match formula.predicate:
        case Within(Apply("read", (Path() as path,)), ranges, False) if ranges == ALL:
            return leaf(Within(path, ALL))
        case None if formula.operands:
            return at_least(formula.least, map(_with_plain_presence, formula.operands))
    return formula


def _text_bytes(formulas: Sequence[Formula]) -> float:
    return _size(each.describe() for each in formulas)


def _size(texts: Iterable[str]) -> int:
    return sum(len(text.encode()) for text in texts)


def _bytes(entries: Iterable[Entry]) -> int:
    return _size(each.condition for each in entries)


def _texts(source: Source, event_type: EventType) -> tuple[str, ...]:
    """A condition in SQL; of a composite subscription those of its parts, each on one event."""
    if source.dialect == SQL:
        return (source.condition,)
    if source.dialect == COMPOSITE:
        composite = compile_composite(source.condition, event_type)
        return tuple(part.local.text for part in composite.all_parts)
    tree, problems = parse_dialect(source.condition, source.dialect, DEFAULT_LIMITS)
    assert not problems, "the store takes no such condition"
    return (to_text(tree),)
