/* schedule.c - tandem-net schedule: for each convolution of networks the driver's split and the searched one, predicted
 * and measured, as Markdown. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netopt.h"
#include "run.h"
#include "schedule.h"
#include "report/report.h"

static const char help[] = "usage: tandem-net schedule [options] FILE.param[@WxHxC] ...\n"
                           "Compares the splits of all convolutions by search over predicted cycles (document 002, "
                           "section 3.3) with those of the "
                           "driver's rule, as a\nMarkdown table; weights from the seed.\n"
                           "@WxHxC: shape of inputs that have none in the file.\n";

/* Distinct layers of a network. */
typedef struct row {
    net_rt_schedule s;
    uint32_t layer, times;
    uint64_t own, best; /* measured; 0: not */
} row;

typedef struct table {
    const schedule_options *opt;
    row *row;
    uint32_t count;
    bool failed;
} table;

typedef struct totals {
    uint64_t layers, changed, own, best, measured_own, measured_best, bound;
} totals;

static double gain(uint64_t own, uint64_t best) {
    return own == 0 ? 0.0 : 100.0 * (1.0 - (double)best / (double)own);
}

static bool changed(const row *r) {
    return r->s.best_cycles != r->s.own_cycles;
}

static void plan_text(const npu_conv_plan *p, char text[80]) {
    char more[40] = "";
    int used = 0;
    if (p->ic_tasks > 1) {
        used += snprintf(more + used, sizeof more - (size_t)used, " ic %u", p->ic_task);
    }
    if (p->kh_tasks > 1) {
        used += snprintf(more + used, sizeof more - (size_t)used, " kh %u", p->kh_task);
    }
    if (p->row_split) {
        (void)snprintf(more + used, sizeof more - (size_t)used, " ow %u", p->ow_task);
    }
    (void)snprintf(text, 80, "%s %ux%u rows, oc %u, G %u%s", p->resident ? "weights" : "input", p->oh_tasks, p->oh_task,
                   p->oc_task, p->group, more);
}

/* Why no other plan is better. */
static const char *reason(const row *r) {
    return changed(r)                                  ? ""
           : r->s.open == 0                            ? "bound"
           : r->s.own_cycles * 100 <= r->s.bound * 103 ? "within 3 % of its bound"
           : r->s.complete                             ? "none is 0.5 % faster"
                                                       : "none found";
}

static bool same(const npu_conv *a, const npu_conv *b) {
    return a->iw == b->iw && a->ih == b->ih && a->ic == b->ic && a->oc == b->oc && a->kw == b->kw && a->kh == b->kh &&
           a->stride_w == b->stride_w && a->stride_h == b->stride_h && a->dil_w == b->dil_w && a->dil_h == b->dil_h &&
           a->pad_l == b->pad_l && a->pad_r == b->pad_r && a->pad_t == b->pad_t && a->pad_b == b->pad_b &&
           a->groups == b->groups && a->in_layout == b->in_layout && a->out_layout == b->out_layout &&
           a->has_bias == b->has_bias;
}

static void add(table *t, const net_rt *rt, uint32_t layer) {
    row r = {.layer = layer, .times = 1};
    if (!net_rt_search(rt, layer, &r.s)) {
        return;
    }
    if (!rep_more(&t->row, t->count, sizeof *t->row)) {
        t->failed = true;
        return;
    }
    t->row[t->count++] = r;
}

static void measure(table *t, row *r) {
    char err[400] = "";
    uint64_t hash[2] = {0, 0};
    if (t->opt->kind == NPU_DEV_MODEL || (!changed(r) && !t->opt->all) || r->s.own_cycles > t->opt->most) {
        return;
    }
    bool ok = schedule_run(t->opt, &r->s.conv, &r->s.own, &r->own, &hash[0], err, sizeof err);
    r->best = r->own;
    hash[1] = hash[0];
    if (ok && changed(r)) {
        ok = schedule_run(t->opt, &r->s.conv, &r->s.best, &r->best, &hash[1], err, sizeof err);
    }
    if (!ok || hash[0] != hash[1]) {
        fprintf(stderr, "tandem-net: schedule: layer %u: %s\n", r->layer,
                ok ? "the results of the two plans differ, expected equal bits" : err);
        t->failed = true;
    }
}

static void print_row(const net_graph *g, const row *r) {
    char own[80];
    char best[80];
    char measured[48] = "| | ";
    const npu_conv *c = &r->s.conv;
    plan_text(&r->s.own, own);
    plan_text(&r->s.best, best);
    if (r->own != 0) {
        (void)snprintf(measured, sizeof measured, "%" PRIu64 " | %" PRIu64 " | %.1f", r->own, r->best,
                       gain(r->own, r->best));
    }
    printf("| %s x%u | %ux%u %u-%u k%u s%u%s %s-%s | %s | %" PRIu64 " | %s | %" PRIu64 " | %.1f | %s | %s |\n",
           g->layer[r->layer].name, r->times, c->iw, c->ih, c->ic, c->oc, c->kh, c->stride_h,
           c->groups > 1 ? " grouped" : "", c->in_layout == NPU_FP32_NCHW ? "f32" : "i8",
           c->out_layout == NPU_FP32_NCHW ? "f32" : "i8", own, r->s.own_cycles, changed(r) ? best : "the same",
           r->s.best_cycles, gain(r->s.own_cycles, r->s.best_cycles), measured, reason(r));
}

