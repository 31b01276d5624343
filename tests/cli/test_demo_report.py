"""What the demo says: of which batches, which subscriptions and which data each number is."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow as pa
import pytest

from tamis import Matcher
from tamis.cli.demo_plain_spark import PlainSpark
from tamis.cli.demo_report import DemoRun, Sample, facts, report_page, result
from tamis.lab.workloads import generate
from tests.reports import report

SECONDS = {"generate": 1.5, "measured batches": 40.0}


def run(**values: object) -> DemoRun:
    """Two batches of warm-up and three that count, of 1,000 events each; 200 subscriptions at first."""
    workload = generate("auction", subscriptions=210, events=100, seed=1)
    engines = (("bitslice", 1_000),)
    batches = [report(each, seconds=10.0 / (each + 1), version=5 + each, engines=engines) for each in range(5)]
    made = {"id": ["x", "y", "z"], "event_id": ["e1", "e1", "e2"], "subscription_id": ["s201", "s3", "s201"]}
    plain = PlainSpark(subscriptions=25, events=1_000, pairs=1, seconds=0.5)
    demo = DemoRun(workload, batches[:2], batches[2:], [200, 201, 202, 203, 204], 8, 4, pa.table(made), plain)
    return replace(demo, **values)  # type: ignore[arg-type]


def sample() -> Sample:
    matcher = Matcher()
    matcher.add("s201", "price < 3")
    return Sample({"id": "e1", "price": 2.5}, matcher.explain("s201", {"id": "e1", "price": 2.5}))


def test_the_clock_leaves_the_warm_up_out() -> None:
    found = result(run(), sample(), SECONDS)
    assert found["events"] == 5_000
    assert found["warm_up"] == {"batches": 2, "events": 2_000, "seconds": 15.0}
    measured = found["measured"]
    assert (measured["batches"], measured["events"]) == (3, 3_000)
    assert measured["events_per_second"] == pytest.approx(400), "the median of 300, 400 and 500"
    assert measured["end_to_end_seconds"] == pytest.approx(4 + 2)
    assert found["seconds"] == SECONDS


def test_the_share_is_of_the_subscriptions_that_ever_existed() -> None:
    assert run().matched_share == 2 / 208
    expected = {"at_first": 200, "added": 8, "removed": 4, "ever": 208, "matched": 2}
    assert result(run(), sample(), SECONDS)["subscriptions"] == expected
    assert "of the 208 subscriptions that ever existed" in facts(run())["share"]


def test_the_busiest_come_with_their_conditions_also_those_added_later() -> None:
    demo = run()
    busiest = result(demo, sample(), SECONDS)["busiest"]
    assert [(each["id"], each["matches"]) for each in busiest] == [("s201", 2), ("s3", 1)]
    assert busiest[0]["condition"] == demo.workload.conditions[201].as_py()


def test_every_subscription_of_the_page_has_its_condition() -> None:
    ids = [f"s{number}" for number in range(30)]
    made = {"id": ids, "event_id": ["e1"] * 30, "subscription_id": ids}
    page = report_page(run(notifications=pa.table(made)), sample(), SECONDS, "out")
    ranks = page[page.index("Most matches") :].partition("</ol>")[0]
    assert ranks.count("<li>") == ranks.count("<code>") == 20


def test_plain_spark_is_extrapolated_to_what_each_batch_met() -> None:
    demo = run()
    assert demo.products == 1_000 * (202 + 203 + 204)
    assert demo.plain_seconds == pytest.approx(0.5 * 609_000 / 25_000)
    text = facts(demo)["plain Spark"]
    for shown in (
        *("would take 12.2 s", "1.6 times as long as tamis", "extrapolated by events × subscriptions"),
        *("1,000 events × 25 subscriptions in 500 ms", "1 pair, the same as tamis found"),
    ):
        assert shown in text


def test_changes_are_counted() -> None:
    text = facts(run())["changes"]
    assert text == "200 subscriptions at first, 8 added and 4 removed; 3 of 3 batches saw a new version"
    same = replace(run().measured[2], version=8)
    assert "2 of 3 batches" in facts(run(measured=[*run().measured[:2], same]))["changes"]


def test_the_page_has_it_all() -> None:
    demo = run()
    page = report_page(demo, sample(), SECONDS, "out")
    for shown in (
        *("engine bitslice", "warm-up: 2 micro-batches, 15 s of processing", "plain Spark", "12.2 s"),
        *("2 of 208 subscriptions that ever existed matched (0.96%)", "measured batches", "1.5 s", "41.5 s"),
        *("{&quot;id&quot;: &quot;e1&quot;, &quot;price&quot;: 2.5}", "price &lt; 3"),
    ):
        assert shown in page


def test_a_run_without_a_match_has_a_result() -> None:
    demo = run(notifications=run().notifications.slice(0, 0))
    found = result(demo, Sample(), SECONDS)
    assert (found["notifications"], found["busiest"], found["event"], found["explained"]) == (0, [], None, None)
    assert json.loads(json.dumps(found)) == found
    assert "One match, explained" not in report_page(demo, Sample(), SECONDS, "out")


def test_the_engine_is_what_the_workers_reported() -> None:
    engines = [(("bitslice", 900), ("bitset", 100)), (("bitset", 1_000),), ()]
    measured = [replace(each, engines=told) for each, told in zip(run().measured, engines, strict=True)]
    assert result(run(measured=measured), sample(), SECONDS)["engine"] == "bitset, bitslice"
    assert "JSON to Delta" in facts(run())["tamis"]
