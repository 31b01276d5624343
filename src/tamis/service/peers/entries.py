"""What a site sends to a neighbour: a routing entry for everything that lives behind it, generalised to a budget.

An entry is a condition of the language that is implied by the conditions it stands for. Operands of AND and OR are
pruned: where one becomes TRUE, a condition that was true stays true, whatever the others are. So no budget makes a
neighbour keep back an event that somebody wants. `tamis.routing` advises which attributes are worth their bytes;
the bytes that are counted are those of the distinct texts, which are sent and stored.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from tamis.events.event_type import EventType
from tamis.formulas.expression import Path, walk
from tamis.formulas.formula import Formula
from tamis.language.bulk import compile_many
from tamis.language.dialects import SQL, parse_dialect
from tamis.limits import DEFAULT_LIMITS
from tamis.service.names import link_of
from tamis.store import Store
from tamis.store.tables import ACTIVE, WAITING
from tamis.syntax import tree as syntax
from tamis.syntax.printing import to_text
from tamis.values.types import BOOLEAN

EVERYTHING = "TRUE"
"""The entry that every event satisfies."""
_TRUE = syntax.Literal(BOOLEAN, True)
_ATTEMPTS = 8
_CLOSER = 0.9
"""How much below the budget the next attempt aims: trees shrink faster than texts."""


class Entry(NamedTuple):
    """A routing entry: the qualified name of its event type, and its condition."""

    event_type: str
    condition: str

    @property
    def key(self) -> str:
        """The same for the same entry, at every site."""
        return hashlib.blake2b(f"{self.event_type}\0{self.condition}".encode(), digest_size=16).hexdigest()


class Source(NamedTuple):
    """A condition behind this site: the link that it lives behind (None: here), its type, text and dialect."""

    link: str | None
    event_type: str
    condition: str
    dialect: str


@dataclass(frozen=True, slots=True)
class EntrySet:
    """What a neighbour is to have.

    Attributes:
        entries: By their keys.
        sources: How many conditions they stand for.
        bytes: Of their texts.
        is_over_budget: Is that more than was allowed, as nothing else can be pruned?
    """

    entries: Mapping[str, Entry]
    sources: int
    bytes: int
    is_over_budget: bool


def digest_of(keys: Iterable[str]) -> str:
    """The same for the same set of keys: both sides compare what they have by it."""
    return hashlib.blake2b("".join(sorted(keys)).encode(), digest_size=16).hexdigest()


def read_sources(store: Store) -> tuple[int, list[Source]]:
    """The version of the store, and what its living subscriptions and entries ask for, each distinct one once."""
    with store.view() as view:
        found = {
            Source(link_of(each.owner or ""), each.event_type, each.condition, each.dialect): None
            for each in view.subscriptions()
            if each.state in (ACTIVE, WAITING) and each.refusal is None
        }
        return view.version, [*found]


def entries_for(
    link: str, sources: Sequence[Source], types: Mapping[str, EventType], budget: int, widened: Iterable[str] = ()
) -> EntrySet:
    """What a neighbour is to have: entries for all that does not live behind the neighbour itself.

    Args:
        link: Its name.
        sources: All conditions here.
        types: The event types, by qualified name.
        budget: Most bytes; 0 for entries that are as exact as the conditions.
        widened: Event types of which the neighbour cannot read some condition: it gets all of their events.
    """
    by_type: dict[str, list[Source]] = {}
    for each in sources:
        if each.link != link:
            by_type.setdefault(each.event_type, []).append(each)
    everything = {name for name in widened if name in by_type}
    exact = {name: [_as_sql(each.condition, each.dialect) for each in some] for name, some in by_type.items()}
    total = sum(map(_size, exact.values()))
    found: list[Entry] = [Entry(name, EVERYTHING) for name in everything]
    for name in by_type.keys() - everything:
        texts = exact[name]
        if budget and total > budget:
            texts = _generalised(by_type[name], types[name], budget * _size(texts) // total)
        found += [Entry(name, text) for text in dict.fromkeys(texts)]
    size = sum(len(each.condition.encode()) for each in found)
    counted = sum(map(len, by_type.values()))
    return EntrySet({each.key: each for each in found}, counted, size, bool(budget) and size > budget)


def _size(texts: Iterable[str]) -> int:
    """Bytes of the distinct texts."""
    return sum(len(text.encode()) for text in {*texts})


def _generalised(sources: Sequence[Source], event_type: EventType, budget: int) -> list[str]:
    """The texts of conditions to one event type, pruned until the distinct ones fit, or as far as possible."""
    from tamis.engines.forest import forest_of
    from tamis.routing.generalisation import generalise_to_budget
    from tamis.routing.trees import size

    texts, dialects = [each.condition for each in sources], [each.dialect for each in sources]
    compiled = compile_many(texts, event_type, dialect=dialects)
    formulas = [each for each in compiled if isinstance(each, Formula)]
    if len(formulas) < len(sources):  # a limit that has changed: the store has taken them all
        return [EVERYTHING]
    forest = forest_of(formulas)
    allowed = float(sum(map(size, formulas)))
    best = [_as_sql(each.condition, each.dialect) for each in sources]
    for _ in range(_ATTEMPTS):
        if _size(best) <= budget:
            break
        allowed *= _CLOSER * budget / _size(best)
        general = generalise_to_budget(forest, int(allowed))
        kept = [_attributes(each) for each in general.formulas]
        pruned = [
            _pruned_text(each.condition, each.dialect, kept[place])
            for each, place in zip(sources, general.of.tolist(), strict=True)
        ]
        best = min(best, pruned, key=_size)
    return best if _size(best) <= budget else _merged(sources, best, budget)


def _merged(sources: Sequence[Source], texts: Sequence[str], budget: int) -> list[str]:
    """Texts of which some are replaced by what their conditions have in common, until the distinct ones fit.

    Each condition has a text for each of its attributes alone. Those that share one most widely are merged first
    where that saves most bytes.
    """
    alone = [_texts_alone(each.condition, each.dialect) for each in sources]
    shared = Counter(text for each in alone for text in each)
    groups: dict[str, list[int]] = {}
    for place, each in enumerate(alone):
        if each:
            groups.setdefault(max(each, key=lambda text: (shared[text], text)), []).append(place)
    found, uses = [*texts], Counter(texts)
    size = _size(texts)
    savings = {text: _size(texts[place] for place in places) - _size([text]) for text, places in groups.items()}
    for text in sorted(groups, key=lambda each: (-savings[each], each)):
        if size <= budget or savings[text] <= 0:
            break
        for place in groups[text]:
            uses[found[place]] -= 1
            size -= 0 if uses[found[place]] else _size([found[place]])
            size += 0 if uses[text] else _size([text])
            uses[text] += 1
            found[place] = text
    return found


@lru_cache(maxsize=100_000)
def _texts_alone(condition: str, dialect: str) -> tuple[str, ...]:
    """What a condition says of each of its attributes alone, as far as that is something."""
    tree = _parsed(condition, dialect)
    names = {node.parts[0].lower() for node in syntax.walk(tree) if isinstance(node, syntax.Name)}
    found = {_pruned_text(condition, dialect, frozenset({name})) for name in names}
    return tuple(sorted(found - {EVERYTHING}))


def _attributes(formula: Formula) -> frozenset[str]:
    """The outermost names of the attributes that a formula looks at, in small letters."""
    return frozenset(
        node.steps[0].lower()
        for predicate in formula.predicates()
        for node in walk(predicate.attribute)
        if isinstance(node, Path)
    )


def prune(tree: syntax.Expression, kept: frozenset[str]) -> syntax.Expression:
    """A condition without the operands of its ANDs and ORs that look at none of these attributes.

    >>> from tamis.syntax.parser import parse
    >>> wanted = parse("title = 'Emma' AND (price < 9 OR used) AND seller = 'x'")
    >>> to_text(prune(wanted, frozenset({"title", "used"})))
    "title = 'Emma'"
    """
    if isinstance(tree, syntax.FunctionCall) and tree.function in ("and", "or"):
        operands = [prune(each, kept) for each in tree.arguments]
        rest = tuple(each for each in operands if each != _TRUE)
        if not rest or (tree.function == "or" and len(rest) < len(operands)):
            return _TRUE
        return rest[0] if len(rest) == 1 else syntax.FunctionCall(tree.function, rest)
    names = {node.parts[0].lower() for node in syntax.walk(tree) if isinstance(node, syntax.Name)}
    return _TRUE if names and not names & kept else tree


@lru_cache(maxsize=100_000)
def _parsed(condition: str, dialect: str) -> syntax.Expression:
    tree, problems = parse_dialect(condition, dialect, DEFAULT_LIMITS)
    assert not problems, "the store takes no such condition"
    return tree


def _pruned_text(condition: str, dialect: str, kept: frozenset[str]) -> str:
    tree = _parsed(condition, dialect)
    if any(isinstance(node, syntax.Free) for node in syntax.walk(tree)):
        return _as_sql(condition, dialect)  # one operand binds what another uses
    return to_text(prune(tree, kept))


def _as_sql(condition: str, dialect: str) -> str:
    return condition if dialect == SQL else to_text(_parsed(condition, dialect))
