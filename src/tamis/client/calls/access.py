"""Calls about tokens and tenants; they need a token with the role "admin"."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from tamis.client.answers import Rights, Tenant, Token
from tamis.client.calls.base import Call, delete, get, given, post, put, under
from tamis.client.reading import items, member, read

_TOKENS = "/v1/tokens"
_TENANTS = "/v1/tenants"


def tokens() -> Call[tuple[Token, ...]]:
    """All tokens of one's tenant, without the tokens themselves."""
    return get(_TOKENS, lambda answer: items(Token, member(answer, "items")))


def create_token(
    roles: str | Iterable[str], *, label: str | None = None, tenant: str | None = None
) -> Call[Token]:
    """Make a token.

    It is sent once: a token whose answer is lost is of no use to anybody; `tokens` shows it.

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
    body = {"roles": wanted, **given(label=label, tenant=tenant)}
    return post(_TOKENS, lambda answer: read(Token, answer), body)


def revoke_token(id: str) -> Call[None]:
    """Make a token worthless.

    Raises:
        ClientError: "not-found".
    """
    return delete(under(_TOKENS, id))


def tenants() -> Call[tuple[Tenant, ...]]:
    """All tenants; for the operator of the service only."""
    return get(_TENANTS, lambda answer: items(Tenant, member(answer, "items")))


def set_rights(tenant: str, rights: Rights) -> Call[Tenant]:
    """Make a tenant, or change what it may use; for the operator of the service only.

    Args:
        tenant: Its name: a-z, 0-9 and -.
        rights: All of them.
    """
    return put(under(_TENANTS, tenant), lambda answer: read(Tenant, answer), asdict(rights))
