"""The table of proofs for prove.py: claims, sources, and the bugs that each proof must find."""

FP = "rtl/lib/fp/fp_pkg.sv"
SV = "testcases/npu/unit/sv/"
READ = "read_verilog -sv -Irtl/lib "


class Proof:
    """name: group.case; claim: one line; scope: the inputs that it covers; script: lines of Yosys that prepare the
    module; model: options of `sat` that find one legal case (empty: the claim has no condition); prove: options of
    `sat`; wrong: (what, file, old text, new text), bugs that must be refuted; slow: only with --all."""

    def __init__(self, name, claim, scope, script, prove, model="", wrong=(), slow=False):
        self.name, self.claim, self.scope, self.script = name, claim, scope, script
        self.prove, self.model, self.wrong, self.slow = prove, model, tuple(wrong), slow


def comb(name, claim, scope, top, sources, params=(), cut=False, **more):
    """A module with assume_o and ok_o. cut: its multiplications are the same net, which becomes a free
    input."""
    script = [READ + " ".join(sources)]
    script += ["chparam -set %s %s %s" % (key, value, top) for key, value in params]
    script += ["hierarchy -check -top " + top, "proc", "flatten", "opt"]
    if cut:
        script += ["select -assert-count 1 t:$mul", "delete t:$mul", "opt_clean"]
    condition = "-set assume_o 1"
    return Proof(name, claim, scope, script, condition + " -prove ok_o 1 -show-inputs -show-outputs",
                 condition + " -show-inputs", **more)


# ---- binary32 ----
HALF_UP = ("a half is rounded up", FP, "inc = m[7] && (m[8] || m[6:0] != 7'd0);", "inc = m[7];")
NO_LOST = ("subnormal products forget the places shifted out", FP,
           "m[0] = m[0] || sh > 11'd47 || (p & ~(48'hFFFF_FFFF_FFFF << sh[5:0])) != 48'd0;", "")
NO_STICKY = ("the sum forgets the places shifted out", FP, "my[0] = 1'b1;", "my[0] = my[0];")
NO_FAR = ("shifts by 32 and more wrap", FP, "my = d > 8'd31 ? 32'd0 : ys >> d[4:0];", "my = ys >> d[4:0];")
SUB_EXP = ("a subnormal operand has exponent 0", FP, "ex = x[30:23] + {7'd0, x[30:23] == 8'd0};", "ex = x[30:23];")
SUM_OVERFLOW = ("a sum of exponent 255 is taken for a number", FP, "else if (ex == 8'd254 && l == 5'd0)",
                "else if (1'b0)")
OVERFLOW = ("exponent 255 is taken for a number", FP, "if (!e[10] && e >= 11'd255) begin",
            "if (!e[10] && e >= 11'd256) begin")


def add(low, high, swap, wrong=()):
    return comb("fp_add.%s%d-%d" % ("ba" if swap else "ab", low, high),
                "fp_add_f: nearest to the exact sum, ties to even",
                "all finite operands, exponents %d to %d apart, %s larger" % (low, high, "b" if swap else "a"),
                "prove_fp_add",
                [FP, "formal/prove_fp_add.sv"], [("DLo", low), ("DHi", high), ("Swap", int(swap))], wrong=wrong)


def special(name, mul, wrong):
    return comb(name, "fp_%s_f: NaN, infinities%s" % (("mul", ", zeros") if mul else ("add", "")),
                "all operands of which one is that", "prove_fp_special",
                [FP, "formal/prove_fp_special.sv"], [("Mul", int(mul))], wrong=wrong)


def convert(name, op, claim, wrong):
    return comb(name, claim, "all 2^32 inputs", "prove_fp_convert", [FP, "formal/prove_fp_convert.sv"],
                [("Op", op)], wrong=wrong)


def law(name, number, claim, scope="all operands", cut=False, wrong=()):
    return comb("law." + name, claim, scope, "prove_fp_law", [FP, "formal/prove_fp_law.sv"],
                [("Law", number)], cut=cut, wrong=wrong)


