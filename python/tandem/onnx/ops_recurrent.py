"""Recurrent layers: LSTM, GRU and RNN as ncnn's layers of these names, one for each sequence of a batch."""

from __future__ import annotations

import numpy as np

from .converter import Converter
from .ops_nn import MOST_PARTS
from .ops_shape import cut, divide, join, transpose
from .tensor import Node, Tensor, constant, exact, op

# gates in ncnn's order, as numbers of ONNX's: input, forget, output, cell; reset, update, hidden
GATES = {"LSTM": [0, 2, 1, 3], "GRU": [1, 0, 2], "RNN": [0]}
FUNCTIONS = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}
DIRECTIONS = {"forward": 0, "reverse": 1, "bidirectional": 2}


def weights_of(node: Node, hidden: int, ways: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights of the input and of the state, and biases, with the gates in ncnn's order."""
    order = GATES[node.op]
    given = [node.const(i, what) for i, what in ((1, "W"), (2, "R"), (3, "B"))]
    w, r, b = (None if v is None else exact(v, node.where()) for v in given)
    rows = len(order) * hidden
    b = np.zeros((ways, 2 * rows), np.float32) if b is None else b
    if (w is None or r is None or w.ndim != 3 or w.shape[:2] != (ways, rows) or r.shape != (ways, rows, hidden) or
            b.shape != (ways, 2 * rows)):
        raise node.no("W, R, B of the shapes %s for %d directions and a state of %d" %
                      ([None if v is None else list(v.shape) for v in given], ways, hidden))
    w, r = (v.reshape(ways, len(order), hidden, -1)[:, order] for v in (w, r))
    halves = b.reshape(ways, 2, len(order), hidden)[:, :, order]
    bias = halves.sum(1)
    if node.op == "GRU":  # the new gate has one for each side
        bias = np.concatenate([bias[:, :2], halves[:, 0, 2:], halves[:, 1, 2:]], 1)
    return w, r, bias


def checked(c: Converter, node: Node, x: Tensor) -> tuple[int, int]:
    """Size of the state and number of directions, of what ncnn's layers compute."""
    direction = node.attr("direction", "forward")
    ways = 2 if direction == "bidirectional" else 1
    r = node.need(2)
    hidden = int(node.attr("hidden_size", r.shape[-1]))
    if direction not in DIRECTIONS or len(x.shape) != 3 or r.shape[-1] != hidden:
        raise node.no("direction %s, input %s, R %s, hidden_size %d" %
                      (direction, list(x.shape), list(r.shape), hidden))
    names = [n.decode() if isinstance(n, bytes) else n for n in node.attr("activations") or FUNCTIONS[node.op] * ways]
    if [n.lower() for n in names] != [n.lower() for n in FUNCTIONS[node.op] * ways] or node.attr("clip") is not None:
        raise node.no("activations %s, clip %s; supported: %s without clip" %
                      (names, node.attr("clip"), FUNCTIONS[node.op]))
    if node.attr("input_forget", 0) or (node.op == "GRU" and not node.attr("linear_before_reset", 0)):
        raise node.no("input_forget, or linear_before_reset 0; supported: 0, and 1 as exporters write it")
    steps, batch = (x.shape[1], x.shape[0]) if node.attr("layout", 0) else x.shape[:2]
    lengths = node.input(4)
    if lengths is not None and np.any(node.const(4, "lengths of the sequences") != steps):
        raise node.no("sequences of several lengths; supported: all of %d" % steps)
    if node.input(7) is not None and np.any(node.const(7, "peepholes")):
        raise node.no("peepholes; supported: none")
    if batch > MOST_PARTS:
        raise node.no("a batch of %d; supported: up to %d" % (batch, MOST_PARTS))
    return hidden, ways


def begins(node: Node, i: int) -> Tensor | None:
    """A state at the beginning. None: it is absent, or 0."""
    t = node.input(i)
    return None if t is None or (t.value is not None and not np.any(t.value)) else t


def one(c: Converter, node: Node, x: Tensor, states: list[Tensor | None], hidden: int, ways: int,
        cell: bool) -> list[Tensor]:
    """One sequence (steps x inputs): steps x (directions * hidden), and, with cell, the states at the end."""
    w, r, b = weights_of(node, hidden, ways)
    if x.shape[1] != w.shape[-1]:
        raise node.no("rows of %d elements, W has %d" % (x.shape[1], w.shape[-1]))
    params = {0: hidden, 1: w.size, 2: DIRECTIONS[node.attr("direction", "forward")]}
    blobs = [c.use(x, x.shape)]
    if any(s is not None for s in states):
        zero = constant(np.zeros((ways, hidden), np.float32))
        blobs += [c.use(zero if s is None else c.reshaped(s, (ways, hidden)), (ways, hidden)) for s in states]
    views = [(x.shape[0], ways * hidden)] + ([(ways, hidden)] * len(states) if cell else [])
    made = c.net.add(node.op, blobs, views, params, [("tagged", w), ("tagged", b), ("tagged", r)], c.node)
    return [c.result(view, blob, np.float32, x, *states) for view, blob in zip(views, made)]


def last_of(c: Converter, node: Node, y: Tensor, hidden: int) -> Tensor:
    """The state at the end (directions x hidden): the last row, of the reverse direction the first one."""
    parts, back = [], node.attr("direction", "forward") == "reverse"
    for way in range(y.shape[1] // hidden):
        row = 0 if back or way == 1 else y.shape[0] - 1
        parts.append(cut(c, cut(c, y, 0, row, row + 1), 1, way * hidden, (way + 1) * hidden))
    return join(c, parts, 0)


@op("LSTM GRU RNN", "activations clip direction hidden_size input_forget layout linear_before_reset")
def recurrent(c: Converter, node: Node) -> list[Tensor]:
    x = node.need(0)
    hidden, ways = checked(c, node, x)
    first = bool(node.attr("layout", 0))  # the batch is the first axis
    at, batch = (0, x.shape[0]) if first else (1, x.shape[1])
    states = [begins(node, 5)] + ([begins(node, 6)] if node.op == "LSTM" else [])
    state_axis = 0 if first else 1
    cell = len(node.outputs) > 2 and bool(c.readers.get(node.outputs[2]))
    split = [[None] * batch if s is None else divide(c, s, state_axis, [1] * batch) for s in states]
    rows, ends = [], []
    for i, part in enumerate(divide(c, x, at, [1] * batch)):
        sequence = c.reshaped(part, [n for k, n in enumerate(part.shape) if k != at])
        y, *after = one(c, node, sequence, [s[i] for s in split], hidden, ways, cell)
        rows.append(c.reshaped(y, (1, y.shape[0], ways, hidden)))
        after = after or [last_of(c, node, y, hidden)]
        ends.append([c.reshaped(t, (1, ways, hidden)) for t in after])
    y = transpose(c, join(c, rows, 0), [0, 1, 2, 3] if first else [1, 2, 0, 3])
    states = [join(c, list(parts), 0) for parts in zip(*ends)]
    results = [y] + [s if first else transpose(c, s, [1, 0, 2]) for s in states]
    return results + [None] * (len(node.outputs) - len(results))  # which nothing reads
