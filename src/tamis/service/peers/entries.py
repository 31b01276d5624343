"""What a site sends to a neighbour: a routing entry for everything that lives behind it, generalised to a budget.

An entry is a condition of the language that is implied by the conditions it stands for. Operands of AND and OR are
pruned: where one becomes TRUE, a condition that was true stays true, whatever the others are. So no budget makes a
neighbour keep back an event that somebody wants. The bytes that are counted are those of the distinct texts, which
are sent and stored.
"""

from __future__ import annotations

import hashlib
import heapq
import math
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from tamis.events.batch import EventBatch
from tamis.events.event_type import EventType
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
_MOST_VALUES = 64
"""Of an entry with IN, about: when one value comes or goes, the entry is sent again."""
_MOST_COVERED = 100_000
"""Of more conditions, none is looked for among the others."""
_MOST_OPERANDS = 6
"""Of more, not all subsets are looked for."""
_LEAST = 1e-9
"""Of a selectivity: nothing is impossible."""


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
    link: str,
    sources: Sequence[Source],
    types: Mapping[str, EventType],
    budget: int,
    widened: Iterable[str] = (),
    samples: Callable[[str], EventBatch | None] = lambda _: None,
) -> EntrySet:
    """What a neighbour is to have: entries for all that does not live behind the neighbour itself.

    Args:
        link: Its name.
        sources: All conditions here.
        types: The event types, by qualified name.
        budget: Most bytes; 0 for entries that are as exact as the conditions.
        widened: Event types of which the neighbour cannot read some condition: it gets all of their events.
        samples: Gives events of a type, from which selectivities are estimated.
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
            texts = _generalised(by_type[name], types[name], budget * _size(texts) // total, samples(name))
        found += [Entry(name, text) for text in _without_covered(texts)]
    size = sum(len(each.condition.encode()) for each in found)
    counted = sum(map(len, by_type.values()))
    return EntrySet({each.key: each for each in found}, counted, size, bool(budget) and size > budget)


def _without_covered(texts: Iterable[str]) -> list[str]:
    """The distinct texts, without those that another one covers: an AND of some of their operands."""
    distinct = [*dict.fromkeys(texts)]
    if len(distinct) > _MOST_COVERED:
        return distinct
    operands = [frozenset(_operands(text, SQL)) for text in distinct]
    there = {*operands}

    def is_covered(own: frozenset[str]) -> bool:
        if len(own) > _MOST_OPERANDS:
            return any(frozenset({each}) in there or own - {each} in there for each in own)
        return any(frozenset(some) in there for size in range(1, len(own)) for some in combinations(own, size))

    return [text for text, own in zip(distinct, operands, strict=True) if not is_covered(own)]


def _size(texts: Iterable[str]) -> int:
    """Bytes of the distinct texts."""
    return sum(len(text.encode()) for text in {*texts})


def _generalised(
    sources: Sequence[Source], event_type: EventType, budget: int, sample: EventBatch | None
) -> list[str]:
    """The texts of conditions to one event type, pruned until the distinct ones fit, or as far as possible.

    Conditions that differ in one value are written as one. Of all operands of ANDs that are left, the one goes
    next whose loss lets the fewest more events through for each byte that it takes, as far as selectivities can be
    estimated.
    """
    parts = [_operands(each.condition, each.dialect) for each in sources]
    selectivity = _selectivities({part for each in parts if len(each) > 1 for part in each}, event_type, sample)
    groups = _Groups()
    for each in parts:
        groups.add(each)
    through = [math.prod(selectivity[part] for part in each) if len(each) > 1 else 1.0 for each in parts]
    waiting: list[tuple[float, int, tuple[str, ...]]] = []

    def offer(place: int) -> None:
        """Let the next operand of a condition wait for its turn."""
        if len(parts[place]) > 1:
            best = min(parts[place], key=lambda part: _cost(through[place], selectivity[part], part))
            cost = _cost(through[place], selectivity[best], best)
            heapq.heappush(waiting, (cost, place, tuple(part for part in parts[place] if part != best)))

    for place in range(len(parts)):
        offer(place)
    while groups.bytes > budget and waiting:
        _, place, rest = heapq.heappop(waiting)
        groups.remove(parts[place])
        groups.add(rest)
        parts[place] = rest
        through[place] = math.prod(selectivity[part] for part in rest)
        offer(place)
    if groups.bytes > budget:
        groups = _Groups()
        for text in _merged(sources, [" AND ".join(each) for each in parts], budget):
            groups.add(_operands(text, SQL))
    return groups.texts()


class _Groups:
    """Conditions of which those that differ in the value of one equality only are one, with IN: nothing is lost.

    Attributes:
        bytes: Of their texts.
    """

    def __init__(self) -> None:
        self.bytes = 0
        self._values: dict[tuple[str, str, tuple[str, ...]], Counter[str]] = {}
        self._sizes: Counter[tuple[str, str, tuple[str, ...]]] = Counter()

    def add(self, operands: tuple[str, ...]) -> None:
        """Add a condition; the same one may be there several times."""
        key, value = self._place(operands)
        values = self._values.setdefault(key, Counter())
        if not values[value]:
            self._change(key, value, 1)
        values[value] += 1

    def remove(self, operands: tuple[str, ...]) -> None:
        """Remove one that was added."""
        key, value = self._place(operands)
        self._values[key][value] -= 1
        if not self._values[key][value]:
            del self._values[key][value]
            self._change(key, value, -1)

    def texts(self) -> list[str]:
        """Conditions that together mean the same, with a bounded number of values each."""
        found = []
        for (name, _, rest), values in self._values.items():
            buckets: dict[int, list[str]] = {}
            count = 1 << max(0, (len(values) - 1) // _MOST_VALUES).bit_length()
            for value in sorted(values):
                buckets.setdefault(zlib.crc32(value.encode()) % count, []).append(value)
            for some in buckets.values():
                head = [f"{name} = {some[0]}" if len(some) == 1 else f"{name} IN ({', '.join(some)})"]
                found.append(" AND ".join([*(head if name else []), *rest]))
        return found

    def _place(self, operands: tuple[str, ...]) -> tuple[tuple[str, str, tuple[str, ...]], str]:
        for place, each in enumerate(operands):
            head = _equality(each)
            if head is not None:
                name, type_, value = head
                return (name, type_, operands[:place] + operands[place + 1 :]), value
        return ("", "", operands), ""

    def _change(self, key: tuple[str, str, tuple[str, ...]], value: str, step: int) -> None:
        """Count the bytes of a value that comes or goes; the rest of its texts goes with the first of so many."""
        name, _, rest = key
        before, now = self._sizes[key], self._sizes[key] + step
        self._sizes[key] = now
        each = len(" AND ".join([*([name] if name else []), *rest]).encode()) + len(" IN ()")
        self.bytes += step * (len(value.encode()) + 2) + each * (-(-now // _MOST_VALUES) + before // -_MOST_VALUES)


@lru_cache(maxsize=100_000)
def _equality(operand: str) -> tuple[str, str, str] | None:
    """Name, type and value of an operand that compares an attribute with a constant; None of another one."""
    match _parsed(operand, SQL):
        case syntax.FunctionCall("=", (syntax.Name() as name, syntax.Literal(value=value) as literal)):
            return None if value is None else (to_text(name), str(literal.type), to_text(literal))
    return None


def _cost(through: float, selectivity: float, part: str) -> float:
    """How many more of all events pass without an operand, for each byte that it takes."""
    return through * (1.0 / selectivity - 1.0) / len(part)


def _selectivities(operands: Iterable[str], event_type: EventType, sample: EventBatch | None) -> dict[str, float]:
    """The fraction of events that satisfy each operand, estimated from a sample if there is one."""
    from tamis.engines.forest import forest_of
    from tamis.engines.selectivity import leaf_selectivities, node_selectivities
    from tamis.frames import BatchFrame
    from tamis.statistics import Statistics

    texts = sorted(operands)
    formulas = {
        text: each
        for text, each in zip(texts, compile_many(texts, event_type), strict=True)
        if isinstance(each, Formula)
    }
    forest = forest_of([*formulas.values()])
    statistics = None
    if sample is not None and sample.rows:
        statistics = Statistics()
        statistics.survey(BatchFrame(sample), {axis.attribute: None for axis in forest.axes}, sample.rows)
    leaves = leaf_selectivities(forest, statistics)
    nodes = node_selectivities(forest.nodes, leaves)
    roots = [float(nodes[root]) if root >= 0 else float(leaves[~root]) for root in forest.roots.tolist()]
    found = {text: min(max(each, _LEAST), 1.0) for text, each in zip(formulas, roots, strict=True)}
    return {text: found.get(text, 1.0) for text in texts}


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
def _operands(condition: str, dialect: str) -> tuple[str, ...]:
    """The distinct operands of an AND; of another condition, or if one binds what another uses, itself."""
    tree = _parsed(condition, dialect)
    is_and = isinstance(tree, syntax.FunctionCall) and tree.function == "and"
    if not is_and or any(isinstance(node, syntax.Free) for node in syntax.walk(tree)):
        return (_in_parentheses(tree),)
    return tuple(dict.fromkeys(_in_parentheses(each) for each in syntax.children(tree)))


def _in_parentheses(operand: syntax.Expression) -> str:
    """An operand of an AND: an OR needs parentheses there."""
    text = to_text(syntax.FunctionCall("and", (operand, _TRUE)))
    return text.removesuffix(f" AND {EVERYTHING}")


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
