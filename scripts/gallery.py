"""The pictures of `docs/gallery`: each is drawn from what the files of its example give when they are matched.

`python -m scripts.gallery` prints the names of the pictures that are out of date and fails if there are any;
`--write` draws them. Nothing random and no clock is involved, so a test compares them with the files.
"""

from __future__ import annotations

import json
import math
import runpy
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

from scripts.plots import WIDTH, size_of
from tamis import Matcher, SequenceMatcher
from tamis.cli.subscriptions import read_subscriptions
from tamis.operators.library import load
from tamis.report.markup import escape

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES, PAGES = ROOT / "examples", ROOT / "docs" / "gallery"

Record: TypeAlias = dict[str, Any]
Pairs: TypeAlias = list[tuple[Any, str]]
"""The id of an event and the id of a subscription that it satisfies."""

_STYLE = """
svg{--ground:#fff;--ink:#1c2430;--soft:#5b6675;--line:#e3e7ed;
--c0:#2368b5;--c1:#d9692b;--c2:#2f8f6f;--c3:#8457b3;--c4:#b58a14;--c5:#c0392b}
@media(prefers-color-scheme:dark){svg{--ground:#1a2029;--ink:#e6eaf0;--soft:#9aa6b5;--line:#2c3542;
--c0:#6aa9ef;--c1:#f0955c;--c2:#5cc39f;--c3:#b794e6;--c4:#e0bb52;--c5:#f07f72}}
.ground{fill:var(--ground)}text{font:13px system-ui,sans-serif;fill:var(--soft)}
.title{font-weight:600;font-size:15px}.title,.strong{fill:var(--ink)}
.grid{stroke:var(--line);stroke-width:1;fill:none}.soft{color:var(--soft)}
.specks{stroke:var(--soft);stroke-width:2.6;stroke-linecap:round;stroke-opacity:.6}
.fill{fill:currentColor}.line{stroke:currentColor;stroke-width:2;fill:none;stroke-linejoin:round}
.faint{fill-opacity:.45}.area{fill:currentColor;fill-opacity:.13;stroke:currentColor;stroke-width:1.5}
.c0{color:var(--c0)}.c1{color:var(--c1)}.c2{color:var(--c2)}.c3{color:var(--c3)}.c4{color:var(--c4)}.c5{color:var(--c5)}
"""


# --- what is matched -------------------------------------------------------------------------------------------


def _records(path: Path) -> list[Record]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _pairs(folder: str, subscriptions: str, events: str, event_type: str | None, dialect: str = "sql") -> Pairs:
    """What `tamis match` prints for files of an example."""
    home = EXAMPLES / folder
    matcher = Matcher(None if event_type is None else home / event_type)
    entries = read_subscriptions(str(home / subscriptions), dialect=dialect)
    matcher.add_many([(entry.id, entry.condition) for entry in entries], dialect=dialect)
    return _pairs_of(matcher, _records(home / events))


def _pairs_of(matcher: Matcher, events: Sequence[Record]) -> Pairs:
    table = matcher.match_batch(events, event_id="id")
    return list(zip(table["event_id"].to_pylist(), table["subscription_id"].to_pylist(), strict=True))


# --- drawing ---------------------------------------------------------------------------------------------------


def _text(x: float, y: float, text: object, anchor: str = "start", style: str = "") -> str:
    named = f' class="{style}"' if style else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{named}>{escape(str(text))}</text>'


def _line(points: Iterable[tuple[float, float]], style: str) -> str:
    return f'<polyline class="{style}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>'


def _dot(x: float, y: float, style: str, radius: float = 4, hint: str = "") -> str:
    title = f"<title>{escape(hint)}</title>" if hint else ""
    return f'<circle class="fill {style}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}">{title}</circle>'


