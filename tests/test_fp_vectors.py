"""Vectors in TestFloat's text form: the benches' reader and check, and the generator's vectors on the golden model and,
where it is built, on the RTL.

The golden model stands in place of the Verilated unit (tests/bench/fp_golden.c), in front of the same reader and the
same checks."""
import os
import re
import struct
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / os.environ.get("BUILD", "build")
HOST = ROOT / os.environ.get("HOST", os.path.join(os.environ.get("BUILD", "build"), "host"))
FULL = os.environ.get("TANDEM_CHECK") == "1"
SAN = "san" in HOST.name
GENERATOR = HOST / "fp-vectors"
UNITS = ["add", "sub", "mul", "max", "min", "cmp", "eq", "le", "lt", "i32_to_f32", "f32_to_i32", "f32_to_i8",
         "f32_to_i16", "f16_to_f32", "f32_to_f16"]
OPS = {"f32_add": ["add"], "f32_sub": ["sub"], "f32_mul": ["mul"], "i32_to_f32": ["i32_to_f32"],
       "f32_to_i32": ["f32_to_i32"], "f32_to_i8": ["f32_to_i8"], "f32_to_i16": ["f32_to_i16"],
       "f16_to_f32": ["f16_to_f32"], "f32_to_f16": ["f32_to_f16"], "f32_eq": ["eq", "cmp"],
       "f32_le": ["le", "cmp"], "f32_lt": ["lt", "cmp"], "f32_max": ["max"], "f32_min": ["min"]}
