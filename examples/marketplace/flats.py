"""Flats to rent and the saved searches that wait for them. `python flats.py` writes both as JSON lines."""

from __future__ import annotations

import json
import random
from pathlib import Path

DISTRICTS = ("Altstadt", "Hafen", "Nordend", "Ostpark", "Südhang", "Westend", "Lindenau", "Rosental")
FLAT = {
    "name": "flat",
    "attributes": {
        "id": {"type": "string", "required": True},
        "district": {"type": "string", "values": list(DISTRICTS)},
        "rent": {"type": "decimal(8,2)", "min": 0},
        "rooms": {"type": "decimal(3,1)", "min": 1},
        "area": {"type": "int", "min": 10},
        "floor": "int",
        "lift": "boolean",
        "pets": "boolean",
        "free_from": "date",
        "text": "string",
    },
}


def listings(count: int = 500, seed: int = 1) -> list[dict[str, object]]:
    """Flats, as they come in. Whether pets are allowed is often not said."""
    rng = random.Random(seed)
    return [_flat(rng, number) for number in range(count)]


def searches(count: int = 10_000, seed: int = 2) -> list[dict[str, str]]:
    """Saved searches, as people have clicked them together; three to a person."""
    rng = random.Random(seed)
    return [
        {"id": f"s{number}", "condition": _condition(rng), "owner": f"person {number // 3}"}
        for number in range(count)
    ]


def _flat(rng: random.Random, number: int) -> dict[str, object]:
    rooms = rng.choice((1.0, 1.5, 2.0, 2.0, 2.5, 3.0, 3.0, 3.5, 4.0, 5.0))
    area = int(rooms * rng.uniform(18, 32)) + 8
    floor = rng.randrange(7)
    extras = [word for word in ("balcony", "garden", "garage", "fireplace") if rng.random() < 0.25]
    return {
        "id": f"f{number}",
        "district": rng.choice(DISTRICTS),
        "rent": round(area * rng.uniform(11, 19), 2),
        "rooms": rooms,
        "area": area,
        "floor": floor,
        "lift": floor > 3 or rng.random() < 0.2,
        **({"pets": rng.random() < 0.5} if rng.random() < 0.6 else {}),
        "free_from": f"2027-{rng.randrange(1, 7):02}-01",
        "text": f"Bright flat with {' and '.join(extras) or 'a view'}",
    }


def _condition(rng: random.Random) -> str:
    rooms = rng.choice((1, 2, 2, 3, 3, 4))
    places = ", ".join(f"'{place}'" for place in rng.sample(DISTRICTS, rng.randrange(1, 4)))
    wishes = [
        f"district IN ({places})",
        f"rent <= {rng.randrange(rooms * 280, rooms * 480, 10)}",
        f"rooms BETWEEN {rooms} AND {rooms + rng.choice((0.5, 1, 1.5))}",
    ]
    more = (
        (0.4, f"area >= {rooms * 20 + rng.randrange(0, 20, 5)}"),
        (0.3, "text LIKE '%balcony%'"),
        (0.2, "(floor <= 2 OR lift)"),
        (0.3, rng.choice(("pets", "pets", "pets IS NOT FALSE"))),
        (0.2, f"free_from <= DATE '2027-{rng.randrange(2, 6):02}-15'"),
    )
    return " AND ".join(wishes + [wish for chance, wish in more if rng.random() < chance])


if __name__ == "__main__":
    Path("flat.json").write_text(json.dumps(FLAT, indent=2, ensure_ascii=False) + "\n", "utf-8")
    for name, rows in (("searches.jsonl", searches()), ("listings.jsonl", listings())):
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        Path(name).write_text("".join(lines), "utf-8")
        print(f"{name}: {len(rows):,} lines")
