"""The page of a run stands alone, is whole HTML, shows what the reports say, and runs nothing of what ids hold."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from tamis import EventBatch, compile_condition
from tamis.explain import Explanation, explain
from tamis.progress import BatchReport, RunFailure
from tamis.report import Figure, page
from tests.reports import random_reports, report

HOSTILE = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "</title></style><b>",
    "&lt;already&gt; &amp;",
    "javascript:alert(1)",
]
VOID = {"meta"}


class Page(HTMLParser):
    """A page as a browser would take it apart; fails on what is not balanced."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))

    def text(self, tag: str | None = None) -> str:
        return "\n".join(data for within, data in self.texts if tag is None or within == tag)


def explained(text: str = "a > 1 AND (b = 'x' OR AT_LEAST(1, c IS NULL, a < 5)) AND NOT d") -> Explanation:
    event = {"a": 3, "b": "<i>y</i>", "d": False}
    return explain(compile_condition(text), EventBatch.of(event), subscription_id="<u>mine</u>")


def made(reports: list[BatchReport], **values: object) -> Page:
    return Page(page(reports, title="Night run", output="out/x", **values))  # type: ignore[arg-type]


FULL = {
    "explained": explained(),
    "matches": {"s1": 4, "s2": 1},
    "subscriptions": 10,
    "facts": {"Spark": "local[2]"},
    "warm_up": [report(0, seconds=20.0)],
    "conditions": {"s1": "a < 1"},
    "event": {"a": 3},
    "figures": [Figure("plain Spark", "2 h", "extrapolated")],
    "tables": {"Stages": {"start": "3 s"}},
}


@pytest.mark.parametrize("count", [0, 1, 2, 40, 1_000])
@pytest.mark.parametrize("values", [{}, FULL], ids=["bare", "full"])
def test_whole_and_alone(count: int, values: dict[str, object]) -> None:
    found = made(random_reports(count, count), **values)
    assert not {"script", "link", "img", "iframe", "object", "base"} & set(found.tags)
    assert not [one for one in found.attributes if one[1] in ("src", "href", "xlink:href", "srcset", "action")]
    assert not [one for one in found.attributes if one[1].startswith("on")]
    assert "url(" not in found.text("style")
    assert "@import" not in found.text("style")
    assert "http:" not in found.text()
    assert "https:" not in found.text()


def test_a_browser_is_told_to_fetch_and_run_nothing() -> None:
    policy = next(value for _, name, value in made([report()]).attributes if name == "content")
    assert policy.startswith("default-src 'none'")
    assert "script-src" not in policy


def test_the_size_does_not_grow_with_the_batches() -> None:
    few, many = (page(random_reports(1, count), title="t", output="o") for count in (500, 5_000))
    assert len(many) < 1.5 * len(few)


def test_headline_figures() -> None:
    found = made([report(0), report(1, version=9, lag_seconds=2.0)])
    assert re.sub(r"\s+", " ", found.text("dd")) == "2,000 140 4% 500 ms 9"
    for small in (
        "median of micro-batches; 2,000 events",
        "1.8 per matched event",
        "80 events",
        "versions 7 to 9 used; at most 2 s behind the store",
    ):
        assert small in found.text("small")
    assert "out/x" in found.text("code")
    assert "2 micro-batches, 1 s of processing" in found.text("p")


def test_the_lag_is_said_in_words() -> None:
    assert "version 7 used; never behind the store" in made([report(0, lag_seconds=0.0)]).text("small")
    assert "version 7 used" in made([report(0, lag_seconds=None)]).text("small").splitlines()


def test_the_table_of_batches_names_the_zone_of_its_times() -> None:
    assert "time (UTC)" in made([report(0)]).text("th")


def test_numbers_have_no_exponents() -> None:
    found = made([report(events=1_000, matched_events=3, notifications=451)])
    assert "150 per matched event" in found.text("small")


def test_a_warm_up_stands_apart() -> None:
    measured = [report(2), report(3)]
    found = made(measured, warm_up=[report(0, seconds=30.0), report(1, seconds=10.0)])
    assert found.text("dd") == made(measured).text("dd")
    assert "2 micro-batches, 1 s of processing" in found.text("p")
    assert "warm-up: 2 micro-batches, 40 s of processing" in found.text("p")
    cells = found.text("td").splitlines()
    assert [cells[row * 9] for row in range(4)] == ["0, warm-up", "1, warm-up", "2", "3"]
    assert "warm-up" not in made(measured).text()


def test_other_figures_and_tables_are_shown_and_not_run() -> None:
    more = {"figures": [Figure(*HOSTILE[:3])], "tables": {HOSTILE[0]: {HOSTILE[1]: HOSTILE[2]}}}
    found = made([report()], **more)
    assert HOSTILE[1] in found.text("dd")
    assert HOSTILE[2] in found.text("small")
    assert HOSTILE[0] in found.text("h3")
    assert HOSTILE[1] in found.text("dt")
    assert not {"script", "img"} & set(found.tags)


def test_busy_subscriptions_have_their_conditions_and_the_match_its_event() -> None:
    values = {"matches": {"s1": 4, "s2": 1}, "conditions": {"s1": "a < 3 AND b = '<i>'"}}
    found = made([report()], **values, explained=explained(), event={"a": 3, "b": "<i>y</i>"})
    assert "a < 3 AND b = '<i>'" in found.text("code")
    assert '{"a": 3, "b": "<i>y</i>"}' in found.text("code")


