#include "tandem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../case/hash.h"
#include "../case/store.h"
#include "../run/story.h"
#include "boards.h"
#include "report/report.h"
#include "stream_log.h"

static tb_run *run_of(const tb_tandem *b, void *self) {
    return (tb_run *)(void *)((char *)self + b->run_at);
}

static tb_pair *pair_of(const tb_tandem *b, void *self) {
    return b->mem_size != 0 ? (tb_pair *)(void *)((char *)self + b->pair_at) : NULL;
}

static tb_shadow *shadow_of(const tb_tandem *b, void *self) {
    return b->shadow_size != 0 ? (tb_shadow *)(void *)((char *)self + b->shadow_at) : NULL;
}

static unsigned shadows_of(const tb_tandem *b) {
    return b->shadow_size == 0 ? 0 : b->shadows > 0 ? b->shadows : 1;
}

/* ---- open and close ---- */

/* A memory of the bench: whole pages. */
static int check_size(const char *what, uint64_t base, uint64_t size, char *err, size_t err_size) {
    if (base % TB_DDR_PAGE != 0 || size % TB_DDR_PAGE != 0 || size > UINT64_C(1) << 40 || base > UINT64_MAX - size) {
        return opt_fail(err, err_size,
                        "%s_base 0x%" PRIx64 ", %s_size 0x%" PRIx64 ": expected multiples of %u, at most 1 TiB", what,
                        base, what, size, (unsigned)TB_DDR_PAGE);
    }
    return 0;
}

static int open_pair(const tb_tandem *b, tb_pair *pair, uint64_t seed, char *err, size_t err_size) {
    if (tb_ddr_init(&pair->rtl, b->mem_base, b->mem_size, seed) != 0 ||
        tb_ddr_init(&pair->model, b->mem_base, b->mem_size, ~seed) != 0) {
        return opt_fail(err, err_size, "out of memory");
    }
    pair->rtl.watch = pair->rtl.check_reads = true;
    tb_buffers_init(&pair->live, b->work != NULL ? b->work : "task", (tb_ddr *[]){&pair->rtl}, 1);
    return 0;
}

/* Folders for the logs of both sides. */
static int open_logs(tb_pair *pair, const char *dir, char *err, size_t err_size) {
    static const char *const sides[] = {"rtl", "model"};
    int rc = tb_make_folder(dir, err, err_size);
    for (int i = 0; i < 2 && rc == 0; i++) {
        char path[1100];
        snprintf(path, sizeof path, "%s/%s", dir, sides[i]);
        pair->log[i] = tb_tlog_create(path, err, err_size);
        rc = pair->log[i] != NULL ? 0 : -1;
    }
    return rc;
}

static int close_logs(tb_pair *pair, char *err, size_t err_size) {
    int rc = 0;
    for (int i = 0; i < 2; i++) {
        rc = pair->log[i] != NULL && tb_tlog_close(pair->log[i], err, err_size) != 0 ? -1 : rc;
        pair->log[i] = NULL;
    }
    return rc;
}

static int bind_buses(const tb_tandem *b, tb_run *run, tb_pair *pair, tb_shadow *shadow, char *err, size_t err_size) {
    for (unsigned i = 0; i < b->ports; i++) {
        const tb_tandem_port *p = &b->port[i];
        const tb_run_port_cfg cfg = {.name = p->name,
                                     .prefix = p->prefix,
                                     .stream = p->stream,
                                     .slice = p->slice,
                                     .slices = p->slices,
                                     .mem = p->memory ? &pair->rtl : NULL,
                                     .shadow = p->shadow && shadow != NULL ? &shadow[p->behind] : NULL,
                                     .lite = p->lite,
                                     .agent = p->agent,
                                     .clock = p->clock,
                                     .rules = p->rules};
        if ((p->memory && pair == NULL) || (p->shadow && p->behind >= shadows_of(b))) {
            return opt_fail(err, err_size, "port %s: the bench has no %s", p->name,
                            p->memory ? "memory (mem_size)" : "shadow for it (shadow_size, shadows)");
        }
        if (tb_run_port_open(run, &cfg, err, err_size) < 0) {
            return -1;
        }
    }
    for (unsigned i = 0; i < b->apbs; i++) {
        const tb_tandem_apb *p = &b->apb[i];
        const tb_apb_cfg cfg = {.name = p->name,
                                .prefix = p->prefix,
                                .slice = p->slice,
                                .slices = p->slices,
                                .requester = p->requester,
                                .clock = p->clock,
                                .shadow = p->shadow && shadow != NULL ? &shadow[p->behind] : NULL,
                                .mem = p->requester && pair != NULL ? &pair->rtl : NULL};
        if (p->shadow && p->behind >= shadows_of(b)) {
            return opt_fail(err, err_size, "port %s: the bench has no shadow for it (shadow_size, shadows)", p->name);
        }
        if (tb_run_apb_open(run, &cfg, err, err_size) < 0) {
            return -1;
        }
    }
    return 0;
}

