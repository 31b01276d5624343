"""How arrays and structs are written, and what is asked of them."""

from __future__ import annotations

from tests.oracle.grammar import rule
from tests.oracle.translate import element_at

_ELEMENTS = {"array_int": "int", "array_double": "double", "array_string": "string"}

rule("int", "st.a")
rule("string", "st.b")
rule("double", "st.c.d")
rule("array_string", "items.name")

for _array, _item in _ELEMENTS.items():
    rule(_item, f"{{{_array}}}[{{index}}]", "get({0}, {1})")
    rule(_item, f"{{{_array}}}[{{narrow}}]", "get({0}, {1})")
    rule(_item, f"element_at({{{_array}}}, {{element}})", element_at("{0}", "{1}"))
    rule(_item, f"element_at({{{_array}}}, {{narrow}})", element_at("{0}", "{1}"))
    rule(_item, f"try_element_at({{{_array}}}, {{element}})")
    rule(_item, f"get({{{_array}}}, {{index}})")
    rule(_item, f"array_max({{{_array}}})")
    rule(_item, f"array_min({{{_array}}})")
    rule("predicate", f"array_contains({{{_array}}}, {{{_item}}})")
    rule("predicate", f"arrays_overlap({{{_array}}}, {{{_array}}})")
    rule("bigint", f"array_position({{{_array}}}, {{{_item}}})")
    rule("int", f"size({{{_array}}})")
    rule("int", f"array_size({{{_array}}})")
    rule("int", f"cardinality({{{_array}}})")
    rule("predicate", f"exists({{{_array}}}, $x -> {{boolean}})", element=_array)
    rule("predicate", f"forall({{{_array}}}, $x -> {{boolean}})", element=_array)
    for _comparison in ("=", "<>", "<", "<=>"):
        rule("predicate", f"{{{_array}}} {_comparison} {{{_array}}}")
    rule("predicate", f"{{{_array}}} IS NULL")
    rule("predicate", f"{{{_array}}} IS NOT NULL")
    rule(_array, f"coalesce({{{_array}}}, {{{_array}}})")
rule("predicate", "{array_int} = {array_double}")
rule("predicate", "array_contains({array_int}, {narrow})")
rule("predicate", "array_contains({array_double}, {number_double})")
rule("array_int", "array({narrow}, {int})")
rule("array_string", "array({string}, {string})")

rule("decimal", "{array_item}[{index}].price", "get({0}, {1}).price")
rule("string", "{array_item}[{index}].name", "get({0}, {1}).name")
rule("string", "element_at({array_item}, {element}).name", f"({element_at('{0}', '{1}')}).name")
rule("int", "size({array_item})")
rule("predicate", "exists({array_item}, $x -> {boolean})", element="array_item")
rule("predicate", "forall({array_item}, $x -> {boolean})", element="array_item")
rule("item", "items[0]", "get(items, 0)")
rule("item", "{array_item}[{index}]", "get({0}, {1})")
rule("predicate", "{item} IS NULL")
rule("predicate", "{array_item} IS NOT NULL")

for _comparison in ("=", "<=>", "<", ">="):
    rule("predicate", f"{{struct}} {_comparison} {{struct}}")
rule("predicate", "{struct} IS NULL")
rule("predicate", "{struct} IS NOT NULL")
rule("predicate", "{nested} IS NULL")
rule("predicate", "{nested} = {nested}")
