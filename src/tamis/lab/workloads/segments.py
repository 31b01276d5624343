"""The vocabulary of `ads`: attributes, predicates on them, and targeting segments built from those.

A segment is an OR or an AND of predicates on different attributes and smaller segments of the other kind, often
earlier ones used again. It has 2 to 12 predicates and is 2 to 6 deep, with AND and OR in turns.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from tamis.arrays import F64
from tamis.lab.workloads.draws import Dice, zipf

TEXTS = {
    "site": 20_000,
    "city": 2_000,
    "country": 60,
    "language": 30,
    "slot": 24,
    "browser": 12,
    "os": 8,
    "device": 5,
    "gender": 3,
}
"""Strings that every event has, and how many values each has: site0, site1, ..."""
WHOLE = {"age": (13, 90), "hour": (0, 23), "weekday": (1, 7)}
"""Whole numbers that every event has, least and most."""
CONTEXT = tuple(name for name in (*TEXTS, *WHOLE) if name not in ("site", "city"))
TAGS = 110
SCORES = 1_000
"""Values of a tag with an even number: 0, 1, ..."""
WORDS = 50
"""Values of a tag with an odd number: k0, k1, ..."""

PREDICATES = 12
DEPTH = 6
_POOL = 3_000
_NESTED = 0.25
_VALUES_EXPONENT = 0.5
_TAGS_EXPONENT = 0.8
_POOL_EXPONENT = 0.8

Joint: TypeAlias = Literal["AND", "OR"]
_OTHER: dict[Joint, Joint] = {"AND": "OR", "OR": "AND"}


def values(size: int) -> F64:
    """The cumulated popularity of the values of a string attribute."""
    return zipf(size, _VALUES_EXPONENT)


def tags() -> F64:
    """The cumulated popularity of tags."""
    return zipf(TAGS, _TAGS_EXPONENT)


@dataclass(frozen=True, slots=True)
class PredicateSource:
    """Draws predicates on context attributes and tags."""

    dice: Dice
    _values: dict[int, F64] = field(default_factory=dict)
    _tags: F64 = field(default_factory=tags)

    def value(self, name: str) -> str:
        """A literal of a string attribute."""
        size, prefix = (TEXTS[name], name) if name in TEXTS else (WORDS, "k")
        if size not in self._values:
            self._values[size] = values(size)
        return f"'{prefix}{self.dice.pick(self._values[size])}'"

    def literals(self, name: str, count: int) -> str:
        """`count` different literals of a string attribute, with commas."""
        found: dict[str, None] = {}
        while len(found) < count:
            found[self.value(name)] = None
        return ", ".join(found)

    def placement(self) -> str:
        """A predicate that few events satisfy."""
        dice = self.dice
        if dice.bernoulli(0.6):
            return f"site = {self.value('site')}"
        if dice.bernoulli(0.6):
            return f"site IN ({self.literals('site', dice.between(2, 5))})"
        return f"city = {self.value('city')}"

    def context(self, name: str) -> str:
        """A predicate on one of `CONTEXT`."""
        return self._text(name, TEXTS[name]) if name in TEXTS else self._whole(name, *WHOLE[name])

    def any(self) -> str:
        """A predicate on the context or, more often, on a tag."""
        if self.dice.bernoulli(0.3):
            return self.context(CONTEXT[self.dice.below(len(CONTEXT))])
        tag = self.dice.pick(self._tags)
        return self._text(f"t{tag}", WORDS) if tag % 2 else self._whole(f"t{tag}", 0, SCORES - 1)

    def _text(self, name: str, size: int) -> str:
        kind = self.dice.uniform()
        if kind < 0.5 or size < 6:
            return f"{name} = {self.value(name)}"
        if kind < 0.75:
            return f"{name} IN ({self.literals(name, self.dice.between(2, 5))})"
        if kind < 0.9:
            return f"{name} <> {self.value(name)}"
        return f"{name} NOT IN ({self.literals(name, self.dice.between(2, 3))})"

    def _whole(self, name: str, least: int, most: int) -> str:
        kind = self.dice.uniform()
        one, other = sorted((self.dice.between(least, most), self.dice.between(least, most)))
        if kind < 0.4:
            return f"{name} BETWEEN {one} AND {other}"
        if kind < 0.65:
            return f"{name} >= {one}"
        if kind < 0.9:
            return f"{name} < {other + 1}"
        return f"{name} = {one}"


class _TargetingSegment(NamedTuple):
    key: str  # the attribute of a predicate, the text of anything else
    text: str
    predicates: int
    depth: int


class SegmentBuilder:
    """Makes segments, using earlier ones again."""

    def __init__(self, dice: Dice) -> None:
        """Draw the predicates that all segments are made of."""
        self._dice = dice
        speaker = PredicateSource(dice)
        self._predicates = [speaker.any() for _ in range(_POOL)]
        self._popularity = zipf(_POOL, _POOL_EXPONENT)
        self._made: dict[Joint, list[_TargetingSegment]] = {"AND": [], "OR": []}

    def segment(self, joint: Joint) -> str:
        """A new segment, without parentheses around it."""
        return self._new(joint, PREDICATES, DEPTH).text

    def _new(self, joint: Joint, room: int, depth: int) -> _TargetingSegment:
        """A segment of at most `room` predicates that is at most `depth` deep."""
        parts: dict[str, _TargetingSegment] = {}
        left = room
        for waiting in range(self._dice.between(2, min(4, room)) - 1, -1, -1):
            part = self._part(joint, left - waiting, depth - 1)
            if part.key not in parts:
                parts[part.key] = part
                left -= part.predicates
        if len(parts) < 2:
            return self._new(joint, room, depth)
        text = f" {joint} ".join(part.text for part in parts.values())
        made = _TargetingSegment(text, text, room - left, 1 + max(part.depth for part in parts.values()))
        self._made[joint].append(made)
        return made

    def _part(self, joint: Joint, room: int, depth: int) -> _TargetingSegment:
        """A predicate, or a segment of the other kind in parentheses."""
        if room < 2 or depth < 2 or not self._dice.bernoulli(_NESTED):
            predicate = self._predicates[self._dice.pick(self._popularity)]
            return _TargetingSegment(predicate.partition(" ")[0], predicate, 1, 1)
        inner = self._again(_OTHER[joint], room, depth) or self._new(_OTHER[joint], room, depth)
        return inner._replace(text=f"({inner.text})")

    def _again(self, joint: Joint, room: int, depth: int) -> _TargetingSegment | None:
        """An earlier segment, if one drawn from all of them fits."""
        made = self._made[joint]
        if not made or not self._dice.bernoulli(0.5):
            return None
        found = made[self._dice.below(len(made))]
        return found if found.predicates <= room and found.depth <= depth else None
