"""Percolator queries: the query DSL of Elasticsearch and OpenSearch, as JSON, over events as documents.

A query is TRUE or FALSE for a document, never unknown: a field has any number of values, and a query on it holds
when one value satisfies it, so NOT of it holds where the field is missing. That is `exists` over `field_values`,
which is never NULL, of a test that is TRUE or not. What only ranks results (`boost`) is ignored; any other name
that is not known here is refused where it stands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

from tamis.errors import PatternError, Problem
from tamis.functions.documents import KEYWORD, point_of, words
from tamis.language.dialects.json_spans import Json, parse_json
from tamis.language.dialects.lucene_patterns import (
    anchor,
    like_literal,
    regex_literal,
    regexp_to_java,
    wildcard_to_like,
    wildcard_to_regex,
)
from tamis.limits import DEFAULT_LIMITS, Limits
from tamis.syntax.cursor import MOST_PROBLEMS, SyntaxFailure
from tamis.syntax.literals import read_number
from tamis.syntax.tree import Expression, FunctionCall, Lambda, Literal, Missing, Name, Span, TimeLiteral, children
from tamis.values.types import BOOLEAN, DOUBLE, INT, STRING, TIMESTAMP

_IGNORED = frozenset({"boost", "_name"})
"""What concerns the order of results, or names a query."""
_BOUNDS = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_DATE = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[T ]([0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?)(Z|[-+][0-9]{2}:[0-9]{2})?)?"
)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_DATE_MATH = re.compile(r"now\b|.*\|\|")
_COUNT = re.compile(r"(-?)([0-9]{1,6})(%?)")
_DISTANCE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]*)")
_METRES = {
    **dict.fromkeys(("", "m", "meters"), 1.0),
    **dict.fromkeys(("km", "kilometers"), 1000.0),
    **dict.fromkeys(("mi", "miles"), 1609.344),
    **dict.fromkeys(("nmi", "NM", "nauticalmiles"), 1852.0),
    **dict.fromkeys(("yd", "yards"), 0.9144),
    **dict.fromkeys(("ft", "feet"), 0.3048),
    **dict.fromkeys(("in", "inch"), 0.0254),
    **dict.fromkeys(("cm", "centimeters"), 0.01),
    **dict.fromkeys(("mm", "millimeters"), 0.001),
}
_ELEMENT = "v"


def parse_leniently(text: str, limits: Limits = DEFAULT_LIMITS) -> tuple[Expression, list[Problem]]:
    """The tree as far as it could be read, and all problems of the query.

    >>> from tamis.syntax.printing import to_text
    >>> to_text(parse_leniently('{"bool": {"must_not": {"term": {"brand": "Nikon"}}}}')[0])
    "NOT exists(field_values(brand), v -> v = 'Nikon' IS TRUE)"
    """
    try:
        root = parse_json(text, 4 * limits.depth)
    except SyntaxFailure as failure:
        return Missing((0, len(text))), [failure.problem]
    reader = _Reader()
    if isinstance(root.value, dict) and list(root.value) == ["query"]:
        root = root.value["query"]
    tree = reader.query(root)
    return tree, reader.problems


def record_of(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """The id and the condition of a document of a percolator index, or None if it is none.

    A document is what a search or a scroll returns (`_id` and `_source`), or its source alone; the query is its
    field `query`. Other fields, which percolator searches filter by, are left out.

    >>> record_of({"_id": "7", "_source": {"query": {"match_all": {}}, "owner": "ann"}})
    {'condition': '{"match_all": {}}', 'id': '7'}
    """
    source = document.get("_source", document)
    if "condition" in document or not isinstance(source, Mapping) or "query" not in source:
        return None
    id = document.get("_id", document.get("id"))
    found = {"condition": json.dumps(source["query"], ensure_ascii=False)}
    return found if id is None else {**found, "id": id}


class _Reader:
    """Turns one query into a tree; what is wrong is reported and is `Missing` in the tree."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def report(self, message: str, span: Span, hint: str | None = None) -> Missing:
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(Problem(message, *span, hint))
        return Missing(span)

    def report_kind(self, what: str, found: Json) -> Missing:
        return self.report(f"expected {what}, found {found.kind}", found.span)

    def query(self, node: Json) -> Expression:
        if not isinstance(node.value, dict):
            return self.report_kind('a query, such as {"term": {"brand": "Nikon"}}', node)
        if len(node.value) != 1:
            return self.report(
                f"a query has one name, this one {len(node.value)}", node.span, 'join queries by "bool"'
            )
        ((name, body),) = node.value.items()
        make = _QUERIES.get(name)
        if make is None:
            known = ", ".join(_QUERIES)
            return self.report(f"the query {name!r} is not supported", node.keys[name], f"supported are {known}")
        if not isinstance(body.value, dict):
            return self.report_kind(f"an object behind {name!r}", body)
        if name in _NAMED_BY_KEY:
            body = replace(body, span=(node.keys[name][0], body.span[1]))
        return make(self, body)

    # --- parts of queries ------------------------------------------------------------------------------------

    def options(self, node: Json, known: Sequence[str]) -> dict[str, Json]:
        """The members of an object that matter; a name that is not known is refused."""
        assert isinstance(node.value, dict)
        for name in node.value:
            if name not in known and name not in _IGNORED:
                self.report(f"{name!r} is not supported here", node.keys[name])
        return {name: value for name, value in node.value.items() if name in known}

    def one_field(self, node: Json, known: Sequence[str] = ()) -> tuple[str, Json, Span] | None:
        """The name of the one field of a query, what is asked of it, and the place of both.

        `known` are options beside it.
        """
        assert isinstance(node.value, dict)
        fields = [name for name in node.value if name not in known and name not in _IGNORED]
        if len(fields) != 1:
            self.report(f"expected one field here, found {len(fields)}", node.span)
            return None
        body = node.value[fields[0]]
        return fields[0], body, (node.keys[fields[0]][0], body.span[1])

    def details(self, node: Json, main: str, known: Sequence[str]) -> tuple[Json | None, dict[str, Json]]:
        """What is asked of a field: alone, or as `main` in an object with options."""
        if not isinstance(node.value, dict):
            return node, {}
        found = self.options(node, (main, *known))
        if main not in found:
            self.report(f"expected {main!r} in this object", node.span)
        return found.get(main), found

    def flag(self, options: dict[str, Json], name: str) -> bool:
        found = options.get(name)
        if found is not None and not isinstance(found.value, bool):
            self.report_kind("true or false", found)
        return found is not None and found.value is True

    def text(self, node: Json | None) -> str | None:
        if node is not None and not isinstance(node.value, str):
            self.report_kind("a string", node)
        return node.value if node is not None and isinstance(node.value, str) else None

    def literal(self, node: Json) -> Literal | None:
        """A scalar as a constant; numbers are exact."""
        if isinstance(node.value, bool):
            return Literal(BOOLEAN, node.value, node.span)
        if isinstance(node.value, str):
            return Literal(STRING, node.value, node.span)
        if isinstance(node.value, int | float):
            read = read_number(node.text.lstrip("-"), negative=node.text.startswith("-"))
            if not isinstance(read, str):
                return Literal(*read, node.span)
            self.report(read, node.span)
        else:
            self.report_kind("a string, a number or a boolean", node)
        return None

    def number_of(self, node: Json, clauses: int) -> int:
        """How many of the clauses `minimum_should_match` asks for."""
        match = _COUNT.fullmatch(str(node.value)) if isinstance(node.value, int | str) else None
        if match is None or isinstance(node.value, bool):
            message = "expected a whole number or a percentage, such as 2, -1 or '75%'"
            self.report(message, node.span, "combinations such as 3<90% are not supported")
            return 0
        count = int(match[2])
        asked = clauses * count // 100 if match[3] else count
        return max(clauses - asked if match[1] else asked, 0)

    def field(self, function: str, name: str, span: Span) -> Expression:
        """A call of `function` with the field of that name."""
        steps = name.split(".")
        if not all(steps) or "*" in name:
            return self.report(f"{name!r} is not the name of a field", span)
        rest = (Literal(STRING, step, span) for step in steps[1:])
        return FunctionCall(function, (Name((steps[0],), span), *rest), span)

    def some_value(self, name: str, span: Span, test: Callable[[Expression], Expression]) -> Expression:
        """Does a value of the field satisfy the test?"""
        held = FunctionCall("is_true", (test(Name((_ELEMENT,), span)),), span)
        values = self.field("field_values", name, span)
        return FunctionCall("exists", (values, Lambda(_ELEMENT, held, span)), span)

    # --- queries of queries ----------------------------------------------------------------------------------

    def bool_query(self, node: Json) -> Expression:
        known = ("must", "filter", "must_not", "should", "minimum_should_match", "adjust_pure_negative")
        options = self.options(node, known)
        must, filter_, must_not, should = (
            self.clauses(options.get(name)) for name in ("must", "filter", "must_not", "should")
        )
        pure = options.get("adjust_pure_negative")
        if pure is not None and pure.value is not True:
            self.report("only true is supported here", pure.span)
        least = 0
        if "minimum_should_match" in options:
            asked = self.number_of(options["minimum_should_match"], len(should))
            least = asked if should or must or filter_ else 0
        if should and not must and not filter_:
            least = max(least, 1)
        # Not the span of the query: an explanation would take the two for one test.
        negated = [FunctionCall("not", (each,), options["must_not"].span) for each in must_not]
        place = options["should"].span if "should" in options else node.span
        enough = [] if least == 0 else [_at_least(least, should, place)]
        return _junction("and", [*must, *filter_, *negated, *enough], node.span)

    def clauses(self, node: Json | None) -> list[Expression]:
        if node is None:
            return []
        return [self.query(each) for each in (node.value if isinstance(node.value, list) else [node])]

    def constant_score(self, node: Json) -> Expression:
        found = self.options(node, ("filter",)).get("filter")
        return self.report("expected 'filter' in this object", node.span) if found is None else self.query(found)

    def dis_max(self, node: Json) -> Expression:
        queries = self.clauses(self.options(node, ("queries", "tie_breaker")).get("queries"))
        return _junction("or", queries, node.span) if queries else self.report("expected 'queries'", node.span)

    def match_all(self, node: Json) -> Expression:
        self.options(node, ())
        return Literal(BOOLEAN, True, node.span)

    def match_none(self, node: Json) -> Expression:
        self.options(node, ())
        return Literal(BOOLEAN, False, node.span)

    # --- queries of values -----------------------------------------------------------------------------------

    def term(self, node: Json) -> Expression:
        found = self.one_field(node)
        if found is None:
            return Missing(node.span)
        name, body, place = found
        value, options = self.details(body, "value", ("case_insensitive",))
        literal = None if value is None else self.literal(value)
        if literal is None:
            return Missing(body.span)
        return self.some_value(name, place, lambda element: self.equal(element, literal, options))

    def equal(self, element: Expression, literal: Literal, options: dict[str, Json]) -> Expression:
        if self.flag(options, "case_insensitive") and isinstance(literal.value, str):
            pattern = anchor(regex_literal(literal.value), ignore_case=True)
            return FunctionCall("rlike", (element, Literal(STRING, pattern, literal.span)), literal.span)
        return _comparison("=", element, literal)

    def terms(self, node: Json) -> Expression:
        found = self.one_field(node)
        if found is None:
            return Missing(node.span)
        name, body, place = found
        if not isinstance(body.value, list):
            return self.report(
                f"expected an array of values, found {body.kind}", body.span, "look-ups are not supported"
            )
        kinds: dict[type, list[Literal]] = {}
        read: dict[str, list[Literal]] = {}
        for item in body.value:
            literal = self.literal(item)
            if literal is not None:
                # Values of several kinds have no common type, and each value of an event is of one.
                kind = type(item.value) if isinstance(item.value, bool | str) else float
                kinds.setdefault(kind, []).append(literal)
                if (other := _as_other_kind(literal)) is not None:
                    read.setdefault(other[0], []).append(other[1])

        def test(element: Expression) -> Expression:
            tests = [FunctionCall("in", (element, *group), body.span) for group in kinds.values()]
            for function, group in read.items():
                tests.append(
                    FunctionCall("in", (FunctionCall(function, (element,), body.span), *group), body.span)
                )
            return _junction("or", [_is_true(each) for each in tests] if len(tests) > 1 else tests, body.span)

        return self.some_value(name, place, test) if body.value else Literal(BOOLEAN, False, body.span)

    def exists(self, node: Json) -> Expression:
        name = self.options(node, ("field",)).get("field")
        if name is None or self.text(name) is None:
            return (
                self.report('expected the name of a field: {"field": ...}', node.span)
                if name is None
                else Missing()
            )
        count = FunctionCall("size", (self.field("field_values", str(name.value), name.span),), node.span)
        return FunctionCall(">", (count, Literal(INT, 0, node.span)), node.span)

    def range(self, node: Json) -> Expression:
        found = self.one_field(node)
        if found is None:
            return Missing(node.span)
        name, body, place = found
        if not isinstance(body.value, dict):
            return self.report_kind("an object with gt, gte, lt or lte", body)
        bounds = self.options(body, (*_BOUNDS, "format"))
        given = {sign: bounds[sign] for sign in _BOUNDS if sign in bounds and bounds[sign].value is not None}
        if "format" in bounds and bounds["format"].value not in _FORMATS:
            self.report(
                "this format of dates is not supported", bounds["format"].span, f"supported: {', '.join(_FORMATS)}"
            )

        def test(element: Expression) -> Expression:
            tests = [self.range_test(element, sign, bound) for sign, bound in given.items()]
            return _junction("and", [each for each in tests if each is not None], body.span)

        if not given:  # any value is within no bounds
            count = FunctionCall("size", (self.field("field_values", name, body.span),), body.span)
            return FunctionCall(">", (count, Literal(INT, 0, body.span)), body.span)
        return self.some_value(name, place, test)

    def range_test(self, element: Expression, sign: str, node: Json) -> Expression | None:
        comparison = _BOUNDS[sign]
        if not isinstance(node.value, str):
            literal = self.literal(node)
            return None if literal is None else FunctionCall(comparison, (element, literal), node.span)
        if _DATE_MATH.match(node.value):
            self.report(
                "date mathematics are not supported: a match must not depend on when it is looked for", node.span
            )
            return None
        when = _DATE.fullmatch(node.value)
        if when is None:
            return _comparison(comparison, element, Literal(STRING, node.value, node.span))
        day, time, zone = when.groups()
        if time is None:
            # A day is all of it: `lte` ends, and `gt` begins, with the next one.
            following = _next_day(day) if sign in ("lte", "gt") else day
            if following is None:
                self.report(f"{node.value!r} is not a date", node.span)
                return None
            comparison, day, time = {"lte": "<", "gt": ">="}.get(sign, comparison), following, "00:00"
        seconds = time if time.count(":") == 2 else f"{time}:00"
        moment = TimeLiteral(TIMESTAMP, f"{day}T{seconds}{zone or 'Z'}", node.span)
        return FunctionCall(comparison, (element, moment), node.span)

    # --- queries of texts ------------------------------------------------------------------------------------

    def pattern_query(
        self, node: Json, main: str, options: Sequence[str], make: Callable[[str, bool], tuple[str, str]]
    ) -> Expression:
        """A query whose value is a pattern; `make` gives a function of texts and its pattern."""
        found = self.one_field(node)
        if found is None:
            return Missing(node.span)
        name, body, place = found
        inner = body.value if isinstance(body.value, dict) else {}
        value, given = self.details(body, "wildcard" if main in inner and main == "wildcard" else "value", options)
        text = self.text(value)
        if text is None or value is None:
            return Missing(body.span)
        try:
            function, pattern = make(text, self.flag(given, "case_insensitive"))
        except PatternError as error:
            return self.report(str(error.message), value.span)
        literal = Literal(STRING, pattern, value.span)
        return self.some_value(name, place, lambda element: FunctionCall(function, (element, literal), body.span))

    def prefix(self, node: Json) -> Expression:
        def make(text: str, ignore_case: bool) -> tuple[str, str]:
            if ignore_case:
                return "rlike", anchor(regex_literal(text) + ".*", ignore_case=True)
            return "like", like_literal(text) + "%"

        return self.pattern_query(node, "prefix", _PATTERN_OPTIONS, make)

    def wildcard(self, node: Json) -> Expression:
        def make(text: str, ignore_case: bool) -> tuple[str, str]:
            if ignore_case:
                return "rlike", anchor(wildcard_to_regex(text), ignore_case=True)
            return "like", wildcard_to_like(text)

        return self.pattern_query(node, "wildcard", _PATTERN_OPTIONS, make)

    def regexp(self, node: Json) -> Expression:
        def make(text: str, ignore_case: bool) -> tuple[str, str]:
            return "rlike", anchor(regexp_to_java(text), ignore_case=ignore_case)

        return self.pattern_query(node, "regexp", (*_PATTERN_OPTIONS, "flags", "max_determinized_states"), make)

    def match(self, node: Json) -> Expression:
        found = self.one_field(node)
        if found is None:
            return Missing(node.span)
        name, body, place = found
        query, options = self.details(body, "query", ("operator", "minimum_should_match", "lenient"))
        if name.endswith(f".{KEYWORD[-1]}"):  # not split into words
            whole = None if query is None else self.literal(query)
            if whole is None:
                return Missing(body.span)
            return self.some_value(name, place, lambda element: _comparison("=", element, whole))
        field = self.field("field_words", name, place)
        if query is None or not isinstance(query.value, str):
            literal = None if query is None else self.literal(query)
            if query is None or literal is None:
                return Missing(body.span)
            equal = self.some_value(name, place, lambda element: FunctionCall("=", (element, literal), body.span))
            if literal.type == BOOLEAN:
                return equal
            named = FunctionCall("array_contains", (field, Literal(STRING, query.text, query.span)), place)
            return FunctionCall("or", (equal, named), place)
        operator = options.get("operator")
        joint = "or" if operator is None else str(operator.value).lower()
        if operator is not None and joint not in ("and", "or"):
            return self.report("expected 'and' or 'or'", operator.span)
        tests: list[Expression] = [
            FunctionCall("array_contains", (field, Literal(STRING, word, query.span)), place)
            for word in words(query.value)
        ]
        least = len(tests) if joint == "and" else 1
        if "minimum_should_match" in options and joint == "or":
            least = self.number_of(options["minimum_should_match"], len(tests))
        worded = _at_least(max(least, 1), tests, place)
        other = _as_other_kind(Literal(STRING, query.value, query.span))
        if other is None:
            return worded
        equal = self.some_value(name, place, lambda element: _call_comparison("=", element, other))
        return FunctionCall("or", (worded, equal), place)

    # --- queries of positions --------------------------------------------------------------------------------

    def position(self, node: Json) -> tuple[float, float] | None:
        found = point_of(_plain(node))
        if found is None:
            message = 'expected a position: {"lat": 52.5, "lon": 13.4}, [13.4, 52.5] or "52.5, 13.4"'
            self.report(message, node.span)
        return found

    def some_point(self, name: str, node: Json, test: Expression) -> Expression:
        points = self.field("field_points", name, node.span)
        return FunctionCall("exists", (points, Lambda(_ELEMENT, test, node.span)), node.span)

    def geo_distance(self, node: Json) -> Expression:
        known = ("distance", "distance_type", "validation_method", "ignore_unmapped")
        found = self.one_field(node, known)
        assert isinstance(node.value, dict)
        distance, kind = node.value.get("distance"), node.value.get("distance_type")
        if kind is not None and kind.value != "arc":
            self.report("only distances of the type 'arc' are supported", kind.span)
        match = None if distance is None else _DISTANCE.fullmatch(distance.text or str(distance.value))
        if distance is None or match is None or match[2] not in _METRES:
            self.report('expected a distance, such as "12km"', node.span if distance is None else distance.span)
            return Missing(node.span)
        centre = None if found is None else self.position(found[1])
        if found is None or centre is None:
            return Missing(node.span)
        lon, lat = (Literal(DOUBLE, each, found[1].span) for each in centre)
        metres = float(match[1]) * _METRES[match[2]]
        arguments = (Name((_ELEMENT, "lon"), node.span), Name((_ELEMENT, "lat"), node.span), lon, lat)
        length = FunctionCall("arc_metres", arguments, node.span)
        test = FunctionCall("<=", (length, Literal(DOUBLE, metres, distance.span)), node.span)
        return self.some_point(found[0], node, test)

    def geo_bounding_box(self, node: Json) -> Expression:
        found = self.one_field(node, ("validation_method", "ignore_unmapped", "type"))
        if found is None:
            return Missing(node.span)
        name, body, _ = found
        sides = self.sides(body) if isinstance(body.value, dict) else None
        if sides is None:
            return self.report("expected top_left and bottom_right, or top, left, bottom and right", body.span)
        top, left, bottom, right = sides
        if bottom > top:
            return self.report(f"the top, {top}, is below the bottom, {bottom}", body.span)

        def compare(step: str, sign: str, bound: float) -> Expression:
            return FunctionCall(
                sign, (Name((_ELEMENT, step), body.span), Literal(DOUBLE, bound, body.span)), body.span
            )

        # A box whose left is right of its right crosses the antimeridian.
        across = "and" if left <= right else "or"
        east = _junction(across, [compare("lon", ">=", left), compare("lon", "<=", right)], body.span)
        north = [compare("lat", "<=", top), compare("lat", ">=", bottom)]
        return self.some_point(name, node, _junction("and", [*north, east], body.span))

    def sides(self, node: Json) -> tuple[float, float, float, float] | None:
        """Top, left, bottom and right of a box."""
        given = self.options(node, ("top_left", "bottom_right", "top_right", "bottom_left", *_SIDES))
        if set(given) == set(_SIDES):
            if not all(given[side].text for side in _SIDES):
                return None
            top, left, bottom, right = (float(given[side].text) for side in _SIDES)
            return top, left, bottom, right
        for first, second in (("top_left", "bottom_right"), ("top_right", "bottom_left")):
            if set(given) == {first, second}:
                one, other = self.position(given[first]), self.position(given[second])
                if one is None or other is None:
                    return None
                left, right = (one[0], other[0]) if first == "top_left" else (other[0], one[0])
                return one[1], left, other[1], right
        return None


