"""Tools that write .param files: darknet .cfg to .param, and networks from their description. What they write is read
by the reader in C."""
import contextlib
import io
import os
import re
import subprocess
import sys
from unittest import mock

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import darknet2param  # noqa: E402
import netgen  # noqa: E402
import param_text  # noqa: E402

DATA = os.environ.get("TANDEM_DATA", os.path.join(ROOT, "..", "shared", "data"))
PROGRAM = os.path.join(ROOT, os.environ.get("HOST", os.path.join(os.environ.get("BUILD", "build"), "host")),
                       "tandem-net-model")
pytestmark = pytest.mark.skipif(not os.access(PROGRAM, os.X_OK), reason="not run: tandem-net-model is not built")

SMALL = """# every section that is supported
[net]
width=32
height=24
channels=3
[convolutional]
batch_normalize=1
filters=8
size=3
stride=2
pad=1
activation=leaky
[convolutional]
filters=8
groups=8
size=3
stride=1
padding=1
activation=mish
[shortcut]
from=-2
activation=relu
[maxpool]
size=2
stride=2
[maxpool]
size=2
stride=1
[route]
layers=-1
groups=2
group_id=1
[convolutional]
filters=14
size=1
activation=linear
; a head
[yolo]
mask=0,1
anchors=10,14, 23,27, 37,58, 81,82
classes=2
scale_x_y=1.5
[route]
layers=-3
[dropout]
probability=.5
[upsample]
stride=2
[route]
layers=-1,2
[convolutional]
filters=14
size=1
activation=linear
[yolo]
mask=2,3
anchors=10,14, 23,27, 37,58, 81,82
classes=2
"""

SMALL_PARAM = """7767517
16 19
Input data 0 1 data 0=32 1=24 2=3
Convolution 0_convolutional 1 1 data 0_convolutional 0=8 1=3 3=2 4=1 5=1 6=216 9=2 -23310=1,1.000000e-01
Split 0_convolutional_split 1 2 0_convolutional 0_convolutional_split_0 0_convolutional_split_1
ConvolutionDepthWise 1_convolutional 1 1 0_convolutional_split_0 1_convolutional 0=8 1=3 4=1 5=1 6=72 7=8 9=5
BinaryOp 2_shortcut 2 1 1_convolutional 0_convolutional_split_1 2_shortcut 0=0
ReLU 2_shortcut_act 1 1 2_shortcut 2_shortcut_act
Split 2_shortcut_act_split 1 2 2_shortcut_act 2_shortcut_act_split_0 2_shortcut_act_split_1
Pooling 3_maxpool 1 1 2_shortcut_act_split_0 3_maxpool 1=2 2=2 14=1 15=1 5=1
Pooling 4_maxpool 1 1 3_maxpool 4_maxpool 1=2 2=1 14=1 15=1 5=1
Crop 5_route 1 1 4_maxpool 5_route 2=4 3=8 4=6 5=4
Split 5_route_split 1 2 5_route 5_route_split_0 5_route_split_1
Convolution 6_convolutional 1 1 5_route_split_0 6_convolutional 0=14 1=1 5=1 6=56
Interp 10_upsample 1 1 5_route_split_1 10_upsample 0=1 1=2.000000e+00 2=2.000000e+00
Concat 11_route 2 1 10_upsample 2_shortcut_act_split_1 11_route
Convolution 12_convolutional 1 1 11_route 12_convolutional 0=14 1=1 5=1 6=168
Yolov3DetectionOutput output 2 1 6_convolutional 12_convolutional output 0=2 1=2 2=3.000000e-01 3=4.500000e-01 \
-23304=8,1.000000e+01,1.400000e+01,2.300000e+01,2.700000e+01,3.700000e+01,5.800000e+01,8.100000e+01,8.200000e+01 \
-23305=4,0.000000e+00,1.000000e+00,2.000000e+00,3.000000e+00 -23306=2,6.000000e+00,2.000000e+00
"""