PAIRS = [(op, unit) for op, units in OPS.items() for unit in units]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Programs unit-fp_* with the golden model in place of the design."""
    folder = tmp_path_factory.mktemp("fp")
    libs = [HOST / f"lib{name}.a"
            for name in ("tbnpu", "covnpu", "covcode", "coverage", "tb", "opt", "report", "cmodel", "drivers")]
    for lib in libs:
        if not lib.exists():
            pytest.skip(f"not run: {lib} is not built")
    flags = (["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off",
              "-I.", "-Itb", "-Itb/npu", f"-I{BUILD}/gen/npu", "-Idrivers/npu", "-Idrivers/lib",
              "-Icmodel/npu", "-Icmodel/lib", "-Itestcases/npu/unit", "-DNPU_CFG_N=8", '-DNPU_CFG_NAME="n8"'] +
             (["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"] if SAN else []))
    common = ([f"testcases/npu/unit/{name}.c" for name in ("bench_main", "bench_env", "fp_bench", "fp_vectors")] +
              ["tests/bench/fp_golden.c"])
    objects = []
    for source in common:
        objects.append(str(folder / Path(source).with_suffix(".o").name))
        subprocess.run(["gcc", *flags, "-c", source, "-o", objects[-1]], cwd=ROOT, check=True)
    programs = {}
    for unit in UNITS:
        programs[unit] = str(folder / f"unit-fp_{unit}")
        subprocess.run(["gcc", *flags, f"testcases/npu/unit/unit_fp_{unit}.c", *objects, "-Wl,--start-group",
                        *map(str, libs), "-Wl,--end-group", "-ljansson", "-lz", "-lm", "-lpthread", "-o",
                        programs[unit]], cwd=ROOT, check=True)
    return programs


@pytest.fixture(scope="module")
def generator():
    if not GENERATOR.exists():
        pytest.skip(f"not run: {GENERATOR} is not built")
    return str(GENERATOR)


def run(program, text, *args):
    data = text if isinstance(text, bytes) else text.encode()
    done = subprocess.run([program, *(args or ("--vectors", "-"))], input=data, capture_output=True, timeout=120)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def counts(out):
    found = re.search(r"^(PASS|FAIL) .* passed=(\d+) failed=(\d+) excluded=(\d+)", out, re.M)
    assert found, out
    return (found.group(1), *map(int, found.groups()[1:]))


def vectors(generator, op, *args):
    return subprocess.run([generator, op, *args], stdout=subprocess.PIPE, check=True, timeout=60).stdout


# ---- the generator ----

def test_operations_are_those_of_this_test(generator):
    listed = subprocess.run([generator, "--list"], stdout=subprocess.PIPE, check=True, text=True).stdout
    assert {line.split()[0]: [unit[3:] for unit in line.split()[1:]] for line in listed.splitlines()} == OPS
    benches = {path.stem[len("unit_fp_"):] for path in ROOT.glob("testcases/npu/unit/unit_fp_*.c")
               if '"fp_bench.h"' in path.read_text()}  # i64_to_f32 has operands of 64 bits: its bench reads no vectors
    assert benches == set(UNITS)


def test_same_seed_same_vectors(generator):
    first = vectors(generator, "f32_add", "--count", "500", "--seed", "7")
    assert first == vectors(generator, "f32_add", "--count", "500", "--seed", "7")
    assert first != vectors(generator, "f32_add", "--count", "500", "--seed", "8")
    assert first.startswith(vectors(generator, "f32_add", "--count", "0"))


@pytest.mark.parametrize("args", [[], ["f64_add"], ["f32_add", "f32_sub"],
                                  ["f32_add", "--count", "x"], ["f32_add", "--count"], ["--seed", "-1"]])
def test_generator_usage(generator, args):
    done = subprocess.run([generator, *args], capture_output=True, text=True, timeout=10)
    assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1


def test_generator_on_a_full_disk(generator):
    with open("/dev/full", "w") as full:
        done = subprocess.run([generator, "f32_lt"], stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == 1 and b"cannot be written" in done.stderr


def known(generator, op):
    return {line[:line.rfind(" ")].rsplit(" ", 1)[0]: line.split()[-2:]
            for line in vectors(generator, op, "--count", "0").decode().splitlines()}


def test_generator_against_known_lines(generator):
    """Values and flags of the standard, looked up among the generator's corner cases."""
    add, mul = known(generator, "f32_add"), known(generator, "f32_mul")
    assert add["7F800000 FF800000"] == ["7FC00000", "10"]  # infinity - infinity
    assert add["7F800001 00000000"] == ["7FC00000", "10"]  # a signalling NaN is invalid, a quiet one is not
    assert add["7FC00000 00000000"] == ["7FC00000", "00"]
    assert add["80000000 00000000"] == ["00000000", "00"]
    assert add["80000000 80000000"] == ["80000000", "00"]
    assert add["7F7FFFFF 7F7FFFFF"] == ["7F800000", "05"]
    assert add["3F800000 33800000"] == ["3F800000", "01"]  # half a unit in the last place: tie to even
    assert add["3F800001 33800000"] == ["3F800002", "01"]
    assert mul["7F800000 00000000"] == ["7FC00000", "10"]
    assert mul["00000001 00000001"] == ["00000000", "03"]
    assert mul["00800000 3F7FFFFF"][0] == "00800000"       # 2^-126 - 2^-150: tie to even, up
    eq, lt = known(generator, "f32_eq"), known(generator, "f32_lt")
    assert (eq["00000000 80000000"] == ["1", "00"] and eq["7FC00000 7FC00000"] == ["0", "00"] and
            eq["7F800001 00000000"] == ["0", "10"])
    assert (lt["7FC00000 00000000"] == ["0", "10"] and lt["80000000 00000000"] == ["0", "00"] and
            lt["FF800000 FF7FFFFF"] == ["1", "00"])
    i32 = known(generator, "f32_to_i32")
    assert (i32["3F000000"] == ["00000000", "01"] and i32["3FC00000"] == ["00000002", "01"] and
            i32["C0200000"] == ["FFFFFFFE", "01"])
    assert (i32["4F000000"] == ["7FFFFFFF", "10"] and i32["CF000000"] == ["80000000", "00"] and
            i32["7FC00000"] == ["00000000", "10"])
    i8 = known(generator, "f32_to_i8")
    assert (i8["3F000000"] == ["01", "01"] and i8["C0200000"] == ["FD", "01"] and
            i8["C3000000"] == ["81", "10"] and i8["42FE0000"] == ["7F", "00"])
    f32 = known(generator, "i32_to_f32")
    assert (f32["01000001"] == ["4B800000", "01"] and f32["80000000"] == ["CF000000", "00"] and
            f32["7FFFFFFF"] == ["4F000000", "01"])
    wide, narrow = known(generator, "f16_to_f32"), known(generator, "f32_to_f16")
    assert len(wide) == 65536
    assert wide["0001"][0] == "33800000" and wide["7BFF"][0] == "477FE000" and wide["FC00"][0] == "FF800000"
    assert narrow["33000000"][0] == "0000" and narrow["33000001"][0] == "0001" and narrow["7F800000"][0] == "7C00"
    high, low = known(generator, "f32_max"), known(generator, "f32_min")
    assert high["00000000 80000000"][0] == "00000000" and high["80000000 00000000"][0] == "80000000"
    assert low["7F800001 00000000"][0] == "7F800001" and low["00000000 7F800001"][0] == "00000000"