def binary32():
    gaps = [(0, 0), (1, 1), (2, 4), (5, 10), (11, 19), (20, 27), (28, 59), (60, 254)]
    # up to 7 positions apart nothing is shifted out, so the sum needs no sticky bit
    wrong = {0: [SUB_EXP, SUM_OVERFLOW], 1: [HALF_UP], 4: [NO_STICKY], 7: [NO_FAR]}
    for i, (low, high) in enumerate(gaps):
        yield add(low, high, False, wrong.get(i, ()))
    for low, high in gaps[1:]:
        yield add(low, high, True)
    yield special("fp_add.special", False,
                  [("inf - inf is inf", FP, "(y[30:23] == 8'hFF && x[31] != y[31])) fp_add_f = FpNan;",
                    "1'b0) fp_add_f = FpNan;")])
    yield comb("fp_mul.finite", "fp_mul_f: nearest to the exact product, ties to even",
               "all finite operands but 0, the integer product left open between powers of 2",
               "prove_fp_mul",
               [FP, "formal/prove_fp_mul.sv"], cut=True, wrong=[HALF_UP, NO_LOST, OVERFLOW])
    yield special("fp_mul.special", True,
                  [("inf * 0 is inf", FP, "|| a[30:0] == 31'd0 || b[30:0] == 31'd0)\n        fp_mul_f = FpNan;",
                    ")\n        fp_mul_f = FpNan;")])
    yield convert("fp_i32_to_f32", 0, "i32_to_f32_f: nearest, ties to even",
                  [HALF_UP,
                   ("-2^31 is 0", FP, "m = v[31] ? 32'd0 - v : v;", "m = v[31] ? {1'b0, 31'd0 - v[30:0]} : v;")])
    yield convert("fp_f32_to_i8", 1, "f32_to_i8_f: half away from zero, -127..127, NaN 0",
                  [("halves are cut off", FP, "t[0] && (!q[8] || t[1] || rest != 23'd0)", "1'b0"),
                   ("128 is not clamped", FP, "if (!sum[10] && sum[9:7] != 3'd0) f32_to_q8_f = 8'h7F;\n    else if",
                    "if")])
    yield convert("fp_f32_to_i32", 2, "fp_f32_to_i32_f: nearest, ties to even, saturates, NaN 0",
                  [("a half is rounded up", FP, "w[31] && (w[32] || w[30:0] != 31'd0)", "w[31]"),
                   ("NaN saturates", FP, "if (fp_is_nan_f(v)) fp_f32_to_i32_f = 32'd0;",
                    "if (1'b0) fp_f32_to_i32_f = 32'd0;")])
    yield comb("fp_cmp", "fp_lt_f, fp_le_f, fp_eq_f: the order of the values, NaN unordered",
               "all 2^64 pairs", "prove_fp_cmp", [FP, "formal/prove_fp_cmp.sv"],
               wrong=[("-0 is less than +0", FP, "fp_lt_f = a[31] && (a[30:0] | b[30:0]) != 31'd0;",
                       "fp_lt_f = a[31];")])


def laws():
    yield law("add-commutes", 0, "a + b = b + a")
    yield law("mul-commutes", 1, "a * b = b * a", "all operands, the integer product left open", cut=True)
    yield law("add-inverse", 2, "x + (-x) = +0", "all finite x", wrong=[
        ("the zero takes the sign of x", FP, "fp_add_f = {x[31] & y[31], 31'd0};", "fp_add_f = {x[31], 31'd0};")])
    yield law("mul-one", 3, "x * 1 = x", "all x; NaN: 0x7FC00000", wrong=[
        ("a subnormal operand has a leading one", FP, "ma = {a[30:23] != 8'd0, a[22:0]};", "ma = {1'b1, a[22:0]};")])
    yield law("add-zero", 4, "x + 0 = x, -0 + 0 = +0", "all x; NaN: 0x7FC00000")
    yield law("double", 5, "x + x = x * 2", "all x")
    yield law("add-negated", 6, "(-a) + (-b) = -(a + b), exact zeros apart")
    yield law("mul-negated", 7, "(-a) * b = -(a * b)", "all operands, the integer product left open", cut=True)
    yield law("round-trip", 8, "int32 -> binary32 -> int32 is the identity", "integers of up to 24 bits and sign")
    yield law("i8-monotonic", 9, "a <= b: f32_to_i8_f(a) <= f32_to_i8_f(b)")


# ---- small building blocks ----
FIFO, ARB = "rtl/lib/fifo.sv", "rtl/lib/arbiter.sv"


