"""Files of test cases: what they mean, and everything that is wrong with them."""

from pathlib import Path

import pytest

from tamis.cli.cases import Case, CaseFileError, read_cases
from tests.cli.conftest import Write


def test_a_file_is_read_with_its_defaults(write: Write, tmp_path: Path) -> None:
    text = """
subscriptions: {cheap: price < 10}
cases:
  - {condition: cheap, event: {price: 9}, expected: true}
  - name: several
    events: [{price: 1}, {price: 2}]
    expected: [cheap]
  - {condition: price IS NULL, event: {}, expected: null}
"""
    read = read_cases(str(tmp_path / write("cases.yaml", text)))
    assert [(entry.id, entry.condition, entry.line) for entry in read.subscriptions] == [
        ("cheap", "price < 10", 2)
    ]
    assert read.event_type.is_schemaless
    assert read.cases == (
        Case("case 0", 4, "cheap", ({"price": 9},), True),
        Case("several", 5, None, ({"price": 1}, {"price": 2}), frozenset({"cheap"})),
        Case("case 2", 8, "price IS NULL", ({},), None),
    )


def test_all_problems_of_a_file_are_reported_with_their_lines(write: Write, tmp_path: Path) -> None:
    file = write(
        "cases.yaml",
        """subscription: {}
subscriptions:
  a: price < 3
  b: 12
event_type: gone.json
cases:
  - condition: a
    event: {price: 2, on: 3}
    expectd: true
  - 12
  - condition: a
    event: {price: 2}
    expected: [a, aa]
  - event: 3
    expected: maybe
    expected: true
  - events: []
    event: {}
    condition: true
    expected: false
  - events: [{}, 3]
    name: 7
    condition: a
    expected: true
""",
    )
    with pytest.raises(CaseFileError) as caught:
        read_cases(str(tmp_path / file))
    told = [
        line.removeprefix(f"{tmp_path}/cases.yaml:").partition(":")[::2] for line in str(caught.value).splitlines()
    ]
    beginnings = [
        ("1", "subscription: is unknown; did you mean subscriptions?"),
        ("4", "subscriptions.b: expected a condition, found 12"),
        ("5", "event_type: event type "),
        ("7", "cases[0]: expected is missing"),
        ("8", "the key on is not a text; put it in quotes"),
        ("9", "cases[0].expectd: is unknown; did you mean expected?"),
        ("10", "cases[1]: expected a mapping, found 12"),
        ("11", "cases[2].condition: a list of expected ids evaluates all subscriptions"),
        ("13", "cases[2].expected[1]: there is no subscription 'aa'; did you mean 'a'?"),
        ("14", "cases[3].event: expected a mapping of attributes to values, found 3"),
        ("14", "cases[3]: condition is missing"),
        ("16", "the key expected is written twice"),
        ("17", "cases[4]: expected either event or events"),
        ("19", "cases[4].condition: expected a text, found True"),
        ("21", "cases[5].events[1]: expected a mapping"),
        ("22", "cases[5].name: expected a text, found 7"),
    ]
    assert len(told) == len(beginnings)
    for (line, message), (expected_line, beginning) in zip(sorted(told, key=_place), beginnings, strict=True):
        assert (line, message.strip()[: len(beginning)]) == (expected_line, beginning)


def _place(told: tuple[str, str]) -> tuple[int, str]:
    return int(told[0]), told[1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a mapping with the key cases"),
        ("[]", "cases.yaml:1: expected a mapping with the key cases"),
        ("subscriptions: {}", "cases: expected a list of cases"),
        ("cases: []", "cases: expected a list of cases"),
        ("a: [1, 2\nb: 3", "cases.yaml:2: not YAML: "),
        ("a: 2026-13-45", "not YAML: "),
        ("a: &x [*x]\ncases: 3", "cases: expected a list of cases"),
        ("a: !!python/object:os.system x", "not YAML: could not determine a constructor"),
    ],
)
def test_a_malformed_file_is_refused(write: Write, tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(CaseFileError) as caught:
        read_cases(str(tmp_path / write("cases.yaml", text)))
    assert message in str(caught.value)
