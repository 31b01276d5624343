"""How conditions are written: comparisons, lists, tests of NULL and truth, connectives, choices."""

from __future__ import annotations

from tests.oracle.grammar import rule
from tests.oracle.translate import at_least, first_not

_COMPARISONS = ("=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>")
_SCALARS = ("number", "string", "date", "timestamp", "timestamp_ntz", "binary", "boolean")
_PAIRS = (
    *((goal, goal) for goal in _SCALARS),
    *(("number", "number_literal"), ("number", "number_literal"), ("number", "number_literal")),
    *(("string", "string_literal"), ("string", "string_literal"), ("date", "date_literal")),
    *(("integral", "integral"), ("float", "number"), ("decimal", "decimal"), ("integral", "decimal")),
    *(("date", "date_text"), ("timestamp", "timestamp_text"), ("timestamp_ntz", "ntz_text")),
    *(("integral", "int_text"), ("fraction", "double_text"), ("decimal", "double_text")),
    *(
        ("moment", "moment"),
        ("date", "timestamp"),
        ("timestamp_ntz", "timestamp"),
        ("timestamp", "date_text"),
    ),
)
for _left, _right in _PAIRS:
    for _comparison in _COMPARISONS:
        rule("predicate", f"{{{_left}}} {_comparison} {{{_right}}}")
        if _left != _right:
            rule("predicate", f"{{{_right}}} {_comparison} {{{_left}}}")

# A string that is not a literal meets a moment or a truth value through a cast, which may fail.
for _goal, _type in (("date", "DATE"), ("timestamp", "TIMESTAMP"), ("timestamp_ntz", "TIMESTAMP_NTZ")):
    for _comparison in ("=", "<", ">=", "<=>"):
        rule(
            "predicate",
            f"{{text}} {_comparison} {{{_goal}}}",
            f"try_cast({{0}} AS {_type}) {_comparison} {{1}}",
        )
rule("predicate", "{boolean} = {text}", "{0} = try_cast({1} AS BOOLEAN)")
rule("predicate", "{text} = {binary}")
# Beyond 64 bits Spark knows the answer even for NULL, though not for every operator.
for _comparison in _COMPARISONS:
    rule("predicate", f"{{integral}} {_comparison} {{beyond}}")
    rule("predicate", f"{{beyond}} {_comparison} {{integral}}")
    rule("predicate", f"{{fraction}} {_comparison} {{beyond}}")
rule("predicate", "{integral} BETWEEN {beyond} AND {beyond}")
rule("predicate", "{integral} IN ({beyond}, {integral})")

for _goal, _item in (
    *(("number", "number"), ("number", "number_literal"), ("string", "string_literal"), ("string", "string")),
    *(("date", "date_text"), ("date", "date"), ("timestamp", "timestamp_text"), ("timestamp", "moment")),
    *(
        ("integral", "number_literal"),
        ("decimal", "number_literal"),
        ("float", "number_literal"),
        ("binary", "binary"),
    ),
):
    for _not in ("", "NOT "):
        rule("predicate", f"{{{_goal}}} {_not}BETWEEN {{{_item}}} AND {{{_item}}}")
        rule("predicate", f"{{{_goal}}} {_not}IN ({{{_item}}}, {{{_item}}}, {{{_item}}})")
        rule("predicate", f"{{{_goal}}} {_not}IN ({{{_item}}})")
    rule("predicate", f"{{{_goal}}} IN ({{{_item}}}, {{{_item}}}, NULL)")
    rule("predicate", f"{{{_goal}}} NOT IN ({{{_item}}}, NULL)")
rule("predicate", "{boolean} IN ({boolean}, {boolean})")

for _goal in _SCALARS:
    rule("predicate", f"{{{_goal}}} IS NULL")
    rule("predicate", f"{{{_goal}}} IS NOT NULL")
    rule("predicate", f"isnull({{{_goal}}})")
    rule("predicate", f"isnotnull({{{_goal}}})")
    rule("predicate", f"{{{_goal}}} IS DISTINCT FROM {{{_goal}}}")
    rule("predicate", f"{{{_goal}}} IS NOT DISTINCT FROM {{{_goal}}}")
for _truth in ("TRUE", "FALSE", "UNKNOWN"):
    rule("predicate", f"{{boolean}} IS {_truth}")
    rule("predicate", f"{{boolean}} IS NOT {_truth}")
