"""From text to formula: tamis against pure-Python sqlglot on the same conditions, in one run.

In bulk there are two families: `shapes`, a few shapes with different constants, and `ranges`, ten random
attributes with ranges, written so that hardly two texts have the same shape. tamis compiles all of them, checked
against an event type, to a column of formulas; sqlglot parses a sample. Before any time is taken, the formulas of
a sample are compared with those of the one-by-one compiler. Conditions that come one at a time are those of
workloads of the laboratory.
"""

from __future__ import annotations

import importlib.util
import random
import statistics
from collections.abc import Callable
from functools import partial

import sqlglot

from benchmarks.report import Bar, Report, Size, interleaved, spread
from tamis.errors import ConditionError
from tamis.events import EventType
from tamis.lab.measuring.cases import SEED
from tamis.lab.measuring.timing import timed
from tamis.lab.workloads import generate
from tamis.language.bulk import compile_conditions
from tamis.language.condition import compile_condition

_CONDITIONS: dict[Size, int] = {"smallest": 2_000, "quick": 100_000, "full": 100_000}
_SAMPLE: dict[Size, int] = {"smallest": 100, "quick": 1_000, "full": 5_000}
_ROUNDS: dict[Size, int] = {"smallest": 1, "quick": 3, "full": 7}
_TIMES_FASTER = 20.0
_ALONE = ("equality", "ranges", "ads")
"""Workloads whose conditions are compiled one at a time."""
_TIMES_FASTER_ALONE = 5.0
_COMPILED_BUILDS = ("sqlglotc", "sqlglotrs")

EVENT_TYPE = EventType.from_dict(
    {
        "name": "auction",
        "attributes": {
            "title": "string",
            "category": "string",
            "condition": "string",
            "price": "decimal(10,2)",
            "bids": "int",
            "sold": "boolean",
            **{f"a{number}": "double" for number in range(100)},
        },
    }
)


def shapes(rng: random.Random) -> str:
    """One of a few shapes, with constants of its own."""
    price, bids, word = rng.randrange(1, 1000), rng.randrange(50), f"w{rng.randrange(2000)}"
    kind = rng.randrange(5)
    if kind == 0:
        return f"price < {price} AND category = '{word}' AND NOT sold"
    if kind == 1:
        cheap = f"price BETWEEN {price} AND {price + 50}"
        return f"category IN ('{word}', 'books', 'maps') AND ({cheap} OR bids > {bids})"
    if kind == 2:
        return f"title LIKE '%{word}%' AND price <= {price}.99"
    if kind == 3:
        return f"NOT (condition = 'used' AND price > {price}) AND bids >= {bids} AND title IS NOT NULL"
    return f"(price < {price} OR bids < {bids}) AND (category = '{word}' OR title LIKE '{word}%')"


def ranges(rng: random.Random) -> str:
    """Ten random attributes with ranges, each written in one of several ways and joined at random."""
    atoms = []
    for number in rng.sample(range(100), 10):
        low = rng.random()
        name, lower, upper = f"a{number}", f"{low:.4f}", f"{low + rng.uniform(0.1, 0.5):.4f}"
        atoms.append(
            rng.choice(
                (
                    f"{name} BETWEEN {lower} AND {upper}",
                    f"{name} >= {lower} AND {name} < {upper}",
                    f"({name} > {lower} AND {name} <= {upper})",
                    f"{lower} <= {name} AND {upper} >= {name}",
                    f"NOT ({name} < {lower} OR {name} > {upper})",
                )
            )
        )
    text = atoms[0]
    for atom in atoms[1:]:
        text = f"({text}) OR {atom}" if rng.random() < 0.1 else f"{text} AND {atom}"
    return text