# published numbers: weights and biases with batch norm folded; bytes of the .weights file of a .cfg
WEIGHTS = {"yolov5s": 7225885, "yolov7_tiny": 6219709, "squeezenet": 1235496,
           "squeezenet_v1.0": 1248424, "resnet50": 25557032 - 26560,
           "vit_b32": 88297192}  # as published for ViT-B/32 at 384x384
GMAC = {"yolov3": 32.93, "resnet50": 4.09, "vit_b32": 13.04}  # YOLOv3: 65.86 billion operations
CFG_BYTES = {"yolov2-tiny": 44948600, "yolov3-tiny": 35434956, "yolov4-tiny": 24251276}


def run(tool, *args):
    """The tool in this process, as if from the command line."""
    out = io.StringIO()
    err = io.StringIO()
    with mock.patch.object(sys, "argv",
                           [tool] + list(args)), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = {"darknet2param.py": darknet2param, "netgen.py": netgen}[tool].main()
        except SystemExit as e:
            status = e.code
    return subprocess.CompletedProcess(tool, status, out.getvalue(), err.getvalue())


def convert(tmp_path, text, *args):
    cfg = tmp_path / "a.cfg"
    param = tmp_path / "a.param"
    cfg.write_text(text)
    return run("darknet2param.py", str(cfg), str(param), *args), param


def show(param):
    """What the reader in C says: (layers, blobs, multiply-accumulates or None when a layer type cannot be executed)."""
    done = subprocess.run([PROGRAM, "--show", str(param)], cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=120)
    if done.returncode != 0:
        assert done.returncode == 2 and "is not supported" in done.stderr, done.stderr
    layers, blobs, behind = map(int, re.search(r"^(\d+) layers, (\d+) blobs, (\d+) lines", done.stdout, re.M).groups())
    assert behind == 0
    macs = re.search(r"^multiply-accumulates (\d+)$", done.stdout, re.M)
    return layers, blobs, int(macs.group(1)) if macs else None


def words(text):
    return [line.split() for line in text.strip().split("\n")]


def test_small(tmp_path):
    done, param = convert(tmp_path, SMALL)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert words(param.read_text()) == words(SMALL_PARAM)
    # batch norm: scale, bias, mean, variance
    assert done.stdout.endswith("; .weights file: %d bytes\n" % (20 + 4 * (216 + 4 * 8 + 72 + 8 + 56 + 14 + 168 + 14)))
    layers, blobs, macs = show(param)
    assert (layers, blobs) == (16, 19)
    assert macs in (None, 216 * 16 * 12 + 72 * 16 * 12 + 56 * 8 * 6 + 168 * 16 * 12)


def test_separate(tmp_path):
    done, param = convert(tmp_path, SMALL, "--separate")
    assert done.returncode == 0, done.stderr
    lines = words(param.read_text())
    assert ["Convolution", "0_convolutional", "1", "1", "data", "0_convolutional",
            "0=8", "1=3", "3=2", "4=1", "6=216"] in lines
    assert ["BatchNorm", "0_convolutional_bn", "1", "1", "0_convolutional",
            "0_convolutional_bn", "0=8", "1=1.000000e-05"] in lines
    assert ["ReLU", "0_convolutional_bn_leaky", "1", "1", "0_convolutional_bn",
            "0_convolutional_bn_leaky", "0=1.000000e-01"] in lines
    assert ["Mish", "1_convolutional_mish"] in [line[:2] for line in lines]
    assert not any(word.startswith("9=") for line in lines for word in line)
    show(param)


