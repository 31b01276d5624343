"""Inference from facts: the class of a thing, and the whole that it is part of.

Facts are RDF in a file of Turtle. All that OWL 2 RL lets conclude from them (subclasses of subclasses, equivalent
classes, inverse and transitive properties, ...) is concluded once, when the file is loaded; an answer is then one
look-up. What cannot be concluded is false; a name that the facts do not have gives NULL. Contradictions among the
facts are not looked for.

Things are called by their local name (`poodle`), by their prefixed name as the file declares prefixes
(`ex:poodle`) or by their address (`<http://example.org/poodle>`). A local name that two things share names
neither.

Events may bring facts of their own, as a text: `is_a(rex, poodle); weight(rex, 31)`. What follows from these and
the file, by rules of the user's own and because `is_a` and `part_of` are transitive, is what the operators of
`relations` bind: `weight(facts, ?x, ?kilos)`, or `weight(?x, ?kilos)` if the attribute is a setting. Every
property of the file is a relation of two in rules, under its local name.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from tamis.operators.library.datalog import (
    MOST_FACTS,
    Atom,
    Comparison,
    Conclusions,
    Constant,
    Rule,
    Term,
    Variable,
    conclude,
    parse_facts,
    parse_rules,
)
from tamis.operators.library.support import check_table, file_bytes, file_text, import_extra, unknown_name
from tamis.operators.registry import Operator, OperatorError
from tamis.values.column import Value
from tamis.values.types import BOOLEAN, STRING, parse_type

Pairs: TypeAlias = frozenset[tuple[str, str]]

_LOCAL = re.compile(r"[^#/:]+\Z")


def operators(
    *,
    facts: str | Path,
    part_of: str = "partOf",
    rules: str | Path | None = None,
    relations: Mapping[str, str] | None = None,
    attribute: str = "",
) -> list[Operator]:
    """`is_a`, `part_of`, and an operator for each of the relations.

    Args:
        facts: A file of Turtle.
        part_of: The property that leads from a thing to the whole that it is part of. It is taken as transitive.
        rules: A file of rules, one a line: `heavy(?x) <- is_a(?x, 'dog'), weight(?x, ?w), ?w > 20`.
        relations: What conditions may bind, by name: the fields of a relation with their types, as
            `thing string, kilos double`; types are string, bigint and double.
        attribute: In which events bring facts. Conditions then leave it out, and `is_a` and `part_of` are
            relations, too: `is_a(?x, 'dog') AND weight(?x) > 20`.

    Raises:
        OperatorError: A package is not installed, or the facts, the rules or the relations cannot be read.
    """
    rdflib, reasonable = import_extra("rdflib", "rules"), import_extra("reasonable", "rules")
    graph = _read_facts(rdflib, facts)
    names = _names(rdflib, graph)
    whole = rdflib.URIRef(names[part_of]) if part_of in names else None
    if whole is not None:
        graph.add((whole, rdflib.RDF.type, rdflib.OWL.TransitiveProperty))
    concluded = _conclude(reasonable, graph)
    subclasses = _pairs(concluded, rdflib.RDFS.subClassOf)
    members = _pairs(concluded, rdflib.RDF.type)
    classes = {each for pair in subclasses for each in pair} | {each for _, each in members}
    kinds = _Relation(names, subclasses | members | {(each, each) for each in classes})
    parts = _Relation(names, frozenset() if whole is None else _pairs(concluded, whole))
    given = check_table("relations", relations or {})
    fields_of = _check_relations({**_OF_THE_FILE, **given} if attribute else given)
    bound: list[Operator] = []
    if fields_of or rules is not None:
        reasoner = _Reasoner(names, _static_facts(rdflib, concluded), kinds, parts, rules)
        bound = [_relation_operator(reasoner, name, fields, attribute) for name, fields in fields_of.items()]
    if attribute:
        return bound
    return [
        Operator(
            "is_a",
            (STRING, STRING),
            BOOLEAN,
            kinds.holds,
            cost=1e-6,
            check=kinds.check,
            description="Is a thing of a class, or a class one of its subclasses, by the facts and what follows?",
        ),
        Operator(
            "part_of",
            (STRING, STRING),
            BOOLEAN,
            parts.holds,
            cost=1e-6,
            check=parts.check,
            description="Is a thing part of a whole, directly or not, by the facts and what follows?",
        ),
        *bound,
    ]


class _Relation:
    """Pairs of things by their addresses; nothing changes after they are concluded."""

    def __init__(self, names: Mapping[str, str], pairs: Pairs) -> None:
        self._names, self._pairs = names, pairs

    @property
    def pairs(self) -> Pairs:
        return self._pairs

    def holds(self, thing: pa.StringArray, other: pa.StringArray) -> list[bool | None]:
        """Is each pair one of them? NULL for a name that is not known."""
        return [self._holds(*row) for row in zip(thing.to_pylist(), other.to_pylist(), strict=True)]

    def check(self, arguments: Sequence[Value | None]) -> str | None:
        """What is wrong with constant names."""
        problems = [
            unknown_name("thing in the facts called", name, self._names)
            for name in arguments
            if name is not None and name not in self._names
        ]
        return "; ".join(problems) or None

    def _holds(self, thing: str, other: str) -> bool | None:
        subject, object_ = self._names.get(thing), self._names.get(other)
        return None if subject is None or object_ is None else (subject, object_) in self._pairs


class _Reasoner:
    """What follows from the facts of an event; what follows from those of the file alone is concluded once."""

    def __init__(
        self,
        names: Mapping[str, str],
        static: Iterable[tuple[str, str, Constant]],
        kinds: _Relation,
        parts: _Relation,
        rules: str | Path | None,
    ) -> None:
        self._names = names
        shown: dict[str, str] = {}
        for name, address in names.items():  # the shortest name is the one that is shown
            if address not in shown or (len(name), name) < (len(shown[address]), shown[address]):
                shown[address] = name
        self._shown = shown
        own = [] if rules is None else _read_rules(rules)
        self._rules = [_rename_terms(rule, self._name) for rule in (*parse_rules(_TRANSITIVE), *own)]
        every = [(relation, (self._label(one), self._label(other))) for relation, one, other in static]
        for relation, pairs in (("is_a", kinds.pairs), ("part_of", parts.pairs)):
            every += [(relation, (self._label(one), self._label(other))) for one, other in pairs]
        self._known = conclude(self._rules, every)
        self.conclude = lru_cache(_KEPT_TEXTS)(self._conclude)

    def _conclude(self, text: str) -> Conclusions:
        facts = ((fact.relation, tuple(map(self._name, fact.terms))) for fact in parse_facts(text))
        return conclude(self._rules, facts, self._known, MOST_FACTS)

    def _name(self, term: Term) -> Any:
        """A constant of a rule or an event under the name that is shown; others stay as they are."""
        if isinstance(term, Variable) or not isinstance(term, str):
            return term
        address = self._names.get(term)
        return term if address is None else self._shown[address]

    def _label(self, thing: Constant) -> Constant:
        return self._shown.get(thing, thing) if isinstance(thing, str) else thing


_KEPT_TEXTS = 1_024
"""Texts of events whose conclusions are kept: conditions ask for several relations of one."""
_TRANSITIVE = """
is_a(?x, ?z) <- is_a(?x, ?y), is_a(?y, ?z)
part_of(?x, ?z) <- part_of(?x, ?y), part_of(?y, ?z)
"""
_OF_THE_FILE = {"is_a": "thing string, class string", "part_of": "thing string, whole string"}
_FIELD = re.compile(r"\s*([a-z_][a-z0-9_]*)\s+(string|bigint|double)\s*")


def _check_relations(relations: Mapping[str, str]) -> dict[str, list[tuple[str, str]]]:
    """The fields of each relation: their names and types."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name, text in relations.items():
        fields = [_FIELD.fullmatch(each) for each in str(text).split(",")]
        if not all(fields):
            msg = f"relations.{name}: expected fields as 'thing string, kilos double', found {text!r}"
            raise OperatorError(msg)
        found[name] = [(each[1], each[2]) for each in fields if each is not None]
    return found


