"""Sites with real HTTP between them, in one process, whose streams share the Spark of the tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2

from tamis.service.stream import start
from tests.service.api.running import Running, running
from tests.service.living import until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SLOW = "connect back"
"""What Spark says if its Python workers take too long to start."""
TOKEN = "link-token-of-the-tests"


class LinkedSite:
    """A site: its service, a client of its operator, and its stream, which may be stopped and started."""

    def __init__(self, spark: SparkSession | None, name: str, made: Running) -> None:
        self.name = name
        self.running = made
        self.service = made.service
        self.site = made.service.site
        self.client: httpx2.Client = made.client(made.token("admin"))
        self._spark = spark
        self._stream = ExitStack()
        self._query: Any = None

    @property
    def port(self) -> int:
        """Where the service listens."""
        return int(self.running.url.rpartition(":")[2])

    def start(self) -> None:
        """Start the stream, and wait until it looks for events: several at once may be too much for a machine."""
        assert self._spark is not None
        self._query = start(self.service.settings, self._spark, self._stream, name=f"tamis {self.name}")

        def is_looking() -> bool:
            self.revive()
            return not self._query.status["message"].startswith("Initializing")

        until(is_looking)

    def stop(self) -> None:
        """Stop the stream."""
        if self._query is not None:
            self._query.stop()
        self._stream.close()

    def revive(self) -> None:
        """Start the stream again if Spark has given its workers up, as the supervisor does."""
        if not self._query.isActive:
            assert SLOW in str(self._query.exception()), self._query.exception()
            self._stream.close()
            self._stream = ExitStack()
            assert self._spark is not None
            self._query = start(self.service.settings, self._spark, self._stream, name=f"tamis {self.name}")

    def subscribe(self, id: str, condition: str, **fields: Any) -> None:
        answer = self.client.post("/v1/subscriptions", json={"id": id, "condition": condition, **fields})
        assert answer.status_code == 201, answer.text
        self.ticket = answer.json()["ticket"]

    def publish(self, *events: dict[str, Any]) -> None:
        answer = self.client.post("/v1/events", json=[*events])
        assert answer.status_code == 202, answer.text

    def notified(self, subscription: str | None = None) -> list[tuple[str, str]]:
        """Subscription and event of each notification, in the order of the feed."""
        found = self.service.feed.after("default", 0, limit=100_000)
        return [
            (each.subscription_id, each.event_id)
            for each in found
            if subscription is None or each.subscription_id == subscription
        ]

    def peer(self, name: str) -> dict[str, Any]:
        """What the site says of a link."""
        items = self.client.get("/v1/peers").json()["items"]
        [found] = [each for each in items if each["name"] == name]
        return dict(found)

    def link_to(self, other: LinkedSite) -> None:
        """Let the two sites be neighbours."""
        for here, there in ((self, other), (other, self)):
            answer = here.client.put(f"/v1/peers/{there.name}", json={"url": there.running.url, "token": TOKEN})
            assert answer.status_code == 200, answer.text


def are_linked(*sites: LinkedSite) -> None:
    """Wait until the links between sites that are neighbours in a row are used in both directions."""
    for one, other in pairwise(sites):
        until(lambda one=one, other=other: one.peer(other.name)["state"] == "linked")  # type: ignore[misc]
        until(lambda one=one, other=other: other.peer(one.name)["state"] == "linked")  # type: ignore[misc]


def in_step(*sites: LinkedSite) -> None:
    """Wait until every site has the entries that its neighbours in the row send."""

    def wanted(sender: LinkedSite, receiver: LinkedSite) -> bool:
        entries = sender.site.wanted_entries(receiver.name, set())[1].entries
        return receiver.site.held_keys(sender.name) == entries.keys()

    pairs = [*pairwise(sites)]
    both = pairs + [(other, one) for one, other in pairs]
    until(
        lambda: all(wanted(*pair) for pair in both),
        lambda: [each.client.get("/v1/peers").json() for each in sites],
    )


def settled(*sites: LinkedSite) -> None:
    """Wait until no event waits anywhere, neither for a stream nor for a link."""

    def is_quiet() -> bool:
        for each in sites:
            each.revive()
        return not any(each.service.inbox.waiting() for each in sites) and not any(
            total.backlog for each in sites for total in each.site.outbox.totals().values()
        )

    until(lambda: is_quiet() and is_quiet())


@contextmanager
def site_in(
    folder: Path, name: str, spark: SparkSession | None = None, port: int = 0, **settings: Any
) -> Iterator[LinkedSite]:
    """One site whose stream does not run yet; it may be opened again on the same folder and port."""
    with running(folder / name, port=port, site=name, trigger_seconds=0.02, **settings) as made:
        site = LinkedSite(spark, name, made)
        try:
            yield site
        finally:
            site.stop()


@contextmanager
def sites_in(
    folder: Path, *names: str, spark: SparkSession | None = None, **settings: Any
) -> Iterator[list[LinkedSite]]:
    """Sites of these names, not linked yet; with a session of Spark their streams run."""
    with ExitStack() as stack:
        sites = []
        for name in names:
            sites.append(stack.enter_context(site_in(folder, name, spark, **settings)))
            if spark is not None:
                sites[-1].start()
        yield sites
