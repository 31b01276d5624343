"""How numbers are written: arithmetic of every mix of types, casts and number functions.

Spark raises on overflow and division by zero; its `try_` functions give the types of the operators.
"""

from __future__ import annotations

from tests.oracle.grammar import rule
from tests.oracle.translate import average, unless_equal, whole

_LEAST = {"tinyint": "-128Y", "smallint": "-32768S", "int": "-2147483648", "bigint": "-9223372036854775808L"}
_OPERATORS = {"+": "try_add", "-": "try_subtract", "*": "try_multiply", "%": "try_mod"}
_TYPES = {
    "tinyint": ("TINYINT", "BYTE"),
    "smallint": ("SMALLINT",),
    "int": ("INT", "INTEGER"),
    "bigint": ("BIGINT", "LONG"),
    "float": ("FLOAT", "REAL"),
    "double": ("DOUBLE",),
    "short_decimal": ("DECIMAL(10,2)", "DECIMAL(5,0)", "DECIMAL"),
    "decimal": ("DECIMAL(38,18)",),
}

for _goal in ("tinyint", "smallint", "int", "bigint", "narrow", "integral", "number"):
    for _sign, _function in _OPERATORS.items():
        rule(_goal, f"{{{_goal}}} {_sign} {{{_goal}}}", f"{_function}({{0}}, {{1}})")
for _sign, _function in _OPERATORS.items():
    if _sign != "*":
        rule("short_decimal", f"{{short_decimal}} {_sign} {{short_decimal}}", f"{_function}({{0}}, {{1}})")
for _goal in ("float", "decimal"):
    for _sign, _function in _OPERATORS.items():
        rule("number", f"{{{_goal}}} {_sign} {{{_goal}}}", f"{_function}({{0}}, {{1}})")
        rule("number", f"{{{_goal}}} {_sign} {{number}}", f"{_function}({{0}}, {{1}})")
rule("number", "{number} / {number}", "try_divide({0}, {1})")
rule("number", "{decimal} / {exact}", "try_divide({0}, {1})")
rule("number", "{exact} / {decimal}", "try_divide({0}, {1})")
rule("double", "{integral} / {integral}", "try_divide({0}, {1})")
rule("bigint", "{integral} DIV {integral}", unless_equal("{0} DIV {1}", "{1}", "0", overflow=("{0}", "{1}")))
rule("bigint", "{price_like} DIV {integral}", unless_equal("{0} DIV {1}", "{1}", "0"))

# Without parentheses: precedence and associativity.
rule("number", "{number} + {number} * {number}", "try_add({0}, try_multiply({1}, {2}))")
rule("number", "{number} - {number} - {number}", "try_subtract(try_subtract({0}, {1}), {2})")
rule("number", "{number} % {number} + {number}", "try_add(try_mod({0}, {1}), {2})")
rule("number", "{number} * {number} / {number}", "try_divide(try_multiply({0}, {1}), {2})")

for _kind, _value in _LEAST.items():
    rule(_kind, f"-({{{_kind}}})", unless_equal("-({0})", "{0}", _value))
    rule(_kind, f"abs({{{_kind}}})", unless_equal("abs({0})", "{0}", _value))
# A sign change of a decimal rounds to 34 digits, which may overflow: only shorter ones, and one guarded.
_BOUND = "9999999999999999999999999999.9999994999"
rule("decimal", "-({huge})", f"CASE WHEN {{0}} BETWEEN -{_BOUND} AND {_BOUND} THEN -({{0}}) END")
rule("decimal", "abs({huge})", f"CASE WHEN {{0}} >= -{_BOUND} THEN abs({{0}}) END")
for _kind in ("float", "double", "short_decimal"):
    rule(_kind, f"-({{{_kind}}})")
    rule(_kind, f"abs({{{_kind}}})")
    rule(_kind, f"+({{{_kind}}})")