def test_the_share_is_of_all_subscriptions_that_ever_existed() -> None:
    found = made([report()], matches={"s1": 4, "s2": 1}, subscriptions=8)
    assert "2 of 8 subscriptions that ever existed matched (25%)" in found.text("p")


def captions(found: Page) -> list[str]:
    return [data.strip() for within, data in found.texts if within == "figcaption"]


def test_charts_of_a_good_run() -> None:
    found = made([report(batch) for batch in range(5)], matches={"s1": 3})
    assert captions(found) == [
        *("Throughput", "Backlog", "Matches", "Latency per micro-batch", "Matches per subscription"),
        *("Snapshot version", "Lag behind the store"),
    ]
    assert found.tags.count("svg") == 7


def test_charts_of_what_went_wrong_are_there_only_if_it_did() -> None:
    found = made([report(0, dead=3, overflow=20, repeated=1), report(1)])
    assert captions(found)[-3:] == ["Dead letters", "Over quota", "Repeated"]
    assert "3" in found.text("dd").split()
    assert "20" in found.text("dd").split()


def test_a_failed_run_says_first_that_it_failed_where_and_why() -> None:
    found = made([report(0)], failure=RunFailure("delivery", "<b>disk full</b>", 1))
    assert "Night run: failed" in found.text("title")
    assert found.text("strong") == "This run failed in batch 1, while results were handed to the sink."
    assert "<b>disk full</b>" in found.text("code")
    assert ("div", "role", "alert") in found.attributes
    assert "failed" not in made([report(0)]).text()


def test_a_run_that_failed_before_its_first_batch_has_a_page() -> None:
    assert "before its first batch" in made([], failure=RunFailure("start", "no store")).text("strong")


def test_dead_letters_are_listed_by_kind_with_their_numbers() -> None:
    counted = (("malformed", 2_000), ("missing id", 1))
    found = made([report(0, dead=2_001, dead_by_kind=counted), report(1)])
    assert [data for within, data in found.texts if within == "bdi"][-2:] == ["malformed", "missing id"]
    assert found.text("b").splitlines()[-2:] == ["2,000", "1"]


def test_without_backlog_and_store_their_charts_are_left_out() -> None:
    found = made([report(batch, backlog=None, lag_seconds=None, store_version=None) for batch in range(3)])
    assert "Backlog" not in captions(found)
    assert "Lag behind the store" not in captions(found)


def test_the_busiest_are_named_with_their_matches() -> None:
    matches = {f"s{number:02d}": number for number in range(1, 31)}
    found = made([report()], matches=matches, subscriptions=100)
    names = [data for within, data in found.texts if within == "bdi"]
    assert names == [f"s{number:02d}" for number in range(30, 10, -1)]
    assert "30 of 100 subscriptions that ever existed matched (30%)." in found.text("p")
    hints = [data for within, data in found.texts if within == "title"]
    assert {"0: 70 subscriptions", "1: 1 subscriptions", "8: 8 subscriptions", "16: 15 subscriptions"} <= set(
        hints
    )


def test_without_all_matches_the_page_says_what_it_counts() -> None:
    found = made([report(0), report(1)])
    assert [data for within, data in found.texts if within in ("bdi", "b")] == ["s1", "40", "s2", "10"]
    assert "each number is the least it can be" in found.text("p")


def test_the_explained_match_is_a_coloured_tree() -> None:
    found = made([report()], explained=explained())
    parts = [value.removeprefix("part ") for tag, name, value in found.attributes if value.startswith("part ")]
    assert parts == ["yes", "yes", "yes", "no", "yes", "yes", "yes", "yes", "no"]
    labels = [data for within, data in found.texts if within == "bdi"][-9:]
    assert labels == ["AND", "a > 1", "OR", "b = 'x'", "AT LEAST 1 OF", "c IS NULL", "a < 5", "NOT", "d"]
    assert "b = '<i>y</i>'" in found.text("small")
    assert "The event matches subscription '<u>mine</u>'" in found.text("p")
    assert found.tags.count("i") == 2  # the bars of the busiest, none of the event's


def test_a_run_without_new_events_says_so_instead_of_zeros() -> None:
    idle = Page(page([], title="pipeline.toml", output="a folder")).text()
    assert "No new events. Those that an earlier run matched are not matched again." in idle
    assert "events per second" not in idle
    failed = Page(page([], title="pipeline.toml", output="a folder", failure=RunFailure("start", "no"))).text()
    assert "No new events" not in failed


def test_batches_are_listed_the_last_of_very_many() -> None:
    assert "All micro-batches" in made([report(0)]).text("summary")
    found = made([report(batch) for batch in range(201)])
    assert "The last 200 micro-batches" in found.text("summary")
    assert found.tags.count("tr") == 201


@pytest.mark.parametrize("text", HOSTILE)
def test_what_comes_from_data_is_text(text: str) -> None:
    condition = compile_condition("a = 'x'")
    why = explain(condition, EventBatch.of({"a": text}), subscription_id=text)
    found = Page(
        page(
            [report(busiest=((text, 3),), query=text)],
            title=text,
            output=text,
            explained=why,
            matches={text: 3},
            facts={text: text},
        )
    )
    assert not {"script", "img"} & set(found.tags)
    assert not [one for one in found.attributes if one[1].startswith("on")]
    assert found.text("h1") == text
    assert found.text("code").startswith(text)
    assert text in found.text("bdi")
    assert ("bdi", "title", text) in found.attributes
    assert f"a = {text!r}" in found.text("small")
