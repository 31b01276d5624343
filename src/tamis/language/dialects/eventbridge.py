"""Event patterns of Amazon EventBridge, as event-ruler 2.x decides them.

A pattern names fields of an event, nested as in the event, and for each field the tests of which one must hold. It
becomes an AND over its fields. A field may be an array, and so may any object around it: a field is tested by
`exists(leaf_values(...))`, and fields of one object by `exists(inner_objects(...))` around them, so that they are
found in the same element (event-ruler calls that array consistency). `$or` is multiplied out, as there.

`{"exists": false}` is about the whole event, unless a field that comes before it in the order of names has chosen
an element of an array on its path: then it is about that element, as event-ruler has it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from ipaddress import IPv4Network
from math import isinf
from typing import Any, TypeAlias

from tamis.errors import Problem
from tamis.functions.network import network_of
from tamis.language.dialects.json_spans import Json, parse_json
from tamis.limits import DEFAULT_LIMITS, Limits
from tamis.syntax.cursor import MOST_PROBLEMS, SyntaxFailure
from tamis.syntax.tree import Expression, FunctionCall, Lambda, Literal, Missing, Name, Span
from tamis.values.types import BIGINT, BOOLEAN, DOUBLE, STRING, integer_bounds

_OR = "$or"
_MOST_BRANCHES = 1_000
"""Alternatives of a pattern whose `$or`s are multiplied out; EventBridge has the same bound."""
_MOST_CHOICES = 64
"""Ways in which fields within one attribute may be there or absent, which are multiplied out."""
_LEAST, _GREATEST = integer_bounds(BIGINT)
_VALUE = "value"
_TRUE = Literal(BOOLEAN, True)
_ESCAPES = re.compile(r"\\(.?)", re.DOTALL)
_LIKE_SIGNS = re.compile(r"[%_\\]")


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a pattern: one of `tests` must hold for one of its values, or it may be, or must be, absent."""

    path: tuple[str, ...]
    tests: tuple[Expression, ...]
    span: Span
    may_be_absent: bool = False

    @property
    def order(self) -> str:
        """Fields are looked for in this order."""
        return ".".join(self.path)


_Branch: TypeAlias = dict[tuple[str, ...], Field]


def parse_leniently(text: str, limits: Limits = DEFAULT_LIMITS) -> tuple[Expression, list[Problem]]:
    """The tree of a pattern, or of an array of patterns of which one must match, and its problems."""
    try:
        content = parse_json(text, limits.depth)
    except SyntaxFailure as failure:
        return Missing((0, len(text))), [failure.problem]
    reader = _PatternReader()
    rules = reader.rules(content)
    found = [] if reader.problems else [reader.rule(branch, content.span) for branch in rules]
    if reader.problems:
        return Missing((0, len(text))), reader.problems
    return _any_of(found, content.span), []