# An int that is cast to FLOAT and then used as DOUBLE may keep its last digits in Spark, depending on what stands
# between the casts; the rule where nothing does is below.
for _kind, _names in _TYPES.items():
    for _operand in ("fraction", "decimal", "smallint") if _kind == "float" else ("number",):
        for _name in _names:
            rule(_kind, f"CAST({{{_operand}}} AS {_name})", f"try_cast({{0}} AS {_name})")
        rule(_kind, f"({{{_operand}}})::{_names[0]}", f"try_cast({{0}} AS {_names[0]})")
        rule(_kind, f"try_cast({{{_operand}}} AS {_names[0]})")
    for _name in _names:
        rule(_kind, f"try_cast({{string}} AS {_name})")
    rule(_kind, f"CAST({{boolean}} AS {_names[0]})", f"try_cast({{0}} AS {_names[0]})")
for _comparison in ("=", "<", ">=", "<=>"):
    rule("predicate", f"CAST({{integral}} AS FLOAT) {_comparison} {{number}}")
rule("bigint", "CAST({timestamp} AS BIGINT)", "try_cast({0} AS BIGINT)")
rule("int", "CAST({timestamp} AS INT)", "try_cast({0} AS INT)")
rule("double", "CAST({timestamp} AS DOUBLE)", "try_cast({0} AS DOUBLE)")

for _goal in ("narrow", "integral", "number", "float", "decimal"):
    rule(_goal, f"least({{{_goal}}}, {{{_goal}}}, {{{_goal}}})")
    rule(_goal, f"greatest({{{_goal}}}, {{{_goal}}})")
rule("number", "average({number}, {number})", average("{0}", "{1}"))
rule("number", "average({measure}, {number}, {measure})", average("{0}", "{1}", "{2}"))

rule("number", "round({fraction}, {digits})")
rule("number", "round({decimal}, {digits})")
rule("number", "round({number})")
rule("number", "bround({fraction}, {digits})")
rule("number", "bround({decimal}, {digits})")
for _kind in _LEAST:
    for _round in ("round", "bround"):
        rule(
            _kind,
            f"{_round}({{{_kind}}}, {{digits}})",
            f"try_cast({_round}(CAST({{0}} AS DECIMAL(20,0)), {{1}}) AS {_kind})",
        )
for _round in ("floor", "ceil", "ceiling"):
    rule("exact", f"{_round}({{exact}})")
    rule("bigint", f"{_round}({{fraction}})", whole("{0}", _round))
rule("double", "sign({number})")
rule("double", "signum({number})")
rule("double", "sqrt({number})")
rule("integral", "pmod({integral}, {integral})", unless_equal("pmod({0}, {1})", "{1}", "0"))
rule("number", "pmod({fraction}, {fraction})", unless_equal("pmod({0}, {1})", "{1}", "0"))
rule("number", "pmod({price_like}, {divisor})", unless_equal("pmod({0}, {1})", "{1}", "0"))
rule("number", "mod({number}, {number})", "try_mod({0}, {1})")
rule("integral", "mod({integral}, {integral})", "try_mod({0}, {1})")
rule("predicate", "isnan({fraction})")
rule("number", "positive({number})")
rule("narrow", "positive({narrow})")
rule("double", "positive({double})")
for _kind, _value in _LEAST.items():
    rule(_kind, f"negative({{{_kind}}})", unless_equal("-({0})", "{0}", _value))
    rule(_kind, f"nullifzero({{{_kind}}})")
    rule("number", f"zeroifnull({{{_kind}}})")
    rule(_kind, f"~({{{_kind}}})")
    for _sign in "&|^":
        rule(_kind, f"{{{_kind}}} {_sign} {{{_kind}}}")
rule("number", "zeroifnull({number})")
for _function in (*_OPERATORS.values(), "try_divide"):
    rule("number", f"{_function}({{number}}, {{number}})")
    if _function != "try_divide":
        rule("narrow", f"{_function}({{narrow}}, {{narrow}})")
    rule("number", f"{_function}({{integral}}, {{decimal}})")
for _sign in "&|^":
    rule("integral", f"{{integral}} {_sign} {{integral}}")
