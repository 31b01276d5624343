"""Spark and tamis side by side: one round is one table and many conditions, and a seed repeats it.

A disagreement is shrunk by replacing parts of the condition by parts of those parts, as long as it lasts.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa

from tamis.events import EventBatch, EventType
from tests.oracle import spark_side, tamis_side
from tests.oracle.coverage import Coverage
from tests.oracle.generate import Generator
from tests.oracle.grammar import Node
from tests.oracle.probes import probes
from tests.oracle.rows import ATTRIBUTES, random_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ZONES = ("UTC", "America/New_York", "Europe/Paris")
ROWS = 50
ENGINE = "scan"
SHARP = 0.3
"""Part of the conditions that are probes."""
_TRIES = 60


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Where the two differ: in the answer for a row, or (`row` is None) in whether there is an answer."""

    seed: int
    zone: str
    condition: Node
    row: int | None
    expected: object
    got: object
    table: pa.Table

    @property
    def nature(self) -> tuple[bool, str]:
        """What a smaller condition must have in common with this one."""
        return self.row is None, type(self.got).__name__

    def __str__(self) -> str:
        """All that is needed to repeat it."""
        got = f"{type(self.got).__name__}: {self.got}" if isinstance(self.got, Exception) else self.got
        lines = [
            f"condition: {self.condition.text()}",
            f"for Spark: {self.condition.spark_text()}",
            f"expected {self.expected}, got {got}",
            f"time zone {self.zone}, TAMIS_ORACLE_SEED={self.seed}",
        ]
        if self.row is not None:
            values = self.table.slice(self.row, 1).to_pylist()[0]
            text = self.condition.text().lower()
            used = {column.name: values[column.name] for column in ATTRIBUTES if column.name in text}
            lines.append(f"row {self.row}: {used}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Round:
    """One table in both worlds, and the conditions asked of it."""

    seed: int
    zone: str
    table: pa.Table
    frame: DataFrame
    event_type: EventType
    conditions: tuple[Node, ...]

    def compare(self, conditions: Sequence[Node], coverage: Coverage | None = None) -> list[Disagreement]:
        """Where Spark differs from the reference or from the engine, one disagreement a condition."""
        expected = spark_side.outcomes(self.frame, [condition.spark_text() for condition in conditions])
        batch = EventBatch.of(self.table, self.event_type)
        got = [tamis_side.outcomes(self.event_type, batch, condition.text()) for condition in conditions]
        accepted = [place for place, answer in enumerate(got) if not isinstance(answer, Exception)]
        texts = [conditions[place].text() for place in accepted]
        rows = dict(zip(accepted, tamis_side.kept(self.event_type, self.table, texts, ENGINE), strict=True))
        found = []
        for place, (condition, answer) in enumerate(zip(conditions, expected, strict=True)):
            if coverage is not None and not isinstance(answer, Exception):
                coverage.add(condition, answer)
            difference = _difference(answer, got[place]) or _engine_difference(answer, rows.get(place))
            if difference is not None:
                found.append(Disagreement(self.seed, self.zone, condition, *difference, self.table))
        return found

    def shrink(self, disagreement: Disagreement) -> Disagreement:
        """A smaller condition on which the two differ in the same way."""
        best = disagreement
        while True:
            smaller = list(islice(best.condition.smaller(), _TRIES))
            found = [other for other in self.compare(smaller) if other.nature == disagreement.nature]
            if not found:
                return best
            best = min(found, key=lambda other: other.condition.size())


def _difference(
    expected: list[bool | None] | Exception, got: list[bool | None] | Exception
) -> tuple[int | None, object, object] | None:
    """Row, Spark's answer and the reference's, where they differ first."""
    if isinstance(expected, Exception):
        return None, f"nothing, since Spark refuses or raises: {str(expected).strip()[:400]}", got
    if isinstance(got, Exception):
        return None, "an answer", got
    for row, (wanted, found) in enumerate(zip(expected, got, strict=True)):
        if wanted is not found:
            return row, wanted, found
    return None


def _engine_difference(
    expected: list[bool | None] | Exception, kept: list[int] | Exception | None
) -> tuple[int | None, object, object] | None:
    if isinstance(expected, Exception) or kept is None:
        return None
    if isinstance(kept, Exception):
        return None, "an answer", kept
    wrong = {row for row, outcome in enumerate(expected) if outcome is True} ^ set(kept)
    if not wrong:
        return None
    row = min(wrong)
    return row, expected[row], f"{ENGINE} {'keeps' if row in kept else 'does not keep'} it"


def start(spark: SparkSession, seed: int, conditions: int) -> Round:
    """The round of a seed; call it, and use it, under `spark_side.settings` for the zone of the seed."""
    random_ = random.Random(seed)
    generator = Generator(random_)
    table = random_table(random_, ROWS)
    frame = spark_side.data_frame(spark, table)
    sharp = probes(frame, generator, round(conditions * SHARP)) if conditions else []
    dull = [generator.condition() for _ in range(conditions - len(sharp))]
    event_type = EventType.from_arrow(table.schema, time_zone=zone_of(seed))
    return Round(seed, zone_of(seed), table, frame, event_type, (*sharp, *dull))


def zone_of(seed: int) -> str:
    """The session time zone of a round."""
    return ZONES[seed % len(ZONES)]
