"""What this site has announced to its neighbours, on disk: a service that starts again must not announce less.

It is written before it is said, and in the database of the links. Where nothing is written, as of a new link or
after the setting was off, anything may have been announced.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from sqlalchemy import Column, MetaData, Table, Text, insert, select

from tamis.service.peers.entries import Entry
from tamis.sql.database import Database

metadata = MetaData()

announced = Table(
    "tamis_link_announced",
    metadata,
    Column("link", Text, primary_key=True),
    Column("said", Text, nullable=False),
)


@dataclass(frozen=True, slots=True)
class Said:
    """What was announced to a neighbour.

    Attributes:
        current: What the site's publishers and its other neighbours stand for.
        ending: What is announced still, and the number of the last event that was accepted under it; None while
            one may be under way to the inbox.
    """

    current: frozenset[Entry]
    ending: dict[Entry, int | None] = field(default_factory=dict)


class SaidTable:
    """What was announced over each link; thread-safe."""

    def __init__(self, database: Database) -> None:
        """Make the table if need be."""
        self._database = database
        database.prepare(metadata)

    def read(self, link: str) -> Said | None:
        """What was announced over a link; None if nobody knows."""
        with self._database.reading() as connection:
            text = connection.execute(select(announced.c.said).where(announced.c.link == link)).scalar()
        if text is None:
            return None
        found = json.loads(text)
        return Said(
            frozenset(Entry(*each) for each in found["current"]),
            {Entry(*each): upto for *each, upto in found["ending"]},
        )

    def write(self, link: str, said: Said | None) -> None:
        """Keep what is announced over a link; None if nobody has to know it."""
        with self._database.writing() as connection:
            connection.execute(announced.delete().where(announced.c.link == link))
            if said is not None:
                ending = [[*each, upto] for each, upto in sorted(said.ending.items(), key=lambda item: item[0])]
                text = json.dumps({"current": sorted(said.current), "ending": ending})
                connection.execute(insert(announced).values(link=link, said=text))
