"""Access to a store, which the commands of `tamis subs` share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

if TYPE_CHECKING:
    from tamis.store import Store, StoredSubscription

StoreUrl: TypeAlias = Annotated[
    str,
    typer.Option(
        "--store",
        envvar="TAMIS_STORE",
        metavar="URL",
        show_envvar=False,
        help="The store: a SQLite file or postgresql://...; by default $TAMIS_STORE, else tamis.db.",
    ),
]


@contextmanager
def open_store(url: str, *, create: bool = True) -> Iterator[Store]:
    """The store for one command; errors become a message and exit code 2."""
    from tamis.cli.output import fail, printing_errors

    try:
        from tamis.store import Store
    except ImportError as error:
        fail(str(error))
    with printing_errors(), Store.open(url, create=create) as store:
        yield store


def stored_record(stored: StoredSubscription) -> dict[str, Any]:
    """A subscription as a JSON record: the given fields, then its state."""
    return {
        **given_record(stored),
        "revision": stored.revision,
        "state": stored.state if stored.refusal is None else "refused",
        "refusal": stored.refusal,
        "created": stored.created.isoformat(),
        "changed": stored.changed.isoformat(),
    }


def given_record(stored: StoredSubscription) -> dict[str, Any]:
    """The fields that were given for a subscription, as `tamis subs import` reads them."""
    return {
        "id": stored.id,
        "condition": stored.condition,
        **({} if stored.dialect == "sql" else {"dialect": stored.dialect}),
        "event_type": stored.event_type,
        "owner": stored.owner,
        "label": stored.label,
        "priority": stored.priority,
        "valid_from": None if stored.valid_from is None else stored.valid_from.isoformat(),
        "expires": None if stored.expires is None else stored.expires.isoformat(),
        "state": stored.state,
    }
