/*
 * figures.c - the published cycle figures compared with those of the RTL: every row runs through the driver on the RTL
 * alone, with the ideal bus profile, at full size.
 *
 * Published: thesis tables, see docs/npu/performance.md. The bounds are those of the rows: the mesh at full use, 32
 * bytes read and 32 bytes written a cycle, each byte once.
 */
#include "device.h"
#include "npu.h"
#include "opt/opt.h"
#include "report/report.h"
#include "tb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { CONV, DW, SWISH };

typedef struct row {
    const char *table; /* group of rows */
    enum kind kind;
    bool requant; /* INT8 NHWC in and out */
    uint32_t iw, ih, ic, oc, k, s, p;
    uint64_t published; /* cycles (mem + comp, or the time at 200 MHz); 0: none */
    double goal;        /* share of the published figure that is allowed; 0: none */
    double stall;       /* published stall of the mesh in percent; 0: none */
} row;

/* clang-format off */
static const row rows[] = {
    {"conv", CONV, false, 32, 32, 128, 128, 3, 1, 0, 25600 + 74542, 0.80, 0},
    {"conv", CONV, false, 104, 104, 256, 128, 3, 1, 0, 494592 + 1641233, 0.80, 0},
    {"conv", CONV, false, 208, 208, 256, 64, 3, 1, 0, 2107904 + 3678112, 0.80, 0},
    {"conv", CONV, false, 416, 416, 32, 64, 3, 1, 0, 751680 + 1695215, 0.80, 0},
    {"conv", CONV, true, 32, 32, 128, 128, 3, 1, 0, 13312 + 70672, 0.90, 0},
    {"conv", CONV, true, 104, 104, 256, 128, 3, 1, 0, 205824 + 1542989, 0.90, 0},
    {"conv", CONV, true, 208, 208, 256, 64, 3, 1, 0, 722944 + 3208415, 0.90, 0},
    {"conv", CONV, true, 416, 416, 32, 64, 3, 1, 0, 190976 + 1615411, 0.90, 0},
    {"dw", DW, false, 32, 32, 32, 32, 3, 1, 0, 4114 + 6325, 0.80, 0},
    {"dw", DW, false, 96, 96, 128, 128, 3, 1, 0, 154840 + 211665, 0.80, 0},
    {"dw", DW, false, 208, 208, 256, 256, 3, 1, 0, 1835744 + 2103070, 0.80, 0},
    {"dw", DW, false, 416, 416, 128, 128, 3, 1, 0, 3619552 + 4186219, 0.80, 0},
    {"dw", DW, true, 32, 32, 32, 32, 3, 1, 0, 1042 + 5967, 0.80, 0},
    {"dw", DW, true, 96, 96, 128, 128, 3, 1, 0, 39128 + 175532, 0.80, 0},
    {"dw", DW, true, 208, 208, 256, 256, 3, 1, 0, 450784 + 1633343, 0.80, 0},
    {"dw", DW, true, 416, 416, 128, 128, 3, 1, 0, 900576 + 3337766, 0.80, 0},
    {"time", CONV, false, 32, 32, 128, 512, 3, 2, 1, 704 * 200, 0.80, 0},
    {"time", CONV, false, 32, 32, 256, 256, 3, 1, 1, 2015 * 200, 0.80, 0},
    {"time", CONV, false, 32, 32, 256, 512, 1, 1, 0, 812 * 200, 0.80, 0},
    {"time", CONV, false, 64, 64, 128, 1024, 3, 2, 1, 3779 * 200, 1.00, 0},
    {"time", DW, false, 128, 128, 128, 128, 3, 2, 1, 3140 * 200, 0.80, 0},
    {"time", DW, false, 128, 128, 256, 256, 3, 1, 1, 9890 * 200, 0.80, 0},
    {"time", DW, false, 128, 128, 512, 512, 1, 1, 0, 16260 * 200, 0.80, 0},
    {"time", DW, false, 64, 64, 1024, 1024, 3, 2, 1, 7460 * 200, 0.80, 0},
    {"time", SWISH, false, 256, 256, 128, 128, 1, 1, 0, 8710 * 200, 0.80, 0},
    {"time", SWISH, false, 256, 256, 256, 256, 1, 1, 0, 17290 * 200, 0.80, 0},
    {"time", SWISH, false, 256, 256, 512, 512, 1, 1, 0, 34360 * 200, 0.80, 0},
    {"stall", CONV, false, 32, 32, 32, 128, 1, 1, 0, 0, 0, 67.46},
    {"stall", CONV, true, 32, 32, 32, 128, 1, 1, 0, 0, 0, 67.26},
    {"stall", CONV, false, 128, 128, 32, 64, 1, 1, 0, 0, 0, 67.59},
    {"stall", CONV, true, 128, 128, 32, 64, 1, 1, 0, 0, 0, 67.57},
    {"stall", DW, false, 64, 64, 64, 64, 3, 1, 0, 0, 0, 65.12},
    {"stall", DW, true, 64, 64, 64, 64, 3, 1, 0, 0, 0, 65.05},
    {"stall", DW, false, 128, 128, 32, 32, 3, 1, 0, 0, 0, 55.58},
    {"stall", DW, true, 128, 128, 32, 32, 3, 1, 0, 0, 0, 55.54},
};
/* clang-format on */

