"""The graph optimiser: which layers it removes, and that the network still computes the same within rounding."""
import os
import random
import re
import subprocess

import pytest

np = pytest.importorskip("numpy", reason="not run: needs python3-numpy (make deps)")

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DATA = os.environ.get("TANDEM_DATA", os.path.join(ROOT, "..", "shared", "data"))
PROGRAM = os.path.join(ROOT, os.environ.get("HOST", os.path.join(os.environ.get("BUILD", "build"), "host")),
                       "tandem-net-model")
pytestmark = pytest.mark.skipif(not os.access(PROGRAM, os.X_OK), reason="not run: tandem-net-model is not built")


def run(param, folder, *more):
    """Lines that say what changed, layers as (type, name), outputs as {name: array}."""
    os.makedirs(folder, exist_ok=True)
    done = subprocess.run([PROGRAM, "--layers", "--net", param, "--random-weights", "5", "--dump", folder, *more],
                          cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.split("\n")
    changes = [line for line in lines if re.match(r"removed|merged|folded|fused|requantise", line)]
    layers = [tuple(line.split()[1:3]) for line in lines if re.match(r" *\d+ [A-Z]", line)]
    outputs = {}
    for line in lines:
        if line.startswith("output "):
            _, name, shape, _, _, _, blob = line.split()
            outputs[name] = np.fromfile(os.path.join(folder, blob + ".f32"),
                                        dtype="<f4").reshape([int(n) for n in shape.split("x")])
    assert outputs
    return changes, layers, outputs


def agree(param, tmp_path, *more, limit=2e-5):
    none, before, expected = run(param, str(tmp_path / "before"), *more)
    changes, after, got = run(param, str(tmp_path / "after"), "--optimise", *more)
    assert none == [] and list(got) == list(expected)
    for name in expected:
        assert got[name].shape == expected[name].shape
        largest = np.abs(expected[name]).max()
        assert np.isfinite(largest) and np.abs(got[name] - expected[name]).max() <= limit * max(largest, 1e-3), name
    assert any(np.abs(e).max() > 0 for e in expected.values())
    return changes, before, after


def write(tmp_path, lines):
    blobs = sum(int(line.split()[3]) for line in lines)
    path = tmp_path / "net.param"
    path.write_text("7767517\n%d %d\n%s\n" % (len(lines), blobs, "\n".join(lines)))
    return str(path)


def test_all_of_it(tmp_path):
    param = write(tmp_path, [
        "Input in 0 1 in 0=12 1=10 2=4",
        "Dropout behind_input 1 1 in x0",
        "Convolution conv 1 1 x0 a0 0=8 1=3 4=1 6=288",  # has no bias: gets one
        "BatchNorm bn 1 1 a0 a1 0=8 1=0.001",
        "Scale scale 1 1 a1 a2 0=8 1=1",
        "ReLU relu 1 1 a2 a3",
        "Split s0 1 2 a3 s0a s0b",
        "Split s1 1 2 s0b s1a s1b",
        "ConvolutionDepthWise dw 1 1 s0a b0 0=8 1=3 4=1 5=1 6=72 7=8",
        "BatchNorm dwbn 1 1 b0 b1 0=8",
        "HardSwish hs 1 1 b1 b2",
        "Deconvolution up 1 1 s1a c0 0=5 1=4 3=2 4=1 5=1 6=640",
        "Scale upscale 1 1 c0 c1 0=5",
        "Clip clip 1 1 c1 c2 0=-0.5 1=0.75",
        "Noop noop 1 1 c2 c3",
        "Swish swish 1 1 s1b d0",  # no fused form in ncnn: stays
        "Eltwise sum 2 1 b2 d0 e0 0=1",
        "Reshape same 1 1 e0 e1 0=12 1=10 2=8",
        "Pooling pool 1 1 e1 e2 0=1 4=1",
        "InnerProduct fc 1 1 e2 f0 0=6 1=1 2=48",
        "BatchNorm fcbn 1 1 f0 f1 0=6",
        "Sigmoid sigmoid 1 1 f1 f2",
        "Dropout last 1 1 f2 out",
    ])
    changes, _, after = agree(param, tmp_path)
    assert [layer for layer in after] == [
        ("Input", "in"), ("Convolution", "conv"), ("Split", "s0"), ("ConvolutionDepthWise", "dw"),
        ("Deconvolution", "up"), ("Swish", "swish"), ("Eltwise", "sum"), ("Pooling", "pool"), ("InnerProduct", "fc")]
    assert len(changes) == 14
    assert "folded     BatchNorm 'bn' into Convolution 'conv'" in changes
    assert "folded     Scale 'scale' into Convolution 'conv'" in changes
    assert "fused      HardSwish 'hs' into ConvolutionDepthWise 'dw'" in changes
    assert "merged     Split 's1' into 's0'" in changes
    assert "removed    Dropout 'behind_input': its output is its input" in changes


def test_what_must_stay(tmp_path):
    param = write(tmp_path, [
        "Input in 0 1 in 0=6 1=6 2=4",
        "Split s 1 4 in p q r t",
        "Dropout half 1 1 p p1 0=0.5",                       # scales
        "Convolution relu_first 1 1 q q0 0=4 1=1 6=16 9=1",  # its activation comes before the norm
        "BatchNorm after 1 1 q0 q1 0=4",
        "Permute turned 1 1 r r1 0=3",                       # not the same order of elements
        "Reshape flat 1 1 t t1 0=-1",
        "InnerProduct rows 1 1 t1 t2 0=4 2=576 9=2 -23310=1,0.1",
        "ReLU second 1 1 t2 t3",
    ])
    changes, before, after = agree(param, tmp_path)
    assert changes == [] and before == after


def test_output_of_an_input(tmp_path):
    """The output cannot be an input: a layer that changes nothing stays between them."""
    param = write(tmp_path, ["Input in 0 1 in 0=6", "Noop a 1 1 in x", "Dropout b 1 1 x out"])
    changes, _, after = agree(param, tmp_path)
    assert len(changes) == 1 and len(after) == 2


def test_requantised_chains(tmp_path):
    """INT8 outputs where every consumer is an INT8 convolution with the same scale, through a Split too; random scales
    of INT8 layers are equal."""
    param = write(tmp_path, [
        "Input in 0 1 in 0=6 1=6 2=4",
        "Convolution a 1 1 in a0 0=4 1=1 5=1 6=16 8=2",
        "ReLU r 1 1 a0 a1",
        "Split s 1 2 a1 s0 s1",
        "Convolution b 1 1 s0 b0 0=4 1=1 5=1 6=16 8=2",
        "ConvolutionDepthWise c 1 1 s1 c0 0=4 1=3 4=1 5=1 6=36 7=4 8=1",
        "Convolution d 1 1 c0 d0 0=4 1=1 6=16 8=2",
        "Eltwise e 2 1 b0 d0 out 0=1",
    ])
    changes, _, _ = agree(param, tmp_path)
    assert [line.split()[:3] for line in changes] == [["fused", "ReLU", "'r'"], ["requantise", "Convolution", "'a':"],
                                                      ["requantise", "ConvolutionDepthWise", "'c':"]]


def random_chain(rng):
    """A chain of layers with weights, norms, activations and layers that do nothing."""
    lines, channels = ["Input in 0 1 b0 0=7 1=6 2=4"], 4
    acts = ["ReLU", "ReLU %s 0=0.25", "Clip %s 0=-1.0 1=1.0", "Sigmoid", "Mish", "HardSwish", "Swish", "TanH", "ELU"]
    for i in range(1, rng.randint(6, 20)):
        kind = rng.choice(["conv", "conv", "dw", "norm", "norm", "scale", "act", "act", "nothing", "split"])
        tail = ""
        if kind == "conv":
            out = rng.choice([3, 4, 8])
            kernel = rng.choice([1, 3])
            tail = "0=%d 1=%d 4=%d 5=%d 6=%d" % (out, kernel, kernel // 2,
                                                 rng.randint(0, 1), out * channels * kernel * kernel)
            channels, kind = out, "Convolution"
        elif kind == "dw":
            tail, kind = "0=%d 1=3 4=1 5=%d 6=%d 7=%d" % (channels, rng.randint(0, 1),
                                                          9 * channels, channels), "ConvolutionDepthWise"
        elif kind == "norm":
            kind, tail = "BatchNorm", "0=%d 1=0.01" % channels
        elif kind == "scale":
            kind, tail = "Scale", "0=%d 1=%d" % (channels, rng.randint(0, 1))
        elif kind == "act":
            kind, _, tail = rng.choice(acts).partition(" %s ")
        elif kind == "nothing":
            kind = rng.choice(["Dropout", "Noop", "Padding", "Split"])
        else:
            lines.append("Split l%d 1 2 b%d c%d d%d" % (i, i - 1, i, i))
            lines.append("BinaryOp m%d 2 1 c%d d%d b%d 0=0" % (i, i, i, i))
            continue
        lines.append("%s l%d 1 1 b%d b%d %s" % (kind, i, i - 1, i, tail))
    return lines


@pytest.mark.parametrize("seed", range(12))
def test_random_chains(tmp_path, seed):
    agree(write(tmp_path, random_chain(random.Random(seed))), tmp_path)


@pytest.mark.parametrize("name, norms, more", [("squeezenet_ssd", 1, []), ("FastestDet", 0, ["--shape", "96x96x3"])])
def test_public(tmp_path, name, norms, more):
    param = os.path.join(DATA, "param", name + ".param")
    if not os.path.exists(param):
        pytest.skip("not run: no data")
    changes, before, after = agree(param, tmp_path, *more)
    assert sum(kind == "BatchNorm" for kind, _ in before) == norms
    assert len(after) == len(before) - sum(not line.startswith("requantise") for line in changes)


def test_real_requantised_chains(tmp_path):
    """ncnn's own INT8 SqueezeNet without its INT8 outputs: the optimiser finds exactly those again."""
    source = os.path.join(DATA, "squeezenet", "sq-int8.param")
    if not os.path.exists(source):
        pytest.skip("not run: no data")
    with open(source, encoding="utf-8") as f:
        text = f.read()
    wanted = {line.split()[1] for line in text.split("\n") if re.search(r" 8=102\b", line)}
    param = tmp_path / "plain.param"
    param.write_text(re.sub(r" 8=102\b", " 8=2", text))
    changes, _, _ = run(str(param), str(tmp_path / "out"), "--optimise")
    found = {re.match(r"requantise Convolution '(.*?)'", line).group(1)
             for line in changes if line.startswith("requantise")}
    assert len(wanted) == 8 and found == wanted


PASSES = [
    "Input in 0 1 in 0=12 1=12 2=8",
    "Convolution a 1 1 in a 0=8 1=1 6=64",
    "Split s 1 2 a a0 a1",
    "Convolution b 1 1 a0 b 0=8 1=3 4=1 6=576",
    "Split t 1 2 b b0 b1",
    "Concat first 2 1 a1 b0 first",
    "Pooling pool 1 1 first pool 0=0 1=2 2=2",
    "Convolution c 1 1 pool c 0=8 1=1 6=128",
    "Pooling small 1 1 b1 small 0=0 1=2 2=2",
    "Concat second 2 1 c small out",
]
# [C B A] and [E C B] overlap; A and B, of one input, become one convolution, in the order of the first
OVERLAPS = [
    "Input in 0 1 in 0=12 1=11 2=8",
    "Split s 1 3 in i0 i1 i2",
    "Convolution a 1 1 i0 A 0=9 1=1 5=1 6=72 9=1",
    "Convolution b 1 1 i1 B 0=6 1=1 5=1 6=48 9=1",
    "Split t 1 3 B B0 B1 B2",
    "Convolution c 1 1 B0 C 0=7 1=3 4=1 6=378",
    "Split u 1 2 C C0 C1",
    "Swish e 1 1 i2 E",
    "Concat x 3 1 C0 B1 A X 0=0",
    "Concat y 3 1 E C1 B2 Y 0=0",
    "Convolution xx 1 1 X outx 0=4 1=1 6=88",
    "Convolution yy 1 1 Y outy 0=4 1=1 6=84",
]
TABLE = os.path.join(ROOT, "tools", "pass_table.py")
RTL = os.path.join(ROOT, os.environ.get("BUILD", "build"), "n4-fast", "tandem-net")
VARIANTS = ["copies", "apart", "shared", "pools first", "merged", "merged, apart"]


def passes(*args, program=PROGRAM):
    return subprocess.run([TABLE, "--program", program, "--cfg", "n4", *args], cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=300)


def pass_rows(*args, program=PROGRAM):
    """Tasks, cycles in %, bytes in % of each variant; the tool has compared the outputs."""
    done = passes(*args, program=program)
    assert done.returncode == 0, done.stderr
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()[2:]]
    assert [row[1] for row in rows] == VARIANTS
    return [[int(row[2]), float(row[4]), float(row[7])] for row in rows]


