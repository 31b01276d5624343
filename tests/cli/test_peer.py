"""Links from the command line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tamis.client import Client
from tests.cli.conftest import Run
from tests.client.server import Served, serving

URL = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("service"), site="south") as served:
        yield served


@pytest.fixture
def client(running: Served, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """The operator, whom commands find by the environment; no links are left."""
    monkeypatch.setenv("TAMIS_URL", running.url)
    monkeypatch.setenv("TAMIS_TOKEN", running.token("default"))
    with Client() as made:
        yield made
        for each in made.peers():
            made.unlink_peer(each.name)


def test_a_link_is_added_listed_shown_and_removed(run: Run, client: Client) -> None:
    added = run("peer", "add", "north", URL)
    assert added.code == 0, added.err
    first, second = added.out.splitlines()
    assert first == f"link to 'north' at {URL}"
    assert second.startswith("the other end needs its token: --link-token link_")
    [listed] = run("peer", "list", "--json").json
    assert (listed["name"], listed["url"], listed["backlog"]) == ("north", URL, 0)
    line = run("peer", "list").out
    assert line.startswith(f"north  new  {URL}  0 entries in, 0 out  0 events sent, 0 in vain, 0 waiting, 0 taken")
    shown = run("peer", "status", "north")
    assert shown.code == 1  # nobody is there
    assert f"url: {URL}" in shown.out.splitlines()
    assert run("peer", "remove", "north").out == "link to 'north' removed\n"
    assert run("peer", "remove", "north").code == 1
    assert run("peer", "status", "north").code == 1
    assert client.peers() == ()


def test_the_other_end_is_told_the_token(run: Run, client: Client) -> None:
    [made] = run("peer", "add", "north", URL, "--link-token", "0123456789abcdef", "--json").json
    assert made == {"name": "north", "url": URL, "token": "0123456789abcdef", "state": "new"}
    [removed] = run("peer", "remove", "north", "--json").json
    assert removed == {"name": "north", "state": "removed"}


def test_what_cannot_be_a_link_is_refused(run: Run, client: Client) -> None:
    refused = run("peer", "add", "south", URL)
    assert refused.code == 1
    assert "this site is called 'south' itself" in refused.err