/* Lower bounds in cycles: mesh, read and write, and the time before the first tile (its rows and the first block of
 * weights at 32 bytes a cycle) and after the last (its group is written). */
typedef struct bounds {
    uint64_t mesh, read, write, fill, drain;
} bounds;

static npu_conv conv_of(const row *r) {
    npu_conv c = {.iw = r->iw,
                  .ih = r->ih,
                  .ic = r->ic,
                  .oc = r->oc,
                  .kw = r->k,
                  .kh = r->k,
                  .stride_w = r->s,
                  .stride_h = r->s,
                  .dil_w = 1,
                  .dil_h = 1};
    c.pad_l = c.pad_r = c.pad_t = c.pad_b = r->p;
    c.groups = r->kind == DW ? r->ic : 1;
    c.in_layout = c.out_layout = r->requant ? NPU_INT8_NHWC : NPU_FP32_NCHW;
    c.act = NPU_ACT_NONE;
    c.has_bias = true;
    return c;
}

#define GROUP_PIXELS 128u /* that the driver writes back together */

/* Bounds of a row on a mesh of size n; ow and oh of the plan. */
static bounds bounds_of(const row *r, uint32_t n, uint32_t ow, uint32_t oh) {
    const uint64_t in = (uint64_t)r->iw * r->ih * r->ic;
    const uint64_t out = (uint64_t)ow * oh * r->oc;
    const uint64_t weights = r->kind == CONV ? (uint64_t)r->k * r->k * r->ic * r->oc
                             : r->kind == DW ? (uint64_t)r->k * r->k * r->ic
                                             : 0;
    const uint64_t elem = r->requant ? 1 : 4;
    bounds b = {0, tb_div_up_u64(in * elem + weights, 32), tb_div_up_u64(out * elem, 32), 0, 0};
    if (r->kind != SWISH) {
        const uint64_t group = out < (uint64_t)GROUP_PIXELS * n ? out : (uint64_t)GROUP_PIXELS * n;
        const uint64_t in_rows = tb_min_u64((tb_div_up_u64(2 * n, ow) - 1) * r->s + r->k - r->p, r->ih);
        const uint64_t block = (uint64_t)r->k * r->k * (r->kind == CONV ? r->ic : 1) * (r->oc < n ? r->oc : n);
        b.fill = tb_div_up_u64(in_rows * r->iw * r->ic * elem + block, 32);
        b.drain = tb_div_up_u64(group * elem, 32);
        b.mesh = tb_div_up_u64((uint64_t)ow * oh, 2 * n) * n * r->k * r->k * tb_div_up_u64(r->oc, n) *
                 (r->kind == CONV ? tb_div_up_u64(r->ic, n) : 1);
    }
    return b;
}