# ---- its vectors on the golden model and on the RTL ----

@pytest.mark.parametrize("op,unit", PAIRS)
def test_model(generator, model, op, unit):
    text = vectors(generator, op, "--count", "1000000" if FULL and not SAN else "50000")
    status, out, err = run(model[unit], text)
    assert status == 0 and err == "", out + err
    assert counts(out) == ("PASS", text.count(b"\n"), 0, 0)
    if unit == "cmp":
        assert f"relation={op[4:]} " in out


@pytest.fixture(scope="module")
def rtl():
    """The Verilated programs. The quick tests take them as they are, and only when they are newer than their sources;
    the full ones build them."""
    folder = BUILD / "n8-fast"
    programs = {unit: folder / f"unit-fp_{unit}" for unit in UNITS}
    targets = [os.path.join(os.environ.get("BUILD", "build"), "n8-fast", f"unit-fp_{unit}") for unit in UNITS]
    if FULL and not SAN:
        env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "TANDEM_CHECK")}
        subprocess.run(["make", "-s", "-j2", "CFG=n8", "KIND=fast", *targets], cwd=ROOT, env=env,
                       stdin=subprocess.DEVNULL, check=True)
        return {unit: str(program) for unit, program in programs.items()}
    for unit, program in programs.items():
        dut = "cmp" if unit in ("eq", "le", "lt") else unit
        sources = [ROOT / "rtl/lib/fp/fp_pkg.sv", ROOT / f"rtl/lib/fp/fp_{dut}.sv",
                   ROOT / f"testcases/npu/unit/unit_fp_{unit}.c",
                   *ROOT.glob("testcases/npu/unit/fp_*"), *ROOT.glob("testcases/npu/unit/bench*")]
        if not program.exists() or program.stat().st_mtime < max(path.stat().st_mtime for path in sources):
            pytest.skip(
                f"not run: {program.name} is not built or older than its sources (make fp-vectors builds and runs all)")
    return {unit: str(program) for unit, program in programs.items()}


@pytest.mark.parametrize("op,unit", PAIRS)
def test_rtl(generator, rtl, op, unit):
    text = vectors(generator, op, "--count", "1000000" if FULL else "10000")
    status, out, err = run(rtl[unit], text)
    assert status == 0 and err == "", out + err
    assert counts(out) == ("PASS", text.count(b"\n"), 0, 0)


@pytest.mark.parametrize("jobs", ["-j1", "-j2"])
def test_make_hands_the_pipe_on(rtl, jobs):
    if not FULL:
        pytest.skip("not run: make from a pipe may build; TANDEM_CHECK=1 runs it")
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "TANDEM_CHECK")}
    for text, status in ((1000 * GOOD, 0), (1000 * GOOD + GOOD.replace("40400000", "40400001"), 2)):
        done = subprocess.run(["make", jobs, "unit", "UNIT=fp_add", "VECTORS=-", "CFG=n8", "KIND=fast"],
                              cwd=ROOT, env=env, input=text, capture_output=True, text=True, timeout=300)
        assert done.returncode == status, done.stdout + done.stderr
        assert counts(done.stdout) == ("PASS" if status == 0 else "FAIL", 1000, int(status != 0), 0)


# ---- vectors that are wrong ----

GOOD = "3F800000 40000000 40400000 00\n"

