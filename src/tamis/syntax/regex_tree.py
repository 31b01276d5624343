r"""The syntax tree of a regular expression over explicit character sets, and its text for RE2.

`\s`, `\w`, `.`, `$` and case folding differ between Java, RE2 and Python, so each is expanded to a set or a tree
with Java's meaning, and the written pattern means the same under all options of RE2. Invariant: no function here
changes the set of texts in which a tree is found.

A character set is a sorted tuple of disjoint ranges of code points. Trees are made by the constructors `chars`,
`join`, `either` and `repeat`, which simplify them and add up their costs. Functions over trees recurse in plain
loops, because `map` and comprehensions would take twice the interpreter's stack.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NoReturn, TypeAlias

from tamis.errors import PatternError

CharSet: TypeAlias = tuple[tuple[int, int], ...]

_LAST = 0x10FFFF
ANYTHING: CharSet = ((0, _LAST),)


def union(ranges: Iterable[tuple[int, int]]) -> CharSet:
    """The set of the characters of `ranges`, which may touch and overlap."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def negate(ranges: CharSet) -> CharSet:
    """The complement of `ranges`."""
    edges = [(-1, -1), *ranges, (_LAST + 1, _LAST + 1)]
    return tuple((before + 1, after - 1) for (_, before), (after, _) in pairwise(edges) if before + 1 < after)


def minus(ranges: CharSet, other: CharSet) -> CharSet:
    """The characters of `ranges` that are not in `other`."""
    return negate(union((*negate(ranges), *other)))


def of(characters: str) -> CharSet:
    """The set of the given characters."""
    return union((ord(character), ord(character)) for character in characters)


def fold(low: int, high: int) -> CharSet:
    """The range with both cases of its ASCII letters, as `(?i)` without `(?u)` means in Java."""
    found = [(low, high)]
    for first, last, shift in ((0x41, 0x5A, 32), (0x61, 0x7A, -32)):
        start, end = max(low, first), min(high, last)
        if start <= end:
            found.append((start + shift, end + shift))
    return union(found)


TERMINATORS = of("\n\r\x85\u2028\u2029")
_DIGIT: CharSet = ((0x30, 0x39),)
_LOWER: CharSet = ((0x61, 0x7A),)
_UPPER: CharSet = ((0x41, 0x5A),)
_ALPHA = union(_LOWER + _UPPER)
_ALNUM = union(_ALPHA + _DIGIT)
_SPACE = of("\t\n\x0b\f\r ")
_HORIZONTAL = union((*of("\t \xa0\u1680\u180e\u202f\u205f\u3000"), (0x2000, 0x200A)))
_VERTICAL = of("\n\x0b\f\r\x85\u2028\u2029")

# Java's predefined classes, by the letter of their escape; the capital is the negation.
PREDEFINED = {"d": _DIGIT, "h": _HORIZONTAL, "s": _SPACE, "v": _VERTICAL, "w": union((*_ALNUM, *of("_")))}
PREDEFINED |= {letter.upper(): negate(ranges) for letter, ranges in PREDEFINED.items()}