def test_classifier_and_region(tmp_path):
    done, param = convert(tmp_path, "[net]\nwidth=8\nheight=8\nchannels=1\n[conv]\nfilters=4\nsize=3\n[avgpool]\n"
                          "[connected]\noutput=3\nactivation=linear\n[softmax]\n")
    assert done.returncode == 0, done.stderr
    assert words(param.read_text())[2:] == words("""Input data 0 1 data 0=8 1=8 2=1
Convolution 0_conv 1 1 data 0_conv 0=4 1=3 5=1 6=36 9=4
Pooling 1_avgpool 1 1 0_conv 1_avgpool 0=1 4=1
InnerProduct 2_connected 1 1 1_avgpool 2_connected 0=3 1=1 2=12
Softmax 3_softmax 1 1 2_connected 3_softmax 0=0 1=1""")
    assert show(param)[2] in (None, 36 * 36 + 12)
    region = ("[net]\nwidth=32\nheight=32\n[convolutional]\nfilters=14\nsize=1\nactivation=linear\n[region]\n"
              "anchors=1,2,3,4\nclasses=2\nsoftmax=1\n")
    done, param = convert(tmp_path, region)
    assert done.returncode == 0, done.stderr
    assert (words(param.read_text())[-1] ==
            ("YoloDetectionOutput output 1 1 0_convolutional output 0=2 1=2 2=3.000000e-01 3=4.500000e-01 "
             "-23304=4,1.000000e+00,2.000000e+00,3.000000e+00,4.000000e+00").split())


HEAD = "[net]\nwidth=32\nheight=32\n"


@pytest.mark.parametrize("text, part", [
    ("", "a.cfg:1: the first section is not [net]"),
    ("[convolutional]\n", "a.cfg:1: the first section is not [net]"),
    ("width=3\n", "a.cfg:1: 'width=3': expected key=value in a section"),
    ("[net\n", "a.cfg:1: '[net' is not a section"),
    (HEAD + "size\n", "a.cfg:4: 'size': expected key=value"),
    ("[net]\nwidth=32\n", "a.cfg:1: [net]: height is missing"),
    ("[net]\nwidth=0\nheight=1\n", "a.cfg:2: [net]: width=0, expected a number from 1"),
    (HEAD + "[lstm]\n", "a.cfg:4: [lstm] is not supported"),
    (HEAD + "[convolutional]\nfilters=x\n", "a.cfg:5: [convolutional]: filters=x, expected a number"),
    (HEAD + "[convolutional]\nactivation=selu\n", "a.cfg:5: [convolutional]: activation 'selu' is not supported"),
    (HEAD + "[convolutional]\nsize=33\n", "a.cfg:4: layer '0_convolutional' has an output of shape 0x0x1"),
    (HEAD + "[convolutional]\nfilters=4\ngroups=2\n", "a.cfg:4: 3 channels in, 4 out do not divide into 2 groups"),
    (HEAD + "[route]\nlayers=-1\n", "a.cfg:5: [route]: layers -1: there is no such layer before this one"),
    (HEAD + "[route]\nlayers=a\n", "a.cfg:5: [route]: layers: 'a' is not a number"),
    (HEAD + "[route]\n", "a.cfg:4: [route]: layers is missing"),
    (HEAD + "[maxpool]\nsize=2\nstride=2\n[route]\nlayers=0\ngroups=2\n",
     "a.cfg:9: [route]: 3 channels do not divide into 2 groups"),
    (HEAD + "[maxpool]\nsize=2\nstride=2\n[maxpool]\nsize=2\nstride=2\n[shortcut]\nfrom=-2\n",
     "a.cfg:10: sum of '1_maxpool' (8, 8, 3) and '0_maxpool' (16, 16, 3)"),
    (HEAD + "[shortcut]\n", "a.cfg:4: [shortcut]: expected one layer"),
    (HEAD + "[conv]\nactivation=linear\n[yolo]\nmask=0\nanchors=1,2\nclasses=1\n",
     "head '0_conv' has 1 channels, 1 anchors and 1 classes need 6"),
    (HEAD + "[conv]\nfilters=6\nactivation=linear\n[yolo]\nmask=1\nanchors=1,2\nclasses=1\n",
     "a.cfg:8: [yolo]: mask does not name"),
    (HEAD + "[conv]\n[yolo]\n[conv]\n", "a.cfg:6: [conv] after [yolo]: expected [route]"),
    (HEAD + "[conv]\n[region]\nanchors=1,2\n", "a.cfg:5: [region]: [region] without softmax is not supported"),
])
def test_bad_cfg(tmp_path, text, part):
    done, param = convert(tmp_path, text)
    assert done.returncode == 1 and done.stdout == ""
    assert (done.stderr.count("\n") == 1 and done.stderr.startswith("darknet2param: ") and
            part in done.stderr), done.stderr
    assert not param.exists()


