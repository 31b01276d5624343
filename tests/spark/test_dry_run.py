"""Dry runs. No Spark: a session is asked for only where Kafka is involved."""

from __future__ import annotations

import hashlib
import socket
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.events.event_type import EventType
from tamis.matcher import Matcher
from tamis.sinks import SINKS
from tamis.spark.dry_run import DryRun, ResumePoint, SampleResult, read_resume_point, try_pipeline
from tamis.store import Store
from tests.spark.pipelines import SALE, pipeline, put_events, put_subscriptions


def no_spark() -> NoReturn:
    pytest.fail("no Spark was expected")


def tree(folder: Path) -> dict[str, str]:
    """All files and folders, with what is in them."""
    found = {}
    for path in sorted(folder.rglob("*")):
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        found[str(path.relative_to(folder))] = content
    return found


def rehearsed(folder: Path, top: str = "", **tables: str) -> DryRun:
    """A dry run, which leaves everything as it was."""
    planned = pipeline(folder, top, **tables)
    before = tree(folder)
    found = try_pipeline(planned, no_spark)
    assert tree(folder) == before
    return found


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    put_subscriptions(tmp_path / "subs.db", {"cheap": "price < 10", "all": "true"}, SALE)
    events: list[Any] = [{"id": f"e{price}", "price": price} for price in range(20)]
    put_events(tmp_path / "in", "1.jsonl", *events, b"nonsense", {"price": 1}, b"", {"id": "x", "price": "dear"})
    return tmp_path


def test_a_dry_run_tells_the_plan_and_matches_a_sample(sales: Path) -> None:
    found = rehearsed(sales)
    assert found.problems == []
    assert found.source == f"JSON lines in {sales / 'in'}"
    assert found.sink == f"Parquet files in {sales / 'out'}, exactly once"
    assert (found.event_types, found.subscriptions) == ({"sale": False}, 2)
    assert (found.version, found.store_version) == (None, 2)
    assert found.resumed == ResumePoint(None, 0, False)
    sample = found.sample
    assert sample is not None
    assert (sample.events, sample.matched_events, sample.matches, sample.overflow) == (24, 21, 31, 0)
    assert {kind: count for kind, (count, _) in sample.dead.items()} == {"malformed": 1, "missing id": 1}
    assert (found.on_misfit, sample.misfits) == ("null", 1)
    assert found.doubts == []


def on_misfit(what: str) -> str:
    return f'format = "json"\npath = "in"\non_misfit = "{what}"'


def test_a_dry_run_tells_what_becomes_of_misfits(sales: Path) -> None:
    found = rehearsed(sales, events=on_misfit("dead letter"))
    assert found.on_misfit == "dead letter"
    assert found.sample is not None
    assert (found.sample.dead["wrong type"][0], found.sample.misfits) == (1, 0)
    found = rehearsed(sales, events=on_misfit("refuse"))
    assert found.problems == ["sample: event 'x': price: expected double, found 'dear'"]


def test_a_sample_that_mostly_does_not_fit_is_doubted(sales: Path) -> None:
    put_events(sales / "in", "2.jsonl", *({"id": f"m{number}", "price": "dear"} for number in range(40)))
    found = rehearsed(sales)
    assert kinds(found) == ["misfits"]
    assert "41 of 64 events" in found.doubts[0].message


def kinds(found: DryRun) -> list[str]:
    assert found.problems == []
    return [doubt.kind for doubt in found.doubts]


def test_a_sample_of_which_nearly_all_is_dead_is_doubted(sales: Path) -> None:
    put_events(sales / "in", "2.jsonl", *([b"nonsense"] * 974), {"id": 1, "price": 2}, {"id": 2, "price": "dear"})
    found = rehearsed(sales, events=on_misfit("dead letter"))
    assert kinds(found) == ["dead letters"]
    assert "978 of 1,000 events" in found.doubts[0].message
    assert "975 malformed" in found.doubts[0].message


def test_an_attribute_for_ids_that_no_event_has_is_doubted(sales: Path) -> None:
    found = rehearsed(sales, events='format = "json"\npath = "in"\nid = "event_id"')
    assert kinds(found) == ["no id", "dead letters"]
    assert (found.doubts[0].key, found.doubts[0].attribute) == ("events.id", "event_id")


