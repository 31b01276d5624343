"""The sink `webhook`: a queue in a database."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from tamis.sinks import WebhookSink
from tests.sinks.deliveries import at, delivery


def test_the_queue_says_when_to_try(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'found.db'}"
    sink = WebhookSink(url=url)
    sink.commit(delivery(3, [(1, 1)]))
    sink.close()
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        found = connection.execute(sa.text("SELECT state, attempts, next_attempt FROM tamis_deliveries")).one()
    engine.dispose()
    assert tuple(found) == ("waiting", 0, at(3).replace(tzinfo=None).isoformat(" "))
