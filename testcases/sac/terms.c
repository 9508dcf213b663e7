/* terms.c - every code by every d by the ends of an activation. */
#include "terms.h"

#include <stdlib.h>
#include <string.h>

#include "sac.h"

#define SHIFTS 8u /* channels that count, one for each d */
#define CODES 16u
#define FILTERS (SHIFTS * CODES) /* filter code * SHIFTS + d has the code in channel d alone */
#define COLUMNS 5u
#define PLACES 6u /* thirds of a word, taps of a kernel row */

static const char *const bus_names[] = {"ideal", "fast", "typical", "slow", "bursty", "hostile"};
const tb_knob terms_knobs[] = {{"bus", 0, 5, TB_KNOB_ENUM, bus_names, NULL, "timing of the buses"}};
const size_t terms_knob_count = sizeof terms_knobs / sizeof *terms_knobs;

static const int8_t ends[COLUMNS] = {-128, -1, 0, 1, 127};

/* Operands in the host's memory. */
typedef struct operands {
    uint8_t *codes, *stream, *unused, *pages, *params, *d;
    int8_t *in, *out;
    sac_filter *filter;
    bool ok;
} operands;

static void *take(operands *o, size_t bytes) {
    void *p = calloc(1, bytes);
    o->ok = o->ok && p != NULL;
    return p;
}

static operands allocate(const sac_dev *drv, const sac_task *t) {
    operands o = {.ok = true};
    const uint32_t in = sac_tensor_bytes(drv, t->c, t->h, t->w), out = sac_tensor_bytes(drv, t->n, t->oh, t->ow);
    o.codes = take(&o, (size_t)t->n * t->c * t->kw);
    o.stream = take(&o, sac_filter_bytes(drv, t->n, t->c, 1, t->kw));
    o.unused = take(&o, sac_filter_bytes(drv, t->n, t->c, 1, t->kw));
    o.pages = take(&o, in > out ? in : out);
    o.params = take(&o, sac_param_bytes(drv, t->n));
    o.d = take(&o, t->c);
    o.in = take(&o, (size_t)t->c * t->w);
    o.out = take(&o, (size_t)t->n * t->ow);
    o.filter = take(&o, t->n * sizeof *o.filter);
    return o;
}

static void release(operands *o) {
    void *const all[] = {o->codes, o->stream, o->unused, o->pages, o->params, o->d, o->in, o->out, o->filter};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        free(all[i]);
    }
}

/*
 * The filter stream. The driver refuses code 15: those weights are packed as 8, and again as 7, and a nibble with the
 * bits of both is 15.
 */
static bool pack_codes(const sac_dev *drv, const sac_task *t, uint32_t first, uint32_t tap, operands *o) {
    bool ok = true;
    for (int pass = 0; pass < 2; pass++) {
        memset(o->codes, 7, (size_t)t->n * t->c * t->kw);
        for (uint32_t n = 0; n < FILTERS; n++) {
            const uint32_t code = n / SHIFTS, c = first + n % SHIFTS;
            o->codes[((size_t)n * t->c + c) * t->kw + tap] = (uint8_t)(code != 15 ? code : pass == 0 ? 8 : 7);
        }
        ok = ok && sac_pack_filters(drv, t->n, t->c, 1, t->kw, o->codes, pass == 0 ? o->stream : o->unused) == SAC_OK;
    }
    for (uint32_t i = 0; i < sac_filter_bytes(drv, t->n, t->c, 1, t->kw); i++) {
        o->stream[i] |= o->unused[i];
    }
    return ok;
}

/* The result of filter n at a column: the product, shifted back by k + d or not at all. */
static int expected(uint32_t n, int column, bool back) {
    const uint32_t code = n / SHIFTS, shift = code % 8 + n % SHIFTS;
    const int x = column < 0 || column >= (int)COLUMNS || code % 8 == 7 ? 0 : ends[column];
    const int64_t v = (int64_t)(code < 8 ? -x : x) * (back ? 1 : INT64_C(1) << shift);
    return (int)(v < -128 ? -128 : v > 127 ? 127 : v);
}

