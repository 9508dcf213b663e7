/*
 * bench.h - shared by all unit benches: the command line, cases, the clock, ports by name, stalls, the scoreboard,
 * the report.
 *
 * A bench is one file unit_<module>.c that defines `unit_this_bench`. Its run function is the executor: it reads the
 * case (seed and knobs) and nothing else. In each cycle it sets inputs, calls unit_settle(), reads outputs, and calls
 * unit_edge().
 */
#ifndef UNIT_BENCH_H
#define UNIT_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cmodel.h"
#include "coverage/npu/npu_cov.h"
#include "score/score.h"
#include "tb.h"

/* One case in execution. */
typedef struct unit {
    const char *name;      /* of the unit under test, as in reports */
    uint64_t seed;         /* of the case; streams come from unit_stream() */
    const tb_knobs *knobs; /* resolved */
    void *state;           /* of the bench, zeroed, with its ports */
    uint64_t cycle;        /* rising edges since the case began, reset included */
    uint64_t max_cycles;   /* more of them are a hang */
    /* of all inputs at every edge: two runs with the same hash had the same stimulus, handshakes and length */
    uint64_t hash;
    tb_scoreboard sb;       /* the bench sets it up with unit_expect_init() */
    bool sb_used, compared; /* the bench compares results itself: through the scoreboard, through unit_expect_value() */
    tb_result *result;
    npu_cov *cov;          /* coverage; NULL: without --cov */
    tb_run run;            /* the design, and the checks of the units in the bench (tb/npu/score) */
    npu_score_ctx score;   /* their parameters of the design */
    tb_ddr mem;            /* memory of a bus of the unit, if it has one: created by the bench, released at the end of
                            * the case */
    tb_axi_profile timing; /* of that bus */
    uint64_t nowhere[64];  /* dummy storage for ports that do not exist */
} unit;

typedef struct unit_bench {
    const char *name;  /* of the module */
    const char *about; /* one line for --help */
    const tb_knob *knobs;
    size_t knob_count;
    /* Redraw knobs whose range depends on others (NULL: there are none). Part of the generator. */
    void (*constrain)(tb_knobs *knobs, uint64_t seed);
    size_t state_bytes; /* of unit.state; with the ports in it: TB_STATE(bench, PORTS) */
    tb_port_list ports;
    /*
     * Execute. Failures go through unit_fail() or the scoreboard; 0 or -1 (could not run: out of memory, no such port).
     */
    int (*run)(unit *u);
    bool no_reset; /* the module has no rst_ni */
    bool open_end; /* cases end in the middle of the traffic: no check for missing outputs */
    /*
     * Check a stream of vectors (--vectors) and print the counts; NULL: the unit has no vectors. `where` names the
     * stream. Failures go through unit_fail(). 0, or -1 with one line in err: the stream is malformed, empty or cannot
     * be read.
     */
    int (*vectors)(unit *u, FILE *in, const char *where, char *err, size_t err_size);
} unit_bench;

/* Every bench defines it: its name, description, table of knobs, and other fields. */
extern const unit_bench unit_this_bench;
#define UNIT_BENCH(NAME, ABOUT, KNOBS, ...)                                                                            \
    const unit_bench unit_this_bench = {.name = NAME, .about = ABOUT, TB_KNOBS_OF(KNOBS), .run = run, __VA_ARGS__}

/* ---- ports; values through tb_get() and tb_set() ---- */
/* Port of the module under test by name. An unknown name is noted as an error and gives a port to dummy storage. */
tb_sig unit_port(unit *u, const char *name);
/* Several of them. */
void unit_ports(unit *u, tb_ports ports);
/* `bytes` bytes at byte offset `at` of a port. Outside the port writes are ignored and zeros are read. */
void unit_set_slice(tb_sig port, size_t at, const void *src, size_t bytes);
void unit_get_slice(tb_sig port, size_t at, void *dst, size_t bytes);

/* ---- time ---- */
/* Hold rst_ni low for some cycles, then release it. Inputs keep the values of the bench. */
void unit_reset(unit *u);
/* Let combinational outputs follow the inputs. */
void unit_settle(unit *u);
/* One rising clock edge. False: stop the case (assertion failed, mismatch seen, hang). */
bool unit_edge(unit *u);