static uint32_t buffer(npu_dev *dev, uint64_t bytes, bool fill, npu_buf_kind kind) {
    const uint32_t addr = npu_dev_alloc(dev, (uint32_t)bytes, 64, kind);
    static uint32_t block[1 << 16];
    tb_rng rng = tb_rng_stream(bytes, "figures");
    for (size_t i = 0; i < sizeof block / sizeof block[0]; i++) {
        const float v = tb_rng_f32_range(&rng, -2.0f, 2.0f);
        memcpy(&block[i], &v, 4);
    }
    for (uint64_t at = 0; fill && addr != 0 && at < bytes; at += sizeof block) {
        const uint64_t part = bytes - at < sizeof block ? bytes - at : sizeof block;
        npu_dev_write(dev, addr + (uint32_t)at, block, part);
    }
    return addr;
}

static uint32_t f32(float v) {
    uint32_t bits;
    memcpy(&bits, &v, 4);
    return bits;
}

static npu_status run_conv(npu_dev *dev, npu *drv, const row *r, bounds *b, uint64_t *cycles) {
    npu_conv c = conv_of(r);
    npu_conv_plan plan;
    npu_status status = npu_conv_plan_make(drv->n, &c, NULL, &plan);
    if (status != NPU_OK) {
        return status;
    }
    const uint32_t n = drv->n;
    const uint32_t in_pix = r->iw * r->ih;
    const uint32_t out_pix = plan.ow * plan.oh;
    *b = bounds_of(r, n, plan.ow, plan.oh);
    c.ifm_cstep = r->requant ? (uint32_t)tb_div_up_u64(r->ic, n) * n : (in_pix * 4 + 15) & ~15u;
    c.ofm_cstep = r->requant ? (uint32_t)tb_div_up_u64(r->oc, n) * n : (out_pix * 4 + 15) & ~15u;
    c.in_scale = f32(30.0f);
    c.out_scale = f32(2.0f);
    c.ifm_addr =
        buffer(dev, r->requant ? (uint64_t)in_pix * c.ifm_cstep : (uint64_t)r->ic * c.ifm_cstep, true, NPU_BUF_IN);
    c.wgt_addr = buffer(dev, plan.wgt_bytes, true, NPU_BUF_IN);
    c.oscale_addr = buffer(dev, plan.param_bytes, true, NPU_BUF_IN);
    c.bias_addr = buffer(dev, plan.param_bytes, true, NPU_BUF_IN);
    c.ofm_addr =
        buffer(dev, r->requant ? (uint64_t)out_pix * c.ofm_cstep : (uint64_t)r->oc * c.ofm_cstep, false, NPU_BUF_OUT);
    c.scratch_bytes = plan.scratch_bytes;
    c.scratch_addr = plan.scratch_bytes != 0 ? buffer(dev, plan.scratch_bytes, false, NPU_BUF_SCRATCH) : 0;
    const uint64_t before = npu_dev_cycles(dev);
    status = npu_conv_run(drv, &c, &plan);
    *cycles = npu_dev_cycles(dev) - before;
    return status;
}

static npu_status run_swish(npu_dev *dev, npu *drv, const row *r, bounds *b, uint64_t *cycles) {
    const uint32_t step = r->iw * r->ih * 4;
    const uint32_t addr = buffer(dev, (uint64_t)step * r->ic, true, NPU_BUF_SCRATCH);
    const npu_tensor t = {.addr = addr, .step = step, .w = r->iw, .h = r->ih, .c = r->ic, .layout = NPU_FP32_NCHW};
    const npu_eltwise op = {.op = NPU_ALU_COPY, .a = t, .b = t, .out = t, .act = NPU_ACT_SWISH};
    *b = bounds_of(r, drv->n, r->iw, r->ih);
    const uint64_t before = npu_dev_cycles(dev);
    const npu_status status = npu_eltwise_run(drv, &op);
    *cycles = npu_dev_cycles(dev) - before;
    return status;
}

