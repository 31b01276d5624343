"""Unknown operands of XOR: nodes that are not true, and of which NULL forbids to say that they are false.

Every other function of a condition asks only whether its operands are true. XOR also asks whether one is known
to be false. Results of true nodes are there when it asks; of the others the state is found here, from the top
down and
remembered: a predicate is unknown if its attribute is NULL, an AND if no operand is false, an OR if an operand is
unknown, a XOR likewise. So the events with a NULL cost nothing unless a XOR with a true operand wants to know.
"""

from __future__ import annotations

from tamis.arrays import I32
from tamis.engines.encoding import EncodedBatch
from tamis.kernels import kernel
from tamis.lab.dynamic.kernels.predicates import Predicates
from tamis.lab.jewel.dag.kernels.functions import AND, OR, PREDICATE, XOR_OF_KNOWN
from tamis.lab.jewel.dag.kernels.nodes import Graph


@kernel
def _is_null(graph: Graph, predicates: Predicates, event: EncodedBatch, row: int, leaf: int) -> bool:
    """Is a predicate unknown that is not true? One that holds for NULL never is."""
    number = graph.lefts[leaf]
    axis = graph.rights[leaf] if predicates.axes[number] < 0 else predicates.axes[number]
    if predicates.nulls[number]:
        return False
    line = event.columns[axis]
    return bool(line < 0 or event.valid[line, row] == 0)


@kernel
def is_unknown(
    graph: Graph,
    predicates: Predicates,
    event: EncodedBatch,
    row: int,
    root: int,
    serial: int,
    hopes: I32,
    path: I32,
) -> bool:
    """Is a node unknown that is not true?

    Args:
        graph: The graph, with the results of all nodes below.
        predicates: Of its leaves.
        event: The batch.
        row: Of the event.
        root: The node.
        serial: Of the event.
        hopes: int32[nodes]: what is remembered: the serial number where a node is false, one more where it is
            unknown.
        path: int32[2 * nodes + 1]: a stack.
    """
    functions, stamps, truth = graph.functions, graph.stamps, serial + 1
    path[0], depth = root, 1
    while depth:
        node = path[depth - 1]
        if hopes[node] >= serial:
            depth -= 1
            continue
        function = functions[node]
        if not (function == AND or function == OR or function == XOR_OF_KNOWN):
            is_null = function == PREDICATE and _is_null(graph, predicates, event, row, node)
            hopes[node] = truth if is_null else serial
            depth -= 1
            continue
        left, right = graph.lefts[node], graph.rights[node]
        begun = depth
        for child in (left, right):
            if stamps[child] != truth and hopes[child] < serial:
                path[depth] = child
                depth += 1
        if depth > begun:
            continue
        one, other = stamps[left] == truth, stamps[right] == truth
        one_unknown, other_unknown = not one and hopes[left] == truth, not other and hopes[right] == truth
        if function == AND:
            found = (one or one_unknown) and (other or other_unknown)
        else:
            found = one_unknown or other_unknown
        hopes[node] = truth if found else serial
        depth -= 1
    return bool(hopes[root] == truth)
