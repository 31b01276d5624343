"""Tasks write a batch and the driver publishes it: every notification is there once, whoever else has it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.sinks import (
    Committed,
    DeltaSink,
    JsonLinesSink,
    ParquetSink,
    Sink,
    read_commits,
    read_dead_letters,
    read_notifications,
)
from tamis.sinks import ledger as ledger_module
from tamis.sinks import part_files as part_files_module
from tamis.sinks.ledger import MERGED_AT_ONCE
from tests.sinks.deliveries import RETENTION, delivery, file_sink
from tests.sinks.parts import Batch, Pairs, Task, batch_key, ids_of, run

KINDS = ["delta", "parquet", "jsonl"]


@pytest.fixture(params=KINDS)
def open_sink(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Sink]:
    return lambda: file_sink(request.param, tmp_path)


@pytest.fixture
def found(tmp_path: Path) -> Callable[[], list[str]]:
    """The ids of all notifications, in order."""
    return lambda: sorted(read_notifications(tmp_path / "found")["id"].to_pylist())


Open = Callable[[], Sink]
Found = Callable[[], list[str]]


def test_the_parts_of_all_tasks_are_the_output(open_sink: Open, found: Found, tmp_path: Path) -> None:
    tasks = [Task([[(event, 1), (event, 2)]], dead=[b"%d" % event]) for event in range(3)]
    assert run(open_sink(), batch_key(0), *tasks, Task()) == Committed(6, 0)
    assert found() == ids_of(*((event, each) for event in range(3) for each in (1, 2)))
    assert read_dead_letters(tmp_path / "found").num_rows == 3
    (commit,) = read_commits(tmp_path / "found")
    assert (commit.written, commit.repeated, commit.dead, len(commit.tasks)) == (6, 0, 3, 4)


def test_a_batch_without_a_task_is_committed(open_sink: Open, tmp_path: Path) -> None:
    assert run(open_sink(), batch_key(0)) == Committed(0, 0)
    assert run(open_sink(), batch_key(0)) == Committed(0, 0, again=True)
    assert [each.batch for each in read_commits(tmp_path / "found")] == [0]


def test_an_event_in_two_tasks_of_a_batch_is_notified_once(open_sink: Open, found: Found, tmp_path: Path) -> None:
    tasks = Task([[(1, 1), (2, 1)]], dead=[b"x"]), Task([[(2, 1), (3, 1)]]), Task([[(2, 1)]])
    assert run(open_sink(), batch_key(0), *tasks) == Committed(3, 0)
    assert found() == ids_of((1, 1), (2, 1), (3, 1))
    assert read_dead_letters(tmp_path / "found").num_rows == 1
    assert run(open_sink(), batch_key(1), Task([[(1, 1), (2, 1), (3, 1)]])) == Committed(0, 3)


def test_a_dead_letter_of_two_tasks_stands_once(
    open_sink: Open, found: Found, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part_files_module, "FILE_ROWS", 2)
    tasks = [
        Task([[(1, 1)]], dead=[b"x", b"y", b"x", b"z"]),
        Task([[(1, 1), (2, 1)]], dead=[b"z", b"w", b"y"]),
        Task(dead=[b"x"]),
        Task(dead=[b"v"]),
    ]
    assert run(open_sink(), batch_key(0), *tasks) == Committed(2, 0)
    assert found() == ids_of((1, 1), (2, 1))
    assert sorted(read_dead_letters(tmp_path / "found")["original"].to_pylist()) == [b"v", b"w", b"x", b"y", b"z"]
    (commit,) = read_commits(tmp_path / "found")
    assert commit.dead == 5
    # Each batch has its own.
    assert run(open_sink(), batch_key(1), Task(dead=[b"x"])) == Committed(0, 0)
    assert read_dead_letters(tmp_path / "found").num_rows == 6
    folder = tmp_path / "found"
    files = [each for each in (folder / "dead-letters").rglob("a%20query*") if each.is_file()]
    named = {path for commit in read_commits(folder) for path in commit.files["dead-letters"]}
    assert {str(each.relative_to(folder)) for each in files} == named


def test_an_event_in_two_tasks_with_different_subscriptions_keeps_all(open_sink: Open, found: Found) -> None:
    tasks = Task([[(1, 1), (1, 2)]]), Task([[(1, 2), (1, 3)]])
    assert run(open_sink(), batch_key(0), *tasks) == Committed(3, 0)
    assert found() == ids_of((1, 1), (1, 2), (1, 3))


def test_an_event_in_two_shards_loses_nothing_and_no_file_is_written_again(
    open_sink: Open, found: Found, tmp_path: Path
) -> None:
    batch = Batch(open_sink(), batch_key(0))
    parts = [batch.write(Task([[(1, shard)]], shard=shard), shard) for shard in range(3)]
    paths = {file.path for part in parts for file in part.files}
    assert batch.publish(parts) == Committed(3, 0)
    assert found() == ids_of((1, 0), (1, 1), (1, 2))
    (commit,) = read_commits(tmp_path / "found")
    assert {*commit.files["notifications"]} == paths
    assert {*commit.tasks} == {part.token for part in parts}


def test_a_part_without_a_repeated_event_is_not_written_again(open_sink: Open, tmp_path: Path) -> None:
    batch = Batch(open_sink(), batch_key(0))
    alone, *both = [batch.write(Task([[(event, 1)]]), place) for place, event in enumerate((7, 1, 1))]
    assert batch.publish([alone, *both]) == Committed(2, 0)
    (commit,) = read_commits(tmp_path / "found")
    assert alone.files[0].path in commit.files["notifications"]
    assert len(commit.files["notifications"]) == 2


def test_of_several_files_of_a_task_only_what_is_repeated_goes(
    open_sink: Open, found: Found, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part_files_module, "FILE_ROWS", 2)
    chunks: list[Pairs] = [[(event, 1)] for event in range(7)]
    assert run(open_sink(), batch_key(0), Task(chunks), Task([*chunks[3:], [(9, 1)]])) == Committed(8, 0)
    assert found() == ids_of(*((event, 1) for event in (*range(7), 9)))


def test_what_another_query_commits_meanwhile_is_left_out(open_sink: Open, found: Found) -> None:
    slow = Batch(open_sink(), batch_key(0))
    parts = [slow.write(Task([[(1, 1), (2, 1)]]), 0), slow.write(Task([[(3, 1), (1, 2)]], shard=1), 1)]
    assert run(open_sink(), batch_key(0, "another"), Task([[(1, 1), (3, 1), (4, 1)]])) == Committed(3, 0)
    assert slow.publish(parts) == Committed(2, 2)
    assert found() == ids_of((1, 1), (1, 2), (2, 1), (3, 1), (4, 1))
    assert run(open_sink(), batch_key(1), Task([[(1, 1), (1, 2), (2, 1)]])) == Committed(0, 3)


def test_all_of_a_batch_may_be_there_by_the_time_it_is_published(open_sink: Open, found: Found) -> None:
    slow = Batch(open_sink(), batch_key(0))
    part = slow.write(Task([[(1, 1)]], dead=[b"x"]))
    run(open_sink(), batch_key(0, "another"), Task([[(1, 1)]]))
    assert slow.publish([part]) == Committed(0, 1)
    assert found() == ids_of((1, 1))
    assert run(open_sink(), batch_key(0), Task([[(1, 1)]])) == Committed(0, 1, again=True)


def test_one_sink_serves_two_queries_whose_batches_overlap(open_sink: Open, found: Found) -> None:
    sink = open_sink()
    one, two = Batch(sink, batch_key(0, "one")), Batch(sink, batch_key(0, "two"))
    first, second = one.write(Task([[(1, 1), (2, 1)]])), two.write(Task([[(2, 1), (3, 1)]]))
    assert two.publish([second]) == Committed(2, 0)
    assert one.publish([first]) == Committed(1, 1)
    assert found() == ids_of((1, 1), (2, 1), (3, 1))


def test_what_a_lost_attempt_wrote_is_not_read_and_the_next_process_sweeps_it(
    open_sink: Open, found: Found, tmp_path: Path
) -> None:
    sink = open_sink()
    sink.commit(delivery(0, [(9, 9)]))  # from here on this process does not sweep
    batch = Batch(sink, batch_key(1))
    lost, won = batch.write(Task([[(1, 1), (2, 1)]])), batch.write(Task([[(1, 1)]]), attempt=1)
    assert batch.publish([won]) == Committed(1, 0)
    assert found() == ids_of((9, 9), (1, 1))
    ledger = tmp_path / "found" / "ledger"
    assert [*ledger.glob(f"*.{lost.token}.*")]
    assert run(open_sink(), batch_key(2), Task([[(2, 1)]])) == Committed(1, 0), "nobody was notified of it"
    assert found() == ids_of((9, 9), (1, 1), (2, 1))
    assert not [*ledger.glob(f"*.{lost.token}.*")]
    if not isinstance(sink, DeltaSink):  # whose vacuum does that
        assert not (tmp_path / "found" / lost.files[0].path).exists()


def test_what_a_killed_driver_left_of_a_batch_is_swept_when_the_batch_is_done_again(
    open_sink: Open, found: Found, tmp_path: Path
) -> None:
    killed = Batch(open_sink(), batch_key(0))
    left = [killed.write(Task([[(event, 1)]]), event) for event in range(3)]
    assert run(open_sink(), batch_key(0), Task([[(0, 1), (1, 1)]]), Task([[(2, 1)]])) == Committed(3, 0)
    assert found() == ids_of((0, 1), (1, 1), (2, 1))
    for part in left:
        assert not [*(tmp_path / "found" / "ledger").glob(f"*.{part.token}.*")]


def test_another_query_that_writes_at_this_moment_is_not_swept(open_sink: Open, found: Found) -> None:
    other = Batch(open_sink(), batch_key(0, "another"))
    part = other.write(Task([[(1, 1)]], dead=[b"x"]))
    assert run(open_sink(), batch_key(0), Task([[(2, 1)]])) == Committed(1, 0)
    assert other.publish([part]) == Committed(1, 0)
    assert found() == ids_of((1, 1), (2, 1))
    assert run(open_sink(), batch_key(1), Task([[(1, 1)]])) == Committed(0, 1)


def test_a_replay_of_a_committed_batch_leaves_no_files(open_sink: Open, found: Found, tmp_path: Path) -> None:
    run(open_sink(), batch_key(0), Task([[(1, 1)]], dead=[b"x"]))
    again = Batch(open_sink(), batch_key(0))
    part = again.write(Task([[(1, 1), (5, 1)]], dead=[b"x"]))
    assert again.publish([part]) == Committed(1, 0, again=True)
    assert found() == ids_of((1, 1))
    assert not any((tmp_path / "found" / file.path).exists() for file in part.files)


@pytest.mark.slow
def test_files_that_were_merged_under_a_query_still_count_for_it(open_sink: Open, found: Found) -> None:
    sink = open_sink()
    for batch in range(MERGED_AT_ONCE):
        run(sink, batch_key(batch), Task([[(batch, 1)]]))
    slow = Batch(open_sink(), batch_key(0, "another"))
    run(sink, batch_key(MERGED_AT_ONCE), Task([[(50, 1)]]))  # its task merges what there is
    ledger_module._open.cache_clear()  # a task is in another process
    part = slow.write(Task([[(batch, 1) for batch in range(MERGED_AT_ONCE)] + [(60, 1), (50, 1)]]))
    assert slow.publish([part]) == Committed(1, MERGED_AT_ONCE + 1)
    assert found() == ids_of(*((event, 1) for event in (*range(MERGED_AT_ONCE), 50, 60)))


@pytest.mark.slow
def test_two_queries_that_merge_the_same_files_lose_nothing(open_sink: Open, found: Found) -> None:
    for batch in range(MERGED_AT_ONCE):
        run(open_sink(), batch_key(batch), Task([[(batch, 1)]]))
    both = [Batch(open_sink(), batch_key(9, query)) for query in ("one", "two")]
    parts = [batch.write(Task([[(50 + place, 1)]])) for place, batch in enumerate(both)]
    assert [len(part.merged) for part in parts] == [MERGED_AT_ONCE] * 2
    assert [batch.publish([part]) for batch, part in zip(both, parts, strict=True)] == [Committed(1, 0)] * 2
    ledger_module._open.cache_clear()
    every = [(event, 1) for event in (*range(MERGED_AT_ONCE), 50, 51)]
    assert run(open_sink(), batch_key(10), Task([every])) == Committed(0, len(every))
    assert found() == ids_of(*every)


pairs = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2)), max_size=5)
tasks = st.lists(st.lists(pairs, max_size=2), min_size=1, max_size=3)
steps = st.lists(
    st.tuples(st.sampled_from(["one", "two"]), tasks, st.sampled_from(["publish", "publish", "kill", "wait"])),
    max_size=8,
)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [JsonLinesSink, ParquetSink])
@settings(max_examples=25)
@given(steps)
def test_any_order_of_two_queries_notifies_each_once(
    kind: type[JsonLinesSink | ParquetSink], steps: list[tuple[str, list[list[Pairs]], str]]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "found"
        told: set[tuple[int, int]] = set()
        numbers = {"one": 0, "two": 0}
        sinks: dict[str, Sink] = {query: kind(folder=folder, retention=RETENTION) for query in numbers}
        waiting: list[Callable[[], None]] = []

        def begin(query: str, tasks: list[list[Pairs]]) -> Callable[[], None]:
            batch = Batch(sinks[query], batch_key(numbers[query], query))
            parts = [batch.write(Task(chunks), place) for place, chunks in enumerate(tasks)]
            pairs = {pair for chunks in tasks for chunk in chunks for pair in chunk}

            def publish() -> None:
                assert batch.publish(parts).written == len(pairs - told)
                told.update(pairs)
                numbers[query] += 1

            return publish

        busy: set[str] = set()
        for query, tasks, end in steps:
            if query in busy:  # a query has one batch at a time: the one that waits goes first
                waiting.pop()()
                busy.clear()
            publish = begin(query, tasks)
            if end == "publish":
                publish()
            elif end == "kill":
                sinks[query] = kind(folder=folder, retention=RETENTION)
            elif not waiting:
                waiting.append(publish)
                busy.add(query)
        for publish in waiting:
            publish()
        assert sorted(read_notifications(folder)["id"].to_pylist()) == ids_of(*told)