def _relation_operator(reasoner: _Reasoner, name: str, fields: list[tuple[str, str]], attribute: str) -> Operator:
    """An operator that gives the facts of a relation; those with values of other types are left out."""
    kinds: dict[str, Any] = {"string": str, "bigint": int, "double": int | float}

    def facts_of(text: str) -> list[dict[str, Constant]]:
        rows = sorted(
            (row for row in reasoner.conclude(text).rows(name) if len(row) == len(fields)),
            key=lambda row: [(isinstance(each, str), each) for each in row],
        )
        return [
            {
                field: float(value) if type_ == "double" else value
                for (field, type_), value in zip(fields, row, strict=True)
            }
            for row in rows
            if all(isinstance(value, kinds[type_]) for (_, type_), value in zip(fields, row, strict=True))
        ]

    returns = parse_type(f"array<struct<{', '.join(f'{field} {type_}' for field, type_ in fields)}>>")
    shown = ", ".join(f"?{field}" for field, _ in fields)
    return Operator(
        *(name, (STRING,), returns, facts_of),
        cost=1e-4,
        batch=False,
        description=f"The facts {name}({shown}) that follow from those of an event and of the file.",
        attribute=attribute,
    )


def _read_rules(file: str | Path) -> list[Rule]:
    try:
        return parse_rules(file_text(file))
    except OperatorError as error:
        msg = f"{file}: {error}"
        raise OperatorError(msg) from error