@pytest.mark.parametrize(
    ("attribute", "doubts"),
    [("at", []), ("time", ["no time"]), ("shop", ["no time"])],
    ids=["there", "not there", "no time in it"],
)
def test_an_attribute_for_times_that_no_event_has_is_doubted(
    tmp_path: Path, attribute: str, doubts: list[str]
) -> None:
    put_subscriptions(tmp_path / "subs.db", {"all": "true"})
    put_events(tmp_path / "in", "1.jsonl", {"id": 1}, {"id": 2, "at": "2026-01-01 10:00:00", "shop": "corner"})
    found = rehearsed(tmp_path, events=f'format = "json"\npath = "in"\ntime = "{attribute}"')
    assert kinds(found) == doubts


def test_columns_that_files_lack_are_problems_as_in_a_run(sales: Path) -> None:
    pq.write_table(pa.table({"id": ["a"], "price": [1.0]}), sales / "in" / "1.parquet")
    found = rehearsed(sales, events='format = "parquet"\npath = "in/*.parquet"\ntime = "at"')
    assert [each.partition(":")[0] for each in found.problems] == ["sample"]


def test_nothing_is_doubted_where_there_is_no_event_yet(sales: Path) -> None:
    (sales / "in" / "1.jsonl").unlink()
    found = rehearsed(sales, events='format = "json"\npath = "in"\nid = "number"\ntime = "when"')
    assert kinds(found) == []


@pytest.mark.parametrize("sink", [name for name in SINKS if name != "kafka"])  # whose check needs Spark
def test_it_writes_nothing_whatever_the_sink(sales: Path, sink: str) -> None:
    arguments = {
        "delta": 'folder = "out"',
        "parquet": 'folder = "out"',
        "jsonl": 'folder = "out"',
        "sql": 'url = "sqlite:///found.db"',
        "webhook": 'url = "sqlite:///found.db"',
        "callback": 'function = "json:dumps"\nstate = "sent"',
    }
    found = rehearsed(sales, sink=f'type = "{sink}"\n{arguments[sink]}')
    assert found.problems == []


def test_a_quota_is_applied_to_the_sample_as_to_one_batch(sales: Path) -> None:
    found = rehearsed(sales, quota="matches = 4")
    assert found.sample is not None
    assert (found.sample.matches, found.sample.overflow) == (8, 23)


def test_event_types_that_the_store_lacks_would_be_declared(sales: Path) -> None:
    top = '[[event_types]]\nname = "visit"\n'
    found = rehearsed(sales, top, events='format = "json"\npath = "in"\ntype_attribute = "type"')
    assert (found.event_types, found.problems) == ({"sale": False, "visit": True}, [])


def test_several_event_types_need_an_attribute_that_tells_them_apart(sales: Path) -> None:
    found = rehearsed(sales, '[[event_types]]\nname = "visit"\n[[event_types]]\nname = "walk"\n')
    assert [each.partition("say with")[2] for each in found.problems] == [
        " events.type_attribute which attribute of an event names its type, or with events.event_type of which "
        "type all events are"
    ]


def test_subscriptions_to_other_event_types_are_counted(sales: Path) -> None:
    with Store.open(sales / "subs.db") as store:
        count = len(store)
        store.add("x", "vlaue > 1", event_type="event")
    found = rehearsed(sales)
    assert (found.problems, found.subscriptions, found.set_aside) == ([], count + 1, 1)
    assert found.sample is not None
    assert found.sample.matches > 0
    other = rehearsed(sales, '[[event_types]]\nname = "visit"\n')
    assert (other.problems, other.set_aside) == ([], count + 1)
    assert not (sales / "checkpoint").exists()
    with Store.open(sales / "subs.db") as store:
        store.remove("x")
    assert rehearsed(sales).set_aside == 0


