"""Typed expressions, predicates and formulas as plain data that JSON can hold, and back, exactly.

A document is two tables: types, and entries, which are expressions, predicates and formulas. An entry refers to
earlier ones by their numbers, so that what is shared stays shared and nothing is nested however deep a condition
is. What comes back is equal to what was written. Only what this module knows is read: nothing in a document is
ever run, and anything else in it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tamis.errors import TamisError
from tamis.formulas.expression import (
    Apply,
    Constant,
    HigherOrder,
    OperatorCall,
    Path,
    Quantifier,
    Typed,
    Variable,
    parts,
)
from tamis.formulas.formula import Formula, at_least, leaf
from tamis.formulas.predicates.base import Predicate
from tamis.formulas.predicates.matches import MatchesPattern
from tamis.formulas.predicates.quantified import Quantified
from tamis.formulas.predicates.within import Within
from tamis.functions.registry import FUNCTIONS, Signature
from tamis.values.column import Value
from tamis.values.ranges import Ranges
from tamis.values.types import ANY, NULL, NUMBER, Type, array, parse_type, struct

Json: TypeAlias = Any
"""None, bool, int, float, str, list or dict, and so inside."""
Entry: TypeAlias = Typed | Predicate | Formula

_FORMAT = 1
_WORDS = {type_.name: type_ for type_ in (ANY, NUMBER, NULL)}
"""Types that occur in conditions but not in event types."""
_PATTERNS = ("like", "ilike", "rlike")
_QUANTIFIERS = ("exists", "forall")
HIGHER_ORDER = ("transform", "filter", "zip_with", "aggregate")
_EXPRESSIONS = (Path, Variable, Constant, Apply, Quantifier, HigherOrder, OperatorCall)
_LONG = 1 << 63


class CodecError(TamisError):
    """A document holds something that this version cannot read."""


class FormulaWriter:
    """Writes a document; each entry is written once, under a number."""

    def __init__(self) -> None:
        self._types: dict[Type, int] = {}
        self._type_rows: list[Json] = []
        self._expressions: dict[Typed, int] = {}
        self._numbers: dict[str, int] = {}
        self._rows: list[Json] = []

    def document(self) -> dict[str, Json]:
        """The document with all entries so far."""
        return {"format": _FORMAT, "types": list(self._type_rows), "entries": list(self._rows)}

    def expression(self, expression: Typed) -> int:
        """Write an expression; gives its number."""
        stack: list[Typed] = [expression]
        while stack:
            node = stack[-1]
            missing = [part for part in parts(node) if part not in self._expressions]
            if missing:
                stack.extend(reversed(missing))
                continue
            stack.pop()
            if node not in self._expressions:
                self._expressions[node] = self._row(self._expression_row(node))
        return self._expressions[expression]

    def predicate(self, predicate: Predicate) -> int:
        """Write a predicate; gives its number."""
        return self._row(self._predicate_row(predicate))

    def formula(self, formula: Formula) -> int:
        """Write a formula; gives its number."""
        # Formulas that are equal may differ in the order of their operands, which must stay as it is.
        numbers: dict[int, int] = {}
        for node in formula.nodes():
            row: Json
            if node.predicate is not None:
                row = ["leaf", self.predicate(node.predicate)]
            else:
                row = ["at_least", node.least, [numbers[id(operand)] for operand in node.operands]]
            numbers[id(node)] = self._row(row)
        return numbers[id(formula)]

    def _row(self, row: Json) -> int:
        number = self._numbers.setdefault(repr(row), len(self._rows))
        if number == len(self._rows):
            self._rows.append(row)
        return number

    def _type(self, type_: Type) -> int:
        known = self._types.get(type_)
        if known is None:
            row: Json
            if type_.name == "array":
                row = ["array", None if type_.element is None else self._type(type_.element)]
            elif type_.name == "map":
                row = ["map", self._type(type_.item)]
            elif type_.name == "struct":
                row = ["struct", [[name, self._type(inner)] for name, inner in type_.fields]]
            else:
                row = str(type_)
            self._type_rows.append(row)
            known = self._types[type_] = len(self._type_rows) - 1
        return known

    def _expression_row(self, expression: Typed) -> Json:
        match expression:
            case Path(steps=steps, type=type_):
                return ["path", list(steps), self._type(type_)]
            case Variable(name=name, type=type_):
                return ["variable", name, self._type(type_)]
            case Constant(type=type_, value=value):
                return ["constant", self._type(type_), _encode_value(value)]
            case Quantifier(function=function, array=array_, variable=variable, body=body):
                numbers = self._expressions[array_], self.expression(variable), self._expressions[body]
                return ["quantifier", function, *numbers]
            case HigherOrder(function=function, arguments=arguments, variables=variables, bodies=bodies):
                return [
                    "higher-order",
                    function,
                    [self._expressions[argument] for argument in arguments],
                    [self.expression(variable) for variable in variables],
                    [self._expressions[body] for body in bodies],
                    self._type(expression.type),
                ]
            case (
                Apply(function=name, arguments=arguments, signature=signature)
                | OperatorCall(operator=name, arguments=arguments, signature=signature)
            ):
                return [
                    "call" if isinstance(expression, OperatorCall) else "apply",
                    name,
                    [self._expressions[argument] for argument in arguments],
                    [self._type(type_) for type_ in signature.parameters],
                    self._type(signature.returns),
                    signature.zone,
                ]

    def _predicate_row(self, predicate: Predicate) -> Json:
        attribute = self.expression(predicate.attribute)
        match predicate:
            case Within(ranges=ranges, null=null):
                return ["within", attribute, ranges.inside, [_encode_value(cut) for cut in ranges.cuts], null]
            case MatchesPattern(test=test, pattern=pattern, negated=negated):
                return ["matches", attribute, test, pattern, negated]
            case Quantified(variable=variable, formula=formula, every=every):
                return ["quantified", attribute, self.expression(variable), self.formula(formula), every]
            case _:
                msg = f"there is no way to write a predicate of the kind {type(predicate).__name__}"
                raise CodecError(msg)


class FormulaReader:
    """Reads a document; entries are found by their numbers.

    Raises:
        CodecError: The document holds an unknown kind of entry, or is not a document.
    """

    def __init__(self, document: Json) -> None:
        content = _check(document, dict, "a document")
        if content.get("format") != _FORMAT:
            msg = f"a document of format {_FORMAT} is expected, found {_abbreviate(content.get('format'))}"
            raise CodecError(msg)
        self._types: list[Type] = []
        for row in _check(content.get("types"), list, "types"):
            self._types.append(self._read_type(row))
        self._entries: list[Entry] = []
        for number, row in enumerate(_check(content.get("entries"), list, "entries")):
            self._entries.append(self._read_entry(row, number))

    def expression(self, number: int) -> Typed:
        """The expression of that number."""
        found: Typed = _check(self._entry(number), _EXPRESSIONS, "an expression")
        return found

    def predicate(self, number: int) -> Predicate:
        """The predicate of that number."""
        found: Predicate = _check(self._entry(number), (Within, MatchesPattern, Quantified), "a predicate")
        return found

    def formula(self, number: int) -> Formula:
        """The formula of that number."""
        found: Formula = _check(self._entry(number), Formula, "a formula")
        return found

    def _entry(self, number: Json) -> Any:
        place: int = _check(number, int, "the number of an entry")
        if not 0 <= place < len(self._entries):
            msg = f"there is no entry {place} before the one that refers to it"
            raise CodecError(msg)
        return self._entries[place]

    def _variable(self, number: Json) -> Variable:
        found: Variable = _check(self._entry(number), Variable, "a variable")
        return found

    def _type(self, number: Json) -> Type:
        place: int = _check(number, int, "the number of a type")
        if not 0 <= place < len(self._types):
            msg = f"there is no type {place}"
            raise CodecError(msg)
        return self._types[place]

    def _read_type(self, row: Json) -> Type:
        match row:
            case str():
                return _WORDS[row] if row in _WORDS else _parse_type(row)
            case ["array", None]:
                return Type("array")
            case ["array", item]:
                return array(self._type(item))
            case ["map", item]:
                return Type("map", element=self._type(item))
            case ["struct", list() as fields]:
                pairs = [_fields(field, 2, "a field") for field in fields]
                return struct(*((_check(name, str, "a name"), self._type(inner)) for name, inner in pairs))
            case _:
                msg = f"{_abbreviate(row)} is not a type"
                raise CodecError(msg)

    def _read_entry(self, row: Json, number: int) -> Entry:
        match row:
            case [str(kind), *rest] if kind in _READ:
                length, read = _READ[kind]
                return read(self, *_fields(rest, length, f"entry {number}, of the kind {kind},"))
            case _:
                msg = f"entry {number} is of no known kind: {_abbreviate(row)}"
                raise CodecError(msg)

    def _path(self, steps: Json, type_: Json) -> Path:
        names = [_check(step, str, "a name") for step in _check(steps, list, "a path")]
        return Path(tuple(names), self._type(type_))

    def _new_variable(self, name: Json, type_: Json) -> Variable:
        return Variable(_check(name, str, "a name"), self._type(type_))

    def _constant(self, type_: Json, value: Json) -> Constant:
        return Constant(self._type(type_), _decode_value(value))

    def _quantifier(self, function: Json, array_: Json, variable: Json, body: Json) -> Quantifier:
        name = _one_of(function, _QUANTIFIERS, "a quantifier")
        return Quantifier(name, self.expression(array_), self._variable(variable), self.expression(body))

    def _higher_order(
        self, function: Json, arguments: Json, variables: Json, bodies: Json, type_: Json
    ) -> HigherOrder:
        name = _one_of(function, HIGHER_ORDER, "a function of lambdas")
        of = tuple(self._variable(each) for each in _check(variables, list, "variables"))
        return HigherOrder(name, self._arguments(arguments), of, self._arguments(bodies), self._type(type_))

    def _apply(self, function: Json, arguments: Json, parameters: Json, returns: Json, zone: Json) -> Apply:
        name = _check(function, str, "a function")
        if name not in FUNCTIONS:
            msg = f"the function {name} is not known to this version"
            raise CodecError(msg)
        return Apply(name, self._arguments(arguments), self._signature(parameters, returns, zone))

    def _call(self, operator: Json, arguments: Json, parameters: Json, returns: Json, zone: Json) -> OperatorCall:
        # The operator is looked up when it is called: a snapshot can be inspected without its operators.
        name = _check(operator, str, "an operator")
        return OperatorCall(name, self._arguments(arguments), self._signature(parameters, returns, zone))

    def _arguments(self, arguments: Json) -> tuple[Typed, ...]:
        return tuple([self.expression(each) for each in _check(arguments, list, "arguments")])

    def _signature(self, parameters: Json, returns: Json, zone: Json) -> Signature:
        types = [self._type(each) for each in _check(parameters, list, "parameters")]
        return Signature(tuple(types), self._type(returns), _check(zone, str, "a time zone"))

    def _within(self, attribute: Json, inside: Json, cuts: Json, null: Json) -> Within:
        keys = tuple(_decode_value(cut) for cut in _check(cuts, list, "cuts"))
        ranges = Ranges(_check(inside, bool, "true or false"), keys)
        return Within(self.expression(attribute), ranges, _check(null, bool, "true or false"))

    def _matches(self, attribute: Json, test: Json, pattern: Json, negated: Json) -> MatchesPattern:
        return MatchesPattern(
            self.expression(attribute),
            _one_of(test, _PATTERNS, "a pattern test"),
            _check(pattern, str, "a pattern"),
            _check(negated, bool, "true or false"),
        )

    def _quantified_formula(self, attribute: Json, variable: Json, formula: Json, every: Json) -> Quantified:
        every_ = _check(every, bool, "true or false")
        return Quantified(self.expression(attribute), self._variable(variable), self.formula(formula), every_)

    def _leaf(self, predicate: Json) -> Formula:
        return leaf(self.predicate(predicate))

    def _at_least(self, least: Json, operands: Json) -> Formula:
        nodes = [self.formula(each) for each in _check(operands, list, "operands")]
        return at_least(_check(least, int, "a number of operands"), nodes)


_READ: dict[str, tuple[int, Callable[..., Entry]]] = {
    "path": (2, FormulaReader._path),
    "variable": (2, FormulaReader._new_variable),
    "constant": (2, FormulaReader._constant),
    "quantifier": (4, FormulaReader._quantifier),
    "higher-order": (5, FormulaReader._higher_order),
    "apply": (5, FormulaReader._apply),
    "call": (5, FormulaReader._call),
    "within": (4, FormulaReader._within),
    "matches": (4, FormulaReader._matches),
    "quantified": (4, FormulaReader._quantified_formula),
    "leaf": (1, FormulaReader._leaf),
    "at_least": (2, FormulaReader._at_least),
}
"""For each kind of entry the number of its fields and the method that reads them."""


def _encode_value(value: Value) -> Json:
    """A value or a key for JSON; what JSON would change becomes a list that begins with its kind."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if -_LONG <= value < _LONG else ["int", str(value)]
        case float():
            return ["float", value.hex()]
        case bytes():
            return ["bytes", value.hex()]
        case list() | tuple():
            return [type(value).__name__, [_encode_value(each) for each in value]]
        case dict():
            return ["dict", [[_encode_value(key), _encode_value(each)] for key, each in value.items()]]
        case _:
            msg = f"there is no way to write a value of the kind {type(value).__name__}"
            raise CodecError(msg)