# The names of `\p{...}` that are ASCII-only in Java. All others depend on the version of Unicode.
POSIX: dict[str, CharSet] = {
    "ASCII": ((0, 0x7F),),
    "Alnum": _ALNUM,
    "Alpha": _ALPHA,
    "Blank": of("\t "),
    "Cntrl": ((0, 0x1F), (0x7F, 0x7F)),
    "Digit": _DIGIT,
    "Graph": ((0x21, 0x7E),),
    "Lower": _LOWER,
    "Print": ((0x20, 0x7E),),
    "Punct": minus(((0x21, 0x7E),), _ALNUM),
    "Space": _SPACE,
    "Upper": _UPPER,
    "XDigit": ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)),
}


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set."""

    ranges: CharSet
    cost: int


@dataclass(frozen=True, slots=True)
class Join:
    """A concatenation; without parts, it matches the empty text."""

    parts: tuple[Node, ...]
    cost: int


@dataclass(frozen=True, slots=True)
class Either:
    """An alternation; without branches, it never matches."""

    branches: tuple[Node, ...]
    cost: int


@dataclass(frozen=True, slots=True)
class Repeat:
    """The body `low` to `high` times; `high` is None if there is no limit."""

    body: Node
    low: int
    high: int | None
    cost: int


@dataclass(frozen=True, slots=True)
class Edge:
    """An assertion in the syntax of RE2, which supports it."""

    text: str
    cost: int = 1


@dataclass(frozen=True, slots=True)
class LineAnchor:
    r"""An assertion that RE2 lacks: `$` and `\Z`, or `^` with `(?m)`; `without_line_*` remove it."""

    starts: bool
    multiline: bool
    unix: bool
    position: int
    cost: int = 1


Node: TypeAlias = Chars | Join | Either | Repeat | Edge | LineAnchor

# The constructors return these very objects, so that `is` recognises them.
EMPTY = Join((), 1)
NEVER = Either((), 1)
BEGIN = Edge(r"\A")
WORD_BOUNDARY, NO_WORD_BOUNDARY = Edge(r"\b"), Edge(r"\B")
END = Edge(r"\z")
UNIX_LINE_END = Edge("(?m:$)")  # the only line anchor that RE2 supports


@lru_cache(maxsize=4096)
def chars(ranges: CharSet) -> Node:
    """One character of `ranges`.

    The cost estimates the instructions of RE2, and is seldom too low: UTF-8 splits ranges by encoded length.
    """
    cost = 0
    for low, high in ranges:
        if low == high:
            cost += len(chr(low).encode("utf-8", "surrogatepass"))
        else:
            lengths = ((0, 0x7F, 1), (0x80, 0x7FF, 4), (0x800, 0xFFFF, 8), (0x10000, _LAST, 12))
            cost += sum(each for first, last, each in lengths if low <= last and high >= first)
    # Many ranges share their last bytes.
    return Chars(ranges, min(cost, 100 + 2 * len(ranges))) if ranges else NEVER


def join(*parts: Node) -> Node:
    flat: list[Node] = []
    for part in parts:
        if part is NEVER:  # no part of a Join is
            return NEVER
        if isinstance(part, Join):
            flat += part.parts
        else:
            flat.append(part)
    if len(flat) == 1:
        return flat[0]
    return Join(tuple(flat), sum(part.cost for part in flat)) if flat else EMPTY


def either(*branches: Node) -> Node:
    flat: list[Node] = []
    for branch in branches:
        flat.extend(branch.branches if isinstance(branch, Either) else [branch])
    if len(flat) == 1:
        return flat[0]
    return Either(tuple(flat), sum(branch.cost + 1 for branch in flat)) if flat else NEVER


def repeat(body: Node, low: int, high: int | None) -> Node:
    if high == 0 or body is EMPTY or body is NEVER or isinstance(body, Edge | LineAnchor):
        # Repeating what consumes nothing changes nothing.
        return EMPTY if low == 0 or body is EMPTY else body
    if low == high == 1:
        return body
    return Repeat(body, low, high, 1 + body.cost * max(high or low, 1))


def capture(body: Node, *, wanted: bool) -> Node:
    """A group, for RE2 to capture if it is `wanted`; only where the bounds of a match count."""
    return join(Edge("(" if wanted else "(?:"), body, Edge(")"))


def lazy(repeated: Node) -> Node:
    """A repetition that is as short as possible; only where the bounds of a match count."""
    return join(repeated, Edge("?")) if isinstance(repeated, Repeat) else repeated


_ANY = chars(ANYTHING)
_LF = chars(of("\n"))
_CR = chars(of("\r"))
_NOT_LF = chars(negate(of("\n")))
_TERMINATOR = chars(TERMINATORS)
_TERMINATOR_NOT_LF = chars(minus(TERMINATORS, of("\n")))
_TERMINATOR_NOT_CR = chars(minus(TERMINATORS, of("\r")))
LINE_BREAK = either(join(_CR, _LF), chars(_VERTICAL))


# Line anchors. The bounds of a match do not matter, so a match may be extended over the line terminator that an
# anchor at its edge tests. An anchor with something to match on both sides would need look-around, and is
# refused. Java sees neither a start nor an end of a line between `\r` and `\n`, so it matters whether a match may
# end or begin with one of the two.


def without_line_ends(node: Node) -> Node:
    r"""A tree without `$` and `\Z` that is found in the same texts.

    Raises:
        PatternError: An anchor is not at the end.
    """
    plain, found = _extract_anchors(node, starts=False)
    return either(plain, *(_close(before, line) for before, line in found))


def without_line_starts(node: Node) -> Node:
    """A tree without the `^` of `(?m)` that is found in the same texts.

    Raises:
        PatternError: An anchor is not at the start.
    """
    plain, found = _extract_anchors(node, starts=True)
    return either(plain, *(_open(after, line) for after, line in found))


def without_last_line_end(node: Node, *, is_greedy: bool) -> tuple[Node, Node]:
    r"""A tree without the `$` or `\Z` at its end, and what must follow a match; the bounds of matches are kept.

    Raises:
        PatternError: There is another line anchor, or a match may end between `\r` and `\n`.
    """
    parts = node.parts if isinstance(node, Join) else (node,)
    last = parts[-1] if parts else None
    if not isinstance(last, LineAnchor) or last.starts or last.multiline:
        body, line = node, None
    else:
        body, line = join(*parts[:-1]), last
    for starts in (False, True):
        found = _extract_anchors(body, starts=starts)[1]
        if found:
            _refuse(found[0][1])
    if line is None:
        return body, EMPTY
    if line.unix:
        return body, join(repeat(_LF, 0, 1), END)
    if _split_by_character(body, "\r", first=False, extends="\r\n" if is_greedy else "")[0] is not NEVER:
        message = "`$` after what may end with a carriage return is not supported here"
        raise PatternError(message, line.position)
    return body, join(repeat(either(join(_CR, _LF), _TERMINATOR), 0, 1), END)


def may_begin_line_end(node: Node, *, is_greedy: bool) -> bool:
    """May a match begin with a line terminator? Not that of a repetition that goes on to the end of the text."""
    extends = "\r\n" if is_greedy else ""
    pairs = (_split_by_character(node, each, first=True, extends=extends) for each in "\n\r\x85\u2028\u2029")
    return any(hit is not NEVER for hit, _ in pairs)


def _extract_anchors(node: Node, *, starts: bool) -> tuple[Node, list[tuple[Node, LineAnchor]]]:
    """The tree that matches without such an anchor; and each anchor with the tree on its inner side."""
    match node:
        case LineAnchor() if node.starts == starts:
            return NEVER, [(EMPTY, node)]
        case Either(branches=branches):
            plains, pairs = [], []
            for branch in branches:
                plain, found = _extract_anchors(branch, starts=starts)
                plains.append(plain)
                pairs += found
            return either(*plains), pairs
        case Repeat(body=body):
            plain, found = _extract_anchors(body, starts=starts)
            if found and node.high != 1:
                _refuse(found[0][1])
            return (repeat(plain, node.low, node.high), found) if found else (node, [])
        case Join(parts=parts) if parts:
            edge = 0 if starts else len(parts) - 1
            plain, outer = node, []
            for index, part in enumerate(parts):
                if isinstance(part, Chars):
                    continue
                rest, found = _extract_anchors(part, starts=starts)
                if found and index != edge:
                    _refuse(found[0][1])
                if found:
                    plain, outer = rest, found
            if not outer:
                return node, []
            before, after = ((), parts[1:]) if starts else (parts[:-1], ())
            return join(*before, plain, *after), [(join(*before, part, *after), line) for part, line in outer]
        case _:
            return node, []


def _refuse(line: LineAnchor) -> NoReturn:
    name, edge = ("`^` with (?m)", "first") if line.starts else (r"`$` or `\Z`", "last")
    message = f"{name} is supported only as the {edge} thing of the pattern or of an alternative"
    raise PatternError(message, line.position)


def _close(before: Node, line: LineAnchor) -> Node:
    """`before`, followed by an end of line."""
    if line.unix:
        return join(before, repeat(_LF, 0, 1), END)
    end, end_after_cr = (
        either(END, last) if line.multiline else join(repeat(either(join(_CR, _LF), last), 0, 1), END)
        for last in (_TERMINATOR, _TERMINATOR_NOT_LF)
    )
    parts = before.parts if isinstance(before, Join) else (before,)
    fixed = next((index for index in reversed(range(len(parts))) if empties(parts[index]) is NEVER), 0)
    rest = join(*parts[fixed:])
    hit, miss = _split_by_character(rest, "\r", first=False, extends="" if line.multiline else "\r\n")
    if hit is NEVER:
        return join(before, end)
    # An empty match is not between `\r` and `\n`, unless it has no condition; then it is also found at the end of
    # the text.
    return join(*parts[:fixed], either(join(either(miss, empties(rest)), end), join(hit, end_after_cr)))


def _open(after: Node, line: LineAnchor) -> Node:
    """A start of line, which Java does not see at the end of a text, followed by `after`."""
    nothing = empties(after)
    hit, miss = _split_by_character(after, "\n", first=True)
    if nothing is NEVER and (hit is NEVER or line.unix):
        return join(either(BEGIN, _LF if line.unix else _TERMINATOR), after)
    start = either(BEGIN, _LF if line.unix else _TERMINATOR_NOT_CR)
    opened = join(start, either(hit, miss, join(nothing, _ANY)))
    return opened if line.unix else either(opened, join(_CR, either(miss, join(nothing, _NOT_LF))))


def empties(node: Node) -> Node:
    """The restriction of `node` to empty matches: `NEVER`, `EMPTY`, or assertions."""
    match node:
        case Chars():
            return NEVER
        case Join(parts=parts):
            found = []
            for part in parts:
                found.append(empties(part))
            return join(*found)
        case Either(branches=branches):
            found = []
            for branch in branches:
                found.append(empties(branch))
            return EMPTY if any(each is EMPTY for each in found) else either(*found)
        case Repeat(body=body, low=low):
            return EMPTY if low == 0 else empties(body)
        case _:
            return node


def _split_by_character(node: Node, character: str, *, first: bool, extends: str = "") -> tuple[Node, Node]:
    """The restrictions of `node` to non-empty matches with and without `character` at the first or last place.

    Args:
        node: A tree in which no anchor is repeated.
        character: The character to look for.
        first: Whether to look at the first place or at the last one.
        extends: When an unbounded repetition takes all of these characters, its match that ends in
            `character` need not be separated, because it can be extended to the end of the text.
    """
    match node:
        case Chars(ranges=ranges):
            without = minus(ranges, of(character))
            return (NEVER, node) if without == ranges else (chars(of(character)), chars(without))
        case Either(branches=branches):
            hits, misses = [], []
            for branch in branches:
                hit, miss = _split_by_character(branch, character, first=first, extends=extends)
                hits.append(hit)
                misses.append(miss)
            return either(*hits), either(*misses)
        case Repeat(body=Chars(ranges=ranges), high=None) if extends and not minus(of(extends), ranges):
            return NEVER, repeat(node.body, max(node.low, 1), None)
        case Repeat(body=body, low=low, high=high):
            pair = _split_by_character(body, character, first=first, extends=extends)
            others = repeat(body, max(low - 1, 0), None if high is None else high - 1)
            hit, miss = (join(part, others) if first else join(others, part) for part in pair)
            return hit, miss
        case Join(parts=parts):
            hits, misses = [], []
            passed: Node = EMPTY  # the parts between the edge and the current one, restricted to empty matches
            for index in range(len(parts)) if first else reversed(range(len(parts))):
                inner = parts[index + 1 :] if first else parts[:index]
                pair = _split_by_character(parts[index], character, first=first, extends=extends)
                for part, found in zip(pair, (hits, misses), strict=True):
                    found.append(join(passed, part, *inner) if first else join(*inner, part, passed))
                empty = empties(parts[index])
                passed = join(passed, empty) if first else join(empty, passed)
                if passed is NEVER:
                    break
            return either(*hits), either(*misses)
        case _:
            return NEVER, NEVER


_CONTROLS = {"\t": r"\t", "\n": r"\n", "\r": r"\r"}
# RE2 simplifies [Kk] to (?i:k), and where it merges branches of an alternation it folds that over all of Unicode:
# `a|[Kk]` finds the Kelvin sign, `a|[Ss]` the long s. No other ASCII letter has such a third case.
_FOLDED = (of("Kk"), of("Ss"))
_SPECIAL = frozenset(r"\.+*?()|[]{}^$-")


def write(node: Node, binding: int = 0) -> str:
    """The tree in RE2's syntax, in ASCII.

    Args:
        node: A tree without `Line`s.
        binding: What may be written without a group: 0 an alternation, 1 a concatenation, 2 a repeatable atom.
    """
    match node:
        case Chars(ranges=ranges):
            text, own = _write_ranges(ranges), 2
        case Join(parts=parts):
            text, own = "", 1
            for part in parts:
                text += write(part, binding=1)
        case Either(branches=()):
            text, own = f"[^{_write_span(ANYTHING[0])}]", 2
        case Either(branches=branches):
            text, own = write(branches[0]), 0
            for branch in branches[1:]:
                text += "|" + write(branch)
        case Repeat(body=body, low=low, high=high):
            bounds = str(low) if low == high else f"{low},{'' if high is None else high}"
            sign = {"0,": "*", "1,": "+", "0,1": "?"}.get(bounds, f"{{{bounds}}}")
            text, own = write(body, binding=2) + sign, 1
        case Edge(text=text):
            own = 2
        case LineAnchor():
            raise AssertionError(node)
    return text if own >= binding else f"(?:{text})"


def _write_ranges(ranges: CharSet) -> str:
    if ranges == ANYTHING:
        return "(?s:.)"
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return _write_character(ranges[0][0])
    if ranges in _FOLDED:
        return f"(?:{'|'.join(_write_span(span) for span in ranges)})"
    inverse = negate(ranges)
    sign, shown = ("^", inverse) if len(inverse) < len(ranges) else ("", ranges)
    return f"[{sign}{''.join(map(_write_span, shown))}]"


def _write_span(span: tuple[int, int]) -> str:
    low, high = map(_write_character, span)
    if span[0] == span[1]:
        return low
    return f"{low}-{high}" if span[1] > span[0] + 1 else low + high


def _write_character(code: int) -> str:
    character = chr(code)
    if character in _CONTROLS:
        return _CONTROLS[character]
    if character.isascii() and character.isprintable() and character != " ":
        return f"\\{character}" if character in _SPECIAL else character
    return f"\\x{{{code:X}}}"
