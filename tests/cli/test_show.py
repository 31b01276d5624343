from __future__ import annotations

from tests.cli.conftest import Run, Write


def test_meaning_of_a_condition(run: Run, write: Write) -> None:
    type_ = write("t.json", '{"attributes": {"price": "decimal(8,2)", "brand": "string"}}')
    outcome = run("show", "price  between 1 and 5 and not(brand=='x')", "--event-type", type_)
    assert outcome.code == 0
    assert "canonical form:\n  price >= 1 AND price <= 5 AND NOT brand = 'x'\n" in outcome.out
    assert "attributes:\n  price  decimal(8,2)\n  brand  string\n" in outcome.out
    assert "formula:\n" in outcome.out
    assert "cost" in outcome.out


def test_json(run: Run) -> None:
    (meaning,) = run("show", "price < 300 and tags[0] = 'x'", "--json").json
    assert list(meaning) == ["condition", "canonical", "formula", "predicates", "attributes", "cost"]
    assert meaning["canonical"] == "price < 300 AND tags[0] = 'x'"
    assert meaning["predicates"][0] == {"text": "price < 300", "cost": meaning["predicates"][0]["cost"]}
    assert meaning["attributes"] == [
        {"name": "price", "type": "number"},
        {"name": "tags", "type": "array<any>"},
    ]


def test_tree(run: Run) -> None:
    out = run("show", "--tree", "(a = 1 or b = 2) and at_least(2, c = 3, d = 4, e = 5)").out
    assert (
        "AND\n"
        "├── OR\n"
        "│   ├── a = 1\n"
        "│   └── b = 2\n"
        "└── AT LEAST 2 OF\n"
        "    ├── c = 3\n"
        "    ├── d = 4\n"
        "    └── e = 5\n"
    ) in out


def test_tree_as_json_lists_operands_before_their_users(run: Run) -> None:
    (meaning,) = run("show", "--tree", "--json", "a = 1 or b = 2").json
    assert meaning["nodes"] == [
        {"predicate": "a = 1"},
        {"predicate": "b = 2"},
        {"least": 1, "operands": [0, 1]},
    ]


def test_tree_draws_a_shared_node_once(run: Run) -> None:
    shared = "(a = 1 or b = 2)"
    out = run("show", "--tree", f"if(c, {shared} and d, {shared} and e)").out
    assert out.count("OR  (#") <= 1


def test_constant_conditions(run: Run) -> None:
    (meaning,) = run("show", "1 = 2", "--json").json
    assert (meaning["formula"], meaning["predicates"], meaning["attributes"]) == ("FALSE", [], [])
    assert run("show", "--tree", "1 = 1").code == 0


def test_refused_condition_is_exit_code_1_with_all_its_problems(run: Run) -> None:
    outcome = run("show", "a < and b =")
    assert (outcome.code, outcome.out) == (1, "")
    assert "line 1, column 5" in outcome.err
    assert "line 1, column 12" in outcome.err


def test_refused_condition_as_json(run: Run) -> None:
    outcome = run("show", "a <", "--json")
    (answer,) = outcome.json
    assert outcome.code == 1
    assert answer["condition"] == "a <"
    assert (answer["problems"][0]["line"], answer["problems"][0]["column"]) == (1, 4)


def test_condition_that_starts_with_a_minus_sign(run: Run) -> None:
    assert run("show", "--", "-a > 3").code == 0


def test_no_condition_is_a_usage_error(run: Run) -> None:
    assert run("show").code == 2


def test_malformed_event_type_is_exit_code_2(run: Run, write: Write) -> None:
    assert run("show", "a", "--event-type", write("t.json", "{")).code == 2


def test_long_lines_are_not_broken_in_a_pipe(run: Run) -> None:
    condition = " AND ".join(f"attribute_{number} = {number}" for number in range(50))
    assert f"  {condition}\n" in run("show", condition).out


def test_engines_on_events(run: Run, write: Write) -> None:
    file = write("s.txt", "a = 1\nb = 'x' or c > 2\nthis is wrong\n")
    events = write("e.jsonl", '{"a": 1}\n{"b": "x", "c": 3}\n')
    outcome = run("show", "--engines", "--subscriptions", file, "--events", events)
    assert outcome.code == 0
    assert outcome.out.startswith("auto is bits")
    (found,) = run("show", "--engines", "--subscriptions", file, "--events", events, "--json").json
    assert (found["subscriptions"], found["events"]) == (2, 2)
    assert set(found["us_per_event"]) == {"bitslice", "bitset"}


def test_engines_need_subscriptions_and_events(run: Run) -> None:
    for arguments in (["--engines"], [], ["a = 1", "--subscriptions", "x"], ["--engines", "--subscriptions", "x"]):
        outcome = run("show", *arguments)
        assert outcome.code == 2
        assert "expected a condition, or --engines with --subscriptions FILE and --events FILE" in outcome.err
