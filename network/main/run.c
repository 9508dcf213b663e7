/* run.c - tandem-net run: one network on a device with the runtime, and a report of the place of each layer. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "photos.h"
#include "run.h"
#include "text.h"
#include "netopt.h"
#include "report/report.h"

#define SPARE_BYTES (UINT64_C(1) << 20)

static net_status fail(net_error *err, net_status status, const char *what, const char *why) {
    (void)snprintf(err->text, sizeof err->text, "%.200s: %.150s", what, why);
    return status;
}

/* ---- steps ---- */

static net_status load(netrun *run, const netrun_options *opt, net_error *err) {
    net_graph *g = &run->graph;
    net_status status =
        opt->bin == NULL ? net_graph_load_param(g, opt->net, err) : net_graph_load(g, opt->net, opt->bin, err);
    status = status == NET_OK && opt->shape[0] != 0
                 ? net_graph_set_input(g, opt->shape[0], opt->shape[1], opt->shape[2], err)
                 : status;
    status = status == NET_OK ? net_graph_plan(g, err) : status;
    return status == NET_OK && opt->bin == NULL ? net_graph_random_weights(g, opt->seed, err) : status;
}

/* The scales of a table apply to the layers of the file, before optimisation. */
static net_status apply_table(netrun *run, const netrun_options *opt, net_error *err) {
    net_table table = {0};
    net_status status = net_table_load(&table, opt->table, err);
    status = status == NET_OK ? net_quantize_table(&run->graph, &table, err) : status;
    net_table_free(&table);
    return status;
}

net_status netrun_prepare(netrun *run, const netrun_options *opt, net_error *err) {
    uint32_t more = 0;
    run->stage = "loads";
    net_status status = load(run, opt, err);
    if (status == NET_OK && opt->table != NULL) {
        run->stage = "quantises";
        status = apply_table(run, opt, err);
    }
    if (status == NET_OK) {
        run->stage = "optimises";
        status = net_optimize(&run->graph, NULL, NULL, &run->changes, err);
    }
    if (status == NET_OK && !opt->float_only && !net_graph_is_int8(&run->graph)) {
        run->stage = "quantises";
        status = net_quantize_seeded(&run->graph, opt->seed, err);
        /* chains of INT8 layers */
        status = status == NET_OK ? net_optimize(&run->graph, NULL, NULL, &more, err) : status;
        run->changes += more;
    }
    status = status == NET_OK && opt->merge_convs ? net_opt_merge_convs(&run->graph, &run->changes, err) : status;
    return status == NET_OK && opt->pools_first ? net_opt_pools_first(&run->graph, &run->changes, err) : status;
}

static net_status read_image(netrun *run, const netrun_options *opt, net_error *err) {
    const net_graph *g = &run->graph;
    const char *end = strrchr(opt->image, '.');
    net_picture picture;
    if (g->input == NET_NONE) {
        return fail(err, NET_ERR_UNSUPPORTED, opt->net, "several inputs, a picture is one");
    }
    const net_shape *shape = &g->blob[g->input].shape;
    if (end != NULL && strcmp(end, ".npy") == 0) {
        return net_npy_load(opt->image, shape, run->input, err);
    }
    net_status status = net_picture_load(&picture, opt->image, err);
    if (status == NET_OK) {
        status = net_picture_input(&picture, &opt->prep, shape, run->input, err);
        net_picture_free(&picture);
    }
    return status;
}

net_status netrun_input(netrun *run, const netrun_options *opt, net_error *err) {
    size_t count = net_graph_input_elements(&run->graph);
    run->input = malloc(count * sizeof *run->input + 1);
    if (run->input == NULL) {
        return fail(err, NET_ERR_MEMORY, opt->net, "out of memory");
    }
    if (opt->image != NULL) {
        return read_image(run, opt, err);
    }
    if (opt->input == NULL) {
        net_seeded_input(&run->graph, opt->seed, run->input);
        return NET_OK;
    }
    FILE *file = fopen(opt->input, "rb");
    if (file == NULL) {
        return fail(err, NET_ERR_IO, opt->input, strerror(errno));
    }
    bool ok = fread(run->input, sizeof *run->input, count, file) == count && fgetc(file) == EOF;
    fclose(file);
    return ok ? NET_OK
              : fail(err, NET_ERR_FORMAT, opt->input, "expected exactly one float for each element of the inputs");
}