def test_several_declared_types_are_an_error_if_events_do_not_name_theirs(sales: Path) -> None:
    with Store.open(sales / "subs.db") as store:
        store.set_event_type(EventType.of({"name": "visit", "attributes": {"page": "string"}}))
        store.add("x", "page = 'a'", event_type="visit")
    (problem,) = rehearsed(sales).problems
    assert "several event types (sale, visit)" in problem
    assert 'write event_type = "sale" or event_type = "visit"; if' in problem
    for name in ("sale", "visit"):
        found = rehearsed(sales, events=f'format = "json"\npath = "in"\nevent_type = "{name}"')
        assert (found.problems, found.set_aside > 0) == ([], True)
        assert found.sample is not None and (found.sample.matches > 0) == (name == "sale")
    (problem,) = rehearsed(sales, events='format = "json"\npath = "in"\nevent_type = "vist"').problems
    assert problem.endswith("has no event type 'vist'; did you mean 'visit'?")


def test_another_event_type_of_the_same_name_is_an_error(sales: Path) -> None:
    found = rehearsed(sales, '[[event_types]]\nname = "sale"\nattributes = { price = "int" }\n')
    assert len(found.problems) == 1
    assert "event type 'sale' is another one in the store" in found.problems[0]
    assert "tamis subs type FILE" in found.problems[0]


def test_everything_that_is_not_there_is_told_at_once(tmp_path: Path) -> None:
    with closing(socket.socket()) as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
    (tmp_path / "out").write_text("a file")
    found = rehearsed(tmp_path, events=f'format = "socket"\nhost = "127.0.0.1"\nport = {port}')
    assert [each.partition(":")[0] for each in found.problems] == ["events", "sink", "subscriptions"]
    assert f"127.0.0.1:{port}" in found.problems[0]
    assert "there is no store here" in found.problems[2]
    assert found.sample is None


def test_a_folder_that_is_not_there_is_told(sales: Path) -> None:
    found = rehearsed(sales, events='format = "json"\npath = "nowhere"')
    assert len(found.problems) == 1
    assert f"{sales / 'nowhere'} cannot be read" in found.problems[0]


def test_parquet_is_sampled_over_several_files(sales: Path) -> None:
    for number in range(3):
        ids = [f"f{number}e{row}" for row in range(600)]
        pq.write_table(pa.table({"id": ids, "price": [float(number)] * 600}), sales / "in" / f"{number}.parquet")
    found = rehearsed(sales, events='format = "parquet"\npath = "in/*.parquet"')
    assert (found.sample, found.problems) == (SampleResult(1000, 1000, 2000, 0, {}), [])


def test_a_folder_of_changes_is_read_as_a_run_would(sales: Path) -> None:
    put_events(sales / "changes", "1.jsonl", {"id": "dear", "event_type": "sale", "condition": "price > 15"})
    (sales / "sale.json").write_text('{"name": "sale", "attributes": {"id": "string", "price": "double"}}')
    found = rehearsed(sales, 'event_types = ["sale.json"]', subscriptions='changes = "changes"')
    assert (found.problems, found.subscriptions, found.version, found.store_version) == ([], 1, None, None)
    assert found.sample is not None
    assert found.sample.matches == 4


def test_a_snapshot_of_somebody_else_is_read(sales: Path) -> None:
    matcher = Matcher(SALE)
    matcher.add("dear", "price > 15")
    matcher.publish(sales / "published")
    found = rehearsed(sales, subscriptions='snapshot = "published"')
    assert (found.problems, found.subscriptions, found.version, found.store_version) == ([], 1, 1, None)
    assert found.sample is not None
    assert found.sample.matches == 4


def test_made_up_events_need_no_source(sales: Path) -> None:
    put_subscriptions(sales / "numbers.db", {"even": "value % 2 = 0"})
    found = rehearsed(sales, events='format = "rate"', subscriptions='store = "numbers.db"')
    assert (found.sample, found.problems) == (SampleResult(1000, 500, 500, 0, {}), [])


def test_a_checkpoint_tells_which_batch_comes_next(tmp_path: Path) -> None:
    assert read_resume_point(str(tmp_path)) == ResumePoint()
    for folder in ("offsets", "commits"):
        (tmp_path / folder).mkdir()
        for batch in range(11):
            (tmp_path / folder / str(batch)).touch()
            (tmp_path / folder / f".{batch}.crc").touch()
    (tmp_path / "metadata").write_text('{"id":"the-query"}')
    assert read_resume_point(str(tmp_path)) == ResumePoint("the-query", 11, False)
    (tmp_path / "commits" / "10").unlink()
    assert read_resume_point(str(tmp_path)) == ResumePoint("the-query", 10, True)
