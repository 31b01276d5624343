"""The links of a site: its neighbours, how they are reached, and how the links are doing.

A link is between two sites that both know its token. They are in the database of the subscriptions, as are the
entries that came over them: subscriptions of record whose owner is the link, which belong to no tenant.
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

from sqlalchemy import BigInteger, Column, MetaData, Table, Text, insert, select, update

from tamis.errors import TamisError
from tamis.service.accounts import TOKEN_PREFIX
from tamis.service.errors import NotFound
from tamis.service.names import check_tenant
from tamis.service.neighbours import Neighbour
from tamis.sql.database import Database
from tamis.store.records import moment, now_us

_LEAST_CHARACTERS = 16
"""Of a token."""

metadata = MetaData()

links = Table(
    "tamis_links",
    metadata,
    Column("name", Text, primary_key=True),
    Column("url", Text, nullable=False),
    Column("token", Text, nullable=False),
    Column("origin", Text, nullable=False),
    Column("reach", Text, nullable=False, server_default="[]"),
    Column("state", Text, nullable=False),
    Column("kind", Text),
    Column("reason", Text),
    Column("since", BigInteger, nullable=False),
)

NEW, LINKED, DOWN, REFUSED, CUT = "new", "linked", "down", "refused", "cut"
"""States: never reached; both agree; not reached, which passes; one does not agree; a cycle was noticed later."""


FROM_API, FROM_SETTINGS = "api", "settings"
"""Who made a link."""


class LinkError(TamisError):
    """A link cannot be, or be used: the message says which and why.

    Attributes:
        kind: For programs: name, token, url, protocol, cycle, event type, hello, digest, settings.
    """

    def __init__(self, message: str, kind: str) -> None:
        """Keep the kind."""
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Link:
    """A link to a neighbour.

    Attributes:
        name: Of the neighbour's site.
        url: Where its service is.
        token: What both sides show each other.
        origin: Who made it: settings or api.
        reach: The sites behind the neighbour, as it said last.
        state: How it is doing.
        kind: Why it is not linked, for programs.
        reason: Why, for people.
        since: When it came into that state.
    """

    name: str
    url: str
    token: str
    origin: str
    reach: frozenset[str]
    state: str
    kind: str | None
    reason: str | None
    since: datetime | None

    @property
    def sites(self) -> frozenset[str]:
        """All sites in its direction; none if the link is not in use."""
        return self.reach | {self.name} if self.state in (LINKED, DOWN) else frozenset()

    def opens(self, token: str) -> bool:
        """Is this the token of the link?"""
        return hmac.compare_digest(self.token.encode(), token.encode("utf-8", "surrogatepass"))


class Links:
    """The links in a database; all methods may be called from any thread."""

    def __init__(self, database: Database, site: str) -> None:
        """Make the table if need be.

        Args:
            database: Of the subscriptions.
            site: The name of this one.
        """
        self._database = database
        self._site = site
        database.prepare(metadata)

    def all(self) -> list[Link]:
        """All links, by name."""
        with self._database.reading() as connection:
            rows = connection.execute(select(links).order_by(links.c.name)).all()
        return [
            Link(
                row.name,
                row.url,
                row.token,
                row.origin,
                frozenset(json.loads(row.reach)),
                row.state,
                row.kind,
                row.reason,
                moment(row.since),
            )
            for row in rows
        ]

    def get(self, name: str) -> Link:
        """One link.

        Raises:
            NotFound: There is none to that site.
        """
        for each in self.all():
            if each.name == name:
                return each
        msg = f"there is no link to a site {name!r}"
        raise NotFound(msg)

    def put(self, name: str, url: str, token: str | None = None, origin: str = FROM_API) -> Link:
        """Make a link, or change where it leads; without a token it keeps the one it has, or gets a new one.

        Raises:
            LinkError: The name, the URL or the token is not what it should be, or this site has no name.
        """
        known = {each.name: each for each in self.all()}
        if token is None:
            token = known[name].token if name in known else f"link_{secrets.token_urlsafe(32)}"
        self._check(name, url, token)
        if name in known and (known[name].url, known[name].token, known[name].origin) == (url, token, origin):
            return known[name]
        with self._database.writing() as connection:
            connection.execute(links.delete().where(links.c.name == name))
            values = {"name": name, "url": url.rstrip("/"), "token": token, "origin": origin}
            connection.execute(insert(links).values(**values, state=NEW, since=now_us()))
        return self.get(name)

    def adopt(self, neighbours: Sequence[Neighbour]) -> None:
        """Make the links of the settings, and remove those that were there once."""
        wanted = {each.name: (each.url.rstrip("/"), each.token) for each in neighbours}
        for each in self.all():
            if each.origin == FROM_SETTINGS and each.name not in wanted:
                self.remove(each.name)
        for name, (url, token) in wanted.items():
            self.put(name, url, token, FROM_SETTINGS)

    def remove(self, name: str) -> None:
        """Remove a link; what came over it is left to `PeerEntries`.

        Raises:
            NotFound: There is none to that site.
        """
        with self._database.writing() as connection:
            if not connection.execute(links.delete().where(links.c.name == name)).rowcount:
                msg = f"there is no link to a site {name!r}"
                raise NotFound(msg)

    def note(self, name: str, state: str, error: TamisError | None = None) -> None:
        """Keep how a link is doing; nothing is written if that is as before."""
        kind = error.kind if isinstance(error, LinkError) else None
        reason = None if error is None else str(error)
        values = {"state": state, "kind": kind, "reason": reason}
        with self._database.reading() as connection:
            row = connection.execute(select(links).where(links.c.name == name)).first()
        if row is None or {each: row._mapping[each] for each in values} == values:
            return
        since = {} if row.state == state else {"since": now_us()}
        with self._database.writing() as connection:
            connection.execute(update(links).where(links.c.name == name).values(**values, **since))

    def reach(self, name: str, sites: Iterable[str]) -> None:
        """Keep which sites are behind a neighbour; nothing is written if they are as before."""
        text = json.dumps(sorted({*sites}))
        with self._database.reading() as connection:
            same = connection.execute(select(links.c.reach).where(links.c.name == name)).scalar() == text
        if not same:
            with self._database.writing() as connection:
                connection.execute(update(links).where(links.c.name == name).values(reach=text))

    def reach_without(self, name: str) -> frozenset[str]:
        """The sites that a neighbour reaches through this one, without this one."""
        return frozenset().union(*(each.sites for each in self.all() if each.name != name))

    def check_acyclic(self, name: str, behind: Iterable[str]) -> None:
        """Refuse a link that would close a cycle.

        Args:
            name: The neighbour's site.
            behind: The sites that it reaches without us.

        Raises:
            LinkError: There is another way to one of them.
        """
        twice = ({name, *behind}) & (self.reach_without(name) | {self._site})
        if twice:
            way = ", ".join(sorted(twice))
            msg = f"the link to {name!r} would close a cycle: there is another way to {way}"
            raise LinkError(msg, "cycle")

    def _check(self, name: str, url: str, token: str) -> None:
        if not self._site:
            msg = "this service has no name among sites: set site in its settings"
            raise LinkError(msg, "settings")
        try:
            check_tenant(name)
        except TamisError:
            msg = f"the name of a site: expected 1 to 63 of a-z, 0-9 and -, not starting with -, found {name!r}"
            raise LinkError(msg, "name") from None
        if name == self._site:
            msg = f"this site is called {name!r} itself"
            raise LinkError(msg, "name")
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or any(c.isspace() for c in url):
            msg = f"link to {name!r}: expected the URL of a service, as https://north.example, found {url!r}"
            raise LinkError(msg, "url")
        if len(token) < _LEAST_CHARACTERS or not token.isascii() or any(c.isspace() for c in token):
            msg = f"link to {name!r}: expected a token of at least {_LEAST_CHARACTERS} characters without blanks"
            raise LinkError(msg, "token")
        if token.startswith(f"{TOKEN_PREFIX}_"):
            msg = f"link to {name!r}: a token of the API would give more than the link; leave it out to get one"
            raise LinkError(msg, "token")
