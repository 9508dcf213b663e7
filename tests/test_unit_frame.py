"""scripts/unit_frame.py: frames of unit benches around several instances of a module."""
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
RTL = """module part #(
  parameter int unsigned N = 8,
  parameter bit Lane = 1'b0,
  localparam int unsigned Half = N / 2
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic            go_i,
  input  p::job_t         job_i,
  input  logic [Half-1:0] a_i,
  output logic [1:0]      y_o,
  output logic            done_o
);
endmodule
"""


def run(tmp_path, line):
    (tmp_path / "unit_part.c").write_text(line + "\n")
    (tmp_path / "part.sv").write_text(RTL)
    done = subprocess.run([sys.executable, str(ROOT / "scripts/unit_frame.py"), "unit_part.c",
                           "part.sv", "out/part_bench.sv"], cwd=tmp_path, capture_output=True, text=True, check=False)
    out = tmp_path / "out/part_bench.sv"
    return done, out.read_text() if out.exists() else ""


def test_frame(tmp_path):
    done, sv = run(tmp_path, "/* dut: part each Lane=0,1 shared: go_i numbered: job_i y_o */")
    assert done.returncode == 0, done.stderr
    assert sv == """// Generated from unit_part.c by scripts/unit_frame.py.
// verilator coverage_off
module part_bench #(
  parameter int unsigned N = 8,
  localparam int unsigned Half = N / 2
) (
  input logic clk_i,
  input logic rst_ni,
  input logic go_i,
  input p::job_t job0_i,
  input p::job_t job1_i,
  input logic [2*$bits(logic [Half-1:0])-1:0] a_i,
  output logic [1:0] y0_o,
  output logic [1:0] y1_o,
  output logic [2*$bits(logic)-1:0] done_o
);
  part #(.N(N), .Lane(0)) u_part0 (
    .clk_i(clk_i),
    .rst_ni(rst_ni),
    .go_i(go_i),
    .job_i(job0_i),
    .a_i(a_i[0*$bits(a_i)/2+:$bits(a_i)/2]),
    .y_o(y0_o),
    .done_o(done_o[0*$bits(done_o)/2+:$bits(done_o)/2])
  );
  part #(.N(N), .Lane(1)) u_part1 (
    .clk_i(clk_i),
    .rst_ni(rst_ni),
    .go_i(go_i),
    .job_i(job1_i),
    .a_i(a_i[1*$bits(a_i)/2+:$bits(a_i)/2]),
    .y_o(y1_o),
    .done_o(done_o[1*$bits(done_o)/2+:$bits(done_o)/2])
  );
endmodule
"""


@pytest.mark.parametrize("line, said", [
    ("/* dut: part each Lane=0,1 shared: gone_i */", "part: there is no port gone_i"),
    ("/* dut: part each Lane=0,1 shared: done_o */", "part: output done_o cannot be shared"),
    ("/* dut: part each Line=0,1 */", "part: there is no parameter Line"),
    ("/* dut: parts each Lane=0,1 */", "parts: no module header"),
])
def test_what_it_refuses(tmp_path, line, said):
    done, sv = run(tmp_path, line)
    assert done.returncode == 2 and sv == ""
    assert len(done.stderr.splitlines()) == 1 and said in done.stderr, done.stderr
