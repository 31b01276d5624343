"""Subscriptions of record: who wants what, since when, and everything that ever changed.

A store is a database, SQLite by default and PostgreSQL by URL. It grows by one version with every change set, and
snapshots are published from it. Matching happens elsewhere.
"""

from importlib.util import find_spec as _find_spec

from tamis.errors import install_command as _install_command

if _find_spec("sqlalchemy") is None:
    _msg = f"the subscription store needs SQLAlchemy; install it with: {_install_command('store')}"
    raise ImportError(_msg, name="sqlalchemy")

from tamis.store.database import StoreError
from tamis.store.publisher import Publisher, PublishResult
from tamis.store.records import ChangeLogEntry, ImportResult, StoredSubscription
from tamis.store.store import Store
from tamis.store.view import StoreView

__all__ = [
    "ChangeLogEntry",
    "ImportResult",
    "PublishResult",
    "Publisher",
    "Store",
    "StoreError",
    "StoreView",
    "StoredSubscription",
]
