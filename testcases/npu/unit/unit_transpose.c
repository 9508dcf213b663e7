/* dut: transpose */
/* Runs of blocks. The input stalls within and between blocks, the output at any time. */
#include "bench.h"

#define N ((uint32_t)NPU_CFG_N)

static const tb_knob knobs[] = {
    {"runs", 1, 10000, TB_KNOB_UNIFORM, NULL, NULL, "runs (the last block of each has in_last_i)"},
    {"blocks", 1, 64, TB_KNOB_SMALL, NULL, NULL, "most blocks of a run"},
    {"gap", 0, 100, TB_KNOB_SMALL, NULL, NULL, "most cycles between two runs"},
    UNIT_DATA_KNOB,
    UNIT_STALL_KNOB("in", "percent of cycles in which the source waits"),
    UNIT_STALL_KNOB("out", "percent of cycles in which the sink waits"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "runs", seed, 20, 200);
}

#define PORTS in_valid_i, in_ready_o, in_data_i, in_last_i, out_valid_o, out_ready_i
typedef struct box {
    TB_PORTS(ports, PORTS);
    int8_t in[NPU_CFG_N * NPU_CFG_N]; /* the block that is entering */
    uint32_t vec;                     /* its next vector */
    bool valid;                       /* that vector is offered */
    uint32_t left;                    /* blocks of the run, including the one that is entering */
    uint32_t gap;
    uint64_t runs;
    uint64_t in_vectors, out_vectors;
    tb_rng data, shape;
    int kind;
} box;

/* Next vector of the input, when it does not stall. */
static void drive(unit *u, box *b, bool go) {
    if (b->valid || b->runs == 0) {
        return;
    }
    if (b->left == 0 && b->vec == 0) {
        if (b->gap > 0) {
            b->gap--;
            return;
        }
        b->left = (uint32_t)tb_rng_range(&b->shape, 1, (uint64_t)unit_knob(u, "blocks"));
    }
    if (!go) {
        return;
    }
    if (b->vec == 0) {
        unit_fill_i8(&b->data, b->kind, b->in, sizeof b->in);
    }
    b->valid = true;
}

static void entered(const unit *u, box *b) {
    b->valid = false;
    b->in_vectors++;
    if (++b->vec < N) {
        return;
    }
    b->vec = 0;
    if (--b->left == 0) {
        b->runs--;
        b->gap = (uint32_t)tb_rng_range(&b->shape, 0, (uint64_t)unit_knob(u, "gap"));
    }
}

static int run(unit *u) {
    box *b = (box *)u->state;
    b->runs = (uint64_t)unit_knob(u, "runs");
    unit_stall in = unit_stall_make(u, "in");
    unit_stall out = unit_stall_make(u, "out");
    b->data = unit_stream(u, "data");
    b->shape = unit_stream(u, "shape");
    b->kind = (int)unit_knob(u, "data");
    unit_reset(u);
    while (unit_ok(u) && (b->runs > 0 || b->in_vectors != b->out_vectors)) {
        drive(u, b, unit_go(&in));
        const bool out_go = unit_go(&out);
        tb_set(b->in_valid_i, b->valid);
        tb_set(b->in_last_i, b->valid && b->left == 1 && b->vec == N - 1);
        unit_set_slice(b->in_data_i, 0, b->in + b->vec * N, N);
        tb_set(b->out_ready_i, out_go);
        unit_settle(u);
        b->out_vectors += tb_get(b->out_valid_o) && out_go;
        if (b->valid && tb_get(b->in_ready_o)) {
            entered(u, b);
        }
        unit_edge(u);
    }
    tb_set(b->in_valid_i, 0);
    tb_set(b->out_ready_i, 1);
    for (uint32_t i = 0; i < 3 * N && unit_ok(u); i++) { /* no output after the last block */
        unit_settle(u);
        unit_edge(u);
    }
    return 0;
}

UNIT_BENCH("transpose", "transposer", knobs, TB_STATE(box, PORTS), .constrain = constrain);
