"""scripts/sv_style.py: the style of SystemVerilog sources."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import sv_style  # noqa: E402

BAD = """module a #(
    parameter int unsigned N = 8,  // not a list (
    localparam int unsigned M = $clog2(
        N
    )
  ) (
    input  logic clk_i,
        input  logic [N-1:0] a_i

);
  b #(
      .N(N)
  ) u_b (
      .a_i(a_i && (clk_i ||
                   !clk_i)),
`ifdef X
      .b_i(")")
`endif
  );
  assign y = f(a_i,
               b_i);
  `ASSERT(one_hot, a_i)
endmodule
"""
GOOD = """module a #(
  parameter int unsigned N = 8,  // not a list (
  localparam int unsigned M = $clog2(
    N
  )
) (
  input  logic clk_i,
  input  logic [N-1:0] a_i

);
  b #(
    .N(N)
  ) u_b (
    .a_i(a_i && (clk_i ||
                 !clk_i)),
`ifdef X
    .b_i(")")
`endif
  );
  assign y = f(a_i,
               b_i);
  `ASSERT(one_hot, a_i)
endmodule
"""


def test_indentation():
    text, complaints = sv_style.restyle(BAD)
    assert text == GOOD
    assert (2, "4 blanks, expected 2") in complaints and (7, "4 blanks, expected 2") in complaints
    assert sv_style.restyle(GOOD) == (GOOD, [(22, "label one_hot, expected UpperCamel")])


def test_program(tmp_path):
    file = tmp_path / "a.sv"
    file.write_text(BAD.replace("one_hot", "OneHot").replace("endmodule", "\tx = 1;  \nendmodule"))
    run = [str(ROOT / "scripts/sv_style.py")]
    found = subprocess.run([*run, str(file)], capture_output=True, text=True, check=False)
    assert found.returncode == 1 and f"{file}:23: a tab" in found.stdout and "label" not in found.stdout
    assert f"{file}:23: blanks at the end of the line" in found.stdout
    fixed = subprocess.run([*run, "--fix", str(file)], capture_output=True, text=True, check=False)
    assert fixed.returncode == 0 and fixed.stdout == ""
    assert subprocess.run([*run, str(file)], check=False).returncode == 0
    missing = subprocess.run([*run, str(tmp_path / "none.sv")], capture_output=True, text=True, check=False)
    assert missing.returncode == 2 and "none.sv" in missing.stderr