static int bind(const tb_tandem *b, tb_run *run, tb_pair *pair, tb_shadow *shadow, char *err, size_t err_size) {
    if (bind_buses(b, run, pair, shadow, err, err_size) != 0) {
        return -1;
    }
    for (unsigned i = 0; i < b->streams; i++) {
        const tb_stream_cfg cfg = boards_stream(b, &b->stream[i]);
        if (tb_run_stream_open(run, &cfg, err, err_size) < 0) {
            return -1;
        }
    }
    for (unsigned i = 0; i < b->fairs; i++) {
        if (tb_run_fair_open(run, &b->fair[i], err, err_size) < 0) {
            return -1;
        }
    }
    if (boards_open(b, run, err, err_size) != 0) {
        return -1;
    }
    for (unsigned i = 0; i < b->pins; i++) {
        if (tb_run_pin(run, b->pin[i], err, err_size) < 0) {
            return -1;
        }
    }
    return 0;
}

/* What the bench says of a run, and what the case says. */
static int run_cfg(const tb_tandem *b, void *self, const tb_prog_run *run, tb_run_cfg *cfg, char *err,
                   size_t err_size) {
    const char *answers = tb_knobs_get_name(run->knobs, "answers");
    const bool reorder = answers != NULL && strcmp(answers, "reordered") == 0;
    const char *bus = reorder ? "reorder" : tb_knobs_get_name(run->knobs, "bus");
    *cfg = b->cfg;
    cfg->hooks.ctx = self;
    cfg->seed = run->seed;
    cfg->wave = run->wave;
    cfg->fail_wave = run->fail_wave;
    cfg->wave_window = run->wave_window;
    cfg->max_cycles = run->max_cycles != 0 ? run->max_cycles : cfg->max_cycles;
    cfg->no_checks = run->no_checks;
    cfg->story = run->story;
    if (cfg->profile == NULL) {
        cfg->profile = tb_axi_profile_find(bus != NULL ? bus : "ideal");
    }
    return cfg->profile != NULL ? 0 : opt_fail(err, err_size, "knob bus: there is no bus timing %.40s", bus);
}

static int open_all(const tb_tandem *b, void *self, tb_prog_run *run, char *err, size_t err_size) {
    tb_run *r = run_of(b, self);
    tb_pair *pair = pair_of(b, self);
    tb_shadow *shadow = shadow_of(b, self);
    tb_run_cfg cfg;
    if (check_size("mem", b->mem_base, b->mem_size, err, err_size) != 0 ||
        check_size("shadow", b->shadow_base, b->shadow_size, err, err_size) != 0) {
        return -1;
    }
    for (unsigned i = 0; i < shadows_of(b); i++) {
        if (tb_shadow_init(&shadow[i], b->shadow_base, b->shadow_size) != 0) {
            return opt_fail(err, err_size, "out of memory");
        }
    }
    if ((pair != NULL && open_pair(b, pair, run->seed, err, err_size) != 0) ||
        (b->open != NULL && b->open(self, run, err, err_size) != 0) ||
        run_cfg(b, self, run, &cfg, err, err_size) != 0 || tb_run_open(r, &cfg, err, err_size) != 0 ||
        bind(b, r, pair, shadow, err, err_size) != 0 ||
        (b->checks != NULL && tb_run_checks(r, b->checks, *b->check_count, NULL, self, err, err_size) != 0)) {
        return -1;
    }
    tb_run_follow(r);
    r->live = pair != NULL ? &pair->live : NULL;
    tb_run_reset(r);
    tb_run_step(r); /* nothing may be valid at the first edge after reset */
    if (r->sim.warning[0] != '\0' && run->result->cycles == 0 && !run->again) { /* once, not for each case */
        fprintf(stderr, "warning: %s\n", r->sim.warning);
    }
    if (b->begin != NULL) {
        b->begin(self);
    }
    if (run->story != NULL) {
        run->story->has_model = pair != NULL; /* the model runs beside the RTL */
    }
    if (run->dump != NULL && (r->streams > 0 || (r->waits.count > 0 && r->waits.counts)) &&
        tb_stream_log_open(r, run->dump, err, err_size) == NULL) {
        return -1;
    }
    return pair != NULL && run->dump != NULL ? open_logs(pair, run->dump, err, err_size) : 0;
}

