"""Values at a path in a text of JSON or XML.

JSON paths are those of RFC 9535, but for its functions `match` and `search`: their regular expressions could take
for ever. XML paths are XPath 1.0, without extensions. XML is read without the network, without a size beyond what
libxml2 allows by default, and a document that declares entities is not answered at all. A text that cannot be read
gives NULL, and so does a malformed path that is not constant.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any

import pyarrow as pa

from tamis.operators.library.support import check_table, import_extra, raise_problems
from tamis.operators.registry import Operator
from tamis.values.column import Value
from tamis.values.types import STRING, array

_KEPT = 1 << 10  # paths that are not compiled again
_BACKTRACKING = ("match", "search")


def operators(*, namespaces: Mapping[str, str] | None = None) -> list[Operator]:
    """`json_path`, `json_paths` and `xml_path`.

    Args:
        namespaces: What the prefixes in XML paths stand for.

    Raises:
        OperatorError: A package is not installed, or the namespaces cannot be used.
    """
    of_json = _JsonPaths(import_extra("jsonpath", "paths"))
    of_xml = _XmlPaths(import_extra("lxml.etree", "paths"), _check_namespaces(namespaces or {}))
    return [
        Operator(
            "json_path",
            (STRING, STRING),
            STRING,
            of_json.first,
            cost=6e-5,
            check=of_json.check,
            description="The first thing at a JSON path (RFC 9535) in a text: a string as it is, others as JSON.",
        ),
        Operator(
            "json_paths",
            (STRING, STRING),
            array(STRING),
            of_json.all,
            cost=6e-5,
            check=of_json.check,
            description="Everything at a JSON path (RFC 9535) in a text: strings as they are, others as JSON.",
        ),
        Operator(
            "xml_path",
            (STRING, STRING),
            STRING,
            of_xml.first,
            cost=2e-5,
            check=of_xml.check,
            description="The text of the first thing at an XPath 1.0 in a text of XML.",
        ),
    ]


def _evaluate(
    texts: list[str], paths: list[str], parse: Callable[[str], Any], find: Callable[[Any, str], Any]
) -> list[Any]:
    """What `find` gives for each row; each text is parsed once, and one document is in memory at a time."""
    answers: list[Any] = [None] * len(texts)
    for text, rows in groupby(sorted(range(len(texts)), key=texts.__getitem__), key=texts.__getitem__):
        document = parse(text)
        if document is not None:
            for row in rows:
                answers[row] = find(document, paths[row])
    return answers


# --- JSON ------------------------------------------------------------------------------------------------------


class _JsonPaths:
    """Paths of RFC 9535, compiled when they are first used."""

    def __init__(self, jsonpath: Any) -> None:
        self._environment = jsonpath.JSONPathEnvironment(strict=True)
        for name in _BACKTRACKING:
            del self._environment.function_extensions[name]
        self._malformed = (jsonpath.JSONPathError, RecursionError)
        self._compiled = lru_cache(_KEPT)(self._compile)

    def first(self, text: pa.StringArray, path: pa.StringArray) -> list[str | None]:
        """The first match in each text; NULL if there is none or it is `null`."""
        return _evaluate(text.to_pylist(), path.to_pylist(), _parse_json, self._first)

    def all(self, text: pa.StringArray, path: pa.StringArray) -> list[list[str | None] | None]:
        """All matches in each text."""
        return _evaluate(text.to_pylist(), path.to_pylist(), _parse_json, self._all)

    def check(self, arguments: Sequence[Value | None]) -> str | None:
        """What is wrong with a constant path."""
        path = arguments[1]
        problem = None if path is None else self._compiled(path)[1]
        return problem and f"{path!r} is not a JSON path: {problem}"

    def _first(self, document: tuple[Any], path: str) -> str | None:
        query, _ = self._compiled(path)
        found = query.match(document[0]) if query is not None else None
        return None if found is None else _json_text(found.value)

    def _all(self, document: tuple[Any], path: str) -> list[str | None] | None:
        query, _ = self._compiled(path)
        return None if query is None else [_json_text(each) for each in query.findall(document[0])]

    def _compile(self, path: str) -> tuple[Any, str | None]:
        """The path, or what is wrong with it."""
        try:
            return self._environment.compile(path), None
        except self._malformed as error:
            return None, str(error.args[0])  # without the picture, which cannot be drawn of an empty path


def _refuse_constant(name: str) -> None:
    msg = f"{name} is not JSON"
    raise ValueError(msg)


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def _parse_json(text: str) -> tuple[Any] | None:
    """What a text of JSON holds, in a tuple, because that may be nothing; None if it is no JSON."""
    try:
        return (_DECODER.decode(text),)
    except (ValueError, RecursionError):  # malformed or too deep, which is NULL
        return None


def _json_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# --- XML -------------------------------------------------------------------------------------------------------


class _XmlPaths:
    """Paths of XPath 1.0, compiled when they are first used."""

    def __init__(self, etree: Any, namespaces: Mapping[str, str]) -> None:
        self._etree = etree
        self._namespaces = dict(namespaces)
        self._compiled = lru_cache(_KEPT)(self._compile)

    def first(self, text: pa.StringArray, path: pa.StringArray) -> list[str | None]:
        """The text of the first match in each text; NULL if there is none."""
        return _evaluate(text.to_pylist(), path.to_pylist(), self._parse, self._first)

    def check(self, arguments: Sequence[Value | None]) -> str | None:
        """What is wrong with a constant path; what is unknown in it shows when it is tried."""
        path = arguments[1]
        if path is None:
            return None
        query, _, problem = self._compiled(path)
        if query is not None:
            try:
                query(self._etree.Element("tried"))
            except self._etree.XPathError as error:
                problem = str(error)
        return problem and f"{path!r} is not an XPath 1.0: {problem}"

    def _first(self, document: Any, path: str) -> str | None:
        query, text_query, _ = self._compiled(path)
        if query is None:
            return None
        try:
            text = str(text_query(document))
            return None if not text and query(document) == [] else text
        except self._etree.XPathError:  # what is unknown in the path, which is NULL
            return None

    def _compile(self, path: str) -> tuple[Any, Any, str | None]:
        """The path and that of the text of its first match, or what is wrong with it."""
        try:
            made = [
                self._etree.XPath(each, namespaces=self._namespaces, regexp=False, smart_strings=False)
                for each in (path, f"string({path})")
            ]
        except (self._etree.XPathError, ValueError) as error:
            return None, None, str(error)
        return made[0], made[1], None

    def _parse(self, text: str) -> Any:
        """The document, or None if it is malformed or declares entities."""
        parser = self._etree.XMLParser(
            encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False
        )
        try:
            document = self._etree.fromstring(text.encode("utf-8"), parser).getroottree()
        except (self._etree.XMLSyntaxError, ValueError):
            return None
        declared = document.docinfo.internalDTD
        return None if declared is not None and any(declared.iterentities()) else document


def _check_namespaces(namespaces: Mapping[str, str]) -> Mapping[str, str]:
    found = check_table("namespaces", namespaces)
    raise_problems(
        "namespaces",
        [
            f"expected a prefix and the address that it stands for, found {prefix!r} and {address!r}"
            for prefix, address in found.items()
            if not prefix or not isinstance(address, str) or not address
        ],
    )
    return found
