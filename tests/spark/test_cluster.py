"""On a real cluster, whose workers share nothing with the driver but the snapshot and the folder of the sink."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tamis.matchers import Matchers
from tamis.sinks.reading import read_commits, read_dead_letters, read_notifications
from tests.spark.cluster import Cluster, cluster, run_driver

pytestmark = [pytest.mark.spark, pytest.mark.slow]

_MATCHES = {price: max(0, 20 - price) for price in range(50)}
"""How many of the conditions `price < 1` to `price < 20` a price satisfies."""


@pytest.fixture(scope="module")
def running(spark_environment: None) -> Iterator[Cluster]:
    with cluster() as found:
        yield found


def told(driver: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    assert driver.stdout is not None
    for line in driver.stdout:
        if line.startswith("{"):
            yield json.loads(line)


def _is_batch(line: dict[str, Any], counted: list[Any]) -> bool:
    """Is this a batch? What workers count is noted, and no batch."""
    if "workers" in line:
        counted.append(line["workers"])
    return "batch" in line


def test_batch_and_stream_survive_the_loss_of_a_worker(running: Cluster, tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    if running.other_user:
        script = f"import pathlib; list(pathlib.Path({str(tmp_path)!r}).iterdir())"
        denied = subprocess.run(
            [str(running.python), "-c", script],
            user="nobody",
            capture_output=True,
            text=True,
            cwd="/",
            check=False,
        )
        assert "PermissionError" in denied.stderr, "workers must not be able to read the driver's folders"
    driver = run_driver(
        Path(__file__).with_name("cluster_driver.py"),
        [running.master, str(running.shared), str(tmp_path)],
        {"PYSPARK_PYTHON": str(running.python)},
    )
    try:
        lines = told(driver)
        batch = next(lines)
        assert batch == {"pairs": 40 * sum(_MATCHES.values()), "refused": ["bad"]}
        counted = [next(lines)["workers"]]
        for count, line in enumerate((each for each in lines if _is_batch(each, counted)), 1):
            assert line["events"] == 400
            if count == 3:
                running.kill_worker()
            if count == 8:
                break
        driver.terminate()
        driver.wait(120)
    finally:
        driver.kill()
        driver.communicate()

    # Whoever runs the workers had no kernel compiled, and the driver had them all.
    assert len(counted) == 2
    for workers in counted:
        assert len({each["process"] for each in workers}) == 2
        assert {(each["compiled"], each["loaded"] > 0) for each in workers} == {(0, True)}

    commits = read_commits(running.shared / "out")
    batches = sorted(commit.batch for commit in commits)
    assert batches == list(range(len(batches)))
    assert len(batches) >= 8
    found = read_notifications(running.shared / "out")
    events = 400 * len(batches)
    expected = {
        (str(event), f"s{number}") for event in range(events) for number in range(1, 21) if event % 50 < number
    }
    pairs = Counter(zip(found["event_id"].to_pylist(), found["subscription_id"].to_pylist(), strict=True))
    assert set(pairs) == expected
    assert set(pairs.values()) == {1}
    assert read_dead_letters(running.shared / "out").num_rows == 0
    assert len(Matchers.open(running.shared / "stream")) == 20
