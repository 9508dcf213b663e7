"""The operators in NumPy: int32 sums, then FP32 in the steps of docs/npu/npu.md section 2. Written from that page,
without the golden model."""

import numpy as np

F = np.float32


def quantise(x, scale):
    """float32 to int8: halves away from zero, -127..127."""
    v = (x * F(scale)).astype(np.float64)
    return np.clip(np.trunc(v + np.copysign(0.5, v)), -127, 127).astype(np.int8)


def sums(x, w, stride, dilation, pads, groups):
    """int32 (out, height, width) of int8 x (in, h, w) and int8 w (out, in / groups, kh, kw). pads: top, left, bottom,
    right."""
    top, left, bottom, right = pads
    x = np.pad(x.astype(np.int32), ((0, 0), (top, bottom), (left, right)))
    out, each, kh, kw = w.shape
    oh = (x.shape[1] - ((kh - 1) * dilation[0] + 1)) // stride[0] + 1
    ow = (x.shape[2] - ((kw - 1) * dilation[1] + 1)) // stride[1] + 1
    w = w.astype(np.int32).reshape(groups, out // groups, each, kh, kw)
    x = x.reshape(groups, each, x.shape[1], x.shape[2])
    y = np.zeros((groups, out // groups, oh, ow), np.int32)
    for ky in range(kh):
        for kx in range(kw):
            part = x[:, :, ky * dilation[0]:, kx * dilation[1]:][:, :, :(oh - 1) * stride[0] +
                                                                 1:stride[0], :(ow - 1) * stride[1] + 1:stride[1]]
            y += np.einsum("goi,gihw->gohw", w[:, :, :, ky, kx], part)
    return y.reshape(out, oh, ow)


def finish(acc, in_scale, w_scale, bias, act="none", act_p=()):
    """FP32 results of int32 sums."""
    w_scale = np.broadcast_to(np.asarray(w_scale, F), acc.shape[:1])
    with np.errstate(divide="ignore"):
        oscale = np.where(w_scale == 0, F(0), F(1) / (F(in_scale) * w_scale)).astype(F)
    y = acc.astype(F) * oscale.reshape((-1,) + (1,) * (acc.ndim - 1))
    if bias is not None:
        y = y + np.broadcast_to(np.asarray(bias, F), acc.shape[:1]).reshape((-1,) + (1,) * (acc.ndim - 1))
    if act == "relu":
        y = np.where(y > 0, y, F(0))
    elif act == "leaky":
        y = np.where(y > 0, y, y * F(act_p[0]))
    elif act == "clip":
        y = np.minimum(np.maximum(y, F(act_p[0])), F(act_p[1]))
    assert y.dtype == F
    return y


def same(a, b):
    """Equal bits; zeros of both signs count as equal."""
    return a.shape == b.shape and a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