def blocks():
    yield comb("arbiter", "one grant, to the lowest request", "7 requesters, all patterns",
               "prove_arbiter", [ARB, "formal/prove_arbiter.sv"],
               wrong=[("the highest two are confused", ARB, "req_i & (~req_i + 1'b1)", "req_i & ~(req_i << 1)")])
    for depth in (3, 4):
        yield fifo("fifo.count-%d" % depth, depth, 0, "room, words and count agree; never over- or underflows",
                   "from reset for ever, by induction", "-tempinduct -maxsteps 20",
                   [("a push is counted when full", FIFO, "assign push     = wvalid_i && wready_o;",
                     "assign push     = wvalid_i;")])
        yield fifo("fifo.data-%d" % depth, depth, 1, "words leave in order, unchanged",
                   "Width 2, the first %d cycles from reset" % (2 * depth + 4),
                   "-tempinduct -tempinduct-baseonly -maxsteps %d" % (2 * depth + 4),
                   [("the write pointer does not wrap", FIFO,
                     "wptr_q <= (wptr_q == Pw'(Depth - 1)) ? '0 : wptr_q + 1'b1;",
                     "wptr_q <= (wptr_q == Pw'(Depth - 1)) ? wptr_q : wptr_q + 1'b1;")])


def fifo(name, depth, data, claim, scope, how, wrong):
    script = [READ + FIFO + " formal/prove_fifo.sv", "chparam -set Depth %d -set Data %d prove_fifo" % (depth, data),
              "hierarchy -check -top prove_fifo", "proc",
              "flatten", "memory_map", "async2sync", "dffunmap", "opt_clean"]
    return Proof(name, claim, scope, script, "-set-init-zero %s -prove ok_o 1 -show-inputs -show-outputs" % how,
                 wrong=wrong)


# ---- the mesh: `mesh` and `mesh_struct` (a netlist of pe) ----
MESH = ["rtl/npu/mesh/mesh_pkg.sv", "rtl/npu/mesh/mesh.sv"]
MESH += ["rtl/npu/mesh/struct/%s.sv" % name for name in ("pe", "delay_line", "mesh_struct")]
MESH += [SV + "mesh_equiv_bench.sv"]


def mesh_state(n):
    """Pairs of the same register in both descriptions: those without sums, the sums of the elements in order of rows,
    and slots that are always 0."""
    rest, sums = [], []
    for row in range(n):
        for col in range(n):
            at, pe = (n - 1 - row) * n + (n - 1 - col), "u_struct.g_row[%d].g_col[%d]." % (row, col)
            for fast, net in (("a0", "a0_q"), ("a1", "a1_q"), ("wi", "b_q"),
                              ("w1", "u_pe.reg1_q"), ("w2", "u_pe.reg2_q")):
                rest.append(("u_fast.%s[%d]" % (fast, at), pe + net))
            for fast, net in (("sm", "sel_q"), ("pm", "p_q")):
                rest.append(("u_fast.%s[%d]" % (fast, at), ",".join([pe + net] * 8)))
            for j in range(2):  # the sums of the last row are the outputs
                fast = "u_fast.s%d[%d]" % (j, at) if row < n - 1 else "fast%d_o[%d:%d]" % (j, 32 * col + 31, 32 * col)
                sums.append((fast, pe + "s%d_q" % j))
    for edge in range(1, n):
        for k in range(edge):
            for fast, line in (("k0", "g_left[%d].u_act0"), ("k1", "g_left[%d].u_act1"), ("kw", "g_top[%d].u_wgt")):
                rest.append(("u_fast.%s[%d]" % (fast, edge * n + edge - k),
                             "u_struct.%s.g_regs.line_q[%d:%d]" % (line % edge, 8 * k + 7, 8 * k)))
            for fast, line in (("ks", "g_left[%d].u_sel"), ("kp", "g_top[%d].u_p")):
                # the registers of all edges are one there: on the left, as `sat` forgets what it was told of a signal
                # when that stands on the left again
                rest.append(("u_struct.%s.g_regs.line_q[%d]" % (line % edge, k), "u_fast.%s[%d][0]" % (fast, k)))
                if edge == n - 1:
                    rest.append(("u_fast.%s[%d][7:1]" % (fast, k), ",".join(["u_fast.%s[%d][0]" % (fast, k)] * 7)))
    zeros = [("u_fast.s%d[%d]" % (j, n * n + col), "32'h0") for j in range(2) for col in range(n)]
    return rest, sums, zeros


def joined(option, pairs):
    return " ".join("%s %s %s" % (option, left, right) for left, right in pairs)


