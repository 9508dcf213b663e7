"""The report on a hang: its tables against the RTL, and what it says about a memory that stops."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TANDEM = os.path.join(ROOT, "build", "n4-tap", "tandem")
# unit of the report -> module, where the name differs
MODULES = {"HU_QUEUE": "gemm_queue", "HU_CHAN": "alu_chan", "HU_WALK": "alu_walk",
           "HU_MATH": "alu_math", "HU_SEND": "send_buf", "HU_RD": "dma_rd", "HU_WR": "dma_wr",
           "HU_REGS": "npu_regs", "HU_CREDIT": "gemm_mac", "HU_GEMM_SLOT": "task_slot", "HU_ALU_SLOT": "task_slot",
           "HU_POOL_SLOT": "task_slot"}
# parts: their module; those that are not here are called after their unit, u_tiles in im2col im2col_tiles
PARTS = {"u_queue": "fifo", "u_track": "fifo", "u_jobs": "fifo", "u_blk_job": "fifo", "u_blk_data": "fifo",
         "u_blk_last": "fifo", "u_info": "fifo", "u_skid": "fifo", "u_out": "fifo", "u_split.u_job": "fifo",
         "u_split": "dma_split", "u_stream.u_jobs": "fifo", "u_axil": "axil_slave"}


def text(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as f:
        return f.read()


def source(module):
    for folder, _, files in os.walk(os.path.join(ROOT, "rtl")):
        if module + ".sv" in files:
            return text(folder, module + ".sv")
    raise AssertionError(f"no module {module}")


def taps():
    """The generated taps, and the configuration that makes registers readable."""
    hang = sorted(f for f in os.listdir(os.path.join(ROOT, "tb", "npu")) if re.fullmatch(r"hang\w*\.c", f))
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "scripts/gen_regs.py", "regs/npu.regs", "--out", folder], cwd=ROOT, check=True)
        subprocess.run([sys.executable, "scripts/gen_taps.py", "--list", "tb/npu/taps.list", "--rtl", "rtl",
                        "--rtl", folder, "--sv", os.path.join(folder, "sv"), "--vlt", os.path.join(folder, "vlt")] + [
                            a for f in hang for a in ("--registers", os.path.join("tb", "npu", f))],
                       cwd=ROOT, check=True)
        return text(folder, "sv"), text(folder, "vlt")


SV, VLT = taps()


def public():
    return set(re.findall(r'public_flat_rd -module "(\w+)" -var "(\w+)"', VLT))


def tapped(module):
    body = re.search(rf"^module tap_{module}\b(.*?)^endmodule", SV, re.M | re.S)
    return set(re.findall(r"^\s*(?:input )?logic\s*(?:\[.*?\] )?(\w+)[,;\n]", body[1], re.M)) if body else set()


def part_of(module, register):
    """The module that has a register of hang_state.c, "part:register" or "register", and the register."""
    part, _, name = register.rpartition(":")
    return PARTS.get(part, f"{module}_{part[2:]}") if part else module, name


def rows():
    """(unit, state register, state names, [(part, register)])"""
    body = text("tb", "npu", "hang_state.c")
    body = body[body.index("state_rows[] = {"):body.index("};", body.index("state_rows[] = {"))]
    for m in re.finditer(r'\{(HU_\w+),\s*(NULL|"[\w:]+"),\s*(NULL|"[\w ]+"),\s*((?:"[^"]*"\s*)+)\}', body):
        levels = "".join(re.findall(r'"([^"]*)"', m[4])).split()
        yield m[1], m[2].strip('"'), m[3].strip('"').split(), [l.split("=")[1].split("[")[0] for l in levels]


def module_of(unit):
    return MODULES.get(unit, unit[3:].lower())


class Tables(unittest.TestCase):
    def test_every_machine_by_name(self):
        listed = set()
        for unit, reg, states, _ in rows():
            if reg == "NULL":
                continue
            module, _ = part_of(module_of(unit), reg)
            src = source(module)
            enum = re.search(r"typedef enum logic \[.*?\] \{(.*?)\} state_e;", src)
            if enum:
                want = [s.strip() for s in enum[1].split(",")]
            else:
                found = re.findall(r"localparam logic \[2:0\] (\w+) = 3'd(\d);", src)
                want = [n for n, _ in sorted(found, key=lambda f: int(f[1]))]
            self.assertEqual(states, want, module)
            listed.add(module)
        for folder, _, files in os.walk(os.path.join(ROOT, "rtl")):
            for f in files:
                if f.endswith(".sv") and "typedef enum" in text(folder, f):
                    self.assertIn(f[:-3], listed, "a machine that the report does not show")

    def test_states_of_the_rules(self):
        """enum { IFM_IDLE, IFM_PREP ... } of hang_wait_*.c"""
        prefixes = {"IFM": "ifm_ld", "WGT": "wgt_ld", "PAR": "par_ld", "IM": "im2col",
                    "POST": "post_groups", "ALU": "alu",
                    "POOL": "pool", "LD": "pool_ld", "SEQ": "pool_seq", "OUT": "pool_out"}
        seen = set()
        for f in ("hang_wait_gemm.c", "hang_wait_post.c", "hang_wait_units.c"):
            for body in re.findall(r"^enum \{ (.*?) \};", text("tb", "npu", f), re.M | re.S):
                value = 0
                for item in (i.strip() for i in body.split(",")):
                    name, _, given = item.partition(" = ")
                    value = int(given) if given else value
                    prefix, _, state = name.partition("_")
                    if prefix in prefixes:
                        enum = re.search(r"typedef enum logic \[.*?\] \{(.*?)\} state_e;", source(prefixes[prefix]))
                        want = [s.strip().lower() for s in enum[1].split(",")]
                        self.assertEqual(want[value], state.replace("_", "").lower(), name)
                        seen.add(prefix)
                    value += 1
        self.assertEqual(seen, set(prefixes))

    def test_registers_are_public(self):
        known = public()
        for unit, reg, _, levels in rows():
            module = module_of(unit)
            for level in levels + ([] if reg == "NULL" else [reg]):
                where, name = part_of(module, level)
                self.assertTrue((where, name) in known or name in tapped(where), f"{where}.{name}")

    def test_limits(self):
        pkg = text("rtl", "npu", "npu_pkg.sv")
        self.assertRegex(pkg, r"IfmAw = 14;")
        self.assertRegex(pkg, r"OfmDepth = 256;")
        for i, name in enumerate(("Par", "Psum", "Wgt", "Ifm", "Alu", "Pool")):
            self.assertRegex(pkg, rf"RdId{name} = {i};")
        for i, name in enumerate(("Gemm", "Pool", "Alu")):
            self.assertRegex(pkg, rf"WrId{name} = {i};")


@unittest.skipUnless(os.path.exists(TANDEM), "not run: make CFG=n4 KIND=tap build/n4-tap/tandem")
class BrokenMemory(unittest.TestCase):
    def hang(self, test, broken):
        with tempfile.TemporaryDirectory() as folder:
            result = os.path.join(folder, "result")
            out = subprocess.run([TANDEM, "test", test, "--run-seed", "8",
                                  "--break", broken, "--case-dir", folder, "--result", result],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
            self.assertEqual(out.returncode, 1, out.stdout)
            return re.search(r"^signature=(.*)$", text(result), re.M)[1], out.stdout

    def test_root_is_the_memory(self):
        for test, broken in (("conv", "m0.R:3"), ("conv", "m1.AR:2"), ("eltwise", "m1.W:1"), ("eltwise", "m0.AW:0"),
                             ("reduce", "m0.R:9"), ("pool", "m0.B:0"), ("linear", "m1.B:0"), ("sequence", "m1.R:9")):
            with self.subTest(test=test, broken=broken):
                signature, out = self.hang(test, broken)
                port, channel = broken.split(":")[0].split(".")
                self.assertEqual(signature, f"watchdog:hang:memory.{channel}")
                self.assertRegex(out, rf"waits for the memory \({port} {channel}\)")
                self.assertRegex(out, rf"(?m)^root: the memory .*{port}")
                self.assertNotIn("also stuck", out)
                self.assertNotIn("this design has no", out)
                report = out[out.index("\nhang:"):]
                self.assertLessEqual(max(len(l) for l in report.splitlines()), 110)

    @unittest.skipUnless(os.environ.get("TANDEM_CHECK"), "not run: a convolution of 4 million cycles (make check)")
    def test_long_work_is_no_hang(self):
        """The mesh multiplies padding for 100,000 cycles and more without a word on the bus, and rests between blocks
        now and then."""
        done = subprocess.run([TANDEM, "test", "conv", "--seed", "0x16b480ef0c0c6b16", "k=0", "kw=255", "kh=255"],
                              stdout=subprocess.PIPE, text=True, timeout=600, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main()
