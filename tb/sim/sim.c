#include "sim_priv.h"
#include "mutant.h"
#include "opt/opt.h"
#include "report/report.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <time.h>

/*
 * Time is sampled in short runs of cycles: a single timed cycle would be too long because of cold caches of the clock's
 * code. So the first cycles of a run only warm up.
 */
#define TIMED_EVERY 1024u
#define TIMED_RUN 40u
#define TIMED_WARM 8u

/* Signal handlers can reach nothing but a global. */
static volatile sig_atomic_t caught_signal;

static void on_signal(int number) {
    caught_signal = number;
}

void tb_sim_catch_signals(void) {
    struct sigaction sa;
    memset(&sa, 0, sizeof sa);
    sa.sa_handler = on_signal;
    sa.sa_flags = (int)SA_RESETHAND;
    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
}

int tb_sim_signal(void) {
    return (int)caught_signal;
}

uint64_t tb_get_field(tb_sig s, uint32_t lsb, uint32_t bits) {
    uint64_t v;
    if (s.width <= 64) {
        v = tb_get(s) >> lsb;
    } else {
        const uint32_t *w = (const uint32_t *)s.ptr;
        const uint32_t words = (s.width + 31) / 32;
        const uint32_t first = lsb / 32;
        v = 0;
        for (uint32_t i = 0; i < 3 && first + i < words; i++) {
            const int shift = (int)(i * 32) - (int)(lsb % 32);
            v |= shift >= 64 ? 0 : shift >= 0 ? (uint64_t)w[first + i] << shift : (uint64_t)w[first + i] >> -shift;
        }
    }
    return bits >= 64 ? v : v & ((UINT64_C(1) << bits) - 1);
}

void tb_set_field(tb_sig s, uint32_t lsb, uint32_t bits, uint64_t v) {
    const uint64_t mask = bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    v &= mask;
    if (s.width <= 64) {
        tb_set(s, (tb_get(s) & ~(mask << lsb)) | (v << lsb));
        return;
    }
    uint32_t *w = (uint32_t *)s.ptr;
    for (uint32_t done = 0; done < bits;) {
        const uint32_t bit = (lsb + done) % 32;
        const uint32_t take = 32 - bit < bits - done ? 32 - bit : bits - done;
        const uint32_t m = (take == 32 ? UINT32_MAX : (UINT32_C(1) << take) - 1) << bit;
        uint32_t *word = &w[(lsb + done) / 32];
        *word = (*word & ~m) | (((uint32_t)(v >> done) << bit) & m);
        done += take;
    }
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void calibrate(tb_sim *sim) {
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 64; i++) {
        const uint64_t a = now_ns();
        const uint64_t d = now_ns() - a;
        best = d < best ? d : best;
    }
    sim->clock_cost_ns = best;
}

tb_sig tb_sim_find(const tb_sim *sim, const char *name) {
    for (size_t i = 0; i < sim->cfg.shim->nports; i++) {
        if (strcmp(sim->ports[i].name, name) == 0) {
            return (tb_sig){.ptr = sim->ports[i].ptr, .width = sim->ports[i].width};
        }
    }
    return sim_part_find(sim, name);
}

int tb_sim_port(const tb_sim *sim, const char *name, uint32_t width, bool input, tb_sig *out, char *err,
                size_t err_size) {
    const char *top = sim->cfg.shim->top;
    const tb_sig s = tb_sim_find(sim, name);
    if (s.ptr == NULL) {
        return opt_fail(err, err_size, "%s: there is no port %s", top, name);
    }
    if (tb_sim_is_input(sim, s) != input) {
        return opt_fail(err, err_size, "%s: port %s: expected an %s", top, name, input ? "input" : "output");
    }
    if (width != 0 && s.width != width) {
        return opt_fail(err, err_size, "%s: port %s has %u bits, expected %u", top, name, s.width, width);
    }
    *out = s;
    return 0;
}

