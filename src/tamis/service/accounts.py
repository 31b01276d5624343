"""Tenants, the tokens that speak for them, and the tickets of their subscriptions.

They are in the database of the subscriptions, so that a subscription and its ticket are written together.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any, Literal, TypeAlias, get_args
from uuid import uuid4

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    LargeBinary,
    MetaData,
    Table,
    Text,
    exists,
    insert,
    select,
    update,
)

from tamis.errors import TamisError
from tamis.service.credentials import Sealed, new_secret
from tamis.service.names import check_tenant
from tamis.sql.database import Database
from tamis.store.records import microseconds, moment, now_us
from tamis.store.tables import LIVING, subscriptions

Role: TypeAlias = Literal["publish", "subscribe", "admin"]
Conformity: TypeAlias = Literal["off", "warn", "refuse"]
ROLES: tuple[Role, ...] = get_args(Role)
DEFAULT_TENANT = "default"
TOKEN_PREFIX = "tamis"

metadata = MetaData()

tenants = Table(
    "tamis_tenants",
    metadata,
    Column("name", Text, primary_key=True),
    Column("rights", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
)

tokens = Table(
    "tamis_tokens",
    metadata,
    Column("id", Text, primary_key=True),
    Column("tenant", Text, nullable=False, index=True),
    Column("roles", Text, nullable=False),
    Column("label", Text, nullable=False),
    Column("salt", LargeBinary, nullable=False),
    Column("hash", LargeBinary, nullable=False),
    Column("created", BigInteger, nullable=False),
)

tickets = Table(
    "tamis_tickets",
    metadata,
    Column("subscription_id", Text, primary_key=True),
    Column("salt", LargeBinary, nullable=False),
    Column("hash", LargeBinary, nullable=False),
)

advertisements = Table(
    "tamis_advertisements",
    metadata,
    Column("id", Text, primary_key=True),
    Column("tenant", Text, nullable=False, index=True),
    Column("condition", Text, nullable=False),
    Column("event_type", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
    # It came later: a database of an earlier version gets it when it is opened.
    Column("token", Text),
)


class AccountError(TamisError):
    """A tenant, token or role is not what it should be."""


@dataclass(frozen=True, slots=True)
class TenantRights:
    """What a tenant may use.

    Attributes:
        subscriptions: How many it may have; None for any number.
        requests_per_second: Of its clients together; None for any number.
        events_per_second: That it may publish; None for any number.
        matches_per_minute: Notifications of each of its subscriptions; None for any number.
        operators: That its conditions may call; None for all.
        conformity: What becomes of events that are not as their publishers advertise: "off", nothing; "warn", the
            answer to publishing says so; "refuse", none of the request is taken.
    """

    subscriptions: int | None = 1_000_000
    requests_per_second: float | None = None
    events_per_second: float | None = None
    matches_per_minute: int | None = None
    operators: tuple[str, ...] | None = None
    conformity: Conformity = "off"

    def __post_init__(self) -> None:
        for name in ("subscriptions", "requests_per_second", "events_per_second", "matches_per_minute"):
            value = getattr(self, name)
            whole = name in ("subscriptions", "matches_per_minute")
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, int if whole else (int, float)) or value <= 0
            ):
                kind = "whole number" if whole else "number"
                msg = f"rights: {name}: expected a {kind} greater than 0, or null for any, found {value!r}"
                raise AccountError(msg)
        if self.conformity not in get_args(Conformity):
            msg = f"rights: conformity: expected {', '.join(get_args(Conformity))}, found {self.conformity!r}"
            raise AccountError(msg)
        if self.operators is not None:
            given: Any = self.operators
            if not isinstance(given, list | tuple) or not all(isinstance(name, str) for name in given):
                msg = f"rights: operators: expected a list of names, or null for all, found {self.operators!r}"
                raise AccountError(msg)
            object.__setattr__(self, "operators", tuple(self.operators))

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> TenantRights:
        """The rights of a mapping; what is not given is the default.

        Raises:
            AccountError: There is no such right, or it is not what it should be.
        """
        known = [field.name for field in fields(cls)]
        for name in given:
            if name not in known:
                msg = f"rights: there is no right {name!r}; expected {', '.join(known)}"
                raise AccountError(msg)
        return cls(**given)

    @classmethod
    def from_stored(cls, text: str) -> TenantRights:
        """The rights that are in a database; those that this version does not have are passed over."""
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in json.loads(text).items() if name in known})


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a request: a tenant with some roles.

    Attributes:
        tenant: Its name.
        roles: What it may do.
        token: The id of its token, None for an anonymous publisher.
        label: What people call the token.
    """

    tenant: str
    roles: frozenset[Role]
    token: str | None
    label: str = ""

    @property
    def is_operator(self) -> bool:
        """Does it operate the whole service? An administrator of the tenant `default` does."""
        return self.tenant == DEFAULT_TENANT and self.may("admin")

    def actor(self, *, without_ticket: bool = False) -> str:
        """What the history of subscriptions says of changes that it makes.

        >>> Caller("acme", frozenset({"admin"}), "4f3a", "Ann's laptop").actor(without_ticket=True)
        "token 4f3a, admin without a ticket: Ann's laptop"
        """
        right = ", admin without a ticket" if without_ticket else ""
        return f"token {self.token}{right}" + (f": {self.label}" if self.label else "")

    def may(self, role: Role) -> bool:
        """Is it allowed to? An admin is allowed everything within the tenant."""
        return role in self.roles or "admin" in self.roles