def mesh_step(name, n, claim, goal, slow=False, wrong=()):
    rest, sums, zeros = mesh_state(n)
    script = [READ + " ".join(MESH), "chparam -set N %d mesh_equiv_bench" % n,
              "hierarchy -check -top mesh_equiv_bench", "proc", "flatten", "memory_map", "opt_expr", "opt_clean"]
    same = joined("-set-at 1", rest + sums + zeros)
    return Proof(name, claim, "N = %d, any state, any inputs, one step" % n, script,
                 "-seq 2 -prove-skip 1 %s %s -show-inputs" % (same, joined("-prove", goal)), wrong=wrong, slow=slow)


def mesh():
    down = ("the wrong weight moves down", "rtl/npu/mesh/mesh.sv", "wv[i] = (w1[i] & pm[i]) | (w2[i] & ~pm[i]);",
            "wv[i] = (w2[i] & pm[i]) | (w1[i] & ~pm[i]);")
    load = ("both registers load", "rtl/npu/mesh/mesh.sv", "w2[i] = (wi[i] & ~pm[i]) | (w2[i] & pm[i]);",
            "w2[i] = wi[i];")
    sel = ("sel takes the other register", "rtl/npu/mesh/mesh.sv", "wv[i] = (w1[i] & sm[i]) | (w2[i] & ~sm[i]);",
           "wv[i] = (w2[i] & sm[i]) | (w1[i] & ~sm[i]);")
    for n in (1, 2, 4):
        rest, sums, zeros = mesh_state(n)
        yield mesh_step("mesh.state-%d" % n, n, "mesh = mesh_struct: weights, activations, p, sel, skew",
                        rest + zeros, wrong={1: [load], 2: [down]}.get(n, ()), slow=n > 2)
        if n > 2:
            continue
        for i, pair in enumerate(sums):
            yield mesh_step("mesh.sum-%d.%d" % (n, i), n, "mesh = mesh_struct: sum %d of element %d" % (i % 2, i // 2),
                            [pair], slow=n > 1, wrong=[sel] if n == 1 and i == 0 else ())
    length, loads = 8, 4
    rest, _, zeros = mesh_state(1)
    script = mesh_step("", 1, "", []).script
    phases = " ".join("-set-at %d wgt_p_i %d" % (t, t <= loads) for t in range(1, length + 1))
    yield Proof("mesh.start-1", "mesh = mesh_struct from any two states",
                "N = 1, after %d enabled cycles, half with p = 1" % length, script,
                "-seq %d -prove-skip %d -set en_i 1 %s %s -show-inputs" %
                (length, length - 1, phases, joined("-prove", rest + zeros)))


# ---- the transposer: `transpose` and `transpose_struct` (a netlist of cells) ----
def transpose():
    sources = (["rtl/npu/post/transpose.sv"] +
               ["rtl/npu/post/struct/%s.sv" % name for name in ("transpose_cell", "transpose_struct")] +
               [SV + "transpose_equiv_bench.sv"])
    side = ("the left row enters upside down", sources[0], "cell_a[i*N+N-1] = in_data[8*i+:8];",
            "cell_a[(N-1-i)*N+N-1] = in_data[8*i+:8];")
    end = ("the flush ends a vector early", sources[0], "if (blk_end) begin",
           "if (blk_end || (flush_q && cnt_q == Ln'(N - 2))) begin")
    for n in (4, 8):
        script = [READ + " ".join(sources), "chparam -set N %d transpose_equiv_bench" % n,
                  "hierarchy -check -top transpose_equiv_bench", "proc", "flatten", "memory_map",
                  "async2sync", "dffunmap", "setattr -set keep 1 w:u_struct.legal", "opt_clean"]
        same = [("u_fast.cell_a[%d]" % ((n - 1 - row) * n + n - 1 - col),
                 "u_struct.g_row[%d].g_col[%d].here" % (row, col)) for row in range(n) for col in range(n)]
        same += [("u_fast.cnt_q", "u_struct.vec_q"), ("u_fast.right_q", "u_struct.right_q"),
                 ("u_fast.flush_q,u_fast.full_q", "u_struct.state_q"),
                 ("u_struct.legal", "1'b1"), ("out_valid_o[0]", "out_valid_o[1]"), ("fast_o", "struct_o")]
        goal = same + [("in_ready_o[0]", "in_ready_o[1]")]
        yield Proof("transpose.step-%d" % n, "transpose = transpose_struct: cells, control and outputs",
                    "N = %d, any state that is reached, any inputs, one step" % n, script,
                    "-seq 2 -prove-skip 1 %s %s -show-inputs" % (joined("-set-at 1", same), joined("-prove", goal)),
                    wrong=[side, end] if n == 4 else ())
    reset = [("u_fast.cnt_q", "u_struct.vec_q"), ("u_fast.right_q", "u_struct.right_q"),
             ("u_fast.flush_q,u_fast.full_q", "u_struct.state_q"), ("u_struct.legal", "1'b1"),
             ("out_valid_o[0]", "out_valid_o[1]")]
    yield Proof("transpose.reset-4", "transpose = transpose_struct: a reset makes control and validity the same",
                "N = 4, any two states", [line.replace("N 8", "N 4") for line in script],
                "-seq 2 -prove-skip 1 -set-at 1 rst_ni 0 %s -show-inputs" % joined("-prove", reset))


# ---- the accumulators: `acc` and `acc_struct` (a netlist of cells) ----
ACC = ["rtl/npu/acc/acc.sv", "rtl/npu/acc/struct/acc_cell.sv", "rtl/npu/acc/struct/acc_struct.sv",
       SV + "acc_equiv_bench.sv"]


def acc_state(n):
    """Pairs of the same register in both descriptions: control, and the data of each cell (those of stream 0 first)."""
    control = [("u_fast.slot_q", "u_struct.write_q"), ("fast_valid_o", "struct_valid_o")]
    for flag in ("first_q", "last_q"):
        control.append(("u_fast." + flag, ",".join("u_struct.g_flag[%d].%s" % (c, flag) for c in range(n - 1, 0, -1))))
    cells = []
    for j in range(2):
        for col in range(n):
            cell, bits = "u_struct.g_col[%d].u_cell%d." % (col, j), "[%d:%d]" % (32 * col + 31, 32 * col)
            cells.append([("fast%d_o%s" % (j, bits), "struct%d_o%s" % (j, bits)),
                          ("u_fast.q%d[%d]" % (j, col), cell + "read_q")])
            cells[-1] += [("u_fast.m%d[%d]" % (j, slot * n + col), cell + "mem[%d]" % slot) for slot in range(n)]
    return control, cells


def acc():
    add = ("the sum of a first block is added to", ACC[0], "keep[c] = {32{~first[c]}};", "keep[c] = '1;")
    ahead = ("the word of this cycle is read", ACC[0], "q1[c] = m1[{slot_next, c[Aw-1:0]}];",
             "q1[c] = m1[{slot_q, c[Aw-1:0]}];")
    flags = ("the first flag is a cycle late in column 0", ACC[0], "assign first = {first_q, first_i};",
             "assign first = {first_q, first_q[0]};")
    for n in (4, 8):
        control, cells = acc_state(n)
        script = [READ + " ".join(ACC), "chparam -set N %d acc_equiv_bench" % n,
                  "hierarchy -check -top acc_equiv_bench", "proc", "flatten", "memory_map",
                  "async2sync", "dffunmap", "opt_expr", "opt_clean"]
        step, scope = "-seq 2 -prove-skip 1 %s %s -show-inputs", "N = %d, any state, any inputs, one step" % n
        yield Proof("acc.control-%d" % n, "acc = acc_struct: address, flags, validity", scope, script,
                    step % (joined("-set-at 1", control), joined("-prove", control)), slow=n > 4)
        for i, cell in enumerate(cells):
            wrong = {(4, 0): [add, flags], (4, n): [ahead]}.get((n, i), ())
            yield Proof("acc.cell-%d.%d" % (n, i), "acc = acc_struct: memory and sum of column %d, stream %d" %
                        (i % n, i // n), scope, script,
                        step % (joined("-set-at 1", control + cell), joined("-prove", cell)), wrong=wrong, slow=n > 4)
        yield Proof("acc.reset-%d" % n, "acc = acc_struct: a reset makes the control of both the same",
                    "N = %d, any two states" % n, script,
                    "-seq 2 -prove-skip 1 -set-at 1 rst_ni 0 %s -show-inputs" % joined("-prove", control), slow=n > 4)


def all_proofs():
    return list(mesh()) + list(transpose()) + list(acc()) + list(binary32()) + list(laws()) + list(blocks())