/* Starts a column of the table. */
static void column(bool markdown) {
    fputs(markdown ? " | " : "  ", stdout);
}

static void head_line(bool markdown) {
    static const char *const names[] = {"operator      iw, ih, ic -> oc k s",
                                        "cycles",
                                        "mesh",
                                        "read",
                                        "write",
                                        "fill",
                                        "drain",
                                        "/ bound",
                                        "1.10",
                                        "published",
                                        "share",
                                        "goal",
                                        "waits input/weights/room",
                                        "driver"};
    static const int widths[] = {35, 8, 8, 8, 8, 5, 5, 7, 4, 9, 15, 4, 0, 0};
    const size_t n = sizeof names / sizeof names[0];
    if (markdown) {
        printf("|");
    }
    for (size_t i = 0; i < n; i++) {
        printf("%s%*s%s", markdown ? " " : "", i == 0 ? -widths[i] : widths[i], names[i],
               markdown    ? " |"
               : i + 1 < n ? "  "
                           : "\n");
    }
    if (markdown) {
        printf("\n|");
        for (size_t i = 0; i < n; i++) {
            printf(" %s |", i == 0 ? "---" : "---:");
        }
        printf("\n");
    }
}

/* Cycles of a row: on the device, and those around them in which the driver wrote registers. */
static void print_figures(const row *r, const bounds *b, const uint64_t *perf, uint64_t cycles, uint64_t driver,
                          bool markdown) {
    const uint64_t bound = tb_max_u64(b->mesh, tb_max_u64(b->read, b->write));
    const bool within = (double)cycles <= 1.10 * (double)bound + (double)(b->fill + b->drain);
    const uint64_t numbers[] = {cycles, b->mesh, b->read, b->write, b->fill, b->drain};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        column(markdown);
        printf("%*llu", i < 4 ? 8 : 5, (unsigned long long)numbers[i]);
    }
    column(markdown);
    printf("%7.3f", (double)cycles / (double)bound);
    column(markdown);
    printf("%4s", within ? "yes" : "NO");
    column(markdown);
    if (r->published != 0) {
        printf("%9llu", (unsigned long long)r->published);
        column(markdown);
        printf("%15.3f", (double)cycles / (double)r->published);
        column(markdown);
        printf("%4s", (double)cycles <= r->goal * (double)r->published ? "yes" : "NO");
    } else { /* the share of the cycles in which the mesh is idle, and the least share that 32 bytes a cycle allow */
        printf("%7.2f %%", r->stall);
        column(markdown);
        printf("%5.2f (%5.2f) %%", 100.0 * (1.0 - (double)b->mesh / (double)cycles),
               100.0 * (1.0 - (double)b->mesh / (double)bound));
        column(markdown);
        printf("%4s", "-");
    }
    column(markdown);
    printf("%llu/%llu/%llu", (unsigned long long)perf[NPU_PERF_SEL_SEL_IM2COL_WAITS_ROWS],
           (unsigned long long)perf[NPU_PERF_SEL_SEL_IM2COL_WAITS_WEIGHTS],
           (unsigned long long)perf[NPU_PERF_SEL_SEL_IM2COL_WAITS_ROOM]);
    column(markdown);
    printf("%llu", (unsigned long long)driver);
}

static const char *name_of(const row *r, char text[64]) {
    static const char *const kinds[] = {"conv", "dw", "swish"};
    (void)snprintf(text, 64, "%-5s %s %4u, %4u, %4u -> %4u k%u s%u", kinds[r->kind], r->requant ? "INT8" : "FP32",
                   r->iw, r->ih, r->ic, r->oc, r->k, r->s);
    return text;
}