_NAMED_BY_KEY = ("exists", "match_all", "match_none")
"""Queries whose body alone does not say what is asked: their place is that of name and body."""
_SIDES = ("top", "left", "bottom", "right")
_PATTERN_OPTIONS = ("case_insensitive", "rewrite")
_FORMATS = ("strict_date_optional_time", "date_optional_time", "yyyy-MM-dd", "strict_date")

_QUERIES: dict[str, Callable[[_Reader, Json], Expression]] = {
    "bool": _Reader.bool_query,
    "constant_score": _Reader.constant_score,
    "dis_max": _Reader.dis_max,
    "exists": _Reader.exists,
    "geo_bounding_box": _Reader.geo_bounding_box,
    "geo_distance": _Reader.geo_distance,
    "match": _Reader.match,
    "match_all": _Reader.match_all,
    "match_none": _Reader.match_none,
    "prefix": _Reader.prefix,
    "range": _Reader.range,
    "regexp": _Reader.regexp,
    "term": _Reader.term,
    "terms": _Reader.terms,
    "wildcard": _Reader.wildcard,
}


def _as_other_kind(literal: Literal) -> tuple[str, Literal] | None:
    """A text that is a number or a boolean: the function that reads such values, and the constant.

    Mappings convert it to the type of the field; without one, the kind of each value decides.
    """
    if not isinstance(literal.value, str):
        return None
    if literal.value in ("true", "false"):
        return "boolean_of", Literal(BOOLEAN, literal.value == "true", literal.span)
    if _NUMBER.fullmatch(literal.value) is None:
        return None
    read = read_number(literal.value.lstrip("-"), negative=literal.value.startswith("-"))
    return None if isinstance(read, str) else ("number_of", Literal(*read, literal.span))


