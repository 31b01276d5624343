"""`begen`: conjunctions over many attributes, of which an event has a few, with a given share of matches.

It has the parameters of BEGen, the generator with which T. Banerjee Mishra and S. Sahni measured "PUBSUB: An
Efficient Publish/Subscribe System": number of attributes, sizes of subscriptions and events, share of equalities,
share of subscriptions that an event satisfies, uniform or Zipf choice of attributes. What the paper leaves open is
chosen here: how many values an attribute has, how wide ranges are, and how an event can satisfy one subscription
of a hundred at all.

Drawn freely it cannot: 7 attributes of 400 are all among the 15 of an event less than once in 10**10 times. So
there are *topics*. A topic is a typical event: as many attributes as the largest subscription has, with a value
each. An event has one topic, all being equally likely: the attributes of the topic with just these values, and
further ones, drawn freely, with any values. Some subscriptions, the *aimed* ones, have a topic, too: their
attributes are among the topic's, and their predicates hold for its values. The other subscriptions draw attributes
and values freely. In all else both kinds are alike: a predicate is an equality with its value, or a range that
lies anywhere around it.

So an aimed subscription is satisfied by every event of its topic, which is one of `topics`. What is satisfied by
chance is counted in a sample: freely drawn subscriptions, and aimed ones with events of other topics. The share of
aimed subscriptions then solves one linear equation. It is exact where nothing matches by chance, which takes few
attributes or few predicates; there it is as exact as the sample. There are as many topics as let half of the
subscriptions be aimed, because more topics make events differ, and fewer aimed subscriptions leave the choice of
attributes to chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tamis.arrays import F64, I32, I64
from tamis.kernels import kernel
from tamis.lab.workloads.base import Family, WorkloadPlan, event_type_of, numbered_attributes
from tamis.lab.workloads.draws import BLOCK_CONDITIONS, BLOCK_EVENTS, Draws, zipf
from tamis.lab.workloads.parameters import WorkloadError, real, span, whole
from tamis.lab.workloads.text import NOTHING, Phrases, integers
from tamis.values.types import INT

ABSENT = -1
_MOST_TOPICS = 1_024
_MOST_AIMED = 0.5
"""Share of subscriptions that have a topic, at most, unless more are to match."""


@dataclass(frozen=True, slots=True)
class BegenParameters:
    """The parameters of `begen`; the defaults are those of the paper's experiment 4.2, uniform choice."""

    attributes: int = whole(400, "attributes that there are: x0, x1, ...", least=4, most=10_000)
    predicates: tuple[int, int] = span(
        (5, 9), "of a condition, each on another attribute", least=1, most=100, integral=True
    )
    pairs: tuple[int, int] = span((10, 20), "attributes that an event has", least=1, most=1_000, integral=True)
    equality: float = real(0.3, "share of predicates that are equalities; the others are ranges")
    matches: float = real(0.01, "share of subscriptions that an event satisfies on average")
    exponent: float = real(0.0, "of the Zipf distribution of attributes; 0: all are equally likely", most=2.0)
    values: int = whole(1_000, "of an attribute: 0, 1, ...", least=2)
    width: tuple[float, float] = span((0.04, 0.2), "of a range, as a share of the values")
    middle: float | None = real(
        None, "share of ranges that span the middle of the values; not given, it is left to chance"
    )

    def __post_init__(self) -> None:
        if 4 * self.pairs[1] > self.attributes:
            msg = (
                f"attributes: {self.pairs[1]} different ones at a time need at least {4 * self.pairs[1]},"
                f" not {self.attributes}"
            )
            raise ValueError(msg)
        if self.predicates[1] > self.pairs[0]:
            msg = (
                f"pairs: an event needs all attributes of a subscription, of which there are up to"
                f" {self.predicates[1]}, and has {self.pairs[0]} at least"
            )
            raise ValueError(msg)
        if self.middle is not None:
            least, most = (int(each) for each in self.sizes(np.array(self.width)))
            if least < 3 or most >= self.values - self.midpoint:
                msg = (
                    f"middle: where it is given, ranges have from 3 to {self.values - self.midpoint - 1} of"
                    f" {self.values} values, not {least} to {most}; change width"
                )
                raise ValueError(msg)

    @property
    def midpoint(self) -> int:
        """The middle of the values; a range spans it that has values on both sides of it."""
        return self.values // 2

    def sizes(self, widths: F64) -> I64:
        """How many values ranges of these widths have: two at least, because one would be an equality."""
        return np.clip(np.rint(widths * self.values), 2, self.values).astype(np.int64)


class Topics(NamedTuple):
    """Typical events: arrays [topics, most predicates]."""

    attributes: I64
    values: I64


