"""How the names of tenants keep out of each other's way.

Inside, subscriptions, events and event types are called `tenant/name`: two tenants never share one, and an event
of one can never meet a subscription of another, since their event types differ. Outside, a tenant sees its own
names only, without itself in front.
"""

from __future__ import annotations

import re

from tamis.errors import TamisError

_TENANT = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_BETWEEN = "/"


def check_tenant(name: str) -> str:
    """The name of a tenant, if it is one.

    Raises:
        TamisError: It is not.
    """
    if _TENANT.fullmatch(name) is None:
        msg = f"tenant: expected 1 to 63 of a-z, 0-9 and -, not starting with -, found {name!r}"
        raise TamisError(msg)
    return name


def inside(tenant: str, name: str) -> str:
    """What a name of a tenant is called inside.

    >>> inside("acme", "cheap")
    'acme/cheap'
    """
    return f"{tenant}{_BETWEEN}{name}"


def outside(name: str) -> str:
    """What the tenant calls it.

    >>> outside("acme/cheap/books")
    'cheap/books'
    """
    return name.partition(_BETWEEN)[2]


def tenant_of(name: str) -> str:
    """Whose it is.

    >>> tenant_of("acme/cheap/books")
    'acme'
    """
    return name.partition(_BETWEEN)[0]