net_status netrun_open(const netrun *run, const netrun_options *opt, const net_rt_options *rt, npu_dev **dev,
                       net_error *err) {
    const bool rtl = strcmp(opt->device, "model") != 0;
    uint64_t bytes = 0;
    char text[400] = "";
    net_status status = net_rt_memory(&run->graph, opt->n, rt, &bytes, err);
    if (status != NET_OK) {
        return status;
    }
    const npu_dev_cfg cfg = {.kind = !rtl                              ? NPU_DEV_MODEL
                                     : strcmp(opt->device, "rtl") == 0 ? NPU_DEV_RTL
                                                                       : NPU_DEV_TANDEM,
                             .n = opt->n,
                             .seed = opt->seed,
                             .bus_profile = rtl ? opt->bus : NULL,
                             .wave = rtl ? opt->wave : NULL,
                             .ddr_bytes = bytes + SPARE_BYTES,
                             .poison_reads = true};
    *dev = npu_dev_open(&cfg, text, sizeof text);
    if (*dev == NULL) {
        return fail(err, NET_ERR_DEVICE, "device", text);
    }
    npu_dev_inject_broken(*dev, &opt->broken);
    return NET_OK;
}

net_status netrun_execute(netrun *run, const netrun_options *opt, net_error *err) {
    const net_rt_options options = {.reuse = opt->dump == NULL,
                                    .stalls = opt->stalls,
                                    .search = opt->search,
                                    .partition = opt->partition,
                                    .copy_concat = opt->copy_concat,
                                    .apart = opt->apart};
    run->stage = "runs";
    net_status status = netrun_input(run, opt, err);
    status = status == NET_OK ? netrun_open(run, opt, &options, &run->dev, err) : status;
    if (status != NET_OK) {
        return status;
    }
    double start = rep_seconds(CLOCK_PROCESS_CPUTIME_ID);
    status = net_rt_new_with(&run->graph, run->dev, &options, &run->rt, err);
    uint64_t before = npu_dev_cycles(run->dev);
    status = status == NET_OK ? net_rt_run(run->rt, run->input, err) : status;
    run->cycles = npu_dev_cycles(run->dev) - before;
    if (status == NET_OK && !npu_dev_finish(run->dev)) {
        const npu_dev_failure *f = npu_dev_get_failure(run->dev);
        status = fail(err, NET_ERR_DEVICE, f->signature, f->message);
    }
    run->seconds = rep_seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
    return status;
}

void netrun_free(netrun *run) {
    net_rt_free(run->rt);
    if (run->dev != NULL) {
        npu_dev_close(run->dev);
    }
    net_graph_free(&run->graph);
    free(run->input);
    *run = (netrun){0};
}

uint64_t netrun_npu_macs(const netrun *run) {
    uint64_t macs = 0;
    for (uint32_t i = 0; i < run->graph.num_layers; i++) {
        macs += net_rt_layer_on_npu(run->rt, i) ? net_layer_macs(&run->graph, i) : 0;
    }
    return macs;
}

/* ---- report ---- */

static const char *place_text(const net_rt_where *where) {
    return where->fused ? "fused" : where->place == NET_ON_NPU ? "NPU" : where->place == NET_ON_CPU ? "CPU" : "-";
}

static void print_text(const netrun *run, const netrun_options *opt) {
    const net_graph *g = &run->graph;
    uint64_t macs = net_graph_macs(g);
    uint64_t npu = netrun_npu_macs(run);
    uint32_t count[3] = {0};
    printf("%4s %-22s %-28s %-5s %12s %12s  %s\n", "", "type", "name", "where", "MACs", "cycles",
           opt->stalls ? "mesh at work, waits for input, weights, room; why not on the NPU" : "why not on the NPU");
    for (uint32_t i = 0; i < g->num_layers; i++) {
        net_rt_where where = net_rt_layer_where(run->rt, i);
        count[where.place]++;
        printf("%4u %-22s %-28s %-5s %12" PRIu64 " %12" PRIu64 "  ", i, g->layer[i].type, g->layer[i].name,
               place_text(&where), net_layer_macs(g, i), where.cycles);
        if (opt->stalls && where.cycles > 0) {
            double all = (double)where.cycles / 100.0;
            printf("%5.1f %% %5.1f %% %5.1f %% %5.1f %%", (double)where.mesh / all, (double)where.wait_input / all,
                   (double)where.wait_weights / all, (double)where.wait_room / all);
        }
        printf("%s\n", where.place == NET_ON_CPU ? where.reason : "");
    }
    for (uint32_t i = 0; i < g->num_outputs; i++) {
        uint32_t elements = net_shape_elements(&g->blob[g->outputs[i]].shape);
        printf("output     %s %u elements hash %016" PRIx64 "\n", g->blob[g->outputs[i]].name, elements,
               net_hash(net_rt_blob(run->rt, g->outputs[i]), elements));
    }
    net_rt_memory_use use = net_rt_memory_used(run->rt);
    printf("layers     %u on the NPU, %u on the CPU, %u need no work\n", count[NET_ON_NPU], count[NET_ON_CPU],
           count[NET_NOWHERE]);
    printf("MACs       %" PRIu64 ": NPU %" PRIu64 " (%.2f %%), CPU %" PRIu64 "\n", macs, npu,
           macs == 0 ? 0.0 : 100.0 * (double)npu / (double)macs, macs - npu);
    printf("memory     blobs on the device %" PRIu64 " bytes in %" PRIu64 ", all of the device %" PRIu64 "\n",
           use.device_blobs, use.device_arena, use.device_all);
    if (strcmp(opt->device, "model") != 0) {
        double peak = 2.0 * opt->n * opt->n * (double)run->cycles;
        printf("cycles     %" PRIu64 ", N = %u: %.2f %% of %u MACs a cycle\n", run->cycles, opt->n,
               100.0 * (double)npu / peak, 2 * opt->n * opt->n);
    }
    printf("time       %.2f s of CPU time, device %s\n", run->seconds, opt->device);
}