# unit, a good stream, the wrong line that is put at line 3, what is printed
WRONG = [
    ("add", GOOD, "3F800000 40000000 40400001 00", "got 40400000, expected 40400001"),
    ("add", GOOD, "3F800000 40000000 C0400000 00", "got 40400000, expected C0400000"),
    ("add", GOOD, "3F800000 BF800000 80000000 00", "got 00000000, expected 80000000"),
    ("add", GOOD, "80000000 80000000 00000000 00", "got 80000000, expected 00000000"),
    ("add", GOOD, "7F800000 3F800000 7F800001 00", "got 7F800000, expected 7FC00000"),  # NaN expected, infinity got
    ("add", GOOD, "7F800000 FF800000 7F800000 10", "got 7FC00000, expected 7F800000"),  # the other way
    ("sub", "40400000 40000000 3F800000 00\n", "3F800000 40000000 3F800000 00", "got BF800000, expected 3F800000"),
    ("mul", "40000000 40400000 40C00000 00\n", "00000001 00000001 00000001 03", "got 00000000, expected 00000001"),
    ("mul", "40000000 40400000 40C00000 00\n", "00000000 BF800000 00000000 00", "got 80000000, expected 00000000"),
    ("max", "3F800000 40000000 40000000 00\n", "00000000 80000000 80000000 00", "got 00000000, expected 80000000"),
    ("min", "3F800000 40000000 3F800000 00\n", "3F800000 7FC00000 7FC00000 00", "got 3F800000, expected 7FC00000"),
    ("i32_to_f32", "00000001 3F800000 00\n", "01000001 4B800001 01", "got 4B800000, expected 4B800001"),
    ("f32_to_i32", "3F800000 00000001 00\n", "3FC00000 00000001 01", "got 00000002, expected 00000001"),
    ("f32_to_i32", "3F800000 00000001 00\n", "7FC00000 7FFFFFFF 00",
     "got 00000000, expected 7FFFFFFF"),  # not flagged invalid: as it stands
    ("f32_to_i8", "3F800000 01 00\n", "C0200000 FE 01", "got FD, expected FE"),
    ("f32_to_i8", "3F800000 01 00\n", "BF800000 000000FF 00", "got FFFFFFFF, expected 000000FF"),
    ("f16_to_f32", "3C00 3F800000 00\n", "0001 33800001 00", "got 33800000, expected 33800001"),
    ("f32_to_f16", "3F800000 3C00 00\n", "477FF000 7BFF 05", "got 7C00, expected 7BFF"),
    ("eq", "3F800000 3F800000 1 00\n", "00000000 80000000 0 00", "got 1, expected 0"),
    ("le", "3F800000 3F800000 1 00\n", "7FC00000 7FC00000 1 00", "got 0, expected 1"),
    ("lt", "3F800000 40000000 1 00\n", "80000000 00000000 1 00", "got 0, expected 1"),
]


@pytest.mark.parametrize("unit,good,wrong,text", WRONG)
def test_wrong_vector(model, unit, good, wrong, text):
    assert run(model[unit], 5 * good)[0] == 0
    status, out, err = run(model[unit], 2 * good + wrong + "\n" + 2 * good)
    assert status == 1 and err == ""
    assert counts(out) == ("FAIL", 4, 1, 0)
    shown = [line for line in out.splitlines() if line.startswith("  stdin, line ")]
    assert len(shown) == 1 and shown[0].startswith("  stdin, line 3: a " + wrong.split()[0]) and shown[0].endswith(text)


def flip(line, bit):
    fields = line.split()
    width = len(fields[-2])
    fields[-2] = f"{int(fields[-2], 16) ^ 1 << bit:0{width}X}"
    return " ".join(fields)


def nan16(line):
    return len(line.split()[-2]) == 4 and int(line.split()[-2], 16) & 0x7FFF > 0x7C00


@pytest.mark.parametrize("op,unit", [pair for pair in PAIRS if pair[1] != "cmp"])
def test_one_bit_off_anywhere(generator, model, op, unit):
    """Every second of 32 lines with one bit of its result turned is found, at its place; only those."""
    lines = vectors(generator, op, "--count", "64").decode().splitlines()
    lines = [line for line in lines
             if line.split()[-2].upper() not in ("7FC00000", "FFC00000") and int(line.split()[-1], 16) != 0x10 and
             not nan16(line)]
    lines = lines[-32:]
    bits = {8: 31, 4: 15, 2: 7, 1: 0}[len(lines[0].split()[-2])]
    wrong = []
    for i in range(0, len(lines), 2):
        changed = flip(lines[i], i % (bits + 1))
        if bits == 31 and unit not in ("f32_to_i32",) and int(changed.split()[-2], 16) & 0x7FFFFFFF > 0x7F800000:
            continue  # would be a NaN in place of an infinity or a NaN: covered above
        if nan16(changed):
            continue
        lines[i] = changed
        wrong.append(i + 1)
    status, out, _ = run(model[unit], "\n".join(lines))
    assert status == 1 and len(wrong) > 8
    assert counts(out) == ("FAIL", len(lines) - len(wrong), len(wrong), 0)
    assert [int(n) for n in re.findall(r"^  stdin, line (\d+):", out, re.M)] == wrong[:10]
    assert f"... and {len(wrong) - 10} more" in out or len(wrong) <= 10


