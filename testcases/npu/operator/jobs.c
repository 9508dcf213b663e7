/*
 * jobs.c - several operators at the same time on GEMM, ALU and POOL, several for one unit among them; before that each
 * one alone. Both times every result is compared with its definition (convolutions: with each other). Two jobs of one
 * unit may depend on each other.
 */
#include "jobs.h"

#include "act.h"
#include "copy.h"
#include "eltwise.h"
#include "pool.h"
#include "reduce.h"
#include "rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_JOBS 6u

enum { MIX_ANY, MIX_UNITS, MIX_ALU, MIX_POOL, MIX_GEMM, MIX_VECTOR, MIX_COUNT };
static const char *const mix_names[MIX_COUNT] = {"any", "units", "alu", "pool", "gemm", "vector"};
static const uint32_t mix_weight[MIX_COUNT] = {4, 8, 1, 1, 1, 2};

enum { DRAWN, ZEROS, ONES, RAMP };
static const char *const value_names[] = {"drawn", "zeros", "ones", "ramp"};
static const char *const plain_names[] = {"plain", "zeros", "ones", "ramp"}; /* of the knob `data` of the operators */

static const tb_knob knobs[] = {
    {"jobs", 1, MAX_JOBS, TB_KNOB_UNIFORM, NULL, NULL, "operators"},
    {"mix", 0, MIX_COUNT - 1, TB_KNOB_ENUM, mix_names, mix_weight,
     "units: any; each unit in turn; only ALU, POOL or GEMM; vector: ALU and POOL"},
    {"skip", 0, (1 << MAX_JOBS) - 1, TB_KNOB_UNIFORM, NULL, NULL,
     "bit i: operator i is skipped (0 unless pinned, to reduce a failure)"},
    {"alone", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: each operator alone first"},
    {"chain", 0, 1, TB_KNOB_UNIFORM, NULL, NULL,
     "1: two more jobs, the first and the last: the last one reads what the first one writes"},
    TENSOR_KNOBS,
    {"cut", 0, 6, (tb_knob_kind)(TB_KNOB_UNIFORM | TB_KNOB_LATER), NULL, NULL,
     "sizes of all operators are halved so often (for shrinking)"},
    {"values", 0, RAMP, (tb_knob_kind)(TB_KNOB_ENUM | TB_KNOB_LATER), value_names, NULL,
     "data of all operands (for shrinking)"},
    {"writes", 0, 1, (tb_knob_kind)(TB_KNOB_WEIGHTED | TB_KNOB_LATER), NULL, tc_writes_weight, TC_WRITES_HELP},
};

static const tensor_kind *const alu_kinds[] = {&eltwise_kind, &act_kind,  &reduce_kind,
                                               &rows_kind,    &copy_kind, &upsample_kind};

typedef struct one {
    const tensor_kind *kind;
    tb_knobs knobs;
    uint64_t seed;
    tensor_op *op;
} one;

typedef struct set {
    one one[MAX_JOBS];
    npu_job job[MAX_JOBS + 2];
    uint32_t count;
    bool chained;
    jobs_chain chain;
    uint64_t alone_cycles;
} set;

/* Unit of job i. */
static npu_unit draw_unit(tb_rng *rng, uint32_t mix, uint32_t i) {
    static const npu_unit turn[] = {NPU_UNIT_GEMM, NPU_UNIT_POOL, NPU_UNIT_ALU};
    const uint32_t any = (uint32_t)tb_rng_range(rng, 0, 2);
    switch (mix) {
    case MIX_ALU:
        return NPU_UNIT_ALU;
    case MIX_POOL:
        return NPU_UNIT_POOL;
    case MIX_GEMM:
        return NPU_UNIT_GEMM;
    case MIX_VECTOR:
        return i % 2 == 0 ? NPU_UNIT_ALU : NPU_UNIT_POOL;
    case MIX_UNITS:
        return turn[i % 3];
    default:
        return turn[any];
    }
}

/* Reduced, if the operator allows it. */
static void cut_down(const tc_run *run, one *o) {
    static const char *const sizes[] = {"w", "h", "c", "len"};
    char ignored[256];
    for (uint32_t i = 0; i < tc_knob(run->knobs, "cut"); i++) {
        for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
            const int64_t before = tb_knobs_get(&o->knobs, sizes[k]);
            if (before > 1 && tb_knobs_set(&o->knobs, sizes[k], before / 2) == 0 &&
                tc_check(o->kind->test, run->n, &o->knobs, ignored, sizeof ignored) != 0) {
                tb_knobs_set(&o->knobs, sizes[k], before);
            }
        }
    }
}

