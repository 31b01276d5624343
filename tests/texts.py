"""Texts that are nearly conditions: oddly spaced, mutated, or random tokens. All drawn from a `random.Random`."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tamis.syntax.tokens import KEYWORDS, tokenise

NUMBERS = (
    *(
        "0",
        "1",
        "-1",
        "- 5",
        "-  5",
        "-\n5",
        "+5",
        "- -5",
        "1e400",
        "-1e400",
        "1e-400",
        "00.10",
        "007",
        "5.",
        ".5",
    ),
    *("-.5", "1e3", "1E+3", "1.e3", ".5e1", "1e05", "1e22", "1e23", "123456789012345678", "1234567890123456789"),
    *("-999999999999999999", "9999999999999999999", "9223372036854775807", "-9223372036854775808"),
    *(
        "9223372036854775808",
        "9007199254740993",
        "9007199254740993.0",
        "0.123456789012345678",
        "0.1234567890123456789",
    ),
    *(
        "12345678901234567.5",
        "1.50",
        "1.005",
        "0.000",
        "-0.0",
        "-0",
        "-0e0",
        "5L",
        "5Y",
        "300Y",
        "5S",
        "1.5D",
        "1.5F",
    ),
    *(
        "1.5BD",
        "1e39F",
        "1e99999999999",
        "1e-99999999999",
        "2147483647",
        "2147483648",
        "0.1e1",
        "1_000",
        "0x1F",
        "1a",
    ),
    "1" * 38,
    "1" * 39,
    "0." + "1" * 38,
    "0." + "1" * 39,
)
STRINGS = (
    *("''", "'a'", '"a"', "'it''s'", "'it\\'s'", '"q""q"', "'a' 'b'", "'a'\"b\"", "r'a\\b'", "R'x'", "'a\\%b'"),
    *(
        "'é'",
        "'日本'",
        "'😀'",
        "'\\u00e9'",
        "'\\ud83d\\ude00'",
        "'\\ud83d'",
        "'\\101'",
        "'\t'",
        "'\n'",
        "'--'",
        "'/*'",
    ),
    *(
        "'AND'",
        "' '",
        "'a%'",
        "'%a'",
        "'a_'",
        "'%'",
        "'a\\\\'",
        "'2024-02-29'",
        "'1'",
        "'x",
        '"x',
        "'\\'",
        "X'1F'",
    ),
)
OPERATORS = ("=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>")
_SPACES = ("", " ", "  ", "\t", "\n", "\r\n", " /* c */ ", " /* /* */ */ ", " -- c\n", "\v", "\f")
_STRAY = (
    *(
        "(",
        ")",
        "[",
        "]",
        ",",
        ".",
        "::",
        "->",
        "+",
        "-",
        "*",
        "/",
        "%",
        "||",
        "|",
        "&",
        "^",
        "~",
        "!",
        ";",
        "?x",
        "?",
    ),
    *(
        "$",
        "@",
        "#",
        "\\",
        "`",
        "``",
        "`a b`",
        "'",
        '"',
        "--",
        "/*",
        "*/",
        "{",
        "}",
        ":",
        "é",
        "\u00a0",
        "\u2028",
        "\0",
    ),
    *(
        "😀",
        "now()",
        "rand()",
        "abs(",
        "cast(",
        "as int)",
        "x ->",
        "DATE",
        "TIMESTAMP",
        "interval 1 day",
        "exists(",
    ),
    *("at_least(", "any", "from", "distinct", "unknown", "int", "array<int>", "struct<", "count(*)", "select 1"),
)


def spaced(random_: random.Random, text: str) -> str:
    """The same tokens, spaced in another way."""
    tokens = tokenise(text)
    words = [tokens.word(place) for place in range(len(tokens.kinds) - 1)]
    out = random_.choice(_SPACES)
    for word, following in zip(words, [*words[1:], ""], strict=True):
        gap = random_.choice(_SPACES)
        touching = (word[-1:].isalnum() or word[-1:] in "_'\"`.") and (
            following[:1].isalnum() or following[:1] in "_'\"`."
        )
        operators = word[-1:] in "<>=!-/*|:" and following[:1] in "<>=!-/*|:"
        out += word + (gap if gap or not (touching or operators) else " ")
    return out


def wrapped(random_: random.Random, text: str) -> str:
    """The same condition, or its negation, in parentheses and under NOTs."""
    for _ in range(random_.choice((0, 1, 2, 5))):
        text = random_.choice(("({})", "(({}))", "NOT ({})", "not not ({})", "! ({})", "!!( {} )")).format(text)
    return text


def atom(random_: random.Random, names: Sequence[str]) -> str:
    """An atom of one of the shapes that most conditions are made of, sometimes with an odd constant."""
    name = random_.choice(names)
    negated = random_.choice(("", "NOT "))

    def constant() -> str:
        return random_.choice(NUMBERS if random_.random() < 0.6 else STRINGS)

    def numbers(count: int) -> list[str]:
        return [random_.choice(NUMBERS) for _ in range(count)]

    def strings(count: int) -> list[str]:
        return [random_.choice(STRINGS) for _ in range(count)]

    def few() -> list[str]:
        pick = random_.choice((numbers, strings, lambda count: [constant() for _ in range(count)]))
        return pick(random_.choice((1, 2, 3, 5)))

    kind = random_.randrange(12)
    if kind < 4:
        return f"{name} {random_.choice(OPERATORS)} {constant()}"
    if kind == 4:
        return f"{constant()} {random_.choice(OPERATORS)} {name}"
    if kind == 5:
        low, high = random_.choice((numbers, strings))(2)
        return f"{name} {negated}BETWEEN {low} AND {high}"
    if kind == 6:
        return f"{name} {negated}IN ({', '.join(few())}{random_.choice(('', '', '', ', NULL', ','))})"
    if kind == 7:
        return f"{name} {negated}LIKE {random_.choice(STRINGS)}"
    if kind == 8:
        return f"{name} IS {negated}NULL"
    if kind == 9:
        return name
    if kind == 10:
        return f"{name} {random_.choice(OPERATORS)} {random_.choice(names)}"
    return f"{name} + 1 {random_.choice(OPERATORS)} {random_.choice(NUMBERS)}"


def plain(random_: random.Random, names: Sequence[str], depth: int = 3) -> str:
    """Atoms under AND, OR, NOT and parentheses."""
    if depth == 0 or random_.random() < 0.3:
        return atom(random_, names)
    inner = [plain(random_, names, depth - 1) for _ in range(random_.choice((2, 2, 3)))]
    joined = random_.choice((" AND ", " OR ", " and ", " Or ")).join(inner)
    return random_.choice(("{}", "({})", "NOT ({})", "NOT {}")).format(joined)


def mutated(random_: random.Random, text: str) -> str:
    """The text with a few tokens or characters changed."""
    for _ in range(random_.choice((1, 1, 2, 3))):
        tokens = tokenise(text)
        at = random_.randrange(len(tokens.kinds))
        start, end = tokens.starts[at], tokens.ends[at]
        kind = random_.randrange(6)
        stray = random_.choice(_STRAY) if random_.random() < 0.7 else random_.choice([*KEYWORDS]).upper()
        if kind == 0:
            text = text[:start] + text[end:]
        elif kind == 1:
            text = text[:start] + stray + " " + text[start:]
        elif kind == 2:
            text = text[:start] + stray + text[end:]
        elif kind == 3:
            other = random_.randrange(len(tokens.kinds))
            text = text[:start] + tokens.word(other) + text[end:]
        elif kind == 4:
            place = random_.randrange(len(text) + 1)
            text = text[:place] + random_.choice(_STRAY) + text[place:]
        else:
            text = text[: random_.randrange(len(text) + 1)]
    return text


def soup(random_: random.Random, names: Sequence[str], length: int = 12) -> str:
    """Random tokens in random order."""
    words = [*names, *KEYWORDS, *OPERATORS]
    pools: tuple[Sequence[str], ...] = (
        words,
        words,
        NUMBERS,
        STRINGS,
        _STRAY,
        ("(", ")", ",", "AND", "OR", "NOT"),
    )
    return random_.choice((" ", " ", "")).join(
        random_.choice(random_.choice(pools)) for _ in range(random_.randrange(length))
    )
