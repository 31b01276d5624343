"""The campaign `streams` at its smallest: every kind of kill once; and that its accounting notices mistakes.

`make campaign NAME=streams` kills a thousand times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from deltalake import DeltaTable, write_deltalake

from tamis.store import Store
from tests.campaigns import streams
from tests.campaigns.one_table import settle_table
from tests.campaigns.outcome import Outcome
from tests.spark.accounting import Accountant, Recorded, settle
from tests.spark.dying_tasks import COPYING
from tests.spark.killing import POINTS


def _notices_mistakes(checkpoint: Path, recorded: Recorded, accountant: Accountant) -> None:
    """Would it be noticed if a notification were missing or there twice, or a batch of another version?"""
    of_first = [each for each in recorded.pairs if each[0][0].startswith("0-")]
    rest = [each for each in recorded.pairs if not each[0][0].startswith("0-")]
    with pytest.raises(AssertionError, match="lost"):
        settle(checkpoint, replace(recorded, pairs=rest + of_first[1:]), accountant)
    with pytest.raises(AssertionError, match="too many"):
        settle(checkpoint, replace(recorded, pairs=[*recorded.pairs, of_first[0]]), accountant)
    with pytest.raises(AssertionError, match="composite: lost"):
        one = Counter([next(iter(recorded.composites))])
        settle(checkpoint, replace(recorded, composites=recorded.composites - one), accountant)
    other = {**recorded.versions, 0: recorded.versions[max(recorded.versions)]}
    with pytest.raises(AssertionError, match="older version"):
        settle(checkpoint, replace(recorded, versions=other), accountant)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes under /proc")
def test_killed_streams_lose_nothing_and_repeat_nothing(spark_environment: None, tmp_path: Path) -> None:
    outcome = Outcome("streams", seed=0)
    streams.run(outcome, tmp_path, kills=20, batches=40, haste=4)
    figures = outcome.figures
    kinds = {*POINTS, *streams.OUTSIDE, streams.WORKER, streams.DAEMON}
    assert kinds == figures["kills by kind"].keys()
    assert figures["kills"] >= 20
    assert figures["batches"] > 20 and figures["pairs"] > 1_000 and figures["composite matches"] > 200
    with Store.open(tmp_path / "subscriptions.db") as store:
        for each in streams.books(tmp_path, store):
            _notices_mistakes(*each)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes under /proc")
def test_two_drivers_that_are_killed_lose_and_repeat_nothing_in_one_table(
    spark_environment: None, tmp_path: Path
) -> None:
    outcome = Outcome("streams", seed=0)
    kinds = ("between files and log", streams.TREE)
    streams.run_on_one_table(outcome, tmp_path, kills=0, kinds=kinds, haste=4)
    figures = outcome.figures
    assert {*kinds} <= figures["kills by kind"].keys()
    assert figures["batches"] > 6 and figures["pairs"] > 300
    with Store.open(tmp_path / "subscriptions.db") as store:
        url = str(tmp_path / "delta" / "notifications")
        first = DeltaTable(url).to_pyarrow_table().slice(0, 1)
        write_deltalake(url, first, mode="append")
        with pytest.raises(AssertionError, match="a file that no commit names"):
            settle_table(tmp_path, store)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes under /proc")
def test_a_killed_stream_loses_and_repeats_nothing_in_postgresql(
    spark_environment: None, new_schema: Callable[[], str], tmp_path: Path
) -> None:
    outcome = Outcome("streams", seed=0)
    kinds = (COPYING, "within the transaction")
    streams.run_on_postgresql(outcome, tmp_path, new_schema(), kills=0, kinds=kinds, haste=4)
    figures = outcome.figures
    assert {*kinds} <= figures["kills by kind"].keys()
    assert figures["batches"] > 3 and figures["pairs"] > 200
