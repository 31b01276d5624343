"""How dates and timestamps are written, and what is asked of them.

Date arithmetic stays small: a date that no timestamp holds would make Spark raise in an implicit cast.
"""

from __future__ import annotations

from tests.oracle.grammar import rule
from tests.oracle.translate import make_date

for _part in (
    "year",
    "quarter",
    "month",
    "day",
    "dayofmonth",
    "dayofweek",
    "weekday",
    "dayofyear",
    "weekofyear",
):
    rule("int", f"{_part}({{date}})")
    rule("int", f"{_part}({{timestamp}})")
for _part in ("hour", "minute", "second"):
    rule("int", f"{_part}({{timestamp}})")
    rule("int", f"{_part}({{timestamp_ntz}})")
rule("int", "year({timestamp_ntz})")
rule("int", "EXTRACT(YEAR FROM {date})")
rule("int", "EXTRACT(HOUR FROM {timestamp})")
for _unit in (
    "'year'",
    "'MONTH'",
    "'dow'",
    "'doy'",
    "'week'",
    "'quarter'",
    "'dayofweek_iso'",
    "'yearofweek'",
):
    rule("int", f"date_part({_unit}, {{date}})")
    rule("int", f"datepart({_unit}, {{timestamp}})")
rule("decimal", "EXTRACT(SECOND FROM {timestamp})")
rule("date", "dateadd({date}, {days})")
rule("int", "datediff({date}, {date})")
rule("int", "date_diff({date}, {date})")
rule("int", "datediff({timestamp}, {date})")
rule("int", "unix_date({date})")
for _unit in ("seconds", "millis", "micros"):
    rule("bigint", f"unix_{_unit}({{timestamp}})")

rule("date", "date_add({date}, {days})")
rule("date", "date_sub({date}, {days})")
rule("date", "date_add({date}, {tinyint})")
rule("date", "date_sub({date}, {smallint})")
rule("date", "{date} + {days}")
rule("date", "{date} - {days}")
rule("date", "{days} + {date}")
rule("date", "add_months({date}, {days})")
rule("date", "add_months({date}, {tinyint})")
rule("date", "last_day({date})")
rule("date", "next_day({date}, {weekday})")
rule("date", "trunc({date}, {date_unit})")
rule("date", "make_date({year}, {count}, {tinyint})", make_date("{0}", "{1}", "{2}"))
rule("date", "make_date(2024, {narrow}, {tinyint})", make_date("2024", "{0}", "{1}"))
rule("date", "to_date({text})", "try_to_date({0})")
rule("date", "to_date({timestamp})")
rule("date", "date({timestamp})")
rule("date", "CAST({string} AS DATE)", "try_cast({0} AS DATE)")
rule("date", "try_cast({string} AS DATE)")
rule("date", "CAST({timestamp} AS DATE)")
rule("date", "({timestamp_ntz})::DATE")
rule("date", "date_from_unix_date({narrow_days})")

rule("date", "{date} + make_interval(0, {tinyint}, 0, {tinyint})")
rule("date", "{date} - make_interval({tinyint}, 1, {tinyint})")
rule("int", "EXTRACT(HOUR FROM make_interval(1, 2, 3, {tinyint}, {smallint}))")
rule("string", "CAST(make_interval({tinyint}, {tinyint}, 1, {smallint}, {int}) AS STRING)")
rule("string", "CAST(try_make_interval({tinyint}, {smallint}) AS STRING)")
rule("timestamp_ntz", "{timestamp_ntz} + make_interval(0, {tinyint}, 0, {tinyint}, {smallint})")

rule("timestamp", "date_trunc({time_unit}, {timestamp})")
rule("timestamp", "CAST({date} AS TIMESTAMP)")
rule("timestamp", "CAST({timestamp_ntz} AS TIMESTAMP)")
rule("timestamp", "CAST({string} AS TIMESTAMP)", "try_cast({0} AS TIMESTAMP)")
rule("timestamp", "try_cast({string} AS TIMESTAMP)")
rule("timestamp", "to_timestamp({text})", "try_to_timestamp({0})")
rule("timestamp", "CAST({narrow} AS TIMESTAMP)", "try_cast({0} AS TIMESTAMP)")
rule("timestamp", "timestamp_seconds({narrow})")
rule("timestamp", "timestamp_millis({narrow})")
rule("timestamp", "timestamp_micros({bigint_small})")
rule("timestamp", "coalesce({date}, {timestamp})")
rule("timestamp", "coalesce({timestamp_ntz}, {timestamp})")
# Far from our time: only where no further function sees the result, since most raise there.
for _comparison in ("<", ">=", "="):
    rule(
        "predicate",
        f"make_date({{narrow}}, {{count}}, {{count}}) {_comparison} {{date}}",
        f"({make_date('{0}', '{1}', '{2}')}) {_comparison} {{3}}",
    )
    rule("predicate", f"date_add({{calendar}}, {{int}}) {_comparison} {{date}}")
    rule("predicate", f"date_sub({{calendar}}, {{int}}) {_comparison} {{date}}")
    rule("predicate", f"timestamp_micros({{bigint}}) {_comparison} {{timestamp}}")
    rule("predicate", f"timestamp_seconds({{fraction}}) {_comparison} {{timestamp}}")
    for _kind in ("bigint", "fraction", "decimal"):
        rule(
            "predicate",
            f"CAST({{{_kind}}} AS TIMESTAMP) {_comparison} {{timestamp}}",
            f"try_cast({{0}} AS TIMESTAMP) {_comparison} {{1}}",
        )
for _part in ("year", "weekofyear", "unix_date", "dayofweek"):
    rule("int", f"{_part}(date_add({{calendar}}, {{narrow}}))")
rule("int", "datediff(date_add({calendar}, {int}), {date})")
rule("int", "hour(timestamp_micros({bigint}))")

rule("timestamp_ntz", "CAST({timestamp} AS TIMESTAMP_NTZ)")
rule("timestamp_ntz", "CAST({date} AS TIMESTAMP_NTZ)")
rule("timestamp_ntz", "CAST({string} AS TIMESTAMP_NTZ)", "try_cast({0} AS TIMESTAMP_NTZ)")
rule("timestamp_ntz", "coalesce({date}, {timestamp_ntz})")