def _rename_terms(rule: Rule, name: Callable[[Term], Any]) -> Rule:
    def atom(each: Atom) -> Atom:
        return Atom(each.relation, tuple(map(name, each.terms)))

    comparisons = tuple(Comparison(name(each.left), each.sign, name(each.right)) for each in rule.comparisons)
    return Rule(atom(rule.head), tuple(map(atom, rule.body)), comparisons)


def _static_facts(rdflib: Any, triples: Iterable[tuple[Any, Any, Any]]) -> Iterator[tuple[str, str, Constant]]:
    """The facts of each property by its local name; a literal is a number or a text."""
    for subject, property_, object_ in triples:
        local = _LOCAL.search(str(property_))
        if local is None or not isinstance(subject, rdflib.URIRef):
            continue
        if isinstance(object_, rdflib.Literal):
            value = object_.toPython()
            plain = isinstance(value, (int, float)) and not isinstance(value, bool)
            yield local.group(), str(subject), value if plain else str(object_)
        elif isinstance(object_, rdflib.URIRef):
            yield local.group(), str(subject), str(object_)


def _read_facts(rdflib: Any, file: str | Path) -> Any:
    graph = rdflib.Graph(bind_namespaces="none")
    try:
        graph.parse(data=file_bytes(file), format="turtle")
    except (rdflib.exceptions.ParserError, SyntaxError, UnicodeDecodeError) as error:
        msg = f"{file}: this is not Turtle: {error}"
        raise OperatorError(msg) from error
    return graph


def _conclude(reasonable: Any, graph: Any) -> list[tuple[Any, Any, Any]]:
    """The facts and all that follows from them."""
    reasoner = reasonable.PyReasoner()
    reasoner.from_graph(graph)
    concluded: list[tuple[Any, Any, Any]] = reasoner.reason()
    return concluded


def _names(rdflib: Any, graph: Any) -> dict[str, str]:
    """The address of each name of the things in the facts."""
    things = {str(each) for triple in graph for each in triple if isinstance(each, rdflib.URIRef)}
    named: defaultdict[str, set[str]] = defaultdict(set)
    prefixes = [(prefix, str(address)) for prefix, address in graph.namespaces()]
    for thing in things:
        for name in _names_of(thing, prefixes):
            named[name].add(thing)
    return {name: next(iter(found)) for name, found in named.items() if len(found) == 1}


def _names_of(thing: str, prefixes: Iterable[tuple[str, str]]) -> Iterable[str]:
    yield f"<{thing}>"
    local = _LOCAL.search(thing)
    if local is not None:
        yield local.group()
    for prefix, address in prefixes:
        if thing.startswith(address):
            yield f"{prefix}:{thing[len(address) :]}"


def _pairs(triples: Iterable[tuple[Any, Any, Any]], property_: Any) -> Pairs:
    return frozenset((str(subject), str(object_)) for subject, each, object_ in triples if each == property_)
