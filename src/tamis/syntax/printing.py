"""Canonical text of a condition: `parse(to_text(tree)) == tree`, always.

Every construct has one form: upper-case keywords, one space, no redundant parentheses.
"""

from __future__ import annotations

import re

from tamis.syntax.literals import write_number, write_string
from tamis.syntax.tokens import KEYWORDS
from tamis.syntax.tree import (
    TESTS,
    Cast,
    Expression,
    FieldAccess,
    Free,
    FunctionCall,
    Lambda,
    Literal,
    Missing,
    Name,
    TimeLiteral,
)
from tamis.values.intervals import write_interval
from tamis.values.types import Type, is_interval

_OR, _XOR, _AND, _NOT, _PREDICATE, _COMPARISON, _PLUS, _TIMES, _UNARY, _POSTFIX, _ATOM = range(1, 12)
_STRENGTH = {
    "or": _OR,
    "xor": _XOR,
    "and": _AND,
    "not": _NOT,
    "in": _PREDICATE,
    "like": _PREDICATE,
    "ilike": _PREDICATE,
    "rlike": _PREDICATE,
    **dict.fromkeys(TESTS, _PREDICATE),
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">=", "<=>"), _COMPARISON),
    # The bitwise operators bind tighter than comparisons and looser than +, each with its own precedence.
    "|": _COMPARISON + 0.25,
    "^": _COMPARISON + 0.5,
    "&": _COMPARISON + 0.75,
    **dict.fromkeys(("+", "-", "||"), _PLUS),
    **dict.fromkeys(("*", "/", "%", "div"), _TIMES),
    **dict.fromkeys(("negative", "positive", "~"), _UNARY),
    "[]": _POSTFIX,
}
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


def to_text(expression: Expression) -> str:
    """The canonical text of a syntax tree.

    Examples:
        >>> from tamis.syntax.parser import parse
        >>> to_text(parse("NOT(a==1 and (b<2)) or x between 1 and 5"))
        'NOT (a = 1 AND b < 2) OR x >= 1 AND x <= 5'
    """
    match expression:
        case Literal():
            return _literal(expression)
        case TimeLiteral(type=type_, text=text):
            return f"{type_.name.upper()} {write_string(text)}"
        case Name(parts=names):
            return ".".join(map(quote_name, names))
        case Free(name=name):
            return f"?{name}"
        case Cast(operand=operand, type=type_):
            return f"CAST({to_text(operand)} AS {_type_text(type_)})"
        case FieldAccess(operand=operand, name=name):
            # `5.a` would be read as a number and a name.
            inner = f"({to_text(operand)})" if isinstance(operand, Literal) else _operand(operand, _POSTFIX)
            return f"{inner}.{quote_name(name)}"
        case Lambda(variable=variable, body=body, others=()):
            return f"{quote_name(variable)} -> {to_text(body)}"
        case Lambda(variables=variables, body=body):
            return f"({', '.join(map(quote_name, variables))}) -> {to_text(body)}"
        case Missing():
            return "?"
        case FunctionCall():
            return _call(expression)


def quote_name(name: str) -> str:
    """The name, in back quotes where the grammar needs them."""
    if _PLAIN_NAME.fullmatch(name) and name.lower() not in KEYWORDS:
        return name
    return "`" + name.replace("`", "``") + "`"


def _type_text(type_: Type) -> str:
    """The type in upper case, except the names of fields."""
    if type_.name == "array":
        return f"ARRAY<{_type_text(type_.item)}>"
    if type_.name == "map":
        return f"MAP<{', '.join(_type_text(inner) for _, inner in type_.item.fields)}>"
    if type_.name == "struct":
        fields = ", ".join(f"{quote_name(name)}: {_type_text(inner)}" for name, inner in type_.fields)
        return f"STRUCT<{fields}>"
    return str(type_).upper()


def _literal(literal: Literal) -> str:
    match literal.value:
        case None:
            return "NULL"
        case bool():
            return str(literal.value).upper()
        case str():
            return write_string(literal.value)
        case bytes():
            return f"X'{literal.value.hex().upper()}'"
        case int() if is_interval(literal.type):
            return write_interval(literal.value, literal.type)
        case _:
            return write_number(literal.type, literal.value)