def _decode_value(content: Json) -> Value:
    """The inverse of `_written`."""
    try:
        match content:
            case None | bool() | str() | int():
                return content
            case ["int", str(text)]:
                return int(text)
            case ["float", str(text)]:
                return float.fromhex(text)
            case ["bytes", str(text)]:
                return bytes.fromhex(text)
            case ["list", list(items)]:
                return [_decode_value(item) for item in items]
            case ["tuple", list(items)]:
                return tuple([_decode_value(item) for item in items])
            case ["dict", list(items)]:
                return {_decode_value(key): _decode_value(each) for key, each in items}
    except (ValueError, TypeError, RecursionError) as error:
        msg = f"{_abbreviate(content)} is not a value: {error}"
        raise CodecError(msg) from error
    msg = f"{_abbreviate(content)} is not a value"
    raise CodecError(msg)


def _check(content: Json, kind: type | tuple[type, ...], wanted: str) -> Any:
    is_number = isinstance(content, bool) and kind is int
    if is_number or not isinstance(content, kind):
        msg = f"{wanted} is expected, found {_abbreviate(content)}"
        raise CodecError(msg)
    return content


def _fields(content: Json, count: int, what: str) -> Sequence[Json]:
    row: list[Json] = _check(content, list, what)
    if len(row) != count:
        msg = f"{what} has {len(row)} fields, {count} are expected"
        raise CodecError(msg)
    return row


def _one_of(content: Json, known: Sequence[str], wanted: str) -> str:
    if content not in known:
        msg = f"{wanted} ({', '.join(known)}) is expected, found {_abbreviate(content)}"
        raise CodecError(msg)
    return str(content)


def _parse_type(text: str) -> Type:
    try:
        return parse_type(text)
    except TamisError as error:
        raise CodecError(str(error)) from error


def _abbreviate(content: Any) -> str:
    text = repr(content)
    return text if len(text) <= 60 else text[:57] + "..."
