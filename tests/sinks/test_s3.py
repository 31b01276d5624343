"""Sinks in an object store: a real S3 server on this machine, by one URL or by the environment."""

from __future__ import annotations

import uuid

import pytest
from deltalake import DeltaTable

from tamis.sinks import (
    BatchKey,
    Committed,
    DeltaSink,
    JsonLinesSink,
    ParquetSink,
    find_notifications,
    read_commits,
    read_dead_letters,
    read_notifications,
)
from tamis.sinks.delta import DeltaTables, _place, compact, is_delta, open_table
from tamis.sinks.reading import Wanted, follow_notifications
from tests.command import invoke
from tests.servers import S3_KEYS
from tests.sinks.deliveries import RETENTION, delivery, rows
from tests.sinks.parts import Batch, Task, batch_key, ids_of, run

pytestmark = pytest.mark.slow


@pytest.fixture(params=["URL and environment", "URL", "environment"])
def folder(request: pytest.FixtureRequest, s3_address: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty folder; where it is and who we are is said by its URL, the environment or both."""
    place = f"bucket/some%20folder/{uuid.uuid4().hex}"
    asked = f"endpoint_override={s3_address}&scheme=http&region=us-east-1"
    if request.param == "URL and environment":
        return f"s3://{place}?{asked}"
    if request.param == "URL":
        for name in S3_KEYS:
            monkeypatch.delenv(name)
        return f"s3://tests:no%20secret@{place}?{asked}"
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{s3_address}")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    return f"s3://{place}"


@pytest.mark.parametrize("kind", [DeltaSink, ParquetSink, JsonLinesSink])
def test_what_was_written_is_read(folder: str, kind: type[DeltaSink | ParquetSink | JsonLinesSink]) -> None:
    sink = kind(folder=folder, retention=RETENTION)
    sink.check()
    first, second = delivery(0, [(1, 1), (2, 1)], dead=[b"x"]), delivery(1, [(2, 1), (3, 1)])
    assert sink.commit(first) == Committed(2, 0)
    assert sink.commit(second) == Committed(1, 1)
    assert kind(folder=folder).commit(second) == Committed(1, 1, again=True)
    assert sorted(read_notifications(folder)["id"].to_pylist()) == ids_of((1, 1), (2, 1), (3, 1))
    assert rows(read_dead_letters(folder)) == rows(first.dead)
    assert [each.batch for each in read_commits(folder)] == [0, 1]
    sink.close()
    assert is_delta(folder) == (kind is DeltaSink)


def test_tasks_write_and_a_replay_changes_nothing(folder: str) -> None:
    tasks = Task([[(1, 1), (2, 1)]], dead=[b"x"]), Task([[(3, 1)], [(4, 1)]])
    assert run(DeltaSink(folder=folder), batch_key(0), *tasks) == Committed(4, 0)
    assert run(DeltaSink(folder=folder), batch_key(0), *tasks) == Committed(4, 0, again=True)
    table = open_table(folder)
    assert table is not None
    assert len(table.file_uris()) == 2
    assert table.transaction_version("a query") == 0
    assert sorted(read_notifications(folder)["id"].to_pylist()) == ids_of((1, 1), (2, 1), (3, 1), (4, 1))


def test_a_prepared_batch_is_not_read_and_is_replaced(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(self: DeltaTables, batch: BatchKey, files: object) -> None:
        raise KeyError

    with monkeypatch.context() as patch:
        patch.setattr(DeltaTables, "commit", die)
        with pytest.raises(KeyError):
            DeltaSink(folder=folder).commit(delivery(0, [(1, 1)]))
    assert read_commits(folder) == []
    assert read_notifications(folder).num_rows == 0
    assert DeltaSink(folder=folder).commit(delivery(0, [(1, 1)])) == Committed(1, 0)
    assert read_notifications(folder)["id"].to_pylist() == ids_of((1, 1))


def test_compaction_and_vacuum_keep_all_rows(folder: str) -> None:
    sink = DeltaSink(folder=folder)
    for batch in range(3):
        sink.commit(delivery(batch, [(batch, 1)], dead=[b"%d" % batch]))
    before = rows(read_notifications(folder)), rows(read_dead_letters(folder)), read_commits(folder)
    assert compact(folder, vacuum_hours=0) == {"dead-letters": (3, 1, 3), "notifications": (3, 1, 3)}
    compact(folder)
    assert (rows(read_notifications(folder)), rows(read_dead_letters(folder)), read_commits(folder)) == before
    assert sink.commit(delivery(3, [(2, 1), (3, 1)])) == Committed(1, 1)
    sink.close()
    assert [each.batch for each in read_commits(folder)] == [0, 1, 2, 3]
    place, options = _place(folder)
    batches = DeltaTable(f"{place}/batches", storage_options=options or None)
    assert sorted(batches.to_pyarrow_table()["batch"].to_pylist()) == [0, 1, 2, 3]


def test_what_another_query_commits_meanwhile_is_left_out(folder: str) -> None:
    slow = Batch(DeltaSink(folder=folder), batch_key(0))
    part = slow.write(Task([[(1, 1), (2, 1)]]))
    assert run(DeltaSink(folder=folder), batch_key(0, "another"), Task([[(1, 1)]])) == Committed(1, 0)
    assert slow.publish([part]) == Committed(1, 1)
    assert sorted(read_notifications(folder)["id"].to_pylist()) == ids_of((1, 1), (2, 1))


@pytest.mark.parametrize("is_lower", [False, True])
def test_options_of_delta_are_enough(s3_address: str, monkeypatch: pytest.MonkeyPatch, is_lower: bool) -> None:
    for name in S3_KEYS:
        monkeypatch.delenv(name)
    options = {
        **S3_KEYS,
        "AWS_ENDPOINT_URL": f"http://{s3_address}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "us-east-1",
    }
    options = {name.lower() if is_lower else name: value for name, value in options.items()}
    folder = f"s3://bucket/{uuid.uuid4().hex}"
    sink = DeltaSink(folder=folder, storage_options=options)
    assert run(sink, batch_key(0), Task([[(1, 1)]], dead=[b"x"])) == Committed(1, 0)
    assert run(sink, batch_key(1), Task([[(1, 1), (2, 1)]])) == Committed(1, 1)
    sink.close()
    assert sink.describe() == f"Delta tables in {folder}, exactly once", "without keys"
    both = ids_of((1, 1), (2, 1))
    assert sorted(read_notifications(folder, options)["id"].to_pylist()) == both
    assert read_dead_letters(folder, options).num_rows == 1
    assert [each.batch for each in read_commits(folder, options)] == [0, 1]
    assert find_notifications(folder, options, subscription="s1", limit=1).num_rows == 1
    steps = [lambda: run(sink, batch_key(2), Task([[(3, 1)]]))]
    followed = follow_notifications(folder, Wanted(), lambda: bool(steps and steps.pop()()), options)
    assert [each["id"].to_pylist() for each in followed] == [ids_of((3, 1))]
    given = [f"{name}={value}" for name, value in options.items()]
    asked = [part for each in given for part in ("--storage-option", each)]
    for name, value in S3_KEYS.items():  # blanks, as in this one, are only for the command
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("TAMIS_STORAGE_OPTIONS", " ".join(each for each in given if " " not in each))
    for more in (asked, []):
        answer = invoke("notifications", "list", folder, "--json", *more)
        assert (answer.exit_code, len(answer.stdout.splitlines())) == (0, 3), answer.output
    answer = invoke("notifications", "list", folder, "--storage-option", "secret")
    assert (answer.exit_code, "secret" in answer.output, "NAME=VALUE" in answer.output) == (2, False, True)
    assert compact(folder, options)["notifications"][:2] == (3, 1)
    table = open_table(folder, options=options)
    assert table is not None
    assert sorted(table.to_pyarrow_table()["id"].to_pylist()) == ids_of((1, 1), (2, 1), (3, 1))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("s3://b/f?region=eu-west-1", ("s3://b/f", {"AWS_REGION": "eu-west-1"})),
        (
            "s3a://k:s%2F@b/f/?endpoint_override=h:1&scheme=http",
            (
                "s3a://b/f",
                {
                    "AWS_ACCESS_KEY_ID": "k",
                    "AWS_SECRET_ACCESS_KEY": "s/",
                    "AWS_ENDPOINT_URL": "http://h:1",
                    "AWS_ALLOW_HTTP": "true",
                },
            ),
        ),
        ("s3://b/f?endpoint_override=h", ("s3://b/f", {"AWS_ENDPOINT_URL": "https://h"})),
        ("gs://b/f", ("gs://b/f", {})),
        ("file:///a%20b/", ("/a b", {})),
    ],
)
def test_a_url_of_pyarrow_says_what_delta_must_know(url: str, expected: tuple[str, dict[str, str]]) -> None:
    assert _place(url) == expected
    own = {"AWS_REGION": "mine"}
    assert _place(url, own) == (expected[0], expected[1] | own)
