"""`tamis run`: a dry run here, real runs in a process of their own, with a Spark of their own."""

from __future__ import annotations

import html
import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tamis.sinks import read_notifications
from tamis.spark.checkpoint_lock import hold_checkpoint
from tests.cli.conftest import EXAMPLES, Run, Write

PATIENCE_SECONDS = 240

PIPELINE = """\
[events]
format = "json"
path = "in"
[subscriptions]
store = "subs.db"
[sink]
type = "{sink}"
folder = "out"
[state]
checkpoint = "checkpoint"
[spark]
master = "local[1]"
conf = {{ "spark.ui.enabled" = "false" }}
"""


@pytest.fixture
def prepared(run: Run, write: Write, tmp_path: Path) -> str:
    """A pipeline, its store, and five events of which two are cheap."""
    (tmp_path / "in").mkdir()
    write("in/1.jsonl", [{"id": f"e{price}", "price": price} for price in range(5)])
    write("subs.jsonl", [{"id": "cheap", "condition": "price < 2"}])
    assert run("subs", "import", "subs.jsonl", "--store", "subs.db").code == 0
    return write("pipeline.toml", PIPELINE.format(sink="jsonl"))


def test_a_dry_run_tells_the_plan(run: Run, prepared: str, tmp_path: Path) -> None:
    outcome = run("run", prepared, "--dry-run")
    assert outcome.code == 0
    assert outcome.out.splitlines() == [
        f"events         JSON lines in {tmp_path}/in",
        "event types    event",
        "misfits        matched, with NULL for what does not fit, and counted",
        f"subscriptions  1 in the store {tmp_path}/subs.db, store version 1",
        f"sink           JSON lines in {tmp_path}/out, exactly once",
        "quota          none",
        f"checkpoint     {tmp_path}/checkpoint",
        "query          new, from batch 0 on",
        "Spark          local[1]",
        "sample         5 events, 2 matched, 2 matches",
    ]
    assert outcome.err == "tamis: the pipeline is ready; nothing was written\n"


def test_a_dry_run_as_json(run: Run, prepared: str) -> None:
    (found,) = run("run", prepared, "--dry-run", "--json").json
    assert (found["subscriptions"], found["sample"]["matches"], found["problems"]) == (1, 2, [])
    assert found["resumed"] == {"query": None, "batch": 0, "again": False}


def test_a_dry_run_whose_sample_is_dead_has_exit_code_1_and_says_why(
    run: Run, prepared: str, write: Write
) -> None:
    write("in/2.jsonl", [{"price": price} for price in range(995)])
    outcome = run("run", prepared, "--dry-run")
    assert outcome.code == 1
    assert "sample         1,000 events, 2 matched, 2 matches" in outcome.out
    assert "               995 dead letters, missing id: expected an id in id" in outcome.out
    assert outcome.err == (
        "tamis: warning: 995 of 1,000 events in the sample would be dead letters (995 missing id)\n"
        "tamis: the pipeline would run, but not as intended; nothing was written\n"
    )
    (found,) = run("run", prepared, "--dry-run", "--json").json
    assert found["doubts"][0]["kind"] == "dead letters"


def test_a_dry_run_with_an_attribute_that_no_event_has_has_exit_code_1(
    run: Run, prepared: str, write: Write
) -> None:
    file = write(
        "pipeline.toml", PIPELINE.format(sink="jsonl").replace('path = "in"', 'path = "in"\ntime = "when"')
    )
    outcome = run("run", file, "--dry-run")
    assert outcome.code == 1
    assert outcome.err.startswith("tamis: warning: events.time: no event in the sample has a time in 'when'\n")


def test_a_ready_pipeline_mentions_the_few_dead_letters(run: Run, prepared: str, write: Write) -> None:
    write("in/2.jsonl", [{"price": 1}])
    outcome = run("run", prepared, "--dry-run")
    assert outcome.code == 0
    assert outcome.err == (
        "tamis: the pipeline is ready, but 1 of 6 events in the sample would be a dead letter; "
        "nothing was written\n"
    )


def test_a_dry_run_that_finds_problems_has_exit_code_2(run: Run, prepared: str, tmp_path: Path) -> None:
    (tmp_path / "subs.db").unlink()
    outcome = run("run", prepared, "--dry-run")
    assert outcome.code == 2
    said = "there is no store here; `tamis subs type` makes one"
    assert outcome.err == f"tamis: error: subscriptions: {tmp_path}/subs.db: {said}\n"


def test_a_wrong_file_is_refused_with_all_problems(run: Run, write: Write) -> None:
    outcome = run("run", write("pipeline.toml", PIPELINE.format(sink="jsnl").replace("path", "pat")))
    assert outcome.code == 2
    assert outcome.err.startswith("tamis: error: pipeline.toml: 3 problems\n")
    assert "line 3: events.pat: is unknown; did you mean 'path'?" in outcome.err