static void print_network(const table *t, const net_graph *g, const char *name) {
    totals sum = {0};
    for (uint32_t i = 0; i < t->count; i++) {
        const row *r = &t->row[i];
        sum.layers += r->times;
        sum.changed += changed(r) ? r->times : 0;
        sum.own += r->times * r->s.own_cycles;
        sum.best += r->times * r->s.best_cycles;
        sum.bound += r->times * r->s.bound;
        sum.measured_own += r->times * r->own;
        sum.measured_best += r->times * r->best;
    }
    if (t->opt->layers) {
        printf("\n%s, N = %u\n\n| layer | shape | driver | predicted | search | predicted | gain, %% | measured | "
               "measured | gain, %% | why not |\n| --- | --- | --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | "
               "--- |\n",
               name, t->opt->n);
        for (uint32_t i = 0; i < t->count; i++) {
            print_row(g, &t->row[i]);
        }
        printf("\n");
    }
    printf("| %s | %" PRIu64 " | %" PRIu64 " | %" PRIu64 " | %.3f | %.3f | %.2f | %.1f | %.3f | %.3f | %.2f |\n", name,
           sum.layers, (uint64_t)t->count, sum.changed, (double)sum.own / 1e6, (double)sum.best / 1e6,
           gain(sum.own, sum.best), sum.own == 0 ? 0.0 : 100.0 * (double)sum.bound / (double)sum.own,
           (double)sum.measured_own / 1e6, (double)sum.measured_best / 1e6, gain(sum.measured_own, sum.measured_best));
    (void)fflush(stdout);
}

static bool schedule_net(table *t, const char *given) {
    netrun run = {0};
    net_error err = {""};
    netrun_options opt = {.device = "model", .n = t->opt->n, .seed = t->opt->seed};
    char path[NETOPT_PATH];
    netopt_split_shape(given, path, opt.shape);
    opt.net = path;
    net_status status = netrun_prepare(&run, &opt, &err);
    status = status == NET_OK ? net_rt_plan(&run.graph, opt.n, NULL, &run.rt, &err) : status;
    for (uint32_t i = 0; status == NET_OK && i < run.graph.num_layers; i++) {
        npu_conv c;
        uint32_t k = t->count;
        if (net_rt_conv(run.rt, i, &c)) {
            for (k = 0; k < t->count && !same(&t->row[k].s.conv, &c); k++) {
            }
        }
        if (k < t->count) {
            t->row[k].times++;
        } else {
            add(t, run.rt, i);
        }
    }
    for (uint32_t i = 0; status == NET_OK && i < t->count; i++) {
        measure(t, &t->row[i]);
    }
    if (status == NET_OK) {
        const char *slash = strrchr(path, '/');
        print_network(t, &run.graph, slash == NULL ? path : slash + 1);
    } else {
        fprintf(stderr, "tandem-net: %s\n", err.text);
    }
    netrun_free(&run);
    return status == NET_OK && !t->failed;
}

static int schedule_all(const schedule_options *opt, const char *const *files, size_t count) {
    int status = 0;
    printf("| network | layers | distinct | changed | driver, predicted | search | gain, %% | bound / driver, %% | "
           "changed: driver, measured | search | gain, %% |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | "
           "---: | ---: | ---: |\n");
    for (size_t i = 0; i < count; i++) {
        table t = {.opt = opt};
        status = schedule_net(&t, files[i]) ? status : 1;
        free(t.row);
    }
    return status;
}

int netschedule_main(int argc, char **argv) {
    schedule_options o = {.device = "model", .n = NETOPT_N, .seed = 1, .most = UINT64_MAX};
    const char **file = calloc((size_t)argc, sizeof *file);
    opt_list words = {.item = file, .most = (size_t)argc};
    const opt_row rows[] = {
        OPT(TEXT, "--device", "model|rtl|tandem", "(default model) rtl: also run layers whose plan differs, both ways",
            &o.device, .words = netopt_devices),
        NETOPT_CFG(&o.n),
        OPT(FLAG, "--layers", NULL, "a line for each distinct layer", &o.layers),
        OPT(FLAG, "--all", NULL, "measure all layers", &o.all),
        OPT(U64, "--most", "CYCLES", "layers of more predicted cycles are not measured", &o.most),
        OPT(U64, "--seed", "S", "seed of weights and data", &o.seed),
    };
    const opt_group group = OPT_GROUP(NULL, rows);
    const netopt_line line = {
        .head = help, .group = &group, .groups = 1, .command = "schedule", .skip = 1, .words = &words};
    if (file == NULL) {
        fputs("tandem-net: out of memory\n", stderr);
        return 1;
    }
    int status = netopt_parse(&line, argc, argv);
    status = status == 0 ? netopt_fits(o.device, o.n, false) : status;
    o.kind = strcmp(o.device, "model") == 0 ? NPU_DEV_MODEL
             : strcmp(o.device, "rtl") == 0 ? NPU_DEV_RTL
                                            : NPU_DEV_TANDEM;
    if (status == 0) {
        status = words.count == 0 ? netopt_usage("schedule: no files (--help)", "", "")
                                  : schedule_all(&o, file, words.count);
    }
    free(file);
    return status < 0 ? 0 : status;
}