/* A clock or a reset, an input of one bit. */
static int open_wire(const tb_sim *sim, const char *name, uint8_t **wire, char *err, size_t err_size) {
    tb_sig sig = {.ptr = NULL, .width = 0};
    const int rc = name != NULL ? tb_sim_port(sim, name, 1, true, &sig, err, err_size) : 0;
    *wire = (uint8_t *)sig.ptr;
    return rc;
}

/* Behind the last "rst" or "reset" of a name; NULL: it has neither. */
static const char *behind_reset(const char *name) {
    const char *tail = NULL;
    for (const char *at = name; *at != '\0'; at++) {
        tail = strncasecmp(at, "rst", 3) == 0 ? at + 3 : strncasecmp(at, "reset", 5) == 0 ? at + 5 : tail;
    }
    return tail;
}

/* Does the name say that the reset is active low (rst_n, rst_ni, aresetn, resetb, rst_bn, nreset)? */
static bool reads_low(const char *name) {
    const char *tail = behind_reset(name);
    char end[8] = "";
    if (tail == NULL || strlen(tail) >= sizeof end || strcasecmp(tail, "_in") == 0) {
        const size_t length = strlen(name);
        return length > 2 && strcasecmp(name + length - 2, "_n") == 0;
    }
    for (size_t i = 0; tail[i] != '\0'; i++) {
        end[i] = (char)(tail[i] | 0x20); /* small letters; '_' becomes 0x7f */
    }
    size_t n = strlen(end);
    n -= n > 1 && end[n - 1] == 'i' && (end[n - 2] == 'n' || end[n - 2] == 0x7f) ? 1 : 0;
    n -= n > 0 && end[n - 1] == 0x7f ? 1 : 0;
    const char last = n > 0 ? end[n - 1] : '\0';
    return (last == 'n' && n <= 3) || ((last == 'b' || last == 'l') && n == 1) ||
           (name[0] | 0x20) == 'n'; /* nrst, nreset */
}

/* A clock with its reset, which is active from the start. */
static int open_clock(tb_sim *sim, unsigned i, const tb_clock *c, char *err, size_t err_size) {
    const char *top = sim->cfg.shim->top;
    const char *name = c->rst != NULL ? c->rst : c->rst_n;
    if (c->rst != NULL && c->rst_n != NULL) {
        return opt_fail(err, err_size, "%s: resets %s and %s: expected one for a clock", top, c->rst_n, c->rst);
    }
    if (open_wire(sim, c->clk, &sim->clocks[i], err, err_size) != 0 ||
        open_wire(sim, name, &sim->reset[i], err, err_size) != 0) {
        return -1;
    }
    sim->released |= (uint8_t)(c->rst_n != NULL ? 1u << i : 0);
    if (sim->reset[i] != NULL) {
        *sim->reset[i] = c->rst != NULL;
    }
    if (name != NULL && sim->warning[0] == '\0' && reads_low(name) != (c->rst_n != NULL)) {
        snprintf(sim->warning, sizeof sim->warning,
                 "reset %.40s is taken as active %s, but its name reads as active %s", name,
                 c->rst_n != NULL ? "low" : "high", c->rst_n != NULL ? "high" : "low");
    }
    return 0;
}

static int open_clocks(tb_sim *sim, char *err, size_t err_size) {
    const tb_sim_cfg *cfg = &sim->cfg;
    const tb_clock one = {.clk = cfg->clk, .rst_n = cfg->rst_n, .rst = cfg->rst};
    sim->rising = 1;
    if (cfg->nclocks == 0) {
        const int rc = open_clock(sim, 0, &one, err, err_size);
        sim->clk = sim->clocks[0];
        return rc;
    }
    if (cfg->nclocks > TB_CLOCKS || cfg->clk != NULL || cfg->rst_n != NULL || cfg->rst != NULL) {
        return opt_fail(err, err_size, "%s: expected one clock, or a table of at most %u", cfg->shim->top, TB_CLOCKS);
    }
    sim->schedule.count = cfg->nclocks;
    for (unsigned i = 0; i < cfg->nclocks; i++) {
        const tb_clock *c = &cfg->clocks[i];
        if (c->clk == NULL || c->period < 2) {
            return opt_fail(err, err_size, "%s: clock %s: a period of %u, expected at least 2", cfg->shim->top,
                            c->clk != NULL ? c->clk : "without a name", c->period);
        }
        if (open_clock(sim, i, c, err, err_size) != 0) {
            return -1;
        }
        sim->schedule.period[i] = c->period;
        sim->schedule.phase[i] = c->phase;
    }
    uint64_t when;
    tb_schedule_start(&sim->schedule);
    sim->rising = tb_schedule_next(&sim->schedule, &when);
    return 0;
}

