"""Calls about tokens, tenants and backups; they need a token with the role "admin"."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from tamis.client.calls.base import JSON_LINES, ApiCall, as_json, delete, get, post, put, under, without_none
from tamis.client.decoding import decode, decode_items, member
from tamis.client.models import Restored, Rights, Tenant, Token

_TOKENS = "/v1/tokens"
_TENANTS = "/v1/tenants"
_BACKUP = "/v1/backup"


def tokens() -> ApiCall[tuple[Token, ...]]:
    """All tokens of one's tenant, without the tokens themselves."""
    return get(_TOKENS, lambda answer: decode_items(Token, member(answer, "items")))


def create_token(
    roles: str | Iterable[str], *, label: str | None = None, tenant: str | None = None
) -> ApiCall[Token]:
    """Make a token.

    It is sent once: a token whose answer is lost cannot be used; `tokens` lists it.

    Args:
        roles: "publish", "subscribe" or "admin", or several of them.
        label: What people call it.
        tenant: For whom; by default the tenant of one's own token. Another one is for the operator of the
            service only, an administrator of the tenant "default".

    Returns:
        It, with the token itself, which nothing can show again.

    Raises:
        ClientError: "invalid" if there is no such role or tenant, "forbidden".
    """
    wanted = [roles] if isinstance(roles, str) else [*roles]
    body = {"roles": wanted, **without_none(label=label, tenant=tenant)}
    return post(_TOKENS, lambda answer: decode(Token, answer), body)


def revoke_token(id: str) -> ApiCall[None]:
    """Revoke a token.

    Raises:
        ClientError: "not-found".
    """
    return delete(under(_TOKENS, id))


def tenants() -> ApiCall[tuple[Tenant, ...]]:
    """All tenants; for the operator of the service only."""
    return get(_TENANTS, lambda answer: decode_items(Tenant, member(answer, "items")))


def set_rights(tenant: str, rights: Rights) -> ApiCall[Tenant]:
    """Make a tenant, or change what it may use; for the operator of the service only.

    Args:
        tenant: Its name: a-z, 0-9 and -.
        rights: All of them.
    """
    return put(under(_TENANTS, tenant), lambda answer: decode(Tenant, answer), asdict(rights))


def backup() -> ApiCall[Mapping[str, Any]]:
    """Everything that people have set up, of all tenants, record after record; for the operator only.

    Tokens and tickets are in it as salted hashes, the secrets of webhooks as they are: keep it safe.
    """
    return get(_BACKUP, lambda answer: answer)


def restore(records: Iterable[Mapping[str, Any]], *, replace: bool = False) -> ApiCall[Restored]:
    """Set up what records of a backup say; for the operator only.

    Args:
        records: What `backup` gave, all of it or parts of it in that order.
        replace: Change subscriptions that are there already?
    """
    lines = b"".join(as_json(each) + b"\n" for each in records)
    query = {"replace": True} if replace else {}
    return ApiCall(
        "POST", _BACKUP, lambda answer: decode(Restored, answer), query, lines, JSON_LINES, repeatable=replace
    )
