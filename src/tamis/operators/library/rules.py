"""Inference from facts: the class of a thing, and the whole that it is part of.

Facts are RDF in a file of Turtle. All that OWL 2 RL lets conclude from them (subclasses of subclasses, equivalent
classes, inverse and transitive properties, ...) is concluded once, when the file is loaded; an answer is then one
look-up. What cannot be concluded is false; a name that the facts do not have gives NULL. Contradictions among the
facts are not looked for.

Things are called by their local name (`poodle`), by their prefixed name as the file declares prefixes
(`ex:poodle`) or by their address (`<http://example.org/poodle>`). A local name that two things share names
neither.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from tamis.operators.library.support import file_bytes, import_extra, unknown_name
from tamis.operators.registry import Operator, OperatorError
from tamis.values.column import Value
from tamis.values.types import BOOLEAN, STRING

Pairs: TypeAlias = frozenset[tuple[str, str]]

_LOCAL = re.compile(r"[^#/:]+\Z")


def operators(*, facts: str | Path, part_of: str = "partOf") -> list[Operator]:
    """`is_a` and `part_of`.

    Args:
        facts: A file of Turtle.
        part_of: The property that leads from a thing to the whole that it is part of. It is taken as transitive.

    Raises:
        OperatorError: A package is not installed, or the facts cannot be read.
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
    ]


class _Relation:
    """Pairs of things by their addresses; nothing changes after they are concluded."""

    def __init__(self, names: Mapping[str, str], pairs: Pairs) -> None:
        self._names, self._pairs = names, pairs

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
