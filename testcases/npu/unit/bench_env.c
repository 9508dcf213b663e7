/* bench_env.c - ports, clock, stalls and checks of a unit bench. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"

tb_sig unit_port(unit *u, const char *name) {
    const tb_sig sig = tb_sim_find(&u->run.sim, name);
    if (sig.ptr) {
        return sig;
    }
    tb_result_fail(u->result, TB_ERROR, "no port", "%s: module %s has no port %s", u->name, u->run.sim.cfg.shim->top,
                   name);
    return (tb_sig){.ptr = u->nowhere, .width = sizeof u->nowhere * 8};
}

void unit_ports(unit *u, tb_ports ports) {
    tb_ports_place next = TB_PORTS_FIRST;
    char name[64];
    for (size_t i = 0; tb_ports_next(&ports, &next, name, sizeof name); i++) {
        ports.sig[i] = unit_port(u, name);
    }
}

/*
 * The Verilated storage is little endian in its words and so are all hosts that the project supports, so bytes can be
 * copied.
 */
void unit_set_slice(tb_sig port, size_t at, const void *src, size_t bytes) {
    if (bytes > 0 && at + bytes <= tb_sig_bytes(port)) {
        memcpy((uint8_t *)port.ptr + at, src, bytes);
    }
}

void unit_get_slice(tb_sig port, size_t at, void *dst, size_t bytes) {
    if (bytes > 0 && at + bytes <= tb_sig_bytes(port)) {
        memcpy(dst, (const uint8_t *)port.ptr + at, bytes);
    } else {
        memset(dst, 0, bytes);
    }
}

void unit_settle(unit *u) {
    tb_run_settle(&u->run);
}

tb_run_port *unit_bus(unit *u, tb_run_port_cfg cfg, const tb_axi_profile *timing) {
    char err[256] = "";
    cfg.stream = "bus_timing";
    u->timing = *timing;
    u->run.cfg.profile = &u->timing;
    const int number = tb_run_port_open(&u->run, &cfg, err, sizeof err);
    if (number < 0) {
        tb_result_fail(u->result, TB_ERROR, "bind", "%s: %s", u->name, err);
    }
    return number < 0 ? NULL : u->run.port[number];
}

bool unit_ok(const unit *u) {
    return u->result->outcome == TB_PASS && !(u->sb_used && u->sb.mismatches > 0);
}

/* The bucket of a failed assertion is its name, which follows the word "assertion" (rtl/lib/assert.svh). */
static void note_stop(unit *u) {
    const tb_sim *sim = &u->run.sim;
    if (sim->interrupted || !sim->failure[0]) {
        unit_fail(u, "stopped", "cycle %" PRIu64 ": the simulation was stopped", u->cycle);
        return;
    }
    char kind[64] = "assertion";
    const char *name = strstr(sim->failure, "assertion ");
    if (name) {
        const size_t len = strlen("assertion ") + strcspn(name + strlen("assertion "), " :\n");
        snprintf(kind, sizeof kind, "%.*s", (int)len, name);
    }
    unit_fail(u, kind, "cycle %" PRIu64 ": %s", sim->failure_cycle, sim->failure);
}

/* A failure of the run is a failure of the case. */
static void take_failure(unit *u) {
    const tb_run_failure *f = &u->run.failure;
    u->cycle = u->run.sim.cycle;
    if (u->run.sim.stopped) {
        note_stop(u);
    } else if (tb_run_failed(&u->run)) {
        tb_result_fail(u->result, TB_FAIL, f->signature, "%s", f->message);
    }
}

/*
 * Inputs alone: outputs have random initial values until they are valid, and are compared with predictions anyway.
 */
static void hash_inputs(unit *u) {
    const tb_sim *sim = &u->run.sim;
    uint64_t hash = u->hash;
    for (const tb_shim_port *p = sim->ports, *end = p + sim->cfg.shim->nports; p < end; p++) {
        if (p->input) {
            hash = tb_hash_bytes(hash, p->ptr, tb_sig_bytes((tb_sig){p->ptr, p->width}));
        }
    }
    u->hash = hash;
}

bool unit_edge(unit *u) {
    tb_run_drive(&u->run);
    hash_inputs(u);
    tb_run_step(&u->run);
    take_failure(u);
    if (u->cycle >= u->max_cycles) {
        unit_fail(u, "hang", "cycle %" PRIu64 ": not finished within the cycle limit", u->cycle);
    }
    return unit_ok(u);
}

void unit_reset(unit *u) {
    tb_run_reset(&u->run);
    take_failure(u);
}

void unit_look(unit *u) {
    tb_run_look(&u->run);
    take_failure(u);
}

