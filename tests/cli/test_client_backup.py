"""`tamis client export` and `import` on real services."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from tamis.client import Client, Tickets
from tests.cli.conftest import Run, Write
from tests.client.server import Served, serving


def use(monkeypatch: pytest.MonkeyPatch, served: Served, tenant: str) -> None:
    """Let commands speak for a tenant of a service."""
    monkeypatch.setenv("TAMIS_URL", served.url)
    monkeypatch.setenv("TAMIS_TOKEN", served.token(tenant))


def test_subscriptions_go_from_one_tenant_to_another(
    run: Run, client: Client, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.subscribe("x = 1", id="a", label="ü", priority=2)
    client.subscribe("x = 2", id="b", webhook="http://127.0.0.1:9/hook")
    client.pause("a")
    assert run("client", "export", "--output", "mine.jsonl").out == ""
    before = run("client", "list", "--json").json
    use(monkeypatch, served, served.new_tenant())
    taken = run("client", "import", "mine.jsonl")
    assert (taken.code, taken.err) == (0, "")
    secret, counts, event_types = taken.out.splitlines()
    assert secret.startswith("calls of the webhook of 'b' are signed with whsec_")
    assert counts == "added 2, replaced 0, edited 0, unchanged 0, refused 0"
    assert event_types == "  2 to event type event"
    anew = ("created", "changed", "delivery")
    after = run("client", "list", "--json").json
    assert [{**each, **dict.fromkeys(anew)} for each in after] == [
        {**each, **dict.fromkeys(anew)} for each in before
    ]
    assert [each["delivery"]["url"] for each in after] == [None, "http://127.0.0.1:9/hook"]
    assert after[0]["state"] == "paused"
    assert Tickets().of(served.url, "a")


def test_what_is_refused_is_named_and_the_rest_taken(run: Run, write: Write, served: Served) -> None:
    file = write("all.jsonl", [{"id": "good", "condition": "a = 1"}, {"id": "bad", "condition": "a ="}])
    outcome = run("client", "import", file)
    assert (outcome.code, outcome.out) == (
        1,
        "added 1, replaced 0, edited 0, unchanged 0, refused 1\n  1 to event type event\n",
    )
    assert outcome.err.startswith("'bad' is refused: ")
    [record] = run("client", "import", file, "--replace", "--json").json
    assert (record["edited"], [each["id"] for each in record["refused"]]) == (1, ["bad"])


def test_more_than_a_request_takes(run: Run, write: Write, served: Served) -> None:
    file = write("many.jsonl", [{"id": f"s{number}", "condition": "a = 1"} for number in range(4_100)])
    [record] = run("client", "import", file, "--json").json
    assert (record["added"], record["refused"]) == (4_100, [])
    assert [each.path for each in served.asked].count("/v1/subscriptions/import") == 3
    assert len(run("client", "export").json) == 4_100


@pytest.mark.parametrize(
    ("options", "message"),
    [(["none.jsonl"], "none.jsonl: no such file"), (["broken.jsonl"], "broken.jsonl:2: not JSON")],
)
def test_a_file_that_cannot_be_read_is_named(
    run: Run, write: Write, served: Served, options: list[str], message: str
) -> None:
    write("broken.jsonl", "\n{\n")
    outcome = run("client", "import", *options)
    assert (outcome.code, message in outcome.err) == (2, True)


@pytest.mark.slow
def test_a_backup_is_restored_into_an_empty_service(
    run: Run, served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tmp_path / "old", webhook_networks=("127.0.0.1/32",)) as old:
        tenant = old.new_tenant()
        use(monkeypatch, old, tenant)
        theirs = old.token(tenant, "subscribe")
        with Client() as client:
            client.declare({"name": "sale", "attributes": {"price": "double"}})
            made = client.subscribe("price < 3", id="a", event_type="sale", webhook="http://127.0.0.1:9/hook")
            client.pause("a")
        use(monkeypatch, old, "default")
        assert run("client", "export", "--everything", "--output", "backup.jsonl").code == 0
        assert stat.S_IMODE(Path("backup.jsonl").stat().st_mode) == 0o600
        lines = {json.dumps(record, sort_keys=True) for record in run("client", "export", "--everything").json}
    with serving(tmp_path / "new", webhook_networks=("127.0.0.1/32",)) as new:
        use(monkeypatch, new, "default")
        restored = run("client", "import", "backup.jsonl", "--everything")
        assert (restored.code, restored.err) == (0, "")
        assert restored.out.endswith("subscription 1, subscriber 0, refused 0\n")
        again = {json.dumps(record, sort_keys=True) for record in run("client", "export", "--everything").json}
        assert lines <= again, "and the token of the new operator"
        with Client(new.url, token=theirs) as client:
            assert client.resume("a", made.ticket).state == "active"


def test_a_backup_is_for_the_operator(run: Run, write: Write, served: Served) -> None:
    for command in (["export"], ["import", write("backup.jsonl", [{"tenant": {"name": "x", "rights": {}}}])]):
        outcome = run("client", *command, "--everything")
        assert (outcome.code, "(403 forbidden)" in outcome.err) == (1, True)
