#!/usr/bin/python3
"""Networks on the RTL as a Markdown table, from the JSON files that `make regress SUITE=networks` leaves (tandem-net
run --each --json).

Columns: layers on the NPU, million multiply-accumulates, million cycles (the sum of the layers), milliseconds at 200
MHz, published milliseconds, share of the mesh's peak, prediction (sum, and median of the layers' distances), verdict,
CPU seconds and simulated cycles a second of the layers, golden model included."""

import argparse
import json
import os
import sys

HEAD = ["network", "layers", "million MACs", "million cycles", "ms at 200 MHz",
        "published ms", "mesh, %", "prediction, %", "median, %", "verdict", "CPU s", "cycles/s"]


def row(path):
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        layers = data["layers"]
        seconds = sum(layer["seconds"] for layer in layers)
        wrong = [layer["name"] for layer in layers if not layer["same"]]
        cycles = data["cycles"]
        return [os.path.splitext(os.path.basename(path))[0], str(len(layers)), "%.1f" % (data["macs"] / 1e6),
                "%.3f" % (cycles / 1e6), "%.2f" % data["ms_200mhz"], "%.2f" % data["published_ms"]
                if "published_ms" in data else "-", "%.1f" % (100.0 * data["macs"] / (2.0 * data["n"] ** 2 * cycles)),
                "%+.2f" % (100.0 * (data["predicted"] - cycles) / cycles), "%.2f" % data["median_off"],
                ("all same" if data["device"] == "tandem" else "not compared") if not wrong
                else "%d differ, first %s" % (len(wrong), wrong[0]), "%.1f" % seconds, "%d" % (cycles / seconds)]
    except (OSError, ValueError, KeyError, TypeError, ZeroDivisionError) as error:
        sys.exit("network_table.py: %s: expected a report of tandem-net run --each on an RTL: %s" % (path, error))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="+", help="JSON file of a network")
    args = parser.parse_args()
    rows = sorted((row(path) for path in args.file), key=lambda cells: -float(cells[3]))
    print("| " + " | ".join(HEAD) + " |")
    print("| --- " + "| ---: " * 8 + "| --- | ---: | ---: |")
    for cells in rows:
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
