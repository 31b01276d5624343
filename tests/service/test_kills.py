"""A service that is killed over and over under load: what was answered stays, and every match is told once.

`TAMIS_KILLS` says how often, `TAMIS_KILLS_SEED` how.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tamis import reference
from tamis.events.event_type import EventType
from tamis.events.reading import read_json_lines
from tamis.language.condition import compile_condition
from tamis.service.accounts import Accounts
from tamis.service.feed import Feed, Notification
from tamis.service.inbox import Accepted, Inbox
from tamis.service.settings import Settings
from tamis.store import Store
from tests.service.killed import Loader, Service, Step
from tests.service.living import until

KILLS = int(os.environ.get("TAMIS_KILLS", "4"))
SEED = int(os.environ.get("TAMIS_KILLS_SEED", "0"))
_WHICH = ("everything", "stream", "everything", "service")
_LAST_REQUESTS = 10
Pairs = set[tuple[str, str]]


def matching(condition: str, events: dict[str, dict[str, object]]) -> set[str]:
    """The ids of the events that satisfy a condition, by the reference."""
    ids = [*events]
    block = "\n".join(json.dumps(each) for each in events.values()).encode()
    event_type = EventType()
    compiled = compile_condition(condition, event_type)
    found = set()
    for batch in read_json_lines(block, event_type):
        lines = batch.ids.to_pylist()
        found |= {ids[int(lines[row])] for row in reference.matches(compiled, batch)}
    return found


def possible(steps: list[Step], taken: set[str]) -> tuple[Pairs, Pairs]:
    """The pairs that must be told, and those that may be: of events that were taken, whether that was answered."""
    events = {id: event for step in steps for id, event in step.events.items() if id in taken}
    must: Pairs = set()
    may: Pairs = set()
    for place, step in enumerate(steps):
        if step.subscription is None:
            continue
        id, condition = step.subscription
        matched = matching(condition, events)
        may |= {(event, id) for event in matched}
        if step.is_answered:
            later = {event for other in steps[place:] for event in other.events}
            must |= {(event, id) for event in matched & later}
    return must, may


def all_events(inbox: Inbox) -> list[Accepted]:
    return inbox.recent("default", limit=10_000_000)


def all_notifications(feed: Feed) -> list[Notification]:
    return feed.after("default", 0, limit=10_000_000)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes under /proc")
def test_a_killed_service_loses_nothing_that_it_answered_and_tells_nothing_twice(
    spark_environment: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings, chance, loader = Settings(data=str(tmp_path / "data")), random.Random(SEED), Loader(SEED)
    settings.folder.mkdir()
    inbox, feed = Inbox(settings.database("inbox")), Feed(settings.database("feed"))
    lives: list[Service] = []
    kills: Counter[str] = Counter()

    def live() -> Service:
        lives.append(Service(settings.folder, tmp_path / f"log {len(lives)}"))
        return lives[-1]

    try:
        service = live()
        for number in range(KILLS):
            before = feed.end()
            end = loader.meanwhile(service)
            try:
                if number % 3 != 2:  # else it is killed as it starts
                    until(lambda before=before: feed.end() > before, service.said)  # type: ignore[misc]
                time.sleep(chance.uniform(0, 2))  # any moment: nothing is waited for
                which = _WHICH[number % len(_WHICH)]
                service.kill(which)
                kills[which] += 1
            finally:
                end()
            if which != "stream":
                service = live()
        loader.run(service, lambda: False, batches=_LAST_REQUESTS)
        until(lambda: inbox.waiting() == 0, service.said)

        events = Counter(each.id.partition("/")[2] for each in all_events(inbox))
        answered = [step for step in loader.steps if step.is_answered]
        lost = [id for step in answered for id in step.events if id not in events]
        assert not lost, "events that were accepted"
        assert max(events.values()) == 1, "an event was taken twice"
        with Store.open(settings.database("store")) as store:
            accounts = Accounts(settings.database("store"))
            for step in answered:
                if step.subscription is not None:
                    name = f"default/{step.subscription[0]}"
                    assert store.get(name).condition == step.subscription[1]
                    assert accounts.is_ticket_of(name, step.ticket or "")
            accounts.close()
        told = all_notifications(feed)
        pairs = Counter((each.event_id, each.subscription_id) for each in told)
        must, may = possible(loader.steps, set(events))
        assert not must - pairs.keys(), "matches were lost"
        assert not pairs.keys() - may, "what does not match was told"
        assert set(pairs.values()) == {1} and len({each.id for each in told}) == len(told)
        with capsys.disabled():
            figures = {"requests": len(loader.steps), "answered": len(answered), "events": len(events)}
            shown = {"seed": SEED, "kills": kills, "lives": len(lives), **figures, "pairs": len(told)}
            sys.stdout.write(f"\n{json.dumps({**shown, 'must': len(must)})}\n")
        assert must, "nothing was matched at all"
    finally:
        for each in lives:
            each.end()
        inbox.close()
        feed.close()
