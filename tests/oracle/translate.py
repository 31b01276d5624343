"""What Spark says where tamis says NULL: forms of Spark's own functions that never raise.

Each is a template over the operands' numbers, `{0}`, `{1}`; an operand may be written more than once, since
conditions are deterministic.
"""

from __future__ import annotations


def unless_equal(expression: str, operand: str, forbidden: str, overflow: tuple[str, str] | None = None) -> str:
    """`expression`, but NULL where `operand` has the value for which Spark raises.

    `overflow` names the operands of the one integer division that leaves 64 bits.
    """
    tests = [f"{operand} = {forbidden}"]
    if overflow:
        tests.append(f"({overflow[0]} = -9223372036854775808L AND {overflow[1]} = -1)")
    return f"CASE WHEN {' OR '.join(tests)} THEN NULL ELSE {expression} END"


def average(*operands: str) -> str:
    """Sum divided by count, NULL if any operand is."""
    total = operands[0]
    for operand in operands[1:]:
        total = f"try_add({total}, {operand})"
    return f"try_divide({total}, {len(operands)})"


def at_least(least: str, operands: list[str]) -> str:
    """TRUE when `least` operands are TRUE, FALSE when they no longer can be, else NULL."""
    true = " + ".join(f"IF({operand}, 1, 0)" for operand in operands)
    false = " + ".join(f"IF(NOT {operand}, 1, 0)" for operand in operands)
    return (
        f"CASE WHEN {true} >= {least} THEN TRUE WHEN {false} >= {len(operands)} - {least} + 1 THEN FALSE "
        "ELSE CAST(NULL AS BOOLEAN) END"
    )


def first_not(passing: str, operands: list[str]) -> str:
    """The first operand that is not `passing`, which is TRUE or FALSE; else that."""
    tests = " ".join(f"WHEN NOT (({operand}) <=> {passing}) THEN ({operand})" for operand in operands)
    return f"CASE {tests} ELSE {passing} END"


def make_date(year: str, month: str, day: str) -> str:
    """`make_date`, NULL where there is no such day or no such year."""
    first = f"make_date({year}, {month}, 1)"
    return (
        f"CASE WHEN {year} BETWEEN -5877640 AND 5881579 AND {month} BETWEEN 1 AND 12 THEN "
        f"CASE WHEN {day} BETWEEN 1 AND day(last_day({first})) THEN make_date({year}, {month}, {day}) END END"
    )


def element_at(array: str, index: str) -> str:
    """`element_at`, NULL outside the array and for index 0."""
    return f"CASE WHEN {index} <> 0 THEN try_element_at({array}, {index}) END"


def whole(operand: str, function: str) -> str:
    """`floor` or `ceil` of a float or double, NULL where it leaves 64 bits; NaN gives 0."""
    bound = "9223372036854775808D"
    inside = f"({operand} >= -{bound} AND {operand} < {bound})"
    return f"CASE WHEN isnan({operand}) OR {inside} THEN {function}({operand}) END"
