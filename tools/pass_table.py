#!/usr/bin/python3
"""Graph passes of document 002 as a Markdown table: each network as it is run (inputs of a Concat are written into the
memory of its output, outputs of a Slice stay in its input; where a blob is part of two maps, they overlap if they can,
else it gets a copy), with copies for every Concat and Slice, with maps that never overlap, with poolings before a
Concat instead of behind it, and with convolutions of one input merged, with maps that overlap and without. Cycles on
the RTL where the program has one and DEVICE is not model, else predicted ones; bytes by the plans. The outputs of all
variants must be equal, bit for bit."""

import argparse
import json
import os
import subprocess
import sys
import tempfile

VARIANTS = (("copies", ["--copy-concat"]), ("apart", ["--apart"]), ("shared", []), ("pools first", ["--pools-first"]),
            ("merged", ["--merge-convs"]), ("merged, apart", ["--merge-convs", "--apart"]))
HEAD = ["network", "variant", "tasks", "million cycles", "%", "MB read", "MB written", "%", "MB of blobs", "%"]


def run(args, net, options, folder):
    path, _, shape = net.partition("@")
    report = os.path.join(folder, "run.json")
    command = [args.program, "run", "--net", path, "--cfg", args.cfg, "--device", args.device, "--json", report]
    command += ["--shape", shape] if shape else []
    done = subprocess.run(command + options, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit("pass_table.py: %s: %s" % (net, done.stderr.strip()))
    with open(report, encoding="utf-8") as file:
        return json.load(file)


def percent(value, base):
    return "%.1f" % (100.0 * value / base)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="tandem-net of a build, or tandem-net-model")
    parser.add_argument("--cfg", default="n32")
    parser.add_argument("--device", default="model", choices=["model", "rtl", "tandem"])
    parser.add_argument("file", nargs="+", help="FILE.param[@WxHxC]")
    args = parser.parse_args()
    print("| " + " | ".join(HEAD) + " |\n| --- | --- " + "| ---: " * 8 + "|")
    for net in args.file:
        base = None
        with tempfile.TemporaryDirectory() as folder:
            for name, options in VARIANTS:
                data = run(args, net, options, folder)
                cycles = data["cycles"] or data["predicted"]
                moved = data["read_bytes"] + data["written_bytes"]
                base = base or (cycles, moved, data["device_arena"], data["outputs"])
                if data["outputs"] != base[3]:
                    sys.exit("pass_table.py: %s: the outputs of '%s' differ, expected equal bits" % (net, name))
                print("| %s | %s | %d | %.3f | %s | %.1f | %.1f | %s | %.2f | %s |" % (
                    os.path.basename(net.partition("@")[0]), name, data["tasks"], cycles / 1e6,
                    percent(cycles, base[0]), data["read_bytes"] / 1e6, data["written_bytes"] / 1e6,
                    percent(moved, base[1]), data["device_arena"] / 1e6, percent(data["device_arena"], base[2])),
                      flush=True)


if __name__ == "__main__":
    main()
