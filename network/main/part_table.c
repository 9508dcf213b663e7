/* part_table.c - single layers as text: a line for each, subtotals by type, the total. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "part.h"
#include "tb.h"

static void print_part(const part_job *j, const part *p) {
    const uint64_t prediction = p->estimate.cycles;
    const net_graph *g = &j->run.graph;
    const part_outcome *out = &p->out;
    const bool good = out->status == NET_OK;
    const double peak = 2.0 * j->opt->n * j->opt->n * (double)out->cycles;
    char range[24];
    (void)snprintf(range, sizeof range, p->first == p->last ? "%u" : "%u-%u", p->first, p->last);
    printf("%-7s %-22s %-24s %11" PRIu64 " %10" PRIu64 " %10" PRIu64 " %6.1f %6.1f %7.2f  %s%s%s\n", range,
           g->layer[p->first].type, g->layer[p->first].name, p->macs, out->cycles, prediction,
           part_off(prediction, out->cycles), out->cycles == 0 ? 0.0 : 100.0 * (double)p->macs / peak, out->seconds,
           good ? "same" : out->signature, good ? "" : ": ", good ? "" : out->message);
}

/* ---- by type ---- */

typedef struct subtotal {
    uint32_t count;
    uint64_t macs, cycles, prediction;
} subtotal;

static subtotal sum_of(const part_job *j, const char *type) {
    subtotal s = {0};
    for (uint32_t i = 0; i < j->count; i++) {
        const part *p = &j->part[i];
        if (strcmp(j->run.graph.layer[p->first].type, type) == 0) {
            s.count++;
            s.macs += p->macs;
            s.cycles += p->out.cycles;
            s.prediction += p->estimate.cycles;
        }
    }
    return s;
}

/* A line for each type, where it first occurs. */
static void print_types(const part_job *j) {
    for (uint32_t i = 0; i < j->count; i++) {
        const char *type = j->run.graph.layer[j->part[i].first].type;
        uint32_t k = 0;
        while (strcmp(j->run.graph.layer[j->part[k].first].type, type) != 0) {
            k++;
        }
        if (k == i) {
            const subtotal s = sum_of(j, type);
            printf("sum     %-22s %-24u %11" PRIu64 " %10" PRIu64 " %10" PRIu64 " %6.1f\n", type, s.count, s.macs,
                   s.cycles, s.prediction, part_off(s.prediction, s.cycles));
        }
    }
}

/* ---- all ---- */

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

double part_median_off(const part_job *j) {
    double *off = calloc((size_t)j->count + 1, sizeof *off);
    double median = 0;
    for (uint32_t i = 0; off != NULL && i < j->count; i++) {
        off[i] = fabs(part_off(j->part[i].estimate.cycles, j->part[i].out.cycles));
    }
    if (off != NULL && j->count > 0) {
        qsort(off, j->count, sizeof *off, by_size);
        median = (off[(j->count - 1) / 2] + off[j->count / 2]) / 2;
    }
    free(off);
    return median;
}

static void print_total(const part_job *j, uint64_t cycles, double longest) {
    const double ms = (double)cycles / 200e3;
    if (cycles != 0) {
        printf("time    %.3f ms at 200 MHz, %.1f %% of the mesh", ms,
               100.0 * (double)j->macs / (2.0 * j->opt->n * j->opt->n * (double)cycles));
        if (j->opt->published > 0) {
            printf("; published %.2f ms, %.3f of it", j->opt->published, ms / j->opt->published);
        }
        putchar('\n');
    }
    printf("total   %u parts, %" PRIu64 " MACs, %" PRIu64 " cycles (N = %u), %" PRIu64
           " predicted (%+.1f %%, median of the layers %.1f %%), longest %.2f s of CPU time\n",
           j->count, j->macs, cycles, j->opt->n, j->work, part_off(j->work, cycles), part_median_off(j), longest);
}

const part *part_table(const part_job *j, uint64_t *cycles, uint64_t *hash) {
    const part *bad = NULL;
    double longest = 0;
    *cycles = 0;
    *hash = 0;
    printf("%-7s %-22s %-24s %11s %10s %10s %6s %6s %7s  %s\n", "layers", "type", "name", "MACs", "cycles", "predicted",
           "off %", "mesh %", "CPU s", "result");
    for (uint32_t i = 0; i < j->count; i++) {
        const part *p = &j->part[i];
        print_part(j, p);
        *cycles += p->out.cycles;
        *hash = tb_hash_u64(*hash, p->out.trace_hash);
        bad = bad == NULL && p->out.status != NET_OK ? p : bad;
        longest = p->out.seconds > longest ? p->out.seconds : longest;
    }
    if (j->count > 1) {
        print_types(j);
    }
    print_total(j, *cycles, longest);
    return bad;
}
