/* report.c - the output of `tandem run`. */
#include "cli.h"
#include "report/report.h"
#include "opt/opt.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BEAT_BYTES 16u
#define CHANNELS 2u

/* Counters of docs/npu/npu.md section 5 in the short form. */
enum {
    CYCLES = NPU_PERF_SEL_SEL_CYCLES,
    MESH = NPU_PERF_SEL_SEL_GEMM_COMPUTE,
    RD_BEATS = NPU_PERF_SEL_SEL_READ0_BEATS,
    WR_BEATS = NPU_PERF_SEL_SEL_WRITE0_BEATS,
    WAIT_ROWS = NPU_PERF_SEL_SEL_IM2COL_WAITS_ROWS,
    WAIT_WEIGHTS = NPU_PERF_SEL_SEL_IM2COL_WAITS_WEIGHTS,
    WAIT_OFM = NPU_PERF_SEL_SEL_IM2COL_WAITS_ROOM,
    LOAD = NPU_PERF_SEL_SEL_GEMM_LOAD,
    WRITE_BACK = NPU_PERF_SEL_SEL_GEMM_WRITE_BACK,
    POST_ROOM = NPU_PERF_SEL_SEL_POST0_WAITS_ROOM,
    POST_PSUM = NPU_PERF_SEL_SEL_POST0_WAITS_PSUM,
    ALU_BUSY = NPU_PERF_SEL_SEL_ALU_BUSY,
    ALU_OPERANDS = NPU_PERF_SEL_SEL_ALU_WAITS_OPERANDS,
    ALU_ROOM = NPU_PERF_SEL_SEL_ALU_WAITS_ROOM,
    POOL_BUSY = NPU_PERF_SEL_SEL_POOL_BUSY,
    POOL_INPUT = NPU_PERF_SEL_SEL_POOL_WAITS_INPUT,
    POOL_ROOM = NPU_PERF_SEL_SEL_POOL_WAITS_ROOM,
    GEMM_BUSY = NPU_PERF_SEL_SEL_GEMM_BUSY
};

static double percent(double part, double whole) {
    return whole > 0 ? 100.0 * part / whole : 0.0;
}

static void print_cycles(FILE *out, const char *name, uint64_t part, uint64_t whole) {
    fprintf(out, "    %-26s %12" PRIu64 " %5.1f %%\n", name, part, percent((double)part, (double)whole));
}

/* Cycles of each unit that had work. */
static void print_units(FILE *out, const uint64_t *p) {
    if ((p[GEMM_BUSY] | p[MESH]) != 0) {
        print_cycles(out, "GEMM load", p[LOAD], p[CYCLES]);
        print_cycles(out, "GEMM compute (mesh works)", p[MESH], p[CYCLES]);
        print_cycles(out, "GEMM write-back", p[WRITE_BACK], p[CYCLES]);
        print_cycles(out, "stall: input rows", p[WAIT_ROWS], p[CYCLES]);
        print_cycles(out, "stall: weights", p[WAIT_WEIGHTS], p[CYCLES]);
        print_cycles(out, "stall: room in ofm_buf", p[WAIT_OFM], p[CYCLES]);
        print_cycles(out, "post waits: send_buf", p[POST_ROOM] + p[POST_ROOM + 1], CHANNELS * p[CYCLES]);
        print_cycles(out, "post waits: partial sums", p[POST_PSUM] + p[POST_PSUM + 1], CHANNELS * p[CYCLES]);
    }
    if (p[ALU_BUSY] != 0) {
        const uint64_t stall = p[ALU_OPERANDS] + p[ALU_ROOM];
        print_cycles(out, "ALU busy", p[ALU_BUSY], p[CYCLES]);
        print_cycles(out, "ALU compute", p[ALU_BUSY] > stall ? p[ALU_BUSY] - stall : 0, p[CYCLES]);
        print_cycles(out, "stall: operands (load)", p[ALU_OPERANDS], p[CYCLES]);
        print_cycles(out, "stall: send_buf (write)", p[ALU_ROOM], p[CYCLES]);
    }
    if (p[POOL_BUSY] != 0) {
        const uint64_t stall = p[POOL_INPUT] + p[POOL_ROOM];
        print_cycles(out, "POOL busy", p[POOL_BUSY], p[CYCLES]);
        print_cycles(out, "POOL compute", p[POOL_BUSY] > stall ? p[POOL_BUSY] - stall : 0, p[CYCLES]);
        print_cycles(out, "stall: input (load)", p[POOL_INPUT], p[CYCLES]);
        print_cycles(out, "stall: send_buf (write)", p[POOL_ROOM], p[CYCLES]);
    }
    print_cycles(out, "read bus, both channels", p[RD_BEATS] + p[RD_BEATS + 1], CHANNELS * p[CYCLES]);
    print_cycles(out, "write bus, both channels", p[WR_BEATS] + p[WR_BEATS + 1], CHANNELS * p[CYCLES]);
}

