"""The campaign `service` at its smallest, and that its accounting notices mistakes.

`make campaign NAME=service` kills three hundred times, on each back end.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.campaigns import service
from tests.campaigns.outcome import Outcome


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes under /proc")
def test_a_killed_service_loses_nothing_that_it_answered_and_records_nothing_twice(
    spark_environment: None, tmp_path: Path
) -> None:
    outcome = Outcome("service", seed=0)
    service.run(outcome, tmp_path, kills=4, rate=200)
    figures = outcome.figures
    assert figures["kills by kind"].keys() == {*service.KINDS[:4]}
    assert figures["events accepted"] > 1_000 and figures["pairs compared"] > 1_000
    assert figures["composite matches compared"] > 50
    assert figures["cancelled"] and figures["versions"] > 2
