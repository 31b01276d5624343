"""Tenants and their rights, tokens, tickets and advertisements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tamis.errors import TamisError
from tamis.service.accounts import AccountError, Accounts, TenantRights
from tamis.service.credentials import new_secret
from tamis.store import Store


@pytest.fixture
def accounts(url: str) -> Iterator[Accounts]:
    opened = Accounts(url)
    yield opened
    opened.close()


# --- tenants -----------------------------------------------------------------------------------------------------


def test_the_tenant_default_is_there_from_the_start(accounts: Accounts, url: str) -> None:
    accounts.set_rights("default", TenantRights(subscriptions=5))
    again = Accounts(url)
    assert again.tenants() == {"default": TenantRights(subscriptions=5)}, "opening changes nothing"
    again.close()


def test_rights_come_back_as_they_were_set(accounts: Accounts) -> None:
    rights = TenantRights(7, 1.5, 100, 3, ("near", "like"))
    accounts.set_rights("acme", rights)
    assert accounts.rights("acme") == rights
    accounts.set_rights("acme", TenantRights())
    assert accounts.rights("acme") == TenantRights()
    assert accounts.rights("nobody") is None


def test_a_right_of_another_version_locks_nobody_out(accounts: Accounts) -> None:
    accounts.set_rights("acme", TenantRights(subscriptions=5))
    with accounts.database.writing() as connection:
        connection.exec_driver_sql("""UPDATE tamis_tenants SET rights = '{"subscriptions": 5, "fly": true}'""")
    assert accounts.rights("acme") == TenantRights(subscriptions=5)


def test_what_is_no_name_of_a_tenant_is_refused(accounts: Accounts) -> None:
    with pytest.raises(TamisError, match="tenant: expected"):
        accounts.set_rights("Acme/x", TenantRights())


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"matches": 1}, "there is no right 'matches'; expected subscriptions"),
        ({"subscriptions": 0}, "subscriptions: expected a whole number greater than 0"),
        ({"subscriptions": 1.5}, "subscriptions: expected a whole number"),
        ({"matches_per_minute": True}, "matches_per_minute: expected a whole number"),
        ({"events_per_second": "1"}, "events_per_second: expected a number"),
        ({"operators": "near"}, "operators: expected a list of names"),
    ],
)
def test_rights_must_make_sense(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(AccountError, match=f"rights: {problem}"):
        TenantRights.of(given)


# --- tokens ------------------------------------------------------------------------------------------------------


def test_a_token_that_could_not_be_kept_is_none(accounts: Accounts) -> None:
    def fail(_: str) -> None:
        msg = "the disk is full"
        raise OSError(msg)

    with pytest.raises(OSError, match="full"):
        accounts.new_token("default", ["admin"], keep=fail)
    assert accounts.tokens("default") == []
    kept: list[str] = []
    _, text = accounts.new_token("default", ["admin"], keep=kept.append)
    assert kept == [text]


def test_a_token_speaks_for_its_tenant_in_its_roles(accounts: Accounts) -> None:
    accounts.set_rights("acme", TenantRights())
    token, text = accounts.new_token("acme", ["publish"], "the shop")
    caller = accounts.caller(text)
    assert caller is not None
    assert (caller.tenant, caller.token, caller.may("publish"), caller.may("subscribe")) == (
        *("acme", token.id, True),
        False,
    )
    assert [(each.id, each.label) for each in accounts.tokens("acme")] == [(token.id, "the shop")]


def test_an_administrator_may_do_everything(accounts: Accounts) -> None:
    _, text = accounts.new_token("default", ["admin"])
    caller = accounts.caller(text)
    assert caller is not None
    assert caller.may("publish") and caller.may("subscribe")


def test_what_was_not_handed_out_is_nobodys_token(accounts: Accounts) -> None:
    _, text = accounts.new_token("default", ["admin"])
    prefix, id, secret = text.split("_", 2)
    for wrong in (
        "",
        id,
        f"{prefix}_{id}",
        f"{prefix}_{id}_",
        f"{text}x",
        f"{prefix}_other_{secret}",
        f"x_{id}_{secret}",
    ):
        assert accounts.caller(wrong) is None
    assert accounts.caller(f"{prefix}_\0_{secret}") is None


def test_a_token_that_was_removed_is_nobodys(accounts: Accounts) -> None:
    token, text = accounts.new_token("default", ["admin"])
    assert not accounts.remove_token("acme", token.id), "of another tenant"
    assert accounts.caller(text) is not None
    assert accounts.remove_token("default", token.id)
    assert accounts.caller(text) is None


@pytest.mark.parametrize(
    ("tenant", "roles", "problem"),
    [
        ("default", ["root"], "there is no role 'root'"),
        ("default", [], "at least one role"),
        ("nobody", ["admin"], "there is no tenant 'nobody'"),
    ],
)
def test_a_token_is_of_a_tenant_and_has_roles(
    accounts: Accounts, tenant: str, roles: list[str], problem: str
) -> None:
    with pytest.raises(AccountError, match=problem):
        accounts.new_token(tenant, roles)


def test_no_secret_is_in_the_database(accounts: Accounts) -> None:
    _, text = accounts.new_token("default", ["admin"])
    secret = text.split("_", 2)[2]
    with accounts.database.reading() as connection:
        rows = connection.exec_driver_sql("SELECT * FROM tamis_tokens").all()
    assert secret.encode() not in b" ".join(bytes(each) for row in rows for each in row if isinstance(each, bytes))
    assert secret not in str(rows)


# --- tickets and advertisements ----------------------------------------------------------------------------------


def test_a_ticket_opens_its_own_subscription_only(accounts: Accounts) -> None:
    tickets = {id: new_secret() for id in ("t/a", "t/b")}
    with accounts.database.writing() as connection:
        Accounts.write_tickets(connection, {id: sealed for id, (_, sealed) in tickets.items()})
    assert accounts.is_ticket_of("t/a", tickets["t/a"][0])
    assert not accounts.is_ticket_of("t/a", tickets["t/b"][0])
    assert not accounts.is_ticket_of("t/c", tickets["t/a"][0])
    accounts.forget_tickets(["t/a"])
    assert not accounts.is_ticket_of("t/a", tickets["t/a"][0])


def test_tickets_of_ended_subscriptions_are_forgotten(accounts: Accounts, url: str) -> None:
    with Store.open(url) as store:
        for id in ("stays", "pauses", "goes"):
            store.add(id, "true")
        tickets = {id: new_secret() for id in ("stays", "pauses", "goes")}
        with accounts.database.writing() as connection:
            Accounts.write_tickets(connection, {id: sealed for id, (_, sealed) in tickets.items()})
        store.pause("pauses")
        store.remove("goes")
        assert accounts.forget_ended_tickets() == 1
    opened = [id for id, (ticket, _) in tickets.items() if accounts.is_ticket_of(id, ticket)]
    assert opened == ["stays", "pauses"]


def test_an_advertisement_is_kept_until_it_is_withdrawn(accounts: Accounts) -> None:
    assert accounts.advertise("t", "t/shop", "price > 0", "t/sale")
    assert not accounts.advertise("t", "t/shop", "price > 1", "t/sale")
    [found] = accounts.advertisements("t")
    assert (found.id, found.condition, found.event_type) == ("t/shop", "price > 1", "t/sale")
    assert accounts.advertisements("u") == []
    assert accounts.withdraw("t/shop")
    assert not accounts.withdraw("t/shop")
