"""Keywords in texts and texts that are alike; batches equal single rows."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from rapidfuzz import fuzz

from tamis.operators import Operator, OperatorError
from tamis.operators.library.text import operators

LISTS = {"refund": ["refund", "money back"], "street": ["Straße"]}


def named(name: str, **settings: Any) -> Operator:
    return next(each for each in operators(**{"lists": LISTS, **settings}) if each.name == name)


def asked(operator: Operator, rows: list[tuple[str, str]]) -> list[Any]:
    """The answers to all rows at once, which are those to each row alone."""

    def run(some: list[tuple[str, str]]) -> list[Any]:
        columns = [pa.array(column, pa.string()) for column in zip(*some, strict=True)]
        return list(operator.function(*columns))

    together = run(rows)
    assert [run([row])[0] for row in rows] == together
    return together


def test_any_keyword_of_the_list_is_enough() -> None:
    rows = [
        ("I want my MONEY BACK!", "refund"),
        ("it was refunded", "refund"),
        ("money, and back", "refund"),
        ("", "refund"),
        ("Hauptstrasse 5", "street"),
        ("Hauptstrasse 5", "avenue"),
    ]
    assert asked(named("matches_any"), rows) == [True, True, False, False, True, None]


def test_case_may_count() -> None:
    rows = [("a Refund", "refund"), ("a refund", "refund"), ("HAUPTSTRASSE", "street")]
    assert asked(named("matches_any", ignore_case=False), rows) == [False, True, False]


def test_keywords_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "angry.txt"
    file.write_text("# what angry people write\nscandal\n\nnever again\n", encoding="utf-8")
    operator = named("matches_any", lists={"angry": str(file)})
    assert asked(operator, [("Never again.", "angry"), ("# what angry people write", "angry")]) == [True, False]


def test_thousands_of_keywords_are_found_as_one_by_one() -> None:
    chance = random.Random(3)
    words = ["".join(chance.choices("abc", k=chance.randint(4, 9))) for _ in range(3_000)]
    texts = ["".join(chance.choices("abc ", k=12)) for _ in range(300)]
    found = asked(named("matches_any", lists={"many": words}), [(text, "many") for text in texts])
    assert found == [any(word in text for word in words) for text in texts]
    assert 0 < sum(found) < len(found)


def test_the_name_of_a_list_is_checked() -> None:
    check = named("matches_any").check
    assert check is not None
    assert check([None, "refund"]) is None
    assert check(["text", None]) is None
    assert check([None, "refunds"]) == "there is no keyword list 'refunds'; did you mean 'refund'?"


def test_all_lists_that_cannot_be_used_are_named() -> None:
    with pytest.raises(
        OperatorError, match=r"(?s)3 problems.*'a': there is no keyword.*'b': a keyword is empty.*'c'"
    ):
        operators(lists={"a": [], "b": ["x", ""], "c": 5})  # type: ignore[dict-item]
    with pytest.raises(OperatorError, match=r"missing\.txt: No such file"):
        operators(lists={"a": "missing.txt"})
    with pytest.raises(OperatorError, match="lists: expected a table of names"):
        operators(lists=["refund"])  # type: ignore[arg-type]


def test_likeness_is_from_0_to_1() -> None:
    rows = [("Jon Smith", "jon smith"), ("abc", "xyz"), ("John Smith", "Jon Smith"), ("", "a")]
    same, different, near, empty = asked(named("fuzzy"), rows)
    assert (same, different, empty) == (1, 0, 0)
    assert near == pytest.approx(fuzz.ratio("john smith", "jon smith") / 100)
    assert 0.9 < near < 1


def test_the_scorer_may_be_chosen() -> None:
    rows = [("great iphnoe for sale", "iphone"), ("Smith John", "John Smith")]
    assert asked(named("fuzzy", scorer="partial_ratio"), rows)[0] > 0.6 > asked(named("fuzzy"), rows)[0]
    assert asked(named("fuzzy", scorer="token_sort_ratio"), rows)[1] == 1
    with pytest.raises(OperatorError, match=r"no scorer 'ration'; did you mean 'ratio'\?"):
        operators(scorer="ration")


def test_likeness_with_case() -> None:
    assert asked(named("fuzzy", ignore_case=False), [("ABC", "abc")]) == [0]
