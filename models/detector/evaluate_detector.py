#!/usr/bin/python3
"""INT8 form of the shapes detector, and what both forms find in pictures that training never saw.

    evaluate_detector.py                 precision, recall and average precision at an overlap of 0.5: FP32 and INT8 on
                                         the CPU
    evaluate_detector.py --device model  INT8 on a device instead
    evaluate_detector.py --quantise      write detector.table, detector-int8.param and detector-int8.bin (tandem-net
                                         calibrate)
    evaluate_detector.py --quantise --check   the same, only compared: exit 1 if any byte differs

Needs NumPy, and tandem-net-model (make host).
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import train_detector as detector  # noqa: E402

PREP = ["--order", "gray", "--mean", "128", "--norm", "0.0078125"]
CALIBRATION = (48, 3)  # pictures and their seed
METHOD = "minmax"  # the four methods differ by less than 0.3 % mAP (--seed 9)
HELD_OUT = (300, 4)


def network(form):
    name = os.path.join(HERE, {"fp32": "detector", "int8": "detector-int8"}[form])
    return name + ".param", name + ".bin"


def run(program, *words):
    done = subprocess.run([program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit("evaluate_detector.py: " + (done.stderr.strip() or "%s failed" % program))
    return done.stdout


# ---- counting ----

def overlaps(box, others):
    """Intersection over union of x, y, w, h with each of others."""
    a, b = np.asarray(box, dtype=np.float64), np.asarray(others, dtype=np.float64).reshape(-1, 4)
    size = np.minimum(a[:2] + a[2:], b[:, :2] + b[:, 2:]) - np.maximum(a[:2], b[:, :2])
    common = np.prod(np.maximum(size, 0.0), axis=1)
    return common / (a[2] * a[3] + b[:, 2] * b[:, 3] - common)


def matches(found, wanted):
    """found: [picture][(class, score, box)], wanted: [picture][(class, box)]. Best score first, over all pictures:
    (class, score, right); each wanted box counts once."""
    taken = [set() for _ in wanted]
    out = []
    for score, image, kind, box in sorted(((s, -i, k, b) for i, rows in enumerate(found) for k, s, b in rows),
                                          reverse=True):
        same = [j for j, (k, _) in enumerate(wanted[-image]) if k == kind and j not in taken[-image]]
        shares = overlaps(box, [wanted[-image][j][1] for j in same])
        right = len(same) > 0 and shares.max() >= 0.5
        if right:
            taken[-image].add(same[int(np.argmax(shares))])
        out.append((kind, score, right))
    return out


def average_precision(rows, count):
    """Area under precision (the best at that recall or above) over recall."""
    right = np.cumsum([r for _, _, r in rows])
    precision = right / np.arange(1, len(rows) + 1) if len(rows) else np.zeros(0)
    best = np.maximum.accumulate(precision[::-1])[::-1]
    steps = np.diff(np.concatenate([[0.0], right / count])) if len(rows) else np.zeros(0)
    return float(np.sum(best * steps))


def read_labels(path):
    """[(file, [(class, box)])] in the order of the file names."""
    out = {}
    with open(path, encoding="ascii") as lines:
        for words in map(str.split, lines):
            out.setdefault(words[0], []).append((int(words[1]), tuple(map(int, words[2:6]))))
    return sorted(out.items())


def detect(program, form, paths, threshold, device="cpu"):
    text = run(program, "detect", *network(form), *PREP, "--threshold", str(threshold),
               "--device", device, "--json", "--image", *paths)
    return [[(b["class"], b["score"], (b["x"], b["y"], b["w"], b["h"])) for b in json.loads(line)["boxes"]]
            for line in text.splitlines()]


def measure(program, form, folder, threshold, device="cpu"):
    """Counts at the threshold, and the mean of the classes' average precision over all thresholds."""
    labels = read_labels(os.path.join(folder, "labels.txt"))
    wanted = [rows for _, rows in labels]
    found = matches(detect(program, form, [os.path.join(folder, name) for name, _ in labels], 0.01, device), wanted)
    kept = [row for row in found if row[1] >= threshold]
    right, total = sum(r for _, _, r in kept), sum(map(len, wanted))
    parts = []
    for kind in range(1, len(detector.NAMES) + 1):
        parts.append(average_precision([r for r in found if r[0] == kind],
                                       sum(k == kind for rows in wanted for k, _ in rows)))
    return {"pictures": len(labels), "objects": total, "found": len(kept), "right": right,
            "precision": right / max(1, len(kept)), "recall": right / total, "map": sum(parts) / len(parts)}


def quantise(program, folder):
    """Name -> bytes of the table and the INT8 network."""
    with tempfile.TemporaryDirectory() as pictures:
        detector.write(pictures, detector.picture_files(*CALIBRATION))
        paths = sorted(os.path.join(pictures, name) for name in os.listdir(pictures) if name.endswith(".png"))
        outputs = ["detector.table", "detector-int8.param", "detector-int8.bin"]
        where = [os.path.join(folder, name) for name in outputs]
        run(program, "calibrate", "--net", network("fp32")[0], "--bin", network("fp32")[1], *PREP, "--method", METHOD,
            "--table", where[0], "--out-param", where[1], "--out-bin", where[2], "--optimise", "--image", *paths)
    return {name: open(path, "rb").read() for name, path in zip(outputs, where)}


def main():
    ap = argparse.ArgumentParser(description="Quantise or measure the shapes detector.")
    ap.add_argument("--program", default=os.path.join(HERE, "..", "..", "build", "host", "tandem-net-model"),
                    help="tandem-net (default build/host/tandem-net-model)")
    ap.add_argument("--quantise", action="store_true", help="write the INT8 network")
    ap.add_argument("--check", action="store_true", help="with --quantise: only compare")
    ap.add_argument("--device", default="cpu", choices=["cpu", "model", "rtl", "tandem"],
                    help="where INT8 runs (default cpu)")
    ap.add_argument("--count", type=int, default=HELD_OUT[0], help="held-out pictures (default %d)" % HELD_OUT[0])
    ap.add_argument("--seed", type=int, default=HELD_OUT[1], help="their seed (default %d)" % HELD_OUT[1])
    ap.add_argument("--threshold", type=float, default=0.4,
                    help="least score for precision and recall (default 0.4, the network's)")
    args = ap.parse_args()
    if not os.access(args.program, os.X_OK):
        ap.error("--program %s: not there; make host builds it" % args.program)
    if args.seed in (detector.SEED, CALIBRATION[1], detector.SHIPPED_SEED) or args.count < 1:
        ap.error("--seed must not be that of training, calibration or pictures/; --count must be at least 1")
    if args.quantise:
        with tempfile.TemporaryDirectory() as folder:
            files = quantise(args.program, folder)
        if args.check:
            return detector.check(files)
        detector.write(HERE, files)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        detector.write(folder, detector.picture_files(args.count, args.seed))
        for form, device in (("fp32", "cpu"), ("int8", args.device)):
            m = measure(args.program, form, folder, args.threshold, device)
            print("%s on %-6s %d pictures, %d objects, %d found, %d right: precision %.2f %%, recall %.2f %%; "
                  "mAP at 0.5: %.2f %%" % (form, device, m["pictures"], m["objects"], m["found"],
                                           m["right"], 100 * m["precision"], 100 * m["recall"], 100 * m["map"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
