"""scripts/gen_taps.py: ports and signals of units, what a list may say, and what it refuses."""
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
RTL = """package p;
  typedef struct packed {
    logic [7:0] size;  // a comment; with marks
    logic       last;
  } job_t;
endpackage
module part #(
  parameter int unsigned W = 4,  // bits
  localparam int unsigned Half = W / 2
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic            a_i, b_i,  // two of one type
  input  p::job_t         job_i,
  output logic signed [Half-1:0] y_o
);
  localparam int unsigned Deep = 2 * W;
  localparam int unsigned Other = 3;
  logic [Deep-1:0] level_q, next;
  leaf u_leaf (.clk_i);
endmodule
module leaf (input logic clk_i);
  logic [1:0] state_q;
  logic unread_q;
endmodule
"""


def run(tmp_path, text, source='static const char *reg = "now=level_q also=state_q";'):
    (tmp_path / "rtl").mkdir(exist_ok=True)
    (tmp_path / "rtl/part.sv").write_text(RTL)
    (tmp_path / "taps.list").write_text(text)
    (tmp_path / "reader.c").write_text('/* "unread_q" */ ' + source)
    done = subprocess.run([sys.executable, str(ROOT / "scripts/gen_taps.py"), "--list", "taps.list",
                           "--rtl", "rtl", "--registers", "reader.c", "--sv", "out/t.sv", "--vlt", "out/t.vlt",
                           "--near", "out/t.near"],
                          cwd=tmp_path, capture_output=True, text=True, check=False)
    return done, *((tmp_path / "out" / f).read_text() if (tmp_path / "out" / f).exists()
                   else "" for f in ("t.sv", "t.vlt"))


def test_ports_and_registers(tmp_path):
    done, sv, vlt = run(tmp_path, "part\n")
    assert done.returncode == 0, done.stderr
    assert sv.split("\n", 2)[2] == """module tap_part #(
  parameter int unsigned W = 4,
  localparam int unsigned Half = W / 2
) (
  input logic rst_ni,
  input logic a_i,
  input logic b_i,
  input logic [$bits(p::job_t)-1:0] job_i,
  input logic signed [Half-1:0] y_o
);
endmodule

bind part tap_part #(.W(W)) u_tap_part (.*);
"""
    assert 'public_flat_rd -module "tap_*" -var "*"' in vlt
    assert '-module "part" -var "level_q"' in vlt and '-module "leaf" -var "state_q"' in vlt and "unread_q" not in vlt


def test_what_a_line_may_say(tmp_path):
    done, sv, _ = run(tmp_path, "# comment\npart as piece -*\n  +rst_ni +next +job_i.{size,last}  # continued\n"
                      "  +edges=edges(clk_i) +width=W\n")
    assert done.returncode == 0, done.stderr
    for line in ("module tap_piece #(", "  localparam int unsigned Deep = 2 * W",
                 "  input logic rst_ni", "  input logic [Deep-1:0] next", "  input logic [7:0] job_size_i",
                 "  input logic job_last_i", "  input logic clk_i", "  input logic [31:0] width",
                 "  always_ff @(posedge clk_i) edges <= edges + 8'd1;",
                 "u_tap_piece (.job_size_i(job_i.size), .job_last_i(job_i.last), .width(32'(W)), .*);"):
        assert line in sv, line
    assert "Other" not in sv and "a_i" not in sv


def test_signals_that_are_looked_at_in_every_cycle(tmp_path):
    done, sv, _ = run(tmp_path, "near: en_i valid_i\npart\nnear:\n   ready_o # continued\n")
    assert done.returncode == 0 and sv.count("endmodule") == 1, done.stderr
    assert (tmp_path / "out/t.near").read_text() == "en_i\nvalid_i\nready_o\n"


@pytest.mark.parametrize("text, said", [
    ("leef\n", "taps.list:1: there is no module leef"),
    ("\npart +nothing\n", "taps.list:2: part: there is no port or signal nothing"),
    ("part -nothing\n", '"-nothing" is not understood'),
    ("part +job_i.name\n", "there is no field job_i.name"),
    ("part +a_i.name\n", "there is no field a_i.name"),
    ("part *\n", '"*" is not understood'),
])
def test_bad_lists(tmp_path, text, said):
    done, sv, _ = run(tmp_path, text)
    assert done.returncode == 2 and sv == ""
    assert len(done.stderr.splitlines()) == 1 and said in done.stderr, done.stderr


def test_files_that_are_as_they_should_be_keep_their_time(tmp_path):
    run(tmp_path, "part\n")
    before = (tmp_path / "out/t.sv").stat().st_mtime_ns
    run(tmp_path, "part  # the same\n")
    assert (tmp_path / "out/t.sv").stat().st_mtime_ns == before