@pytest.mark.parametrize("op", ["f32_eq", "f32_le", "f32_lt"])
def test_one_wrong_line_of_many_for_the_comparator(generator, model, op):
    lines = vectors(generator, op, "--count", "0").decode().splitlines()
    lines[50000] = flip(lines[50000], 0)
    status, out, _ = run(model["cmp"], "\n".join(lines))
    assert status == 1 and counts(out) == ("FAIL", len(lines) - 1, 1, 0)
    assert f"relation=none closest={op[4:]} " in out and re.findall(r"^  stdin, line (\d+):", out, re.M) == ["50001"]


def test_any_nan_matches_a_nan(model):
    for nan in ("7FC00000", "FFC00000", "7F800001", "ffffffff"):
        assert run(model["add"], f"7F800000 FF800000 {nan} 10\n")[0] == 0
        assert run(model["max"], f"7FC12345 3F800000 {nan} 00\n")[0] == 0


def test_invalid_lines_follow_the_rule(model):
    """What the standard leaves open: any result is taken where the flags say invalid, the unit is held to the rule."""
    lines = ["7FC00000 7FFFFFFF 10", "FF800000 7FFFFFFF 10", "4F000000 80000000 10",
             "CF000001 7FFFFFFF 10", "7F800001 80000000 10", "3F800000 00000001 00"]
    status, out, _ = run(model["f32_to_i32"], "\n".join(lines) + "\n")
    assert status == 0 and out.endswith("passed=6 failed=0 excluded=0 by-rule=5\n")


def test_i8_with_eight_digits(model):
    assert run(model["f32_to_i8"],
               "BF800000 FFFFFFFF 00\nBF800000 FF 00\n3F800000 00000001 00\nC3000000 FFFFFF81 10\n")[0] == 0


def test_comparator_finds_the_relation(model):
    pairs = [("3F800000", "40000000"), ("3F800000", "3F800000"), ("40000000", "3F800000"), ("7FC00000", "3F800000")]
    for name, answers in (("lt", "1000"), ("le", "1100"), ("eq", "0100")):
        text = "".join(f"{a} {b} {r} 00\n" for (a, b), r in zip(pairs, answers))
        status, out, _ = run(model["cmp"], text)
        assert status == 0 and f"relation={name} passed=4 failed=0" in out
    status, out, _ = run(model["cmp"], "".join(f"{a} {b} {r} 00\n" for (a, b), r in zip(pairs, "1101")))
    assert status == 1 and "relation=none closest=le passed=3 failed=1" in out
    assert ("  relation lt: passed=2 failed=2\n  relation le: passed=3 failed=1\n  relation eq: passed=2 failed=2\n"
            in out)
    assert "stdin, line 4: a 7FC00000" in out
    status, out, _ = run(model["cmp"], "7FC00000 3F800000 0 10\n")
    assert status == 0 and "relation=lt,le,eq " in out


# ---- the form ----

@pytest.mark.parametrize("text", ["3f800000 40000000 40400000 00\r\n", "  3F800000\t40000000  40400000 00  \n",
                                  "\n\r\n" + GOOD + "   \n\n", GOOD[:-1], "3F800000 40000000 40400000 0\n"])
def test_forms_that_are_fine(model, text):
    status, out, err = run(model["add"], text)
    assert status == 0 and counts(out) == ("PASS", 1, 0, 0), out + err