/* Operator i, with knobs drawn by its own test. */
static int draw_one(tc_run *run, uint32_t i, one *o) {
    const tb_rng base = tb_rng_stream(run->seed, "jobs");
    static const char *const taken[] = {"gap", "place", "bus"};
    tb_rng rng = tb_rng_fork(&base, i);
    char text[32];
    const npu_unit unit = draw_unit(&rng, tc_knob(run->knobs, "mix"), i);
    const size_t which = (size_t)tb_rng_range(&rng, 0, sizeof alu_kinds / sizeof alu_kinds[0] - 1);
    o->kind = unit == NPU_UNIT_GEMM ? &jobs_conv_kind : unit == NPU_UNIT_POOL ? &pool_kind : alu_kinds[which];
    o->seed = tb_rng_u64(&rng);
    if (o->kind == &jobs_conv_kind) {
        o->knobs = *run->knobs;
        return 0;
    }
    tb_knobs_init(&o->knobs, o->kind->test->knobs, o->kind->test->knob_count);
    for (size_t k = 0; k < sizeof taken / sizeof taken[0]; k++) {
        const char *name = tb_knobs_get_name(run->knobs, taken[k]);
        snprintf(text, sizeof text, "%" PRId64, tb_knobs_get(run->knobs, taken[k]));
        if (tb_knobs_pin_value(&o->knobs, taken[k], name != NULL ? name : text, run->err, sizeof run->err) != 0) {
            return -1;
        }
    }
    if (tc_generate(o->kind->test, run->n, o->seed, false, &o->knobs, run->err, sizeof run->err) != 0) {
        return -1;
    }
    cut_down(run, o);
    const uint32_t values = tc_knob(run->knobs, "values");
    return values == DRAWN ? 0 : tb_knobs_pin_value(&o->knobs, "data", plain_names[values], run->err, sizeof run->err);
}

static int draw_all(tc_run *run, set *s) {
    const uint32_t jobs = tc_knob(run->knobs, "jobs");
    for (uint32_t i = 0; i < jobs; i++) {
        one *o = &s->one[s->count];
        if ((tc_knob(run->knobs, "skip") >> i & 1u) != 0) {
            continue;
        }
        if (draw_one(run, i, o) != 0) {
            return -1;
        }
        o->op = calloc(1, o->kind->size);
        if (o->op == NULL) {
            return tc_no_memory(run);
        }
        s->count++;
    }
    return 0;
}

static int prepare_all(tc_run *run, set *s) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        bytes += s->one[i].kind->bytes(run->n, &s->one[i].knobs);
    }
    int rc = tc_open(run, tensor_memory(bytes + (UINT64_C(2) << 20), 8 * s->count), TENSOR_TIMEOUT_US);
    for (uint32_t i = 0; i < s->count && rc == 0 && tc_ok(run); i++) {
        rc = s->one[i].kind->prepare(run, &s->one[i].knobs, s->one[i].seed, s->one[i].op);
    }
    if (rc == 0 && tc_ok(run) && s->chained) {
        rc = jobs_chain_prepare(run, run->knobs, run->seed, &s->chain);
    }
    return rc;
}

static void verify_all(tc_run *run, set *s) {
    for (uint32_t i = 0; i < s->count && tc_ok(run); i++) {
        tensor_verify(run, s->one[i].kind, s->one[i].op);
    }
}

/* Each one alone; afterwards everything is as before. */
static int run_alone(tc_run *run, set *s) {
    int rc = 0;
    for (uint32_t i = 0; i < s->count && rc == 0 && tc_ok(run); i++) {
        const tensor_kind *kind = s->one[i].kind;
        const uint64_t begin = npu_dev_cycles(run->dev);
        const npu_status status = kind->run(&run->npu, s->one[i].op);
        s->alone_cycles += npu_dev_cycles(run->dev) - begin;
        if (status != NPU_OK) {
            tc_driver_failed(run, kind->test->name, status, NPU_OK);
            return 0;
        }
        tensor_verify(run, kind, s->one[i].op);
        rc = tensor_again(run, kind, s->one[i].op);
    }
    return rc;
}

