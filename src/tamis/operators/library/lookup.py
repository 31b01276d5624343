"""Look-ups in tables of a database: one operator a table, one query a batch.

What a table answers may change while tamis runs, so these operators are not deterministic unless their answers are
kept, which says that the table stays as it is. Keys and values are as the database gives them, read as the types
of the settings; a value that is not of its type is NULL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tamis.errors import EventTypeError
from tamis.events.arrow import python_column
from tamis.events.arrow_out import arrow_array
from tamis.events.schemas import suggestion
from tamis.operators.library.support import import_extra, raise_problems, read_tables
from tamis.operators.registry import Operator, OperatorError
from tamis.values.types import STRING, Type, is_integral, parse_type

if TYPE_CHECKING:
    from sqlalchemy import Table

    from tamis.sql.read_only import ReadOnlyDatabase

_COST_SECONDS = 2e-5


def operators(*, url: str, tables: Mapping[str, Mapping[str, Any]]) -> list[Operator]:
    """An operator for each table, which gives the value beside a key.

    Args:
        url: Of the database, as SQLAlchemy writes it: `sqlite:///customers.db`, `postgresql+psycopg://...`.
        tables: By the name of the operator: `table`, `key` and `value` (names of a table or view and of two of its
            columns) and, where needed, `schema`, `key_type` (string or integral), `returns` (both string unless
            given), `cost` in seconds for an event, and `cache`: how many answers are kept, if the table does not
            change.

    Raises:
        OperatorError: SQLAlchemy is not installed, the database cannot be opened, or a table or column is not
            there.
    """
    import_extra("sqlalchemy", "store")
    from tamis.sql.read_only import ReadOnlyDatabase

    specs = read_tables("tables", tables, _read_spec)
    database = ReadOnlyDatabase(url, error=OperatorError)
    made = {name: _Lookup(database, spec) for name, spec in specs.items()}
    return [
        Operator(
            name,
            (spec.key_type,),
            spec.returns,
            made[name].look_up,
            cost=spec.cost,
            deterministic=spec.cache > 0,
            cache=spec.cache,
            description=f"The {spec.value} of the row of {spec.table} with that {spec.key}.",
        )
        for name, spec in specs.items()
    ]


@dataclass(frozen=True, slots=True)
class _LookupSpec:
    """Where an operator looks up what."""

    table: str
    key: str
    value: str
    key_type: Type = STRING
    returns: Type = STRING
    schema: str | None = None
    cost: float = _COST_SECONDS
    cache: int = 0


class _Lookup:
    """The look-ups in one table."""

    def __init__(self, database: ReadOnlyDatabase, spec: _LookupSpec) -> None:
        from sqlalchemy import bindparam, select

        self._database, self._returns = database, spec.returns
        columns = _table(database, spec).c
        key, value = columns[spec.key], columns[spec.value]
        self._statement = select(key, value).where(key.in_(bindparam("keys", expanding=True))).distinct()

    def look_up(self, key: pa.Array) -> pa.Array:
        """The value beside each key; NULL if there is none, or several that differ."""
        values: dict[Any, Any] = {}
        for found, value in self._database.rows(self._statement, key.unique().to_pylist()):
            values[found] = None if found in values else value
        answers = [values.get(each) for each in key.to_pylist()]
        return arrow_array(python_column(answers, self._returns, "UTC"))


def _table(database: ReadOnlyDatabase, spec: _LookupSpec) -> Table:
    found = database.table(spec.table, spec.schema)
    if found is None:
        near = suggestion(spec.table, database.table_names(spec.schema))
        msg = f"{database.where}: there is no table {spec.table!r}{near}"
        raise OperatorError(msg)
    columns = list(found.c.keys())
    missing = [each for each in (spec.key, spec.value) if each not in columns]
    raise_problems(
        f"{database.where}: table {spec.table!r}",
        [f"there is no column {each!r}{suggestion(each, columns)}" for each in missing],
    )
    return found


def _read_spec(given: Mapping[str, Any]) -> tuple[_LookupSpec | None, list[str]]:
    known = [field.name for field in fields(_LookupSpec)]
    problems = [f"unknown setting {each!r}{suggestion(each, known)}" for each in given if each not in known]
    problems += [
        f"expected a name as {each!r}, found {given.get(each)!r}"
        for each in ("table", "key", "value")
        if not isinstance(given.get(each), str)
    ]
    types: dict[str, Type] = {}
    for each in ("key_type", "returns"):
        try:
            types[each] = parse_type(str(given.get(each, "string")))
        except EventTypeError as error:
            problems.append(f"{each}: {error}")
    key = types.get("key_type", STRING)
    if key != STRING and not is_integral(key):
        problems.append(f"key_type: expected string or an integral type, found {key}")
    if problems:
        return None, problems
    return _LookupSpec(**{**given, **types}), []
