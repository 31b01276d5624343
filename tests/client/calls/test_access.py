"""Tokens, tenants and backups, with both clients."""

from __future__ import annotations

import pytest

from tamis.client import Client, ClientError, Rights
from tests.client.conftest import Connect
from tests.client.server import Served


def test_a_token_may_do_what_its_roles_say(client: Client, connect: Connect, tenant: str) -> None:
    made = client.create_token("publish", label="a sensor")
    assert (made.tenant, made.roles, made.label) == (tenant, ("publish",), "a sensor")
    assert made.token is not None and made.token not in repr(made)
    sensor = connect(token=made.token)
    assert sensor.publish({"x": 1}).accepted == 1
    with pytest.raises(ClientError, match="role 'subscribe'") as caught:
        sensor.subscribe("x = 1")
    assert (caught.value.status, caught.value.kind) == (403, "forbidden")
    both = client.create_token(["subscribe", "publish"])
    assert sorted(both.roles) == ["publish", "subscribe"]


def test_a_revoked_token_is_worthless(client: Client, connect: Connect) -> None:
    made = client.create_token("subscribe")
    assert made.id in [each.id for each in client.tokens()]
    assert all(each.token is None for each in client.tokens())
    client.revoke_token(made.id)
    assert made.id not in [each.id for each in client.tokens()]
    with pytest.raises(ClientError, match="not one of this service") as caught:
        [*connect(token=made.token).subscriptions()]
    assert (caught.value.status, caught.value.kind) == (401, "unauthorized")
    with pytest.raises(ClientError, match="there is no token"):
        client.revoke_token(made.id)


def test_an_unknown_role_is_refused(client: Client) -> None:
    with pytest.raises(ClientError, match="roles") as caught:
        client.create_token("boss")
    assert (caught.value.status, caught.value.kind) == (422, "invalid")


def test_the_operator_makes_tenants(served: Served, connect: Connect, client: Client) -> None:
    operator = connect(token=served.token("default"))
    made = operator.set_rights(f"{served.new_tenant()}-b", Rights(subscriptions=7, operators=("cosine",)))
    assert made.rights == Rights(subscriptions=7, operators=("cosine",))
    assert made in operator.tenants()
    token = operator.create_token("subscribe", tenant=made.name).token
    assert [*connect(token=token).subscriptions()] == []
    for ask in (client.tenants, lambda: client.create_token("admin", tenant="default")):
        with pytest.raises(ClientError) as caught:
            ask()
        assert (caught.value.status, caught.value.kind) == (403, "forbidden")


def test_a_backup_is_restored_by_the_operator(
    client: Client, connect: Connect, served: Served, tenant: str
) -> None:
    client.subscribe("x = 1", id="a")
    operator = connect(token=served.token("default"))
    mine = [each for each in operator.backup() if each.get("subscription", {}).get("owner") == tenant]
    assert [each["subscription"]["id"] for each in mine] == [f"{tenant}/a"]
    client.unsubscribe("a")
    done = operator.restore(mine)
    assert (done.subscription, done.refusals) == (1, ())
    assert client.get("a").condition == "x = 1"
    [refusal] = operator.restore(mine).refusals
    assert (refusal.id, "use replace" in refusal.detail) == (f"{tenant}/a", True)
    assert operator.restore(mine, replace=True).subscription == 1
    with pytest.raises(ClientError) as caught:
        client.restore(mine)
    assert caught.value.kind == "forbidden"