/*
 * A bus of the unit, driven and monitored by the run: its other side is active in unit_settle() and unit_edge(). The
 * timing is copied; its random stream is "bus_timing". NULL: noted as an error.
 */
tb_run_port *unit_bus(unit *u, tb_run_port_cfg cfg, const tb_axi_profile *timing);

/* ---- randomness ---- */
tb_rng unit_stream(const unit *u, const char *name);
/* Value of a knob. */
int64_t unit_knob(const unit *u, const char *name);

/* Bytes distributed like activations or weights: kind 0 uniform, 1 the ends of the range, 2 mostly zero, 3 small. */
void unit_fill_i8(tb_rng *rng, int kind, int8_t *dst, size_t count);
#define UNIT_DATA_KNOB                                                                                                 \
    { "data", 0, 3, TB_KNOB_ENUM, unit_data_names, NULL, "distribution of the data" }
extern const char *const unit_data_names[4];

/* Parameter EnInt16 of the configuration. */
#ifdef NPU_CFG_ENINT16
#define UNIT_INT16 (NPU_CFG_ENINT16 != 0)
#else
#define UNIT_INT16 false
#endif
/* Blocks, tasks and so on of INT16: none, all, or every second one at random. Without EnInt16 always none. */
#define UNIT_INT16_KNOB                                                                                                \
    { "int16", 0, 2, (tb_knob_kind)(TB_KNOB_ENUM | TB_KNOB_LATER), unit_int16_names, NULL, "INT16, with EnInt16" }
extern const char *const unit_int16_names[3];
/* Is the next one of INT16? `kind`: the value of the knob. */
bool unit_int16(tb_rng *rng, int kind);

/* One side of a handshake with stalls: `percent` of its cycles, in runs of 1..run cycles. */
typedef struct unit_stall {
    tb_rng rng;
    uint32_t percent;
    uint32_t run;
    uint32_t left;
    bool go;
} unit_stall;
/* `name`: of its random stream; the percentage and the run length are the knobs `stall_<name>` and `stall_run`. */
unit_stall unit_stall_make(const unit *u, const char *name);
/* `count` sides with the same knobs, each with a stream of its own; one of them. */
void unit_stalls(const unit *u, const char *name, unit_stall *stalls, uint32_t count);
unit_stall unit_stall_nth(const unit *u, const char *name, uint32_t number);
/* True in cycles without a stall. One call per cycle. */
bool unit_go(unit_stall *stall);

#define UNIT_STALL_KNOB(NAME, HELP)                                                                                    \
    { "stall_" NAME, 0, 95, TB_KNOB_WEIGHTED, NULL, unit_stall_weights, HELP }
#define UNIT_STALL_RUN_KNOB                                                                                            \
    { "stall_run", 1, 16, TB_KNOB_SMALL, NULL, NULL, "longest run of stalled or willing cycles" }
/* A third of the cases without a stall, few with extreme ones. */
extern const uint32_t unit_stall_weights[96];

/* ---- checks ---- */
/* Set up the scoreboard under the unit's name. `dim_name` of the innermost element, or NULL. 0 or -1. */
int unit_expect_init(unit *u, size_t elem_bytes, const char *dim_name, uint32_t dim, bool is_signed);
/* Compare with the next expected elements. */
void unit_check(unit *u, const void *actual, size_t count);
/*
 * Expect `count` elements in this cycle; the text is the position in the unit's own terms (block, pixel ...). False:
 * some differ, noted as a failure.
 */
bool unit_compare(unit *u, const void *actual, const void *expected, size_t count, const char *where, ...)
    __attribute__((format(printf, 5, 6)));
/* Note a failure: `kind` is a stable name for bucketing, the rest one line for a person. Later ones are dropped. */
void unit_fail(unit *u, const char *kind, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* got != expected of a single signal: one line with name and cycle. */
void unit_expect_value(unit *u, const char *signal, uint64_t got, uint64_t expected);
/* Call the checks of the units in the settled cycle without an edge: for outputs of the last edge. */
void unit_look(unit *u);
/*
 * At the end of the case: the checks of the units report missing outputs. This is a failure of the case, and so is a
 * case in which neither they nor the bench have checked anything.
 */
void unit_finish_checks(unit *u);
/* False once anything failed. */
bool unit_ok(const unit *u);

#endif
