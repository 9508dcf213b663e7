"""tandem-net from outside: exit statuses, one clear line for bad input, no file left behind, gates that can fail."""
import os
import resource
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DIGITS = os.path.join("models", "digits")
NET = ["--net", DIGITS + "/digits.param", "--bin", DIGITS + "/digits.bin"]
INT8 = ["--int8-net", DIGITS + "/digits-int8.param", "--int8-bin", DIGITS + "/digits-int8.bin"]
HELD_OUT = ["--images", DIGITS + "/heldout.csv"]


PROGRAM = os.path.join(ROOT, os.environ.get("HOST", os.path.join(os.environ.get("BUILD", "build"), "host")),
                       "tandem-net-model")
pytestmark = pytest.mark.skipif(not os.access(PROGRAM, os.X_OK), reason="not run: tandem-net-model is not built")


def run(*args, stdout=subprocess.PIPE, limit=None):
    def limit_files():
        # SIGXFSZ keeps its default action here, as in a user's shell: the program itself must survive it
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.run([PROGRAM, "--device", "model", *args], cwd=ROOT, stdout=stdout, stderr=subprocess.PIPE,
                          text=True, timeout=120, preexec_fn=limit_files if limit is not None else None)


def one_line(done, status, part):
    lines = done.stderr.strip().split("\n")
    assert done.returncode == status, done.stderr
    assert len(lines) == 1 and lines[0].startswith("tandem-net: ") and part in lines[0], done.stderr


@pytest.mark.parametrize("args, part", [
    (["--nonsense"], "unknown option --nonsense"),
    (["--count"], "--count: expected a number 1..1000000, got nothing"),
    (["--count", "0"], "--count: expected a number 1..1000000, got '0'"),
    (["--count", "x"], "--count: expected"),
    (["--count", "401"], "--count 401, but models/digits/heldout.csv holds 400 images"),
    (["--seed", "-"], "--seed: expected"),
    (["--norm", "nan"], "--norm: expected"),
    (["--device", "rtl"], "--device 'rtl': this program was built without RTL, expected model"),
    (["--device", "fpga"], "--device: expected model, rtl or tandem, got 'fpga'"),
    (["--cfg", "n7"], "--cfg: expected"),
    (["--net", "x"], "--net and --bin must be given together"),
    (["--int8-net", "x"], "--int8-net and --int8-bin must be given together"),
    (NET, "--net needs --images"),
    (NET + HELD_OUT, "is a float network: --calib or --int8-net is needed"),
    (["--net", "no.param", "--bin", "no.bin"] + HELD_OUT, "no.param: cannot open"),
    (["--images", "no.csv"], "no.csv: cannot open"),
    (["--images", "README.md"], "README.md"),
    (["--net", DIGITS + "/digits.bin", "--bin", DIGITS + "/digits.bin"] + HELD_OUT, "expected text"),
    (["--net", DIGITS + "/digits.param", "--bin", DIGITS + "/digits-int8.bin"] + HELD_OUT, "truncated: layer"),
    (["--net", DIGITS + "/digits-int8.param", "--bin", DIGITS + "/digits-int8.bin", "--fp32"] + HELD_OUT,
     "is not a float network"),
])
def test_bad_input(args, part):
    one_line(run(*args), 2, part)


def test_truncated_weights(tmp_path):
    data = open(os.path.join(ROOT, DIGITS, "digits.bin"), "rb").read()
    short = tmp_path / "short.bin"
    short.write_bytes(data[:-1])
    one_line(run("--net", DIGITS + "/digits.param", "--bin", str(short), *INT8, *HELD_OUT),
             2, "truncated: layer 'conv4'")
    short.write_bytes(data + b"\0")
    one_line(run("--net", DIGITS + "/digits.param", "--bin", str(short), *INT8, *HELD_OUT), 2, "1 bytes are left over")


def test_unknown_layer(tmp_path):
    text = open(os.path.join(ROOT, DIGITS, "digits.param")).read().replace("Softmax ", "Diag    ")
    param = tmp_path / "odd.param"
    param.write_text(text)
    done = run("--net", str(param), "--bin", DIGITS + "/digits.bin", *INT8, *HELD_OUT)
    one_line(done, 2, "odd.param:11: layer 'prob' of type 'Diag' is not supported")


def test_digits_job(tmp_path):
    result = tmp_path / "result"
    done = run("--result", str(result))
    assert done.returncode == 0, done.stderr
    assert "gates      passed" in done.stdout
    assert "rtl        not run: --device model" in done.stdout
    pairs = dict(line.split("=", 1) for line in result.read_text().splitlines())
    assert pairs["outcome"] == "pass" and pairs["signature"] == ""


def test_own_quantiser():
    done = run("--quantise")
    assert done.returncode == 0, done.stderr
    # the same network as the committed INT8 files, so the same classes
    first = run()
    assert [line for line in done.stdout.splitlines()
            if line.startswith("int8")] == [line for line in first.stdout.splitlines() if line.startswith("int8")]


def test_gates_fail(tmp_path):
    """Wrong labels, too few images, and INT8 weights that are ruined while FP32 is fine."""
    result = tmp_path / "result"
    lines = open(os.path.join(ROOT, DIGITS, "heldout.csv")).read().splitlines()
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("".join("%s,%d\n" % (line[:line.rindex(",")], (int(line[line.rindex(",") + 1:]) + (i % 10 == 0)) %
                                          10) for i, line in enumerate(lines)))
    one_line(run("--images", str(wrong), "--result", str(result)), 1, "FP32 accuracy 8")
    assert "signature=network/fp32-accuracy" in result.read_text()
    wrong.write_text("\n".join(lines[:299]) + "\n")
    one_line(run("--images", str(wrong)), 1, "299 images, the gates need at least 300")
    data = bytearray(open(os.path.join(ROOT, DIGITS, "digits-int8.bin"), "rb").read())
    data[3000:3400] = bytes([127]) * 400
    ruined = tmp_path / "ruined.bin"
    ruined.write_bytes(data)
    done = run(*NET, "--int8-net", DIGITS + "/digits-int8.param", "--int8-bin", str(ruined), *HELD_OUT, "--gate")
    one_line(done, 1, "INT8 accuracy")


def test_full_disk(tmp_path):
    with open("/dev/full", "w") as full:
        one_line(run(stdout=full), 3, "stdout: cannot be written")
    done = run("--result", "/dev/full")
    assert done.returncode != 0 and "/dev/full" in done.stderr
    result = tmp_path / "result"
    done = run("--result", str(result), limit=20)
    assert done.returncode != 0 and done.stderr.count("\n") == 1, done.stderr
    assert os.listdir(tmp_path) == []