def _comparison(sign: str, element: Expression, literal: Literal) -> Expression:
    test = FunctionCall(sign, (element, literal), literal.span)
    other = _as_other_kind(literal)
    if other is None:
        return test
    return FunctionCall("coalesce", (test, _call_comparison(sign, element, other)), literal.span)


def _call_comparison(sign: str, element: Expression, other: tuple[str, Literal]) -> Expression:
    function, literal = other
    return FunctionCall(sign, (FunctionCall(function, (element,), literal.span), literal), literal.span)


def _is_true(expression: Expression) -> Expression:
    return FunctionCall("is_true", (expression,), expression.span)


def _junction(name: str, operands: Sequence[Expression], span: Span) -> Expression:
    """AND or OR of any number of operands, flat as the parser of SQL has them."""
    if len(operands) == 1:
        return operands[0]
    flat: list[Expression] = []
    for each in operands:
        is_same = isinstance(each, FunctionCall) and each.function == name
        flat += children(each) if is_same else (each,)
    return FunctionCall(name, tuple(flat), span) if flat else Literal(BOOLEAN, name == "and", span)


def _at_least(least: int, operands: Sequence[Expression], span: Span) -> Expression:
    """At least so many of the operands, from 1 on; more than there are is never."""
    if least > len(operands):
        return Literal(BOOLEAN, False, span)
    if least in (1, len(operands)):
        return _junction("or" if least == 1 else "and", operands, span)
    return FunctionCall("at_least", (Literal(INT, least, span), *operands), span)


def _next_day(day: str) -> str | None:
    try:
        return (date.fromisoformat(day) + timedelta(days=1)).isoformat()
    except (ValueError, OverflowError):
        return None  # no such day, or the last that Python knows


def _plain(node: Json) -> object:
    if isinstance(node.value, dict):
        return {name: _plain(value) for name, value in node.value.items()}
    return [_plain(item) for item in node.value] if isinstance(node.value, list) else node.value
