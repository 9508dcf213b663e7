/* part_json.c - single layers as JSON. */
#include <inttypes.h>
#include <stdio.h>

#include "part.h"
#include "text.h"

/* Cycles of docs/npu/npu.md section 5 under their names; two posts as their mean. */
static void put_counters(FILE *out, const uint64_t *c) {
    fprintf(out,
            ", \"bytes_read\": %" PRIu64 ", \"bytes_written\": %" PRIu64 ", \"gemm\": {\"busy\": %" PRIu64
            ", \"load\": %" PRIu64 ", \"compute\": %" PRIu64 ", \"write_back\": %" PRIu64 ", \"wait_input\": %" PRIu64
            ", \"wait_weights\": %" PRIu64 ", \"wait_room\": %" PRIu64 ", \"wait_send\": %" PRIu64
            ", \"wait_sums\": %" PRIu64 "}",
            16 * (c[2] + c[3]), 16 * (c[4] + c[5]), c[33], c[21], c[1], c[22], c[6], c[7], c[8], (c[23] + c[24]) / 2,
            (c[25] + c[26]) / 2);
    fprintf(out,
            ", \"alu\": {\"busy\": %" PRIu64 ", \"wait_operands\": %" PRIu64 ", \"wait_send\": %" PRIu64
            "}, \"pool\": {\"busy\": %" PRIu64 ", \"wait_input\": %" PRIu64 ", \"wait_send\": %" PRIu64
            "}, \"bus\": {\"read_waits\": %" PRIu64 ", \"write_waits\": %" PRIu64 "}",
            c[27], c[28], c[29], c[30], c[31], c[32], (c[13] + c[14]) / 2, (c[17] + c[18]) / 2);
}

static void put_part(const part_job *j, const part *p, FILE *out) {
    const net_rt_estimate e = p->estimate;
    fprintf(out, "{\"first\": %u, \"last\": %u, \"type\": ", p->first, p->last);
    rep_json(out, j->run.graph.layer[p->first].type);
    fputs(", \"name\": ", out);
    rep_json(out, j->run.graph.layer[p->first].name);
    fprintf(out,
            ", \"macs\": %" PRIu64 ", \"cycles\": %" PRIu64 ", \"predicted\": %" PRIu64 ", \"mesh_bound\": %" PRIu64
            ", \"read_bound\": %" PRIu64 ", \"write_bound\": %" PRIu64 ", \"fill\": %" PRIu64 ", \"drain\": %" PRIu64
            ", \"tasks\": %" PRIu64 ", \"seconds\": %.3f, \"same\": %s",
            p->macs, p->out.cycles, e.cycles, e.mesh, e.read, e.write, e.fill, e.drain, e.tasks, p->out.seconds,
            p->out.status == NET_OK ? "true" : "false");
    if (p->out.status != NET_OK) {
        fputs(", \"message\": ", out);
        rep_json(out, p->out.message);
    }
    if (j->opt->stalls) {
        put_counters(out, p->out.counter);
    }
    fputc('}', out);
}

static void put_all(FILE *out, const void *ctx) {
    const part_job *j = ctx;
    uint64_t cycles = 0;
    uint64_t prediction = 0;
    fputs("{\"net\": ", out);
    rep_json(out, j->opt->net);
    fprintf(out, ", \"device\": \"%s\", \"n\": %u, \"layers\": [\n", j->opt->device, j->opt->n);
    for (uint32_t i = 0; i < j->count; i++) {
        fputs(i == 0 ? "" : ",\n", out);
        put_part(j, &j->part[i], out);
        cycles += j->part[i].out.cycles;
        prediction += j->part[i].estimate.cycles;
    }
    fprintf(out, "],\n\"macs\": %" PRIu64 ", \"cycles\": %" PRIu64 ", \"predicted\": %" PRIu64 ", \"ms_200mhz\": %.3f",
            j->macs, cycles, prediction, (double)cycles / 200e3);
    fprintf(out, ", \"median_off\": %.3f", part_median_off(j));
    if (j->opt->published > 0) {
        fprintf(out, ", \"published_ms\": %.3f", j->opt->published);
    }
    fputs("}\n", out);
}

bool part_json(const part_job *j, const char *path) {
    return put_file(path, put_all, j);
}
