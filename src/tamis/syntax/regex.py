r"""Translation of Java's regular expressions, those of RLIKE in Spark, to RE2: exact, or refused.

`RLIKE` calls `java.util.regex` without flags and asks only whether there is a match anywhere. `translate` returns
an RE2 pattern with the same answer on every text of valid Unicode, on Java 17 and later; where it cannot, it
raises a `PatternError` at the construct. It never approximates, and no pattern runs in an engine that backtracks.

Because only the answer counts, groups capture nothing, and lazy quantifiers are greedy. The behaviour of Java is
taken from the source of `java.util.regex.Pattern`, because its grammar has no other complete description.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NoReturn

from tamis.errors import PatternError
from tamis.syntax import regex_tree as tree
from tamis.syntax.regex_tree import CharSet, Node

# RE2's limit for a counted repetition, and for the product of nested ones.
_MAX_COUNT = 1000

_CONTROLS = {"t": 9, "n": 10, "r": 13, "f": 12, "a": 7, "e": 27}
_DIGITS = {"x": re.compile(r"([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]+)\}"), "u": re.compile("([0-9A-Fa-f]{4})")}
_OCTAL = re.compile("[0-3][0-7]{0,2}|[4-7][0-7]?")
_LOW_SURROGATE = re.compile(r"\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})")
_PROPERTY = re.compile(r"\{([^}]*)\}|.", re.DOTALL)
_COUNTS = re.compile(r"\{([0-9]+)(?:(,)([0-9]*))?\}")
_GROUP_NAME = re.compile("<([A-Za-z][A-Za-z0-9]*)>")
_LITERAL_RUN = re.compile(r"[^\\^$.|?*+()\[\]{}]+(?![*+?{])")
"""Characters that stand for themselves, as many as are not repeated."""
_FLAGS = re.compile("([A-Za-z]*)(?:-([A-Za-z]*))?[:)]")

_SIGNS = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_IGNORED = frozenset("\t\n\x0b\f\r #")
_REFUSED_ESCAPES = {
    "G": r"`\G` is not supported",
    "N": r"`\N` is not supported; write the character itself, or its code as \x{...}",
    "X": r"`\X` is not supported",
    **dict.fromkeys("k123456789", "a back-reference is not supported"),
}
_REFUSED_GROUPS = {
    "?=": "look-ahead is not supported",
    "?!": "look-ahead is not supported",
    "?<=": "look-behind is not supported",
    "?<!": "look-behind is not supported",
    "?>": "an atomic group is not supported",
}
_REFUSED_FLAGS = {
    "u": "the flag `u` is not supported: case depends on the version of Unicode",
    "U": "the flag `U` is not supported: classes depend on the version of Unicode",
}


def translate(pattern: str, *, max_length: int = 1000, max_depth: int = 100, max_program: int = 10000) -> str:
    """Turn a Java pattern into an RE2 pattern with the same answer to "is there a match?" on every text.

    Args:
        pattern: The right operand of `RLIKE`.
        max_length: Characters that the pattern may have.
        max_depth: Nesting of groups and of character classes.
        max_program: Instructions that RE2 may need, by an estimate that is seldom too low.

    Returns:
        A pattern in ASCII for RE2 in UTF-8 mode, which has the same meaning under any other options.

    Raises:
        PatternError: Java refuses the pattern, or no exact translation is known, or it is too large.
    """
    if len(pattern) > max_length:
        message = f"the pattern has {len(pattern)} characters, and {max_length} are allowed"
        raise PatternError(message, max_length)
    return tree.write(parse_regex(pattern, max_depth=max_depth, max_program=max_program))


def parse_regex(pattern: str, *, max_depth: int = 100, max_program: int = 10000) -> Node:
    """The tree that `translate` writes: character sets, and no assertions but those that RE2 has.

    Raises:
        PatternError: As `translate`, whatever the length of the pattern.
    """
    node = _RegexParser(pattern, max_depth, max_program).parse()
    for rewrite in (tree.without_line_ends, tree.without_line_starts):
        node = rewrite(node)
        if node.cost > max_program:
            message = f"the pattern needs about {node.cost} instructions, and {max_program} are allowed"
            raise PatternError(message, 0)
    return node


@dataclass(frozen=True, slots=True)
class Captures:
    r"""A pattern for RE2 whose matches have the bounds that Java finds.

    Its first group is the whole match, then come the wanted ones, by their numbers; the last is a line terminator
    that a final `$` looked at, which is no part of the match.

    Attributes:
        text: The pattern for RE2.
        groups: How many groups the pattern of Java has.
        names: The numbers of those with names.
        only_first: Is only the first match that of Java? After an empty match Java goes on differently, and also
            where a match may begin with the line terminator that the `$` of the one before looked at.
    """

    text: str
    groups: int
    names: dict[str, int]
    only_first: bool


def translate_captures(pattern: str, wanted: frozenset[int] = frozenset()) -> Captures:
    """As `translate`, for functions that ask for the text of matches and `wanted` groups.

    Raises:
        PatternError: As `translate`; and for anchors of lines elsewhere than at the end, and the repetition of
            what may match nothing, of which the bounds differ between Java and RE2.
    """
    parser = _RegexParser(pattern, 100, 10000, wanted)
    body, end = tree.without_last_line_end(parser.parse(), is_greedy=not parser.has_lazy)
    whole, ends = tree.capture(body, wanted=True), tree.capture(end, wanted=True)
    hides = end is not tree.EMPTY and tree.may_begin_line_end(body, is_greedy=not parser.has_lazy)
    only_first = hides or tree.empties(body) is not tree.NEVER
    text = tree.write(tree.join(whole, ends))
    if re.findall(r"\\.|\((?!\?)", text).count("(") < 2 + len(wanted):
        message = "a part that never matches is not supported here"
        raise PatternError(message, 0)
    return Captures(text, parser.groups, parser.names, only_first)


def _unquote(pattern: str) -> tuple[str, list[int]]:
    r"""The pattern with `\Q...\E` expanded to escapes, and the original offset of each character.

    Java does this before it parses, so a quotation may occur inside any construct, even inside an escape.
    """
    if r"\Q" not in pattern:
        return pattern, [*range(len(pattern) + 1)]
    out: list[str] = []
    where: list[int] = []
    at, quoting, first = 0, False, False
    while at < len(pattern):
        start, character, pair = at, pattern[at], pattern[at : at + 2]
        if pair == (r"\E" if quoting else r"\Q"):
            quoting, first = not quoting, True
            at += 2
            continue
        if not quoting:
            text = pair if character == "\\" else character
        elif not character.isascii() or character.isalpha():
            text = character
        elif character.isdigit():
            # Java separates only the first digit from an escape that may precede the quotation.
            text = rf"\x3{character}" if first else character
        else:
            text = f"\\{character}"
        at, first = at + (1 if quoting else len(text)), False
        out.append(text)
        where.extend([start] * len(text))
    return "".join(out), [*where, len(pattern)]


_CATEGORY = re.compile(
    "(?:Is|general_category=|gc=)?(L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cf])"
)
_CATEGORY_WORDS = {"IsLetter": "L", "IsDigit": "Nd", "IsPunctuation": "P", "IsControl": "Cc"}


@lru_cache
def category(name: str) -> CharSet | None:
    """The characters of a general category of Unicode, by Java's name of it; None for other names."""
    found = _CATEGORY.fullmatch(_CATEGORY_WORDS.get(name, name))
    if found is None:
        return None
    return tree.union((low, high) for low, high, key in _categories() if key.startswith(found[1]))