void unit_finish_checks(unit *u) {
    if (u->run.checks.count == 0 && !u->sb_used && !u->compared) {
        tb_result_fail(u->result, TB_ERROR, "no check",
                       "%s: nothing was checked, neither by a check of the unit nor by the bench", u->name);
    }
    tb_run_end(&u->run);
    take_failure(u);
}

tb_rng unit_stream(const unit *u, const char *name) {
    return tb_rng_stream(u->seed, name);
}

int64_t unit_knob(const unit *u, const char *name) {
    return tb_knobs_get(u->knobs, name);
}

/* clang-format off */
const uint32_t unit_stall_weights[96] = {
    60, [1 ... 9] = 2, [10 ... 49] = 2, [50 ... 89] = 1, [90 ... 95] = 1,
};
/* clang-format on */

const char *const unit_data_names[4] = {"uniform", "extreme", "sparse", "small"};

void unit_fill_i8(tb_rng *rng, int kind, int8_t *dst, size_t count) {
    static const int8_t ends[4] = {-128, -127, 127, 126};
    for (size_t i = 0; i < count; i++) {
        const uint64_t bits = tb_rng_u64(rng);
        switch (kind) {
        case 1:
            dst[i] = ends[bits & 3u];
            break;
        case 2:
            dst[i] = (bits & 7u) == 0 ? (int8_t)(uint8_t)(bits >> 56) : 0;
            break;
        case 3:
            dst[i] = (int8_t)((int)(bits & 7u) - 4);
            break;
        default:
            dst[i] = (int8_t)(uint8_t)(bits >> 56);
            break;
        }
    }
}

const char *const unit_int16_names[3] = {"no", "yes", "mixed"};

bool unit_int16(tb_rng *rng, int kind) {
    const bool odd = (tb_rng_u32(rng) & 1u) != 0;
    return UNIT_INT16 && (kind == 1 || (kind == 2 && odd));
}

unit_stall unit_stall_make(const unit *u, const char *name) {
    char key[64];
    snprintf(key, sizeof key, "stall_%s", name);
    unit_stall stall = {.rng = unit_stream(u, key)};
    stall.percent = (uint32_t)unit_knob(u, key);
    stall.run = (uint32_t)unit_knob(u, "stall_run");
    return stall;
}

unit_stall unit_stall_nth(const unit *u, const char *name, uint32_t number) {
    unit_stall stall = unit_stall_make(u, name);
    stall.rng = tb_rng_fork(&stall.rng, number);
    return stall;
}

void unit_stalls(const unit *u, const char *name, unit_stall *stalls, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        stalls[i] = unit_stall_nth(u, name, i);
    }
}

bool unit_go(unit_stall *stall) {
    if (stall->left == 0) {
        stall->go = !tb_rng_chance(&stall->rng, stall->percent, 100);
        stall->left = (uint32_t)tb_rng_range(&stall->rng, 1, stall->run);
    }
    stall->left--;
    return stall->go;
}

int unit_expect_init(unit *u, size_t elem_bytes, const char *dim_name, uint32_t dim, bool is_signed) {
    tb_sb_cfg cfg = {.unit = u->name, .elem_bytes = elem_bytes, .is_signed = is_signed};
    if (dim_name) {
        cfg.dim_name[0] = dim_name;
        cfg.dim[0] = dim;
    }
    if (tb_sb_init(&u->sb, &cfg) != 0) {
        tb_result_fail(u->result, TB_ERROR, "out of memory", "%s: out of memory", u->name);
        return -1;
    }
    u->sb_used = true;
    return 0;
}

void unit_check(unit *u, const void *actual, size_t count) {
    tb_sb_pop(&u->sb, u->cycle, actual, count);
}

bool unit_compare(unit *u, const void *actual, const void *expected, size_t count, const char *where, ...) {
    tb_sb_begin(&u->sb);
    tb_sb_push(&u->sb, expected, count);
    unit_check(u, actual, count);
    if (u->sb.mismatches == 0) {
        return true;
    }
    char place[128];
    char report[256];
    va_list args;
    va_start(args, where);
    vsnprintf(place, sizeof place, where, args);
    va_end(args);
    tb_sb_report(&u->sb, report, sizeof report);
    unit_fail(u, "mismatch", "%s; %s", place, report);
    return false;
}

void unit_fail(unit *u, const char *kind, const char *format, ...) {
    char signature[96];
    char text[448];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(signature, sizeof signature, "%s: %s", u->name, kind);
    tb_result_fail(u->result, TB_FAIL, signature, "%s: %s", u->name, text);
}

void unit_expect_value(unit *u, const char *signal, uint64_t got, uint64_t expected) {
    u->compared = true;
    if (got != expected) {
        unit_fail(u, signal, "%s, cycle %" PRIu64 ": got 0x%" PRIx64 ", expected 0x%" PRIx64, signal, u->cycle, got,
                  expected);
    }
}