class SubscriptionBlock(NamedTuple):
    """A block of subscriptions; the last three are [rows, most predicates]."""

    topics: I64  # of each; -1 has none
    counts: I64  # of predicates of each
    attributes: I64
    lows: I64
    highs: I64  # equal to the low in an equality, and in nothing else


def plan(parameters: BegenParameters, seed: int, _subscriptions: int) -> WorkloadPlan:
    """Conditions as `x31 BETWEEN 120 AND 231 AND x7 = 512 AND ...`."""
    topics, aimed, facts = solve_topics(parameters, seed)
    most = parameters.predicates[1]
    phrases = Phrases()
    # [operator, attribute], operator 0 being BETWEEN and 1 an equality.
    first, later = (
        np.array(
            [
                phrases.codes(f"{lead}x{number} {operator} " for number in range(parameters.attributes))
                for operator in ("BETWEEN", "=")
            ]
        )
        for lead in ("", " AND ")
    )
    joint = phrases.code(" AND ")

    def conditions(draws: Draws) -> I64:
        drawn = subscriptions_of(draws, parameters, topics, aimed)
        equal = (drawn.lows == drawn.highs).astype(np.int64)
        codes = np.empty((draws.rows, most, 4), np.int64)
        codes[:, :, 0] = later[equal, drawn.attributes]
        codes[:, 0, 0] = first[equal[:, 0], drawn.attributes[:, 0]]
        codes[:, :, 1] = integers(drawn.lows)
        codes[:, :, 2] = np.where(equal, NOTHING, joint)
        codes[:, :, 3] = np.where(equal, NOTHING, integers(drawn.highs))
        codes[np.arange(most) >= drawn.counts[:, None]] = NOTHING
        return codes.reshape(draws.rows, -1)

    def events(draws: Draws) -> dict[str, pa.Array]:
        columns = np.ascontiguousarray(events_of(draws, parameters, topics)[1].T)
        return {f"x{number}": pa.array(column, mask=column == ABSENT) for number, column in enumerate(columns)}

    attributes = numbered_attributes("x", parameters.attributes, INT, min=0, max=parameters.values - 1)
    return WorkloadPlan(event_type_of("begen", *attributes), phrases, conditions, events, facts)


def solve_topics(parameters: BegenParameters, seed: int) -> tuple[Topics, float, dict[str, float]]:
    """The topics, the share of aimed subscriptions that gives the requested matches, and both as facts.

    Raises:
        WorkloadError: More subscriptions than asked for are satisfied by chance.
    """
    requested = parameters.matches
    count = min(max(int(_MOST_AIMED / requested), 1), _MOST_TOPICS) if requested else 1
    topics = topics_of(parameters, seed, count)
    free, other = _by_chance(parameters, seed, topics)
    if requested < free:
        msg = (
            f"workload begen: matches: an event satisfies {free:.3g} of such subscriptions by chance, not"
            f" {requested:g}; narrower ranges, more attributes or more predicates make it less"
        )
        raise WorkloadError(msg)
    own = (1 + (count - 1) * other) / count
    aimed = min((requested - free) / (own - free), 1.0) if own > free else 0.0
    return topics, aimed, {"topics": count, "aimed": round(aimed, 6), "matches_by_chance": free}