typedef struct report {
    const netrun *run;
    const netrun_options *opt;
} report;

/* What the plans of all layers move, and their predicted cycles; copies of blobs into larger ones included. */
static void put_moved(FILE *out, const netrun *run) {
    net_rt_estimate sum = {0};
    for (uint32_t i = 0; i < run->graph.num_layers; i++) {
        const net_rt_estimate e = net_rt_predict(run->rt, i);
        sum.cycles += e.cycles;
        sum.read += e.read;
        sum.write += e.write;
        sum.tasks += e.tasks;
    }
    fprintf(out,
            ", \"predicted\": %" PRIu64 ", \"tasks\": %" PRIu64 ", \"read_bytes\": %" PRIu64
            ", \"written_bytes\": %" PRIu64,
            sum.cycles, sum.tasks, 32 * sum.read, 32 * sum.write);
}

static void print_json(FILE *out, const void *ctx) {
    const netrun *run = ((const report *)ctx)->run;
    const netrun_options *opt = ((const report *)ctx)->opt;
    const net_graph *g = &run->graph;
    uint64_t macs = net_graph_macs(g);
    uint64_t npu = netrun_npu_macs(run);
    net_rt_memory_use use = net_rt_memory_used(run->rt);
    fputs("{\"net\": ", out);
    rep_json(out, opt->net);
    fprintf(out,
            ", \"device\": \"%s\", \"n\": %u, \"macs_npu\": %" PRIu64 ", \"macs_cpu\": %" PRIu64
            ", \"cycles\": %" PRIu64,
            opt->device, opt->n, npu, macs - npu, run->cycles);
    put_moved(out, run);
    fprintf(out, ", \"device_blobs\": %" PRIu64 ", \"device_arena\": %" PRIu64 ", \"layers\": [\n", use.device_blobs,
            use.device_arena);
    for (uint32_t i = 0; i < g->num_layers; i++) {
        net_rt_where where = net_rt_layer_where(run->rt, i);
        fputs(i == 0 ? "{\"name\": " : ",\n{\"name\": ", out);
        rep_json(out, g->layer[i].name);
        fputs(", \"type\": ", out);
        rep_json(out, g->layer[i].type);
        fprintf(out, ", \"where\": \"%s\", \"macs\": %" PRIu64 ", \"cycles\": %" PRIu64, place_text(&where),
                net_layer_macs(g, i), where.cycles);
        if (opt->stalls) {
            fprintf(out,
                    ", \"mesh\": %" PRIu64 ", \"wait_input\": %" PRIu64 ", \"wait_weights\": %" PRIu64
                    ", \"wait_room\": %" PRIu64,
                    where.mesh, where.wait_input, where.wait_weights, where.wait_room);
        }
        if (where.place == NET_ON_CPU) {
            fputs(", \"reason\": ", out);
            rep_json(out, where.reason);
        }
        fputc('}', out);
    }
    fputs("], \"outputs\": [", out);
    for (uint32_t i = 0; i < g->num_outputs; i++) {
        fputs(i == 0 ? "{\"name\": " : ", {\"name\": ", out);
        rep_json(out, g->blob[g->outputs[i]].name);
        fprintf(out, ", \"hash\": \"%016" PRIx64 "\"}",
                net_hash(net_rt_blob(run->rt, g->outputs[i]), net_shape_elements(&g->blob[g->outputs[i]].shape)));
    }
    fputs("]}\n", out);
}