def test_pass_table(tmp_path):
    """The variants of a network: equal outputs, or the command fails; fewer tasks and bytes in place, a pooling for
    each branch."""
    copies, apart, shared, first, merged, both = pass_rows(write(tmp_path, PASSES))
    assert copies[0] == shared[0] + 4 and first[0] == shared[0] + 1 and apart == shared == merged == both
    assert copies[1] == 100.0 > shared[1] and copies[2] == 100.0 > shared[2]
    bad = passes(str(tmp_path / "no.param"))
    assert bad.returncode == 1 and len(bad.stderr.splitlines()) == 1 and "no.param" in bad.stderr


@pytest.mark.parametrize("device", ["model", "tandem"])
def test_overlaps(tmp_path, device):
    """Joined maps that overlap save the copies of blobs that are part of both, a merged convolution saves one reading
    of its input; on the RTL, too, beside the model."""
    if device == "tandem" and not os.access(RTL, os.X_OK):
        pytest.skip("not run: needs build/n4-fast/tandem-net (make regress)")
    copies, apart, shared, first, merged, both = pass_rows("--device", device, write(tmp_path, OVERLAPS),
                                                           program=RTL if device == "tandem" else PROGRAM)
    assert copies[0] == shared[0] + 6 and apart[0] == shared[0] + 2 and first == shared
    assert merged[0] == shared[0] - 1 and both[0] > apart[0] - 1
    assert copies[1] > apart[1] > shared[1] > merged[1]
    assert copies[2] > apart[2] > shared[2] > merged[2]


def test_pass_table_sees_wrong_outputs(tmp_path):
    """A program whose variants differ: the table is no table then."""
    fake = tmp_path / "tandem-net"
    fake.write_text("#!/bin/sh\n" + PROGRAM + """ "$@" >/dev/null || exit 1
for a; do case $a in *.json) report=$a ;; --pools-first) broken=1 ;; esac; done
[ -z "$broken" ] || sed -i 's/"hash": "./"hash": "x/' "$report"
""")
    fake.chmod(0o755)
    done = subprocess.run([TABLE, "--program", str(fake), "--cfg", "n4", write(tmp_path, PASSES)], cwd=ROOT,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
    assert done.returncode == 1 and "pools first" in done.stderr and "equal bits" in done.stderr
