"""Resize and Upsample, where ncnn's Interp reads the same elements with the same weights."""

import numpy as np

from .converter import Converter
from .ops_nn import map_view
from .ops_shape import pick
from .tensor import Node, Tensor, op

KINDS = {"nearest": 1, "linear": 2, "cubic": 3}
ATTRIBUTES = ("antialias axes coordinate_transformation_mode cubic_coeff_a exclude_outside extrapolation_value "
              "keep_aspect_ratio_policy mode nearest_mode scales")


def positions(node: Node, mode: str, n: int, out: int, scale: float) -> np.ndarray:
    """Source position of each element of the output in ONNX, in elements of the input."""
    i = np.arange(out, dtype=np.float64)
    if mode == "asymmetric":
        return i / scale
    if mode == "align_corners":
        if abs(n * scale - out) > 1e-4:
            raise node.no("align_corners with %d elements by %g, where implementations differ; supported: "
                          "scales that give whole sizes" % (n, scale))
        return i * (n - 1) / (out - 1) if out > 1 else i * 0
    if mode == "tf_half_pixel_for_nn":
        return (i + 0.5) / scale
    if mode == "half_pixel" or (mode == "pytorch_half_pixel" and out > 1):
        return (i + 0.5) / scale - 0.5
    if mode == "pytorch_half_pixel":
        return i * 0
    raise node.no("coordinate_transformation_mode %s is not supported" % mode)


def nearest(node: Node, at: np.ndarray, n: int) -> np.ndarray:
    how = node.attr("nearest_mode", "round_prefer_floor") if node.op == "Resize" else "floor"
    index = {"floor": np.floor(at), "ceil": np.ceil(at), "round_prefer_floor": np.ceil(at - 0.5),
             "round_prefer_ceil": np.floor(at + 0.5)}[how]
    return np.clip(index, 0, n - 1).astype(np.int64)


def plain(n: int, out: int) -> np.ndarray:
    """Source position in ncnn: rounded down in FP32."""
    source = np.arange(out, dtype=np.float32) * (np.float32(n) / np.float32(out))
    return np.minimum(source, n - 1).astype(np.int64)


def sizes_of(node: Node, x: Tensor) -> tuple[list[int], list[float]]:
    """Sizes of the output and scales, of every axis; those that `axes` leaves out stay."""
    at = 1 if node.op == "Upsample" or node.opset < 11 else 2
    scales = node.const(at, "scales") if node.input(at) is not None else node.attr("scales")
    sizes = node.const(3, "sizes") if node.op == "Resize" else None
    axes = [node.axis(int(a), len(x.shape)) for a in node.attr("axes") or range(len(x.shape))]
    if sizes is not None and len(sizes):
        policy = node.attr("keep_aspect_ratio_policy", "stretch")
        if policy != "stretch" or len(sizes) != len(axes):
            raise node.no("keep_aspect_ratio_policy %s with %d sizes; supported: stretch" % (policy, len(sizes)))
        wanted = list(x.shape)
        for axis, n in zip(axes, sizes):
            wanted[axis] = int(n)
        return wanted, [m / n for m, n in zip(wanted, x.shape)]
    if scales is None or len(scales) != len(axes):
        raise node.no("expected scales or sizes for %d dimensions" % len(axes))
    factors = [1.0] * len(x.shape)
    for axis, scale in zip(axes, scales):
        factors[axis] = float(scale)
    return [int(np.floor(n * s)) for n, s in zip(x.shape, factors)], factors


@op("Resize Upsample", ATTRIBUTES, takes="moves")
def resize(c: Converter, node: Node) -> list[Tensor]:
    x = node.need(0)
    if len(x.shape) != 4:
        raise node.no("%d dimensions; supported: 4" % len(x.shape))
    mode = node.attr("mode", "nearest")
    if node.attr("antialias", 0):
        raise node.no("antialias; supported: 0")
    sizes, scales = sizes_of(node, x)
    space = (node.attr("coordinate_transformation_mode", "half_pixel")
             if node.op == "Resize" and node.opset >= 11 else "asymmetric")
    if mode not in KINDS or tuple(sizes[:2]) != x.shape[:2] or min(sizes) < 1:
        raise node.no("mode %s, sizes %s of %s; supported: nearest, linear, cubic over the last two dimensions" %
                      (mode, sizes, list(x.shape)))
    params = {0: KINDS[mode], 3: sizes[2], 4: sizes[3]}
    if mode == "nearest":
        chosen = [nearest(node, positions(node, space, n, out, s), n)
                  for n, out, s in zip(x.shape[2:], sizes[2:], scales[2:])]
        # not the elements that Interp reads
        if not all(np.array_equal(i, plain(n, out)) for i, n, out in zip(chosen, x.shape[2:], sizes[2:])):
            return [pick(c, node, pick(c, node, x, 3, chosen[1].tolist()), 2, chosen[0].tolist())]
    for n, out, scale in zip(x.shape[2:], sizes[2:], scales[2:]):
        if mode == "nearest":
            break
        at = positions(node, space, n, out, scale)
        aligned = space == "align_corners"
        if not np.allclose(at, positions(node, space if aligned else "half_pixel", n, out, out / n), atol=1e-6):
            raise node.no("%s with scale %g takes other positions than ncnn's Interp; supported: "
                          "half_pixel and align_corners to the whole size" % (space, scale))
        params[6] = int(aligned)
    if mode == "cubic" and (node.attr("exclude_outside", 0) or abs(node.attr("cubic_coeff_a", -0.75) + 0.75) > 1e-6):
        raise node.no("exclude_outside and cubic_coeff_a; supported: 0 and -0.75")
    if mode != "nearest" and x.dtype != np.float32:
        raise node.no("dtype %s, the NPU has FP32 and INT8" % x.dtype)
    view = map_view(x)
    blob = c.add("Interp", [c.use(x, view)], (view[0], sizes[2], sizes[3]), params)
    return [c.result(sizes, blob, x.dtype, x)]
