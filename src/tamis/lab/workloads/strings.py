"""`strings`: patterns over text like titles and paths.

A title is 4 to 10 words, as `kabaco torebré umull`, a path two or three folders and a file, as
`/koqua/loma/sota-417.pdf`; words and folders follow Zipf distributions. A condition asks for a prefix, a suffix, a
phrase anywhere (`LIKE 'x%'`, `'%x'`, `'%x%'`), a general LIKE, or a regular expression with literals in it; some
have one or two cheap predicates on `lang` and `size` as well. The words of a pattern are popular ones, drawn as
those of events are, or any, all equally likely, and so many that an event satisfies a handful of a million
conditions. Regular expressions are fewer, because the compiler takes them one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tamis.arrays import F64, I64
from tamis.events.event_type import Attribute
from tamis.lab.workloads.base import Family, WorkloadPlan, event_type_of
from tamis.lab.workloads.draws import Dice, Draws, cumulate, zipf
from tamis.lab.workloads.forms import Forms
from tamis.lab.workloads.parameters import real, shares, whole
from tamis.lab.workloads.text import NOTHING, Phrases, integers, render
from tamis.values.types import INT, STRING

FORMS = {
    "prefix": (
        "title LIKE '{popular} {popular} {popular} %'",
        "title LIKE '{any} {popular}%'",
        "path LIKE '/{folder}/{folder}/{popular}-%'",
    ),
    "suffix": (
        "title LIKE '% {popular} {popular} {popular}'",
        "title LIKE '% {any} {popular}'",
        "path LIKE '%/{folder}/{popular}-{number}.{ending}'",
    ),
    "contains": (
        "title LIKE '%{any} {popular}%'",
        "title LIKE '%{popular} {any}%'",
        "path LIKE '%/{folder}/{any}-%'",
    ),
    "like": (
        "title LIKE '{popular} %{any}%'",
        "title LIKE '%{popular}%{any}_{popular}%'",
        "path LIKE '/{folder}/%{any}-__.{ending}'",
    ),
    "rlike": (
        "title RLIKE '{any} ({popular}|{popular})'",
        "title RLIKE '^{popular} .*{any}( {popular})?$'",
        "path RLIKE '^/{folder}/.*{any}-[0-9]+[.]({ending}|{ending})$'",
    ),
}
"""How the patterns of each kind are written, each way as often as the others."""

LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl", "pl")
ENDINGS = ("html", "pdf", "jpg", "csv", "txt")
SIZES = 10_000
FOLDERS = 500
_NUMBERS = 1_000
_WORDS = 4, 10
_MOST_TIMES = 3
_SYLLABLES = (
    *("ba", "co", "da", "el", "fi", "go", "ha", "in", "ju", "ka", "lo", "ma", "ne", "or", "pi", "qua"),
    *("re", "so", "ta", "um", "va", "wi", "xe", "yo", "za", "bré", "cha", "dün", "sto", "tri", "ull", "ñan"),
)


@dataclass(frozen=True, slots=True)
class StringsParameters:
    """The parameters of `strings`."""

    vocabulary: int = whole(20_000, "words that there are", least=1_000, most=500_000)
    kinds: tuple[float, ...] = shares((1.0, 1.0, 1.0, 1.0, 0.25), f"weights of {', '.join(FORMS)}")
    joined: float = real(0.5, "share of conditions that have cheap predicates, too")


class _Slot(NamedTuple):
    """What may stand in a place of a pattern, and how likely it is."""

    codes: I64
    shares: F64


def plan(parameters: StringsParameters, _seed: int, _subscriptions: int) -> WorkloadPlan:
    """Conditions as `title LIKE '%soreta kaba%' AND lang = 'fr'`."""
    words = vocabulary(parameters.vocabulary)
    phrases = Phrases()
    forms = Forms([form for kind in FORMS.values() for form in kind], phrases)
    slots = _slots(words, phrases)
    weights = cumulate(np.repeat(parameters.kinds, [len(kind) for kind in FORMS.values()]))
    language = phrases.codes(f" AND lang = '{name}'" for name in LANGUAGES)
    bounds = phrases.codes([" AND size < ", " AND size >= "])

    def conditions(draws: Draws) -> I64:
        chosen = draws.pick(weights)
        fillings = {name: slot.codes[draws.pick(slot.shares, _MOST_TIMES)] for name, slot in slots.items()}
        patterns = forms.spell(chosen, fillings)
        joined = draws.uniform()
        with_language = joined < 0.6 * parameters.joined
        with_size = (joined >= 0.4 * parameters.joined) & (joined < parameters.joined)
        cheap = np.full((draws.rows, 3), NOTHING)
        cheap[with_language, 0] = language[draws.below(len(language))][with_language]
        cheap[with_size, 1] = bounds[draws.below(len(bounds))][with_size]
        cheap[with_size, 2] = integers(draws.below(SIZES))[with_size]
        return np.column_stack([patterns, cheap])

    attributes = (
        Attribute("title", STRING, required=True),
        Attribute("path", STRING, required=True),
        Attribute("lang", STRING, values=LANGUAGES, required=True),
        Attribute("size", INT, min=0, max=SIZES - 1, required=True),
    )
    return WorkloadPlan(
        event_type_of("strings", *attributes), phrases, conditions, lambda draws: _events(draws, words)
    )


def vocabulary(size: int) -> list[str]:
    """That many different words of two to four syllables, the same for every seed."""
    dice = Dice(0, "strings", "vocabulary")
    found: dict[str, None] = {}
    while len(found) < size:
        found["".join(_SYLLABLES[dice.below(len(_SYLLABLES))] for _ in range(dice.between(2, 4)))] = None
    return list(found)


def _slots(words: list[str], phrases: Phrases) -> dict[str, _Slot]:
    codes = phrases.codes(words)
    return {
        "popular": _Slot(codes, zipf(len(words), 1.0)),
        "any": _Slot(codes, cumulate(np.ones(len(words)))),
        "folder": _Slot(codes[:FOLDERS], zipf(FOLDERS, 1.0)),
        "number": _Slot(integers(np.arange(_NUMBERS)), cumulate(np.ones(_NUMBERS))),
        "ending": _Slot(phrases.codes(ENDINGS), cumulate(np.ones(len(ENDINGS)))),
    }


def _events(draws: Draws, words: list[str]) -> dict[str, pa.Array]:
    phrases = Phrases()
    slots = _slots(words, phrases)
    space, slash, dash, dot = phrases.codes((" ", "/", "-", "."))

    def draw(name: str, *columns: int) -> I64:
        return slots[name].codes[draws.pick(slots[name].shares, *columns)]

    fewest, most = _WORDS
    title = np.full((draws.rows, most, 2), space)
    title[:, 0, 0] = NOTHING
    title[:, :, 1] = draw("popular", most)
    title[np.arange(most) >= (fewest + draws.below(most - fewest + 1))[:, None]] = NOTHING
    folders = np.full((draws.rows, 3, 2), slash)
    folders[:, :, 1] = draw("folder", 3)
    folders[draws.uniform() < 0.5, 2] = NOTHING
    file = [draw("popular"), dash, draw("number"), dot, draw("ending")]
    columns = [folders.reshape(draws.rows, -1), *(np.broadcast_to(part, draws.rows) for part in (slash, *file))]
    table = phrases.table()
    return {
        "title": render(title.reshape(draws.rows, -1), table).cast(pa.string()),
        "path": render(np.column_stack(columns), table).cast(pa.string()),
        "lang": pa.array(LANGUAGES).take(pa.array(draws.below(len(LANGUAGES)))),
        "size": pa.array(draws.below(SIZES).astype(np.int32)),
    }


STRINGS = Family("strings", "patterns over titles and paths", StringsParameters, plan)
