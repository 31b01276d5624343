"""What a refused condition says: where, what was found, what was expected, and what to write instead."""

from __future__ import annotations

import pytest

from tamis import Matcher
from tamis.errors import ConditionError, Problem
from tamis.events import EventType
from tamis.language.condition import compile_condition, compile_record
from tamis.syntax.parser import parse

CAMERA = EventType.from_dict(
    {
        "name": "camera",
        "attributes": {
            "price": "decimal(8,2)",
            "brand": "string",
            "sold": "boolean",
            "n": "int",
            "born": "date",
            "ts": "timestamp",
            "tags": "array<string>",
            "author": {"type": "struct", "attributes": {"name": "string", "age": "int"}},
            "Odd": "int",
            "odd": "int",
        },
    }
)
AN_OPERAND = "expected an attribute, a constant, a function or (, found"
TRY_CAST = "cast the string: try_cast(x AS double), or try_cast(x AS bigint) for whole numbers"
CLOCK = "is refused: a match must not depend on when or where it is looked for"


def error(text: str, event_type: EventType | None = CAMERA) -> ConditionError:
    with pytest.raises(ConditionError) as caught:
        compile_condition(text, event_type)
    assert caught.value.text == text
    return caught.value


@pytest.mark.parametrize(
    ("text", "marked", "message", "hint"),
    [
        # names
        ("pirce < 300", "pirce", "the event type has no attribute 'pirce'", "did you mean price?"),
        ("n = 1 AND zzz = 1", "zzz", "the event type has no attribute 'zzz'", None),
        ("ODD = 1", "ODD", "'ODD' is ambiguous: the event type has Odd, odd", None),
        ("odd = 1", "odd", "'odd' is ambiguous: the event type has Odd, odd", None),
        (
            "author.nam = 'x'",
            "author.nam",
            "a struct<name:string,age:int> has no field 'nam'",
            "did you mean name?",
        ),
        ("brand.x = 1", "brand.x", "a string has no field 'x'", None),
        ("lengt(brand) = 1", "lengt(brand)", "there is no function 'lengt'", "did you mean length?"),
        (
            "fuzzy(brand, 'x') > 1",
            "fuzzy(brand, 'x')",
            "there is no function 'fuzzy'",
            "an operator of the library 'text': load it first, in a command with --operators",
        ),
        # syntax
        ("(price < 300", "", "expected ) to close the one at column 1, found the end of the condition", None),
        ("price < 300)", ")", "expected AND, OR or the end, found ')'", None),
        ("sold price", "price", "expected AND, OR or the end, found 'price'", None),
        ("brand = 'x", "'x", '"\'x" begins a string that does not end', None),
        ("/* a", "/* a", "'/* a' begins a comment that does not end", None),
        ("n = 1;", ";", "';' is not part of the language", "a condition is one expression, without a semicolon"),
        ("n = #", "#", "'#' is not part of the language", None),
        ("`n = 1", "`n = 1", "'`n = 1' is not a name; a back quote needs its twin", None),
        ("n IN ()", ")", "IN needs at least one item", None),
        ("n IN (1,)", ")", f"{AN_OPERAND} ')'", None),
        ("n BETWEEN 1", "", "expected AND between the two bounds, found the end of the condition", None),
        ("n BETWEEN 1 OR 2", "OR", "expected AND between the two bounds, found 'OR'", None),
        ("CASE n END", "END", "expected WHEN, found 'END'", None),
        ("CASE WHEN sold THEN 1", "", "expected WHEN, ELSE or END, found the end of the condition", None),
        ("n IS 5", "5", "expected NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM, found '5'", None),
        ("n NOT 5", "5", "expected IN, LIKE, ILIKE, RLIKE or BETWEEN, found '5'", None),
        ("n = (1, 2)", "n = (1, 2)", "int and struct<col1:int,col2:int> cannot be compared", None),
        ("(n, brand", "", "expected ) to close the one at column 1, found the end of the condition", None),
        ("n == == 1", "==", f"{AN_OPERAND} '=='", None),
        ("INTERVAL 1 DAY < ts", "INTERVAL 1 DAY < ts", "interval day and timestamp cannot be compared", None),
        ("", "", f"{AN_OPERAND} the end of the condition", None),
        ("NOT", "", f"{AN_OPERAND} the end of the condition", None),
        (
            "x -> x",
            "x -> x",
            "a lambda stands only in exists(array, x -> ...), forall, transform and the like",
            None,
        ),
        ("CAST(n AS integ) = 1", "integ", "'integ' is not a type: 'integ' is unknown", None),
        ("extract(year ts) = 1", "ts", "expected FROM, found 'ts'", None),
        # constants
        ("n = 300Y", "300Y", "300 is outside tinyint", None),
        ("n = 1e400", "1e400", "the number is outside double", None),
        (f"n = {'9' * 39}", "9" * 39, "a number has 38 digits at most", None),
        ("n = 1.5x", "1.5x", "'1.5x' is not part of the language", None),
        ("born = '2024-13-01'", "'2024-13-01'", "'2024-13-01' is not a date", None),
        ("DATE '2024-02-30' = born", "DATE '2024-02-30'", "'2024-02-30' is not a date", "write e.g. '2026-02-28'"),
        ("TIMESTAMP 'x' = ts", "TIMESTAMP 'x'", "'x' is not a timestamp", "write e.g. '2026-02-28 13:45:00'"),
        ("X'zz' = brand", "X'zz'", "X'...' takes hexadecimal digits", None),
        ("n = 'x'", "'x'", "'x' is not a bigint", None),
        ("n IN (1, 'x')", "'x'", "'x' is not a bigint", None),
        ("brand = '\\ud800'", "'\\ud800'", "the string holds half of a surrogate pair", None),
        # types
        ("price", "price", "a condition must be Boolean, this is a decimal(8,2)", None),
        ("n AND sold", "n", "expected a condition (boolean), found int", None),
        ("greatest(brand, 5) = 5", "greatest(brand, 5)", "greatest: string and int cannot be compared", None),
        ("brand + brand = 1", "brand + brand", "string cannot be added", None),
        ("tags = 'x'", "tags = 'x'", "array<string> and string cannot be compared", None),
        ("sold = 1", "sold = 1", "boolean and int cannot be compared", None),
        ("CAST(tags AS int) = 1", "CAST(tags AS int)", "an array<string> cannot be cast to int", None),
        ("exists(brand, x -> x)", "brand", "exists: expected an array, found a string", None),
        (
            "exists(tags, x -> length(x))",
            "length(x)",
            "exists: the condition must be Boolean, this is an int",
            None,
        ),
        # what depends on more than the event
        ("now() > ts", "now()", f"now() {CLOCK}", None),
        ("sold AND rand() < 0.5", "rand()", f"rand() {CLOCK}", None),
        ("current_date() = born", "current_date()", f"current_date() {CLOCK}", None),
        # calls
        ("abs() = 1", "abs()", "abs: expected 1 argument, found 0", None),
        ("abs(n, n) = 1", "abs(n, n)", "abs: expected 1 argument, found 2", None),
        ("substring(brand) = 'x'", "substring(brand)", "substring: expected 2 to 3 arguments, found 1", None),
        (
            "exists(tags)",
            "exists(tags)",
            "exists takes an array and a condition on its elements",
            "exists(tags, x -> x = 'new')",
        ),
        (
            "AT_LEAST(3, sold, sold)",
            "3",
            "at_least: expected a number from 1 to 2, the number of conditions, found 3",
            None,
        ),
        ("AT_LEAST(n, sold)", "n", "at_least: expected a constant whole number first, found int", None),
        # patterns
        ("brand LIKE 'a' ESCAPE 'ab'", "'ab'", "ESCAPE takes a string of one character", None),
        ("brand LIKE 'a' ESCAPE n", "n", "expected a string of one character after ESCAPE, found 'n'", None),
        (
            "brand LIKE 'a!b' ESCAPE '!'",
            "'a!b'",
            "like: the escape character '!' must stand before _, % or itself, 'b' follows "
            "(at offset 1 of the pattern)",
            None,
        ),
        ("brand RLIKE '(a'", "'(a'", "rlike: this `(` is not closed (at offset 0 of the pattern)", None),
        (
            "brand RLIKE '(?=a)'",
            "'(?=a)'",
            "rlike: look-ahead is not supported (at offset 0 of the pattern)",
            None,
        ),
        ("brand RLIKE n", "n", "rlike: expected a constant pattern (string), found int", None),
    ],
)
def test_one_problem(text: str, marked: str, message: str, hint: str | None) -> None:
    (problem,) = error(text).problems
    assert (problem.message, problem.hint) == (message, hint)
    assert text[problem.start : problem.end] == marked


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("price <", f"{AN_OPERAND} the end of the condition"),
        ("a = 1 = 'x'", "'x' is not a boolean"),
        ("length(a) = 'x'", "'x' is not a bigint"),
        ("now() > a", f"now() {CLOCK}"),
        ("a AND 5", "expected a condition (boolean), found int"),
        ("5", "a condition must be Boolean, this is an int"),
        ("a < DATE '2024-13-01'", "'2024-13-01' is not a date"),
        ("length(a) AND b", "expected a condition (boolean), found int"),
        ("abs(1, 2) = a", "abs: expected 1 argument, found 2"),
        ("a RLIKE '['", "rlike: this `[` is not closed (at offset 0 of the pattern)"),
    ],
)
def test_one_problem_without_a_schema(text: str, message: str) -> None:
    assert [problem.message for problem in error(text, None).problems] == [message]


