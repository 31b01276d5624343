"""Positions and shapes against regions; every answer is checked against one that is known or computed plainly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import shapely

from tamis.operators import Operator, OperatorError
from tamis.operators.library.spatial import operators

SQUARES = {
    "west": "POLYGON((0 0, 10 0, 10 10, 0 10, 0 0))",
    "east": "POLYGON((10 0, 20 0, 20 10, 10 10, 10 0))",
    "ring": "POLYGON((30 0, 40 0, 40 10, 30 10, 30 0), (34 4, 36 4, 36 6, 34 6, 34 4))",
    "mast": "POINT(50 5)",
    "road": "LINESTRING(60 0, 60 10)",
    "twin": "GEOMETRYCOLLECTION(MULTIPOINT(70 0, 71 0), MULTIPOLYGON(((72 0, 73 0, 73 1, 72 0))))",
}
POSITION = pa.struct([("lon", pa.float64()), ("lat", pa.float64())])


def named(name: str, /, **settings: Any) -> Operator:
    return next(each for each in operators(**{"regions": SQUARES, **settings}) if each.name == name)


def asked(name: str, rows: list[tuple[Any, str]], /, **settings: Any) -> list[Any]:
    """The answers to all rows at once, which are those to each row alone."""
    operator = named(name, **settings)
    first = pa.string() if name == "intersects" else POSITION

    def run(some: list[tuple[Any, str]]) -> list[Any]:
        values = [row[0] if name == "intersects" else _position(row[0]) for row in some]
        found: list[Any] = operator.function(
            pa.array(values, first), pa.array([row[1] for row in some])
        ).to_pylist()
        return found

    together = run(rows)
    assert [run([row])[0] for row in rows] == together
    return together


def _position(place: tuple[float | None, float | None]) -> dict[str, float | None]:
    return {"lon": place[0], "lat": place[1]}


def test_within_is_the_inside_without_the_boundary() -> None:
    rows = [((5, 5), "west"), ((10, 5), "west"), ((10, 5), "east"), ((15, 5), "east"), ((15, 5), "west")]
    assert asked("within", rows) == [True, False, False, True, False]
    assert asked("within", [((35, 5), "ring"), ((31, 5), "ring")]) == [False, True]
    assert asked("within", [((50, 5), "mast"), ((60, 5), "road"), ((70, 0), "twin"), ((72.9, 0.1), "twin")]) == [
        True,
        True,
        True,
        True,
    ]


@pytest.mark.parametrize("name", ["within", "distance"])
def test_what_is_not_on_earth_or_not_known_is_null(name: str) -> None:
    nan = float("nan")
    places = [(181, 5), (5, 91), (nan, 5), (5, nan), (float("inf"), 0), (None, 5), (5, None)]
    assert asked(name, [(place, "west") for place in places]) == [None] * len(places)
    assert asked(name, [((5, 5), "nowhere"), ((5, 5), "west")])[0] is None
    assert named(name).function(pa.array([], POSITION), pa.array([], pa.string())).to_pylist() == []


def test_slices_of_arrays_are_read_at_their_place() -> None:
    positions = pa.array([_position((50, 50)), _position((5, 5)), _position((15, 5))], POSITION)
    regions = pa.array(["west", "west", "east"])
    assert named("within").function(positions.slice(1), regions.slice(1)).to_pylist() == [True, True]


@pytest.mark.parametrize(
    ("start", "end", "metres"),
    [
        # Lengths on the ellipsoid WGS 84.
        ((2.3522, 48.8566), (-0.1278, 51.5074), 343_923),  # Paris to London
        ((-73.7781, 40.6413), (-0.4543, 51.4700), 5_554_909),  # New York to London
        ((151.2093, -33.8688), (174.7633, -36.8485), 2_160_509),  # Sydney to Auckland
        ((179.9, -17), (-179.9, -17), 21_297),  # over the antimeridian
        ((0, 90), (0, -90), 20_003_931),
        ((0, 0), (0, 1), 110_574),
    ],
)
def test_distances_differ_from_those_on_the_ellipsoid_by_little(
    start: tuple[float, float], end: tuple[float, float], metres: float
) -> None:
    (found,) = asked("distance", [(start, "there")], regions={"there": f"POINT({end[0]} {end[1]})"})
    assert found == pytest.approx(metres, rel=0.006)


def test_distance_is_that_to_the_nearest_edge() -> None:
    degree = np.radians(1) * 6_371_008.8
    rows = [((5, 5), "west"), ((-1, 0), "west"), ((5, -2), "west"), ((62, 0), "road"), ((50, 6), "mast")]
    assert asked("distance", rows) == pytest.approx([0, degree, 2 * degree, 2 * degree, degree], rel=1e-6)
    (hole,) = asked("distance", [((35, 5), "ring")])
    assert hole == pytest.approx(degree * np.cos(np.radians(5)), rel=1e-3)
    (parts,) = asked("distance", [((69, 0), "twin")])
    assert parts == pytest.approx(degree)


def test_small_distances_are_exact() -> None:
    metre = 1 / 111_195.08
    (found,) = asked("distance", [((60 - metre, 0), "road")])
    assert found == pytest.approx(1, rel=1e-6)


def test_long_edges_are_the_straight_lines_of_geojson() -> None:
    """A great circle between the two ends of this edge would pass 500 km further north."""
    wide = {"wide": "POLYGON((-40 50, 40 50, 40 40, -40 40, -40 50))"}
    (found,) = asked("distance", [((0, 51), "wide")], regions=wide)
    assert found == pytest.approx(np.radians(1) * 6_371_008.8, abs=8)


def test_distance_is_the_least_to_any_point_of_the_boundary() -> None:
    random = np.random.default_rng(1)
    blob = shapely.buffer(shapely.Point(7, 50), 1.5, quad_segs=3)
    places = random.uniform([2, 45], [12, 55], (50, 2))
    outside = [tuple(place) for place in places.tolist() if not shapely.contains_xy(blob, *place)]
    found = asked("distance", [(place, "blob") for place in outside], regions={"blob": blob.wkt})
    edge = shapely.get_coordinates(shapely.segmentize(blob.exterior, 0.001))
    assert found == pytest.approx([_haversine(place, edge).min() for place in outside], rel=1e-3)


def _haversine(place: tuple[float, ...], others: Any) -> Any:
    east, north = np.radians(place)
    easts, norths = np.radians(others).T
    half = np.sin((norths - north) / 2) ** 2 + np.cos(north) * np.cos(norths) * np.sin((easts - east) / 2) ** 2
    return 2 * 6_371_008.8 * np.arcsin(np.sqrt(half))


def test_intersects_counts_the_boundary() -> None:
    rows = [
        ("POLYGON((5 5, 15 5, 15 6, 5 5))", "west"),
        ("POLYGON((5 5, 15 5, 15 6, 5 5))", "east"),
        ("POINT(10 5)", "west"),
        ("LINESTRING(34.5 4.5, 35.5 5.5)", "ring"),
        ("POLYGON EMPTY", "west"),
    ]
    assert asked("intersects", rows) == [True, True, True, False, False]


def test_a_shape_that_cannot_be_read_is_null() -> None:
    bow = "POLYGON((0 0, 1 1, 1 0, 0 1, 0 0))"
    rows = [("POLYGON((", "west"), ("", "west"), (bow, "west"), ("POINT(1 1)", "nowhere"), ("POINT(1 1)", "west")]
    assert asked("intersects", rows) == [None, None, None, None, True]


@pytest.mark.slow
def test_thousands_of_regions_in_one_batch() -> None:
    random = np.random.default_rng(2)
    centres, sizes = random.uniform([-170, -80], [170, 80], (5_000, 2)), random.uniform(0.5, 5, 5_000)
    circles = shapely.buffer(shapely.points(centres), sizes)
    regions = {f"r{number}": text for number, text in enumerate(shapely.to_wkt(circles, rounding_precision=-1))}
    operator = named("within", regions=regions)
    number = random.integers(0, 5_000, 20_000)
    places = centres[number] + random.normal(0, 3, (20_000, 2))
    places[:, 0] = np.clip(places[:, 0], -180, 180)
    lon, lat = places.T
    positions = pa.StructArray.from_arrays([pa.array(lon), pa.array(lat)], ["lon", "lat"])
    found = operator.function(positions, pa.array([f"r{each}" for each in number])).to_pylist()
    expected = shapely.contains(circles[number], shapely.points(places))
    assert found == [bool(each) if abs(north) <= 90 else None for each, north in zip(expected, lat, strict=True)]
    assert 1_000 < sum(expected) < 19_000


def test_constants_are_checked() -> None:
    within, meets = named("within").check, named("intersects").check
    assert within is not None and meets is not None
    assert within([None, "west"]) is None
    assert within([None, None]) is None
    assert within([None, "wset"]) == "there is no region 'wset'; did you mean 'west'?"
    assert "expected a longitude" in str(within([(500.0, 0.0), "west"]))
    assert within([(50.0, 0.0), None]) is None
    assert "expected a shape as WKT, found 'POLYGON'" in str(meets(["POLYGON", "west"]))
    assert "Self-intersection" in str(meets(["POLYGON((0 0, 1 1, 1 0, 0 1, 0 0))", "west"]))
    assert "no region" in str(meets(["POINT(0 0)", "Q"]))


def feature(name: object, geometry: object) -> dict[str, object]:
    return {"type": "Feature", "properties": {"title": name}, "geometry": geometry}


def collection(tmp_path: Path, *features: object) -> str:
    file = tmp_path / "regions.geojson"
    file.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return str(file)


def test_regions_of_a_geojson_file(tmp_path: Path) -> None:
    square = {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]]}
    file = collection(tmp_path, feature("home", square), feature("mast", {"type": "Point", "coordinates": [5, 5]}))
    rows = [((0.5, 0.5), "home"), ((0.5, 0.5), "mast")]
    assert asked("within", rows, regions=file, name="title") == [True, False]


def test_regions_of_a_folder_of_wkt(tmp_path: Path) -> None:
    (tmp_path / "home.wkt").write_text(SQUARES["west"] + "\n")
    assert asked("within", [((5, 5), "home")], regions=tmp_path) == [True]


def test_all_regions_that_cannot_be_used_are_listed(tmp_path: Path) -> None:
    point = {"type": "Point", "coordinates": [0, 0]}
    file = collection(
        tmp_path,
        feature("a", None),
        feature("b", point),
        feature("b", point),
        feature("far", {"type": "Point", "coordinates": [200, 0]}),
        feature("void", {"type": "Polygon", "coordinates": []}),
    )
    with pytest.raises(OperatorError) as caught:
        operators(regions=file, name="title")
    text = str(caught.value)
    for problem in (
        "4 problems",
        "'a': its geometry cannot be read",
        "'b': it is there twice",
        "'far': expected longitudes",
        "'void': it is empty",
    ):
        assert problem in text
    with pytest.raises(OperatorError, match=r"(?s)5 problems.*feature 0: expected a text as its property 'name'"):
        operators(regions=file)


@pytest.mark.parametrize(
    ("text", "problem"),
    [("{", "not JSON"), ("[]", "expected a FeatureCollection"), ('{"features": []}', "no region")],
)
def test_a_file_that_is_no_geojson_is_refused(text: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "regions.geojson"
    file.write_text(text)
    with pytest.raises(OperatorError, match=problem):
        operators(regions=file)
    with pytest.raises(OperatorError, match="No such file"):
        operators(regions=tmp_path / "other.geojson")