int tb_sim_open(tb_sim *sim, const tb_sim_cfg *cfg, char *err, size_t err_size) {
    memset(sim, 0, sizeof *sim);
    sim->cfg = *cfg;
    if (cfg->shim == NULL) {
        return opt_fail(err, err_size, "this program holds no design to simulate");
    }
    const tb_shim *shim = cfg->shim;
    if (cfg->wave != NULL && shim->trace_open == NULL) {
        return opt_fail(err, err_size, "%s: waveforms need a build with tracing (KIND=debug)", cfg->wave);
    }
    sim->ports = (tb_shim_port *)calloc(shim->nports, sizeof *sim->ports);
    sim->dut = sim->ports != NULL ? shim->create(cfg->plusargs, cfg->seed) : NULL;
    if (sim->dut == NULL) {
        (void)rep_host(ENOMEM);
        snprintf(err, err_size, "%s: out of memory", shim->top);
        tb_sim_close(sim);
        return -1;
    }
    shim->ports(sim->dut, sim->ports);
    for (size_t i = 0; i < shim->nports; i++) {
        const tb_sig s = {.ptr = sim->ports[i].ptr, .width = sim->ports[i].width};
        if (sim->ports[i].input) {
            memset(s.ptr, 0, tb_sig_bytes(s));
        }
    }
    if (open_clocks(sim, err, err_size) != 0) {
        tb_sim_close(sim);
        return -1;
    }
    sim->wave_pending = cfg->wave != NULL;
    if (sim->wave_pending && cfg->wave_from == 0 &&
        tb_sim_wave_open(sim, cfg->wave, cfg->wave_cycles, err, err_size) != 0) {
        tb_sim_close(sim);
        return -1;
    }
    calibrate(sim);
    sim->cpu_start = rep_seconds(CLOCK_PROCESS_CPUTIME_ID);
    return 0;
}

void tb_sim_close(tb_sim *sim) {
    if (sim->dut != NULL) {
        /* what comes after the simulation could not be opened */
        const bool empty = sim->wave_open && sim->cfg.wave != NULL && sim->cycle == 0;
        tb_sim_wave_close(sim);
        if (empty) {
            (void)remove(sim->cfg.wave);
        }
        sim->cfg.shim->destroy(sim->dut);
    }
    free(sim->ports);
    sim_parts_free(sim);
    sim->dut = NULL;
    sim->ports = NULL;
    sim->stopped = true;
}

int tb_sim_wave_open(tb_sim *sim, const char *path, uint64_t cycles, char *err, size_t err_size) {
    const tb_shim *shim = sim->cfg.shim;
    if (shim->trace_open == NULL) {
        return opt_fail(err, err_size, "%s: waveforms need a build with tracing (KIND=debug)", path);
    }
    if (sim->wave_open) {
        return opt_fail(err, err_size, "%s: a waveform is already open", path);
    }
    if (!shim->trace_open(sim->dut, path, err, err_size)) {
        return -1;
    }
    sim->wave_open = true;
    sim->wave_pending = false;
    sim->cfg.wave_from = sim->cycle;
    sim->cfg.wave_cycles = cycles;
    return 0;
}