int tb_tandem_close(const tb_tandem *b, void *self, char *err, size_t err_size) {
    tb_pair *pair = pair_of(b, self);
    tb_run *r = run_of(b, self);
    int rc = pair != NULL ? close_logs(pair, err, err_size) : 0;
    rc = tb_stream_log_close((tb_stream_log *)r->waits.ctx, err, err_size) == 0 ? rc : -1;
    tb_run_close(run_of(b, self));
    if (pair != NULL) {
        tb_buffers_free(&pair->live);
        tb_ddr_free(&pair->rtl);
        tb_ddr_free(&pair->model);
    }
    for (unsigned i = 0; i < shadows_of(b); i++) {
        tb_shadow_free(&shadow_of(b, self)[i]);
    }
    if (b->close != NULL) {
        b->close(self);
    }
    free(self);
    return rc;
}

void *tb_tandem_open(const tb_tandem *b, tb_prog_run *run, char *err, size_t err_size) {
    char why[300];
    void *self = calloc(1, b->bytes);
    if (self == NULL) {
        (void)opt_fail(err, err_size, "out of memory");
        return NULL;
    }
    run->devices = 1;
    if (open_all(b, self, run, err, err_size) != 0) {
        (void)tb_tandem_close(b, self, why, sizeof why);
        return NULL;
    }
    return self;
}

/* ---- a case ---- */

static void put_counters(FILE *out, const void *ctx) {
    tb_run_counters((const tb_run *)ctx, out);
}

/* --counters: of the last case that was run. 0, or -1 with one line in err. */
static int write_counters(const tb_run *r, const char *path, char *err, size_t err_size) {
    const int no = rep_write(path, put_counters, r);
    return no == 0 ? 0 : opt_fail(err, err_size, "--counters %.200s: %s", path, strerror(no));
}

int tb_test_execute(tb_prog_run *run) {
    const tb_tandem *b = run->test->bench;
    if (run->test->execute != NULL) {
        return run->test->execute(run);
    }
    void *self = tb_tandem_open(b, run, run->err, sizeof run->err);
    if (self == NULL) {
        return -1;
    }
    tb_run *r = run_of(b, self);
    int rc = run->test->body(self, run);
    if (rc == 0) {
        tb_run_finish(r);
        boards_finish(b, r, pair_of(b, self));
    }
    if (tb_run_failed(r)) {
        tb_result_fail(run->result, TB_FAIL, r->failure.signature, "%s", r->failure.message);
        tb_prog_failed(run, r);
    }
    if (rc == 0) {
        run->result->cycles += r->sim.cycle;
        run->result->trace_hash = tb_hash_u64(run->result->trace_hash, run->portable ? run->results : tb_run_hash(r));
    }
    if (rc == 0 && !tb_run_failed(r) && !run->again && run->o->prog->seen != NULL) {
        run->o->prog->seen(run, r);
    }
    if (rc == 0 && !run->again && run->o->counters != NULL) {
        rc = write_counters(r, run->o->counters, run->err, sizeof run->err);
    }
    if (rc == 0 && run->portable) {
        rc = tb_kv_set(&run->result->extra, "portable", "1");
    }
    return tb_tandem_close(b, self, run->err, sizeof run->err) == 0 ? rc : -1;
}

/* ---- memories ---- */

void tb_pair_fill(tb_pair *pair, uint64_t addr, const void *data, size_t bytes) {
    tb_ddr_write(&pair->rtl, addr, data, bytes);
    tb_ddr_write(&pair->model, addr, data, bytes);
}

void tb_pair_take(tb_pair *pair, uint64_t addr, uint64_t bytes) {
    tb_ddr_copy_range(&pair->model, &pair->rtl, addr, bytes);
}

