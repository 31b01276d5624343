"""Databases of others: any that SQLAlchemy knows, from which tamis reads and in which it changes nothing.

A `Database` is one of tamis's own: it creates tables, sets a journal and locks. Nothing of that happens here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import MetaData, Select, Table, create_engine, inspect, make_url
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, NoSuchTableError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from tamis.errors import TamisError
from tamis.sql.database import DatabaseError

_MOST_KEYS = 900  # of one statement: every database takes that many parameters


class ReadOnlyDatabase:
    """Tables of a database, to be read; all methods may be called from several threads.

    Attributes:
        where: The URL as given, without the password.
    """

    def __init__(self, url: str, *, error: Callable[[str], TamisError] = DatabaseError) -> None:
        """Take note of a database; nothing is connected before something is asked.

        Args:
            url: As SQLAlchemy writes it: `sqlite:///customers.db`, `postgresql+psycopg://...`.
            error: What to raise, made of a message.

        Raises:
            DatabaseError: Or what `error` makes: the URL is of no database, its driver is not installed, or there
                is no such file.
        """
        self._error = error
        try:
            parsed = make_url(url)
            self.where = parsed.render_as_string(hide_password=True)
            self._refuse_new_file(parsed)
            in_file = parsed.get_backend_name() == "sqlite"
            self._engine = (
                create_engine(parsed, poolclass=NullPool) if in_file else create_engine(parsed, pool_pre_ping=True)
            )
        except ArgumentError as problem:
            msg = f"the URL of the database cannot be read: {problem}"
            raise error(msg) from problem
        except ModuleNotFoundError as problem:
            msg = f"{self.where}: this database needs the package {problem.name}"
            raise error(msg) from problem

    def table(self, name: str, schema: str | None = None) -> Table | None:
        """The table or view of that name as the database describes it; None if there is none."""
        with self._reporting():
            try:
                return Table(name, MetaData(), schema=schema, autoload_with=self._engine, resolve_fks=False)
            except NoSuchTableError:
                return None

    def table_names(self, schema: str | None = None) -> list[str]:
        with self._reporting():
            return inspect(self._engine).get_table_names(schema=schema)

    def rows(self, statement: Select[Any], keys: Sequence[Any]) -> list[Any]:
        """What a statement gives for all keys, which it takes as the parameter `keys`; over one connection."""
        found: list[Any] = []
        with self._reporting(), self._engine.connect() as connection:
            for first in range(0, len(keys), _MOST_KEYS):
                found += connection.execute(statement, {"keys": keys[first : first + _MOST_KEYS]}).all()
        return found

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as problem:
            msg = f"{self.where}: {getattr(problem, 'orig', None) or problem}"
            raise self._error(msg) from problem

    def _refuse_new_file(self, url: URL) -> None:
        """SQLite would make a file that is not there."""
        name = url.database
        if url.get_backend_name() == "sqlite" and (
            not name or not (name.startswith("file:") or Path(name).is_file())
        ):
            msg = f"{self.where}: there is no such file"
            raise self._error(msg)
