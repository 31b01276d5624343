"""Rules over facts, as in Datalog: what follows from known facts and a few new ones.

A fact is a relation's name and constants, `weight(rex, 31)`; a rule says what follows from facts that hold
together, `heavy(?x) <- dog(?x), weight(?x, ?w), ?w > 20`. There is no negation and nothing is made up, so what
follows is finite and does not depend on any order. What follows from the known facts alone is concluded once; of
new facts, only what needs one of them.
"""

from __future__ import annotations

import operator
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from tamis.operators.registry import OperatorError

Constant: TypeAlias = "str | int | float"
Row: TypeAlias = tuple[Constant, ...]
Bindings: TypeAlias = dict[str, Constant]

MOST_FACTS = 10_000
"""That may follow from the facts of one event."""
_COMPARISONS: dict[str, Callable[[Constant, Constant], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "<>": operator.ne,
}
_TOKEN = re.compile(
    r"\s*(?:(?P<variable>\?\w+)|(?P<text>'(?:[^']|'')*')|(?P<number>[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.]))"
    r"|(?P<name>:?[^\W\d][\w:-]*(?<![-:])|<[A-Za-z][A-Za-z0-9+.-]*:[^<>\s]*>)|(?P<sign><-|<=|>=|<>|[<>=(),;]))"
)


class Variable(str):
    """The name of a variable in a rule."""

    __slots__ = ()


Term: TypeAlias = "Variable | Constant"


class Atom(NamedTuple):
    """A relation and its arguments."""

    relation: str
    terms: tuple[Term, ...]


class Comparison(NamedTuple):
    """A test of values; a text and a number are never equal, and neither is less."""

    left: Term
    sign: str
    right: Term

    def holds(self, bindings: Bindings) -> bool:
        left, right = (bindings[each] if isinstance(each, Variable) else each for each in (self.left, self.right))
        if isinstance(left, str) != isinstance(right, str):
            return self.sign == "<>"
        return _COMPARISONS[self.sign](left, right)


@dataclass(frozen=True, slots=True)
class Rule:
    """The head follows wherever all atoms and comparisons of the body hold."""

    head: Atom
    body: tuple[Atom, ...]
    comparisons: tuple[Comparison, ...] = ()


def parse_rules(text: str) -> list[Rule]:
    """The rules of a text, one a line; a line that begins with `#` is a comment.

    >>> parse_rules("heavy(?x) <- weight(?x, ?w), ?w > 20")[0].comparisons
    (Comparison(left='?w', sign='>', right=20),)

    Raises:
        OperatorError: Some line is no rule; the message names all of them.
    """
    rules: list[Rule] = []
    problems: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            try:
                rules.append(_Parser(line).rule())
            except ValueError as error:
                problems.append(f"line {number}: {error}")
    if problems:
        raise OperatorError("; ".join(problems))
    return rules


def parse_facts(text: str) -> list[Atom]:
    """Facts, separated by `;` or on lines of their own.

    >>> parse_facts("is_a(rex, poodle); weight(rex, 31)")
    [Atom(relation='is_a', terms=('rex', 'poodle')), Atom(relation='weight', terms=('rex', 31))]

    Raises:
        ValueError: It is none.
    """
    return [fact for line in text.splitlines() for fact in _Parser(line).facts()]


class Conclusions:
    """Facts by relation, indexed by the arguments that rules ask for."""

    def __init__(self, under: Conclusions | None = None) -> None:
        self._under = under
        self._rows: defaultdict[str, set[Row]] = defaultdict(set)
        self._indexes: dict[tuple[str, tuple[int, ...]], defaultdict[Row, list[Row]]] = {}

    def __contains__(self, fact: tuple[str, Row]) -> bool:
        return fact[1] in self._rows[fact[0]] or (self._under is not None and fact in self._under)

    def add(self, relation: str, row: Row) -> bool:
        """Add a fact; was it new?"""
        if (relation, row) in self:
            return False
        self._rows[relation].add(row)
        for (name, places), index in self._indexes.items():
            if name == relation and len(row) > max(places, default=-1):
                index[tuple(row[place] for place in places)].append(row)
        return True

    def rows(self, relation: str) -> Iterator[Row]:
        """All facts of a relation."""
        yield from self._rows[relation]
        if self._under is not None:
            yield from self._under.rows(relation)

    def count(self) -> int:
        """How many facts are not those of the conclusions under these."""
        return sum(map(len, self._rows.values()))

    def find(self, relation: str, places: tuple[int, ...], values: Row) -> Iterator[Row]:
        """The facts of a relation with these values at these places."""
        index = self._indexes.get((relation, places))
        if index is None:
            index = defaultdict(list)
            for row in self._rows[relation]:
                if len(row) > max(places, default=-1):
                    index[tuple(row[place] for place in places)].append(row)
            self._indexes[relation, places] = index  # whole: other threads may look into it
        yield from index.get(values, ())
        if self._under is not None:
            yield from self._under.find(relation, places, values)


def conclude(
    rules: Sequence[Rule],
    facts: Iterable[tuple[str, Row]],
    under: Conclusions | None = None,
    most: int | None = None,
) -> Conclusions:
    """The facts and all that follows from them, and from what was concluded before.

    Args:
        rules: What follows from what.
        facts: New ones.
        under: What is known already, with all that follows from that alone; it is not changed.
        most: More facts than these are an error.

    Raises:
        ValueError: There are more.
    """
    known = Conclusions(under)
    waiting = [fact for fact in facts if known.add(*fact)]
    while waiting:
        relation, row = waiting.pop()
        # Each derivation is found when the last of its facts is taken: the others are known by then.
        for rule in rules:
            for place, atom in enumerate(rule.body):
                if atom.relation != relation:
                    continue
                bindings = _unify(atom, row, {})
                if bindings is not None:
                    rest = (*rule.body[:place], *rule.body[place + 1 :])
                    found = [_ground(rule.head, each) for each in _join(rest, rule.comparisons, bindings, known)]
                    waiting += [(rule.head.relation, new) for new in found if known.add(rule.head.relation, new)]
        if most is not None and known.count() > most:
            msg = f"more than {most:,} facts follow"
            raise ValueError(msg)
    return known


def _join(
    atoms: Sequence[Atom], comparisons: Sequence[Comparison], bindings: Bindings, known: Conclusions
) -> Iterator[Bindings]:
    """Every way to make all atoms and comparisons true."""
    if not atoms:
        if all(each.holds(bindings) for each in comparisons):
            yield bindings
        return
    # The atom with most arguments that are known already has the fewest rows.
    at = max(range(len(atoms)), key=lambda place: len(_known_places(atoms[place], bindings)))
    atom, rest = atoms[at], (*atoms[:at], *atoms[at + 1 :])
    places = _known_places(atom, bindings)
    values = tuple(
        bindings[each] if isinstance(each, Variable) else each for each in (atom.terms[place] for place in places)
    )
    for row in list(known.find(atom.relation, places, values)):
        more = _unify(atom, row, bindings)
        if more is not None:
            yield from _join(rest, comparisons, more, known)


def _known_places(atom: Atom, bindings: Collection[str]) -> tuple[int, ...]:
    return tuple(
        place for place, term in enumerate(atom.terms) if not isinstance(term, Variable) or term in bindings
    )


def _unify(atom: Atom, row: Row, bindings: Mapping[str, Constant]) -> Bindings | None:
    """The bindings that make the atom this row; None if there are none."""
    if len(atom.terms) != len(row):
        return None
    found = dict(bindings)
    for term, value in zip(atom.terms, row, strict=True):
        expected = found.setdefault(term, value) if isinstance(term, Variable) else term
        if expected != value or isinstance(expected, str) != isinstance(value, str):
            return None
    return found


def _ground(atom: Atom, bindings: Bindings) -> Row:
    return tuple(bindings[each] if isinstance(each, Variable) else each for each in atom.terms)


class _Parser:
    """Reads one line."""

    def __init__(self, line: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        at = 0
        while line[at:].strip():
            found = _TOKEN.match(line, at)
            if found is None:
                msg = f"expected a rule or a fact, found {line[at:].strip()!r}"
                raise ValueError(msg)
            assert found.lastgroup is not None, "every alternative has a name"
            self._tokens.append((found.lastgroup, found[found.lastgroup]))
            at = found.end()
        self._at = 0

    def rule(self) -> Rule:
        head = self._atom()
        self._expect("<-")
        atoms: list[Atom] = []
        comparisons: list[Comparison] = []
        while True:
            if self._peek(1) == "(":
                atoms.append(self._atom())
            else:
                comparisons.append(self._comparison())
            if self._at == len(self._tokens):
                break
            self._expect(",")
        bound = {term for atom in atoms for term in atom.terms if isinstance(term, Variable)}
        used = [*head.terms, *(term for each in comparisons for term in (each.left, each.right))]
        for term in used:
            if isinstance(term, Variable) and term not in bound:
                msg = f"no relation on the right binds {term}"
                raise ValueError(msg)
        return Rule(head, tuple(atoms), tuple(comparisons))

    def facts(self) -> Iterator[Atom]:
        while self._at < len(self._tokens):
            fact = self._atom()
            for term in fact.terms:
                if isinstance(term, Variable):
                    msg = f"a fact has no variables, found {term}"
                    raise ValueError(msg)
            yield fact
            if self._at < len(self._tokens):
                self._expect(";")

    def _atom(self) -> Atom:
        kind, name = self._next()
        if kind != "name" or name.startswith(("<", ":")):
            msg = f"expected the name of a relation, found {name!r}"
            raise ValueError(msg)
        self._expect("(")
        terms = [self._term()]
        while self._peek() == ",":
            self._expect(",")
            terms.append(self._term())
        self._expect(")")
        return Atom(name, tuple(terms))

    def _comparison(self) -> Comparison:
        left = self._term()
        _, sign = self._next()
        if sign not in _COMPARISONS:
            msg = f"expected one of {' '.join(_COMPARISONS)}, found {sign!r}"
            raise ValueError(msg)
        return Comparison(left, sign, self._term())

    def _term(self) -> Term:
        kind, text = self._next()
        match kind:
            case "variable":
                return Variable(text)
            case "text":
                return text[1:-1].replace("''", "'")
            case "number":
                return float(text) if set(text) & set(".eE") else int(text)
            case "name":
                return text
        msg = f"expected a name, a text, a number or a variable, found {text!r}"
        raise ValueError(msg)

    def _peek(self, ahead: int = 0) -> str | None:
        return self._tokens[self._at + ahead][1] if self._at + ahead < len(self._tokens) else None

    def _next(self) -> tuple[str, str]:
        if self._at == len(self._tokens):
            msg = "it ends too early"
            raise ValueError(msg)
        self._at += 1
        return self._tokens[self._at - 1]

    def _expect(self, sign: str) -> None:
        found = self._next()[1]
        if found != sign:
            msg = f"expected {sign}, found {found!r}"
            raise ValueError(msg)
