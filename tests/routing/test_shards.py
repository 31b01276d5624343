"""Subscriptions dealt to shards: every pair is found where routing sends its event, whatever changes meanwhile."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tamis import EventBatch, EventType, Matcher
from tamis.engines.choosing import MAPPED
from tamis.engines.forest import forest_of
from tamis.errors import SnapshotError, TamisError
from tamis.language.condition import normalise
from tamis.matchers import Matchers
from tamis.routing.dealing import Dealer
from tamis.routing.entries import shards_of
from tamis.routing.gates import gates_of
from tamis.routing.measures import MEASURES
from tamis.routing.shards import Deals, Dealt, Routing, building, dealt_in, summary
from tamis.routing.trees import LEAF_BYTES
from tamis.segments.files import opened, stored
from tamis.segments.merging import gathered
from tamis.snapshot import Part, Snapshots
from tamis.workloads import generate
from tests.worlds import world

WAYS = {
    "by similarity": Routing(),
    "small": Routing(budget=2_000),
    "smallest": Routing(budget=0),
    "by id": Routing(by_similarity=False),
    "without a sample": Routing(sample=0),
    "no slack": Routing(slack=0.0, budget=0),
    "by tenant": Routing(by_tenant=True),
    "by tenant, no slack": Routing(by_tenant=True, slack=0.0),
}


def found(dealt: Dealt, batch: EventBatch) -> tuple[set[tuple[int, str]], int]:
    """The pairs that events find in the shards that they visit, and how many visits that takes."""
    name = batch.event_type.name
    routes = Matchers.open(dealt.url, dealt.version, segments=dealt.routes)[name]
    rows, ids, _ = routes.found(batch).columns()
    visits = set(zip(rows.tolist(), shards_of(ids).tolist(), strict=True))
    pairs: set[tuple[int, str]] = set()
    for shard, names in enumerate(dealt.shards):
        matcher = Matchers.open(dealt.url, dealt.version, segments=names)[name]
        at, subscriptions, _ = matcher.found(batch).columns()
        both = zip(at.tolist(), subscriptions.to_pylist(), strict=True)
        pairs |= {(row, id) for row, id in both if (row, shard) in visits}
    return pairs, len(visits)


def expected(matcher: Matcher, batch: EventBatch) -> set[tuple[int, str]]:
    rows, ids, _ = matcher.found(batch).columns()
    return set(zip(rows.tolist(), ids.to_pylist(), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "way"), [*zip(["typed", "schemaless"] * 4, WAYS, strict=True)])
def test_nothing_is_lost_while_subscriptions_come_and_go(name: str, way: str, tmp_path: Path) -> None:
    random_ = random.Random(f"{name} {way}")
    here = world(name)
    batch, sample = here.batch(random_, 50), here.batch(random_, 30)
    matcher = Matcher(here.event_type)
    deals = Deals(str(tmp_path / "s"), 5, WAYS[way])
    if way != "without a sample":
        deals.observe([sample])
    versions: dict[int, set[tuple[int, str]]] = {}
    conditions = iter(here.accepted(random_, 150))
    for step in range(3):
        rows = [(f"{step}-{number}", next(conditions).text, "abc"[min(2, number % 9)]) for number in range(50)]
        matcher.add_many([{"id": id, "condition": text, "owner": owner} for id, text, owner in rows])
        gone = [each.id for each in matcher if random_.random() < 0.15]
        matcher.remove_many(gone)
        if step == 1:
            matcher.merge()
        version = matcher.publish(tmp_path / "s")
        versions[version] = expected(matcher, batch)
        assert found(deals.deal(version), batch)[0] == versions[version]
    # A batch may be done again with an older version, though a newer one was dealt.
    for version, pairs in versions.items():
        assert found(deals.deal(version), batch)[0] == pairs
        assert (
            found(Deals(str(tmp_path / "s"), 3, WAYS[way], str(tmp_path / "new")).deal(version), batch)[0] == pairs
        )


@pytest.fixture(scope="module")
def auction(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, int, Matcher, EventBatch, EventBatch]:
    data = generate("auction", subscriptions=3_000, events=1_500, seed=3)
    matcher = Matcher(data.event_type)
    assert not matcher.add_many(pa.table({"id": data.ids, "condition": data.conditions}))
    sample = EventBatch.of(data.events.slice(0, 500), data.event_type)
    matcher.found(sample)
    url = str(tmp_path_factory.mktemp("auction"))
    return url, matcher.publish(url), matcher, sample, EventBatch.of(data.events.slice(500), data.event_type)


@pytest.mark.slow
def test_similar_subscriptions_together_save_visits(
    auction: tuple[str, int, Matcher, EventBatch, EventBatch], tmp_path: Path
) -> None:
    url, version, matcher, sample, batch = auction
    visits = {}
    for label, routing in (("similar", Routing()), ("by id", Routing(by_similarity=False))):
        deals = Deals(url, 16, routing, str(tmp_path / label))
        deals.observe([sample])
        pairs, visits[label] = found(deals.deal(version), batch)
        assert pairs == expected(matcher, batch)
    assert visits["similar"] <= visits["by id"] / 2 <= 16 * batch.rows / 4


@pytest.mark.slow
def test_the_events_of_a_tenant_visit_its_shards_only(tmp_path: Path) -> None:
    tenants = [f"tenant{number}" for number in range(12)]
    matchers = Matchers([EventType(tenant) for tenant in tenants])
    for place, tenant in enumerate(tenants):
        matchers[tenant].add_many(
            [{"id": f"{tenant}/{n}", "condition": f"a > {n}", "owner": tenant} for n in range(10 + 5 * place)]
        )
    version = matchers.publish(tmp_path / "s").version
    visits = {}
    for label, routing in (("by tenant", Routing(by_tenant=True)), ("similar", Routing())):
        dealt = Deals(str(tmp_path / "s"), 6, routing, str(tmp_path / label)).deal(version)
        visits[label] = 0
        for tenant in tenants:
            batch = EventBatch.of([{"a": 3}, {"a": 100}], EventType(tenant))
            pairs, count = found(dealt, batch)
            assert pairs == expected(matchers[tenant], batch)
            visits[label] += count
    # A tenant that fits into what is left of a shard has one, the others two.
    assert visits["by tenant"] <= 2 * 2 * len(tenants) < visits["similar"]
    loads = summary(dealt).subscriptions
    assert sum(loads) == sum(len(matchers[tenant]) for tenant in tenants)


@pytest.mark.slow
def test_a_larger_budget_saves_visits(
    auction: tuple[str, int, Matcher, EventBatch, EventBatch], tmp_path: Path
) -> None:
    url, version, _, sample, batch = auction
    visits = []
    for budget in (0, 1 << 20):
        deals = Deals(url, 16, Routing(budget), str(tmp_path / str(budget)))
        deals.observe([sample])
        visits.append(found(deals.deal(version), batch)[1])
    assert visits[1] < visits[0]


@pytest.mark.parametrize("measure", MEASURES)
def test_measures_prune_entries_step_by_step(
    measure: str, auction: tuple[str, int, Matcher, EventBatch, EventBatch], tmp_path: Path
) -> None:
    _, _, matcher, _, batch = auction
    small = Matcher(matcher.event_type)
    small.add_many([(each.id, each.condition) for each in list(matcher)[:150]])
    version = small.publish(tmp_path / "small")
    deals = Deals(str(tmp_path / "small"), 4, Routing(budget=3_000, measure=measure))
    assert found(deals.deal(version), batch)[0] == expected(small, batch)


def test_what_was_dealt_is_not_dealt_again(tmp_path: Path) -> None:
    matcher = Matcher()
    matcher.add_many([(f"s{number}", f"a = {number % 7} AND b > {number}") for number in range(300)])
    first = matcher.publish(tmp_path / "s")
    deals = Deals(str(tmp_path / "s"), 4)
    before = deals.deal(first)
    assert deals.deal(first) == before
    matcher.remove("s5")
    after = deals.deal(matcher.publish(tmp_path / "s"))
    assert (after.shards, after.routes) == (before.shards, before.routes), "only a tombstone is new"
    assert after.version == before.version + 1
    assert dealt_in(Snapshots(after.url).manifest(after.version), after.url) == after
    with pytest.raises(SnapshotError, match="not dealt to shards"):
        dealt_in(Snapshots(tmp_path / "s").manifest(first), "s")


def test_subscriptions_that_always_hold_open_few_shards(tmp_path: Path) -> None:
    matcher = Matcher()
    matcher.add_many([(f"s{number}", f"a = {number}" if number < 90 else "TRUE") for number in range(100)])
    dealt = Deals(str(tmp_path / "s"), 5).deal(matcher.publish(tmp_path / "s"))
    batch = EventBatch.of([{"a": number} for number in range(100)])
    pairs, visits = found(dealt, batch)
    assert pairs == expected(matcher, batch)
    assert 100 < visits < 250


def test_no_shard_gets_much_more_than_its_share() -> None:
    dealer = Dealer(4, slack=0.1)
    texts = ["a = 1"] * 70 + [f"a = {number}" for number in range(2, 32)]
    gates = gates_of(forest_of([normalise(text) for text in texts]))
    counts = np.bincount(gates.of)
    nothing = [np.empty(0, np.int64)] * len(counts)
    portions = dealer.deal(gates._replace(of=np.arange(len(counts), dtype=np.int32)), counts, nothing, 0)
    assert sum(each.subscriptions for each in portions) == 100
    assert dealer.loads.sum() == 100
    assert dealer.loads.max() <= 28
    dealer.release(dealer.loads.copy())
    assert dealer.loads.sum() == 0


def test_events_that_come_together_go_together() -> None:
    texts = [f"title = {number}" for number in range(20)] + [f"author = {number}" for number in range(4)]
    gates = gates_of(forest_of([normalise(text) for text in texts]))
    names = [gate.describe() for gate in gates.formulas]
    rows = {f"title = {number}": [number] for number in range(20)}
    rows |= {f"author = {number}": [*range(number, 20, 4)] for number in range(4)}
    sampled = [np.array(rows[name], np.int64) for name in names]
    counts = np.ones(len(names), np.int64)
    shards = {names[each.entry]: each.shard for each in Dealer(4).deal(gates, counts, sampled, 20)}
    assert len(set(shards.values())) == 4
    assert all(shards[f"title = {number}"] == shards[f"author = {number % 4}"] for number in range(20))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Routing(measure="speed"), "there is no measure 'speed'; known are common, accuracy"),
        (lambda: Routing(budget=-1), "expected a budget"),
        (lambda: Deals("s", 0), "expected from 1 to 99999 shards, found 0"),
    ],
)
def test_what_makes_no_sense_is_refused(make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(TamisError, match=message):
        make()


def in_segments(url: str, version: int, count: int, target: str) -> int:
    """Publish the one segment of a version again, in so many."""
    manifest = Snapshots(url).manifest(version)
    (entry,) = manifest.entries
    whole = opened(Snapshots(url).segment(entry.segment), MAPPED, building(None))
    kept = [np.arange(number, entry.slots, count) for number in range(count)]
    parts = [
        Part(stored(gathered([whole], [slots], building(None))), len(slots), event_type=entry.event_type)
        for slots in kept
    ]
    return (
        Snapshots(target)
        .publish(parts, parent=None, event_types=manifest.event_types, extra={}, statistics=None)
        .version
    )


def test_segments_that_are_new_together_share_the_budget(tmp_path: Path) -> None:
    matcher = Matcher({"name": "book", "attributes": {"title": "string", "price": "int"}})
    for place in range(400):
        matcher.add(f"s{place}", f"title = 't{place % 50}' AND price < {place}")
    batch = EventBatch.of([{"title": f"t{place}", "price": place} for place in range(80)], matcher.event_type)
    one, several = str(tmp_path / "one"), str(tmp_path / "several")
    version = matcher.publish(one)
    routing = Routing(budget=50 * LEAF_BYTES)  # room for all titles once
    visits = []
    for url, at in ((one, version), (several, in_segments(one, version, 8, several))):
        dealt = Deals(url, 5, routing).deal(at)
        pairs, count = found(dealt, batch)
        assert pairs == expected(matcher, batch)
        visits.append(count)
    assert visits == [50, 50]