def started(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """The command in a process of its own."""
    command = [sys.executable, "-m", "tamis", "run", "pipeline.toml", *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True, env=os.environ.copy())


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.usefixtures("spark_environment")
def test_the_example_runs_to_its_end(run: Run, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, tmp_path, dirs_exist_ok=True)
    assert run("subs", "type", "camera.json", "--store", "cameras.db").code == 0
    assert run("subs", "import", "cameras.jsonl", "--store", "cameras.db").code == 0
    with started(tmp_path, "--report", "report.html") as process:
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0, err
    assert out == ""
    expected = run(
        "match", "--subscriptions", "cameras.jsonl", "--events", "events.jsonl", "--event-type", "camera.json"
    )
    found = read_notifications(tmp_path / "pipeline" / "notifications").select(["event_id", "subscription_id"])
    assert sorted(found.to_pylist(), key=str) == sorted(expected.json, key=str)
    assert "notifications  26" in err
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "exactly once" in page
    busiest = Counter(each["subscription_id"] for each in expected.json).most_common(1)[0][0]
    conditions = {
        each["id"]: each["condition"]
        for each in map(json.loads, (EXAMPLES / "cameras.jsonl").read_text("utf-8").splitlines())
    }
    assert f"<code>{html.escape(conditions[busiest])}</code>" in page


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.usefixtures("spark_environment")
def test_the_report_of_a_run_that_fails_says_so(prepared: str, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notifications").write_text("a file where a folder should be")
    with started(tmp_path, "--once", "--report", "report.html") as process:
        _, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 2
    assert "the query failed in batch 0, while results were handed to the sink: " in err
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "This run failed in batch 0, while results were handed to the sink." in page
    assert str(tmp_path / "out" / "notifications") in page

    (tmp_path / "subs.db").rename(tmp_path / "gone.db")
    with started(tmp_path, "--once", "--report", "report.html") as process:
        _, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 2, err
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "This run failed before its first batch." in page
    assert "there is no store here" in page


def java_of(driver: int) -> int:
    """The process of Java that a driver started."""
    for child in Path(f"/proc/{driver}/task/{driver}/children").read_text().split():
        if os.path.basename(os.readlink(f"/proc/{child}/exe")) == "java":
            return int(child)
    pytest.fail("there is no Java")


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.usefixtures("spark_environment")
def test_a_run_whose_java_is_killed_says_so_and_the_next_one_waits_for_its_end(
    prepared: str, tmp_path: Path, write: Write
) -> None:
    with started(tmp_path, "--json", "--report", "report.html") as first:
        assert first.stdout is not None
        assert json.loads(first.stdout.readline())["batch"] == 0
        write("in/2.jsonl", [{"id": "late", "price": 1}])
        os.kill(java_of(first.pid), signal.SIGKILL)
        with started(tmp_path, "--once") as second:  # while the first one may still be ending
            _, err = second.communicate(timeout=PATIENCE_SECONDS)
        _, said = first.communicate(timeout=PATIENCE_SECONDS)
    assert (first.returncode, second.returncode) == (2, 0), (said, err)
    # Threads of PySpark's own print their tracebacks when they please, so before or after this line.
    assert sum("Spark's Java process ended" in line for line in said.splitlines()) == 1, said
    assert "This run failed" in (tmp_path / "report.html").read_text("utf-8")
    assert sorted(read_notifications(tmp_path / "out")["event_id"].to_pylist()) == ["e0", "e1", "late"]


@pytest.mark.slow
def test_a_second_run_of_a_pipeline_is_refused_by_name(prepared: str, tmp_path: Path) -> None:
    lock = hold_checkpoint(tmp_path / "checkpoint" / "tamis")
    with started(tmp_path, "--once") as process:
        _, err = process.communicate(timeout=PATIENCE_SECONDS)
    lock.release()
    assert process.returncode == 2
    waiting, refusal = err.splitlines()
    assert waiting.startswith(f"tamis: waiting up to 20 s for process {os.getpid()} to leave ")
    assert f"a query of process {os.getpid()} uses this checkpoint or state" in refusal


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.usefixtures("spark_environment")
def test_it_shows_batches_and_metrics_and_stops_when_told(prepared: str, tmp_path: Path, write: Write) -> None:
    with started(tmp_path, "--json", "--metrics-port", "0") as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            said = ""
            while "metrics at" not in said:
                said = process.stderr.readline()
                assert said, "it ended early"
            first = json.loads(process.stdout.readline())
            figures = urlopen(said.split()[-1]).read().decode()
            process.send_signal(signal.SIGTERM)
            _, err = process.communicate(timeout=PATIENCE_SECONDS)
        except BaseException:
            process.kill()
            raise
    assert (first["batch"], first["events"], first["notifications"]) == (0, 5, 2)
    assert f'tamis_events_total{{query="{first["query"]}"}} 5.0' in figures
    assert process.returncode == 0, err
    assert "stopping after this batch" in err
    assert read_notifications(tmp_path / "out").num_rows == 2
    resumed: Any = json.loads((tmp_path / "checkpoint" / "metadata").read_text())
    assert resumed["id"] == first["query"]
