"""Positions and shapes against named regions of the earth; coordinates are degrees of WGS 84.

`within` and `intersects` are those of the OGC on the plane of longitude and latitude, as in GeoJSON: the boundary
does not belong to a region's inside, and a region that crosses the antimeridian is written in two parts. A row is
first held against the box around its own region, for the whole batch at once; only what lies in the box is tested
against the region, which was prepared when it was loaded. So the time for a row does not depend on how many
regions there are, nor on how many of them a batch asks for. A search tree over all regions would find, for each
position, regions that no condition names.

`distance` is the length of the great circle to the nearest point of a region, 0 inside, on a sphere with the mean
radius of the earth. It differs from the distance on the ellipsoid by at most 0.6 percent. Edges are cut into
pieces of at most a quarter of a degree, whose great circles differ from GeoJSON's straight lines by less than 8 m.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import F64, I64, Bools, Objects
from tamis.kernels import kernel
from tamis.operators.library.support import file_text, import_extra, places_of, raise_problems, unknown_name
from tamis.operators.registry import Operator, OperatorError
from tamis.values.column import Value
from tamis.values.types import BOOLEAN, DOUBLE, STRING, struct

Geometries: TypeAlias = Objects

_POSITION = struct(("lon", DOUBLE), ("lat", DOUBLE))
_RADIUS_METRES = 6_371_008.8
_EDGE_DEGREES = 0.25
_POLYGON, _COLLECTIONS = 3, 4  # kinds of geometries, as GEOS numbers them: those from 4 on have parts


def operators(*, regions: str | Path | Mapping[str, str], name: str = "name") -> list[Operator]:
    """`within`, `distance` and `intersects`.

    Args:
        regions: A GeoJSON file with a FeatureCollection, a folder of files NAME.wkt, or the WKT of each name.
        name: The property of a feature that names it.

    Raises:
        OperatorError: Shapely is not installed, or a region cannot be used; all of them are listed.
    """
    shapely = import_extra("shapely", "spatial")
    known = _Regions(shapely, _read_regions(shapely, regions, name))
    return [
        Operator(
            "within",
            (_POSITION, STRING),
            BOOLEAN,
            known.within,
            cost=2e-7,
            check=known.check_position,
            description="Is a position inside a named region?",
        ),
        Operator(
            "distance",
            (_POSITION, STRING),
            DOUBLE,
            known.distance,
            cost=5e-6,
            check=known.check_position,
            description="Metres from a position to a named region along a great circle, 0 inside it.",
        ),
        Operator(
            "intersects",
            (STRING, STRING),
            BOOLEAN,
            known.intersects,
            cost=3e-5,
            check=known.check_shape,
            description="Does a shape, written as WKT, have a point in common with a named region?",
        ),
    ]


class _Regions:
    """Regions by number, prepared for tests; immutable after loading."""

    def __init__(self, shapely: Any, regions: Mapping[str, Any]) -> None:
        self._shapely = shapely
        self._names = pa.array(list(regions), pa.string())
        self._known = frozenset(regions)
        self._geometries: Geometries = np.array(list(regions.values()), dtype=object)
        shapely.prepare(self._geometries)
        self._boxes: F64 = shapely.bounds(self._geometries)
        self._arcs, self._offsets = _arcs_of(shapely, self._geometries)

    def within(self, position: pa.StructArray, region: pa.StringArray) -> pa.BooleanArray:
        """Is each position in its region? NULL for a position off the earth and for an unknown region."""
        lon, lat, regions = self._rows(position, region)
        asked = np.flatnonzero(regions >= 0)
        found = np.zeros(len(regions), np.bool_)
        found[asked] = self._inside(lon[asked], lat[asked], regions[asked])
        return pa.array(found, mask=regions < 0)

    def distance(self, position: pa.StructArray, region: pa.StringArray) -> pa.DoubleArray:
        """Metres from each position to its region; NULL as for `within`."""
        lon, lat, regions = self._rows(position, region)
        asked = np.flatnonzero(regions >= 0)
        outside = asked[~self._inside(lon[asked], lat[asked], regions[asked])]
        metres = np.zeros(len(regions))
        points = _unit_vectors(lon[outside], lat[outside])
        metres[outside] = _metres(points, regions[outside], self._arcs, self._offsets)
        return pa.array(metres, mask=regions < 0)

    def intersects(self, shape: pa.StringArray, region: pa.StringArray) -> pa.BooleanArray:
        """Does each shape meet its region? NULL for what is no valid WKT and for an unknown region."""
        regions = places_of(region, self._names)
        coded = pc.dictionary_encode(shape)
        texts = np.array(coded.dictionary.to_pylist(), dtype=object)
        shapes: Geometries = self._shapely.from_wkt(texts, on_invalid="ignore")
        number = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        usable = self._shapely.is_valid(shapes)[number] & (regions >= 0)
        at = np.flatnonzero(usable)
        at = at[_overlap(self._shapely.bounds(shapes)[number[at]], self._boxes[regions[at]])]
        found = np.zeros(len(regions), np.bool_)
        found[at] = self._shapely.intersects(self._geometries[regions[at]], shapes[number[at]])
        return pa.array(found, mask=~usable)

    def check_position(self, arguments: Sequence[Value | None]) -> str | None:
        """What is wrong with a constant position or region."""
        position, region = arguments
        if position is not None and not _on_earth(*np.array(position, np.float64)):
            return f"expected a longitude of -180 to 180 and a latitude of -90 to 90, found {position!r}"
        return self._check_region(region)

    def check_shape(self, arguments: Sequence[Value | None]) -> str | None:
        """What is wrong with a constant shape or region."""
        shape, region = arguments
        if shape is not None:
            parsed = self._shapely.from_wkt(shape, on_invalid="ignore")
            if parsed is None:
                return f"expected a shape as WKT, found {shape!r}"
            if not self._shapely.is_valid(parsed):
                return f"the shape is not valid: {self._shapely.is_valid_reason(parsed)}"
        return self._check_region(region)

    def _check_region(self, region: Value | None) -> str | None:
        return None if region is None or region in self._known else unknown_name("region", region, self._known)

    def _rows(self, position: pa.StructArray, region: pa.StringArray) -> tuple[F64, F64, I64]:
        """Longitude, latitude and number of the region of each row; that is -1 where there is no answer."""
        lon, lat = (each.to_numpy(zero_copy_only=False).astype(np.float64) for each in position.flatten())
        regions = places_of(region, self._names)
        regions[~_on_earth(lon, lat)] = -1
        return lon, lat, regions

    def _inside(self, lon: F64, lat: F64, regions: I64) -> Bools:
        box = self._boxes[regions]
        found = np.asarray((lon >= box[:, 0]) & (lon <= box[:, 2]) & (lat >= box[:, 1]) & (lat <= box[:, 3]))
        at = np.flatnonzero(found)
        found[at] = self._shapely.contains_xy(self._geometries[regions[at]], lon[at], lat[at])
        return found


def _on_earth(lon: Any, lat: Any) -> Any:
    """Are these degrees of longitude and latitude? NaN, which stands for a missing field too, is not."""
    return (np.abs(lon) <= 180) & (np.abs(lat) <= 90)


def _overlap(some: F64, others: F64) -> Bools:
    """Which boxes, each (least x, least y, greatest x, greatest y), meet the other box of their row."""
    return np.asarray(np.logical_and(some[:, :2] <= others[:, 2:], others[:, :2] <= some[:, 2:]).all(axis=1))


# --- reading ---------------------------------------------------------------------------------------------------


def _read_regions(shapely: Any, regions: str | Path | Mapping[str, str], name: str) -> dict[str, Any]:
    """The geometry of each region."""
    if isinstance(regions, Mapping):
        subject, texts = "regions", list(regions.items())
    elif Path(regions).is_dir():
        subject = str(regions)
        texts = [(file.stem, file_text(file)) for file in sorted(Path(regions).glob("*.wkt"))]
    else:
        subject, texts = str(regions), list(_features(str(regions), name))
    problems = [] if texts else ["there is no region here"]
    found: dict[str, Any] = {}
    for region, text in texts:
        parse = shapely.from_geojson if text.startswith("{") else shapely.from_wkt
        geometry = parse(text, on_invalid="ignore")
        problem = _problem(shapely, geometry) or ("it is there twice" if region in found else None)
        if problem:
            problems.append(f"region {region!r}: {problem}")
        found[region] = geometry
    raise_problems(subject, problems)
    return found


def _features(file: str, name: str) -> Iterator[tuple[str, str]]:
    """Name and geometry, as GeoJSON, of each feature."""
    try:
        collection = json.loads(file_text(file))
    except ValueError as error:
        msg = f"{file}: this is not JSON: {error}"
        raise OperatorError(msg) from error
    features = collection.get("features") if isinstance(collection, dict) else None
    if not isinstance(features, list) or not all(isinstance(each, dict) for each in features):
        msg = f"{file}: expected a FeatureCollection of GeoJSON"
        raise OperatorError(msg)
    named = [(each.get("properties") or {}).get(name) for each in features]
    raise_problems(
        file,
        [
            f"feature {number}: expected a text as its property {name!r}, found {found!r}"
            for number, found in enumerate(named)
            if not isinstance(found, str)
        ],
    )
    return (
        (str(found), json.dumps(each.get("geometry") or {})) for found, each in zip(named, features, strict=True)
    )


def _problem(shapely: Any, geometry: Any) -> str | None:
    if geometry is None:
        return "its geometry cannot be read"
    if shapely.is_empty(geometry):
        return "it is empty"
    if not shapely.is_valid(geometry):
        return f"its geometry is not valid: {shapely.is_valid_reason(geometry)}"
    west, south, east, north = shapely.bounds(geometry)
    if not (_on_earth(west, south) and _on_earth(east, north)):
        return (
            f"expected longitudes of -180 to 180 and latitudes of -90 to 90, found {west, south} to {east, north}"
        )
    return None


# --- distances -------------------------------------------------------------------------------------------------


def _arcs_of(shapely: Any, geometries: Geometries) -> tuple[F64, I64]:
    """Arcs [n, 5, 3] of great circles that make up the boundaries, and where those of each region begin.

    An arc is its two ends, the normal of its circle, and the two directions in which it lies, seen from its ends.
    That of a single point has a normal that is not a number, with which every comparison fails.
    """
    lines, owners = _lines(shapely, geometries)
    lines = shapely.segmentize(lines, _EDGE_DEGREES)
    places, line = shapely.get_coordinates(lines, return_index=True)
    vectors = _unit_vectors(places[:, 0], places[:, 1])
    first = np.flatnonzero(line[:-1] == line[1:])
    alone = np.flatnonzero(np.bincount(line, minlength=len(lines))[line] == 1)
    start, end = np.concatenate([first, alone]), np.concatenate([first + 1, alone])
    order = np.argsort(owners[line[start]], kind="stable")
    a, b = vectors[start[order]], vectors[end[order]]
    normal = np.cross(a, b)
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    normal = np.divide(normal, length, out=np.full_like(normal, np.nan), where=length > 0)
    arcs = np.stack([a, b, normal, np.cross(normal, a), np.cross(b, normal)], axis=1)
    offsets = np.searchsorted(owners[line[start[order]]], np.arange(len(geometries) + 1))
    return arcs, offsets


def _lines(shapely: Any, geometries: Geometries) -> tuple[Geometries, I64]:
    """The lines, rings and single points that geometries are made of, and the number of the geometry of each."""
    parts, owners = geometries, np.arange(len(geometries))
    kinds = shapely.get_type_id(parts)
    while (kinds >= _COLLECTIONS).any():
        parts, part = shapely.get_parts(parts, return_index=True)
        owners, kinds = owners[part], shapely.get_type_id(parts)
    areas = np.flatnonzero(kinds == _POLYGON)
    others = np.flatnonzero(kinds != _POLYGON)
    rings, area = shapely.get_rings(parts[areas], return_index=True)
    return np.concatenate([rings, parts[others]]), np.concatenate([owners[areas[area]], owners[others]])


def _unit_vectors(lon: F64, lat: F64) -> F64:
    east, north = np.radians(lon), np.radians(lat)
    return np.stack([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)], axis=1)


@kernel
def _metres(points: F64, regions: I64, arcs: F64, offsets: I64) -> F64:
    """How far each point [n, 3] is from its region; chords are compared, being exact for short distances too."""
    metres = np.empty(len(points))
    for row in range(len(points)):
        x, y, z = points[row]
        least = 4.0  # square of the chord to the other side of the earth
        for number in range(offsets[regions[row]], offsets[regions[row] + 1]):
            arc = arcs[number]
            if (
                arc[3, 0] * x + arc[3, 1] * y + arc[3, 2] * z >= 0
                and arc[4, 0] * x + arc[4, 1] * y + arc[4, 2] * z >= 0
            ):
                sine = arc[2, 0] * x + arc[2, 1] * y + arc[2, 2] * z
                square = 2 * sine * sine / (1 + np.sqrt(max(0.0, 1 - sine * sine)))
            else:
                to_start = (arc[0, 0] - x) ** 2 + (arc[0, 1] - y) ** 2 + (arc[0, 2] - z) ** 2
                to_end = (arc[1, 0] - x) ** 2 + (arc[1, 1] - y) ** 2 + (arc[1, 2] - z) ** 2
                square = min(to_start, to_end)
            least = min(least, square)
        metres[row] = 2 * _RADIUS_METRES * np.arcsin(min(1.0, np.sqrt(least) / 2))
    return metres
