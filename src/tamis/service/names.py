"""Names qualified by tenants, which keep tenants apart.

The service calls subscriptions, events and event types `tenant/name`. So tenants never share a name, and an event
of one tenant never matches a subscription of another, since their event types differ. A tenant sees local names
only, without the tenant in front, and none of other tenants.
"""

from __future__ import annotations

import re

from tamis.errors import TamisError

_TENANT = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_BETWEEN = "/"
_LINK = "~link"
"""In place of a tenant, in the names of routing entries; no tenant is called so."""
SUBSCRIBER = "@"
"""What a name of a subscriber begins with, and the id of no subscription."""


def check_tenant(name: str) -> str:
    """The name of a tenant, if it is one.

    Raises:
        TamisError: It is not.
    """
    if _TENANT.fullmatch(name) is None:
        msg = f"tenant: expected 1 to 63 of a-z, 0-9 and -, not starting with -, found {name!r}"
        raise TamisError(msg)
    return name


def qualified_name(tenant: str, name: str) -> str:
    """The name by which the service knows what a tenant calls `name`.

    >>> qualified_name("acme", "cheap")
    'acme/cheap'
    """
    return f"{tenant}{_BETWEEN}{name}"


def local_name(name: str) -> str:
    """The name without its tenant.

    >>> local_name("acme/cheap/books")
    'cheap/books'
    """
    return name.partition(_BETWEEN)[2]


def own_name(tenant: str, name: str) -> str | None:
    """What a tenant calls something; None for a name of another tenant.

    >>> own_name("acme", "acme/cheap"), own_name("acme", "other/cheap")
    ('cheap', None)
    """
    return local_name(name) if tenant_of(name) == tenant else None


def tenant_of(name: str) -> str:
    """The tenant of a qualified name.

    >>> tenant_of("acme/cheap/books")
    'acme'
    """
    return name.partition(_BETWEEN)[0]


def link_owner(link: str) -> str:
    """The owner of the routing entries that came over a link, and what their ids begin with.

    >>> link_owner("north")
    '~link/north'
    """
    return f"{_LINK}{_BETWEEN}{link}"


def link_of(name: str) -> str | None:
    """The link that a routing entry came over, by its id or owner; None for a subscription of a tenant.

    >>> link_of("~link/north/4f3a"), link_of("acme/cheap")
    ('north', None)
    """
    return name.split(_BETWEEN, 2)[1] if name.startswith(f"{_LINK}{_BETWEEN}") else None


def subscriber_address(tenant: str, subscriber: str) -> str:
    """Under which the messages of a subscriber are in the feed, where a subscription has its id.

    >>> subscriber_address("acme", "ann")
    'acme/@ann'
    """
    return qualified_name(tenant, SUBSCRIBER + subscriber)


def subscriber_of(owner: str | None) -> str | None:
    """The subscriber whose address an owner in the store is, if it is one; others are tenants.

    >>> subscriber_of("acme/@ann"), subscriber_of("acme")
    ('ann', None)
    """
    name = "" if owner is None else local_name(owner)
    return name.removeprefix(SUBSCRIBER) if name.startswith(SUBSCRIBER) else None
