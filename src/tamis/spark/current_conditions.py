"""The conditions that subscriptions have now, wherever they are kept; for pages about a run."""

from __future__ import annotations

from collections.abc import Sequence

from tamis.matchers import Matchers
from tamis.spark.change_folder import ChangeFolder
from tamis.store import Store


def conditions_of(subscriptions: Store | ChangeFolder | str, ids: Sequence[str]) -> dict[str, str]:
    """The conditions of subscriptions of a store, a folder of changes or a snapshot, by id; without ended ones."""
    if isinstance(subscriptions, str):
        matchers = Matchers.open(subscriptions)
        found = {id: matchers[name].subscription(id) for name in matchers for id in ids if id in matchers[name]}
        return {id: each.condition for id, each in found.items()}
    store = subscriptions if isinstance(subscriptions, Store) else subscriptions.store
    with store.view() as view:
        return {id: row.condition for id, row in view.rows(ids).items() if row.living}
