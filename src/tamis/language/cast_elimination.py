"""Cast elimination: `CAST(quantity AS double) < 2.5` becomes a comparison of `quantity` itself.

Spark casts both sides of a comparison to a common type. Where that cast keeps the order and never fails, the
set of cast values that satisfies the comparison is the image of a set of the attribute's own values, so the
cast is dropped and the set is replaced by its preimage: every comparison with a constant becomes ranges of the
attribute's own type, exactly, and nothing has to be computed for it.
"""

from __future__ import annotations

from tamis.formulas.expression import Apply, Typed
from tamis.values.casts import caster, is_order_preserving
from tamis.values.order import key_bounds, order_key, value_of_key
from tamis.values.ranges import Key, Ranges, within_bounds
from tamis.values.types import Type, is_decimal, is_integral


def eliminate_casts(attribute: Typed, ranges: Ranges) -> tuple[Typed, Ranges]:
    """The attribute below order-keeping casts, and the ranges of its own keys with the same meaning."""
    while isinstance(attribute, Apply) and attribute.function == "cast":
        source, target = attribute.signature.parameters[0], attribute.signature.returns
        if not is_order_preserving(source, target) or key_bounds(source) is None:
            break
        ranges = _preimage(ranges, source, target, attribute.signature.zone)
        attribute = attribute.arguments[0]
    return attribute, ranges


def _preimage(ranges: Ranges, source: Type, target: Type, zone: str) -> Ranges:
    """The source keys whose cast lies in `ranges`."""
    if is_integral(source) and is_integral(target):
        return within_bounds(source, ranges)
    if is_integral(source) and is_decimal(target):
        unit = 10**target.scale
        return _with_cuts(ranges, [-(-cut // unit) for cut in ranges.cuts], source)
    cast, key, value = caster(source, target, zone), order_key(target), value_of_key(source)
    bounds = key_bounds(source)
    assert bounds is not None
    least, greatest = bounds

    def first_at_or_above(cut: Key) -> Key:
        low, high = least, greatest + 1
        while low < high:
            middle = (low + high) // 2
            if key(cast(value(middle))) >= cut:
                high = middle
            else:
                low = middle + 1
        return low

    return _with_cuts(ranges, [first_at_or_above(cut) for cut in ranges.cuts], source)


def _with_cuts(ranges: Ranges, moved: list[Key], source: Type) -> Ranges:
    """The ranges with their cuts moved; two that fell together enclose nothing and cancel out."""
    cuts: list[Key] = []
    for cut in moved:
        if cuts and cuts[-1] == cut:
            cuts.pop()
        else:
            cuts.append(cut)
    return within_bounds(source, Ranges(ranges.inside, tuple(cuts)))
