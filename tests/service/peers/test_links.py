"""Links in the database: their names and tokens, their states, and no cycles."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tamis.service.errors import NotFound
from tamis.service.neighbours import Neighbour
from tamis.service.peers.links import CUT, DOWN, LINKED, NEW, REFUSED, LinkError, Links
from tamis.sql.database import Database

URL, TOKEN = "http://127.0.0.1:1", "0123456789abcdef"


@pytest.fixture
def links(tmp_path: Path) -> Iterator[Links]:
    database = Database(tmp_path / "links.db")
    yield Links(database, "here")
    database.close()


def test_a_link_gets_a_token_and_keeps_it(links: Links) -> None:
    made = links.put("north", URL + "/")
    assert (made.url, made.state, made.origin) == (URL, NEW, "api")
    assert made.opens(made.token) and not made.opens(made.token + "x") and not made.opens("")
    assert links.put("north", "http://127.0.0.1:2").token == made.token
    assert links.put("north", URL, TOKEN).opens(TOKEN)
    links.remove("north")
    for ask in (links.get, links.remove):
        with pytest.raises(NotFound):
            ask("north")


@pytest.mark.parametrize(
    ("name", "url", "token", "kind"),
    [
        ("North", URL, TOKEN, "name"),
        ("here", URL, TOKEN, "name"),
        ("~link", URL, TOKEN, "name"),
        ("north", "ftp://x", TOKEN, "url"),
        ("north", "http://", TOKEN, "url"),
        ("north", "http://a b", TOKEN, "url"),
        ("north", URL, "short", "token"),
        ("north", URL, "tamis_4f3a_0123456789abcdef", "token"),
    ],
)
def test_what_cannot_be_a_link_is_refused_by_kind(
    links: Links, name: str, url: str, token: str, kind: str
) -> None:
    with pytest.raises(LinkError) as caught:
        links.put(name, url, token)
    assert caught.value.kind == kind
    assert links.all() == []


def test_a_service_without_a_name_has_no_links(tmp_path: Path) -> None:
    database = Database(tmp_path / "links.db")
    with pytest.raises(LinkError, match="set site") as caught:
        Links(database, "").put("north", URL, TOKEN)
    assert caught.value.kind == "settings"
    database.close()


def test_links_of_the_settings_come_and_go_with_them(links: Links) -> None:
    links.put("west", URL, TOKEN)
    links.adopt([Neighbour("north", URL, TOKEN), Neighbour("south", URL, TOKEN)])
    links.note("north", LINKED)
    links.adopt([Neighbour("north", URL, TOKEN)])
    assert [(each.name, each.origin, each.state) for each in links.all()] == [
        ("north", "settings", LINKED),
        ("west", "api", NEW),
    ]


def test_a_link_that_leads_where_another_one_leads_is_refused(links: Links) -> None:
    for name in ("north", "south"):
        links.put(name, URL, TOKEN)
    links.note("north", LINKED)
    links.reach("north", ["far"])
    assert links.reach_without("south") == {"north", "far"}
    links.check_acyclic("south", ["other"])
    for behind in (["far"], ["north"], ["here"]):
        with pytest.raises(LinkError, match=behind[0]) as caught:
            links.check_acyclic("south", behind)
        assert caught.value.kind == "cycle"
    links.note("north", DOWN)  # it may come back at any moment
    with pytest.raises(LinkError):
        links.check_acyclic("south", ["far"])


@pytest.mark.parametrize("state", [NEW, REFUSED, CUT])
def test_a_link_that_is_not_in_use_leads_nowhere(links: Links, state: str) -> None:
    links.put("north", URL, TOKEN)
    links.reach("north", ["far"])
    links.note("north", state, LinkError("a reason", "cycle"))
    assert (links.get("north").kind, links.get("north").reason) == ("cycle", "a reason")
    assert links.reach_without("south") == frozenset()
    links.check_acyclic("south", ["far"])
