from __future__ import annotations

from tests.cli.conftest import Run, Write


def test_nothing_to_say(run: Run, write: Write) -> None:
    outcome = run("lint", write("s.txt", "a < 1\nb = 'x'\n"))
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == "tamis: 2 conditions, 0 errors, 0 warnings\n"


def test_place_in_a_text_is_the_place_in_the_file(run: Run, write: Write) -> None:
    outcome = run("lint", write("s.txt", "# head\n\na < 1\n  a < and\n"))
    assert outcome.out.startswith("s.txt:4:7: error: ")
    assert outcome.out.splitlines()[1:3] == ["    a < and", "        ^^^"]
    assert outcome.code == 1


def test_place_in_a_record_is_its_line_and_the_column_in_its_condition(run: Run, write: Write) -> None:
    given = [{"id": "fine", "condition": "a"}, {"id": "bad", "condition": "a < and"}]
    outcome = run("lint", write("s.jsonl", given))
    assert outcome.out.startswith("s.jsonl:2:5: error: bad: ")


def test_line_within_a_condition_of_several_lines_is_told(run: Run, write: Write) -> None:
    outcome = run("lint", write("s.jsonl", [{"id": "bad", "condition": "a = 1\nAND b <"}]))
    assert outcome.out.startswith("s.jsonl:1:8: error: bad: ")
    assert "(line 2 of it)" in outcome.out


def test_hint_is_shown(run: Run, write: Write) -> None:
    type_ = write("t.json", '{"attributes": {"price": "int"}}')
    outcome = run("lint", write("s.txt", "prise < 3"), "--event-type", type_)
    assert "  hint: did you mean price?\n" in outcome.out


def test_warnings_alone_are_exit_code_0(run: Run, write: Write) -> None:
    outcome = run("lint", write("s.txt", "a < 3 AND a > 5\n"))
    assert outcome.out.startswith("s.txt:1:1: warning: ")
    assert "[never-true]" in outcome.out
    assert outcome.code == 0


def test_domains_of_the_event_type_tell_more(run: Run, write: Write) -> None:
    type_ = write("t.json", '{"attributes": {"kind": {"type": "string", "values": ["slr"], "required": true}}}')
    outcome = run("lint", write("s.txt", "kind = 'slrr'\nkind = 'slr'\n"), "--event-type", type_, "--json")
    assert [finding["code"] for finding in outcome.json] == ["never-true", "always-true"]


def test_problems_of_records_are_errors(run: Run, write: Write) -> None:
    given = [{"id": "a", "condition": "x"}, {"id": "a", "condition": "y"}, {"condition": "z <"}]
    outcome = run("lint", write("s.jsonl", given), "--json")
    assert [(finding["line"], finding["code"]) for finding in outcome.json] == [
        (2, "record"),
        (3, "record"),
        (3, "syntax"),
    ]
    assert outcome.code == 1


def test_equal_conditions_are_found_across_files(run: Run, write: Write) -> None:
    outcome = run("lint", write("a.txt", "x < 1 AND y"), write("b.txt", "\ny AND x < 1"), "--json")
    (finding,) = outcome.json
    assert (finding["file"], finding["line"], finding["code"]) == ("b.txt", 2, "equal")
    assert "'a.txt:1'" in finding["message"]


def test_json_has_the_place_in_file_and_condition(run: Run, write: Write) -> None:
    given = write("s.jsonl", [{"id": "bad", "condition": "1 < prise"}])
    type_ = write("t.json", '{"attributes": {"price": "int"}}')
    (finding,) = run("lint", given, "--event-type", type_, "--json").json
    assert {**finding, "message": "", "hint": "", "excerpt": ""} == {
        "file": "s.jsonl",
        "line": 1,
        "subscription_id": "bad",
        "severity": "error",
        "code": "syntax",
        "message": "",
        "condition_line": 1,
        "condition_column": 5,
        "hint": "",
        "excerpt": "",
    }


def test_standard_input(run: Run) -> None:
    outcome = run("lint", "-", input="a <\n")
    assert outcome.out.startswith("standard input:1:4: error: ")
    assert outcome.code == 1


def test_missing_file_is_exit_code_2(run: Run) -> None:
    outcome = run("lint", "gone.txt")
    assert outcome.code == 2 and outcome.err.startswith("tamis: error: gone.txt: no such file; ")


def test_no_file_is_a_usage_error(run: Run) -> None:
    assert run("lint").code == 2


def test_malformed_event_type_is_exit_code_2_with_all_its_problems(run: Run, write: Write) -> None:
    type_ = write("t.json", '{"attributes": {"a": "inte", "b": {"type": "int", "mn": 3}}}')
    outcome = run("lint", write("s.txt", "a"), "--event-type", type_)
    assert outcome.code == 2
    assert "attributes.a" in outcome.err
    assert "attributes.b.mn" in outcome.err


def test_control_characters_never_reach_the_terminal(run: Run, write: Write) -> None:
    outcome = run("lint", write("s.txt", "a = '\x1b[31m' and\n"))
    assert "\x1b" not in outcome.out
    assert "\\x1b[31m" in outcome.out


def test_recent_events_show_misspelt_attributes(run: Run, write: Write) -> None:
    events = write(
        "events.jsonl", [{"brand": "Sony", "price": number} for number in range(1_500)] + [{"color": 1}]
    )
    rules = write("rules.txt", "brnd = 'Sony'\nprice < 3\n")
    outcome = run("lint", rules, "--events", events)
    assert outcome.code == 0
    assert "rules.txt:1:1: warning: none of the last " in outcome.out
    assert "events has brnd [unseen]" in outcome.out
    assert "hint: did you mean brand?" in outcome.out
    assert "price" not in outcome.out
    (found,) = run("lint", rules, "--events", events, "--json").json
    assert (found["code"], found["hint"]) == ("unseen", "did you mean brand?")
    assert run("lint", rules, "--events", "none.jsonl").code == 2
