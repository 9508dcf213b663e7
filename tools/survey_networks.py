#!/usr/bin/python3
"""docs/networks.md: topologies that run end to end, and the share of each on the NPU.

Takes the public .param files of a folder (DATA/param/*.param), the networks of netgen.py, and darknet's of
DATA/darknet; weights and inputs come from a seed. Runs `tandem-net survey` on the golden model and writes its table;
with --ncnn also how near the outputs are to ncnn's (ncnn_networks.py), with --tandem each network on RTL and golden
model in tandem."""

import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile

TOOLS = os.path.dirname(os.path.abspath(__file__))
GENERATED = ["yolov3", "yolov3_tiny", "yolov4_tiny", "yolov5s", "yolov7_tiny",
             "mobilenet_yolo", "retinaface", "x_tiny_yolo", "resnet50", "squeezenet", "vit_b32", "bert_mini"]
# input sizes of public files that do not specify them
SHAPES = {"FastestDet.param": "352x352x3", "mnet.25-opt.param": "320x320x3",
          "scrfd_500m-opt2.param": "640x640x3", "vision_transformer.param": "384x384x3",
          "yolov8n_cls.ncnn.param": "224x224x3"}

PAGE = """# Networks end to end

This page says which of the public network topologies run from their file to their result, how much
of each runs on the NPU, and what is left to the CPU.

    make networks               # DATA={data} SEED={seed} CFG=n{n}; NCNN=SITE: beside ncnn; TANDEM=1: on the RTL, N = 32

`MORE=FILE` adds a public file that is not in the folder: `vision_transformer.param` of ncnn.

Each topology gets weights and inputs from the seed. It is read, optimised, quantised (weights by
127/absmax of each output channel, inputs by the range of one FP32 run), and run once by the runtime
on the golden model with N = {n} ([network.md](network.md)). No size is reduced: where a file leaves
its input open, the size is the one that the network was published with, or a common one. The
columns are:

- *on the NPU*: the share of the multiply-accumulates.
- *FP32*: the largest error of the outputs of plain C beside ncnn 1.0.20261020 (one thread, no
  Winograd, no halves), relative to the largest value.
- *INT8*: the ratio of ncnn's INT8 outputs to the difference, in dB; "equal" means bit for bit. Both
  programs read the same files, calibrated on the one input. Of detection layers and of a softmax at
  the end the inputs are compared, because random weights give one class everything. ncnn is built
  with fast-math: a last bit before a rounding moves an integer by one step, and a deep network with
  random weights enlarges this layer by layer.
- *INT8 loss*: the ratio of signal to error of INT8 beside FP32.
- *tandem*: million cycles of the INT8 network on RTL and golden model in tandem at N = 32, with
  every register, interrupt and byte of memory compared; "-" was not run for this page. A row is not
  run anew with every change of the RTL: its number is from the last run with `TANDEM=1`.
- *device memory*: the memory of the blobs (tensors) on the device, planned ahead, and without
  reuse.
- *seconds*: the CPU time of loading the device and of one inference on the machine that wrote the
  page.

## Public files

{table}
## Ours

`tools/netgen.py` writes these topologies, and `tools/darknet2param.py` those that are darknet's.

{ours}"""