/* An object of the list of rows. first: it is the first one. */
static void json_row(FILE *out, const row *r, const bounds *b, const uint64_t *perf, uint64_t cycles, uint64_t driver,
                     bool first) {
    char name[64];
    const uint64_t bound = tb_max_u64(b->mesh, tb_max_u64(b->read, b->write));
    const bool within = (double)cycles <= 1.10 * (double)bound + (double)(b->fill + b->drain);
    const struct {
        const char *key;
        uint64_t value;
    } numbers[] = {{"cycles", cycles},
                   {"mesh", b->mesh},
                   {"read", b->read},
                   {"write", b->write},
                   {"fill", b->fill},
                   {"drain", b->drain},
                   {"wait_input", perf[NPU_PERF_SEL_SEL_IM2COL_WAITS_ROWS]},
                   {"wait_weights", perf[NPU_PERF_SEL_SEL_IM2COL_WAITS_WEIGHTS]},
                   {"wait_room", perf[NPU_PERF_SEL_SEL_IM2COL_WAITS_ROOM]},
                   {"driver_cycles", driver}};
    fprintf(out, "%s\n  {\"table\": \"%s\", \"operator\": \"%s\"", first ? "" : ",", r->table, name_of(r, name));
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        fprintf(out, ", \"%s\": %llu", numbers[i].key, (unsigned long long)numbers[i].value);
    }
    fprintf(out, ", \"within_1.10\": %s", within ? "true" : "false");
    if (r->published != 0) {
        fprintf(out, ", \"published\": %llu, \"goal\": %.2f, \"goal_met\": %s}", (unsigned long long)r->published,
                r->goal, (double)cycles <= r->goal * (double)r->published ? "true" : "false");
    } else {
        fprintf(out, ", \"published_stall_percent\": %.2f, \"stall_percent\": %.2f}", r->stall,
                100.0 * (1.0 - (double)b->mesh / (double)cycles));
    }
}

/* Outputs for the rows. */
typedef struct output {
    bool markdown;
    FILE *json; /* or NULL */
    bool first; /* row of json */
} output;

/* Runs one row; prints its line, or the failure. */
static int run_row(const row *r, output *to) {
    char name[64];
    const bool markdown = to->markdown;
    char err[256];
    const npu_dev_cfg cfg = {
        .kind = NPU_DEV_RTL, .n = NPU_CFG_N, .seed = 1, .bus_profile = "ideal", .ddr_bytes = 1ull << 29};
    npu drv;
    bounds b = {0, 0, 0, 0, 0};
    uint64_t cycles = 0;
    uint64_t perf[NPU_PERF_COUNT] = {0};
    npu_dev *dev = npu_dev_open(&cfg, err, sizeof err);
    if (dev == NULL) {
        fprintf(stderr, "figures: %s\n", err);
        return 1;
    }
    npu_status status = npu_init(&drv, npu_dev_hal(dev), NPU_WAIT_IRQ, 1000000);
    if (status == NPU_OK) {
        status = npu_perf_clear(&drv);
    }
    if (status == NPU_OK) {
        status = r->kind == SWISH ? run_swish(dev, &drv, r, &b, &cycles) : run_conv(dev, &drv, r, &b, &cycles);
    }
    if (status == NPU_OK) {
        status = npu_perf_read(&drv, perf, NPU_PERF_COUNT);
    }
    const uint64_t wall = cycles;
    cycles = perf
        /* from the start of the first task to the end of the last one: without the register writes of the driver */
        [NPU_PERF_SEL_SEL_CYCLES];
    const npu_dev_failure *f = npu_dev_get_failure(dev);
    printf("%s%s", markdown ? "| " : "", name_of(r, name));
    if (status != NPU_OK || f->signature[0] != '\0') {
        column(markdown);
        printf("FAILED: %s %s", npu_strerror(status), f->message);
    } else {
        print_figures(r, &b, perf, cycles, wall - cycles, markdown);
        if (to->json != NULL) {
            json_row(to->json, r, &b, perf, cycles, wall - cycles, to->first);
            to->first = false;
        }
    }
    printf("%s\n", markdown ? " |" : "");
    fflush(stdout);
    npu_dev_close(dev);
    return status != NPU_OK || f->signature[0] != '\0';
}