rule("boolean", "{number} < {number} IS NULL")
rule("boolean", "{string} = {string} IS NOT TRUE")

rule("boolean", "{boolean} AND {boolean}")
rule("boolean", "{boolean} OR {boolean}")
rule("boolean", "NOT {boolean}")
rule("boolean", "! {boolean}", "NOT {0}")
rule("boolean", "{number} = {number} = {boolean}", "({0} = {1}) = {2}")
rule("boolean", "{boolean} XOR {boolean}", "{0} <> {1}")
rule("boolean", "{predicate~} AND {predicate~}")
rule("boolean", "{predicate~} OR {predicate~}")
rule("boolean", "NOT {predicate~} AND {predicate~}")
rule("boolean", "{predicate~} OR {predicate~} AND NOT {predicate~}")
rule("boolean", "{predicate~} AND {predicate~} OR {predicate~} AND {predicate~}")
rule("boolean", "{predicate~} XOR {predicate~} AND {predicate~}", "({0}) <> (({1}) AND ({2}))")
rule("boolean", "{predicate~} OR {predicate~} XOR {predicate~}", "({0}) OR (({1}) <> ({2}))")
for _comparison in ("=", "<>", "<=>", "<", ">="):
    rule("boolean", f"({{boolean}}) {_comparison} ({{boolean}})")
    rule("boolean", f"({{predicate}}) {_comparison} ({{predicate}})")
rule("boolean", "AT_LEAST({least_two}, {boolean}, {boolean})", at_least("{0}", ["{1}", "{2}"]))
rule("boolean", "AT_LEAST({least_two}, {predicate}, {predicate})", at_least("{0}", ["{1}", "{2}"]))
rule(
    "boolean",
    "AT_LEAST({least_true}, {boolean}, {predicate}, {predicate})",
    at_least("{0}", ["{1}", "{2}", "{3}"]),
)
for _name, _passing in (("and_then", "TRUE"), ("or_else", "FALSE")):
    rule("boolean", f"{_name}({{boolean}}, {{predicate}})", first_not(_passing, ["{0}", "{1}"]))
    rule(
        "boolean",
        f"{_name}({{predicate}}, {{boolean}}, {{predicate}})",
        first_not(_passing, ["{0}", "{1}", "{2}"]),
    )

for _goal in (*_SCALARS, "narrow", "decimal"):
    rule(
        _goal,
        f"CASE WHEN {{boolean}} THEN {{{_goal}}} WHEN {{boolean}} THEN {{{_goal}}} ELSE {{{_goal}}} END",
    )
    rule(_goal, f"CASE WHEN {{boolean}} THEN {{{_goal}}} END")
    rule(_goal, f"CASE {{number}} WHEN {{number}} THEN {{{_goal}}} WHEN {{number}} THEN {{{_goal}}} END")
    rule(_goal, f"CASE {{string}} WHEN {{string}} THEN {{{_goal}}} ELSE {{{_goal}}} END")
    rule(_goal, f"IF({{boolean}}, {{{_goal}}}, {{{_goal}}})")
    rule(_goal, f"coalesce({{{_goal}}}, {{{_goal}}})")
    rule(_goal, f"coalesce({{{_goal}}}, {{{_goal}}}, {{{_goal}}})")
    rule(_goal, f"nvl({{{_goal}}}, {{{_goal}}})")
    rule(_goal, f"ifnull({{{_goal}}}, {{{_goal}}})")
    rule(_goal, f"nvl2({{{_goal}}}, {{{_goal}}}, {{{_goal}}})")
    rule(_goal, f"nullif({{{_goal}}}, {{{_goal}}})")
for _goal in ("string", "date", "timestamp", "timestamp_ntz", "binary", "boolean"):
    rule(_goal, f"least({{{_goal}}}, {{{_goal}}})")
    rule(_goal, f"greatest({{{_goal}}}, {{{_goal}}})")
rule("timestamp", "greatest({date}, {timestamp})")
rule("boolean", "CAST({string} AS BOOLEAN)", "try_cast({0} AS BOOLEAN)")
rule("boolean", "try_cast({string} AS BOOLEAN)")
rule("boolean", "CAST({number} AS BOOLEAN)", "try_cast({0} AS BOOLEAN)")
rule("binary", "CAST({string} AS BINARY)")
rule("string", "CAST({utf8} AS STRING)")