def test_rendering_with_line_column_and_carets() -> None:
    assert str(error("price < 300 AND\n  pirce > 1\n  OR sold = 5")) == "\n".join(
        [
            "line 2, column 3: the event type has no attribute 'pirce'",
            "    pirce > 1",
            "    ^^^^^",
            "  hint: did you mean price?",
            "line 3, column 6: boolean and int cannot be compared",
            "    OR sold = 5",
            "       ^^^^^^^^",
        ]
    )


def test_problems_of_syntax_and_of_meaning_come_together_in_the_order_of_the_text() -> None:
    found = error("born = '2024-02-30' AND (pirce <) AND sold = 5 OR now() > ts")
    assert [problem.message for problem in found.problems] == [
        "'2024-02-30' is not a date",
        f"{AN_OPERAND} ')'",
        "boolean and int cannot be compared",
        f"now() {CLOCK}",
    ]


def test_several_mistakes_of_syntax_are_all_reported() -> None:
    found = error("n = AND sold OR (brand = ) AND price < ")
    assert [problem.line_and_column(found.text) for problem in found.problems] == [(1, 5), (1, 26), (1, 40)]


def test_a_syntax_error_is_not_followed_by_guesses_about_types() -> None:
    assert len(error("price @ 3").problems) == 1
    assert len(error("n IN (1,").problems) == 1