void tb_sim_wave_close(tb_sim *sim) {
    if (sim->wave_open) {
        sim->cfg.shim->trace_close(sim->dut);
        sim->wave_open = false;
    }
}

/* Rare per-cycle work: waveform window. */
static void wave_step(tb_sim *sim) {
    if (sim->wave_pending && sim->cycle >= sim->cfg.wave_from) {
        char err[256];
        if (tb_sim_wave_open(sim, sim->cfg.wave, sim->cfg.wave_cycles, err, sizeof err) != 0) {
            snprintf(sim->failure, sizeof sim->failure, "%s", err);
            sim->failure_cycle = sim->cycle;
            sim->stopped = true;
            sim->wave_pending = false;
        }
    }
    if (sim->wave_open && sim->cfg.wave_cycles != 0 && sim->cycle >= sim->cfg.wave_from + sim->cfg.wave_cycles) {
        tb_sim_wave_close(sim);
    }
}

/* The design settles, and parts of its ports with it. */
static void settle(tb_sim *sim) {
    if (sim->parts == NULL) {
        sim->cfg.shim->eval(sim->dut);
        return;
    }
    sim_parts_put(sim);
    sim->cfg.shim->eval(sim->dut);
    sim_parts_get(sim);
}

static void eval(tb_sim *sim) {
    if (!sim->timing) {
        settle(sim);
        return;
    }
    const uint64_t start = now_ns();
    settle(sim);
    uint64_t d = now_ns() - start;
    if (sim->cycle % TIMED_EVERY < TIMED_WARM) {
        return;
    }
    d = d > sim->clock_cost_ns ? d - sim->clock_cost_ns : 0;
    /* the process was interrupted: count it as an average one */
    if (sim->evals_timed > 4 * TIMED_RUN && d > 8 * sim->eval_ns / sim->evals_timed) {
        d = sim->eval_ns / (2 * sim->evals_timed);
    }
    sim->eval_ns += d;
}

/* ---- several clocks ---- */

static void set_clocks(tb_sim *sim, uint32_t mask, uint8_t level) {
    for (unsigned i = 0; i < sim->schedule.count; i++) {
        *sim->clocks[i] = (mask >> i & 1u) != 0 ? level : *sim->clocks[i];
    }
}

/* The falling edges before the next rising one. */
static void fall_before(tb_sim *sim) {
    uint64_t limit, at;
    (void)tb_schedule_next(&sim->schedule, &limit);
    for (uint32_t mask; (mask = tb_schedule_fall(&sim->schedule, limit - 1, &at)) != 0;) {
        set_clocks(sim, mask, 0);
        settle(sim);
        if (sim->wave_open) {
            sim->cfg.shim->trace_dump(sim->dut, at * TB_CLOCK_SCALE);
        }
    }
}

static void rise(tb_sim *sim) {
    uint64_t at;
    const uint32_t up = tb_schedule_next(&sim->schedule, &at);
    set_clocks(sim, tb_schedule_fall(&sim->schedule, at, &at), 0);
    (void)tb_schedule_rise(&sim->schedule);
    set_clocks(sim, up, 1);
}

/* Inputs have settled, perhaps not for the first time in this cycle: later than the last one, before the edge. */
static void dump_settled(tb_sim *sim) {
    uint64_t edge = (sim->cycle + 1) * TB_CLOCK_UNITS, first = edge - TB_CLOCK_UNITS / 2;
    if (sim->schedule.count > 0) {
        (void)tb_schedule_next(&sim->schedule, &edge);
        edge *= TB_CLOCK_SCALE;
        first = edge - TB_CLOCK_SCALE / 2;
    }
    sim->wave_time = sim->wave_time >= first ? sim->wave_time + 1 : first;
    if (sim->wave_time < edge) {
        sim->cfg.shim->trace_dump(sim->dut, sim->wave_time);
    }
}