static int write_json(const netrun *run, const netrun_options *opt) {
    return put_file(opt->json, print_json, &(const report){run, opt}) ? 0 : 1;
}

/* All outputs as raw floats, one after the other. */
static void put_outputs(FILE *out, const void *ctx) {
    const netrun *run = ctx;
    const net_graph *g = &run->graph;
    for (uint32_t i = 0; i < g->num_outputs; i++) {
        (void)fwrite(net_rt_blob(run->rt, g->outputs[i]), sizeof(float),
                     net_shape_elements(&g->blob[g->outputs[i]].shape), out);
    }
}

static int write_outputs(const netrun *run, const netrun_options *opt) {
    return put_file(opt->output, put_outputs, run) ? 0 : 1;
}

/* First output of each layer as raw floats: DIR/<number>-<name>.f32, anything unusual in the name as _. */
static int write_dump(const netrun *run, const netrun_options *opt) {
    const net_graph *g = &run->graph;
    for (uint32_t i = 0; i < g->num_layers; i++) {
        char name[64];
        char path[600];
        uint32_t blob = g->layer[i].out[0];
        size_t count = net_shape_elements(&g->blob[blob].shape);
        (void)snprintf(name, sizeof name, "%.60s", g->layer[i].name);
        for (char *c = name; *c != '\0'; c++) {
            bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
                         *c == '-' || *c == '.';
            *c = plain ? *c : '_';
        }
        (void)snprintf(path, sizeof path, "%.500s/%04u-%s.f32", opt->dump, i, name);
        FILE *out = fopen(path, "wb");
        bool ok = out != NULL && fwrite(net_rt_blob(run->rt, blob), sizeof(float), count, out) == count;
        if (out == NULL || fclose(out) != 0 || !ok) {
            fprintf(stderr, "tandem-net: %.580s: cannot write: %s\n", path, strerror(errno));
            return 1;
        }
    }
    return 0;
}

/* The result for a runner: outcome, cycles, hash of the final memory; a failure of the device under its own
 * signature. */
static int save_result(const netrun *run, const netrun_options *opt, net_status status, const net_error *err) {
    const npu_dev_failure *failure = run->dev == NULL ? NULL : npu_dev_get_failure(run->dev);
    bool device = failure != NULL && failure->signature[0] != '\0';
    char text[400] = "";
    tb_result result;
    tb_result_init(&result);
    if (status != NET_OK) {
        tb_result_fail(&result, device ? TB_FAIL : TB_ERROR, device ? failure->signature : "network/input", "%s",
                       err->text);
    }
    if (run->dev != NULL) {
        (void)npu_dev_finish(run->dev);
        result.cycles = npu_dev_cycles(run->dev);
        result.trace_hash = npu_dev_trace_hash(run->dev);
    }
    tb_result_close(&result);
    int failed = tb_result_save(&result, opt->result, text, sizeof text);
    tb_result_free(&result);
    if (failed != 0) {
        fprintf(stderr, "tandem-net: %s\n", text);
    }
    return failed != 0 ? 1 : 0;
}

int netrun_one(const netrun_options *opt) {
    if (opt->each || opt->only != NULL) {
        return netrun_parts(opt);
    }
    netrun run = {0};
    net_error err = {""};
    net_status status = netrun_prepare(&run, opt, &err);
    status = status == NET_OK ? netrun_execute(&run, opt, &err) : status;
    int exit_status = status == NET_OK ? 0 : status == NET_ERR_DEVICE || status == NET_ERR_MEMORY ? 1 : 2;
    bool text = opt->json == NULL || strcmp(opt->json, "-") != 0;
    if (status != NET_OK) {
        fprintf(stderr, "tandem-net: %s\n", err.text);
    } else {
        if (text) {
            print_text(&run, opt);
        }
        exit_status = opt->json != NULL ? write_json(&run, opt) : 0;
        for (uint32_t i = 0; text && opt->top > 0 && exit_status == 0 && i < run.graph.num_outputs; i++) {
            uint32_t blob = run.graph.outputs[i];
            exit_status = photos_print_top(net_rt_blob(run.rt, blob), net_shape_elements(&run.graph.blob[blob].shape),
                                           opt->top, opt->names);
        }
        exit_status = opt->output != NULL && exit_status == 0 ? write_outputs(&run, opt) : exit_status;
        exit_status = opt->dump != NULL && exit_status == 0 ? write_dump(&run, opt) : exit_status;
    }
    if (opt->result != NULL) {
        int failed = save_result(&run, opt, status, &err);
        exit_status = exit_status == 0 ? failed : exit_status;
    }
    netrun_free(&run);
    return exit_status;
}
