#!/usr/bin/python3
"""X-TINY YOLO (document 004) as a Markdown table: what its equations 4 to 11 say of each convolution, beside the tasks,
bytes and cycles of the NPU: partitioned as the document does (slices of 144 inputs), and with the driver's own splits.
Each program is a tandem-net of an RTL build; every layer runs alone, its outputs are compared with the golden model's.

Document: t steps of a layer, weights (4), map (6), clocks to load the weights of all steps over four byte ports (9), to
load the map (10), cycles of the products (11). It has 105 MHz where 24 frames a second are published."""

import argparse
import json
import os
import subprocess
import sys
import tempfile

LANES = 144
LAYERS = ((224, 3, 16, 3), (112, 16, 24, 3), (56, 24, 32, 3), (28, 32, 64, 3), (14, 64, 128, 3), (7, 128, 256, 3),
          (7, 256, 512, 3), (7, 512, 512, 3), (7, 512, 125, 1))  # map, inputs, outputs, kernel
OF = {"partition": "144", "driver": "driver"}


def document(w, ic, oc, k):
    """Equations 4, 6, 9, 10, 11 and the steps. Each value of the map is loaded once, a clock each."""
    steps = -(-ic * k * k // LANES)
    return {"steps": steps, "weights": ic * k * k * oc, "map": w * w * ic, "weight clocks": steps * LANES * oc // 4,
            "map clocks": w * w * ic, "cycles": steps * oc * w * w, "macs": w * w * ic * k * k * oc}


def measure(program, net, plan, device):
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "each.json")
        done = subprocess.run([program, "run", "--net", net, "--each", "--jobs", "1", "--device", device, "--plan",
                               plan, "--json", report], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              check=False)
        if done.returncode != 0:
            sys.exit("xtiny_table.py: %s: %s" % (program, done.stderr.strip()))
        with open(report, encoding="utf-8") as file:
            data = json.load(file)
    found = [layer for layer in data["layers"] if layer["macs"] > 0]
    wrong = [layer["name"] for layer in data["layers"] if not layer["same"]]
    if wrong or [layer["macs"] for layer in found] != [document(*layer)["macs"] for layer in LAYERS]:
        sys.exit("xtiny_table.py: %s: %s" % (net, "differ: " + ", ".join(wrong) if wrong else
                                             "expected the nine convolutions of docs/networks.md"))
    return {"n": data["n"], "cycles": data["cycles"], "layers": found}


def cells(run, i):
    layer = run["layers"][i]
    return ["%d" % layer["tasks"], "%.0f" % (32 * (layer["read_bound"] + layer["write_bound"]) / 1e3),
            "%d" % (layer["cycles"] or layer["predicted"])]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--net", required=True, help=".param of tools/netgen.py x_tiny_yolo")
    parser.add_argument("--device", default="tandem", choices=["rtl", "tandem"])
    parser.add_argument("run", nargs="+", metavar="PROGRAM:PLAN", help="PLAN: partition or driver")
    args = parser.parse_args()
    runs = []
    for text in args.run:
        program, _, plan = text.rpartition(":")
        if plan not in OF or not program:
            sys.exit("xtiny_table.py: '%s': expected PROGRAM:partition or PROGRAM:driver" % text)
        runs.append((plan, measure(program, args.net, OF[plan], args.device)))
    head = ["conv", "map, in-out", "t", "weights (4)", "map (6)", "weight clocks (9)", "map clocks (10)", "cycles (11)"]
    for plan, run in runs:
        head += ["N=%d %s: tasks" % (run["n"], plan), "KB", "cycles"]
    print("| " + " | ".join(head) + " |\n| --- | --- " + "| ---: " * (len(head) - 2) + "|")
    sums = [0] * len(head)
    for i, layer in enumerate(LAYERS):
        d = document(*layer)
        row = [str(d[key]) for key in ("steps", "weights", "map", "weight clocks", "map clocks", "cycles")]
        for _, run in runs:
            row += cells(run, i)
        print("| %d | %d, %d-%d | " % (i + 1, *layer[:3]) + " | ".join(row) + " |")
        sums = [a + int(b) for a, b in zip(sums, row)]
    print("| all | | " + " | ".join(str(value) for value in sums[:len(head) - 2]) + " |")
    for plan, run in runs:
        print("\nN = %d, %s: the whole network's layers on the NPU %d cycles, %.1f frames a second at 100 MHz" % (
            run["n"], plan, run["cycles"], 1e8 / run["cycles"]))


if __name__ == "__main__":
    main()
