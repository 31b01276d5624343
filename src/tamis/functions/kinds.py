"""Values of one kind: `text_of`, `number_of` and `boolean_of` are their argument, or NULL if it is of another.

Nothing is converted: the text '1' is no number. Of an attribute with a declared type the answer is known
beforehand; of the value of a schemaless event it is what reading the value gives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tamis.functions.registry import Argument, Function, Resolve, Signature, check_count, register
from tamis.functions.rows import Scalar
from tamis.values.column import Column, Value, constant_column
from tamis.values.types import ANY, BOOLEAN, DOUBLE, NUMBER, STRING, Type, is_numeric

KINDS = ("text_of", "number_of", "boolean_of")


def _resolve(is_kind: Callable[[Type], bool], read_as: Type, otherwise: Type) -> Resolve:
    def resolve(arguments: Sequence[Argument], zone: str) -> Signature:
        check_count(arguments, 1, 1)
        given = arguments[0].type
        if given == ANY:
            return Signature((read_as,), read_as, zone)
        return Signature((given,), given if is_kind(given) else otherwise, zone)

    return resolve


def _bind(signature: Signature) -> Scalar:
    if signature.parameters[0] == signature.returns:
        return lambda value: value

    def nothing(_: Value) -> None:
        return None

    return nothing


def _vector(signature: Signature, columns: Sequence[Column]) -> Column:
    column = columns[0]
    same = signature.parameters[0] == signature.returns
    return column if same else constant_column(signature.returns, None, len(column))


register(Function("text_of", _resolve(lambda given: given == STRING, STRING, STRING), _bind, _vector))
register(Function("number_of", _resolve(is_numeric, NUMBER, DOUBLE), _bind, _vector))
register(Function("boolean_of", _resolve(lambda given: given == BOOLEAN, BOOLEAN, BOOLEAN), _bind, _vector))