static void describe(tc_run *run, const set *s) {
    tc_stats *st = &run->stats;
    size_t used = 0;
    st->measured = true;
    st->bounds.op = "the set";
    for (uint32_t i = 0; i < s->count; i++) {
        const tc_bounds *b = &s->one[i].op->bounds;
        st->bounds.mac_cycles += b->mac_cycles;
        st->bounds.read_bytes += b->read_bytes;
        st->bounds.write_bytes += b->write_bytes;
        const int more =
            snprintf(st->what + used, sizeof st->what - used, "%s%s", i == 0 ? "" : "; ", s->one[i].op->what);
        used += more < 0 ? 0 : (size_t)more;
        used = used < sizeof st->what ? used : sizeof st->what - 1;
    }
    snprintf(st->tasks, sizeof st->tasks, "of %u operators at the same time (cycles of one after another: %" PRIu64 ")",
             s->count, s->alone_cycles);
}

/* All jobs of the set, the chain around the others. */
static npu_status start_all(tc_run *run, set *s, uint32_t *jobs) {
    npu_status status = NPU_OK;
    uint32_t count = 0;
    if (s->chained) {
        status = jobs_chain_start(&run->npu, &s->chain, 0, &s->job[count++]);
    }
    for (uint32_t i = 0; i < s->count && status == NPU_OK; i++) {
        status = s->one[i].kind->start(&run->npu, s->one[i].op, &s->job[count++]);
    }
    if (s->chained && status == NPU_OK) {
        status = jobs_chain_start(&run->npu, &s->chain, 1, &s->job[count++]);
    }
    *jobs = count;
    return status;
}

static void run_together(tc_run *run, set *s) {
    uint32_t jobs = 0;
    npu_status status = npu_perf_clear(&run->npu);
    if (status == NPU_OK) {
        status = start_all(run, s, &jobs);
    }
    const tensor_clock begin = tensor_now(run);
    if (status == NPU_OK) {
        status = npu_jobs_run(&run->npu, s->job, jobs);
    }
    tensor_measure(run, begin);
    if (status == NPU_OK) {
        status = npu_perf_read(&run->npu, run->stats.perf, NPU_PERF_COUNT);
    }
    if (status != NPU_OK) {
        tc_driver_failed(run, "jobs", status, NPU_OK);
        return;
    }
    for (uint32_t i = 0; i < jobs; i++) {
        if (s->job[i].status != NPU_OK) {
            tc_driver_failed(run, "a job of a good run", s->job[i].status, NPU_OK);
            return;
        }
    }
    describe(run, s);
}

static int run_both(tc_run *run, set *s) {
    const int rc = tb_knobs_get(run->knobs, "alone") != 0 ? run_alone(run, s) : 0;
    if (rc == 0 && tc_ok(run)) {
        run_together(run, s);
        verify_all(run, s);
        if (tc_ok(run) && s->chained) {
            jobs_chain_verify(run, &s->chain);
        }
    }
    return rc;
}

static int execute(tc_run *run) {
    set *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return tc_no_memory(run);
    }
    s->chained = tb_knobs_get(run->knobs, "chain") != 0;
    int rc = draw_all(run, s);
    if (rc == 0) {
        rc = prepare_all(run, s);
    }
    if (rc == 0 && tc_ok(run)) {
        rc = run_both(run, s);
    }
    for (uint32_t i = 0; i < s->count; i++) {
        tensor_release(s->one[i].kind, s->one[i].op);
        free(s->one[i].op);
    }
    jobs_chain_release(&s->chain);
    free(s);
    return rc;
}

static int check(uint32_t n, const tb_knobs *given, char *err, size_t err_size) {
    const uint32_t all = (1u << tc_knob(given, "jobs")) - 1;
    (void)n;
    if ((tc_knob(given, "skip") & all) == all) {
        return opt_fail(err, err_size, "skip: expected a number that leaves one of the operators");
    }
    return 0;
}

static void generate(const tc_gen *g) {
    gen_start(g);
    gen_draw_in(g, "jobs", 2, MAX_JOBS);
    gen_put(g, "skip", 0);
    gen_put(g, "cut", 0);
    gen_put(g, "values", 0);
    if (g->plain) {
        gen_put(g, "chain", 0);
    }
    gen_put(g, "alone", gen_chance(g, "alone", 3, 4) ? 1 : 0);
}

const tc_test tc_jobs = {.name = "jobs",
                         .help = "several operators at the same time on all units, and one after another: same results",
                         .is_operator = true,
                         TB_KNOBS_OF(knobs),
                         .generate = generate,
                         .check = check,
                         .execute = execute};