@dataclass(frozen=True, slots=True)
class StoredToken:
    """A token, without its secret."""

    id: str
    tenant: str
    roles: tuple[Role, ...]
    label: str
    created: datetime


@dataclass(frozen=True, slots=True)
class StoredAdvertisement:
    """What a publisher says its events are like.

    Attributes:
        id: Its qualified name.
        condition: That they satisfy.
        event_type: Their type, under its qualified name.
        created: When it was said last.
        token: The id of the publisher's token; None for all publishers of the tenant.
    """

    id: str
    condition: str
    event_type: str
    created: datetime
    token: str | None = None


class Accounts:
    """Who may do what; all methods may be called from any thread and process."""

    def __init__(self, url: str) -> None:
        """Connect, and make the tables and the tenant `default` if need be."""
        self.database = Database(url, metadata)
        if self.rights(DEFAULT_TENANT) is None:
            self.set_rights(DEFAULT_TENANT, TenantRights())

    # --- tenants -----------------------------------------------------------------------------------------

    def tenants(self) -> dict[str, TenantRights]:
        """All tenants, and what they may use."""
        with self.database.reading() as connection:
            rows = connection.execute(select(tenants.c.name, tenants.c.rights).order_by(tenants.c.name)).all()
        return {row.name: TenantRights.from_stored(row.rights) for row in rows}

    def rights(self, tenant: str) -> TenantRights | None:
        """What a tenant may use; None if there is no such tenant."""
        with self.database.reading() as connection:
            text = connection.execute(select(tenants.c.rights).where(tenants.c.name == tenant)).scalar()
        return None if text is None else TenantRights.from_stored(text)

    def set_rights(self, tenant: str, rights: TenantRights) -> None:
        """Make a tenant, or change what it may use."""
        text = json.dumps(asdict(rights))
        with self.database.writing() as connection:
            changed = connection.execute(update(tenants).where(tenants.c.name == tenant).values(rights=text))
            if not changed.rowcount:
                check_tenant(tenant)
                connection.execute(insert(tenants).values(name=tenant, rights=text, created=now_us()))

    # --- tokens ------------------------------------------------------------------------------------------

    def new_token(
        self, tenant: str, roles: Iterable[str], label: str = "", keep: Callable[[str], None] | None = None
    ) -> tuple[StoredToken, str]:
        """Make a token; returns it and its text, which is not stored and cannot be shown again.

        Args:
            tenant: For whom.
            roles: What it may do.
            label: What people call it.
            keep: Called with the text before the token works: if that fails, or never ends, there is no token.

        Raises:
            AccountError: There is no such tenant or role.
        """
        wanted = [*dict.fromkeys(roles)]
        self._check_token(tenant, wanted)
        id, created = uuid4().hex[:12], now_us()
        secret, sealed = new_secret()
        text = f"{TOKEN_PREFIX}_{id}_{secret}"
        row = {"id": id, "tenant": tenant, "roles": " ".join(wanted), "label": label, "created": created}
        with self.database.writing() as connection:
            connection.execute(insert(tokens).values(**row, salt=sealed.salt, hash=sealed.hash))
            if keep is not None:
                keep(text)
        return _token(row), text

    def tokens(self, tenant: str) -> list[StoredToken]:
        """The tokens of a tenant, the oldest first."""
        columns = [tokens.c[name] for name in ("id", "tenant", "roles", "label", "created")]
        query = select(*columns).where(tokens.c.tenant == tenant).order_by(tokens.c.created, tokens.c.id)
        with self.database.reading() as connection:
            return [_token(row._mapping) for row in connection.execute(query)]

    def sealed_tokens(self, tenant: str) -> list[tuple[StoredToken, Sealed]]:
        """The tokens of a tenant with what is kept of their secrets, the oldest first."""
        query = select(tokens).where(tokens.c.tenant == tenant).order_by(tokens.c.created, tokens.c.id)
        with self.database.reading() as connection:
            return [(_token(row._mapping), Sealed(row.salt, row.hash)) for row in connection.execute(query)]

    def put_token(self, token: StoredToken, sealed: Sealed) -> None:
        """Keep a token of a backup, in place of the one of that id.

        Raises:
            AccountError: There is no such tenant or role.
        """
        self._check_token(token.tenant, token.roles)
        row = asdict(token) | {"roles": " ".join(token.roles), "created": microseconds(token.created)}
        with self.database.writing() as connection:
            connection.execute(tokens.delete().where(tokens.c.id == token.id))
            connection.execute(insert(tokens).values(**row, **sealed._asdict()))

    def _check_token(self, tenant: str, roles: Sequence[str]) -> None:
        if unknown := [role for role in roles if role not in ROLES]:
            msg = f"there is no role {unknown[0]!r}; expected some of {', '.join(ROLES)}"
            raise AccountError(msg)
        if not roles:
            msg = f"a token has at least one role of {', '.join(ROLES)}"
            raise AccountError(msg)
        if self.rights(tenant) is None:
            msg = f"there is no tenant {tenant!r}"
            raise AccountError(msg)

    def remove_token(self, tenant: str, id: str) -> bool:
        """Remove a token, and what is advertised under it; was there one?"""
        which = tokens.c.tenant == tenant, tokens.c.id == id
        theirs = advertisements.c.tenant == tenant, advertisements.c.token == id
        with self.database.writing() as connection:
            connection.execute(advertisements.delete().where(*theirs))
            return connection.execute(tokens.delete().where(*which)).rowcount > 0

    def caller(self, text: str) -> Caller | None:
        """The caller that a token's text stands for; None if it is not valid."""
        prefix, _, rest = text.partition("_")
        id, _, secret = rest.partition("_")
        if prefix != TOKEN_PREFIX or not secret or "\0" in id:
            return None
        with self.database.reading() as connection:
            row = connection.execute(select(tokens).where(tokens.c.id == id)).first()
        if row is None or not Sealed(row.salt, row.hash).opens(secret):
            return None
        return Caller(row.tenant, frozenset(_token(row._mapping).roles), row.id, row.label)

    # --- tickets -----------------------------------------------------------------------------------------

    @staticmethod
    def write_tickets(connection: Connection, sealed: Mapping[str, Sealed]) -> None:
        """Keep what tickets of subscriptions open, within a transaction of the same database."""
        ids = [*sealed]
        for start in range(0, len(ids), 500):
            connection.execute(tickets.delete().where(tickets.c.subscription_id.in_(ids[start : start + 500])))
        rows = [{"subscription_id": id, "salt": each.salt, "hash": each.hash} for id, each in sealed.items()]
        if rows:
            connection.execute(insert(tickets), rows)

    def sealed_tickets(self, subscription_ids: Sequence[str]) -> dict[str, Sealed]:
        """What is kept of the tickets of subscriptions; of so many as a query may name."""
        query = select(tickets).where(tickets.c.subscription_id.in_(subscription_ids))
        with self.database.reading() as connection:
            return {row.subscription_id: Sealed(row.salt, row.hash) for row in connection.execute(query)}

    def is_ticket_of(self, subscription_id: str, ticket: str) -> bool:
        """Is this the ticket of the subscription?"""
        query = select(tickets.c.salt, tickets.c.hash).where(tickets.c.subscription_id == subscription_id)
        with self.database.reading() as connection:
            row = connection.execute(query).first()
        return row is not None and Sealed(row.salt, row.hash).opens(ticket)

    def forget_tickets(self, subscription_ids: Sequence[str]) -> None:
        """Delete the tickets of subscriptions."""
        with self.database.writing() as connection:
            connection.execute(tickets.delete().where(tickets.c.subscription_id.in_(subscription_ids)))

    def forget_ended_tickets(self) -> int:
        """Remove the tickets of subscriptions that have ended; gives how many."""
        there = subscriptions.c.id == tickets.c.subscription_id, subscriptions.c.state.in_(LIVING)
        with self.database.writing() as connection:
            return connection.execute(tickets.delete().where(~exists().where(*there))).rowcount

    # --- advertisements ----------------------------------------------------------------------------------

    def advertisements(self, tenant: str) -> list[StoredAdvertisement]:
        """What the publishers of a tenant advertise, with qualified names."""
        query = select(advertisements).where(advertisements.c.tenant == tenant).order_by(advertisements.c.id)
        with self.database.reading() as connection:
            return [
                StoredAdvertisement(row.id, row.condition, row.event_type, _time(row.created), row.token)
                for row in connection.execute(query)
            ]

    def advertise(self, tenant: str, id: str, condition: str, event_type: str, token: str | None = None) -> bool:
        """Keep an advertisement of the publisher with a token, over the one of that id; is it new?"""
        values = {"condition": condition, "event_type": event_type, "created": now_us(), "token": token}
        with self.database.writing() as connection:
            changed = connection.execute(update(advertisements).where(advertisements.c.id == id).values(**values))
            if not changed.rowcount:
                connection.execute(insert(advertisements).values(id=id, tenant=tenant, **values))
            return not changed.rowcount

    def withdraw(self, id: str) -> bool:
        """Remove an advertisement; was there one?"""
        with self.database.writing() as connection:
            return connection.execute(advertisements.delete().where(advertisements.c.id == id)).rowcount > 0

    def close(self) -> None:
        self.database.close()


def _token(row: Mapping[Any, Any]) -> StoredToken:
    roles = tuple(role for role in ROLES if role in row["roles"].split())
    return StoredToken(row["id"], row["tenant"], roles, row["label"], _time(row["created"]))


def _time(us: int) -> datetime:
    found = moment(us)
    assert found is not None, "a number of microseconds is a time"
    return found