def run(size: Size) -> Report:
    """Measure both families."""
    compiled = [name for name in _COMPILED_BUILDS if importlib.util.find_spec(name) is not None]
    if compiled:
        msg = f"{compiled} makes sqlglot another contestant than the one asked for; uninstall it"
        raise SystemExit(msg)
    figures: dict[str, float | int | str] = {"conditions": _CONDITIONS[size]}
    bars: dict[str, Bar] = {}
    for name, family in (("shapes", shapes), ("ranges", ranges)):
        bars[name] = _measure(name, family, size, figures)
    for name in _ALONE:
        title = f"{name}, one by one: times sqlglot"
        figures[title], bars[title] = _measure_alone(name, size, figures)
    return Report("parse", figures, bars)


def _measure(
    name: str, family: Callable[[random.Random], str], size: Size, figures: dict[str, float | int | str]
) -> Bar:
    rng = random.Random(2026)
    texts = [family(rng) for _ in range(_CONDITIONS[size])]
    sample = rng.sample(texts, _SAMPLE[size])
    _check(sample)
    seconds = interleaved(
        {
            "tamis": lambda: compile_conditions(texts, EVENT_TYPE),
            "objects": lambda: list(compile_conditions(sample, EVENT_TYPE)),
            "one by one": lambda: [compile_condition(text, EVENT_TYPE) for text in sample],
            "sqlglot": lambda: [sqlglot.parse_one(text, read="spark") for text in sample],
        },
        _ROUNDS[size],
    )
    micros = {
        contestant: [second / len(texts if contestant == "tamis" else sample) * 1e6 for second in times]
        for contestant, times in seconds.items()
    }
    for contestant, values in micros.items():
        figures[f"{name}: {contestant}, us a condition"] = spread(values)
    ours, theirs = statistics.median(micros["tamis"]), statistics.median(micros["sqlglot"])
    figures[f"{name}: tamis, conditions a second"] = round(1e6 / ours)
    figures[f"{name}: as objects, times sqlglot"] = round(theirs / statistics.median(micros["objects"]), 1)
    for key, value in figures.items():
        if key.startswith(name):
            print(f"{key:45} {value}")
    print(f"{name}: {theirs / ours:.0f} times as fast as sqlglot")
    return Bar(round(theirs / ours, 1), _TIMES_FASTER)


def _measure_alone(name: str, size: Size, figures: dict[str, float | int | str]) -> tuple[str, Bar]:
    """`compile_condition` of each condition of a workload, none of which was there before, against parsing it."""
    rounds = _ROUNDS[size]
    data = generate(name, subscriptions=(rounds + 1) * _SAMPLE[size], events=1, seed=SEED)
    texts = data.conditions.to_pylist()
    _check(texts[: _SAMPLE[size]], data.event_type)
    ratios: list[float] = []
    micros: dict[str, list[float]] = {"one by one": [], "sqlglot": []}
    for turn in range(1, rounds + 1):
        some = texts[turn * _SAMPLE[size] : (turn + 1) * _SAMPLE[size]]
        ours = timed(partial(_compile_all, some, data.event_type))
        theirs = timed(partial(_parse_all, some))
        micros["one by one"].append(ours / len(some) * 1e6)
        micros["sqlglot"].append(theirs / len(some) * 1e6)
        ratios.append(theirs / ours)
    for contestant, values in micros.items():
        figures[f"{name} of the laboratory: {contestant}, us a condition"] = spread(values)
    print(f"{name}, one by one: {spread(ratios)} times as fast as sqlglot parses")
    return spread(ratios), Bar(round(statistics.median(ratios), 2), _TIMES_FASTER_ALONE)


def _compile_all(texts: list[str], event_type: EventType) -> None:
    for text in texts:
        compile_condition(text, event_type)


def _parse_all(texts: list[str]) -> None:
    for text in texts:
        sqlglot.parse_one(text, read="spark")


def _check(texts: list[str], event_type: EventType = EVENT_TYPE) -> None:
    """The bulk compiler gives what the one-by-one compiler gives, or no time is taken."""
    for text, formula in zip(texts, compile_conditions(texts, event_type), strict=True):
        if isinstance(formula, ConditionError) or formula != compile_condition(text, event_type).formula:
            msg = f"the bulk compiler is wrong about {text!r}: {formula}"
            raise SystemExit(msg)