MALFORMED = [("add", "3F800000 40000000 40400000"), ("add", "3F800000 40000000 00"),
             ("add", "3F800000 40000000 40400000 00 00"), ("add", "0x3F8000 40000000 40400000 00"),
             ("add", "3F80000G 40000000 40400000 00"), ("add", "3F8000000 40000000 40400000 00"),
             ("add", "3F8000 40000000 40400000 00"), ("add", "3F800000 40000000 40400000 000"),
             ("add", "3F800000 40000000 1 00"), ("add", "3FF0000000000000 4000000000000000 4008000000000000 00"),
             ("eq", "3F800000 40000000 2 00"), ("eq", "3F800000 40000000 01 00"),
             ("cmp", "3F800000 40000000 40400000 00"), ("i32_to_f32", GOOD.strip()), ("f32_to_i8", "3F800000 001 00"),
             ("f16_to_f32", "00003C00 3F800000 00"), ("f32_to_f16", "3F800000 00003C00 00"), ("add", "# comment"),
             ("add", "\x00\x01\x1b[31m" + "x" * 200), ("add", "1" * 70000)]


@pytest.mark.parametrize("unit,bad", MALFORMED)
def test_malformed_line(model, unit, bad):
    good = {"eq": "3F800000 40000000 0 00\n", "cmp": "3F800000 40000000 0 00\n", "i32_to_f32": "00000001 3F800000 00\n",
            "f32_to_i8": "3F800000 01 00\n", "f32_to_i16": "3F800000 0001 00\n", "f16_to_f32": "3C00 3F800000 00\n",
            "f32_to_f16": "3F800000 3C00 00\n"}.get(unit, GOOD)
    status, out, err = run(model[unit], 2 * good + bad + "\n" + good)
    assert status == 2 and out == ""
    assert (err.count("\n") == 1 and "stdin, line 3: " in err and "expected" in err and
            len(err) < 400 and err.strip().isprintable())


@pytest.mark.parametrize("text", ["", "\n", " \r\n\n"])
def test_no_vectors(model, text):
    status, out, err = run(model["add"], text)
    assert status == 2 and out == "" and "stdin: no vectors" in err and err.count("\n") == 1


def test_lines_across_blocks(model):
    """Lines of other lengths, so that the ends of the reader's blocks fall everywhere."""
    text = "".join(" " * (i % 41) + GOOD for i in range(20000))
    assert counts(run(model["add"], text)[1]) == ("PASS", 20000, 0, 0)
    status, out, _ = run(model["add"], text + "3F800000 40000000 40400001 00\n")
    assert status == 1 and "stdin, line 20001:" in out


def test_file(model, tmp_path):
    path = tmp_path / "v.txt"
    path.write_text(GOOD + GOOD.replace("40400000", "40400010"))
    result = tmp_path / "result"
    status, out, _ = run(model["add"], "", "--vectors", str(path), "--result", str(result))
    assert status == 1 and f"  {path}, line 2: " in out and f"vectors={path} passed=1 failed=1" in out
    text = result.read_text()
    assert "outcome=fail\n" in text and "signature=fp_add: vectors\n" in text and "line 2" in text
    for missing in (tmp_path / "none", tmp_path):
        status, out, err = run(model["add"], "", "--vectors", str(missing))
        assert status == 2 and str(missing) in err and err.count("\n") == 1


@pytest.mark.parametrize("args", [["--seed", "1"], ["--count", "1"], ["--case", "x"],
                                  ["--print-case"], ["--cycles", "5"], ["vectors=3"], ["--index", "0"]])
def test_vectors_stand_alone(model, args):
    status, out, err = run(model["add"], GOOD, "--vectors", "-", *args)
    assert status == 2 and out == "" and err.count("\n") == 1 and "--vectors: seed, count, case" in err


# ---- random cases of the same programs still run, and the vector's meaning agrees with Python's own rounding ----

@pytest.mark.parametrize("unit", UNITS)
def test_random_cases(model, unit):
    assert run(model[unit], "", "--seed", "5", "vectors=2000", "stall_in=30")[0] == 0


def test_sums_by_double_rounding_free_arithmetic(model):
    """Sums and products of 12-bit fractions are exact in a double: Python's conversion to binary32 is the third
    opinion."""
    lines = []
    for i in range(2000):
        a = struct.unpack("<f", struct.pack("<f", (i * 37 % 4096 - 2048) / 64))[0]
        b = struct.unpack("<f", struct.pack("<f", (i * 101 % 4096 - 2048) / 4096))[0]
        lines.append(" ".join(struct.pack(">f", v).hex() for v in (a, b, a * b)) + " 00")
    assert counts(run(model["mul"], "\n".join(lines))[1]) == ("PASS", 2000, 0, 0)