def test_files(tmp_path):
    done = run("darknet2param.py", "no.cfg", str(tmp_path / "a.param"))
    assert done.returncode == 1 and done.stderr == "darknet2param: no.cfg: No such file or directory\n"
    (tmp_path / "a.cfg").write_text(SMALL)
    done = run("darknet2param.py", str(tmp_path / "a.cfg"), str(tmp_path / "no" / "a.param"))
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert run("netgen.py", "yolov3", str(tmp_path / "no" / "a.param")).returncode == 1
    done = run("netgen.py", "yolov3", str(tmp_path / "a.param"), "--size", "410x416")
    assert (done.returncode == 1 and
            done.stderr == "netgen: size 410x416 of yolov3: expected multiples of 32 up to 4096\n")
    assert run("netgen.py", "yolov3", str(tmp_path / "a.param"), "--size", "0x32").returncode == 2
    assert run("netgen.py", "lenet", str(tmp_path / "a.param")).returncode == 2
    assert os.listdir(str(tmp_path)) == ["a.cfg"]


@pytest.mark.parametrize("fuse", [True, False])
@pytest.mark.parametrize("name", sorted(netgen.NETWORKS))
def test_generated(tmp_path, name, fuse):
    net = netgen.build(name, fuse=fuse)
    param = tmp_path / "a.param"
    done = run("netgen.py", name, str(param), *([] if fuse else ["--separate"]))
    assert done.returncode == 0, done.stderr
    assert param.read_text() == net.text()
    lines = words(param.read_text())
    layers, blobs, macs = show(param)
    assert [layers, blobs] == [int(word) for word in lines[1]] and layers == len(lines) - 2
    assert macs in (None, net.macs)
    # what batch norm adds to the parameters of ResNet-50 is one factor for each of its 26560 filters
    if fuse and name in WEIGHTS:
        assert net.weights == WEIGHTS[name]
    if name in GMAC:
        assert round(net.macs / 1e9, 2) == GMAC[name]
    if name == "retinaface" and fuse:
        # published as 27,293,600 parameters, which is one more (the factor of batch norm) for each filter of a
        # convolution without bias of its own
        heads = sum(net.shape[layer[3][0]][2] for layer in net.layers
                    if re.match("(boxes|logits|landmarks)_", layer[1]))
        filters = sum(layer[4][0] for layer in net.layers if layer[0] == "Convolution") - heads
        assert net.weights + filters == 27293600
    if name == "yolov3" and fuse:
        # yolov3.weights: batch norm takes four numbers for each filter, the heads one
        filters = sum(layer[4][0] for layer in net.layers if layer[0] == "Convolution") - 3 * 255
        assert 20 + 4 * (net.weights + 3 * filters) == 248007048


def test_same_network_from_both_tools(tmp_path):
    """YOLOv3-Tiny from its .cfg and from its description."""
    cfg = os.path.join(DATA, "darknet", "yolov3-tiny.cfg")
    if not os.path.exists(cfg):
        pytest.skip("not run: no data (%s)" % cfg)
    assert run("darknet2param.py", cfg, str(tmp_path / "a.param")).returncode == 0
    ours = words(netgen.build("yolov3_tiny").text())
    theirs = words((tmp_path / "a.param").read_text())
    assert ours[1] == theirs[1] and len(ours) == len(theirs)
    for a, b in zip(ours[2:], theirs[2:]):
        assert [a[0]] + a[2:4] == [b[0]] + b[2:4] and keys(a, ()) == keys(b, ())