/* The lower bounds of an operator as shares of its time; the largest bound is the relevant one. */
static void print_bounds(FILE *out, const tc_stats *s) {
    const uint64_t per_cycle = CHANNELS * BEAT_BYTES;
    const tc_bounds *b = &s->bounds;
    const uint64_t took = s->perf[CYCLES] != 0 ? s->perf[CYCLES] : s->cycles;
    const uint64_t bus_rd = (b->read_bytes + per_cycle - 1) / per_cycle;
    const uint64_t bus_wr = (b->write_bytes + per_cycle - 1) / per_cycle;
    if (b->op == NULL) {
        return;
    }
    fprintf(out, "  %s needs at least these cycles; share of the %" PRIu64 " with a task:\n", b->op, took);
    if (b->mac_cycles != 0) {
        print_cycles(out, "MAC bound", b->mac_cycles, took);
    }
    print_cycles(out, "read bus bound", bus_rd, took);
    print_cycles(out, "write bus bound", bus_wr, took);
}

static void add_to(tb_kv *kv, const char *key, uint64_t more) {
    const char *text = tb_kv_find(kv, key);
    uint64_t sum = 0;
    if (text == NULL || opt_number(text, 0, UINT64_MAX, &sum)) {
        (void)tb_kv_set_u64(kv, key, sum + more);
    }
}

void cli_add_work(tb_kv *extra, const tc_stats *s) {
    const uint64_t per_cycle = CHANNELS * BEAT_BYTES;
    const tc_bounds *b = &s->bounds;
    const uint64_t read = (b->read_bytes + per_cycle - 1) / per_cycle;
    const uint64_t write = (b->write_bytes + per_cycle - 1) / per_cycle;
    const uint64_t bus = read > write ? read : write;
    if (!s->measured || !s->has_time || b->op == NULL || s->perf[CYCLES] == 0) {
        return;
    }
    add_to(extra, "work_cases", 1);
    add_to(extra, "work_cycles", s->perf[CYCLES]);
    add_to(extra, "bound_mesh", b->mac_cycles);
    add_to(extra, "bound_read", read);
    add_to(extra, "bound_write", write);
    add_to(extra, "bound", b->mac_cycles > bus ? b->mac_cycles : bus);
}

void cli_print_stats(FILE *out, const tc_stats *s, uint32_t n, double cpu) {
    const uint64_t *p = s->perf;
    fprintf(out, "%s\n", s->what);
    fprintf(out, "  %-28s %s\n", "tasks", s->tasks);
    if (s->macs != 0) {
        fprintf(out, "  %-28s %" PRIu64 "\n", "MACs", s->macs);
    }
    if (!s->has_time) {
        fprintf(out, "  cycles, bus and counters: not measured, the model has no clock\n");
        return;
    }
    fprintf(out, "  %-28s %" PRIu64 "\n", "cycles, register accesses in", s->cycles);
    if (s->macs != 0) {
        const uint32_t peak = 2 * n * n;
        fprintf(out, "  %-28s %.1f %% of %u a cycle\n", "MAC utilisation",
                percent((double)s->macs, (double)s->cycles * peak), peak);
    }
    fprintf(out, "  %-28s %" PRIu64 " read, %" PRIu64 " written\n", "bytes moved (whole beats)",
            (p[RD_BEATS] + p[RD_BEATS + 1]) * BEAT_BYTES, (p[WR_BEATS] + p[WR_BEATS + 1]) * BEAT_BYTES);
    fprintf(out, "  %-28s %" PRIu64 "; share of them:\n", "cycles with a task", p[CYCLES]);
    print_units(out, p);
    print_bounds(out, s);
    const double sim_s = s->rtl_s + s->harness_s;
    fprintf(out, "  %-28s %.0f, golden model apart\n", "simulated cycles per second",
            sim_s > 0 ? (double)s->cycles / sim_s : 0.0);
    fprintf(out, "  %-28s %.1f %% of that time, the RTL takes the rest\n", "share of the testbench",
            percent(s->harness_s, sim_s));
    fprintf(out, "  %-28s %.2f s\n", "CPU time in all", cpu);
}

int cli_bus_json(const char *path, const char *json, char *err, size_t err_size) {
    return cli_written(rep_save(path, json, strlen(json)), path, err, err_size);
}
