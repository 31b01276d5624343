"""Look-ups in a SQLite file: one query a batch, NULL for what is not there."""

from __future__ import annotations

import datetime
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from sqlalchemy import Engine, event

from tamis.operators import Operator, OperatorError
from tamis.operators.library.lookup import operators

TIER = {"table": "customers", "key": "id", "value": "tier"}


@pytest.fixture
def url(tmp_path: Path) -> str:
    file = tmp_path / "customers.db"
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.executescript(
            """
            CREATE TABLE customers (
                id TEXT, number INTEGER, tier TEXT, open BOOLEAN, since DATE, owed DECIMAL(8, 2), score REAL
            );
            CREATE VIEW good AS SELECT * FROM customers WHERE tier = 'gold';
            INSERT INTO customers VALUES
                ('c1', 1, 'gold', 1, '2024-02-29', 12.5, 0.25),
                ('c2', 2, 'silver', 0, NULL, NULL, 'much'),
                ('twice', 3, 'gold', 1, NULL, NULL, NULL),
                ('twice', 3, 'silver', 1, NULL, NULL, NULL),
                ('same', 4, 'gold', 1, NULL, NULL, NULL),
                ('same', 4, 'gold', 1, NULL, NULL, NULL);
            """
        )
        connection.executemany(
            "INSERT INTO customers (id, number, tier) VALUES (?, ?, ?)",
            [(f"n{number}", number, f"tier {number}") for number in range(1_000, 6_000)],
        )
    return f"sqlite:///{file}"


def made(url: str, **spec: Any) -> Operator:
    (operator,) = operators(url=url, tables={"customer_tier": {**TIER, **spec}})
    return operator


@contextmanager
def statements() -> Iterator[list[str]]:
    """What this thread sends to databases meanwhile; a service that still runs has threads of its own."""
    seen: list[str] = []
    own = threading.get_ident()

    def note(*arguments: Any) -> None:
        if threading.get_ident() == own:
            seen.append(arguments[2])

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(Engine, "before_cursor_execute", note)


def test_values_by_key(url: str) -> None:
    look_up = made(url).function
    keys = ["c2", "c1", "nobody", "c1", "", "twice", "same"]
    expected = ["silver", "gold", None, "gold", None, None, "gold"]
    assert look_up(pa.array(keys)).to_pylist() == expected
    assert [look_up(pa.array([key])).to_pylist()[0] for key in keys] == expected
    assert look_up(pa.array([], pa.string())).to_pylist() == []


def test_a_batch_is_one_query(url: str) -> None:
    look_up = made(url).function
    with statements() as seen:
        look_up(pa.array(["c1", "c2", "nobody"] * 1_000))
    assert len(seen) == 1


def test_a_large_batch_has_bounded_statements(url: str) -> None:
    look_up = made(url, key="number", key_type="bigint").function
    with statements() as seen:
        found = look_up(pa.array(range(1_000, 7_000))).to_pylist()
    assert found == [f"tier {number}" for number in range(1_000, 6_000)] + [None] * 1_000
    assert len(seen) == 7


def test_a_key_cannot_be_read_as_sql(url: str) -> None:
    assert made(url).function(pa.array(["' OR 1=1 --", "c1"])).to_pylist() == [None, "gold"]


@pytest.mark.parametrize(
    ("value", "returns", "expected"),
    [
        ("number", "int", [1, 2]),
        ("open", "boolean", [True, False]),
        ("since", "date", [datetime.date(2024, 2, 29), None]),
        ("owed", "decimal(8,2)", [Decimal("12.50"), None]),
        ("score", "double", [0.25, None]),
        ("tier", "int", [None, None]),
    ],
)
def test_values_are_of_the_type_asked_for(url: str, value: str, returns: str, expected: list[Any]) -> None:
    operator = made(url, value=value, returns=returns)
    assert str(operator.returns) == returns
    assert operator.function(pa.array(["c1", "c2"])).to_pylist() == expected


def test_views_may_be_looked_up(url: str) -> None:
    assert made(url, table="good").function(pa.array(["c1", "c2"])).to_pylist() == ["gold", None]


def test_rows_are_read_as_they_are_now(url: str) -> None:
    operator = made(url)
    assert not operator.deterministic
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection, connection:
        connection.execute("UPDATE customers SET tier = 'bronze' WHERE id = 'c1'")
    assert operator.function(pa.array(["c1"])).to_pylist() == ["bronze"]


def test_a_table_that_stays_as_it_is_may_be_cached(url: str) -> None:
    operator = made(url, cache=100)
    assert (operator.cache, operator.deterministic) == (100, True)
    assert operator.description == "The tier of the row of customers with that id."


def test_tables_and_columns_must_be_there(url: str) -> None:
    with pytest.raises(OperatorError, match=r"no table 'customer'; did you mean 'customers'\?"):
        made(url, table="customer")
    with pytest.raises(
        OperatorError, match=r"(?s)'customers': 2 problems.*no column 'ids'; did you.*no column 'x'"
    ):
        made(url, key="ids", value="x")


def test_all_settings_that_are_wrong_are_named(url: str) -> None:
    with pytest.raises(OperatorError) as caught:
        operators(url=url, tables={"a": {**TIER, "vlaue": "tier", "key_type": "date"}, "b": {"table": "t"}})
    text = str(caught.value)
    assert "a: unknown setting 'vlaue'; did you mean 'value'?" in text
    assert "a: key_type: expected string or an integral type, found date" in text
    assert "b: expected a name as 'key', found None" in text
    with pytest.raises(OperatorError, match="returns: 'strnig' is not a type"):
        made(url, returns="strnig")
    with pytest.raises(OperatorError, match="tables: expected a table of names"):
        operators(url=url, tables=5)  # type: ignore[arg-type]


def test_a_database_that_cannot_be_opened(tmp_path: Path) -> None:
    file = tmp_path / "missing.db"
    with pytest.raises(OperatorError, match="there is no such file"):
        made(f"sqlite:///{file}")
    assert not file.exists()
    with pytest.raises(OperatorError, match="the URL of the database cannot be read"):
        made("customers")
    with pytest.raises(OperatorError) as caught:
        made("mysql+pymysql://me:secret@localhost/shop")
    assert "needs the package pymysql" in str(caught.value)
    assert "secret" not in str(caught.value)
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"this is no database" * 100)
    with pytest.raises(OperatorError, match="not a database"):
        made(f"sqlite:///{broken}")