def survey(args, files):
    done = subprocess.run([args.program, "survey", "--cfg", "n%d" % args.n, "--seed", str(args.seed)] + files,
                          stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit("survey_networks.py: %s ended with status %d" % (args.program, done.returncode))
    return done.stdout


def beside_ncnn(args, files):
    """Name of a file: columns FP32, INT8, INT8 loss."""
    script = os.path.join(TOOLS, "ncnn_networks.py")
    columns = {}
    for f in files:
        done = subprocess.run([sys.executable, script, args.ncnn, "--seed", str(args.seed), f], stdout=subprocess.PIPE,
                              text=True)
        words = done.stdout.split()
        if done.returncode != 0 or len(words) < 4:
            sys.exit("survey_networks.py: ncnn_networks.py %s ended with status %d" % (f, done.returncode))
        fp32, int8, loss = words[1:4]
        columns[words[0]] = [fp32, "equal" if int8 == "inf" or int8 != "-" and float(int8) > 300 else int8, loss]
        print("%s: %s" % (os.path.basename(f), " ".join(words[1:])), file=sys.stderr, flush=True)
    return columns


def in_tandem(args, files):
    """Name of a file: million cycles."""
    columns = {}
    for f in files:
        path, _, shape = f.partition("@")
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "r.json")
            done = subprocess.run([args.tandem, "run", "--net", path, "--seed", str(args.seed), "--device", "tandem",
                                   "--json", report] + (["--shape", shape] if shape else []),
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            if done.returncode != 0:
                columns[os.path.basename(path)] = "failed"
                print("%s: %s" % (path, done.stderr.strip()), file=sys.stderr)
                continue
            with open(report, encoding="utf-8") as r:
                columns[os.path.basename(path)] = "%.2f" % (json.load(r)["cycles"] / 1e6)
        print("%s: %s" % (os.path.basename(f), columns[os.path.basename(path)]), file=sys.stderr, flush=True)
    return columns


def table(args, files):
    """The rows of tandem-net, with the columns of the other runs."""
    ncnn = beside_ncnn(args, files) if args.ncnn else {}
    tandem = in_tandem(args, files) if args.tandem else {}
    lines = survey(args, files).split("\n")
    for i, line in enumerate(lines):
        cells = line.strip("|").split("|")
        if not line.startswith("| "):
            continue
        name = cells[0].strip()
        more = ncnn.get(name, ["-"] * 3) + [tandem.get(name, "-")]
        if name == "file":
            more = ["FP32", "INT8, dB", "INT8 loss, dB", "tandem"]
        elif name == "---":
            more = ["---:"] * 4
        cells[5:5] = [" %s " % m for m in more]
        lines[i] = "|" + "|".join(cells) + "|"
    return "\n".join(lines)


def generate(folder, script, arguments, name):
    path = os.path.join(folder, name)
    done = subprocess.run([sys.executable, os.path.join(TOOLS, script)] + arguments + [path],
                          stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit("survey_networks.py: %s %s failed" % (script, " ".join(arguments)))
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/host/tandem-net-model", help="tandem-net (default %(default)s)")
    parser.add_argument("--data", required=True, help="folder with param/ and darknet/")
    parser.add_argument("--n", type=int, default=8, choices=[4, 8, 16, 32], help="mesh size (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="weights and inputs (default %(default)s)")
    parser.add_argument("--ncnn", metavar="SITE", help="folder with the package ncnn: its outputs, too")
    parser.add_argument("--tandem", metavar="PROGRAM", help="tandem-net of a build with RTL: each network on it, too")
    parser.add_argument("--more", metavar="FILE", nargs="*", default=[], help="public files besides those of --data")
    parser.add_argument("--output", help="file to write (default: standard output)")
    args = parser.parse_args()
    public = sorted(glob.glob(os.path.join(args.data, "param", "*.param")) + args.more, key=os.path.basename)
    if not public:
        sys.exit("survey_networks.py: no .param files in %s" % os.path.join(args.data, "param"))
    names = [f + ("@" + SHAPES[os.path.basename(f)] if os.path.basename(f) in SHAPES else "") for f in public]
    with tempfile.TemporaryDirectory() as folder:
        ours = [generate(folder, "netgen.py", [name], name + ".param") for name in GENERATED]
        for cfg in sorted(glob.glob(os.path.join(args.data, "darknet", "*.cfg"))):
            ours.append(generate(folder, "darknet2param.py", [cfg], os.path.basename(cfg)[:-4] + "-darknet.param"))
        page = PAGE.format(data="folder", seed=args.seed, n=args.n, table=table(args, names), ours=table(args, ours))
    if args.output is None:
        sys.stdout.write(page)
        return
    with open(args.output + ".tmp", "w", encoding="utf-8") as out:
        out.write(page)
    os.rename(args.output + ".tmp", args.output)


if __name__ == "__main__":
    main()
