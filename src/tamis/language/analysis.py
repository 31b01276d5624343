"""The analyser: from a syntax tree to a typed expression, for an event type.

It resolves names, gives every part a type, makes Spark's implicit casts explicit, reads literals in the type of
the other operand, and folds constants. It reports every problem with its position, and never raises for a bad
condition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Protocol

from tamis.errors import Problem
from tamis.formulas.binding import BINDS
from tamis.formulas.codec import HIGHER_ORDER
from tamis.formulas.expression import (
    Apply,
    Constant,
    HigherOrder,
    Joint,
    OperatorCall,
    Path,
    Quantifier,
    Typed,
    Variable,
)
from tamis.functions import FUNCTIONS
from tamis.functions.calendar_intervals import TAKE_CALENDAR_INTERVALS
from tamis.functions.kinds import KINDS
from tamis.functions.maps import TAKE_MAPS
from tamis.functions.registry import Argument, ArgumentError, Function, Signature
from tamis.functions.regular_expressions import PATTERN_FUNCTIONS
from tamis.functions.structs import field_type
from tamis.language.derived_calls import derive_call
from tamis.language.implicit_casts import may_cast
from tamis.language.relations import spell_out
from tamis.language.spark_rewrites import beyond_bigint, drop_inner_calls
from tamis.language.texts_of_bytes import as_bytes, as_text, is_readable, is_text_of_bytes, keep_bytes
from tamis.limits import DEFAULT_LIMITS, Limits
from tamis.operators.library import SUBJECTS
from tamis.operators.registry import OPERATORS, Operator
from tamis.syntax import tree as syntax
from tamis.syntax.cursor import MOST_PROBLEMS
from tamis.syntax.printing import quote_name, to_text
from tamis.values.casts import can_cast, caster
from tamis.values.datetimes import (
    is_special_word,
    is_time_alone,
    literal_date,
    literal_timestamp,
    literal_timestamp_ntz,
)
from tamis.values.types import (
    ANY,
    BOOLEAN,
    DATE,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Type,
    array,
    holds_map,
    is_comparable,
    is_numeric,
    parse_type,
)

_CLOCKS = (
    *(
        "now",
        "current_date",
        "current_timestamp",
        "curdate",
        "localtimestamp",
        "current_time",
        "rand",
        "randn",
    ),
    *(
        "random",
        "uuid",
        "current_user",
        "user",
        "session_user",
        "current_timezone",
        "monotonically_increasing_id",
    ),
    *("uniform", "randstr", "shuffle", "current_database", "current_schema", "current_catalog", "localtime"),
)
_CAST_FUNCTIONS = (
    *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "string", "binary"),
    *("date", "timestamp"),
)


_HIGHER_ORDER = {**{name: name for name in HIGHER_ORDER}, "reduce": "aggregate"}
_LAMBDAS: dict[str, tuple[int, int, tuple[tuple[int, int], ...]]] = {
    # how many other arguments, how many lambdas at most, how many variables each has
    "transform": (1, 1, ((1, 2),)),
    "filter": (1, 1, ((1, 2),)),
    "zip_with": (2, 1, ((2, 2),)),
    "aggregate": (2, 2, ((2, 2), (1, 1))),
}
_WRITTEN = {
    "transform": "transform(array, x -> ...) or transform(array, (x, place) -> ...)",
    "filter": "filter(array, x -> condition) or filter(array, (x, place) -> condition)",
    "zip_with": "zip_with(array, array, (x, y) -> ...)",
    "aggregate": "aggregate(array, start, (gathered, x) -> ...) or with a last x -> ...",
}
_INTERNAL = ("read", "field", "cast", BINDS, *syntax.TESTS)
_MADE_OF_PARTS = ("array", "named_struct")
"""Functions whose result is made of their arguments as they are."""
_DEPENDS_ON_TIME = "this is refused: a match must not depend on when it is looked for"


class NamedType(Protocol):
    """An attribute, as the analyser needs it."""

    @property
    def name(self) -> str:
        """The exact name."""

    @property
    def type(self) -> Type:
        """The type of its values."""


class Schema(Protocol):
    """An event type, as the analyser needs it."""

    @property
    def is_schemaless(self) -> bool:
        """Does every event have its own attributes?"""

    @property
    def time_zone(self) -> str:
        """The zone of its timestamps."""

    @property
    def attributes(self) -> Sequence[NamedType] | None:
        """Its attributes, None for a schemaless type."""

    def find(self, name: str) -> Sequence[NamedType]:
        """The attributes of that name, without regard to case."""


@dataclass(frozen=True, slots=True)
class Schemaless:
    """The schema of events with attributes of their own."""

    time_zone: str = "UTC"
    is_schemaless: bool = True
    attributes: None = None

    def find(self, name: str) -> Sequence[NamedType]:
        del name
        return ()


def analyse(
    tree: syntax.Expression,
    schema: Schema,
    limits: Limits = DEFAULT_LIMITS,
    sources: dict[int, syntax.Expression] | None = None,
    *,
    is_whole: bool = True,
) -> tuple[Typed | None, list[Problem]]:
    """The typed condition, None if there are problems, and the problems.

    `sources`, if given, collects for every typed part the syntax that it came from, by identity. Without
    `is_whole` the tree is what could be read of a condition, and need not be Boolean.
    """
    analyser = _Analyser(schema, limits, {} if sources is None else sources)
    tree = spell_out(tree)
    analyser.find_free(tree)
    expression = analyser.analyse(tree)
    if expression is not None and is_whole and not analyser.problems:
        if expression.type == ANY:
            expression = analyser.cast(expression, BOOLEAN, tree)
        elif expression.type != BOOLEAN:
            analyser.report(f"a condition must be Boolean, this is {_article(expression.type)}", tree)
        if analyser.free and expression is not None:
            expression = Joint(tuple(analyser.free[name] for name in sorted(analyser.free)), expression)
    return (None if analyser.problems else expression), analyser.problems


def texts_read_as_numbers(tree: syntax.Expression, schema: Schema) -> list[Problem]:
    """The places of a condition without problems where text of an event becomes a number without a cast."""
    analyser = _Analyser(schema, DEFAULT_LIMITS, {})
    tree = spell_out(tree)
    analyser.find_free(tree)
    analyser.analyse(tree)
    return analyser.warnings


def resolve_name(parts: tuple[str, ...], schema: Schema) -> Typed | None:
    """The attribute, or field of one, of that name; None if there is no such thing."""
    return _Analyser(schema, DEFAULT_LIMITS, {}).name(syntax.Name(parts))


class _Analyser:
    def __init__(self, schema: Schema, limits: Limits, sources: dict[int, syntax.Expression]) -> None:
        self.schema = schema
        self.limits = limits
        self.sources = sources
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []
        self.variables: dict[str, Typed] = {}
        self.bound_names: set[str] = set()
        self.free: dict[str, Variable] = {}

    def report(self, message: str, node: syntax.Expression, hint: str | None = None) -> None:
        if len(self.problems) >= MOST_PROBLEMS:
            return
        start, end = node.span
        self.problems.append(Problem(message, start, max(end, start + 1), hint))

    def analyse(self, node: syntax.Expression) -> Typed | None:
        """The typed form of a node, or None after a problem was reported."""
        expression = self.translate(node)
        if expression is not None:
            self.sources[id(expression)] = node
        return expression

    def translate(self, node: syntax.Expression) -> Typed | None:
        match node:
            case syntax.Literal(type=type_, value=value):
                return Constant(type_, value)
            case syntax.TimeLiteral():
                return self.time_literal(node)
            case syntax.Name():
                return self.name(node)
            case syntax.Free(name=name):
                return self.free_variable(name, node)
            case syntax.FieldAccess(operand=operand, name=name):
                inner = self.analyse(operand)
                return None if inner is None else self.field(inner, name, node)
            case syntax.Cast():
                return self.explicit_cast(node)
            case syntax.FunctionCall():
                return self.call(node)
            case syntax.Lambda():
                self.report(
                    "a lambda stands only in exists(array, x -> ...), forall, transform and the like", node
                )
                return None
            case syntax.Missing():
                return None

    def time_literal(self, node: syntax.TimeLiteral) -> Typed | None:
        if node.type == DATE:
            value = literal_date(node.text)
        elif node.type == TIMESTAMP:
            value = literal_timestamp(node.text, self.schema.time_zone)
        else:
            value = literal_timestamp_ntz(node.text)
        if value is None:
            if is_special_word(node.text) or is_time_alone(node.text):
                self.report(_DEPENDS_ON_TIME, node)
            else:
                example = "'2026-02-28'" if node.type == DATE else "'2026-02-28 13:45:00'"
                self.report(f"{_quote(node.text)} is not a {node.type}", node, f"write e.g. {example}")
            return None
        return Constant(node.type, value)

    # --- names -------------------------------------------------------------------------------------------

    def name(self, node: syntax.Name) -> Typed | None:
        first, rest = node.parts[0], node.parts[1:]
        expression: Typed
        variable = self.variables.get(first.lower())
        if variable is not None:
            expression = variable
        elif self.schema.is_schemaless:
            return Path(node.parts, ANY)
        else:
            found = self.schema.find(first)
            if len(found) != 1:
                self.unknown_name(first, found, node)
                return None
            expression = Path((found[0].name,), found[0].type)
        for step in rest:
            inner = self.field(expression, step, node)
            if inner is None:
                return None
            expression = inner
        return expression

    def unknown_name(self, name: str, found: Sequence[NamedType], node: syntax.Name) -> None:
        if len(self.problems) >= MOST_PROBLEMS:
            return
        if found:
            exact = ", ".join(quote_name(each.name) for each in found)
            self.report(f"{_quote(name)} is ambiguous: the event type has {exact}", node)
            return
        if name.lower() in _CLOCKS:
            self.report(f"{name} is refused: a match must not depend on when or where it is looked for", node)
            return
        hint = _did_you_mean(name, [each.name for each in self.schema.attributes or ()])
        self.report(f"the event type has no attribute {_quote(name)}", node, hint)

    def field(self, operand: Typed, name: str, node: syntax.Expression) -> Typed | None:
        if operand.type.name == "map":
            key = syntax.Literal(STRING, name, node.span)
            call = syntax.FunctionCall("[]", (node, key), node.span)
            return self.resolve_call(FUNCTIONS["[]"], (operand, Constant(STRING, name)), call)
        try:
            found = field_type(operand.type, name)
        except ArgumentError as error:
            self.report(error.message, node)
            return None
        if found is None:
            owner = operand.type.item if operand.type.element else operand.type
            hint = _did_you_mean(name, [field for field, _ in owner.fields])
            self.report(f"{_article(operand.type)} has no field {_quote(name)}", node, hint)
            return None
        exact, type_ = found
        if isinstance(operand, Path) and operand.type.name in ("struct", "any"):
            return Path((*operand.steps, exact), type_)
        signature = Signature((operand.type, STRING), type_, self.schema.time_zone)
        return self.apply("field", (operand, Constant(STRING, exact)), signature)

    # --- casts -------------------------------------------------------------------------------------------

    def explicit_cast(self, node: syntax.Cast) -> Typed | None:
        operand = self.analyse(node.operand)
        if operand is None:
            return None
        if operand.type == node.type:
            return operand
        if operand.type != ANY and not can_cast(operand.type, node.type):
            self.report(f"{_article(operand.type)} cannot be cast to {node.type}", node)
            return None
        if _depends_on_today(operand, node.type):
            self.report(_DEPENDS_ON_TIME, node)
            return None
        return self.apply("cast", (operand,), Signature((operand.type,), node.type, self.schema.time_zone))

    def cast(self, operand: Typed, target: Type, node: syntax.Expression) -> Typed | None:
        """The operand as an argument of type `target`, by an implicit cast."""
        if operand.type == target:
            return operand
        zone = self.schema.time_zone
        if operand.type == NULL:
            return Constant(target, None)
        if operand.type == ANY:
            return self.apply("read", (operand,), Signature((ANY,), target, zone))
        if isinstance(operand, Apply) and operand.function in _MADE_OF_PARTS and may_cast(operand.type, target):
            return self.cast_parts(operand, target, node)
        is_literal = isinstance(node, syntax.Literal)
        if not may_cast(operand.type, target):
            hint = f"write TRY_CAST({to_text(node)} AS {target})" if can_cast(operand.type, target) else None
            self.report(f"expected {target}, found {_article(operand.type)}", node, hint)
            return None
        if isinstance(operand, Constant) and is_literal and operand.type == STRING:
            value = caster(STRING, target, zone)(operand.value)
            if value is None:
                self.report(f"{_quote(operand.value)} is not {_article(target)}", node)
                return None
            return Constant(target, value)
        if operand.type == STRING and is_numeric(target) and not isinstance(operand, Constant):
            message = f"this text is read as {_article(target)}; what is none is NULL, and Spark raises"
            self.warnings.append(Problem(message, *node.span, f"write TRY_CAST({to_text(node)} AS {target})"))
        return self.apply("cast", (operand,), Signature((operand.type,), target, zone))

    def cast_parts(self, made: Apply, target: Type, node: syntax.Expression) -> Typed | None:
        """An array or a struct that the condition makes, of parts of other types.

        So an attribute of any type is read, as it is everywhere else; a cast of the whole would convert its value.
        """
        if target.name == "array":
            wanted = [target.item] * len(made.arguments)
        else:
            names = [each.type for each in made.arguments[::2]]
            wanted = [each for name, field in zip(names, target.fields, strict=True) for each in (name, field[1])]
        parts = [self.cast(each, type_, node) for each, type_ in zip(made.arguments, wanted, strict=True)]
        known = tuple(part for part in parts if part is not None)
        if len(known) < len(parts):
            return None
        signature = Signature(tuple(part.type for part in known), target, self.schema.time_zone)
        return self.apply(made.function, known, signature)

    # --- calls -------------------------------------------------------------------------------------------

    def call(self, node: syntax.FunctionCall) -> Typed | None:
        name = node.function
        if name in ("exists", "forall"):
            return self.quantifier(node)
        if name in _HIGHER_ORDER:
            return self.higher_order(node, _HIGHER_ORDER[name])
        try:
            meant = derive_call(node)
        except ArgumentError as error:
            at = node if error.argument is None else node.arguments[error.argument]
            self.report(f"{name}: {error.message}", at, error.hint)
            return None
        if meant is not node:
            return self.analyse(meant)
        if name in OPERATORS:
            return self.operator(OPERATORS[name], node)
        function = FUNCTIONS.get(name)
        if function is None or name in ("read", "field", "cast", BINDS):
            return self.unknown_function(node)
        arguments = [self.analyse(argument) for argument in node.arguments]
        known = [argument for argument in arguments if argument is not None]
        if len(known) < len(arguments):
            return None
        if name == "[]" and known[0].type.name in ("struct", "any") and isinstance(known[1], Constant):
            if known[1].type == STRING and known[1].value is not None:
                return self.field(known[0], known[1].value, node)
        always = beyond_bigint(name, node, known)
        return always or self.resolve_call(function, known, node)

    def resolve_call(
        self, function: Function, arguments: Sequence[Typed], node: syntax.FunctionCall
    ) -> Typed | None:
        has_pattern = function.name in ("like", "ilike", "rlike", *PATTERN_FUNCTIONS) and len(arguments) > 1
        if has_pattern and any(map(self.is_too_long, arguments[1:])):
            most = self.limits.pattern_characters
            self.report(f"a pattern has {most} characters at most", node.arguments[1])
            return None
        try:
            described = [
                _describe_argument(one, part) for one, part in zip(arguments, node.arguments, strict=True)
            ]
            signature = function.resolve(described, self.schema.time_zone)
        except ArgumentError as error:
            place = node if error.argument is None else node.arguments[error.argument]
            prefix = "" if _is_operator(function.name) else f"{function.name}: "
            self.report(prefix + error.message, place, error.hint)
            return None
        if not all(map(is_comparable, signature.parameters)):
            has_map = any(map(holds_map, signature.parameters))
            if function.name not in (TAKE_MAPS if has_map else TAKE_CALENDAR_INTERVALS):
                what = "maps" if has_map else "intervals of months and days"
                self.report(f"{node.function} does not take {what}: they have no order, nor are they equal", node)
                return None
        cast = [
            self.cast(argument, target, part)
            for argument, target, part in zip(arguments, signature.parameters, node.arguments, strict=True)
        ]
        ready = tuple(argument for argument in cast if argument is not None)
        return self.apply(function.name, ready, signature) if len(ready) == len(cast) else None

    def operator(self, operator: Operator, node: syntax.FunctionCall) -> Typed | None:
        """A call of an operator, its arguments cast to the types that it takes."""
        if self.limits.operators is not None and operator.name not in self.limits.operators:
            self.report(f"operator {operator.name} is not allowed here", node)
            return None
        inputs, outputs = _parts_of(operator, node)
        if inputs is None or (operator.attribute and not isinstance(inputs[0], syntax.Name)):
            wanted, hint = ", ".join(str(each) for each in operator.parameters), None
            if operator.attribute:
                wanted = ", ".join(f"{name} {type_}" for name, type_ in operator.returns.item.fields)
                hint = "with one argument less, and a variable among the others, it stands for its last value"
            self.report(f"{operator.name} takes ({wanted}), found {len(node.arguments)} arguments", node, hint)
            return None
        types = [*operator.parameters, *(type_ for _, type_ in outputs)]
        found = [self.analyse(argument) for argument in node.arguments]
        cast = [
            None if one is None else self.cast(one, target, part)
            for one, target, part in zip(found, types, node.arguments, strict=True)
        ]
        given = tuple(argument for argument in cast if argument is not None)
        if len(given) < len(cast):
            return None
        ready = given[: len(inputs)]
        constants = [each.value if isinstance(each, Constant) else None for each in ready]
        problem = None if operator.check is None else operator.check(constants)
        if problem is not None:
            self.report(f"{operator.name}: {problem}", node)
            return None
        zone = self.schema.time_zone
        call = OperatorCall(operator.name, ready, Signature(operator.parameters, operator.returns, zone))
        if not outputs:
            return call
        signature = Signature((operator.returns, *types[len(inputs) :]), BOOLEAN, zone)
        return Apply(BINDS, (call, *given[len(inputs) :]), signature)

    def find_free(self, tree: syntax.Expression) -> None:
        """Find the types of variables, from the calls that bind them."""
        for node in syntax.walk(tree):
            if isinstance(node, syntax.FunctionCall) and node.function in OPERATORS:
                inputs, outputs = _parts_of(OPERATORS[node.function], node)
                for argument, (_, type_) in zip(node.arguments[len(inputs or ()) :], outputs, strict=False):
                    if isinstance(argument, syntax.Free):
                        name = argument.name.lower()
                        known = self.free.setdefault(name, Variable(f"?{name}", type_))
                        if known.type != type_:
                            text = f"?{argument.name} is {_article(known.type)} elsewhere, here {_article(type_)}"
                            self.report(text, argument)

    def free_variable(self, name: str, node: syntax.Free) -> Typed | None:
        found = self.free.get(name.lower())
        if found is None:
            hint = "a call that returns an array of structs binds variables: plates(image, ?p, ?n)"
            self.report(f"no call binds ?{name}", node, hint)
        return found

    def is_too_long(self, pattern: Typed) -> bool:
        value = pattern.value if isinstance(pattern, Constant) else None
        return isinstance(value, str) and len(value) > self.limits.pattern_characters

    def apply(self, name: str, arguments: tuple[Typed, ...], signature: Signature) -> Typed:
        """The call, or its value if all arguments are constants."""
        if name in KINDS and arguments[0].type == signature.returns:
            return arguments[0]
        kept = keep_bytes(name, arguments, signature)
        if kept is not None:
            return kept
        arguments, signature = drop_inner_calls(name, arguments, signature)
        constants = [argument.value for argument in arguments if isinstance(argument, Constant)]
        if len(constants) == len(arguments) and (
            name != "cast" or is_readable(constants[0], arguments[0].type, signature.returns, signature.zone)
        ):
            return Constant(signature.returns, FUNCTIONS[name].scalar(signature)(*constants))
        return Apply(name, arguments, signature)

    def unknown_function(self, node: syntax.FunctionCall) -> Typed | None:
        name = node.function
        if name in _CAST_FUNCTIONS and len(node.arguments) == 1:
            return self.explicit_cast(syntax.Cast(node.arguments[0], parse_type(name), node.span))
        for argument in node.arguments:
            if not isinstance(argument, syntax.Lambda):
                self.analyse(argument)
        if name in _CLOCKS:
            self.report(f"{name}() is refused: a match must not depend on when or where it is looked for", node)
            return None
        if name in SUBJECTS:
            hint: str | None = (
                f"an operator of the library {SUBJECTS[name]!r}: load it first, in a command with --operators"
            )
        else:
            callable_names = [known for known in FUNCTIONS if known.isidentifier() and known not in _INTERNAL]
            close = get_close_matches(name, [*callable_names, *OPERATORS, *SUBJECTS], n=1)
            hint = f"did you mean {close[0]}?" if close else None
        self.report(f"there is no function {_quote(name)}", node, hint)
        return None

    def quantifier(self, node: syntax.FunctionCall) -> Typed | None:
        name = node.function
        condition = node.arguments[-1] if len(node.arguments) == 2 else None
        if not isinstance(condition, syntax.Lambda):
            self.report(
                f"{name} takes an array and a condition on its elements",
                node,
                f"{name}(tags, x -> x = 'new')",
            )
            return None
        operand = node.arguments[0]
        values = self.analyse(operand)
        if values is not None and values.type == ANY:
            values = self.cast(values, array(ANY), operand)
        if values is None:
            return None
        if values.type.name != "array":
            self.report(f"{name}: expected an array, found {_article(values.type)}", operand)
            return None
        return self.over_elements(name, values, condition)

    def higher_order(self, node: syntax.FunctionCall, name: str) -> Typed | None:
        """transform, filter, zip_with and aggregate: their arrays, and bodies with variables for the elements."""
        lambdas = [each for each in node.arguments if isinstance(each, syntax.Lambda)]
        plain = node.arguments[: len(node.arguments) - len(lambdas)]
        count, most, variables = _LAMBDAS[name]
        fits = len(plain) == count and 1 <= len(lambdas) <= most and not any(map(_is_lambda, plain))
        counts = zip(lambdas, variables, strict=False)
        if not fits or not all(least <= len(each.variables) <= top for each, (least, top) in counts):
            self.report(f"{name} is written {_WRITTEN[name]}", node)
            return None
        given = [self.analyse(each) for each in plain]
        pairs = list(zip(given, plain, strict=True))
        of_arrays = pairs[:1] if name == "aggregate" else pairs
        arrays = [None if each is None else self.as_array(name, each, part) for each, part in of_arrays]
        known = [each for each in (*arrays, *given[len(arrays) :]) if each is not None]
        if len(known) < len(plain):
            return None
        if name == "aggregate":
            return self.aggregate(known, lambdas)
        texts = [each.type.item for each in known] if name == "zip_with" else [known[0].type.item, INT]
        known = [self.bare(each) for each in known]
        types = [each.type.item for each in known] if name == "zip_with" else [known[0].type.item, INT]
        of = self.bind_variables(lambdas[0], types)
        body = self.with_variables(lambdas[0], of, texts)
        if body is None:
            return None
        if name == "filter":
            if body.type not in (BOOLEAN, ANY, NULL):
                self.report(
                    f"{name}: the condition must be Boolean, this is {_article(body.type)}", lambdas[0].body
                )
                return None
            body = body if body.type == BOOLEAN else self.cast(body, BOOLEAN, lambdas[0].body)
        if body is None:
            return None
        meant = array(texts[0] if name == "filter" else body.type)
        body = self.bare(body)
        returns = known[0].type if name == "filter" else array(body.type)
        found = HigherOrder(name, tuple(known), of, (body,), returns)
        return as_text(found, meant, self.schema.time_zone)

    def aggregate(self, given: Sequence[Typed], lambdas: Sequence[syntax.Lambda]) -> Typed | None:
        """The body takes and gives the type of the value to begin with."""
        values, start = given
        gathered, texts = start.type, [start.type, values.type.item]
        zone = self.schema.time_zone
        if any(map(is_text_of_bytes, given)):  # what is gathered may then be a text of bytes, too
            values, start = self.bare(values), as_bytes(start, zone)
        is_bare = start.type != gathered
        of = self.bind_variables(lambdas[0], [start.type, values.type.item])
        body = self.with_variables(lambdas[0], of, texts)
        if body is not None and body.type != gathered:
            if not (body.type == NULL or (may_cast(body.type, gathered) and body.type != STRING)):
                message = f"aggregate: expected {gathered}, the type to begin with, found {_article(body.type)}"
                self.report(message, lambdas[0].body, "cast the value to begin with")
                return None
            body = self.cast(body, gathered, lambdas[0].body)
        if body is None:
            return None
        body = as_bytes(body, zone) if is_bare else body
        if len(lambdas) == 1:
            found = HigherOrder("aggregate", (values, start), of, (body,), start.type)
            return as_text(found, gathered, zone)
        last = self.bind_variables(lambdas[1], [start.type])
        end = self.with_variables(lambdas[1], last, [gathered])
        if end is None:
            return None
        bare = self.bare(end)
        return as_text(
            HigherOrder("aggregate", (values, start), (*of, *last), (body, bare), bare.type), end.type, zone
        )

    def bare(self, expression: Typed) -> Typed:
        """The bytes of a text of bytes, any other expression as it is."""
        return as_bytes(expression, self.schema.time_zone) if is_text_of_bytes(expression) else expression

    def as_array(self, name: str, values: Typed, node: syntax.Expression) -> Typed | None:
        if values.type == ANY:
            return self.cast(values, array(ANY), node)
        if values.type.name != "array":
            self.report(f"{name}: expected an array, found {_article(values.type)}", node)
            return None
        return values

    def bind_variables(self, of: syntax.Lambda, types: Sequence[Type]) -> tuple[Variable, ...]:
        """Fresh variables for those of a lambda."""
        found: list[Variable] = []
        for name, type_ in zip(of.variables, types, strict=False):
            taken = {each.name for each in found}
            fresh = self.fresh(name)
            while fresh in taken:
                fresh = f"{fresh}_"
            found.append(Variable(fresh, type_))
        return tuple(found)

    def with_variables(
        self, of: syntax.Lambda, variables: Sequence[Variable], types: Sequence[Type]
    ) -> Typed | None:
        """The body of a lambda; its variables have these types there, and may hold the bytes of texts."""
        zone = self.schema.time_zone
        seen = [as_text(variable, type_, zone) for variable, type_ in zip(variables, types, strict=False)]
        names = {name.lower(): each for name, each in zip(of.variables, seen, strict=True)}
        before = self.variables, self.bound_names
        self.variables = {**self.variables, **names}
        self.bound_names = {*self.bound_names, *(variable.name for variable in variables)}
        body = self.analyse(of.body)
        self.variables, self.bound_names = before
        return body

    def over_elements(self, name: str, values: Typed, condition: syntax.Lambda) -> Typed | None:
        seen, values = values.type.item, self.bare(values)
        variable = Variable(self.fresh(condition.variable), values.type.item)
        body = self.with_variables(condition, [variable], [seen])
        if body is None:
            return None
        if body.type == ANY:
            body = self.cast(body, BOOLEAN, condition.body)
        elif body.type == NULL:
            body = Constant(BOOLEAN, None)
        elif body.type != BOOLEAN:
            self.report(f"{name}: the condition must be Boolean, this is {_article(body.type)}", condition.body)
            return None
        return None if body is None else Quantifier(name, values, variable, body)

    def fresh(self, name: str) -> str:
        """A name for a variable that differs from those of the quantifiers around it."""
        candidate, number = name, 1
        while candidate in self.bound_names:
            number += 1
            candidate = f"{name}_{number}"
        return candidate


def _is_lambda(node: syntax.Expression) -> bool:
    return isinstance(node, syntax.Lambda)


def _parts_of(
    operator: Operator, node: syntax.FunctionCall
) -> tuple[Sequence[syntax.Expression] | None, Sequence[tuple[str, Type]]]:
    """The arguments of a call that are given to the operator, None if there are too few or too many.

    Arguments after them bind the fields of the result, if that is an array of structs.
    """
    count, row = len(operator.parameters), operator.returns.element
    if len(node.arguments) == count:
        return node.arguments, ()
    if row is not None and row.name == "struct" and len(node.arguments) == count + len(row.fields):
        return node.arguments[:count], row.fields
    return None, ()


def _depends_on_today(operand: Typed, target: Type) -> bool:
    """Is it a cast of 'now', 'today' or a time without a date, which Spark completes from the clock?"""
    if (
        target not in (DATE, TIMESTAMP, TIMESTAMP_NTZ)
        or not isinstance(operand, Constant)
        or operand.type != STRING
    ):
        return False
    return operand.value is not None and (is_special_word(operand.value) or is_time_alone(operand.value))


def _quote(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _did_you_mean(name: str, known: Sequence[str]) -> str | None:
    exact = {each.lower(): each for each in known}
    close = get_close_matches(name.lower(), exact, n=1)
    return f"did you mean {quote_name(exact[close[0]])}?" if close else None


def _describe_argument(expression: Typed, node: syntax.Expression) -> Argument:
    if not isinstance(expression, Constant):
        return Argument(expression.type)
    literal = isinstance(node, syntax.Literal | syntax.TimeLiteral)
    return Argument(expression.type, True, expression.value, folded=not literal)


def _is_operator(name: str) -> bool:
    return not name.isidentifier() or name in (
        "and",
        "or",
        "not",
        "xor",
        "in",
        "case",
        "div",
        "negative",
        "positive",
    )


def _article(type_: Type) -> str:
    if type_ == NULL:
        return "NULL"
    text = str(type_)
    return f"an {text}" if text[0] in "aeiou" else f"a {text}"


__all__ = ["Schema", "Schemaless", "analyse"]
