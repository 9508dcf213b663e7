"""Frames per second of the shift-add engine from the cycle model: figures computed by hand, and refusals."""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOL = ROOT / "designs/sac/tools/fps.py"
HEAD = "7767517\n3 3\nInput data 0 1 data 0=%d 1=%d 2=%d\n"


def fps(tmp_path, text, *args):
    path = tmp_path / "net.param"
    path.write_text(text)
    return subprocess.run([sys.executable, TOOL, *args, path], capture_output=True, text=True)


def row(done, build):
    assert done.returncode == 0, done.stderr
    cells = [line.split("|") for line in done.stdout.splitlines() if line.startswith("| net |")]
    return [int(word) for word in next(c for c in cells if c[3].strip() == build)[4:8]]


def test_a_layer_of_the_brief(tmp_path):
    """64 -> 64, 56 x 56, 3 x 3 at m: CONV 37632, total 51376 (docs/sac/performance.md); at l half the batches."""
    done = fps(tmp_path, HEAD % (56, 56, 64) + "Convolution c 1 1 data c 0=64 1=3 4=1\n", "--mhz", "1000")
    assert row(done, "m")[:2] == [round(1e9 / 37632), round(1e9 / 51376)]
    assert row(done, "l")[0] == round(1e9 / 18816)


def test_strides_pooling_and_space_to_depth(tmp_path):
    """7 x 7 of stride 2 over 224 x 224 x 3: CONV 526848, as space-to-depth 100352; an inner product of 1024 x 1000."""
    done = fps(tmp_path, HEAD % (224, 224, 3) + "Convolution c 1 1 data c 0=64 1=7 3=2 4=3\n", "--mhz", "1000")
    assert row(done, "m")[0] == round(1e9 / 526848) and row(done, "m")[2] == round(1e9 / 100352)
    pooled = HEAD % (7, 7, 1024) + "Pooling p 1 1 data p 0=1 4=1\nInnerProduct f 1 1 p f 0=1000\n"
    assert row(fps(tmp_path, pooled, "--mhz", "1"), "m")[0] == round(1e6 / 4032)


def test_squeezenet_1_0():
    """1,248,424 weights as published; 181 and 357 frames per second of the array alone."""
    sys.path.insert(0, str(ROOT / "tools"))
    sys.path.insert(0, str(TOOL.parent))
    import fps as tool
    import netgen
    net = netgen.build("squeezenet_v1.0")
    assert net.weights == 1248424
    cells = [row.split("|") for row in tool.rows("squeezenet_v1.0", tool.read(net.text(), None), 200)]
    assert [int(row[4]) for row in cells] == [181, 357] and [int(row[2]) for row in cells] == [1485, 1485]


def test_refusals_are_one_line(tmp_path):
    for text, why in ((HEAD % (8, 8, 4) + "ConvolutionDepthWise c 1 1 data c 0=4 1=3\n", "c: layers of type"),
                      ("nothing\n", "no .param file"),
                      (HEAD % (8, 8, 4) + "Convolution c 1 1 other c 0=4\n", "'other'")):
        done = fps(tmp_path, text)
        assert done.returncode == 1 and why in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
    assert fps(tmp_path, "nothing\n", "--mhz", "0").returncode == 2
