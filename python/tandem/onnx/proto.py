"""ONNX files, read here: the wire format of protocol buffers and the fields of onnx.proto that a graph needs.

No version is asked for: neither that of the file (ir_version), which only tells which of these fields may occur, nor
that of a library. Objects have the names of onnx.proto, so that `model.graph.node[0].op_type` reads as with the package
onnx. Fields that are not in the table are skipped, as the format asks for.
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from .net import Unsupported

MOST_DEPTH = 64  # of messages in messages: graphs in attributes of nodes

# Field number: name, kind, "*" for lists. Kinds: int, float, double, str, bytes, or the name of a message.
SCHEMA: dict[str, dict[int, str]] = {
    "ModelProto": {1: "ir_version int", 7: "graph GraphProto", 8: "opset_import OperatorSetIdProto *",
                   25: "functions FunctionProto *"},
    "OperatorSetIdProto": {1: "domain str", 2: "version int"},
    "GraphProto": {1: "node NodeProto *", 2: "name str", 5: "initializer TensorProto *", 11: "input ValueInfoProto *",
                   12: "output ValueInfoProto *", 15: "sparse_initializer SparseTensorProto *"},
    "NodeProto": {1: "input str *", 2: "output str *", 3: "name str", 4: "op_type str", 5: "attribute AttributeProto *",
                  7: "domain str"},
    "AttributeProto": {1: "name str", 2: "f float", 3: "i int", 4: "s bytes", 5: "t TensorProto", 6: "g GraphProto",
                       7: "floats float *", 8: "ints int *", 9: "strings bytes *", 10: "tensors TensorProto *",
                       11: "graphs GraphProto *", 20: "type int", 21: "ref_attr_name str"},
    "ValueInfoProto": {1: "name str", 2: "type TypeProto"},
    "TypeProto": {1: "tensor_type TensorType", 4: "sequence_type Other", 5: "map_type Other", 7: "opaque_type Other",
                  8: "sparse_tensor_type Other", 9: "optional_type Other"},
    "TensorType": {1: "elem_type int", 2: "shape TensorShapeProto"},
    "TensorShapeProto": {1: "dim Dimension *"},
    "Dimension": {1: "dim_value int", 2: "dim_param str"},
    "TensorProto": {1: "dims int *", 2: "data_type int", 4: "float_data float *", 5: "int32_data int *",
                    6: "string_data bytes *", 7: "int64_data int *", 8: "name str", 9: "raw_data bytes",
                    10: "double_data double *", 11: "uint64_data int *", 13: "external_data StringStringEntryProto *",
                    14: "data_location int"},
    "StringStringEntryProto": {1: "key str", 2: "value str"},
    "FunctionProto": {1: "name str", 4: "input str *", 5: "output str *", 6: "attribute str *", 7: "node NodeProto *",
                      9: "opset_import OperatorSetIdProto *", 10: "domain str", 11: "attribute_proto AttributeProto *"},
    "SparseTensorProto": {}, "Other": {},
}
FIELDS = {message: {number: (words.split() + [""])[:3] for number, words in fields.items()}
          for message, fields in SCHEMA.items()}
NOTHING = {"int": 0, "float": 0.0, "double": 0.0, "str": "", "bytes": b""}
FIXED = {"float": ("<f4", 5), "double": ("<f8", 1)}  # NumPy's type, wire type
EXTERNAL = 1  # TensorProto.data_location

TYPES = {1: "float", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 8: "string", 9: "bool",
         10: "float16", 11: "double", 12: "uint32", 13: "uint64", 14: "complex64", 15: "complex128", 16: "bfloat16",
         17: "float8e4m3fn", 18: "float8e4m3fnuz", 19: "float8e5m2", 20: "float8e5m2fnuz", 21: "uint4", 22: "int4",
         23: "float4e2m1", 24: "float8e8m0", 25: "uint2", 26: "int2"}
DTYPES = {n: np.dtype("float32" if name == "float" else "float64" if name == "double" else name)
          for n, name in TYPES.items() if n <= 15 and name != "string"}
FLOAT32, UINT8, STRING, BFLOAT16, UINT4, INT4 = 1, 2, 8, 16, 21, 22  # element types
FLOAT, INT, STR, TENSOR, GRAPH, FLOATS, INTS, STRINGS, TENSORS, GRAPHS = range(1, 11)  # AttributeProto.type
VALUES = {FLOAT: "f", INT: "i", STR: "s", TENSOR: "t", GRAPH: "g", FLOATS: "floats", INTS: "ints", STRINGS: "strings",
          TENSORS: "tensors", GRAPHS: "graphs"}


class Malformed(Exception):
    """Not a file of this format: what is wrong in it."""


class Message:
    """A message: its fields by name; absent ones are empty lists, None for messages, else 0 or "" (has())."""

    def __init__(self, kind: str):
        self.kind = kind
        self.present: set[str] = set()
        for name, what, many in FIELDS[kind].values():
            setattr(self, name, [] if many else NOTHING.get(what))

    def has(self, name: str) -> bool:
        """A field that is not a list stands in the file."""
        return name in self.present


def varint(data: memoryview, at: int) -> tuple[int, int]:
    """An integer of variable length, and where the next field begins."""
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Malformed("it ends within a number")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & (1 << 64) - 1, at
        shift += 7


def signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def field(data: memoryview, at: int) -> tuple[int, int, Any, int]:
    """Number, wire type and value of the field that begins here, and where the next one begins."""
    key, at = varint(data, at)
    wire = key & 7
    if wire == 0:
        value, at = varint(data, at)
        return key >> 3, wire, value, at
    if wire == 2:
        length, at = varint(data, at)
    elif wire in (1, 5):
        length = 8 if wire == 1 else 4
    else:
        raise Malformed("a field of wire type %d" % wire)
    if key >> 3 == 0 or length > len(data) - at:
        raise Malformed("it ends within a field, or is damaged")
    return key >> 3, wire, data[at:at + length], at + length


def numbers(kind: str, wire: int, value: Any) -> list:
    """One number, or those of a packed list."""
    if kind == "int" and wire == 0:
        return [signed(value)]
    if kind == "int" and wire == 2:
        values, at = [], 0
        while at < len(value):
            number, at = varint(value, at)
            values.append(signed(number))
        return values
    if kind in FIXED and wire in (2, FIXED[kind][1]):
        dtype = np.dtype(FIXED[kind][0])
        if len(value) % dtype.itemsize:
            raise Malformed("a list of %ss of %d bytes" % (kind, len(value)))
        return np.frombuffer(value, dtype).tolist()
    raise Malformed("wire type %d where it has numbers of the kind %s" % (wire, kind))


def read(kind: str, data: memoryview, depth: int = 0) -> Message:
    """A message from its bytes. Malformed."""
    if depth > MOST_DEPTH:
        raise Malformed("messages in messages, more than %d" % MOST_DEPTH)
    message, fields, at = Message(kind), FIELDS[kind], 0
    while at < len(data):
        number, wire, value, at = field(data, at)
        if number not in fields:
            continue
        name, what, many = fields[number]
        if what in NOTHING and what not in ("str", "bytes"):
            values = numbers(what, wire, value)
        elif wire != 2:
            raise Malformed("%s.%s has wire type %d" % (kind, name, wire))
        elif what == "str":
            values = [bytes(value).decode("utf-8", "replace")]
        else:
            values = [bytes(value) if what == "bytes" and name != "raw_data" else
                      value if what == "bytes" else read(what, value, depth + 1)]
        message.present.add(name)
        if many:
            getattr(message, name).extend(values)
        elif values:
            setattr(message, name, values[-1])
    return message


def load(path: str | os.PathLike[str]) -> Message:
    """The model of a file. OSError; Malformed."""
    with open(path, "rb") as f:
        return model_of(f.read())


def model_of(data: bytes) -> Message:
    """A model from its bytes. Malformed."""
    model = read("ModelProto", memoryview(data))
    if model.graph is None:
        raise Malformed("it has no graph")
    return model


def tensor_of(data: bytes) -> Message:
    """A tensor in a file of its own, as the node tests have them. Malformed."""
    return read("TensorProto", memoryview(data))


def type_name(kind: int) -> str:
    return TYPES.get(kind, "number %d" % kind)


def attribute(message: Message) -> Any:
    """The value of an attribute: a number, bytes, a tensor, a graph, or a list of them. Malformed."""
    kind = message.type
    if kind == 0:  # IR 1 had no types
        kind = next((k for k, name in VALUES.items() if message.has(name)), 0)
    if kind not in VALUES:
        raise Malformed("attribute '%s' has the type %d" % (message.name, kind))
    value = getattr(message, VALUES[kind])
    if value is None:
        raise Malformed("attribute '%s' has no value" % message.name)
    return value


def outside(tensor: Message, folder: str | None, need: int) -> bytes:
    """Bytes of a tensor in a file beside that of the model. Malformed; OSError."""
    where = {entry.key: entry.value for entry in tensor.external_data}
    name = where.get("location", "")
    try:
        offset, length = int(where.get("offset", 0)), int(where.get("length", need))
    except ValueError:
        raise Malformed("external data with the offset '%s'" % where.get("offset")) from None
    if folder is None:
        raise Malformed("external data '%s' of a model without a file" % name)
    root, path = os.path.realpath(folder), os.path.realpath(os.path.join(folder, name))
    if not name or os.path.isabs(name) or os.path.commonpath([root, path]) != root:
        raise Malformed("external data '%s', expected a file in the folder of the model" % name)
    if offset < 0 or length != need:
        raise Malformed("external data of %d bytes from %d on, expected %d" % (length, offset, need))
    with open(path, "rb") as f:
        f.seek(offset)
        data = f.read(length)
    if len(data) != length:
        raise Malformed("external data: '%s' ends before byte %d" % (name, offset + length))
    return data


def nibbles(data: bytes, count: int, kind: int) -> np.ndarray:
    """Integers of four bits as those of eight."""
    packed = np.frombuffer(data, np.uint8)
    values = np.stack([packed & 15, packed >> 4], 1).ravel()[:count]
    return values if kind == UINT4 else ((values ^ 8).astype(np.int8) - np.int8(8))


def from_lists(tensor: Message, kind: int) -> np.ndarray:
    """Elements that stand in the lists of the message."""
    if kind == STRING:
        return np.array(tensor.string_data, object)
    if kind in (1, 14):
        return np.array(tensor.float_data, np.float32).view(DTYPES[kind])
    if kind in (11, 15):
        return np.array(tensor.double_data, np.float64).view(DTYPES[kind])
    if kind == 7:
        return np.array(tensor.int64_data, np.int64)
    if kind in (12, 13):
        return np.array(tensor.uint64_data, np.int64).view(np.uint64).astype(DTYPES[kind])
    values = np.array(tensor.int32_data, np.int64)
    if kind in (BFLOAT16, 10):
        return values.astype(np.uint16)
    return values.astype(np.uint8 if kind in (UINT4, INT4) else DTYPES[kind])


def array(tensor: Message, folder: str | None = None) -> np.ndarray:
    """The elements of a TensorProto; bfloat16 as float32, integers of four bits as those of eight. folder: that of the
    model's file, for external data. Malformed, with the tensor's name; Unsupported: a dtype that has none in NumPy."""
    try:
        return _array(tensor, folder)
    except (Malformed, ValueError, OverflowError) as error:
        raise Malformed("tensor '%s': %s" % (tensor.name, error)) from None
    except OSError as error:
        raise Malformed("tensor '%s': external data: %s" % (tensor.name, error)) from None


def _array(tensor: Message, folder: str | None) -> np.ndarray:
    kind, shape = tensor.data_type, tuple(tensor.dims)
    if kind not in DTYPES and kind not in (STRING, BFLOAT16, UINT4, INT4):
        raise Unsupported("tensor '%s': dtype %s is not supported" % (tensor.name, type_name(kind)))
    if min(shape, default=0) < 0:
        raise Malformed("the shape %s" % list(shape))
    count = math.prod(shape)
    width = 2 if kind == BFLOAT16 else DTYPES[kind].itemsize if kind in DTYPES else 1
    need = -(-count // 2) if kind in (UINT4, INT4) else count * width
    if tensor.data_location == EXTERNAL:
        raw: Any = outside(tensor, folder, need)
    else:
        raw = tensor.raw_data if tensor.has("raw_data") else None
    if raw is None:
        values = from_lists(tensor, kind)
        raw = values.tobytes() if kind in (BFLOAT16, UINT4, INT4, 10) else None
    if raw is not None:
        if len(raw) != need:
            raise Malformed("%d bytes for the shape %s, expected %d" % (len(raw), list(shape), need))
        if kind in (UINT4, INT4):
            values = nibbles(bytes(raw), count, kind)
        elif kind == BFLOAT16:
            values = (np.frombuffer(raw, "<u2").astype(np.uint32) << 16).view(np.float32)
        else:
            values = np.frombuffer(raw, DTYPES[kind].newbyteorder("<")).astype(DTYPES[kind])
    if values.size != count:
        raise Malformed("%d elements for the shape %s" % (values.size, list(shape)))
    return values.reshape(shape)