static void check(sac_device *dev, const sac_dev *drv, const sac_task *t, operands *o, uint32_t tap, bool back) {
    tb_ddr_read(&dev->pair.rtl, t->out, o->pages, sac_tensor_bytes(drv, t->n, 1, t->ow));
    sac_unpack_tensor(drv, t->n, 1, t->ow, o->pages, o->out);
    for (uint32_t i = 0; i < t->n * t->ow && !tb_run_failed(&dev->run); i++) {
        const uint32_t n = i / t->ow;
        const int column = (int)(i % t->ow) + (t->kw == 1 ? 0 : (int)tap - 1), want = expected(n, column, back);
        if (o->out[i] != want) {
            tb_run_fail(&dev->run, "terms:product",
                        "code %u by d %u by column %d, kernel width %u, tap %u, %s: got %d, expected %d", n / SHIFTS,
                        n % SHIFTS, column, t->kw, tap, back ? "shifted back" : "saturated", o->out[i], want);
        }
    }
}

/* One task; `first`: channel of d = 0. */
static sac_status run_place(sac_device *dev, sac_dev *drv, const sac_task *t, uint32_t first, uint32_t tap, bool back,
                            operands *o) {
    for (uint32_t i = 0; i < t->c * t->w; i++) { /* channels before the first one have no weights */
        o->in[i] = i / t->w < first ? (int8_t)(i * 37) : ends[i % t->w];
    }
    for (uint32_t i = 0; i < SHIFTS; i++) {
        o->d[first + i] = (uint8_t)i;
    }
    for (uint32_t n = 0; n < FILTERS; n++) {
        const int32_t k = (int32_t)(n / SHIFTS % 8);
        o->filter[n] = (sac_filter){.sh = back ? (k == 7 ? 0 : k) + (int32_t)(n % SHIFTS) : 0};
    }
    sac_pack_tensor(drv, t->c, 1, t->w, o->in, o->pages);
    sac_status status = pack_codes(drv, t, first, tap, o) ? SAC_OK : SAC_FAIL_CODE;
    status = status == SAC_OK ? sac_pack_params(drv, t->n, o->filter, o->params) : status;
    tb_pair_fill(&dev->pair, t->in, o->pages, sac_tensor_bytes(drv, t->c, 1, t->w));
    tb_pair_fill(&dev->pair, t->filters, o->stream, sac_filter_bytes(drv, t->n, t->c, 1, t->kw));
    tb_pair_fill(&dev->pair, t->params, o->params, sac_param_bytes(drv, t->n));
    tb_pair_fill(&dev->pair, t->dtab, o->d, t->c);
    status = status == SAC_OK ? sac_start(drv, t, true) : status;
    status = status == SAC_OK ? sac_wait(drv, true) : status;
    sac_device_end(dev);
    if (status == SAC_OK && sac_device_compare(dev, false)) {
        check(dev, drv, t, o, tap, back);
    }
    return status;
}

int terms_case(void *bench, tb_prog_run *run) {
    sac_device *dev = (sac_device *)bench;
    sac_dev drv;
    sac_status status = sac_open(&drv, &dev->hal);
    (void)run;
    for (uint32_t i = 0; i < 2 * PLACES && status == SAC_OK && !tb_run_failed(&dev->run); i++) {
        const bool taps = i % PLACES >= 3, back = i < PLACES;
        const uint32_t at = i % 3, first = taps ? 0 : at * drv.cv;
        const sac_task t = {.in = SAC_MEM_BASE,
                            .out = SAC_MEM_BASE + 0x100000,
                            .filters = SAC_MEM_BASE + 0x200000,
                            .params = SAC_MEM_BASE + 0x300000,
                            .dtab = SAC_MEM_BASE + 0x400000,
                            .res = SAC_MEM_BASE + 0x500000,
                            .c = first + SHIFTS,
                            .h = 1,
                            .w = COLUMNS,
                            .n = FILTERS,
                            .kh = 1,
                            .kw = taps ? 3 : 1,
                            .stride = 1,
                            .pl = taps ? 1 : 0,
                            .oh = 1,
                            .ow = COLUMNS,
                            .to_memory = true};
        operands o = allocate(&drv, &t);
        if (!o.ok) {
            tb_run_fail(&dev->run, "host:memory", "out of memory");
        } else {
            status = run_place(dev, &drv, &t, first, taps ? at : 0, back, &o);
        }
        release(&o);
    }
    if (status != SAC_OK && !tb_run_failed(&dev->run)) {
        tb_run_fail(&dev->run, "driver:status", "the driver answered \"%s\"", sac_strerror(status));
    }
    return 0;
}