def topics_of(parameters: BegenParameters, seed: int, count: int) -> Topics:
    """`count` topics; if all attributes are equally likely, no attribute is in two more topics than another."""
    size = parameters.predicates[1]
    if parameters.exponent == 0:
        a_deck = parameters.attributes // size
        decks = Draws(seed, "begen", "decks", 0, -(-count // a_deck))
        attributes = decks.subset(parameters.attributes, a_deck * size).reshape(-1, size)[:count]
    else:
        drawn = Draws(seed, "begen", "topics", 0, count)
        attributes = drawn.different(zipf(parameters.attributes, parameters.exponent), size)
    return Topics(attributes, _values(Draws(seed, "begen", "values of topics", 0, count), parameters, size))


def subscriptions_of(draws: Draws, parameters: BegenParameters, topics: Topics, aimed: float) -> SubscriptionBlock:
    """A block of subscriptions, of which `aimed` have a topic."""
    fewest, most = parameters.predicates
    counts = fewest + draws.below(most - fewest + 1)
    has_topic = draws.uniform() < aimed
    topic = np.where(has_topic, draws.below(len(topics.values)), -1)
    order = draws.subset(most, most)
    attributes = draws.different(zipf(parameters.attributes, parameters.exponent), most)
    values = _values(draws, parameters, most)
    attributes[has_topic] = topics.attributes[topic[has_topic, None], order[has_topic]]
    values[has_topic] = topics.values[topic[has_topic, None], order[has_topic]]
    lows, sizes = _ranges(draws, parameters, values)
    equal = draws.uniform(most) < parameters.equality
    return SubscriptionBlock(
        topic, counts, attributes, np.where(equal, values, lows), np.where(equal, values, lows + sizes - 1)
    )


def events_of(draws: Draws, parameters: BegenParameters, topics: Topics) -> tuple[I64, I32]:
    """The topics of a block of events, and their values [rows, attributes]."""
    fewest, most = parameters.pairs
    counts = fewest + draws.below(most - fewest + 1)
    topic = draws.below(len(topics.values))
    typical = topics.attributes[topic]
    size = typical.shape[1]
    further = draws.different(zipf(parameters.attributes, parameters.exponent), most - size, typical)
    values = draws.below(parameters.values, most - size)
    found = np.full((draws.rows, parameters.attributes), ABSENT, np.int32)
    found[np.arange(draws.rows)[:, None], typical] = topics.values[topic]
    rows, places = np.nonzero(np.arange(size, most) < counts[:, None])
    found[rows, further[rows, places]] = values[rows, places]
    return topic, found


def _values(draws: Draws, parameters: BegenParameters, columns: int) -> I64:
    """Values that predicates are made for.

    Where the share of ranges that span the middle is given, they lie on both sides of it, so close that a range of
    any width can hold one of them with or without spanning the middle.
    """
    if parameters.middle is None:
        return draws.below(parameters.values, columns)
    nearest = int(parameters.sizes(np.array(parameters.width[0])))
    sides = np.where(draws.uniform(columns) < 0.5, -1, 1)
    return parameters.midpoint + sides * (1 + draws.below(nearest - 2, columns))


def _ranges(draws: Draws, parameters: BegenParameters, values: I64) -> tuple[I64, I64]:
    """Lows and sizes of ranges that hold these values, all places being equally likely."""
    columns = values.shape[1]
    low_width, high_width = parameters.width
    sizes = parameters.sizes(low_width + (high_width - low_width) * draws.uniform(columns))
    first = np.maximum(values - sizes + 1, 0)
    last = np.minimum(values, parameters.values - sizes)
    if parameters.middle is not None:
        cut = parameters.midpoint
        spans, is_below = draws.uniform(columns) < parameters.middle, values < cut
        least = np.where(spans, cut - sizes + 2, np.where(is_below, 0, cut + 1))
        most = np.where(spans, cut - 1, np.where(is_below, cut - sizes, parameters.values))
        first, last = np.maximum(first, least), np.minimum(last, most)
    return first + draws.below(last - first + 1, columns), sizes


def _by_chance(parameters: BegenParameters, seed: int, topics: Topics) -> tuple[float, float]:
    """The shares of freely drawn subscriptions, and of those aimed at another topic, that an event satisfies."""
    sample = Draws(seed, "begen", "sample of conditions", 0, BLOCK_CONDITIONS)
    drawn = subscriptions_of(sample, parameters, topics, 0.5)
    topic, values = events_of(Draws(seed, "begen", "sample of events", 0, BLOCK_EVENTS), parameters, topics)
    aimed = drawn.topics[drawn.topics >= 0]
    of_own_topic = np.bincount(topic, minlength=len(topics.values))[aimed].sum()
    pairs = (len(drawn.topics) - len(aimed)) * len(topic), len(aimed) * len(topic) - of_own_topic
    free, other = count_by_chance(drawn, topic, values) / np.maximum(pairs, 1)
    return float(free), float(other)


@kernel
def count_by_chance(drawn: SubscriptionBlock, topics: I64, values: I32) -> I64:
    """Satisfied pairs of events with subscriptions without a topic, and with those of another topic.

    Args:
        drawn: The subscriptions.
        topics: Of the events.
        values: Of the events: [events, attributes].
    """
    counts = np.zeros(2, np.int64)
    for event in range(len(values)):
        for row in range(len(drawn.topics)):
            if drawn.topics[row] == topics[event]:
                continue
            holds = True
            for place in range(drawn.counts[row]):
                value = values[event, drawn.attributes[row, place]]
                # Lows are not negative, so that an absent value is below them.
                if value < drawn.lows[row, place] or value > drawn.highs[row, place]:
                    holds = False
                    break
            if holds:
                counts[0 if drawn.topics[row] < 0 else 1] += 1
    return counts


BEGEN = Family(
    "begen",
    "AND of equalities and ranges over many attributes, with a given share of matches",
    BegenParameters,
    plan,
)