def _strength(expression: Expression) -> float:
    if isinstance(expression, FunctionCall):
        return _STRENGTH.get(expression.function, _ATOM)
    if isinstance(expression, FieldAccess):
        return _POSTFIX
    if isinstance(expression, Lambda):
        return 0
    return _ATOM


def _operand(expression: Expression, least: float) -> str:
    text = to_text(expression)
    return text if _strength(expression) >= least else f"({text})"


def _call(call: FunctionCall) -> str:
    function, arguments = call.function, call.arguments
    strength = _STRENGTH.get(function)
    if strength is None or not _has_operator_form(function, arguments):
        return _ordinary(function, arguments)
    if function in ("and", "or"):
        return f" {function.upper()} ".join(_operand(argument, strength + 1) for argument in arguments)
    if function == "not":
        # NOT NOT a needs no parentheses, looser operators do.
        return f"NOT {_operand(arguments[0], _NOT)}"
    if strength == _PREDICATE:
        return _predicate(function, arguments)
    if function in ("negative", "positive", "~"):
        sign = {"negative": "-", "positive": "+"}.get(function, "~")
        inner = _operand(arguments[0], _UNARY)
        # -5 would be read as a constant, --5 as a comment.
        if sign == "-" and inner[0] in "0123456789.":
            return f"-({inner})"
        return f"- {inner}" if sign == "-" and inner[0] == "-" else f"{sign}{inner}"
    if function == "[]":
        return f"{_operand(arguments[0], _POSTFIX)}[{_operand(arguments[1], _COMPARISON)}]"
    sign = "XOR" if function == "xor" else "DIV" if function == "div" else function
    left, right = arguments
    return f"{_operand(left, strength)} {sign} {_operand(right, strength + 0.1)}"


def _has_operator_form(function: str, arguments: tuple[Expression, ...]) -> bool:
    """Can the call be written as an operator? Some operators can also be called by name, with any arguments."""
    if function in ("like", "ilike") and len(arguments) == 3:
        escape = arguments[2]
        return (
            isinstance(escape, Literal)
            and isinstance(escape.value, str)
            and len(escape.value) == 1
            and escape.value != "\\"
        )
    if function in ("and", "or", "in"):
        return len(arguments) >= 2
    unary = function in ("not", "negative", "positive", "~") or function in TESTS
    return len(arguments) == (1 if unary else 2)


def _predicate(function: str, arguments: tuple[Expression, ...]) -> str:
    subject = _operand(arguments[0], _COMPARISON)
    if function == "in":
        return f"{subject} IN ({', '.join(map(to_text, arguments[1:]))})"
    if function in TESTS:
        return f"{subject} {function.replace('_', ' ').upper()}"
    escape = f" ESCAPE {to_text(arguments[2])}" if len(arguments) > 2 else ""
    pattern = _operand(arguments[1], _COMPARISON)
    if isinstance(arguments[1], FunctionCall) and arguments[1].function in ("any", "some", "all"):
        pattern = f"({pattern})"
    return f"{subject} {function.upper()} {pattern}{escape}"


def _ordinary(function: str, arguments: tuple[Expression, ...]) -> str:
    if function == "case":
        pairs = zip(arguments[0::2], arguments[1::2], strict=False)
        tests = " ".join(f"WHEN {to_text(test)} THEN {to_text(value)}" for test, value in pairs)
        otherwise = f" ELSE {to_text(arguments[-1])}" if len(arguments) % 2 else ""
        return f"CASE {tests}{otherwise} END"
    texts = [to_text(argument) for argument in arguments]
    if texts and _is_read_apart(function, arguments[0], texts[0]):
        texts[0] = f"({texts[0]})"
    return f"{function}({', '.join(texts)})"


def _is_read_apart(function: str, first: Expression, text: str) -> bool:
    """Would position(x IN y) or trim(BOTH x FROM y) parse the first argument as something else?"""
    if function == "position":
        return _strength(first) < _COMPARISON
    return function == "trim" and text.lower().startswith(("both", "leading", "trailing", "from"))
