"""Functions that a model brings along: a node of one of them is replaced by the nodes of its body."""

from __future__ import annotations

import copy
from typing import NamedTuple

from . import proto
from .net import Unsupported

DEEPEST = 32  # a function within another one
MOST_CALLS = 10000  # of all functions: a few that call each other twice would stand for any number of nodes


class Body(NamedTuple):
    """The nodes that stand for a call, and the opset that they are of."""

    nodes: list[proto.Message]
    opset: int


class Functions:
    """The functions of a model, by domain and name."""

    def __init__(self, model: proto.Message):
        self.known = {(f.domain, f.name): f for f in model.functions}
        self.count = 0

    def expand(self, call: proto.Message) -> Body | None:
        """The nodes of the body with the names of the call. None: it is no call of a function."""
        function = self.known.get((call.domain, call.op_type))
        if function is None:
            return None
        if call.name.count("/call/") > DEEPEST:
            raise Unsupported("operator %s, node '%s': a function in itself" % (call.op_type, call.name))
        self.count += 1
        if self.count > MOST_CALLS:
            raise Unsupported("operator %s, node '%.200s': more than %d calls of functions" %
                              (call.op_type, call.name, MOST_CALLS))
        prefix = "%s/call/%d/" % (call.name or call.op_type, self.count)
        names = {"": ""}
        names.update(zip(function.input, list(call.input) + [""] * len(function.input)))
        names.update(zip(function.output, [given or prefix + own for own, given in zip(
            function.output, list(call.output) + [""] * len(function.output))]))
        given = {a.name: a for a in function.attribute_proto} | {a.name: a for a in call.attribute}
        nodes = [self.inner(node, names, given, prefix) for node in function.node]
        return Body(nodes, next((e.version for e in function.opset_import if e.domain in ("", "ai.onnx")), 1))

    @staticmethod
    def inner(node: proto.Message, names: dict[str, str], given: dict[str, proto.Message],
              prefix: str) -> proto.Message:
        """A node of the body with the names and attributes of the call."""
        new = copy.copy(node)
        new.name = prefix + (node.name or node.op_type)
        new.input = [names.setdefault(name, prefix + name) for name in node.input]
        new.output = [names.setdefault(name, prefix + name) for name in node.output]
        new.attribute = []
        for a in node.attribute:
            if not a.ref_attr_name:
                new.attribute.append(a)
            elif a.ref_attr_name in given:
                taken = copy.copy(given[a.ref_attr_name])
                taken.name = a.name
                new.attribute.append(taken)
        return new
