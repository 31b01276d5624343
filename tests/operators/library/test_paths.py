"""Paths in JSON and XML; what cannot be read, or wants to do harm, is NULL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tamis.operators import Operator, OperatorError
from tamis.operators.library.paths import operators

ORDER = (
    '{"id": 7, "who": {"name": "Zoë"}, "n": null,'
    ' "items": [{"sku": "a", "price": 5}, {"sku": "b", "price": 12.5}]}'
)
XML = """<?xml version="1.0" encoding="ISO-8859-1"?>
<order id="7"><who>Zoë <b>B.</b></who><item price="5">a</item><item price="12.5">b</item><empty/>
<!-- note --></order>"""


def named(name: str, **settings: Any) -> Operator:
    return next(each for each in operators(**settings) if each.name == name)


def asked(operator: Operator, rows: list[tuple[str, str]]) -> list[Any]:
    """The answers to all rows at once, which are those to each row alone."""

    def run(some: list[tuple[str, str]]) -> list[Any]:
        return list(operator.function(*(pa.array(column, pa.string()) for column in zip(*some, strict=True))))

    together = run(rows)
    assert [run([row])[0] for row in rows] == together
    return together


@pytest.mark.parametrize(
    ("path", "first", "every"),
    [
        ("$.who.name", "Zoë", ["Zoë"]),
        ("$['id']", "7", ["7"]),
        ("$.items[*].sku", "a", ["a", "b"]),
        ("$.items[?@.price > 10]", '{"sku":"b","price":12.5}', ['{"sku":"b","price":12.5}']),
        ("$..price", "5", ["5", "12.5"]),
        ("$.items[-1].sku", "b", ["b"]),
        ("$.who", '{"name":"Zoë"}', ['{"name":"Zoë"}']),
        ("$.n", None, [None]),
        ("$.nothing", None, []),
    ],
)
def test_json_paths(path: str, first: str | None, every: list[str | None]) -> None:
    assert asked(named("json_path"), [(ORDER, path)]) == [first]
    assert asked(named("json_paths"), [(ORDER, path)]) == [every]


@pytest.mark.parametrize("text", ["", "{", "NaN", '{"a": Infinity}', "[" * 100_000, '{"a": 1} x'])
def test_what_is_no_json_is_null(text: str) -> None:
    assert asked(named("json_path"), [(text, "$.a"), ('{"a": 1}', "$.a")]) == [None, "1"]
    assert asked(named("json_paths"), [(text, "$")]) == [None]


def test_rows_of_a_batch_do_not_disturb_each_other() -> None:
    """One compiled path with a filter that looks at the root, and documents that come twice."""
    texts = [f'{{"limit": {limit}, "a": [{{"b": 1}}, {{"b": 5}}]}}' for limit in (0, 3, 9, 3)]
    assert asked(named("json_paths"), [(text, "$.a[?@.b > $.limit].b") for text in texts]) == [
        ["1", "5"],
        ["5"],
        [],
        ["5"],
    ]
    assert asked(named("json_path"), [(ORDER, "$.id"), (texts[0], "$.limit"), (ORDER, "$.who.name")]) == [
        "7",
        "0",
        "Zoë",
    ]


@pytest.mark.parametrize(
    "path", ["$.a[", "a.b", "", "$.a =~ /x/", "$[?match(@.a, '(a+)+')]", "$[?search(@.a, 'a')]"]
)
def test_malformed_json_paths(path: str) -> None:
    for name in ("json_path", "json_paths"):
        operator = named(name)
        assert operator.check is not None
        assert f"{path!r} is not a JSON path: " in str(operator.check([None, path]))
        assert operator.check([None, "$.a"]) is None
        assert operator.check([None, None]) is None
        assert asked(operator, [(ORDER, path)]) == [None]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/order/who", "Zoë B."),
        ("/order/@id", "7"),
        ("//item[@price > 10]", "b"),
        ("//item/text()", "a"),
        ("count(//item)", "2"),
        ("sum(//@price)", "17.5"),
        ("//item[1] = 'a'", "true"),
        ("//empty", ""),
        ("//comment()", " note "),
        ("//nothing", None),
        ("//item | //who", "Zoë B."),
    ],
)
def test_xml_paths(path: str, expected: str | None) -> None:
    assert asked(named("xml_path"), [(XML, path)]) == [expected]


def test_xml_namespaces() -> None:
    text = '<a xmlns="urn:x"><b>1</b></a>'
    assert asked(named("xml_path", namespaces={"x": "urn:x"}), [(text, "/x:a/x:b"), (text, "/a/b")]) == ["1", None]
    with pytest.raises(OperatorError, match="namespaces: expected a prefix"):
        operators(namespaces={"": "urn:x"})


def test_xml_that_is_malformed_or_declares_entities_is_null(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    harmful = [
        "",
        "<a>",
        "<a>&unknown;</a>",
        f'<!DOCTYPE a [<!ENTITY x SYSTEM "{secret.as_uri()}">]><a>&x;</a>',
        f'<!DOCTYPE a [<!ENTITY % x SYSTEM "{secret.as_uri()}"> %x;]><a>1</a>',
        '<!DOCTYPE a [<!ENTITY x "lol"><!ENTITY y "&x;&x;&x;&x;">]><a b="&y;">&y;</a>',
        "<a>" * 10_000 + "</a>" * 10_000,
    ]
    rows = [(text, "string(/a)") for text in harmful]
    assert asked(named("xml_path"), [*rows, ("<a>1</a>", "string(/a)")]) == [None] * len(rows) + ["1"]


def test_a_document_type_without_entities_does_no_harm() -> None:
    assert asked(named("xml_path"), [('<!DOCTYPE a SYSTEM "a.dtd"><a>1</a>', "/a")]) == ["1"]


@pytest.mark.parametrize("path", ["//[", "", "a) | (b", "unknown()", "x:a", "$v", "re:test('a', 'a')"])
def test_malformed_xml_paths(path: str) -> None:
    operator = named("xml_path")
    assert operator.check is not None
    assert f"{path!r} is not an XPath 1.0: " in str(operator.check([None, path]))
    assert operator.check([None, "//a"]) is None
    assert asked(operator, [(XML, path)]) == [None]
