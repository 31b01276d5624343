"""`tamis client ...` on a real service."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tamis.client import Client, ClientError, Tickets
from tests.cli.conftest import Run, Write
from tests.client.server import STREAM, Fault, Served
from tests.service.webhooks.receiver import Receiver, receiving, until

COMMANDS = (
    *("subscribe", "list", "show", "pause", "resume", "test", "explain", "match", "publish", "advertise"),
    *("advertisements", "withdraw", "tail", "renew", "unsubscribe", "export", "import", "webhooks"),
    *("resume-webhook", "replay"),
)
PATIENCE_SECONDS = 120


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples_and_exit_codes(run: Run, command: str) -> None:
    text = run("client", command, "--help").out
    examples = text.partition("Examples:")[2].partition("Exit code")[0]
    assert f"tamis client {command} " in examples
    assert "Exit code" in text


def test_help_lists_the_commands(run: Run) -> None:
    listed = run("client", "--help").out.partition("Commands:")[2]
    assert tuple(re.findall(r"^  ([\w-]+)", listed, re.MULTILINE)) == COMMANDS


def test_from_subscribing_to_the_end(run: Run, write: Write, served: Served) -> None:
    made = run("client", "subscribe", "price < 300", "--id", "cheap", "--label", "Cheap", "--priority", "2")
    assert (made.code, made.err) == (0, "")
    said, how = made.out.splitlines()
    assert re.fullmatch(r"subscribed as 'cheap', until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", said)
    assert how == "renew it before then: tamis client renew cheap"
    published = run("client", "publish", write("e.jsonl", [{"id": "e1", "price": 1}, {"id": "e2", "price": 900}]))
    assert (published.code, published.out) == (0, "2 events accepted\n")
    served.match()
    tail = run("client", "tail", "--subscription", "cheap", "--after", "0", "--count", "1")
    assert tail.code == 0
    assert re.fullmatch(r"\d+  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d  cheap  e1  Cheap: price < 300\n", tail.out)
    renewed = run("client", "renew", "cheap", "--expires", "30d")
    assert (renewed.code, renewed.out.startswith("'cheap' renewed, until ")) == (0, True)
    ended = run("client", "unsubscribe", "cheap")
    assert (ended.code, ended.out) == (0, "'cheap' ended\n")
    assert run("client", "unsubscribe", "cheap").code == 1


def test_json_for_programs(run: Run, write: Write, served: Served) -> None:
    (made,) = run("client", "subscribe", "price < 300", "--id", "cheap", "--json").json
    assert (made["id"], made["condition"], made["delivery"]["kind"]) == ("cheap", "price < 300", "pull")
    assert made["ticket"] == Tickets().of(served.url, "cheap")
    file = write("e.jsonl", [{"id": "e1", "price": 1, "kept": ["\x1b", 1]}])
    assert run("client", "publish", file, "--json").json == [{"accepted": 1, "repeated": 0}]
    served.match()
    (told,) = run("client", "tail", "--after", "0", "--count", "1", "--json").json
    assert (told["subscription_id"], told["event_id"], told["event_time"]) == ("cheap", "e1", None)
    assert (told["label"], told["attributes"]) == (None, {"kept": ["\x1b", 1]})
    (line,) = run("client", "tail", "--after", "0", "--count", "1").out.splitlines()
    assert line.endswith('  cheap  e1  {"kept":["\\u001b",1]}  price < 300')
    assert datetime.fromisoformat(told["matched_at"]).tzinfo is not None
    (renewed,) = run("client", "renew", "cheap", "--json").json
    assert renewed["id"] == "cheap" and "ticket" not in renewed
    assert run("client", "unsubscribe", "cheap", "--json").json == [{"id": "cheap", "state": "removed"}]
    assert Tickets().of(served.url, "cheap") is None


def test_a_line_describes_the_subscription_in_short(run: Run, write: Write, served: Served) -> None:
    """What others wrote stays in its line, and controls no terminal."""
    long = " OR\n".join(["price < 300"] * 50)
    run("client", "subscribe", long, "--id", "long", "--label", "\x1b[31mred\nline")
    run("client", "publish", write("e.jsonl", [{"id": "e1", "price": 1}]))
    served.match()
    (line,) = run("client", "tail", "--after", "0", "--count", "1").out.splitlines()
    assert "\x1b" not in line
    assert "  long  e1  \\x1b[31mred line: price < 300 OR price < 300" in line
    assert line.endswith("…") and len(line) < 200


def test_an_end_is_a_time_or_a_duration(run: Run, client: Client) -> None:
    end = (datetime.now(UTC) + timedelta(days=5)).replace(microsecond=0)
    assert run("client", "subscribe", "x = 1", "--id", "a", "--expires", end.isoformat()).code == 0
    assert client.get("a").expires == end
    assert run("client", "subscribe", "x = 1", "--id", "b", "--expires", "1.5h").code == 0
    found = client.get("b")
    assert found.expires is not None and found.created is not None
    assert abs(found.expires - found.created - timedelta(hours=1.5)) < timedelta(minutes=5)
    wrong = run("client", "subscribe", "x = 1", "--expires", "soon")
    assert (wrong.code, "--expires: expected a time" in wrong.err) == (2, True)


def test_a_refused_condition_is_underlined(run: Run, served: Served) -> None:
    outcome = run("client", "subscribe", "price < AND brand = 'Sony'")
    assert (outcome.code, outcome.out) == (1, "")
    lines = outcome.err.splitlines()
    assert lines[0] == "the condition is refused:"
    assert "line 1, column 9: " in lines[1]
    assert [line.strip() for line in lines[2:4]] == ["price < AND brand = 'Sony'", "^^^"]
    (said,) = run("client", "subscribe", "price <", "--json").json
    assert (said["status"], said["kind"], said["problems"][0]["column"]) == (422, "condition", 8)


def test_a_refusal_is_told_in_one_line(run: Run, served: Served) -> None:
    run("client", "subscribe", "x = 1", "--id", "one")
    taken = run("client", "subscribe", "x = 1", "--id", "one")
    assert taken.code == 1
    assert taken.err == "tamis: refused: there is already a subscription 'one' (409 conflict)\n"
    wrong = run("client", "subscribe", "x = 1", "--token", "tamis_0_wrong")
    assert (wrong.code, "401 unauthorized" in wrong.err) == (1, True)
    assert "give a token with --token or TAMIS_TOKEN" in wrong.err


def test_nobody_there_and_no_address_are_errors_of_the_command(run: Run, served: Served) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        outcome = run("client", "tail", "--url", f"http://127.0.0.1:{taken.getsockname()[1]}")
    assert (outcome.code, "no answer from the service" in outcome.err) == (2, True)
    assert "is `tamis serve` running there?" in outcome.err
    outcome = run("client", "tail", "--url", "here")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("tamis: error: expected the address of the service, as http://127.0.0.1:8765")


def keeping(id: str, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tamis", "client", "subscribe", "x = 1", "--id", id, "--keep", *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def renewals(client: Client, id: str) -> int:
    """How often a subscription that is there was renewed."""
    try:
        return [change.kind for change in client.history(id)].count("renew")
    except ClientError as error:
        assert error.status == 404, error
        return 0


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_keep_renews_it_until_it_is_stopped(client: Client, number: signal.Signals) -> None:
    with keeping("kept", "--expires", "2s") as process:
        try:
            until(lambda: renewals(client, "kept") >= 2)
            process.send_signal(number)
            out, err = process.communicate(timeout=PATIENCE_SECONDS)
        finally:
            process.kill()
    assert (process.returncode, err) == (0, "")
    first, *renewed, last = out.splitlines()
    assert first.startswith("subscribed as 'kept', until ")
    assert len(renewed) >= 2 and all(line.startswith("'kept' renewed, until ") for line in renewed)
    assert last.startswith("'kept' is not renewed any more, it lasts until ")


@pytest.mark.slow
def test_keep_ends_if_the_subscription_is_gone(client: Client) -> None:
    with keeping("gone", "--expires", "2s", "--json") as process:
        try:
            until(lambda: renewals(client, "gone") >= 1)
            client.unsubscribe("gone")
            out, _ = process.communicate(timeout=PATIENCE_SECONDS)
        finally:
            process.kill()
    made, *_, refused = map(json.loads, out.splitlines())
    assert (process.returncode, made["id"], refused["kind"]) == (1, "gone", "not-found")


def test_keep_wants_a_duration(run: Run, served: Served) -> None:
    outcome = run("client", "subscribe", "x = 1", "--keep", "--expires", "2099-01-01T00:00Z")
    assert (outcome.code, served.asked) == (2, [])
    assert outcome.err == "tamis: error: --keep: expected a duration for --expires, such as 10m, found a time\n"


def test_tickets_are_kept_where_they_are_looked_for(
    run: Run, tmp_path: Path, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAMIS_TOKEN", served.token(served.new_tenant(), "subscribe"))
    run("client", "subscribe", "x = 1", "--id", "one", "--tickets", "mine.json")
    assert [*json.loads((tmp_path / "mine.json").read_text())[served.url]] == ["one"]
    missing = run("client", "renew", "one")
    assert missing.code == 1
    assert f"looked for in {tmp_path}/state/tamis/tickets.json; --ticket gives another" in missing.err
    ticket = Tickets(tmp_path / "mine.json").of(served.url, "one")
    assert run("client", "renew", "one", "--ticket", str(ticket)).code == 0
    assert run("client", "unsubscribe", "one", "--tickets", "mine.json").code == 0


def test_nothing_is_asked_if_the_ticket_could_not_be_kept(run: Run, write: Write, served: Served) -> None:
    outcome = run("client", "subscribe", "x = 1", "--tickets", write("broken.json", "[]"))
    assert (outcome.code, "broken.json: expected tickets" in outcome.err) == (2, True)
    assert not served.asked


def test_a_webhook_and_its_secret(run: Run, served: Served, client: Client, receiver: Receiver) -> None:
    made = run("client", "subscribe", "x = 1", "--id", "a", "--webhook", receiver.url("/a"))
    assert re.search(r"signed with whsec_\S+; it is not shown again\n", made.out)
    assert "tamis client webhooks" in made.out
    (told,) = run("client", "subscribe", "x = 1", "--webhook", receiver.url("/b"), "--json").json
    assert told["secret"].startswith("whsec_")
    assert client.get("a").delivery.url == receiver.url("/a")


# --- publish -------------------------------------------------------------------------------------------------


def test_several_files_and_standard_input(run: Run, write: Write, served: Served, client: Client) -> None:
    first = write("1.jsonl", '\ufeff{"id": "a"}\n\n{"id": "b"}\n')
    outcome = run("client", "publish", first, "-", "--chunk", "2", input='{"id": "c"}\n{"id": "a"}')
    assert (outcome.code, outcome.out) == (0, "3 events accepted, 1 repeated\n")
    assert [each.id for each in client.events()] == ["c", "b", "a"]
    assert len(served.requests("/v1/events", "POST")) == 2
    assert run("client", "publish", first, "--quiet").out == ""
    assert run("client", "publish", "-", "-").code == 2


def test_events_of_a_declared_type(run: Run, write: Write, client: Client) -> None:
    client.declare({"name": "camera", "attributes": {"price": "int"}})
    file = write("e.jsonl", [{"id": "e1", "price": 1}])
    assert run("client", "publish", file, "--type", "camera").code == 0
    assert client.event("e1").event_type == "camera"
    outcome = run("client", "publish", file, "--type", "tripod")
    assert (outcome.code, "there is no event type 'tripod'" in outcome.err) == (1, True)


def test_a_broken_line_is_named_by_its_place(run: Run, write: Write, served: Served, client: Client) -> None:
    file = write("e.jsonl", '{"id": 1}\n{"id": 2}\n{"id": 3}\nnonsense\n')
    outcome = run("client", "publish", file, "--chunk", "2")
    assert outcome.code == 2
    assert outcome.err.startswith("tamis: error: e.jsonl:4: expected a JSON object")
    assert outcome.err.endswith("; 2 events before it published\n")
    assert len([*client.events()]) == 2
    assert run("client", "publish", "none.jsonl").err.startswith("tamis: error: none.jsonl: no such file; ")


def test_refused_events_say_how_many_came_before(run: Run, write: Write, served: Served) -> None:
    file = write("e.jsonl", [{"id": "e1"}, {"id": []}])
    outcome = run("client", "publish", file, "--chunk", "1")
    assert outcome.code == 1
    assert "event 1: id: expected a text" in outcome.err
    assert outcome.err.endswith("1 event before it published\n")


def test_a_cut_answer_counts_nothing_twice(run: Run, write: Write, served: Served, client: Client) -> None:
    served.faults += [Fault("/v1/events"), Fault("/v1/events", 503, {"Retry-After": "0"})]
    assert run("client", "publish", write("e.jsonl", [{"x": n} for n in range(10)]), "--chunk", "4").code == 0
    assert len([*client.events()]) == 10


# --- tail ----------------------------------------------------------------------------------------------------


def test_a_broken_stream_is_taken_up_again(run: Run, served: Served, client: Client) -> None:
    client.subscribe("x >= 0", id="all")
    client.publish({"id": f"e{n}", "x": n} for n in range(6))
    served.match()
    served.cuts.append(2)
    outcome = run("client", "tail", "--after", "0", "--count", "6")
    assert sorted(line.split()[4] for line in outcome.out.splitlines()) == [f"e{n}" for n in range(6)]
    assert "connecting again in" in outcome.err
    served.cuts.append(2)
    assert run("client", "tail", "--after", "0", "--count", "6", "--quiet").err == ""


@pytest.mark.slow
def test_ctrl_c_ends_a_tail_that_prints_as_things_come(served: Served, client: Client) -> None:
    client.subscribe("x >= 0", id="all")
    command = [sys.executable, "-m", "tamis", "client", "tail"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ.copy()) as process:
        try:
            assert process.stdout is not None
            until(lambda: served.requests(STREAM))
            client.publish({"id": "e1", "x": 1})
            served.match()
            assert process.stdout.readline().endswith("  all  e1  x >= 0\n")
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE_SECONDS) == 0
        finally:
            process.kill()
