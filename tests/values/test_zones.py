"""Time zones; the expected values are those of java.time."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tamis.errors import EventTypeError
from tamis.values.calendar import civil_from_days, days_from_civil
from tamis.values.zones import Zone, find_zone, is_zone, zone_of

PARIS = "Europe/Paris"
CYCLE = 146_097 * 86_400


@pytest.mark.parametrize(
    ("name", "offset"),
    [
        ("Z", 0),
        ("UTC", 0),
        ("GMT0", 0),
        ("+01:00", 3600),
        ("+1", 3600),
        ("-1:3", -3780),
        ("+010203", 3723),
        ("GMT+1", 3600),
        ("UT-03:30", -12600),
        ("EST", -18000),
        ("+18:00", 64800),
        ("Etc/GMT+5", -18000),
    ],
)
def test_fixed_offsets(name: str, offset: int) -> None:
    assert zone_of(name).offset_at(0) == offset


@pytest.mark.parametrize(
    "name",
    ["", "z", "utc", "europe/paris", "Factory", "ROC", "+18:01", "+1:60", "+1:2:3", "../zones", "UTC+Z", "+"],
)
def test_names_that_are_no_zones(name: str) -> None:
    assert not is_zone(name)
    assert find_zone(name) is None
    with pytest.raises(EventTypeError, match="is not a time zone"):
        zone_of(name)


@pytest.mark.parametrize(
    ("second", "offset"),
    [
        (-(10**13), 561),  # local mean time, for ever before
        (1_585_443_599, 3600),
        (1_585_443_600, 7200),
        (1_603_587_599, 7200),
        (1_603_587_600, 3600),
        (1_585_443_599 + 700 * CYCLE, 3600),
        (1_585_443_600 + 700 * CYCLE, 7200),
    ],
)
def test_offsets_of_paris_over_all_years(second: int, offset: int) -> None:
    assert zone_of(PARIS).offset_at(second) == offset


def some_seconds(zone: Zone) -> list[int]:
    draw = random.Random(0)
    near = [change + step for change in zone.instants[:200] for step in (-90_000, -3600, -1, 0, 1, 3600, 90_000)]
    return [*near, *(draw.randrange(-(9 * 10**12), 9 * 10**12) for _ in range(200))]


@pytest.mark.parametrize("name", [PARIS, "Australia/Lord_Howe", "Africa/Monrovia", "Asia/Kolkata", "+01:00"])
def test_arrays_as_single_values(name: str) -> None:
    zone = zone_of(name)
    seconds = some_seconds(zone)
    at, of_walls = zone.offsets_at(np.array(seconds)), zone.offsets_of_walls(np.array(seconds))
    assert at.tolist() == [zone.offset_at(second) for second in seconds]
    assert of_walls.tolist() == [second - zone.to_instant(second * 1_000_000) // 1_000_000 for second in seconds]


@pytest.mark.parametrize("name", [PARIS, "Australia/Lord_Howe", "America/New_York"])
def test_a_wall_clock_is_that_of_its_instant_but_for_gaps(name: str) -> None:
    zone = zone_of(name)
    for second in some_seconds(zone):
        wall = second * 1_000_000
        moved = zone.to_wall(zone.to_instant(wall))
        assert moved == wall or (
            0 < moved - wall <= 3_600_000_000 and zone.to_instant(moved) == zone.to_instant(wall)
        )


def test_dates_over_all_years() -> None:
    draw = random.Random(0)
    for days in (0, -719_528, 10_957, 11_016, *(draw.randrange(-(1 << 31), 1 << 31) for _ in range(2000))):
        assert days_from_civil(*civil_from_days(days)) == days
    assert civil_from_days(-719_528) == (0, 1, 1)
    assert civil_from_days(11_016) == (2000, 2, 29)
    assert civil_from_days((1 << 31) - 1) == (5881580, 7, 11)
