"""Element-wise operations in a chain, each on the output of the previous one, and reductions: against NumPy, bit by bit
where its steps are the same."""

import numpy as np
import reference

F = np.float32


def relu(v):
    return np.where(v > 0, v, F(0))


def leaky(v):
    return np.where(v > 0, v, v * F(0.125))


ACTS = {"none": (lambda v: v, ()), "relu": (relu, ()), "leaky": (leaky, (0.125,))}
TWO = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def operand(rng, kind, shape):
    """(argument of the device, argument of NumPy)"""
    if kind == "number":
        v = F(rng.standard_normal())
        return float(v), v
    if kind == "channels":
        v = rng.standard_normal(shape[0]).astype(F)
        return v, v[:, None, None]
    v = rng.standard_normal(shape).astype(F)
    return v, v


def step(dev, rng, v, op, kind, act):
    """One operation on the device; (got, expected)."""
    given, plain = operand(rng, kind, v.shape)
    after, act_p = ACTS[act]
    if op in TWO:
        return dev.alu(op, v, given, act=act, act_p=act_p), after(TWO[op](v, plain))
    more, scalar = operand(rng, "number", v.shape)
    if op == "muladd":
        return dev.alu(op, v, given, more, act=act, act_p=act_p), after(v * plain + scalar)
    assert op == "addmul", op
    return dev.alu(op, v, given, more, act=act, act_p=act_p), after((v + plain) * scalar)


def test_chain(tandem, rng, knob):
    shape = knob("c", 1, 12), knob("h", 1, 16), knob("w", 1, 16)
    v = rng.standard_normal(shape).astype(F)
    for i in range(knob("steps", 2, 6)):
        op = knob("op%d" % i, [*TWO, "muladd", "addmul"])
        kind = knob("kind%d" % i, ["number", "channels", "elements"])
        act = knob("act%d" % i, list(ACTS))
        got, want = step(tandem, rng, v, op, kind, act)
        assert reference.same(got, want), "step %d, %s with %s, act %s: %d of %d elements differ" % (
            i, op, kind, act, np.count_nonzero(got != want), got.size)
        v = got


def test_int32(tandem, rng, knob):
    """Sums of the mesh, with the wrap-around of 32 bits."""
    shape = knob("c", 1, 12), knob("h", 1, 16), knob("w", 1, 16)
    a = rng.integers(-2**31, 2**31, shape).astype(np.int32)
    b = int(rng.integers(-2**31, 2**31))
    assert reference.same(tandem.alu("add_i32", a, b), a + np.int32(b))


def test_dot(tandem, rng, knob):
    """The order of the additions is the device's own: the bound is that of any order."""
    count = knob("count", 1, 900)
    a, b = rng.standard_normal((2, count)).astype(F)
    exact = float(a.astype(np.float64) @ b.astype(np.float64))
    bound = count * 2.0**-24 * float(np.abs(a.astype(np.float64) * b).sum()) + 1e-30
    got = tandem.dot(a, b)
    assert abs(got - exact) <= 1.01 * bound, "%r instead of %r" % (got, exact)