def test_characters_are_counted_not_bytes() -> None:
    (problem,) = error("brand = '日本😀' AND pirce = 1").problems
    assert problem.line_and_column("brand = '日本😀' AND pirce = 1") == (1, 19)


def test_the_caret_is_under_its_word_in_a_long_line_and_behind_tabs() -> None:
    text = "\t" + " AND ".join(["n = 1"] * 40) + " AND pirce = 1 AND " + " AND ".join(["n = 1"] * 40)
    _, source, caret, _ = str(error(text)).splitlines()
    assert len(source) <= 125
    assert source[caret.index("^") :][: caret.count("^")] == "pirce"


def test_carets_stay_under_a_long_line_that_was_cut() -> None:
    text = "n = 1 AND '" + "x" * 500 + "' = n"
    lines = str(error(text)).splitlines()
    assert len(lines[2]) <= len(lines[1])


def test_at_most_twenty_problems_or_so() -> None:
    assert len(error(" AND ".join(f"nothing{place} = 1" for place in range(200))).problems) <= 40
    assert len(error(" AND ".join("n = " for _ in range(200))).problems) <= 40


def test_long_words_are_shortened_in_messages() -> None:
    for text in (f"{'x' * 5000} = 1", f"n = '{'x' * 5000}'", f"n = {'1' * 5000}", f"{'f' * 5000}(n) = 1"):
        assert all(len(problem.message) < 300 for problem in error(text).problems)


def test_only_text_is_a_condition() -> None:
    with pytest.raises(TypeError, match="a condition is text, not int"):
        parse(5)  # type: ignore[arg-type]


def test_a_problem_knows_its_place() -> None:
    problem = Problem("bad", 4, 6, "good")
    assert problem.line_and_column("a\nbcde") == (2, 3)
    assert problem.render("a\nbcde") == "line 2, column 3: bad\n  bcde\n    ^^\n  hint: good"


def test_rows_of_values() -> None:
    matcher = Matcher({"attributes": {"n": "int", "brand": "string"}})
    matcher.add("in", "(n, brand) IN ((1, 'a'), (2, 'b'))")
    matcher.add("equal", "(n, brand) = (2, 'b')")
    assert matcher.match({"n": 2, "brand": "b"}) == ["in", "equal"]
    assert matcher.match({"n": 2, "brand": "a"}) == []


def test_moments_without_an_event_type() -> None:
    matcher = Matcher()
    matcher.add("later", "TIMESTAMP(seen) - placed > INTERVAL 2 HOURS")
    matcher.add("sum", "placed + INTERVAL 1 DAY > TIMESTAMP '2026-01-02'")
    matcher.add("since", "seen - TIMESTAMP '2026-01-01' >= INTERVAL 1 DAY")
    event = {"placed": "2026-01-01 12:00:00", "seen": "2026-01-02T00:00:00Z"}
    assert matcher.match(event) == ["later", "sum", "since"]
    assert matcher.match({"placed": 5, "seen": "2026-01-02"}) == ["since"]


def test_a_composite_subscription_is_no_condition() -> None:
    text = "a = 1 THEN a = 2 WITHIN INTERVAL '1' HOUR BY user"
    with pytest.raises(ConditionError, match="several events satisfy"):
        compile_condition(text, dialect="composite")
    assert str(compile_record(text, dialect="composite").formula) == "Formula(FALSE)"