void tb_sim_settle(tb_sim *sim) {
    if (sim->stopped) {
        return;
    }
    const uint64_t phase = sim->cycle % TIMED_EVERY;
    sim->timing = phase < TIMED_RUN;
    sim->evals_timed += sim->timing && phase >= TIMED_WARM ? 1 : 0;
    if (sim->clk != NULL) {
        *sim->clk = 0;
    } else if (sim->schedule.count > 0) {
        fall_before(sim);
    }
    eval(sim);
    if (sim->wave_pending || sim->wave_open) {
        wave_step(sim);
        if (sim->wave_open) {
            dump_settled(sim);
        }
    }
}

static void note_stop(tb_sim *sim) {
    const char *text = sim->cfg.shim->assert_message(sim->dut);
    tb_sim_assert_text(text != NULL ? text : "the design stopped the simulation", sim->failure, sizeof sim->failure,
                       sim->failure_path, sizeof sim->failure_path);
    sim->failure_cycle = sim->cycle - 1; /* of the edge that has just been */
    sim->stopped = true;
    tb_sim_wave_close(sim);
}

bool tb_sim_edge(tb_sim *sim) {
    if (sim->stopped) {
        return false;
    }
    const tb_shim *shim = sim->cfg.shim;
    if (shim->set_time != NULL) {
        shim->set_time(sim->dut, sim->cycle);
    }
    if (sim->clk != NULL) {
        *sim->clk = 1;
    } else if (sim->schedule.count > 0) {
        rise(sim);
    }
    eval(sim);
    tb_mut_edge();
    sim->cycle++;
    if (sim->wave_open) {
        shim->trace_dump(sim->dut,
                         sim->schedule.count == 0 ? sim->cycle * TB_CLOCK_UNITS : sim->schedule.now * TB_CLOCK_SCALE);
    }
    if (sim->schedule.count > 0) {
        uint64_t next;
        sim->rising = tb_schedule_next(&sim->schedule, &next);
    }
    if (shim->finished(sim->dut)) {
        note_stop(sim);
    } else if (caught_signal != 0) {
        sim->stopped = true;
        sim->interrupted = true;
        tb_sim_wave_close(sim);
    }
    return !sim->stopped;
}

bool tb_sim_has_reset(const tb_sim *sim) {
    bool any = false;
    for (unsigned i = 0; i < TB_CLOCKS; i++) {
        any = any || sim->reset[i] != NULL;
    }
    return any;
}

static void set_resets(tb_sim *sim, bool active) {
    for (unsigned i = 0; i < TB_CLOCKS; i++) {
        if (sim->reset[i] != NULL) {
            *sim->reset[i] = (uint8_t)((sim->released >> i & 1u) ^ (active ? 1u : 0u));
        }
    }
}

void tb_sim_assert_reset(tb_sim *sim) {
    if (!tb_sim_has_reset(sim) || sim->stopped) {
        return;
    }
    if (sim->clk != NULL) {
        *sim->clk = 0;
    }
    set_resets(sim, true);
    settle(sim);
}

void tb_sim_release_reset(tb_sim *sim) {
    set_resets(sim, false);
}

uint64_t tb_sim_outputs(const tb_sim *sim) {
    uint64_t sum = 0;
    for (size_t i = 0; i < sim->cfg.shim->nports; i++) {
        const tb_sig s = {.ptr = sim->ports[i].ptr, .width = sim->ports[i].width};
        for (size_t b = 0; !sim->ports[i].input && b < tb_sig_bytes(s); b++) {
            sum = (sum ^ ((const uint8_t *)s.ptr)[b]) * UINT64_C(0x100000001b3); /* FNV-1a */
        }
    }
    return sum;
}

void tb_sim_time_split(const tb_sim *sim, double *design, double *rest) {
    const double all = rep_seconds(CLOCK_PROCESS_CPUTIME_ID) - sim->cpu_start;
    double in = 0;
    if (sim->evals_timed > 0) {
        in = (double)sim->eval_ns * 1e-9 * (double)sim->cycle / (double)sim->evals_timed;
    }
    in = in > all ? all : in;
    *design = in;
    *rest = all - in;
}
