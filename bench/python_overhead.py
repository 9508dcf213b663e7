#!/usr/bin/python3
"""The overhead of Python: a call of a unit of the golden model compared with the C call, and the speed of the RTL in
Device("rtl") compared with the C harness.

Both are measured in pairs: one run of each directly after the other, in alternating order; the result is the median of
the pairs' ratios. `make bench-python` builds what it needs.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import timeit

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

# name in bench-python: call
UNITS = {
    "mesh_block n=4": "model.mesh_block(act4, wgt4)",
    "mesh_block n=32": "model.mesh_block(act32, wgt32)",
    "transpose n=8": "model.transpose(wgt8)",
    "post 1": "model.post(sums, oscale=1.0, bias=1.0, act='relu')",
    "requant 1": "model.requant(one, 1.0)",
    "activate 1": "model.activate(one, 'sigmoid')",
    "dma_split": "model.dma_split(0x1000, 64)",
}


def child_conv(n, count):
    """One measured run in its own process: the work of bench-python, from Python."""
    import numpy as np
    import tandem
    index = np.arange(32 * 28 * 28)
    x = (index * 7 % 255 - 127).astype(np.float32).reshape(32, 28, 28)
    w = (np.arange(32 * 32 * 9) * 5 % 255 - 127).astype(np.int8).reshape(32, 32, 3, 3)
    with tandem.Device("rtl", n) as dev:
        first, start = dev.cycles, time.process_time()
        for _ in range(count):
            y = dev.conv2d(x, w, padding=1)
        taken = time.process_time() - start
        print(json.dumps({"cycles": dev.cycles - first, "cpu": taken, "sum": float(y.ravel()[1234])}))


def child_units(count):
    import numpy as np
    from tandem import model
    names = {"model": model, "sums": np.ones(1, np.int32), "one": np.ones(1, np.float32),
             "wgt8": np.ones((8, 8), np.int8)}
    for n in (4, 32):
        names["act%d" % n], names["wgt%d" % n] = np.ones((2 * n, n), np.int8), np.ones((n, n), np.int8)
    print(json.dumps({name: 1e9 * timeit.timeit(call, globals=names, number=count, timer=time.process_time) / count
                      for name, call in UNITS.items()}))


def run(command, env):
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    if done.returncode != 0:
        raise SystemExit("python_overhead: %s: %s" % (command[0], done.stderr.strip()[-500:]))
    return json.loads(done.stdout)


def pairs(rounds, left, right):
    """Results of both commands, in alternating order."""
    result = []
    for i in range(rounds):
        if i % 2:
            r = right()
            result.append((left(), r))
        else:
            result.append((left(), right()))
    return result


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--build", default="build")
    ap.add_argument("--n", type=int, default=8)
    ap.add_argument("--rounds", type=int, default=9)
    ap.add_argument("--count", type=int, default=8, help="convolutions of a run")
    ap.add_argument("--json", help="write all numbers there")
    ap.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    o = ap.parse_args()
    if o.child:
        return child_conv(o.n, int(o.child[1])) if o.child[0] == "conv" else child_units(int(o.child[1]))
    program = os.path.join(ROOT, o.build, "n%d-fast" % o.n, "bench-python")
    env = {**os.environ, "PYTHONPATH": os.path.join(ROOT, o.build, "python")}
    me = [sys.executable, os.path.abspath(__file__), "--n", str(o.n), "--child"]

    units = pairs(o.rounds, lambda: run([program, "unit", "200000"], env), lambda: run(me + ["unit", "50000"], env))
    print("%-18s %9s %9s %9s" % ("unit", "C ns", "Python ns", "above ns"))
    above = {}
    for name in UNITS:
        c, p = statistics.median(a[name] for a, _ in units), statistics.median(b[name] for _, b in units)
        above[name] = statistics.median(b[name] - a[name] for a, b in units)
        print("%-18s %9.0f %9.0f %9.0f" % (name, c, p, above[name]))

    speed = pairs(o.rounds, lambda: run([program, "conv", str(o.count)], env),
                  lambda: run(me + ["conv", str(o.count)], env))
    for c, p in speed:
        if (c["cycles"], c["sum"]) != (p["cycles"], p["sum"]):
            raise SystemExit("python_overhead: the two did not simulate the same: C %r, Python %r" % (c, p))
    rate = [[r["cycles"] / r["cpu"] for r in pair] for pair in speed]
    ratio = sorted(p / c for c, p in rate)
    middle = statistics.median(ratio)
    print("RTL n%d: C %.0f cycles/s, Python %.0f cycles/s; Python / C %.3f (%.3f .. %.3f, %d pairs)" %
          (o.n, statistics.median(c for c, _ in rate), statistics.median(p for _, p in rate),
           middle, ratio[0], ratio[-1], o.rounds))
    if o.json:
        with open(o.json + ".tmp", "w", encoding="utf-8") as out:
            json.dump({"above_ns": above, "units": units, "speed": speed, "ratio": middle}, out)
        os.replace(o.json + ".tmp", o.json)
    return 0 if middle >= 0.95 and max(above.values()) < 2000 else 1


if __name__ == "__main__":
    sys.exit(main())