def test_squeezenet_macs(tmp_path):
    """The public file has the same layers (and a padded last convolution, which is in ours, too)."""
    public = os.path.join(DATA, "param", "squeezenet_v1.1.param")
    if not os.path.exists(public):
        pytest.skip("not run: no data (%s)" % public)
    macs = show(public)[2]
    assert macs in (None, netgen.build("squeezenet").macs)


def test_other_size(tmp_path):
    net = netgen.build("yolov5s", 64, 32)
    assert net.shape["head_0"] == (8, 4, 255) and net.shape["output_2"] == (85, 2, 3)
    assert netgen.build("retinaface").shape["scores_0"] == (2, 2 * 80 * 45)
    assert netgen.build("x_tiny_yolo").shape["head"] == (7, 7, 125)


@pytest.mark.parametrize("name", sorted(CFG_BYTES))
def test_public_cfg(tmp_path, name):
    cfg = os.path.join(DATA, "darknet", name + ".cfg")
    if not os.path.exists(cfg):
        pytest.skip("not run: no data (%s)" % cfg)
    param = tmp_path / "a.param"
    done = run("darknet2param.py", cfg, str(param))
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(".weights file: %d bytes\n" % CFG_BYTES[name])
    show(param)


def keys(line, skip):
    """The settings of a line of a .param, floats as numbers."""
    out = {}
    for word in line[4 + int(line[2]) + int(line[3]):]:
        key, _, value = word.partition("=")
        if int(key) not in skip:
            out[int(key)] = [float(v) for v in value.split(",")]
    return out


@pytest.mark.parametrize("name, tool", [("yolov4-tiny", "darknet2param.py"),
                                        ("mobilenet_yolo", "netgen.py"), ("yolov4_tiny", "netgen.py")])
def test_against_public_param(tmp_path, name, tool):
    public = os.path.join(DATA, "param", name.replace("v4_", "v4-") + ".param")
    if not os.path.exists(public):
        pytest.skip("not run: no data (%s)" % public)
    source = os.path.join(DATA, "darknet", name + ".cfg") if tool == "darknet2param.py" else name
    done = run(tool, source, str(tmp_path / "a.param"))
    assert done.returncode == 0, done.stderr
    ours = words((tmp_path / "a.param").read_text())
    with open(public, encoding="ascii") as src:
        theirs = words(src.read())
    assert ours[1] == theirs[1]
    for a, b in zip(ours[2:], theirs[2:]):
        assert [a[0]] + a[2:4] == [b[0]] + b[2:4]
        if not a[0].endswith("DetectionOutput"):
            assert keys(a, ()) == keys(b, (-23330,)), (a, b)


def test_numbers():
    assert param_text.number(3) == "3"
    assert param_text.number(0.1) == "1.000000e-01"
    assert param_text.number(1 / 3) == "3.3333334e-01"
    with pytest.raises(param_text.ParamError):
        net = param_text.Net()
        net.activation(net.input(4, 4, 1), "selu")
    with pytest.raises(param_text.ParamError):
        param_text.Net().add("ReLU", ["x"], {}, [(1,)])


def test_programs(tmp_path):
    for tool, first in (("darknet2param.py", "Turn a darknet .cfg"),
                        ("netgen.py", "Published topologies as ncnn .param")):
        done = subprocess.run([os.path.join(ROOT, "tools", tool), "--help"],
                              stdout=subprocess.PIPE, text=True, timeout=60)
        assert done.returncode == 0 and first in done.stdout
    done = subprocess.run([os.path.join(ROOT, "tools", "netgen.py"), "x_tiny_yolo", str(tmp_path / "a.param")],
                          stdout=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.startswith(str(tmp_path / "a.param") + ": 17 layers")