void tb_pair_take_written(tb_pair *pair) {
    for (size_t i = 0; i < pair->live.buffers; i++) {
        const tb_buffer *buffer = &pair->live.buffer[i];
        for (size_t r = buffer->first; r < buffer->end && buffer->use == TB_DDR_WRITE; r++) {
            const tb_range *range = &pair->live.range.r[r];
            tb_pair_take(pair, range->begin, range->end - range->begin);
        }
    }
}

/* ", byte 17": how many bytes of the buffer lie before an address in it. */
static void offset_in(const tb_buffers *t, const tb_near *near, uint64_t addr, char *dst, size_t size) {
    uint64_t before = 0;
    dst[0] = '\0';
    for (size_t r = near->buffer != NULL && near->bytes == 0 ? near->buffer->first : SIZE_MAX;
         r != SIZE_MAX && r < near->buffer->end; r++) {
        const tb_range *range = &t->range.r[r];
        if (addr >= range->begin && addr < range->end) {
            snprintf(dst, size, ", byte %" PRIu64, before + (addr - range->begin));
            return;
        }
        before += range->end - range->begin;
    }
}

bool tb_pair_compare(tb_pair *pair, tb_run *run) {
    tb_ddr_diff d;
    char place[160], offset[40];
    if (tb_ddr_compare_dirty(&pair->rtl, &pair->model, &d)) {
        return true;
    }
    const tb_near near = tb_buffers_near(&pair->live, d.addr, TB_DDR_WRITE, NULL);
    tb_buffers_place(&pair->live, &near, place, sizeof place);
    offset_in(&pair->live, &near, d.addr, offset, sizeof offset);
    tb_run_fail(run, "mem:mismatch",
                "memory, address 0x%08" PRIx64 " (%s%s): got %s0x%02x, expected %s0x%02x; %" PRIu64 " bytes differ",
                d.addr, place, offset, d.a_written ? "" : "nothing, ", d.a, d.b_written ? "" : "nothing, ", d.b,
                d.count);
    return false;
}

void tb_pair_log(tb_pair *pair, const tb_run *run, const tb_tlog_entry *entry, uint64_t addr, uint64_t step,
                 size_t pieces, size_t bytes) {
    const tb_ddr *const mem[] = {&pair->rtl, &pair->model};
    uint8_t *data = NULL;
    if (pair->log[1] != NULL && !run->replay.on && pieces * bytes > 0) {
        data = (uint8_t *)malloc(pieces * bytes);
    }
    for (int i = 0; i < 2 && data != NULL; i++) {
        bool inside = true;
        for (size_t p = 0; p < pieces; p++) {
            inside = tb_ddr_read(mem[i], addr + p * step, data + p * bytes, bytes) && inside;
        }
        if (inside) {
            tb_tlog_tensor(pair->log[i], entry, data);
        }
    }
    free(data);
}

bool tb_mem_read(void *mem, uint64_t addr, void *data, size_t bytes) {
    return tb_ddr_read((const tb_ddr *)mem, addr, data, bytes);
}

bool tb_mem_write(void *mem, uint64_t addr, const void *data, size_t bytes) {
    return tb_ddr_write((tb_ddr *)mem, addr, data, bytes);
}

/* ---- registers, interrupt ---- */

bool tb_compare_registers(tb_run *run, unsigned port, const tb_reg_row *row, size_t rows,
                          uint32_t (*expected)(void *ctx, uint32_t reg, uint32_t got), void *ctx) {
    for (size_t i = 0; i < rows; i++) {
        uint32_t got = 0;
        if (row[i].unread) {
            continue;
        }
        if (!tb_run_read(run, port, row[i].reg, &got)) {
            return false;
        }
        const uint32_t want = expected(ctx, row[i].reg, got) & row[i].mask;
        if ((got & row[i].mask) != want) {
            char signature[64];
            snprintf(signature, sizeof signature, "reg:%s", row[i].name);
            tb_run_fail(run, signature, "register %s: got 0x%x, expected 0x%x", row[i].name, got & row[i].mask, want);
            return false;
        }
    }
    return true;
}

bool tb_wait_irq(tb_run *run, bool irq, unsigned cycles, const char *when) {
    for (unsigned i = 0; irq ? run->irq == 0 : i < cycles; i++) {
        if (!tb_run_step(run)) {
            return false;
        }
    }
    return !irq || tb_run_idle(run, when);
}
