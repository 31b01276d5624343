"""Card payments, some of them fraudulent."""

from __future__ import annotations

import math
import random

PAYMENT = {
    "name": "payment",
    "attributes": {
        "id": {"type": "string", "required": True},
        "amount": {"type": "decimal(10,2)", "required": True},
        "hour": "int",
        "km_from_home": "double",
        "card_days": "int",
        "country": "string",
        "card_country": "string",
        "merchant": "string",
    },
}
_MERCHANTS = ("grocery", "fuel", "clothes", "travel", "jewels", "gift cards")


def payments(count: int = 2_000, seed: int = 3) -> list[dict[str, object]]:
    """Payments; `fraud` says which ones the bank later found to be fraudulent. No rule sees it."""
    rng = random.Random(seed)
    return [_payment(rng, number) for number in range(count)]


def _payment(rng: random.Random, number: int) -> dict[str, object]:
    fraud = rng.random() < 0.03
    abroad = rng.random() < (0.5 if fraud else 0.06)
    km = rng.expovariate(1 / 2_500) if abroad else rng.expovariate(1 / 25)
    return {
        "id": f"p{number}",
        "amount": round(math.exp(rng.gauss(5.8 if fraud else 3.4, 0.9)), 2),
        "hour": rng.choice((0, 1, 2, 3, 4, 23)) if fraud and rng.random() < 0.6 else rng.randrange(6, 24),
        "km_from_home": round(km, 1),
        "card_days": rng.randrange(1, 90) if fraud and rng.random() < 0.5 else rng.randrange(1, 2_000),
        "country": "XX" if abroad else "FR",
        "card_country": "FR",
        "merchant": rng.choice(_MERCHANTS[3:] if fraud and rng.random() < 0.7 else _MERCHANTS),
        "fraud": fraud,
    }
