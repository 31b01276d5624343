"""Assignments to shards: every pair is found where routing sends its event, whatever changes meanwhile."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tamis import EventBatch, EventType, Matcher
from tamis.engines import ENGINES, MAPPED_ENGINE
from tamis.errors import SnapshotError, TamisError
from tamis.lab.workloads import generate
from tamis.matchers import Matchers
from tamis.routing.entries import shards_of
from tamis.routing.pruning import MEASURES
from tamis.routing.shards import (
    Routing,
    ShardAssignment,
    ShardAssignments,
    index_builder,
    read_assignment,
    summarise,
)
from tamis.segments.files import open_segment, store_segment
from tamis.segments.merge import merge_slots
from tamis.snapshot import SnapshotPart, Snapshots
from tests.worlds import world

WAYS = {
    "by similarity": Routing(),
    "small": Routing(budget=20_000),
    "smallest": Routing(budget=0),
    "by id": Routing(by_similarity=False),
    "without a sample": Routing(sample=0),
    "no slack": Routing(slack=0.0, budget=0),
    "by tenant": Routing(by_tenant=True),
    "by tenant, no slack": Routing(by_tenant=True, slack=0.0),
    "split": Routing(shard_limit=12),
    "split by id": Routing(shard_limit=12, by_similarity=False),
    "split by tenant": Routing(shard_limit=12, by_tenant=True),
    "split, smallest": Routing(shard_limit=12, budget=0),
    "merged": Routing(budget=20_000, merging=True),
    "merged by id": Routing(budget=20_000, by_similarity=False, measure="occurrence", merging=True),
}


def found(assignment: ShardAssignment, batch: EventBatch) -> tuple[set[tuple[int, str]], int]:
    """The pairs that events find in the shards that they visit, and how many visits that takes."""
    name = batch.event_type.name
    routes = Matchers.open(assignment.url, assignment.version, segments=assignment.routes)[name]
    rows, ids, _ = routes.match_pairs(batch).columns()
    visits = set(zip(rows.tolist(), shards_of(ids).tolist(), strict=True))
    pairs: set[tuple[int, str]] = set()
    for shard, names in enumerate(assignment.shards):
        matcher = Matchers.open(assignment.url, assignment.version, segments=names)[name]
        at, subscriptions, _ = matcher.match_pairs(batch).columns()
        both = zip(at.tolist(), subscriptions.to_pylist(), strict=True)
        pairs |= {(row, id) for row, id in both if (row, shard) in visits}
    return pairs, len(visits)


def expected(matcher: Matcher, batch: EventBatch) -> set[tuple[int, str]]:
    rows, ids, _ = matcher.match_pairs(batch).columns()
    return set(zip(rows.tolist(), ids.to_pylist(), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "way"), [*zip(["typed", "schemaless"] * 7, WAYS, strict=True)])
def test_nothing_is_lost_while_subscriptions_come_and_go(name: str, way: str, tmp_path: Path) -> None:
    random_ = random.Random(f"{name} {way}")
    here = world(name)
    batch, sample = here.batch(random_, 50), here.batch(random_, 30)
    matcher = Matcher(here.event_type)
    assignments = ShardAssignments(str(tmp_path / "s"), 5, WAYS[way])
    if way != "without a sample":
        assignments.observe([sample])
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
        assignment = assignments.assign(version)
        assert found(assignment, batch)[0] == versions[version]
        if WAYS[way].shard_limit is not None:
            assert max(summarise(assignment).subscriptions) <= 12
            assert len(assignment.shards) == assignments.shards
    # A batch may be done again with an older version, though a newer one was assignment.
    for version, pairs in versions.items():
        assert found(assignments.assign(version), batch)[0] == pairs
        fresh = ShardAssignments(str(tmp_path / "s"), 3, WAYS[way], str(tmp_path / "new"))
        assert found(fresh.assign(version), batch)[0] == pairs


@pytest.fixture(scope="module")
def auction(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, int, Matcher, EventBatch, EventBatch]:
    data = generate("auction", subscriptions=3_000, events=1_500, seed=3)
    matcher = Matcher(data.event_type)
    assert not matcher.add_many(pa.table({"id": data.ids, "condition": data.conditions}))
    sample = EventBatch.of(data.events.slice(0, 500), data.event_type)
    matcher.match_pairs(sample)
    url = str(tmp_path_factory.mktemp("auction"))
    return url, matcher.publish(url), matcher, sample, EventBatch.of(data.events.slice(500), data.event_type)


@pytest.mark.slow
def test_similar_subscriptions_together_save_visits(
    auction: tuple[str, int, Matcher, EventBatch, EventBatch], tmp_path: Path
) -> None:
    url, version, matcher, sample, batch = auction
    visits = {}
    for label, routing in (("similar", Routing()), ("by id", Routing(by_similarity=False))):
        assignments = ShardAssignments(url, 16, routing, str(tmp_path / label))
        assignments.observe([sample])
        pairs, visits[label] = found(assignments.assign(version), batch)
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
        assignment = ShardAssignments(str(tmp_path / "s"), 6, routing, str(tmp_path / label)).assign(version)
        visits[label] = 0
        for tenant in tenants:
            batch = EventBatch.of([{"a": 3}, {"a": 100}], EventType(tenant))
            pairs, count = found(assignment, batch)
            assert pairs == expected(matchers[tenant], batch)
            visits[label] += count
    # A tenant that fits into what is left of a shard has one, the others two.
    assert visits["by tenant"] <= 2 * 2 * len(tenants) < visits["similar"]
    loads = summarise(assignment).subscriptions
    assert sum(loads) == sum(len(matchers[tenant]) for tenant in tenants)


@pytest.mark.slow
def test_a_shard_that_grows_is_split_and_the_others_stay(tmp_path: Path) -> None:
    prices = EventType.of({"name": "offer", "attributes": {"title": "string", "price": "int"}})
    matcher = Matcher(prices)

    def add(title: str, count: int) -> None:
        matcher.add_many([(f"{title}{price}", f"title = '{title}' AND price < {price}") for price in range(count)])

    assignments = ShardAssignments(str(tmp_path / "s"), 4, Routing(shard_limit=800))
    events = [{"title": title, "price": 5} for title in "abcd"]
    assignments.observe([EventBatch.of(events * 10, prices)])
    for title in "abcd":
        add(title, 700)
    before = assignments.assign(matcher.publish(tmp_path / "s"))
    assert len(before.shards) == 4
    add("e", 300)
    after = assignments.assign(matcher.publish(tmp_path / "s"))
    loads = summarise(after).subscriptions
    assert 5 <= len(after.shards) <= 6
    assert max(loads) <= 800
    assert sum(loads) == len(matcher) == 3_100
    stayed = [old <= new for old, new in zip(before.shards, after.shards[:4], strict=True)]
    assert sum(stayed) == 4 - (len(after.shards) - 4), "only shards that were split have other segments"
    batch = EventBatch.of(events, prices)
    pairs, visits = found(after, batch)
    assert pairs == expected(matcher, batch)
    assert visits <= 2 * len(events)


def test_there_are_as_many_shards_as_a_limit_needs(tmp_path: Path) -> None:
    matcher = Matcher()
    matcher.add_many([(f"s{number}", f"a = {number}") for number in range(95)])
    version = matcher.publish(tmp_path / "s")
    assignment = ShardAssignments(str(tmp_path / "s"), 2, Routing(shard_limit=10)).assign(version)
    assert len(assignment.shards) >= 10
    assert max(summarise(assignment).subscriptions) <= 10


@pytest.mark.slow
def test_a_larger_budget_saves_visits(
    auction: tuple[str, int, Matcher, EventBatch, EventBatch], tmp_path: Path
) -> None:
    url, version, _, sample, batch = auction
    visits = []
    for budget in (0, 1 << 20):
        assignments = ShardAssignments(url, 16, Routing(budget), str(tmp_path / str(budget)))
        assignments.observe([sample])
        visits.append(found(assignments.assign(version), batch)[1])
    assert visits[1] < visits[0]


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES)
def test_measures_prune_entries_step_by_step(
    measure: str, auction: tuple[str, int, Matcher, EventBatch, EventBatch], tmp_path: Path
) -> None:
    _, _, matcher, _, batch = auction
    small = Matcher(matcher.event_type)
    small.add_many([(each.id, each.condition) for each in list(matcher)[:150]])
    version = small.publish(tmp_path / "small")
    assignments = ShardAssignments(str(tmp_path / "small"), 4, Routing(budget=30_000, measure=measure))
    assert found(assignments.assign(version), batch)[0] == expected(small, batch)


def test_a_segment_is_assigned_once(tmp_path: Path) -> None:
    matcher = Matcher()
    matcher.add_many([(f"s{number}", f"a = {number % 7} AND b > {number}") for number in range(300)])
    first = matcher.publish(tmp_path / "s")
    assignments = ShardAssignments(str(tmp_path / "s"), 4)
    before = assignments.assign(first)
    assert assignments.assign(first) == before
    matcher.remove("s5")
    after = assignments.assign(matcher.publish(tmp_path / "s"))
    assert (after.shards, after.routes) == (before.shards, before.routes), "only a tombstone is new"
    assert after.version == before.version + 1
    assert read_assignment(Snapshots(after.url).manifest(after.version), after.url) == after
    with pytest.raises(SnapshotError, match="not assigned to shards"):
        read_assignment(Snapshots(tmp_path / "s").manifest(first), "s")


def test_subscriptions_that_always_hold_open_few_shards(tmp_path: Path) -> None:
    matcher = Matcher()
    matcher.add_many([(f"s{number}", f"a = {number}" if number < 90 else "TRUE") for number in range(100)])
    assignment = ShardAssignments(str(tmp_path / "s"), 5).assign(matcher.publish(tmp_path / "s"))
    batch = EventBatch.of([{"a": number} for number in range(100)])
    pairs, visits = found(assignment, batch)
    assert pairs == expected(matcher, batch)
    assert 100 < visits < 250


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Routing(measure="speed"), "there is no measure 'speed'; known are common, accuracy"),
        (lambda: Routing(budget=-1), "expected a budget"),
        (lambda: ShardAssignments("s", 0), "expected from 1 to 99999 shards, found 0"),
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
    whole = open_segment(Snapshots(url).segment(entry.segment), ENGINES[MAPPED_ENGINE])
    kept = [np.arange(number, entry.slots, count) for number in range(count)]
    parts = [
        SnapshotPart(
            store_segment(merge_slots([whole], [slots], index_builder(None))),
            len(slots),
            event_type=entry.event_type,
        )
        for slots in kept
    ]
    return (
        Snapshots(target)
        .publish(parts, parent=None, event_types=manifest.event_types, extra={}, statistics=None)
        .version
    )


@pytest.mark.slow
def test_segments_that_are_new_together_share_the_budget(tmp_path: Path) -> None:
    matcher = Matcher({"name": "book", "attributes": {"title": "string", "price": "int"}})
    for place in range(400):
        matcher.add(f"s{place}", f"title = 't{place % 50}' AND price < {place}")
    batch = EventBatch.of([{"title": f"t{place}", "price": place} for place in range(80)], matcher.event_type)
    one, several = str(tmp_path / "one"), str(tmp_path / "several")
    version = matcher.publish(one)
    routing = Routing(budget=20_000)  # room for all titles once
    visits = []
    for url, at in ((one, version), (several, in_segments(one, version, 8, several))):
        assignment = ShardAssignments(url, 5, routing).assign(at)
        pairs, count = found(assignment, batch)
        assert pairs == expected(matcher, batch)
        visits.append(count)
    assert visits == [50, 50]


LISTS = {
    "lists": [
        f"a IN ({', '.join(str(place * 1_000 + 7 * number) for number in range(100))})" for place in range(60)
    ],
    "pure or": [f"a = {place} OR b = {place * 7}" for place in range(300)],
    "equal entries": [f"title = 'Emma' AND price < {place}" for place in range(300)],
    "patterns": [f"title LIKE '%{place} word%'" for place in range(60)],
}


@pytest.mark.parametrize("routing", ["by_similarity", "by_id", "by_tenant", "occurrence", "merged"])
@pytest.mark.parametrize("kind", LISTS)
def test_a_budget_is_kept_in_stored_bytes(kind: str, routing: str, tmp_path: Path) -> None:
    matcher = Matcher()
    matcher.add_many(
        [
            {"id": f"s{number}", "condition": text, "owner": "abc"[number % 3]}
            for number, text in enumerate(LISTS[kind])
        ]
    )
    version = matcher.publish(tmp_path / "s")
    batch = EventBatch.of([{"a": 7 * place, "b": 7 * place, "title": "3 word", "price": 5} for place in range(20)])
    ways = {
        "by_similarity": Routing(budget=8_000),
        "by_id": Routing(budget=8_000, by_similarity=False),
        "by_tenant": Routing(budget=8_000, by_tenant=True),
        "occurrence": Routing(budget=8_000, measure="occurrence"),
        "merged": Routing(budget=8_000, by_tenant=True, measure="occurrence", merging=True),
    }
    assignment = ShardAssignments(str(tmp_path / "s"), 3, ways[routing]).assign(version)
    stored = sum(Snapshots(assignment.url).segment(name).bytes for name in assignment.routes)
    assert stored == assignment.entry_bytes == summarise(assignment).entry_bytes <= 8_000
    assert not assignment.is_over_budget
    assert found(assignment, batch)[0] == expected(matcher, batch)


def test_a_budget_that_cannot_be_kept_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    matcher = Matcher()
    matcher.add_many([(f"s{number}", f"a IN ({number}, {number + 9})") for number in range(20)])
    assignment = ShardAssignments(str(tmp_path / "s"), 3, Routing(budget=10)).assign(
        matcher.publish(tmp_path / "s")
    )
    assert assignment.is_over_budget
    assert assignment.budget == 10 < assignment.entry_bytes
    (record,) = [each for each in caplog.records if each.levelname == "WARNING"]
    assert str(assignment.entry_bytes) in record.getMessage()


def test_a_few_subscriptions_more_do_not_become_true(tmp_path: Path) -> None:
    matcher = Matcher()
    matcher.add_many([(f"s{number}", f"a = {number} AND b > {number}") for number in range(2_000)])
    assignments = ShardAssignments(str(tmp_path / "s"), 4, Routing(budget=100_000))
    before = assignments.assign(matcher.publish(tmp_path / "s"))
    matcher.add("new", "c = 'rare' AND d = 1")
    after = assignments.assign(matcher.publish(tmp_path / "s"))
    assert len(after.routes) > len(before.routes)
    assert found(after, EventBatch.of([{"c": "often", "d": 1}]))[1] == 0
    assert after.entry_bytes <= 100_000


def test_entries_are_generalised_again_for_another_budget(tmp_path: Path) -> None:
    matcher = Matcher()
    batch = EventBatch.of([{"title": f"book {n % 9}", "price": n} for n in range(40)])
    texts = [f"title = 'book {n % 9}' AND price < {n % 31}" for n in range(200)]
    matcher.add_many([(f"s{number}", text) for number, text in enumerate(texts)])
    first = matcher.publish(tmp_path / "s")
    assignments = ShardAssignments(str(tmp_path / "s"), 3, Routing(budget=1 << 20))
    before = assignments.assign(first)
    matcher.add_many([(f"t{number}", text) for number, text in enumerate(texts[:30])])
    version = matcher.publish(tmp_path / "s")
    pairs = expected(matcher, batch)
    assert found(assignments.assign(version), batch)[0] == pairs
    sizes = [before.entry_bytes]
    for budget in (20_000, 8_000):
        assignments.generalise_again(budget)
        after = assignments.assign(version)
        assert found(after, batch)[0] == pairs
        assert after.shards[0] >= before.shards[0], "subscriptions stay where they are"
        assert after.budget == budget
        sizes.append(after.entry_bytes)
    assert sizes[0] > sizes[1] >= sizes[2] and sizes[2] <= 8_000
    assignments.generalise_again(1 << 20)
    again = assignments.assign(version)
    assert found(again, batch)[0] == pairs
    assert again.entry_bytes > sizes[1]


@pytest.mark.slow
def test_entries_made_again_follow_events_that_have_drifted(tmp_path: Path) -> None:
    """At first `a` tells events apart, later `b` does."""
    random_ = random.Random(5)

    def events(few: str, many: str) -> EventBatch:
        values = [{few: random_.randrange(20), many: random_.randrange(2_000)} for _ in range(1_000)]
        return EventBatch.of(values, matcher.event_type)

    matcher = Matcher()
    matcher.add_many([(f"s{n}", f"a = {n % 20} AND b = {n // 20}") for n in range(400)])
    version = matcher.publish(tmp_path / "s")
    early, later, latest = events("b", "a"), events("a", "b"), events("a", "b")
    visits = {}
    for way in ("first sample", "decayed sample"):
        routing = Routing(budget=1 << 20, measure="accuracy", sample=1_000)
        assignments = ShardAssignments(str(tmp_path / "s"), 4, routing, str(tmp_path / way))
        assert assignments.wants_sample(version)
        assignments.observe([early])
        assignments.assign(version)
        assert not assignments.wants_sample(version, passed=1_000_000), "no entries are made"
        assert not assignments.wants_sample(version, 30_000, passed=1_000), "the sample is still good"
        if way == "decayed sample":
            assert assignments.wants_sample(version, 30_000, passed=100_000)
            assignments.observe([later], passed=100_000)
        assignments.generalise_again(30_000)
        pairs, visits[way] = found(assignments.assign(version), latest)
        assert pairs == expected(matcher, latest)
    assert visits["decayed sample"] < 0.8 * visits["first sample"]
