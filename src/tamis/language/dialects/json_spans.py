"""JSON with the place of every value, for dialects whose conditions are JSON.

Strict RFC 8259: no NaN, no comments, no control characters in strings; beyond it, no key twice in an object and no
half of a surrogate pair. It never recurses deeper than it is told, whatever the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from json import JSONDecodeError, JSONDecoder
from typing import NoReturn, TypeAlias

from tamis.errors import Problem
from tamis.syntax.cursor import SyntaxFailure
from tamis.syntax.tree import Span

Scalar: TypeAlias = bool | int | float | str | None

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?", re.ASCII)
_WORDS = {"true": True, "false": False, "null": None}
_WORD = re.compile("true|false|null")
_HALF_PAIR = re.compile("[\ud800-\udfff]")
_LONGEST_NUMBER = 400
_STRINGS = JSONDecoder()


@dataclass(frozen=True, slots=True)
class Json:
    """A value of JSON.

    Attributes:
        value: A scalar; of an array the items; of an object the values by key, in the order of the text.
        span: Its place in the text.
        text: As it is written, if it is a number.
        keys: The place of each key of an object.
    """

    value: Scalar | list[Json] | dict[str, Json]
    span: Span
    text: str = ""
    keys: dict[str, Span] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """What it is, for messages: "an object", "a number", ..."""
        return _KINDS[type(self.value)]


_KINDS = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    type(None): "null",
}


def parse_json(text: str, depth: int = 256) -> Json:
    """The one value that the text is, nested `depth` deep at most.

    >>> parse_json('{"a": [1]}').value["a"].span
    (6, 9)

    Raises:
        SyntaxFailure: It is no such text; the problem has the place.
    """
    return _Reader(text, depth).whole()


class _Reader:
    def __init__(self, text: str, depth: int) -> None:
        self.text = text
        self.left = depth
        self.at = 0

    def whole(self) -> Json:
        self.space()
        found = self.value()
        if self.at < len(self.text):
            self.fail("the end")
        return found

    def space(self) -> None:
        match = _SPACE.match(self.text, self.at)
        assert match is not None, "it matches nothing, too"
        self.at = match.end()

    def fail(self, expected: str) -> NoReturn:
        found = repr(self.text[self.at]) if self.at < len(self.text) else "the end"
        self.stop(f"expected {expected}, found {found}", self.at, self.at + 1)

    def stop(self, message: str, start: int, end: int) -> NoReturn:
        raise SyntaxFailure(Problem(message, start, end))

    def accept(self, sign: str) -> bool:
        """Advance past a sign, and the space behind it, if it is next."""
        if not self.text.startswith(sign, self.at):
            return False
        self.at += 1
        self.space()
        return True

    def value(self) -> Json:
        """A value and the space behind it."""
        start = self.at
        sign = self.text[start : start + 1]
        if sign == "":
            self.fail("a value of JSON")
        if sign in "{[":
            self.left -= 1
            if self.left < 0:
                self.stop("nested too deep", start, start + 1)
            found = self.object() if sign == "{" else self.array()
            self.left += 1
        elif sign == '"':
            text = self.string()
            found = Json(text, (start, self.at))
        else:
            found = self.word()
        self.space()
        return found

    def string(self) -> str:
        start = self.at
        found: str
        try:
            found, self.at = _STRINGS.raw_decode(self.text, start)
        except JSONDecodeError as error:
            self.stop(f"this is no string of JSON: {error.msg}", start, max(error.pos, start + 1))
        if _HALF_PAIR.search(found):
            self.stop("the string holds half of a surrogate pair", start, self.at)
        return found

    def word(self) -> Json:
        start = self.at
        number = _NUMBER.match(self.text, start)
        word = _WORD.match(self.text, start)
        if number is None and word is None:
            self.fail("a value of JSON")
        if word is not None:
            self.at = word.end()
            return Json(_WORDS[word[0]], (start, self.at))
        assert number is not None, "it is a word else"
        self.at = number.end()
        if len(number[0]) > _LONGEST_NUMBER:
            self.stop(f"a number has {_LONGEST_NUMBER} characters at most", start, self.at)
        value = int(number[0]) if number[1] is None and number[2] is None else float(number[0])
        return Json(value, (start, self.at), number[0])

    def array(self) -> Json:
        start = self.at
        self.accept("[")
        items: list[Json] = []
        while not self.text.startswith("]", self.at):
            if items and not self.accept(","):
                self.fail(", or ]")
            items.append(self.value())
        self.at += 1
        return Json(items, (start, self.at))

    def object(self) -> Json:
        start = self.at
        self.accept("{")
        members: dict[str, Json] = {}
        keys: dict[str, Span] = {}
        while not self.text.startswith("}", self.at):
            if members and not self.accept(","):
                self.fail(", or }")
            if not self.text.startswith('"', self.at):
                self.fail("a key between quotes")
            place = self.at
            key = self.string()
            if key in members:
                self.stop(f"the key {key!r} is there twice", place, self.at)
            keys[key] = place, self.at
            self.space()
            if not self.accept(":"):
                self.fail(": behind the key")
            members[key] = self.value()
        self.at += 1
        return Json(members, (start, self.at), "", keys)