@lru_cache
def _categories() -> list[tuple[int, int, str]]:
    """Ranges of characters of one category."""
    keys = [unicodedata.category(chr(code)) for code in range(sys.maxunicode + 1)]
    starts = [code for code, key in enumerate(keys) if code == 0 or key != keys[code - 1]]
    return [(low, high - 1, keys[low]) for low, high in pairwise([*starts, len(keys)])]


class _RegexParser:
    """Parses one pattern from left to right; its state is the offset and the flags in force."""

    def __init__(
        self, pattern: str, max_depth: int, max_program: int, wanted: frozenset[int] | None = None
    ) -> None:
        half = re.search("[\ud800-\udfff]", pattern)
        if half:
            message = "half of a surrogate pair is not a character"
            raise PatternError(message, half.start())
        self._chars, self._where = _unquote(pattern)
        self._at = 0
        self._flags: frozenset[str] = frozenset()
        self._depth = 0
        self._max_depth = max_depth
        self._max_program = max_program
        self._wanted = wanted  # groups to capture; None if the bounds of matches do not count
        self.groups = 0
        self.has_lazy = False
        self.names: dict[str, int] = {}
        self._line_break = -1  # offset of the last `\R`

    def parse(self) -> Node:
        node = self._alternatives()
        if self._at < len(self._chars):
            self._refuse("this `)` closes no group", self._at)
        return node

    def _refuse(self, message: str, at: int) -> NoReturn:
        raise PatternError(message, self._where[min(at, len(self._chars))])

    def _here(self, length: int = 1) -> str:
        return self._chars[self._at : self._at + length]

    def _peek(self) -> str:
        """The next character; with `(?x)`, the next one after white space and comments."""
        while "x" in self._flags and self._here() and self._here() in _IGNORED:
            if self._here() == "#":
                # The terminator is not part of the comment: as in Java, `\u2028` is then a literal.
                ends = "\n\0" if "d" in self._flags else "\n\r\x85\u2028\u2029\0"
                while self._here() and self._here() not in ends:
                    self._at += 1
            else:
                self._at += 1
        return self._here()

    def _alternatives(self) -> Node:
        branches = [self._sequence()]
        while self._peek() == "|":
            self._at += 1
            branches.append(self._sequence())
        return tree.either(*branches)

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while (character := self._peek()) and character not in "|)":
            start = self._at
            run = None if self._flags else _LITERAL_RUN.match(self._chars, start)
            if run:
                parts += [tree.chars(((ord(each), ord(each)),)) for each in run.group()]
                self._at = run.end()
                continue
            node = self._group() if character == "(" else self._atom(character)
            if node is not None:
                parts.append(self._quantifier(node, start))
        return tree.join(*parts)

    def _atom(self, character: str) -> Node:
        start = self._at
        if character == "\\":
            return self._escape()
        if character == "[":
            return tree.chars(self._class())
        if character in "*+?{":
            self._refuse(f"`{character}` has nothing to repeat", start)
        self._at += 1
        multiline, unix = "m" in self._flags, "d" in self._flags
        if character == ".":
            stops = tree.of("\n") if unix else tree.TERMINATORS
            return tree.chars(tree.ANYTHING if "s" in self._flags else tree.negate(stops))
        if character == "^":
            return self._line(start, starts=True, multiline=True) if multiline else tree.BEGIN
        if character == "$":
            if multiline and unix:
                return tree.UNIX_LINE_END
            return self._line(start, starts=False, multiline=multiline)
        return tree.chars(self._span(ord(character)))

    def _line(self, at: int, *, starts: bool, multiline: bool) -> Node:
        return tree.LineAnchor(starts, multiline, unix="d" in self._flags, position=self._where[at])

    def _span(self, low: int, high: int | None = None) -> CharSet:
        high = low if high is None else high
        return tree.fold(low, high) if "i" in self._flags else ((low, high),)

    def _quantifier(self, node: Node, start: int) -> Node:
        """`node`, which began at `start`, with the quantifier that follows it, if any."""
        sign, at = self._peek(), self._at
        if sign in _SIGNS:
            low, high = _SIGNS[sign]
            self._at += 1
        elif sign == "{":
            low, high = self._counts()
        else:
            return node
        if self._peek() == "+":
            self._refuse("a possessive quantifier is not supported", self._at)
        is_lazy = self._peek() == "?"
        self._at += is_lazy
        self.has_lazy |= is_lazy
        if self._wanted is not None and high != 1 and tree.empties(node) is not tree.NEVER:
            self._refuse("what may match nothing cannot be repeated here", at)
        if self._line_break >= start:
            self._refuse(r"a repeated `\R` is not supported; write [\r\n] or the like", self._line_break)
        if (low > 1 or (high or 0) > 1) and _repetitions(node) * max(low, high or 0) > _MAX_COUNT:
            self._refuse(f"repetitions, multiplied if nested, go beyond {_MAX_COUNT}", at)
        if low > 1 and _depends_on_place(tree.empties(node), node):
            # In Java an iteration that matches nothing is the last one and counts for all that are missing:
            # `(^|a){2}b` is not found in `ab`.
            self._refuse("what may match nothing at an anchor cannot be repeated by count", at)
        node = tree.repeat(node, low, high)
        if node.cost > self._max_program:
            message = f"this needs about {node.cost} instructions, and {self._max_program} are allowed"
            self._refuse(message, at)
        return tree.lazy(node) if is_lazy and self._wanted is not None else node

    def _counts(self) -> tuple[int, int | None]:
        found = _COUNTS.match(self._chars, self._at)
        if not found:
            self._refuse("expected {n}, {n,} or {n,m}; a brace is written `\\{`", self._at)
        # Six digits exceed the limit, and an unbounded number of digits would exceed what `int` reads.
        low, high = (int((digits or "").lstrip("0")[:6] or "0") for digits in found.group(1, 3))
        if found[3] and high < low:
            self._refuse("the second count is smaller than the first", self._at)
        self._at = found.end()
        return low, high if found[3] else None if found[2] else low

    def _deeper(self, start: int) -> None:
        self._depth += 1
        if self._depth > self._max_depth:
            self._refuse(f"nesting goes beyond {self._max_depth}", start)

    def _group(self) -> Node | None:
        """A group, or `None` for flags, which cannot be repeated."""
        start, flags, number = self._at, self._flags, None
        self._deeper(start)
        self._at += 1
        if self._here() != "?" or self._here(2) == "?<":
            self.groups += 1
            number = self.groups
        if self._here() in _IGNORED and self._peek() == "?":
            self._refuse("`(` and `?` are one sign and must stand together", self._at)
        if self._here() == "?":
            for sign, message in _REFUSED_GROUPS.items():
                if self._here(len(sign)) == sign:
                    self._refuse(message, start)
            self._at += 1
            if self._here() == "<":
                self._name()
            elif self._here() == ":":
                self._at += 1
            elif self._change_flags(start) == ")":
                self._depth -= 1
                return None
        node = self._alternatives()
        if self._peek() != ")":
            self._refuse("this `(` is not closed", start)
        self._at += 1
        self._flags = flags
        self._depth -= 1
        return node if self._wanted is None else tree.capture(node, wanted=number in self._wanted)

    def _name(self) -> None:
        found = _GROUP_NAME.match(self._chars, self._at)
        if not found:
            self._refuse("expected a group's name, of ASCII letters and digits, and `>`", self._at)
        if found[1] in self.names:
            self._refuse(f"two groups have the name `{found[1]}`", self._at)
        self.names[found[1]] = self.groups
        self._at = found.end()

    def _change_flags(self, start: int) -> str:
        """Set flags until the enclosing group ends; returns the `)` or `:` after them."""
        found = _FLAGS.match(self._chars, self._at)
        if not found:
            self._refuse("this is no group that Java knows", start)
        for place in range(self._at, found.end() - 1):
            flag = self._chars[place]
            if flag not in "dimsx-":
                self._refuse(_REFUSED_FLAGS.get(flag, f"`{flag}` is no flag that is supported"), place)
        self._flags = (self._flags | set(found[1])) - set(found[2] or "")
        self._at = found.end()
        return self._chars[self._at - 1]

    def _escape(self) -> Node:
        start, pair = self._at, self._here(2)
        self._at += 2
        match pair:
            case r"\A":
                return tree.BEGIN
            case r"\z":
                return tree.END
            case r"\Z":
                return self._line(start, starts=False, multiline=False)
            case r"\b":
                return tree.WORD_BOUNDARY
            case r"\B":
                return tree.NO_WORD_BOUNDARY
            case r"\R":
                self._line_break = start
                return tree.LINE_BREAK
        self._at = start
        found = self._escape_value()
        return tree.chars(self._span(found) if isinstance(found, int) else found)

    def _escape_value(self) -> int | CharSet:
        """An escape for a character or a set of characters, inside or outside a class."""
        start, letter = self._at, self._chars[self._at + 1 : self._at + 2]
        self._at += 2
        if letter in tree.PREDEFINED:
            return tree.PREDEFINED[letter]
        if letter in _CONTROLS:
            return _CONTROLS[letter]
        if letter in _DIGITS:
            return self._code_point(letter, start)
        if letter and letter in "pP":
            return self._property(start)
        if letter == "0":
            found = _OCTAL.match(self._chars, self._at)
            if not found:
                self._refuse(r"expected octal digits after `\0`", start)
            self._at = found.end()
            if "x" in self._flags and self._here() and self._here() in _IGNORED:
                self._refuse("with (?x), Java reads digits of this escape past white space", start)
            return int(found[0], 8)
        if letter == "c":
            code = self._here()
            if not code.isascii() or not code.isprintable() or code in ("", " ", "#", "\\"):
                self._refuse(r"expected a letter after `\c`", start)
            self._at += 1
            return ord(code) ^ 64
        if letter in _REFUSED_ESCAPES:
            self._refuse(_REFUSED_ESCAPES[letter], start)
        if not letter or (letter.isascii() and letter.isalnum()):
            self._refuse(f"`\\{letter}` is no escape here", start)
        return ord(letter)

    def _code_point(self, letter: str, start: int) -> int:
        r"""The rest of `\xhh`, `\x{h...h}` or `\uhhhh`; two of the last may form a surrogate pair."""
        found = _DIGITS[letter].match(self._chars, self._at)
        if not found:
            self._refuse(f"expected hexadecimal digits after `\\{letter}`", start)
        self._at = found.end()
        code = int(found[found.lastindex or 0], 16)
        low = _LOW_SURROGATE.match(self._chars, self._at)
        if letter == "u" and 0xD800 <= code <= 0xDBFF and low:
            self._at = low.end()
            return 0x10000 + ((code - 0xD800) << 10) + int(low[1], 16) - 0xDC00
        if 0xD800 <= code <= 0xDFFF or code > tree.ANYTHING[0][1]:
            self._refuse(f"{code:X} is not the code of a character", start)
        return code

    def _property(self, start: int) -> CharSet:
        negated = self._chars[self._at - 1] == "P"
        found = _PROPERTY.match(self._chars, self._at)
        name = found[1] if found else None
        known = tree.POSIX.get(name or "") or (None if found is None else category(name or found[0]))
        if found is None or known is None:
            message = f"only the ASCII classes {', '.join(tree.POSIX)} and categories such as Lu are supported"
            self._refuse(message, start)
        if "i" in self._flags and (name in ("Lower", "Upper") or known in map(category, ("Lu", "Ll", "Lt"))):
            self._refuse(f"what {name} means with (?i) depends on the version of Java", start)
        self._at = found.end()
        return tree.negate(known) if negated else known

    def _class(self) -> CharSet:
        start = self._at
        self._deeper(start)
        self._at += 1
        negated = self._here() == "^"
        self._at += negated
        members: list[tuple[int, int]] = []
        first = True
        while (character := self._in_class()) != "]" or first:
            if not character:
                self._refuse("this `[` is not closed", start)
            if self._here(2) == "&&":
                self._refuse("an intersection `&&` is not supported", self._at)
            members += self._class() if character == "[" else self._member()
            first = False
        self._at += 1
        self._depth -= 1
        ranges = tree.union(members)
        return tree.negate(ranges) if negated else ranges

    def _in_class(self) -> str:
        """The next character inside a class, where Java treats `(?x)` inconsistently."""
        if "x" in self._flags and self._here() and self._here() in _IGNORED:
            self._refuse("with (?x), white space and `#` in a class must be escaped", self._at)
        return self._here()

    def _member(self) -> CharSet:
        """A character, a range or an escape."""
        start = self._at
        low = self._class_bound(single=self._here(3) == r"\v-")
        if not isinstance(low, int):
            return low
        if self._here() != "-" or self._here(2) in ("-]", "-["):
            return self._span(low)
        self._at += 1
        high = self._class_bound(single=True)
        if not isinstance(high, int) or high < low:
            self._refuse("this range has no characters", start)
        return self._span(low, high)

    def _class_bound(self, *, single: bool) -> int | CharSet:
        r"""The first or last character of a range, or an escape; Java reads `\v` beside a `-` as one character."""
        character = self._in_class()
        if character == "\\" and not (single and self._here(2) == r"\v"):
            return self._escape_value()
        if not character:
            self._refuse("this class is not closed", self._at)
        self._at += 1 + (character == "\\")
        return 0x0B if character == "\\" else ord(character)


def _depends_on_place(nothing: Node, node: Node) -> bool:
    """Whether `node` matches the empty text at some places only; `nothing` is `empties(node)`."""
    return nothing is not tree.EMPTY and nothing is not tree.NEVER and nothing is not node


def _repetitions(node: Node) -> int:
    """The largest product of counts of nested repetitions in the tree."""
    match node:
        case tree.Join(parts=nodes) | tree.Either(branches=nodes):
            return max(map(_repetitions, nodes), default=1)
        case tree.Repeat(body=body, low=low, high=high):
            return _repetitions(body) * max(low, high or 0, 1)
        case _:
            return 1
