"""The inbox: events in order, each id once, what waits, what is forgotten, and a log before it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from tamis.service.inbox import Arrival, Inbox
from tamis.service.inbox_source import InboxReader, NumberRange
from tests.service.living import arrival


@pytest.fixture
def inbox(url: str) -> Iterator[Inbox]:
    opened = Inbox(url)
    yield opened
    opened.close()


def some(*ids: str, tenant: str = "t") -> list[Arrival]:
    return [arrival(tenant, id, {"id": id}) for id in ids]


def test_events_are_read_in_the_order_in_which_they_were_taken(inbox: Inbox) -> None:
    assert inbox.end() == 0
    inbox.append(some("b", "a"))
    inbox.append(some("c"))
    assert [id for id, *_ in inbox.between(0, inbox.end())] == ["t/b", "t/a", "t/c"]
    assert [each[:3] for each in inbox.between(1, 2)] == [("t/a", "t/event", b'{"id": "a"}')]


def test_an_event_that_comes_again_is_not_taken_a_second_time(inbox: Inbox) -> None:
    assert inbox.append(some("a", "b", "a")) == [True, True, False]
    assert inbox.append(some("b", "c")) == [False, True]
    assert [id for id, *_ in inbox.between(0, inbox.end())] == ["t/a", "t/b", "t/c"]


def test_the_first_text_under_an_id_stays(inbox: Inbox) -> None:
    inbox.append([arrival("t", "a", b"1")])
    inbox.append([arrival("t", "a", b"2")])
    assert inbox.get(["t/a"])["t/a"].value == b"1"


def test_the_same_id_of_two_tenants_is_two_events(inbox: Inbox) -> None:
    assert inbox.append(some("a", tenant="t") + some("a", tenant="u")) == [True, True]


def test_a_replayed_event_is_read_again_under_its_id(inbox: Inbox) -> None:
    inbox.append(some("a"))
    assert inbox.append(some("a"), replay=True) == [True]
    assert [id for id, *_ in inbox.between(0, inbox.end())] == ["t/a", "t/a"]
    assert inbox.get(["t/a"])["t/a"].number == 1


def test_it_knows_when_events_were_accepted_and_how_far_the_stream_is(inbox: Inbox) -> None:
    inbox.append(some("a", "b"))
    inbox.append(some("a"), replay=True)
    found = inbox.accepted_at(["t/a", "t/b", "t/gone", "u/a"])
    assert found == {f"t/{id}": inbox.get([f"t/{id}"])[f"t/{id}"].at for id in ("a", "b")}
    assert inbox.accepted_at([]) == {}
    assert inbox.done() == 0
    inbox.begin(2)
    assert inbox.done() == 0
    inbox.finish()
    assert inbox.done() == 2


def test_nothing_of_a_request_is_taken_if_a_part_cannot_be(inbox: Inbox) -> None:
    impossible = Arrival("t/b", None, b"{}")  # type: ignore[arg-type]
    with pytest.raises(Exception, match="event_type"):
        inbox.append([*some("a"), impossible])
    assert inbox.end() == 0
    assert inbox.append(some("a")) == [True]


def test_what_the_stream_has_not_finished_waits(inbox: Inbox) -> None:
    inbox.append(some("a", "b", "c"))
    assert inbox.waiting() == 3
    inbox.begin(2)
    assert inbox.waiting() == 3
    inbox.finish()
    assert inbox.waiting() == 1
    assert inbox.behind("t")[0] == 1
    assert inbox.behind("u") == (0, None)


def test_the_position_never_goes_back_when_it_is_told_by_number(inbox: Inbox) -> None:
    inbox.append(some("a", "b", "c"))
    inbox.finish_upto(2)
    inbox.finish_upto(1)
    assert inbox.waiting() == 1


def test_recent_events_are_the_tenants_own_the_newest_first(inbox: Inbox) -> None:
    inbox.append(some("a", "b") + some("x", tenant="u") + [arrival("t", "s", {}, "sale")])
    assert [each.id for each in inbox.recent("t", limit=9)] == ["t/s", "t/b", "t/a"]
    assert [each.id for each in inbox.recent("t", limit=1)] == ["t/s"]
    assert [each.id for each in inbox.recent("t", limit=9, before=2)] == ["t/a"]
    assert [each.id for each in inbox.recent("t", limit=9, event_type="t/event")] == ["t/b", "t/a"]


def test_only_what_is_old_and_done_with_is_forgotten_and_never_the_last(inbox: Inbox) -> None:
    inbox.append(some("a", "b", "c"))
    later = datetime.now(UTC) + timedelta(seconds=1)
    assert inbox.forget(later) == 0, "nothing is done"
    inbox.begin(2)
    inbox.finish()
    assert inbox.forget(later - timedelta(days=1)) == 0, "nothing is old"
    assert inbox.forget(later) == 2
    inbox.begin(3)
    inbox.finish()
    assert inbox.forget(later) == 0, "the last one keeps the numbers growing"
    inbox.append(some("d"))
    assert [id for id, *_ in inbox.between(3, inbox.end())] == ["t/d"]


@pytest.mark.slow
def test_many_writers_take_each_event_once_and_no_reader_skips_any(inbox: Inbox, url: str) -> None:
    writers, requests = 4, 15
    seen: list[str] = []
    over = threading.Event()

    def write(number: int) -> None:
        own = Inbox(url)
        for request in range(requests):
            own.append(some(f"{number}-{request}", f"shared-{request}"))
        own.close()

    def read() -> None:
        at = 0
        while True:
            is_last = over.is_set()
            end = inbox.end()
            seen.extend(id for id, *_ in inbox.between(at, end))
            at = end
            if is_last:
                return

    reader = threading.Thread(target=read)
    reader.start()
    threads = [threading.Thread(target=write, args=(number,)) for number in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    over.set()
    reader.join()
    expected = {f"t/{writer}-{request}" for writer in range(writers) for request in range(requests)}
    expected |= {f"t/shared-{request}" for request in range(requests)}
    assert sorted(seen) == sorted(expected)


# --- as a source of Spark's --------------------------------------------------------------------------------------


def test_a_reader_deals_a_batch_into_ranges_that_give_every_event(inbox: Inbox, url: str) -> None:
    inbox.append(some(*(f"e{number}" for number in range(10))))
    reader = InboxReader(url, most_events=7, partitions=3)
    start = reader.initialOffset()
    end = reader.latestOffset(start, reader.getDefaultReadLimit())
    assert (start, end) == ({"number": 0}, {"number": 7})
    parts = reader.partitions(start, end)
    assert len(parts) == 3
    rows = [row for part in parts for batch in reader.read(part) for row in batch.to_pylist()]
    assert [row["id"] for row in rows] == [f"t/e{number}" for number in range(7)]
    assert rows[0].pop("accepted_at") == inbox.accepted_at(["t/e0"])["t/e0"]
    assert rows[0] == {"id": "t/e0", "event_type": "t/event", "value": b'{"id": "e0"}'}
    reader.stop()


def test_a_reader_at_the_end_has_nothing_to_read(inbox: Inbox, url: str) -> None:
    inbox.append(some("a"))
    reader = InboxReader(url, most_events=7, partitions=3)
    end = {"number": 1}
    assert reader.latestOffset(end, reader.getDefaultReadLimit()) == end
    assert reader.partitions(end, end) == []
    assert [batch.num_rows for batch in reader.read(NumberRange(1, 1))] == []
    reader.stop()


# --- with a log before it ----------------------------------------------------------------------------------------


class Recorder:
    """A log that keeps what it is given, or refuses it."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.error: Exception | None = None

    def write(self, arrivals: Sequence[Arrival]) -> None:
        if self.error is not None:
            raise self.error
        self.ids += [each.id for each in arrivals]

    def close(self) -> None:
        """Nothing is open."""


def test_events_are_in_the_log_before_they_are_copied(url: str) -> None:
    log = Recorder()
    inbox = Inbox(url, log)
    assert inbox.append(some("a", "b", "a")) == [True, True, False]
    assert inbox.append(some("b", "c")) == [False, True]
    assert log.ids == ["t/a", "t/b", "t/c"]
    log.error = RuntimeError("no broker")
    with pytest.raises(RuntimeError, match="no broker"):
        inbox.append(some("d"))
    assert inbox.get(["t/d"]) == {}
    inbox.close()


def test_a_replayed_event_goes_to_the_log_again(url: str) -> None:
    log = Recorder()
    inbox = Inbox(url, log)
    inbox.append(some("a"))
    inbox.append(some("a"), replay=True)
    assert log.ids == ["t/a", "t/a"]
    inbox.close()
