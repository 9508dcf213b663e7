"""Convolutions and pooling."""

import math
from collections.abc import Callable

import numpy as np

from .converter import Converter
from .ops_math import ADD, MUL, binary
from .ops_shape import cut, divide, join
from .tensor import HANDLERS, Node, Tensor, constant, exact, op

MOST_PARTS = 64  # of a batch that is split
LONGEST, PIECE = 255, 128  # side of a kernel; that of pieces of a longer one


def per_image(c: Converter, node: Node, x: Tensor, one: Callable[[Tensor], Tensor]) -> Tensor:
    """A batch, image by image."""
    if x.shape[0] == 1:
        return one(x)
    if x.shape[0] > MOST_PARTS:
        raise node.no("a batch of %d; supported: up to %d" % (x.shape[0], MOST_PARTS))
    return join(c, [one(part) for part in divide(c, x, 0, [1] * x.shape[0])], 0)


def sides(node: Node, x: Tensor, kernel: list[int], strides: list[int],
          dilations: list[int], ceil: bool = False) -> tuple[list[int], list[int]]:
    """Padding (all starts, then all ends) and sizes of the outputs."""
    rank = len(kernel)
    auto = node.attr("auto_pad", "NOTSET")
    pads = [int(p) for p in node.attr("pads") or [0] * 2 * rank]
    if auto not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER") or len(pads) != 2 * rank or min(pads) < 0:
        raise node.no("auto_pad %s, pads %s" % (auto, pads))
    sizes = []
    for i, (n, k, s, d) in enumerate(zip(x.shape[2:], kernel, strides, dilations)):
        extent = (k - 1) * d + 1
        if auto == "VALID":
            pads[i] = pads[rank + i] = 0
        if auto.startswith("SAME"):
            total = (-(-n // s) - 1) * s + extent - n
            if total < 0:
                raise node.no("auto_pad %s with a kernel of %d for a stride of %d, where implementations differ; "
                              "supported: pads" % (auto, extent, s))
            pads[i] = total // 2 if auto == "SAME_UPPER" else total - total // 2
            pads[rank + i] = total - pads[i]
        room = n + pads[i] + pads[rank + i] - extent
        if room < 0:
            raise node.no("a kernel of %d on %d padded elements" % (extent, room + extent))
        sizes.append((-(-room // s) if ceil else room // s) + 1)
    return pads, sizes


def spatial(node: Node, name: str, rank: int, default: int = 1) -> list[int]:
    values = [int(v) for v in node.attr(name) or [default] * rank]
    if len(values) != rank or min(values) < 1:
        raise node.no("%s %s for %d dimensions" % (name, values, rank))
    return values


def image(node: Node, x: Tensor) -> int:
    """Number of spatial dimensions: rows of an image, or of a line, which is an image of one row."""
    rank = len(x.shape) - 2
    if rank not in (1, 2):
        raise node.no("%d spatial dimensions; supported: 1 and 2" % rank)
    return rank


def map_view(x: Tensor) -> tuple[int, ...]:
    return (x.shape[0] * x.shape[1], *([1] if len(x.shape) == 3 else []), *x.shape[2:])


def rows_and_columns(values: list[int], absent: int) -> tuple[int, int]:
    return (absent, values[0]) if len(values) == 1 else (values[0], values[1])


def kernel_keys(kernel: list[int], strides: list[int], dilations: list[int], pads: list[int]) -> dict[int, int]:
    """Settings of ncnn's convolutions."""
    rank = len(kernel)
    (kh, kw), (sh, sw), (dh, dw) = (rows_and_columns(kernel, 1), rows_and_columns(strides, 1),
                                    rows_and_columns(dilations, 1))
    (top, left), (bottom, right) = rows_and_columns(pads[:rank], 0), rows_and_columns(pads[rank:], 0)
    return {1: kw, 11: kh, 2: dw, 12: dh, 3: sw, 13: sh, 4: left, 15: right, 14: top, 16: bottom}


def weights(node: Node, i: int = 1) -> tuple[np.ndarray, np.ndarray | None]:
    """Constant weights followed by the bias."""
    w, b = node.const(i, "the weights"), node.const(i + 1, "the bias")
    if w is None:
        raise node.no("the weights are missing")
    return exact(w, node.where()), None if b is None else exact(b, node.where())


def weighted(w: np.ndarray, b: np.ndarray | None, outputs: int, bias_key: int,
             size_key: int) -> tuple[dict[int, int], list]:
    """Settings and arrays that all layers with weights have."""
    return ({0: outputs, bias_key: int(b is not None), size_key: w.size},
            [("tagged", w)] + ([("raw", b)] if b is not None else []))


def conv_shape(node: Node, x: Tensor, w: np.ndarray) -> tuple[dict[int, int], int, list[int], tuple[int, ...]]:
    """Settings, groups, spatial sizes of the output, and its view, of a convolution with these weights."""
    rank, group = image(node, x), node.attr("group", 1)
    kernel = tuple(node.attr("kernel_shape") or w.shape[2:])
    if (len(w.shape) != rank + 2 or group < 1 or w.shape[0] % group or w.shape[1] * group != x.shape[1] or
            kernel != w.shape[2:]):
        raise node.no("weights %s for an input %s" % (list(w.shape), list(x.shape)))
    kernel, strides, dilations = list(w.shape[2:]), spatial(node, "strides", rank), spatial(node, "dilations", rank)
    pads, sizes = sides(node, x, kernel, strides, dilations)
    params = kernel_keys(kernel, strides, dilations, pads) | ({7: group} if group > 1 else {})
    return params, group, sizes, (w.shape[0], *([1] if rank == 1 else []), *sizes)


def long_line(c: Converter, node: Node, x: Tensor, w: np.ndarray, b: np.ndarray | None) -> Tensor:
    """A kernel that is longer than the NPU has, over lines: the sum of its pieces, each over what it sees."""
    (stride,), (step,) = spatial(node, "strides", 1), spatial(node, "dilations", 1)
    pads, (count,) = sides(node, x, [w.shape[2]], [stride], [step])
    if any(pads):
        zeros = [constant(np.zeros(x.shape[:2] + (n,), np.float32)) for n in pads]
        x = join(c, [t for t in (zeros[0], x, zeros[1]) if t.size], 2)
    total = None
    for first in range(0, w.shape[2], PIECE):
        part = w[:, :, first:first + PIECE]
        seen = cut(c, x, 2, first * step, (first + part.shape[2] - 1) * step + (count - 1) * stride + 1)
        piece = Node.__new__(Node)
        piece.__dict__.update(node.__dict__)
        piece.inputs = [seen, constant(part), None if b is None or total is not None else constant(b)]
        piece.attributes = {"strides": [stride], "dilations": [step], "group": node.attr("group", 1)}
        y, = conv(c, piece)
        total = y if total is None else binary(c, node, ADD, total, y)
    return total


@op("Conv", "auto_pad dilations group kernel_shape pads strides")
def conv(c: Converter, node: Node) -> list[Tensor]:
    x = node.need(0)
    w, b = weights(node)
    if w.ndim == 3 and len(x.shape) == 3 and w.shape[2] > LONGEST:
        return [long_line(c, node, x, w, b)]
    params, group, sizes, out = conv_shape(node, x, w)
    from .products import can_split, convolution, split_sums
    if can_split(x, w):
        return [split_sums(c, node, convolution(c, node, x, w), x, w, b)]
    common, arrays = weighted(w, b, w.shape[0], 5, 6)

    def one(t: Tensor) -> Tensor:
        blob = c.add("ConvolutionDepthWise" if group > 1 else "Convolution",
                     [c.use(t, map_view(t))], out, params | common, arrays)
        return c.result((1, w.shape[0], *sizes), blob, x.dtype, t)
    return [per_image(c, node, x, one)]


@op("ConvTranspose", "auto_pad dilations group kernel_shape output_padding output_shape pads strides")
def conv_transpose(c: Converter, node: Node) -> list[Tensor]:
    x = node.need(0)
    w, b = weights(node)
    rank, group = image(node, x), node.attr("group", 1)
    if w.shape[0] != x.shape[1] or w.shape[0] % group or len(w.shape) != rank + 2:
        raise node.no("weights %s for an input %s" % (list(w.shape), list(x.shape)))
    kernel, strides, dilations = list(w.shape[2:]), spatial(node, "strides", rank), spatial(node, "dilations", rank)
    pads, extra, sizes = transposed_sides(node, x, kernel, strides, dilations)
    if rank == 2 and strides[0] == strides[1] and dilations == [1, 1]:
        return [as_convolution(c, node, x, w, b, strides[0], pads, sizes)]
    outputs = w.shape[1] * group
    # ncnn: output channels outermost
    turned = w.reshape(group, x.shape[1] // group, w.shape[1], *kernel).swapaxes(1, 2)
    common, arrays = weighted(turned, b, outputs, 5, 6)
    more_h, more_w = rows_and_columns(extra, 0)
    params = (kernel_keys(kernel, strides, dilations, pads) | common |
              {18: more_w, 19: more_h} | ({7: group} if group > 1 else {}))

    def one(t: Tensor) -> Tensor:
        out = (outputs, *([1] if rank == 1 else []), *sizes)
        blob = c.add("DeconvolutionDepthWise" if group > 1 else "Deconvolution",
                     [c.use(t, map_view(t))], out, params, arrays)
        return c.result((1, outputs, *sizes), blob, x.dtype, t)
    return [per_image(c, node, x, one)]


def phases(w: np.ndarray, stride: int) -> np.ndarray:
    """Weights C x O x H x W of a ConvTranspose as those of a convolution, (O * stride^2) x C x ..., whose outputs are
    the places within blocks of stride x stride: place r of block q is the sum of x[q - t] * w[r + stride * t]."""
    c, outputs, h, width = w.shape
    taps = [-(-n // stride) for n in (h, width)]
    wide = np.zeros((c, outputs, taps[0] * stride, taps[1] * stride), w.dtype)
    wide[:, :, :h, :width] = w
    split = wide.reshape(c, outputs, taps[0], stride, taps[1], stride)[:, :, ::-1, :, ::-1]
    return np.ascontiguousarray(split.transpose(1, 3, 5, 0, 2, 4).reshape(outputs * stride ** 2, c, *taps))


def as_convolution(c: Converter, node: Node, x: Tensor, w: np.ndarray, b: np.ndarray | None, stride: int,
                   pads: list[int], sizes: list[int]) -> Tensor:
    """A ConvTranspose with one stride as a convolution over its input, whose channels become rows and columns."""
    group, many = node.attr("group", 1), stride ** 2

    def turned(values: np.ndarray) -> np.ndarray:
        each = values.reshape(group, values.shape[0] // group, *values.shape[1:])
        return np.concatenate([phases(part, stride) for part in each])
    weights, given = constant(turned(w)), node.need(1).scaled
    if given is not None and given.grid is None and given.ints.value is not None:
        scale = np.asarray(given.scale)
        scale = scale if scale.size == 1 else np.repeat(np.tile(scale.ravel(), group), many).reshape(-1, 1, 1, 1)
        weights.scaled = given._replace(ints=constant(turned(np.asarray(given.ints.value))), scale=scale)
    rank, first, behind, cuts = 2, [], [], []
    for i in range(rank):
        taps, skipped = weights.shape[2 + i], pads[i] // stride  # blocks that lie in the padding
        left = max(taps - 1 - skipped, 0)
        start = pads[i] - (taps - 1 - left) * stride
        last = -(-(start + sizes[i]) // stride)  # blocks that are needed
        first.append(left)
        behind.append(max(last - (x.shape[2 + i] + left - taps + 1), 0))
        cuts.append(start)
    piece = Node.__new__(Node)
    piece.__dict__.update(node.__dict__)
    piece.op, piece.key = "Conv", "Conv"
    piece.inputs = [x, weights, None if b is None else constant(np.repeat(b, many))]
    piece.attributes = {"pads": first + behind, "group": group}
    y, = HANDLERS["Conv"][0](c, piece)
    if stride > 1:
        n, outputs, h, width = y.shape
        shape = (1, outputs // many, h * stride, width * stride)
        y = per_image(c, node, y, lambda t: c.result(
            shape, c.add("PixelShuffle", [c.use(t, map_view(t))], shape[1:], {0: stride}), t.dtype, t))
    for i in range(rank):
        y = cut(c, y, 2 + i, cuts[i], cuts[i] + sizes[i])
    return y


def transposed_sides(node: Node, x: Tensor, kernel, strides, dilations) -> tuple[list[int], list[int], list[int]]:
    """Padding, extra rows and columns at the end, and sizes of the outputs of a ConvTranspose."""
    rank = len(kernel)
    auto = node.attr("auto_pad", "NOTSET")
    pads = [int(p) for p in node.attr("pads") or [0] * 2 * rank]
    extra = [int(p) for p in node.attr("output_padding") or [0] * rank]
    wanted = node.attr("output_shape")
    sizes = []
    for i, (n, k, s, d) in enumerate(zip(x.shape[2:], kernel, strides, dilations)):
        full = (n - 1) * s + (k - 1) * d + 1 + extra[i]
        if wanted is not None or auto.startswith("SAME"):
            out = int(wanted[len(wanted) - rank + i]) if wanted is not None else n * s
            total = full - out
            if total < 0 and wanted is None:
                raise node.no("auto_pad %s with a kernel of %d for a stride of %d, where implementations differ; "
                              "supported: output_shape" % (auto, k, s))
            if total < 0:
                extra[i] -= total
            total = max(total, 0)
            first = total // 2 if auto == "SAME_UPPER" else total - total // 2
            pads[i], pads[rank + i] = first, total - first
        else:
            out = full - pads[i] - pads[rank + i]
        sizes.append(out)
    if min(sizes) < 1 or min(pads) < 0 or auto not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
        raise node.no("auto_pad %s, pads %s, output_shape %s" % (auto, pads, wanted))
    return pads, extra, sizes


# ---- pooling ----

@op("MaxPool AveragePool", "auto_pad ceil_mode count_include_pad dilations kernel_shape pads storage_order strides",
    takes="own")
def pool(c: Converter, node: Node) -> list[Tensor]:
    x = node.need(0)
    average = node.op == "AveragePool"
    rank = image(node, x)
    kernel, strides = spatial(node, "kernel_shape", rank), spatial(node, "strides", rank)
    ceil, inside = bool(node.attr("ceil_mode", 0)), not node.attr("count_include_pad", 0)
    if spatial(node, "dilations", rank) != [1] * rank:
        raise node.no("dilations; supported: 1")
    if average and x.dtype != np.float32:
        raise node.no("dtype %s, the NPU has FP32 and INT8" % x.dtype)
    pads, sizes = sides(node, x, kernel, strides, [1] * rank, ceil)
    for i, (n, k, s, out) in enumerate(zip(x.shape[2:], kernel, strides, sizes)):
        if max(pads[i], pads[rank + i]) >= k or (out - 1) * s >= n + pads[i]:
            raise node.no("a window that covers nothing but padding")
        if average and ceil and not inside and (out - 1) * s + k > n + pads[i] + pads[rank + i]:
            raise node.no("ceil_mode with count_include_pad")
    if average and x.limit is not None:
        return [average_on_gemm(c, node, x, kernel, strides, pads, sizes, inside)]
    keys = kernel_keys(kernel, strides, [1] * rank, pads)
    params = {0: int(average), 1: keys[1], 11: keys[11], 2: keys[3], 12: keys[13],
              3: keys[4], 14: keys[15], 13: keys[14], 15: keys[16], 5: int(not ceil), 6: int(not inside)}
    out = (x.shape[0] * x.shape[1], *([1] if rank == 1 else []), *sizes)
    return [c.result(x.shape[:2] + tuple(sizes), c.add("Pooling", [c.use(x, map_view(x))], out, params), x.dtype, x)]


def average_on_gemm(c: Converter, node: Node, x: Tensor, kernel: list[int], strides: list[int], pads: list[int],
                    sizes: list[int], inside: bool) -> Tensor:
    """Sums of the windows as a depthwise convolution with ones, over the number of elements in each."""
    from .products import Product, can_split, split_sums
    rank, maps = len(kernel), x.shape[0] * x.shape[1]
    ends = [max((out - 1) * s + k - n - p, 0) for n, k, s, out, p in zip(x.shape[2:], kernel, strides, sizes, pads)]
    params = kernel_keys(kernel, strides, [1] * rank, pads[:rank] + ends)
    out = (maps, *([1] if rank == 1 else []), *sizes)
    counts = np.ones((1,) * rank, np.float32)
    for i, (n, k, s, size) in enumerate(zip(x.shape[2:], kernel, strides, sizes)):
        starts = np.arange(size) * s - pads[i]
        there = np.minimum(starts + k, n) - np.maximum(starts, 0) if inside else np.full(size, k)
        counts = counts * there.astype(np.float32).reshape([-1 if j == i else 1 for j in range(rank)])

    def place(add, t: Tensor) -> Tensor:
        return c.result(x.shape[:2] + tuple(sizes), add(c.use(t, map_view(t)), out), np.float32, t)
    w = np.ones((maps, 1, *kernel), np.float32)
    groups = {7: maps} if maps > 1 else {}
    product = Product("ConvolutionDepthWise" if maps > 1 else "Convolution",
                      params | groups | {0: maps, 6: w.size}, 5, maps, maps, place)
    if not can_split(x, w):
        raise node.no("values of no known magnitude")
    return binary(c, node, MUL, split_sums(c, node, product, x, w, None), Tensor(counts.shape, np.float32, 1 / counts))


@op("GlobalMaxPool GlobalAveragePool")
def global_pool(c: Converter, node: Node) -> list[Tensor]:
    x = node.need(0)
    image(node, x)
    if node.op == "GlobalAveragePool" and x.limit is not None:
        from .ops_reduce import MEAN, reduce
        return [reduce(c, MEAN, x, list(range(2, len(x.shape))))]
    blob = c.add("Pooling", [c.use(x, map_view(x))], (x.shape[0] * x.shape[1],),
                 {0: int(node.op == "GlobalAveragePool"), 4: 1})
    return [c.result(x.shape[:2] + (1,) * (len(x.shape) - 2), blob, x.dtype, x)]


@op("LRN", "alpha beta bias size")
def lrn(c: Converter, node: Node) -> list[Tensor]:
    x, size = node.need(0), node.attr("size")
    if len(x.shape) != 4 or size % 2 == 0:
        raise node.no("size %d over %d dimensions; supported: odd sizes, 4 dimensions" % (size, len(x.shape)))
    params = {0: 0, 1: size, 2: float(node.attr("alpha", 0.0001)), 3: float(node.attr("beta", 0.75)),
              4: float(node.attr("bias", 1.0))}
    return [per_image(c, node, x, lambda t: c.result(
        t.shape, c.add("LRN", [c.use(t, map_view(t))], map_view(t), params), x.dtype, t))]