def _picture(title: str, height: float, parts: Iterable[str]) -> str:
    """An SVG of the common width, with colours for light and dark."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size_of(round(height))} role="img" '
            f'aria-label="{escape(title)}">',
            f"<style>{_STYLE}</style>",
            f'<rect class="ground" width="{WIDTH}" height="{height:.0f}" rx="8"/>',
            _text(20, 28, title, style="title"),
            *parts,
            "</svg>\n",
        ]
    )


def _legend(names: Sequence[str], y: float) -> list[str]:
    """A coloured dot before each name; a second line where one is too short."""
    parts, x = [], 20.0
    for place, name in enumerate(names):
        if x + 16 + 7 * len(name) > WIDTH - 10:
            x, y = 20.0, y + 20
        parts += [_dot(x + 5, y - 4, f"c{place}", 5), _text(x + 16, y, name)]
        x += 34 + 7 * len(name)
    return parts


def _grid_of_pairs(title: str, pairs: Pairs, rows: Sequence[str], columns: Sequence[str]) -> str:
    """A dot where an event, its column, satisfies a subscription, its row; long names of columns go upwards."""
    left, step = 24 + 7.4 * max(map(len, rows)), 30
    width = (WIDTH - left - 36) / len(columns)
    longest = 7 * max(map(len, columns))
    is_steep = longest > width
    top = 58 + (longest * 0.72 if is_steep else 10)
    parts = []
    for place, name in enumerate(columns):
        x = left + (place + 0.5) * width
        if is_steep:
            parts.append(f'<g transform="translate({x:.1f} {top - 4:.1f}) rotate(-45)">{_text(0, 0, name)}</g>')
        else:
            parts.append(_text(x, top - 6, name, "middle"))
    for row, name in enumerate(rows):
        y = top + (row + 0.5) * step
        parts.append(_text(left - 8, y + 4, name, "end", "strong"))
        parts.append(_line([(left, y), (WIDTH - 20, y)], "grid"))
    for event, subscription in pairs:
        x, y = left + (columns.index(event) + 0.5) * width, top + (rows.index(subscription) + 0.5) * step
        parts.append(_dot(x, y, f"c{rows.index(subscription) % 6}", 7, f"{event} satisfies {subscription}"))
    return _picture(title, top + step * len(rows) + 20, parts)


# --- the pictures ----------------------------------------------------------------------------------------------


def telemetry() -> str:
    """Temperatures of a day, and below them the rules that each reading satisfies."""
    readings = {each["id"]: each for each in _records(EXAMPLES / "telemetry" / "readings.jsonl")}
    rules = [each["id"] for each in _records(EXAMPLES / "telemetry" / "rules.jsonl")]
    machines = list(dict.fromkeys(each["machine"] for each in readings.values()))
    left, top, bottom, step = 120, 70, 230, 24

    def across(reading: Record) -> float:
        return left + 10 + int(reading["at"][11:13]) * (WIDTH - left - 40) / 23

    def up(degrees: float) -> float:
        return bottom - (degrees - 20) * (bottom - top) / 80

    parts = _legend(machines, 52)
    for degrees in range(20, 101, 20):
        parts.append(_line([(left, up(degrees)), (WIDTH - 20, up(degrees))], "grid"))
        parts.append(_text(left - 10, up(degrees) + 4, f"{degrees} °C", "end"))
    for place, machine in enumerate(machines):
        known: list[list[tuple[float, float]]] = [[]]
        for each in readings.values():
            if each["machine"] == machine and "temperature" in each:
                known[-1].append((across(each), up(each["temperature"])))
            elif each["machine"] == machine:
                known.append([])
        parts += [_line(stretch, f"line c{place}") for stretch in known if stretch]
    for row, rule in enumerate(rules):
        y = bottom + 30 + row * step
        parts += [_text(left - 10, y + 4, rule, "end", "strong"), _line([(left, y), (WIDTH - 20, y)], "grid")]
    for event, rule in _pairs("telemetry", "rules.jsonl", "readings.jsonl", "reading.json"):
        reading, y = readings[event], bottom + 30 + rules.index(rule) * step
        hint = f"{event}: {rule}"
        parts.append(_dot(across(reading), y, f"c{machines.index(reading['machine'])}", 5, hint))
    foot = bottom + 30 + len(rules) * step
    parts += [
        _text(left + 10 + hour * (WIDTH - left - 40) / 23, foot + 8, f"{hour}:00", "middle")
        for hour in range(0, 24, 4)
    ]
    return _picture("Temperatures of a day, and the rules that fire", foot + 26, parts)


def marketplace() -> str:
    """How many of the saved searches a new flat satisfies."""
    flats = runpy.run_path(str(EXAMPLES / "marketplace" / "flats.py"))
    searches, listings = flats["searches"](), flats["listings"]()
    matcher = Matcher(flats["FLAT"])
    matcher.add_many(searches)
    found = Counter(event for event, _ in _pairs_of(matcher, listings))
    left, top, bottom = 70, 60, 330
    most = max(found.values())

    def place(flat: Record) -> tuple[float, float]:
        return left + flat["area"] * (WIDTH - left - 30) / 180, bottom - flat["rent"] * (bottom - top) / 3_200

    parts = []
    for rent in range(0, 3_001, 1_000):
        y = bottom - rent * (bottom - top) / 3_200
        parts += [_line([(left, y), (WIDTH - 20, y)], "grid"), _text(left - 10, y + 4, f"{rent:,}", "end")]
    for area in range(0, 161, 40):
        parts.append(_text(place({"area": area, "rent": 0})[0], bottom + 20, f"{area} m²", "middle"))
    for each in sorted(listings, key=lambda flat: found[flat["id"]]):
        count = found[each["id"]]
        if count:
            hint = f"{each['id']}: {count} searches" if count > most / 2 else ""
            parts.append(_dot(*place(each), "c0 faint", round(1.5 + 9 * math.sqrt(count / most), 1), hint))
        else:
            parts.append(_dot(*place(each), "c1", 2))
    parts += [
        _text(20, 50, "rent"),
        _text(WIDTH - 20, 50, "blue: number of searches; orange: none", "end"),
    ]
    title = f"{len(listings):,} flats, {len(searches):,} saved searches: {found.total():,} matches"
    return _picture(title, bottom + 36, parts)


def fraud() -> str:
    """Payments by amount and distance, coloured by the rule that they satisfy."""
    home = EXAMPLES / "fraud"
    made = runpy.run_path(str(home / "payments.py"))
    payments = made["payments"]()
    load("models", models={"risk": {"file": str(home / "risk.onnx"), "inputs": ["a", "b", "c", "d"]}})
    matcher = Matcher(made["PAYMENT"])
    rules = _records(home / "rules.jsonl")
    matcher.add_many(rules)
    names = [each["id"] for each in rules]
    first: dict[str, str] = {}
    for event, rule in sorted(_pairs_of(matcher, payments), key=lambda pair: names.index(pair[1])):
        first.setdefault(event, rule)
    left, top, bottom = 70, 76, 330
    parts = _legend(names, 52)

    def across(amount: float) -> float:
        return left + math.log10(amount) * (WIDTH - left - 30) / 3.7

    def up(km: float) -> float:
        return bottom - math.log10(max(km, 1)) * (bottom - top) / 4.3

    for power in range(5):
        parts += [
            _line([(left, up(10**power)), (WIDTH - 20, up(10**power))], "grid"),
            _text(left - 8, up(10**power) + 4, f"{10**power:,}", "end"),
        ]
    parts += [_text(across(amount), bottom + 20, f"{amount:,}", "middle") for amount in (1, 10, 100, 1000)]
    places = {each["id"]: (across(max(each["amount"], 1)), up(each["km_from_home"])) for each in payments}
    others = "".join(f"M{x:.0f} {y:.0f}h0" for id, (x, y) in places.items() if id not in first)
    parts.append(f'<path class="specks" d="{others}"/>')  # a circle each would take 100 kB
    parts += [_dot(*places[id], f"c{names.index(rule)}", 4, f"{id}: {rule}") for id, rule in first.items()]
    parts += [_text(WIDTH - 20, bottom + 38, "amount", "end"), _text(20, 70, "km from home")]
    return _picture(f"{len(payments):,} payments and the first rule that each satisfies", bottom + 52, parts)


def geofences() -> str:
    """A map of the fences, the ways of the vans and the places where rules fire."""
    home = EXAMPLES / "geofences"
    load("spatial", regions=str(home / "fences.geojson"))
    positions = {each["id"]: each for each in _records(home / "positions.jsonl")}
    rules = [each["id"] for each in _records(home / "rules.jsonl")]
    west, south, east, north = 9.94, 53.518, 10.04, 53.570
    left, top, bottom = 20, 90, 470

    def place(lon: float, lat: float) -> tuple[float, float]:
        return (
            left + (lon - west) * (WIDTH - 40) / (east - west),
            bottom - (lat - south) * (bottom - top) / (north - south),
        )

    parts = _legend(rules, 52)
    for feature in json.loads((home / "fences.geojson").read_text("utf-8"))["features"]:
        corners = [place(*corner) for corner in feature["geometry"]["coordinates"][0]]
        outline = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
        parts.append(f'<polygon class="area soft" points="{outline}"/>')
        x, y = min(x for x, _ in corners), max(y for _, y in corners)
        parts.append(_text(x + 4, y - 6, feature["properties"]["name"], style="strong"))
    ways: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for each in positions.values():
        ways[each["van"]].append(place(each["position"]["lon"], each["position"]["lat"]))
    parts += [_line(way, "grid") for way in ways.values()]
    for way in ways.values():
        parts += [_dot(x, y, "soft", 1.8) for x, y in way]
    for event, rule in _pairs("geofences", "rules.jsonl", "positions.jsonl", "van.json"):
        x, y = place(positions[event]["position"]["lon"], positions[event]["position"]["lat"])
        parts.append(_dot(x, y, f"c{rules.index(rule)}", 5, f"{event}: {rule}"))
    return _picture("Three vans, three fences, and where rules fire", bottom + 20, parts)


def eventbridge() -> str:
    """Which event satisfies which rule."""
    home = EXAMPLES / "eventbridge"
    return _grid_of_pairs(
        "Rules of EventBridge and the events that they match",
        _pairs("eventbridge", "rules.jsonl", "events.jsonl", None, "eventbridge"),
        [each["Name"] for each in _records(home / "rules.jsonl")],
        [each["id"] for each in _records(home / "events.jsonl")],
    )


def logs() -> str:
    """A line a rule: the events of each match, joined, up to the time at which it is complete."""
    home = EXAMPLES / "logs"
    rules: Mapping[str, str] = json.loads((home / "rules.json").read_text("utf-8"))
    matcher = SequenceMatcher()
    for id, text in rules.items():
        matcher.add(id, text)
    events = _records(home / "log.jsonl")
    times = {each["id"]: datetime.fromisoformat(each["time"]) for each in events}
    start = min(times.values()).replace(second=0)
    left, top, step = 140, 60, 40

    def across(time: datetime) -> float:
        return left + 10 + (time - start).total_seconds() * (WIDTH - left - 40) / 1_000

    names = list(rules)
    parts = []
    for row, name in enumerate(names):
        y = top + (row + 0.5) * step
        parts += [_text(left - 12, y + 4, name, "end", "strong"), _line([(left, y), (WIDTH - 20, y)], "grid")]
    for match in matcher.feed(events, event_id="id"):
        row = names.index(match.subscription_id)
        y, style = top + (row + 0.5) * step, f"c{row}"
        places = [across(times[each["id"]]) for each in match.events]
        parts.append(_line([(places[0], y), (across(match.time), y)], f"line {style}"))
        parts += [_dot(x, y, style, 5, each["id"]) for x, each in zip(places, match.events, strict=True)]
        parts.append(_line([(across(match.time), y - 8), (across(match.time), y + 8)], f"line {style}"))
        key = ", ".join(map(str, match.key))
        said, is_far = f"{key}, {match.time:%H:%M:%S}", across(match.time) > WIDTH - 140
        parts.append(_text(across(match.time) + (-8 if is_far else 8), y - 8, said, "end" if is_far else "start"))
    foot = top + step * len(names) + 14
    for minute in range(0, 17, 4):
        time = start.replace(minute=minute)
        parts.append(_text(across(time), foot, f"{time:%H:%M}", "middle"))
    return _picture("Matches of several log lines, and their times", foot + 16, parts)


def percolator() -> str:
    """Which job satisfies which alert."""
    home = EXAMPLES / "percolator"
    pairs = _pairs("percolator", "alerts.jsonl", "jobs.jsonl", None, "percolator")
    return _grid_of_pairs(
        "Search alerts and the jobs that they match",
        pairs,
        [each["_id"] for each in _records(home / "alerts.jsonl") if each["_id"] in {alert for _, alert in pairs}],
        [each["id"] for each in _records(home / "jobs.jsonl")],
    )


PICTURES: dict[str, Callable[[], str]] = {
    each.__name__: each for each in (telemetry, marketplace, fraud, geofences, eventbridge, logs, percolator)
}
"""What draws the picture of each example."""


def main(arguments: Sequence[str]) -> int:
    """Compare or draw; returns the exit code."""
    stale = []
    for name, draw in PICTURES.items():
        path, drawn = PAGES / f"{name}.svg", draw()
        if not path.exists() or path.read_text("utf-8") != drawn:
            stale.append(name)
            if "--write" in arguments:
                path.write_text(drawn, "utf-8")
    print("drawn:" if "--write" in arguments else "out of date:", ", ".join(stale) or "none")
    return 1 if stale and "--write" not in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
