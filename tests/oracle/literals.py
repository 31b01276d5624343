"""Leaves: attributes, and literals of every type in every spelling that both dialects read alike."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TypeAlias

from tests.oracle.grammar import GOALS, Node, leaf
from tests.oracle.rows import ATTRIBUTES, BYTES, DATES, DECIMALS, FLOATS, INTEGERS, STRINGS, TIMES

Leaf: TypeAlias = Callable[[random.Random], Node]
_BY_NAME = {attribute.name: attribute for attribute in ATTRIBUTES}
_MEASURES = tuple(attribute.name for attribute in ATTRIBUTES if attribute.kind in GOALS["number"])
_SUFFIX = {"tinyint": "Y", "smallint": "S", "int": "", "bigint": "L"}


def attribute(random_: random.Random, name: str) -> Node:
    """A reference to a column, now and then in another case or in back quotes."""
    found = _BY_NAME[name]
    spelling = random_.choices((name, name.upper(), f"`{name}`"), (90, 5, 5))[0]
    return leaf(found.kind, spelling, None, f"type {found.ddl}")


def quoted(text: str, random_: random.Random | None = None) -> str:
    """A string literal; `random_` varies how it is spelled."""
    escaped = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")
    style = random_.random() if random_ else 0.0
    if style > 0.9 and '"' not in text:
        return f'"{escaped}"'
    if style > 0.8 and not set(text) & set("'\\\n\t"):
        return f"r'{text}'"
    return "'" + escaped.replace("'", "\\'" if style < 0.5 else "''") + "'"


def _null(goal: str, chance: float, other: Leaf, type_: str | None = None) -> Leaf:
    text = f"CAST(NULL AS {type_})" if type_ else "NULL"

    def draw(random_: random.Random) -> Node:
        return leaf(goal, text, None, "literal NULL") if random_.random() < chance else other(random_)

    return draw


def _integer(kind: str) -> Leaf:
    def draw(random_: random.Random) -> Node:
        value = random_.choice(INTEGERS[kind])
        return leaf(kind, f"{value}{_SUFFIX[kind]}", None, f"literal {kind}")

    return draw


def _double(random_: random.Random) -> Node:
    value = random_.choice([value for value in FLOATS["double"] if value - value == 0])
    text = random_.choice((f"{value!r}D", f"{value:e}", f"{value:E}"))
    return leaf("double", text, None, "literal double")


def _float(random_: random.Random) -> Node:
    value = random_.choice((0.0, 1.0, -1.0, 1.1, 2.5, 0.1, 7.0, 1e10, 16777216.0))
    return leaf("float", f"{value!r}F", None, "literal float")


def _decimal(random_: random.Random) -> Node:
    value = random_.choice(random_.choice([*DECIMALS.values()]))
    text = random_.choice((f"{value:f}BD", f"{value:f}" if value % 1 else f"{value:f}.0"))
    return leaf("decimal", text, None, "literal decimal")


def _any_of(*others: Leaf) -> Leaf:
    return lambda random_: random_.choice(others)(random_)


def _string(random_: random.Random) -> Node:
    return leaf("string", quoted(random_.choice(STRINGS), random_), None, "literal string")


def _boolean(random_: random.Random) -> Node:
    return leaf(
        "boolean", random_.choice(("TRUE", "FALSE", "true", "CAST(NULL AS BOOLEAN)")), None, "literal boolean"
    )


def _moment_text(pick: Callable[[random.Random], str], goal: str, word: str) -> Leaf:
    def draw(random_: random.Random) -> Node:
        return leaf(goal, f"{word}'{pick(random_)}'", None, f"literal {goal}")

    return draw


def _date_text(random_: random.Random) -> str:
    value = random_.choice(DATES)
    return random_.choice((value.isoformat(), value.isoformat(), f"{value.year:04}-{value.month}-{value.day}"))


def _time_text(random_: random.Random) -> str:
    value = random_.choice(TIMES)
    return random_.choice((value.isoformat(" "), value.isoformat(), value.isoformat(" ", "minutes")))


def _instant_text(random_: random.Random) -> str:
    zone = random_.choice(("", "", "", "Z", "+02:00", " UTC", " Europe/Paris", " America/New_York", "-05:30"))
    text = _time_text(random_)
    return text + zone if text.count(":") == 2 else text


def _binary(random_: random.Random) -> Node:
    return leaf("binary", f"X'{random_.choice(BYTES).hex()}'", None, "literal binary")


def _choice(goal: str, *texts: str) -> Leaf:
    return lambda random_: leaf(goal, random_.choice(texts))


def _array(goal: str, item: Leaf) -> Leaf:
    def draw(random_: random.Random) -> Node:
        items = [item(random_).tamis for _ in range(random_.choice((1, 1, 2, 3)))]
        return leaf(goal, f"array({', '.join(items)})", None, "array")

    return draw


def _like(random_: random.Random) -> Node:
    text = random_.choice(STRINGS)
    characters = ["\\" + c if (c in "%_\\" and random_.random() < 0.6) or c == "\\" else c for c in text]
    for _ in range(random_.choice((0, 1, 1, 2))):
        place = random_.randint(0, len(characters))
        wild = random_.choice("%%_")
        if random_.random() < 0.5:
            characters[place : place + 1] = [wild]
        else:
            characters.insert(place, wild)
    return leaf("like", quoted("".join(characters), random_))


def _like_escaped(random_: random.Random) -> Node:
    escape = random_.choice("!/#%_")
    text = "".join(escape + c if c in ("%", "_", escape) else c for c in random_.choice(STRINGS) if c not in "\\")
    if escape not in "%_":
        text = random_.choice(("%", "", "_")) + text + random_.choice(("%", ""))
    return leaf("like_escaped", f"{quoted(text)} ESCAPE '{escape}'", None, "ESCAPE")


_NUMBERS = _any_of(*(_integer(kind) for kind in INTEGERS), _double, _float, _decimal)
_DATE = _moment_text(_date_text, "date", "DATE")
_TIMESTAMP = _moment_text(_instant_text, "timestamp", "TIMESTAMP")
_NTZ = _moment_text(_time_text, "timestamp_ntz", "TIMESTAMP_NTZ")

LEAVES: dict[str, Leaf] = {
    **{kind: _null(kind, 0.04, _integer(kind), kind) for kind in INTEGERS},
    "narrow": _any_of(*(_integer(kind) for kind in ("tinyint", "smallint", "int", "int", "int"))),
    "integral": _any_of(*(_integer(kind) for kind in INTEGERS)),
    "exact": _any_of(*(_integer(kind) for kind in INTEGERS), _decimal),
    "decimal": _decimal,
    "short_decimal": _choice("short_decimal", "1.50", "-2.5", "0.01BD", "7.0", "9999999999999999.9999"),
    "float": _float,
    "double": _double,
    "fraction": _any_of(_float, _double),
    "number": _null("number", 0.02, _NUMBERS, "DOUBLE"),
    "string": _null("string", 0.02, _string, "STRING"),
    "boolean": _boolean,
    "date": _DATE,
    "timestamp": _TIMESTAMP,
    "timestamp_ntz": _NTZ,
    "moment": _any_of(_DATE, _TIMESTAMP, _NTZ),
    "binary": _binary,
    "array_int": _array("array_int", _null("int", 0.1, _integer("int"), "INT")),
    "array_double": _array("array_double", _double),
    "array_string": _array("array_string", _string),
    # Leaves of rules: what may stand there is a literal, or must stay small.
    "number_literal": _null("number_literal", 0.1, _NUMBERS),
    "string_literal": _null("string_literal", 0.1, _string),
    "date_literal": _null("date_literal", 0.1, _DATE),
    "date_text": lambda random_: leaf("date_text", f"'{_date_text(random_)}'"),
    "timestamp_text": lambda random_: leaf("timestamp_text", f"'{_instant_text(random_)}'"),
    "ntz_text": lambda random_: leaf("ntz_text", f"'{_time_text(random_)}'"),
    "int_text": _choice("int_text", "'5'", "' 7 '", "'-3'", "'100'", "'+4'", "'2147483648'"),
    "double_text": _choice("double_text", "'2.5'", "'1e3'", "'NaN'", "' 7 '", "'-Infinity'", "'0.1'", "'1'"),
    "like": _like,
    "like_escaped": _like_escaped,
    "like_digits": _choice("like_digits", "'2024%'", "'%0'", "'_'", "'1%'", "'%-%'", "'t%'", "'%.5_'"),
    "rlike": _choice(
        "rlike",
        *(
            "'a'",
            "'^a'",
            "'c$'",
            "'^[a-c]+$'",
            "'(red|blue)'",
            "'\\\\d+'",
            "r'^\\w+$'",
            "'b{2}'",
            "'.'",
            "'^$'",
        ),
        *(
            "'^.a'",
            "'[^a-z]'",
            "'(?i)ABC'",
            "'a.*c'",
            "'\\\\\\\\'",
            "'%|_'",
            "'é'",
            "r'\\s'",
            "''",
            "'^a?b*'",
        ),
    ),
    "position": _choice("position", *map(str, (-5, -2, -1, 0, 1, 1, 2, 2, 3, 4, 2147483647, -2147483648))),
    "count": _choice("count", *map(str, (-1, 0, 1, 2, 3, 4, 6))),
    "part": _choice("part", *map(str, (-3, -2, -1, 1, 2, 3))),
    "index": _choice("index", *map(str, (-1, 0, 0, 1, 1, 2, 5))),
    "element": _choice("element", *map(str, (-4, -2, -1, 1, 1, 2, 3, 5))),
    "digits": _choice("digits", *map(str, (-2, -1, 0, 0, 1, 2, 3, 5))),
    "days": _choice("days", *map(str, (-400, -31, -1, 0, 1, 7, 30, 366, 1000))),
    "price_like": _choice("price_like", "price", "money", "12.34", "-7.5BD"),
    "narrow_days": _choice("narrow_days", "tiny", "small", "0", "-719162", "19782"),
    "bigint_small": _choice("bigint_small", "n", "small", "-1L", "1710054000000000", "0"),
    "number_double": _choice("number_double", "dbl", "2.5D", "0.0D", "ratio"),
    "weekday": _choice("weekday", "'Mon'", "'TUESDAY'", "'we'", "'sun'"),
    "utf8": _choice("utf8", "CAST(name AS BINARY)", "CAST(city AS BINARY)"),
    "text": _choice("text", "name", "digits", "digits", "lower(digits)", "trim(digits)"),
    "beyond": _choice(
        "beyond",
        *("99999999999999999999", "-99999999999999999999", "9223372036854775808", "-9223372036854775809"),
        *("9223372036854775807.5", "-9223372036854775808.5BD", "1e19BD", "9223372036854775807.0"),
    ),
    "huge": _choice("huge", "huge", "-1234567890123456789012345678.0123456789", "coalesce(huge, 0)"),
    "measure": lambda random_: attribute(random_, random_.choice(_MEASURES)),
    "year": _choice("year", "2024", "1900", "small", "tiny", "year(due)", "-5", "9999"),
    "calendar": lambda random_: attribute(random_, random_.choice(("born", "due"))),
    "nested": _choice("nested", "st.c"),
    "least_two": _choice("least_two", "1", "2"),
    "least_true": _choice("least_true", "1", "2", "3"),
    "divisor": _choice("divisor", *map(str, (-7, -2, 0, 2, 3, 10))),
    "date_unit": _choice(
        "date_unit", "'YEAR'", "'yyyy'", "'QUARTER'", "'month'", "'MM'", "'week'", "'DAY'", "'x'"
    ),
    "time_unit": _choice(
        "time_unit",
        *(
            "'YEAR'",
            "'QUARTER'",
            "'MONTH'",
            "'WEEK'",
            "'DAY'",
            "'HOUR'",
            "'minute'",
            "'SECOND'",
            "'millisecond'",
        ),
        *("'MICROSECOND'", "'dd'", "'x'"),
    ),
    "trim_set": _choice("trim_set", "'a'", "'ab '", "''", "' '", "'\\\\%'", "'😀a'"),
}
