"""Pages of tokens and tenants: what they show, and never a secret."""

from __future__ import annotations

from starlette.testclient import TestClient

from tamis.service.accounts import TenantRights
from tests.service.page.worlds import HOSTILE, World


def test_tokens_are_listed_without_their_secrets(world: World, page: TestClient) -> None:
    made, text = world.service.accounts.new_token("default", ["publish"], HOSTILE)
    found = page.get("/tokens.json")
    secret = text.split("_", 2)[2]
    assert secret not in found.text and secret not in page.get("/tokens").text
    items = {each["id"]: each for each in found.json()["items"]}
    assert (items[made.id]["label"], items[made.id]["roles"]) == (HOSTILE, ["publish"])
    assert [each["is_own"] for each in items.values()].count(True) == 1
    assert found.json()["tenants"] == ["acme", "default"]
    assert f'data-revoke="{made.id}"' in page.get("/tokens").text
    own = next(each["id"] for each in items.values() if each["is_own"])
    assert f'data-revoke="{own}"' not in page.get("/tokens").text, "one does not lock oneself out"


def test_tenants_are_listed_with_their_rights(world: World, page: TestClient) -> None:
    world.service.accounts.set_rights("acme", TenantRights(events_per_second=2.5, operators=()))
    found = page.get("/tenants.json").json()
    assert (found["name"], found["rights"]["subscriptions"]) == ("", 1_000_000)
    acme = next(each for each in found["items"] if each["name"] == "acme")
    assert (acme["rights"]["events_per_second"], acme["rights"]["operators"], acme["subscriptions"]) == (
        2.5,
        [],
        1,
    )
    chosen = page.get("/tenants?name=acme").text
    assert 'value="2.5"' in chosen and 'value="none"' in chosen, "no operator is not the same as all"
    assert page.get("/tenants.json?name=nobody").json()["name"] == ""
