"""Losses, as exported training graphs and tests of models have them: the class of each element selects one value."""

from __future__ import annotations

import numpy as np

from .converter import Converter
from .ops_index import along
from .ops_math import ABS, DIV, MUL, NEG, SUB, above, binary, opposite, unary
from .ops_reduce import SUM, reduce
from .tensor import HANDLERS, Node, Tensor, op


def likelihood(c: Converter, node: Node, x: Tensor, target: Tensor, weight: Tensor | None) -> Tensor:
    """-weight[t] * x[n, t] for the class t of each element, and the reduction of it."""
    how = node.attr("reduction", "mean")
    if len(x.shape) < 2 or target.shape != x.shape[:1] + x.shape[2:] or how not in ("none", "sum", "mean"):
        raise node.no("reduction %s, classes %s for %s" % (how, list(target.shape), list(x.shape)))
    classes, rank = x.shape[1], len(x.shape)
    label = c.reshaped(target, x.shape[:1] + (1,) + x.shape[2:])
    hot = opposite(c, node, above(c, unary(c, ABS, binary(c, node, SUB, label, along(1, rank, np.arange(classes))))))
    if node.attributes.get("ignore_index") is not None:
        ignored = binary(c, node, SUB, label, c.scalar(float(node.attr("ignore_index"))))
        hot = binary(c, node, MUL, hot, above(c, unary(c, ABS, ignored)))
    if weight is not None:
        hot = binary(c, node, MUL, hot, c.reshaped(weight, (1, classes) + (1,) * (rank - 2)))
    loss = unary(c, NEG, reduce(c, SUM, binary(c, node, MUL, x, hot), [1]))
    everything = list(range(rank))
    if how == "none":
        return c.reshaped(loss, target.shape)
    loss = reduce(c, SUM, loss, everything)
    if how == "mean":
        loss = binary(c, node, DIV, loss, reduce(c, SUM, hot, everything))
    return c.reshaped(loss, ())


@op("NegativeLogLikelihoodLoss", "ignore_index reduction", takes="own")
def nll(c: Converter, node: Node) -> list[Tensor]:
    return [likelihood(c, node, node.need(0), node.need(1), node.input(2))]


@op("SoftmaxCrossEntropyLoss", "ignore_index reduction", takes="own")
def cross_entropy(c: Converter, node: Node) -> list[Tensor]:
    """The loss, and the logarithms of the probabilities."""
    inner = Node.__new__(Node)
    inner.__dict__.update(node.__dict__)
    inner.op, inner.opset, inner.inputs, inner.attributes = "LogSoftmax", 13, node.inputs[:1], {"axis": 1}
    logs = HANDLERS["LogSoftmax"][0](c, inner)[0]
    return [likelihood(c, node, logs, node.need(1), node.input(2)), logs][:max(1, len(node.outputs))]
