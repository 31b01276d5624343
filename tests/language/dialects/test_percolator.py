"""Percolator queries: what each means for documents, what is refused and where, and a naive interpreter."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis import Matcher
from tamis.engines import ENGINES
from tamis.errors import ConditionError
from tamis.events import EventBatch, EventType
from tamis.language.condition import Condition, compile_condition
from tamis.language.dialects.percolator import parse_leniently
from tamis.reference import evaluate
from tamis.syntax import tree as syntax
from tamis.syntax.parser import parse
from tamis.syntax.printing import to_text


def compiled(query: Any, event_type: EventType | None = None) -> Condition:
    return compile_condition(
        query if isinstance(query, str) else json.dumps(query), event_type, dialect="percolator"
    )


def verdicts(query: Any, *documents: dict[str, Any]) -> list[bool | None]:
    return evaluate(compiled(query), EventBatch.of(list(documents)))


@pytest.mark.parametrize(
    ("query", "matching", "others"),
    [
        ({"match_all": {}}, [{}], []),
        ({"match_none": {}}, [], [{}]),
        (
            {"term": {"a": "x"}},
            [{"a": "x"}, {"a": ["y", "x"]}],
            [{}, {"a": None}, {"a": "X"}, {"a": 1}, {"a": []}],
        ),
        ({"term": {"a": {"value": "x", "boost": 2.0}}}, [{"a": "x"}], [{"a": "y"}]),
        (
            {"term": {"a": {"value": "É.x", "case_insensitive": True}}},
            [{"a": "É.X"}],
            [{"a": "é.x"}, {"a": "Éax"}],
        ),
        ({"term": {"a": 1}}, [{"a": 1}, {"a": 1.0}, {"a": [2, 1]}], [{"a": "1"}, {"a": True}]),
        ({"term": {"a": True}}, [{"a": True}, {"a": [False, True]}], [{"a": "true"}, {"a": 1}]),
        (
            {"term": {"a.b": 1}},
            [{"a": {"b": 1}}, {"a": [{"b": [2, 1]}, {"c": 1}]}],
            [{"a": 1}, {"a": {"b": {"c": 1}}}],
        ),
        (
            {"terms": {"a": ["x", 1, True]}},
            [{"a": "x"}, {"a": 1}, {"a": [False, True]}],
            [{"a": "1"}, {"a": 2}, {}],
        ),
        ({"terms": {"a": []}}, [], [{}, {"a": 1}]),
        (
            {"exists": {"field": "a"}},
            [{"a": 0}, {"a": [None, ""]}, {"a": {"b": 1}}],
            [{}, {"a": None}, {"a": [None]}],
        ),
        (
            {"range": {"a": {"gt": 1, "lte": 2.5}}},
            [{"a": 2.5}, {"a": [9, 2]}],
            [{"a": 1}, {"a": [1, 3]}, {"a": "2"}],
        ),
        ({"range": {"a": {"gte": "b", "lt": "c"}}}, [{"a": "b"}, {"a": "bz"}], [{"a": "c"}, {"a": "a"}, {"a": 1}]),
        ({"range": {"a": {}}}, [{"a": "x"}], [{}]),
        ({"range": {"a": {"gte": None, "lt": 3}}}, [{"a": 2}], [{"a": 3}]),
        (
            {"range": {"a": {"gte": "2026-01-01", "lte": "2026-01-31"}}},
            [{"a": "2026-01-01"}, {"a": "2026-01-31T23:59:59Z"}, {"a": "2026-02-01T00:30:00+01:00"}],
            [{"a": "2025-12-31T23:59:59Z"}, {"a": "2026-02-01"}, {"a": "soon"}, {"a": 1767225600}],
        ),
        ({"range": {"a": {"gt": "2026-01-31"}}}, [{"a": "2026-02-01"}], [{"a": "2026-01-31T12:00:00Z"}]),
        ({"range": {"a": {"lt": "2026-01-31T12:00"}}}, [{"a": "2026-01-31"}], [{"a": "2026-01-31T12:00:00Z"}]),
        ({"prefix": {"a": "1%_"}}, [{"a": "1%_x"}, {"a": ["z", "1%_"]}], [{"a": "1x_"}, {"a": 1}]),
        ({"prefix": {"a": {"value": "aB", "case_insensitive": True}}}, [{"a": "Abc\n"}], [{"a": "xab"}]),
        ({"wildcard": {"a": "x*y?"}}, [{"a": "xyz"}, {"a": "x\nyy"}], [{"a": "xy"}, {"a": "Xyz"}, {"a": "axyz"}]),
        ({"wildcard": {"a": {"wildcard": "5\\*%"}}}, [{"a": "5*%"}], [{"a": "55%"}]),
        ({"wildcard": {"a": {"value": "A?(*", "case_insensitive": True}}}, [{"a": "ab("}], [{"a": "ab"}]),
        ({"regexp": {"a": "a.c|[x-z]+"}}, [{"a": "a\nc"}, {"a": "zx"}], [{"a": "abcd"}, {"a": "zb"}]),
        ({"regexp": {"a": {"value": "Ab{2}", "case_insensitive": True}}}, [{"a": "aBB"}], [{"a": "ab"}]),
        ({"match": {"a": "Fast CAR"}}, [{"a": "a fast bike"}, {"a": ["x", "the car"]}], [{"a": "faster"}, {}]),
        ({"match": {"a": {"query": "fast car", "operator": "AND"}}}, [{"a": ["fast!", "car"]}], [{"a": "fast"}]),
        (
            {"match": {"a": {"query": "a b c d", "minimum_should_match": "75%"}}},
            [{"a": "d c b"}],
            [{"a": "a b x"}],
        ),
        ({"match": {"a": {"query": "a b", "minimum_should_match": 3}}}, [], [{"a": "a b"}]),
        ({"match": {"a": {"query": "a b", "minimum_should_match": -5}}}, [{"a": "b"}], [{"a": "c"}]),
        ({"match": {"a": "!?"}}, [], [{"a": "!?"}]),
        ({"match": {"a": 5}}, [{"a": 5}, {"a": "5"}, {"a": "no 5"}], [{"a": "55"}, {"a": 6}]),
        ({"match": {"a": "5"}}, [{"a": 5}, {"a": "no 5"}], [{"a": "55"}, {"a": 6}]),
        ({"match": {"a": "straße Ünal"}}, [{"a": "STRAßE"}, {"a": "ünal"}], [{"a": "unal"}]),
        ({"constant_score": {"filter": {"term": {"a": 1}}, "boost": 3}}, [{"a": 1}], [{"a": 2}]),
        ({"dis_max": {"queries": [{"term": {"a": 1}}, {"term": {"a": 2}}]}}, [{"a": 2}], [{"a": 3}]),
        ({"query": {"term": {"a": 1}}}, [{"a": 1}], [{}]),
        ({"bool": {}}, [{}], []),
        ({"bool": {"must_not": {"term": {"a": 1}}}}, [{}, {"a": "x"}, {"a": [2]}], [{"a": 1}, {"a": [2, 1]}]),
        (
            {"bool": {"must_not": {"bool": {"must_not": {"range": {"a": {"gt": 0}}}}}}},
            [{"a": 1}],
            [{}, {"a": "x"}],
        ),
        ({"bool": {"must": {"term": {"a": 1}}, "filter": [{"term": {"b": 2}}]}}, [{"a": 1, "b": 2}], [{"a": 1}]),
        ({"bool": {"must": [{"term": {"a": 1}}], "should": [{"term": {"b": 2}}]}}, [{"a": 1}], [{"b": 2}]),
        ({"bool": {"should": [{"term": {"a": 1}}, {"term": {"b": 2}}]}}, [{"a": 1}, {"b": 2}], [{}]),
        ({"bool": {"should": [{"term": {"a": 1}}], "minimum_should_match": 0}}, [{"a": 1}], [{}]),
        ({"bool": {"should": [{"term": {"a": 1}}], "must_not": {"term": {"b": 1}}}}, [{"a": 1}], [{}]),
        (
            {"bool": {"must": {"match_all": {}}, "should": [{"term": {"a": 1}}], "minimum_should_match": "100%"}},
            [{"a": 1}],
            [{}],
        ),
        ({"bool": {"minimum_should_match": 1}}, [{}], []),
        ({"bool": {"minimum_should_match": 1, "filter": {"match_all": {}}}}, [], [{}]),
        ({"term": {"a": "5"}}, [{"a": "5"}, {"a": 5}, {"a": [1, 5.0]}], [{"a": "5.0"}, {"a": True}]),
        ({"terms": {"a": ["true", "x"]}}, [{"a": "true"}, {"a": True}, {"a": "x"}], [{"a": False}, {"a": 1}]),
        ({"range": {"a": {"gt": "5"}}}, [{"a": 6}, {"a": "6"}], [{"a": 5}, {"a": True}]),
    ],
)
def test_what_a_query_means(query: Any, matching: list[dict[str, Any]], others: list[dict[str, Any]]) -> None:
    tree = compiled(query).tree
    assert parse(to_text(tree)) == tree, "it can be said in SQL"
    assert verdicts(query, *matching) == [True] * len(matching)
    assert verdicts(query, *others) == [False] * len(others), "no verdict is unknown"
    negated = {"bool": {"must_not": query.get("query", query)}}
    assert verdicts(negated, *matching, *others) == [False] * len(matching) + [True] * len(others)


BERLIN, POTSDAM, FIJI = {"lat": 52.52, "lon": 13.405}, {"lat": 52.39, "lon": 13.06}, {"lat": -17.7, "lon": 178.0}


@pytest.mark.parametrize("place", [POTSDAM, [13.06, 52.39], [13.06, 52.39, 34], "52.39,13.06", [FIJI, POTSDAM]])
def test_positions(place: Any) -> None:
    document = {"shop": {"at": place}}
    for distance, found in (("30km", True), ("20km", False), (30000, True), ("20 miles", True), ("10nmi", False)):
        query = {"geo_distance": {"distance": distance, "shop.at": BERLIN}}
        assert verdicts(query, document, {"shop": {}}) == [found, False]


@pytest.mark.parametrize(
    ("box", "inside"),
    [
        ({"top_left": {"lat": 53, "lon": 13}, "bottom_right": {"lat": 52, "lon": 14}}, [True, True, False]),
        ({"top_right": [13.1, 53], "bottom_left": "52, 13"}, [False, True, False]),
        ({"top": 0, "left": 170, "bottom": -20, "right": -170}, [False, False, True]),
    ],
)
def test_boxes(box: Any, inside: list[bool]) -> None:
    found = verdicts({"geo_bounding_box": {"at": box}}, *({"at": place} for place in (BERLIN, POTSDAM, FIJI)))
    assert found == inside


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("[1]", "[1]", "expected a query"),
        ('{"term": 1}', "1", "expected an object behind 'term', found a number"),
        ('{"match_phrase": {"a": "b"}}', '"match_phrase"', "the query 'match_phrase' is not supported"),
        ('{"bool": {"must": {"nested": {}}}}', '"nested"', "the query 'nested' is not supported"),
        ('{"bool": {"filtr": []}}', '"filtr"', "'filtr' is not supported here"),
        ('{"bool": {"adjust_pure_negative": false}}', "false", "only true is supported here"),
        ('{"term": {"a": 1}, "exists": {}}', '{"term": {"a": 1}, "exists": {}}', "a query has one name"),
        ('{"term": {"a": 1, "b": 2}}', '{"a": 1, "b": 2}', "expected one field here, found 2"),
        ('{"term": {"a": null}}', "null", "expected a string, a number or a boolean, found null"),
        ('{"term": {"a": {"boost": 1}}}', '{"boost": 1}', "expected 'value' in this object"),
        ('{"term": {"a": {"value": 1, "fuzzy": 1}}}', '"fuzzy"', "'fuzzy' is not supported here"),
        ('{"term": {"a*": 1}}', '"a*": 1', "'a*' is not the name of a field"),
        ('{"terms": {"a": {"index": "i"}}}', '{"index": "i"}', "expected an array of values"),
        (
            '{"match": {"a": {"query": "b", "fuzziness": "AUTO"}}}',
            '"fuzziness"',
            "'fuzziness' is not supported here",
        ),
        ('{"match": {"a": {"query": "b", "operator": "xor"}}}', '"xor"', "expected 'and' or 'or'"),
        ('{"bool": {"minimum_should_match": "3<90%"}}', '"3<90%"', "expected a whole number or a percentage"),
        ('{"range": {"a": {"gt": "now-1d"}}}', '"now-1d"', "date mathematics are not supported"),
        ('{"range": {"a": {"gt": "2026-01-01||/M"}}}', '"2026-01-01||/M"', "date mathematics are not supported"),
        ('{"range": {"a": {"gt": "2026-02-30"}}}', '"2026-02-30"', "'2026-02-30' is not a date"),
        ('{"range": {"a": {"gt": 1, "time_zone": "+01:00"}}}', '"time_zone"', "'time_zone' is not supported here"),
        ('{"range": {"a": {"gt": "x", "format": "epoch_millis"}}}', '"epoch_millis"', "this format of dates"),
        ('{"regexp": {"a": "a~b"}}', '"a~b"', "~ is the complement in Lucene"),
        ('{"regexp": {"a": "(a"}}', '{"regexp": {"a": "(a"}}', ""),
        ('{"wildcard": {"a": "a\\\\"}}', '"a\\\\"', "a backslash stands before the character that it escapes"),
        ('{"wildcard": {"a": 1}}', "1", "expected a string, found a number"),
        ('{"prefix": {"a": {"value": "x", "case_insensitive": 1}}}', "1", "expected true or false"),
        ('{"geo_distance": {"distance": "5 parsecs", "a": [1, 2]}}', '"5 parsecs"', "expected a distance"),
        ('{"geo_distance": {"distance": "5km", "a": [1, 200]}}', "[1, 200]", "expected a position"),
        ('{"geo_bounding_box": {"a": {"top": 1}}}', '{"top": 1}', "expected top_left and bottom_right"),
        ('{"term": {"a": 1}', "", "expected , or }, found the end"),
    ],
)
def test_a_refusal_names_the_place(text: str, place: str, message: str) -> None:
    with pytest.raises(ConditionError) as caught:
        compiled(text)
    problem = caught.value.problems[0]
    if message:
        assert text[problem.start : problem.end] == place
        assert problem.message.startswith(message)


def test_all_problems_are_reported() -> None:
    query = {"bool": {"must": [{"fuzzy": {}}, {"term": {"a": []}}], "should": {"span_near": {}}}}
    _, problems = parse_leniently(json.dumps(query))
    assert [problem.message for problem in problems] == [
        "the query 'fuzzy' is not supported",
        "expected a string, a number or a boolean, found an array",
        "the query 'span_near' is not supported",
    ]


def test_spans_point_into_the_query() -> None:
    text = '{"bool": {"must": [{"term": {"brand": "Nikon"}}]}}'
    tree, _ = parse_leniently(text)
    spans = {text[slice(*node.span)] for node in syntax.walk(tree)}
    assert {'"brand": "Nikon"', '"Nikon"'} <= spans


def test_declared_types() -> None:
    types = {"n": "int", "p": "decimal(8,2)", "t": "array<string>", "s": "string", "at": "timestamp"}
    nested = {
        "items": "array<struct<price: double, tags: array<string>>>",
        "pos": "struct<lat: double, lon: double>",
    }
    event_type = EventType.of({"attributes": {**types, **nested}})
    event = {
        "n": 5,
        "p": "2.50",
        "t": ["x", None, "y z"],
        "s": "Fast car",
        "at": "2026-01-05T10:00:00Z",
        "items": [{"price": 1.5, "tags": ["a"]}, {"price": 2.5, "tags": None}],
        "pos": POTSDAM,
    }
    queries = [
        {"term": {"n": 5}},
        {"term": {"n": "5"}},
        {"term": {"p": 2.5}},
        {"term": {"t": "x"}},
        {"match": {"t": "z"}},
        {"match": {"s": "CAR"}},
        {"range": {"at": {"gte": "2026-01-05", "lte": "2026-01-05"}}},
        {"term": {"items.price": 2.5}},
        {"term": {"items.tags": "a"}},
        {"exists": {"field": "items.tags"}},
        {"geo_distance": {"distance": "30km", "pos": BERLIN}},
    ]
    batch = EventBatch.of([event, {}], event_type)
    for query in queries:
        assert evaluate(compiled(query, event_type), batch) == [True, False], query
    with pytest.raises(ConditionError, match="the event type has no attribute 'm'"):
        compiled({"term": {"m": 1}}, event_type)
    with pytest.raises(ConditionError, match="there is no field 'cost'"):
        compiled({"term": {"items.cost": 1}}, event_type)


# --- a naive interpreter -------------------------------------------------------------------------------------


def _values(document: Any, path: list[str]) -> list[Any]:
    if isinstance(document, list):
        return [value for each in document for value in _values(each, path)]
    if path:
        return _values(document.get(path[0]), path[1:]) if isinstance(document, dict) else []
    return [] if document is None else [document]


def _kind(value: Any) -> str:
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


def _same(one: Any, other: Any) -> bool:
    return _kind(one) == _kind(other) and one == other


def _naive(query: dict[str, Any], document: dict[str, Any]) -> bool:
    ((name, body),) = query.items()
    if name == "bool":
        should = [_naive(each, document) for each in body["should"]]
        least = body.get("minimum_should_match", 0) if should or body["must"] else 0
        if should and not body["must"]:
            least = max(least, 1)
        return (
            all(_naive(each, document) for each in body["must"])
            and not any(_naive(each, document) for each in body["must_not"])
            and sum(should) >= least
        )
    if name == "exists":
        return bool(_values(document, body["field"].split(".")))
    ((field, asked),) = body.items()
    values = _values(document, field.split("."))
    texts = [value for value in values if isinstance(value, str)]
    if name == "term":
        return any(_same(value, asked) for value in values)
    if name == "terms":
        return any(_same(value, each) for value in values for each in asked)
    if name == "range":
        kind = _kind(asked["gte"])
        return any(_kind(value) == kind and asked["gte"] <= value < asked["lt"] for value in values)
    if name == "prefix":
        return any(text.startswith(asked) for text in texts)
    if name == "wildcard":
        pattern = re.escape(asked).replace(r"\*", ".*").replace(r"\?", ".")
        return any(re.fullmatch(pattern, text, re.DOTALL) for text in texts)
    if name == "regexp":
        return any(re.fullmatch(asked, text, re.DOTALL) for text in texts)
    found = {word for text in texts for word in re.findall(r"\w+", text.lower())}
    wanted = asked["query"].lower().split()
    return (
        all(word in found for word in wanted)
        if asked["operator"] == "and"
        else any(word in found for word in wanted)
    )


FIELDS = st.sampled_from(["a", "b", "c.d"])
SCALARS = st.sampled_from(["x", "y", "xy", "x y", "", 0, 1, 2, 2.5, True, False])
TEXTS = st.sampled_from(["x", "y", "xy", "x y", "X"])


def _on_field(name: str, asked: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(lambda field, value: {name: {field: value}}, FIELDS, asked)


def _bounds(values: list[Any]) -> st.SearchStrategy[Any]:
    return st.builds(lambda low, high: {"gte": low, "lt": high}, st.sampled_from(values), st.sampled_from(values))


LEAVES = st.one_of(
    _on_field("term", SCALARS),
    _on_field("terms", st.lists(SCALARS, max_size=3)),
    _on_field("range", _bounds([0, 1, 2, 2.5]) | _bounds(["x", "xy", "y"])),
    _on_field("prefix", TEXTS),
    _on_field("wildcard", st.sampled_from(["x*", "?", "*y", "x?y", "*"])),
    _on_field("regexp", st.sampled_from(["x|y", "x.*", "[xy]{1,2}", ".?"])),
    _on_field(
        "match",
        st.builds(lambda query, sign: {"query": query, "operator": sign}, TEXTS, st.sampled_from(["and", "or"])),
    ),
    st.builds(lambda field: {"exists": {"field": field}}, FIELDS),
)


def _bool(must: list[Any], must_not: list[Any], should: list[Any], least: int | None) -> dict[str, Any]:
    body = {"must": must, "must_not": must_not, "should": should}
    return {"bool": body if least is None else {**body, "minimum_should_match": least}}


def _bools(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    few = st.lists(inner, max_size=2)
    return st.builds(_bool, few, few, st.lists(inner, max_size=3), st.none() | st.integers(0, 3))


VALUES = SCALARS | st.none() | st.lists(SCALARS | st.none(), max_size=3)
NESTED = st.fixed_dictionaries({}, optional={"d": VALUES})
DOCUMENTS = st.fixed_dictionaries(
    {}, optional={"a": VALUES, "b": VALUES, "c": NESTED | st.lists(NESTED, max_size=2) | SCALARS}
)


@pytest.mark.slow
@given(
    st.lists(st.recursive(LEAVES, _bools, max_leaves=6), min_size=1, max_size=8),
    st.lists(DOCUMENTS, min_size=1, max_size=4),
)
def test_queries_find_what_a_naive_interpreter_finds(queries: list[Any], documents: list[dict[str, Any]]) -> None:
    conditions = [compiled(query) for query in queries]
    assert all(parse(to_text(condition.tree)) == condition.tree for condition in conditions), (
        "it can be said in SQL"
    )
    batch = EventBatch.of(documents)
    expected = [[_naive(query, document) for document in documents] for query in queries]
    assert [evaluate(condition, batch) for condition in conditions] == expected
    rows, slots = ENGINES["bitslice"].build([condition.formula for condition in conditions]).match(batch)
    pairs = [(row, slot) for slot, found in enumerate(expected) for row, holds in enumerate(found) if holds]
    assert sorted(zip(rows.tolist(), slots.tolist(), strict=True)) == sorted(pairs)


NAMES = st.sampled_from(
    ["bool", "must", "should", "minimum_should_match", "term", "terms", "range", "exists", "field"]
)
MORE = st.sampled_from(
    ["match", "prefix", "regexp", "geo_distance", "distance", "geo_bounding_box", "value", "top", "a.b"]
)
JSON = st.recursive(
    SCALARS | st.none() | st.sampled_from(["2026-01-01", "5km", "50%", "a..b", "[", "1,2"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | MORE, inner, max_size=3),
)


@given(JSON.map(json.dumps) | st.builds(lambda name, body: json.dumps({name: body}), NAMES | MORE, JSON))
def test_any_json_is_compiled_or_refused(text: str) -> None:
    try:
        assert compiled(text).text == text
    except ConditionError as error:
        assert all(0 <= problem.start <= problem.end <= len(text) + 1 for problem in error.problems)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"term": {"brand.keyword": "Leica M"}}, [True, True, False, False, True]),
        ({"terms": {"brand.keyword": ["Leica M", "x"]}}, [True, True, False, False, True]),
        ({"prefix": {"brand.keyword": "Leica"}}, [True, True, False, False, True]),
        ({"match": {"brand.keyword": "leica"}}, [False] * 5),
        ({"match": {"brand.keyword": {"query": "Leica M", "operator": "and"}}}, [True, True, False, False, True]),
        ({"exists": {"field": "brand.keyword"}}, [True, True, False, False, True]),
        ({"bool": {"must_not": {"term": {"brand.keyword": "Leica M"}}}}, [False, False, True, True, False]),
    ],
)
def test_a_keyword_is_the_whole_text_of_its_field(query: Any, expected: list[bool]) -> None:
    long = "Leica" * 60
    documents: list[dict[str, Any]] = [
        {"brand": "Leica M"},
        {"brand": ["x", "Leica M"]},
        {"brand": 5},
        {"brand": long},
    ]
    assert verdicts(query, *documents, {"brand": {"keyword": "Leica M"}}) == expected


def test_a_keyword_of_a_declared_text() -> None:
    event_type = EventType.of({"attributes": {"brand": "string", "n": "int", "tags": "array<string>"}})
    matcher = Matcher(event_type)
    matcher.add("brand", json.dumps({"term": {"brand.keyword": "Leica M"}}), dialect="percolator")
    matcher.add("tags", json.dumps({"term": {"tags.keyword": "new"}}), dialect="percolator")
    assert matcher.match({"brand": "Leica M", "tags": ["new", "old"]}) == ["brand", "tags"]
    with pytest.raises(ConditionError, match="there is no field 'keyword'"):
        compiled({"term": {"n.keyword": "5"}}, event_type)
