"""Spark is the oracle: a condition keeps in tamis the rows that `df.filter` keeps in Spark, and no others.

`TAMIS_ORACLE_PAIRS=100000` runs a longer campaign, `TAMIS_ORACLE_SEED=7` starts it at another seed; a failure
prints the condition, shrunk, the row and the seed.
"""

from __future__ import annotations

import inspect
import os
import random
import re
from typing import TYPE_CHECKING

import pytest

from tamis.functions import FUNCTIONS
from tests.language import test_expressions_spark
from tests.oracle import campaign, mistakes, spark_side, tamis_side
from tests.oracle.coverage import Coverage, wanted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAIRS = int(os.environ.get("TAMIS_ORACLE_PAIRS", "5000"))
FIRST_SEED = int(os.environ.get("TAMIS_ORACLE_SEED", "0"))
PAIRS_A_ROUND = 200
REPORTED = 8
OF_DIALECTS = (
    *("cesql_", "field_", "js_", "arc_metres"),
    *("leaf_values", "inner_objects", "in_cidr", "text_of", "number_of", "boolean_of"),
    *("quotient", "size_of", "has_key", "same_value"),
    "lcase_key",
)
"""Functions that dialects and collations are made of; Spark has nothing like them."""
MISTAKES = max(300, PAIRS // 10)


def _seeds() -> range:
    return range(FIRST_SEED, FIRST_SEED + -(-PAIRS // PAIRS_A_ROUND))


def test_every_function_of_the_language_is_put_to_the_oracle() -> None:
    asked = {name.lower().replace(" ", "_") for name in wanted()}
    # The rest is in tables of expressions, on rows of their own.
    asked |= set(re.findall(r"(\w+)\(", inspect.getsource(test_expressions_spark)))
    asked |= set(test_expressions_spark.MATHEMATICS)
    # `field` is written with a dot; Spark has neither schemaless events, `read`, nor operators, `binds`.
    beyond = {name for name in FUNCTIONS if name.startswith(OF_DIALECTS)}
    assert set(FUNCTIONS) - asked - beyond == {"field", "read", "binds"}


@pytest.mark.spark
def test_reference_and_scan_answer_as_spark_does(spark: SparkSession) -> None:
    coverage, found = Coverage(), []
    for seed in _seeds():
        with spark_side.settings(spark, zone=campaign.zone_of(seed)):
            round_ = campaign.start(spark, seed, PAIRS_A_ROUND)
            differences = round_.compare(round_.conditions, coverage)
            found += [str(round_.shrink(difference)) for difference in differences[:REPORTED]]
        if len(found) >= REPORTED:
            break
    assert not found, f"{len(found)} disagreements\n\n" + "\n\n".join(found)
    assert coverage.gaps(PAIRS) == []


@pytest.mark.spark
def test_filter_keeps_the_rows_that_the_scan_engine_keeps(spark: SparkSession) -> None:
    seed = FIRST_SEED
    with spark_side.settings(spark, zone=campaign.zone_of(seed)):
        round_ = campaign.start(spark, seed, PAIRS_A_ROUND)
        chosen = random.Random(seed).sample(round_.conditions, 50)
        texts = [condition.text() for condition in chosen]
        got = tamis_side.kept(round_.event_type, round_.table, texts, campaign.ENGINE)
        for condition, rows in zip(chosen, got, strict=True):
            assert rows == spark_side.kept(round_.frame, condition.spark_text()), condition.text()


@pytest.mark.spark
def test_what_spark_refuses_is_refused_and_the_rest_only_for_documented_reasons(spark: SparkSession) -> None:
    random_ = random.Random(FIRST_SEED)
    both, wrong = 0, []
    with spark_side.settings(spark, zone=campaign.zone_of(FIRST_SEED)):
        round_ = campaign.start(spark, FIRST_SEED, 0)
        for _ in range(MISTAKES):
            text = mistakes.mistaken(random_).text()
            expected, got = spark_side.refusal(round_.frame, text), tamis_side.refusal(round_.event_type, text)
            both += expected is not None and got is not None
            if expected is not None and got is None:
                wrong.append(f"Spark refuses {text}: {expected.splitlines()[0]}")
            elif expected is None and got is not None and not mistakes.is_own_refusal(got):
                wrong.append(f"tamis refuses {text}: {got.problems[0].message}")
    assert not wrong, "\n".join(wrong[:REPORTED])
    assert both > MISTAKES // 4