def record_of(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """The subscription that a rule is, as `aws events list-rules` prints it, or None if it is none.

    A rule that is disabled is paused. Where its events come from and go to is left out.

    >>> record_of({"Name": "stopped", "EventPattern": '{"source": ["aws.ec2"]}', "State": "DISABLED"})
    {'id': 'stopped', 'condition': '{"source": ["aws.ec2"]}', 'state': 'paused'}
    """
    if "Name" not in document or "EventPattern" not in document:
        return None
    label = {"label": document["Description"]} if "Description" in document else {}
    state = {"state": "paused"} if document.get("State") == "DISABLED" else {}
    return {"id": document["Name"], "condition": document["EventPattern"], **label, **state}


class _PatternReader:
    """Reads patterns into rules: fields that must all be found, one rule for each choice among alternatives."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def report(self, message: str, where: Json | Span, hint: str | None = None) -> None:
        if len(self.problems) < MOST_PROBLEMS:
            start, end = where.span if isinstance(where, Json) else where
            self.problems.append(Problem(message, start, end, hint))

    def rules(self, content: Json) -> list[_Branch]:
        patterns = content.value if isinstance(content.value, list) else [content]
        if not patterns:
            self.report("expected a pattern, found an empty array", content)
        found: list[_Branch] = []
        for pattern in patterns:
            if not isinstance(pattern.value, dict):
                hint = 'write {"source": ["aws.ec2"]}'
                self.report(f"expected a pattern, an object of JSON, found {pattern.kind}", pattern, hint)
                continue
            found += self.branches(pattern, ())
        return found

    def rule(self, branch: _Branch, span: Span) -> Expression:
        """The tree of fields that must all be found; those under different attributes have nothing in common."""
        groups: dict[str, list[Field]] = {}
        for field in branch.values():
            groups.setdefault(field.path[0], []).append(field)
        parts = [
            _any_of([_conjunction(fields) for fields in self.with_and_without(group)], span)
            for group in groups.values()
        ]
        return _all_of(parts, span)

    def with_and_without(self, fields: Sequence[Field]) -> list[list[Field]]:
        """The choices among fields of one attribute that may also be absent: with, and without each of them."""
        found: list[list[Field]] = [[]]
        for each in fields:
            ways = [Field(each.path, each.tests, each.span)] if each.tests else []
            if each.may_be_absent:
                ways.append(Field(each.path, (), each.span))
            if len(found) * len(ways) > _MOST_CHOICES:
                self.report(f"{_MOST_CHOICES} choices among fields that may be absent are too many", each.span)
                break
            found = [[*some, way] for some in found for way in ways]
        return found

    def branches(self, content: Json, path: tuple[str, ...]) -> list[_Branch]:
        """The fields of an object by path, once for each choice among its `$or`s; the last of a path counts."""
        assert isinstance(content.value, dict)
        if not content.value:
            self.report("an empty object matches nothing", content)
        found: list[_Branch] = [{}]
        for key, value in content.value.items():
            place = content.keys[key][0], value.span[1]
            if key == _OR and _is_or(value):
                assert isinstance(value.value, list)
                choices = [branch for each in value.value for branch in self.branches(each, path)]
                found = self.product(found, choices, value)
            elif isinstance(value.value, dict):
                if not key:
                    self.report("a name within an object may not be empty", content.keys[key])
                inner = self.branches(value, (*path, key))
                found = self.product(found, inner, value)
            elif isinstance(value.value, list):
                if path and not key:
                    self.report("a name within an object may not be empty", content.keys[key])
                field = self.field((*path, key), value, place)
                for branch in found:
                    branch[field.path] = field
            else:
                hint = f'write "{key}": [{json_text(value)}]'
                self.report(f"expected an array of tests, or an object, found {value.kind}", value, hint)
        return found

    def product(
        self,
        left: list[_Branch],
        right: list[_Branch],
        where: Json,
    ) -> list[_Branch]:
        if len(left) * len(right) > _MOST_BRANCHES:
            self.report(f"a pattern has {_MOST_BRANCHES} alternatives at most", where)
            return left
        return [{**one, **other} for one in left for other in right]

    def field(self, path: tuple[str, ...], content: Json, place: Span) -> Field:
        assert isinstance(content.value, list)
        if not content.value:
            self.report("an empty array matches nothing", content)
        tests = [self.test(each) for each in content.value]
        present = _together([test for test in tests if test is not None])
        return Field(path, tuple(present), place, may_be_absent=any(test is None for test in tests))

    # --- tests ------------------------------------------------------------------------------------------------

    def test(self, content: Json) -> Expression | None:
        """What a test says of the value; None for `{"exists": false}`, which has no value."""
        if isinstance(content.value, dict):
            return self.operation(content)
        if isinstance(content.value, list):
            self.report("an array is no test; write its elements", content)
            return Missing(content.span)
        if content.text and isinf(float(content.text)):
            self.report("this number is beyond those of 64 bits", content)
        return _equals(content)

    def operation(self, content: Json) -> Expression | None:
        assert isinstance(content.value, dict)
        if len(content.value) != 1:
            self.report(f"expected one operator, found {len(content.value)}", content)
            return Missing(content.span)
        [(name, operand)] = content.value.items()
        if name == "exists":
            if not isinstance(operand.value, bool):
                self.report(f"expected true or false, found {operand.kind}", operand)
            return None if operand.value is False else Literal(BOOLEAN, True, content.span)
        make = _OPERATORS.get(name)
        if make is None:
            known = ", ".join(["exists", *_OPERATORS])
            self.report(f"there is no operator {name!r}; known are {known}", content.keys[name])
            return Missing(content.span)
        return make(self, operand, content.span)

    def text(self, content: Json, *, may_be_empty: bool = True) -> str | None:
        if not isinstance(content.value, str):
            self.report(f"expected a string, found {content.kind}", content)
            return None
        if not content.value and not may_be_empty:
            self.report("expected a string that is not empty", content)
            return None
        return content.value

    def affix(self, name: str) -> Callable[[Json, Span], Expression]:
        def make(content: Json, span: Span) -> Expression:
            if isinstance(content.value, dict):
                [*names] = content.value
                if names != ["equals-ignore-case"]:
                    where = f"expected a string, or an object with equals-ignore-case, found {', '.join(names)}"
                    self.report(where, content)
                    return Missing(span)
                return self.ignoring_case(content.value[names[0]], span, name)
            text = self.text(content)
            function = "startswith" if name == "prefix" else "endswith"
            return Missing(span) if text is None else _call(function, text, span)

        return make

    def prefix(self, content: Json, span: Span) -> Expression:
        return self.affix("prefix")(content, span)

    def suffix(self, content: Json, span: Span) -> Expression:
        return self.affix("suffix")(content, span)

    def equals_ignore_case(self, content: Json, span: Span) -> Expression:
        return self.ignoring_case(content, span)

    def ignoring_case(self, content: Json, span: Span, affix: str = "") -> Expression:
        """A regular expression in which every character is its lower or its upper case, which may be longer."""
        text = self.text(content)
        if text is None:
            return Missing(span)
        start, end = ("" if affix == "suffix" else r"\A"), ("" if affix == "prefix" else r"\z")
        return _call("rlike", start + "".join(map(_either_case, text)) + end, span)

    def wildcard(self, content: Json, span: Span) -> Expression:
        text = self.text(content)
        if text is None:
            return Missing(span)
        bare = _ESCAPES.sub(lambda found: "" if found[1] in ("*", "\\") and found[1] else found[0], text)
        if "\\" in bare:
            self.report("a backslash stands before * or another backslash only", content)
            return Missing(span)
        if "**" in _ESCAPES.sub("-", text):
            self.report("one * matches any text, two in a row are refused", content)
            return Missing(span)
        parts = re.split(r"(\\.|\*)", text)
        like = "".join("%" if part == "*" else _like(part[-1] if part[:1] == "\\" else part) for part in parts)
        return _call("like", like, span)

    def numeric(self, content: Json, span: Span) -> Expression:
        items = content.value
        if not isinstance(items, list) or len(items) not in (2, 4):
            hint = 'write {"numeric": [">", 0, "<=", 5]}'
            self.report("expected an array of a comparison and a number, or of two of each", content, hint)
            return Missing(span)
        comparisons: list[Expression] = []
        bounds: list[float] = []
        for place in range(0, len(items), 2):
            sign, number = items[place], items[place + 1]
            allowed = ("<", "<=") if place else (">", ">=") if len(items) == 4 else ("=", "<", "<=", ">", ">=")
            if sign.value not in allowed:
                self.report(f"expected {' or '.join(allowed)}, found {json_text(sign)}", sign)
            elif isinstance(number.value, bool) or not isinstance(number.value, int | float):
                self.report(f"expected a number, found {number.kind}", number)
            elif Decimal(repr(float(number.value))) != Decimal(number.text):
                self.report("this number has too many digits to be compared", number)
            else:
                comparisons.append(FunctionCall(str(sign.value), (_value(number.span), _number(number)), span))
                bounds.append(number.value)
        if len(bounds) == 2 and bounds[0] >= bounds[1]:
            self.report(f"the lower bound {items[1].text} is not below {items[3].text}", content)
        return _all_of(comparisons, span) if comparisons else Missing(span)

    def cidr(self, content: Json, span: Span) -> Expression:
        text = self.text(content)
        if text is None:
            return Missing(span)
        network = network_of(text)
        most = 31 if isinstance(network, IPv4Network) else 127
        if network is None:
            self.report("expected a range of addresses", content, 'write "10.0.0.0/8" or "2001:db8::/32"')
        elif network.prefixlen > most:
            hint = f'write "{text.partition("/")[0]}" instead of the operator'
            self.report(f"a range has {most} bits at most, this is one address", content, hint)
        return _call("in_cidr", text, span)

    def anything_but(self, content: Json, span: Span) -> Expression:
        """Not the values; a value of another kind is anything but these, null included."""
        if isinstance(content.value, dict):
            refused = self.excluded_shapes(content)
        else:
            items = content.value if isinstance(content.value, list) else [content]
            kinds = {each.kind for each in items}
            if kinds not in ({"a string"}, {"a number"}):
                self.report("expected strings, or numbers, but not both", content)
                return Missing(span)
            refused = [_equals(each) for each in items]
        together = _any_of(_together(refused), content.span)
        return FunctionCall("is_not_true", (together,), span)

    def excluded_shapes(self, content: Json) -> list[Expression]:
        assert isinstance(content.value, dict)
        [*names] = content.value
        make = _EXCLUDED.get(names[0]) if len(names) == 1 else None
        if make is None:
            self.report(f"expected one of {', '.join(_EXCLUDED)}, found {', '.join(names) or 'nothing'}", content)
            return [Missing(content.span)]
        operand = content.value[names[0]]
        items = operand.value if isinstance(operand.value, list) else [operand]
        if not items:
            self.report("an empty array excludes nothing", operand)
        for item in items:
            if isinstance(item.value, dict) or (names[0] in ("prefix", "suffix") and item.value == ""):
                self.report("expected a string that is not empty", item)
        return [make(self, item, item.span) for item in items] or [Missing(content.span)]


_EXCLUDED = {
    "prefix": _PatternReader.prefix,
    "suffix": _PatternReader.suffix,
    "equals-ignore-case": _PatternReader.equals_ignore_case,
    "wildcard": _PatternReader.wildcard,
}
_OPERATORS = {
    **_EXCLUDED,
    "numeric": _PatternReader.numeric,
    "cidr": _PatternReader.cidr,
    "anything-but": _PatternReader.anything_but,
}
_RESERVED = {*_OPERATORS, "exists", "exact"}


def _is_or(content: Json) -> bool:
    """Is `$or` meant, or a field of that name?"""
    items = content.value
    if not isinstance(items, list) or len(items) < 2:
        return False
    return all(isinstance(each.value, dict) and each.value and not _RESERVED & {*each.value} for each in items)


# --- from fields to a tree ------------------------------------------------------------------------------------


def _conjunction(fields: Iterable[Field]) -> Expression:
    ordered = sorted(fields, key=lambda field: field.order)
    chosen: list[tuple[str, ...]] = []
    anchors: dict[int, int] = {}
    for place, field in enumerate(ordered):
        if field.tests:
            chosen.append(field.path)
        else:
            shared = (_common(field.path, path) for path in chosen)
            anchors[place] = min(max(shared, default=0), len(field.path) - 1)
    return _scope(ordered, anchors, [*range(len(ordered))], 0, None)


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """How many names two paths begin with together."""
    count = 0
    while count < min(len(one), len(other)) and one[count] == other[count]:
        count += 1
    return count


def _scope(
    fields: Sequence[Field], anchors: dict[int, int], members: Sequence[int], depth: int, owner: str | None
) -> Expression:
    """The fields of one object: the variable `owner`, at `depth` names of their paths, or the event.

    A field that must be absent belongs to the object at its anchor.
    """
    found: list[Expression] = []
    groups: dict[str, list[int]] = {}
    for member in members:
        if anchors.get(member, depth + 1) <= depth:
            found.append(_field(fields[member], depth, owner))
        else:
            groups.setdefault(fields[member].path[depth], []).append(member)
    for group in groups.values():
        paths = [fields[member].path for member in group]
        shared = min(_common(paths[0], path) for path in paths)
        if len(group) == 1 or any(len(path) == shared for path in paths):
            found += [_field(fields[member], depth, owner) for member in group]
            continue
        spans = [fields[member].span for member in group]
        span = min(start for start, _ in spans), max(end for _, end in spans)
        variable = f"object_{shared}"
        body = _scope(fields, anchors, group, shared, variable)
        found.append(_exists("inner_objects", paths[0][depth:shared], owner, variable, body, span))
    return _all_of(found, (min(each.span[0] for each in found), max(each.span[1] for each in found)))


def _field(field: Field, depth: int, owner: str | None) -> Expression:
    path = field.path[depth:]
    if field.tests:
        body = _any_of(field.tests, field.span)
        return _exists("leaf_values", path, owner, _VALUE, body, field.span)
    return FunctionCall("not", (_exists("leaf_values", path, owner, _VALUE, _TRUE, field.span),), field.span)


def _exists(
    function: str, path: tuple[str, ...], owner: str | None, variable: str, body: Expression, span: Span
) -> Expression:
    """`exists(function(owner, 'path'), variable -> body)`; of the event, the first name is an attribute."""
    operand, inner = (Name((path[0],), span), path[1:]) if owner is None else (Name((owner,), span), path)
    more = (Literal(STRING, ".".join(inner), span),) if inner else ()
    values = FunctionCall(function, (operand, *more), span)
    return FunctionCall("exists", (values, Lambda(variable, body, span)), span)


# --- small parts ----------------------------------------------------------------------------------------------


def _value(span: Span) -> Name:
    return Name((_VALUE,), span)


def _call(function: str, text: str, span: Span) -> FunctionCall:
    return FunctionCall(function, (_value(span), Literal(STRING, text, span)), span)


def _number(content: Json) -> Literal:
    value = content.value
    if isinstance(value, int) and _LEAST <= value <= _GREATEST:
        return Literal(BIGINT, value, content.span)
    return Literal(DOUBLE, float(content.text), content.span)


def _equals(content: Json) -> FunctionCall:
    if content.value is None:
        return FunctionCall("is_null", (_value(content.span),), content.span)
    if isinstance(content.value, bool):
        literal = Literal(BOOLEAN, content.value, content.span)
    elif isinstance(content.value, str):
        literal = Literal(STRING, content.value, content.span)
    else:
        literal = _number(content)
    return FunctionCall("=", (_value(content.span), literal), content.span)


def _together(tests: Sequence[Expression]) -> list[Expression]:
    """The tests, those for equality with strings as one IN, and those with numbers as another."""
    found: list[Expression] = []
    constants: dict[bool, list[Literal]] = {}
    for test in tests:
        literal = test.arguments[-1] if isinstance(test, FunctionCall) and test.function == "=" else None
        if isinstance(literal, Literal) and literal.type != BOOLEAN:
            constants.setdefault(literal.type == STRING, []).append(literal)
        else:
            found.append(test)
    for literals in constants.values():
        span = literals[0].span[0], literals[-1].span[1]
        function = "=" if len(literals) == 1 else "in"
        found.insert(0, FunctionCall(function, (_value(span), *literals), span))
    return found


def _any_of(parts: Sequence[Expression], span: Span) -> Expression:
    return _join("or", parts, span)


def _all_of(parts: Sequence[Expression], span: Span) -> Expression:
    return _join("and", parts, span)


def _join(function: str, parts: Sequence[Expression], span: Span) -> Expression:
    """The parts under one connective, which has none of its own kind below it."""
    flat = [
        each
        for part in parts
        for each in (part.arguments if isinstance(part, FunctionCall) and part.function == function else [part])
    ]
    return flat[0] if len(flat) == 1 else FunctionCall(function, tuple(flat), span)


def _like(text: str) -> str:
    return _LIKE_SIGNS.sub(lambda found: "\\" + found[0], text)


def _either_case(character: str) -> str:
    forms = [re.escape(form) for form in dict.fromkeys((character.lower(), character.upper()))]
    return forms[0] if len(forms) == 1 else f"(?:{'|'.join(forms)})"


def json_text(content: Json) -> str:
    """A scalar as JSON writes it, for messages."""
    if isinstance(content.value, str):
        return f'"{content.value}"'
    return content.text or str(content.value).lower()
