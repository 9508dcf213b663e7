"""Pooling, up-sampling, copies against NumPy."""

import numpy as np
import pytest
import reference

F = np.float32


def tensor(rng, knob, dtype):
    shape = knob("c", 1, 12), knob("h", 1, 20), knob("w", 1, 20)
    if dtype == "int8":
        return rng.integers(-127, 128, shape).astype(np.int8)
    return rng.standard_normal(shape).astype(F)


def windows(x, kernel, stride, pads, fill):
    """(channels, height, width, kernel height, kernel width), outside the map `fill`."""
    top, left, bottom, right = pads
    x = np.pad(x, ((0, 0), (top, bottom), (left, right)), constant_values=fill)
    return np.lib.stride_tricks.sliding_window_view(x, kernel, axis=(1, 2))[:, ::stride[0], ::stride[1]]


def window_of(knob, x):
    """A window that fits; padding smaller than it."""
    kernel = tuple(min(knob(name, 1, 5), size) for name, size in zip(("kh", "kw"), x.shape[1:]))
    stride = knob("sh", 1, 3), knob("sw", 1, 3)
    pads = tuple(min(knob(name, 0, 2), kernel[i % 2] - 1) for i, name in enumerate(("top", "left", "bottom", "right")))
    return kernel, stride, pads


def test_max(tandem, rng, knob):
    x = tensor(rng, knob, knob("type", ["float", "int8"]))
    kernel, stride, pads = window_of(knob, x)
    lowest = -np.inf if x.dtype == F else -128
    want = windows(x, kernel, stride, pads, lowest).max(axis=(3, 4))
    got = tandem.pool(x, kernel, stride=stride, padding=pads)
    assert reference.same(got, want), "%d of %d elements differ" % (np.count_nonzero(got != want), got.size)


@pytest.mark.parametrize("exclude_pad", [False, True])
def test_average(tandem, rng, knob, exclude_pad):
    """FP32: the sum in raster order, then the factor."""
    x = tensor(rng, knob, "float")
    kernel, stride, pads = window_of(knob, x)
    parts = windows(x, kernel, stride, pads, F(0))
    total = np.zeros(parts.shape[:3], F)
    for ky, kx in np.ndindex(kernel):
        total = total + parts[..., ky, kx]
    inside = windows(np.ones(x.shape, F), kernel, stride, pads, F(0)).sum(axis=(3, 4))
    count = inside if exclude_pad else F(kernel[0] * kernel[1])
    got = tandem.pool(x, kernel, stride=stride, padding=pads, mode="average", exclude_pad=exclude_pad)
    assert reference.same(got, total * (F(1) / count)), "largest error %g" % np.abs(got - total / count).max()


def test_moves(tandem, rng, knob):
    """Elements are copied bit by bit."""
    x = tensor(rng, knob, knob("type", ["float", "int8"]))
    assert reference.same(tandem.copy(x), x)
    assert reference.same(tandem.upsample2x(x), x.repeat(2, axis=1).repeat(2, axis=2))