typedef struct options {
    const char *only;
    uint32_t at; /* with one: only this row */
    bool one, markdown;
    const char *json;
    const char *commit;
} options;

static const char head_text[] =
    "Runs the rows of the published cycle figures on the RTL (ideal bus). Columns:\n"
    "  operator; cycles with a task on the device; bounds of mesh, read and write; fill and drain;\n"
    "  cycles / largest bound, and whether they are within 1.10 x bound + fill + drain (1.10);\n"
    "  published cycles, cycles / published (share), and whether the goal for it is met; table stall:\n"
    "  published stall of the mesh, stall here (the part caused by the limit of 32 bytes a cycle);\n"
    "  cycles in which im2col waited for input/weights/room; cycles around all that, in which the\n"
    "  driver wrote registers.\n\n";

/* 0, or the exit status; -1: the help was requested, and printed. */
static int parse(options *o, int argc, char **argv) {
    static const char *const tables[] = {"conv", "dw", "time", "stall", NULL};
    char err[200];
    const opt_row rows_of[] = {
        OPT(TEXT, "--table", "T", "only rows of this table: conv, dw, time or stall", &o->only, .words = tables),
        OPT(U32, "--row", "INDEX", "only this row", &o->at, .given = &o->one),
        OPT(FLAG, "--markdown", NULL, "a table of Markdown", &o->markdown),
        OPT(TEXT, "--json", "FILE", "the same rows into FILE, when all have run without a failure", &o->json),
        OPT(TEXT, "--commit", "TEXT", "named in it", &o->commit),
    };
    const opt_group group = OPT_GROUP(NULL, rows_of);
    opt_line line = {.group = &group, .groups = 1};
    if (opt_parse(&line, argc - 1, argv + 1, err, sizeof err) != 0) {
        return opt_bad(argv[0], "%s", err);
    }
    if (line.help) {
        printf("usage: %s [options]\n\n%s", argv[0], head_text);
        opt_help(stdout, &line);
        return -1;
    }
    /* it is written to JSON without escapes */
    if (strspn(o->commit, "0123456789abcdefghijklmnopqrstuvwxyz+") != strlen(o->commit)) {
        return opt_bad(argv[0], "--commit: expected letters and digits, got '%s'", o->commit);
    }
    return 0;
}

/* Writes the whole file, or none. */
static int keep_json(rep_file *json, int failed) {
    fputs("\n ]\n}\n", json->file);
    if (failed != 0) {
        rep_file_drop(json);
        return failed;
    }
    const int error = rep_file_close(json, false);
    if (error != 0) {
        fprintf(stderr, "figures: %s: cannot be written: %s\n", json->path, strerror(error));
    }
    return error != 0;
}

int main(int argc, char **argv) {
    options o = {.commit = "unknown"};
    rep_file json;
    int failed = 0;
    const int status = parse(&o, argc, argv);
    if (status != 0) {
        return status < 0 ? 0 : status;
    }
    output to = {.markdown = o.markdown, .first = true};
    if (o.json != NULL) {
        const int error = rep_file_open(&json, o.json);
        if (error != 0) {
            fprintf(stderr, "%s: %s: %s\n", argv[0], o.json, strerror(error));
            return 1;
        }
        to.json = json.file;
        fprintf(to.json,
                "{\"cfg\": \"%s\", \"commit\": \"%s\", \"bounds\": [\"mesh\", \"read\", \"write\"], \"rows\": [",
                NPU_CFG_NAME, o.commit);
    }
    head_line(o.markdown);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if ((o.only == NULL || strcmp(o.only, rows[i].table) == 0) && (!o.one || o.at == i)) {
            failed |= run_row(&rows[i], &to);
        }
    }
    return to.json != NULL ? keep_json(&json, failed) : failed;
}
