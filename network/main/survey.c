/* survey.c - tandem-net survey: many topologies, a line of a table each. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "netopt.h"
#include "run.h"

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* The error without its leading path, which depends on the machine. */
static const char *message(const net_error *err, const char *path) {
    size_t folder = (size_t)(base_name(path) - path);
    return strncmp(err->text, path, folder) == 0 ? err->text + folder : err->text;
}

static void cpu_types(const netrun *run, char *text, size_t size) {
    const net_graph *g = &run->graph;
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < g->num_layers; i++) {
        uint32_t count = 0;
        bool before = false;
        if (net_rt_layer_where(run->rt, i).place != NET_ON_CPU) {
            continue;
        }
        for (uint32_t k = 0; k < g->num_layers; k++) {
            bool same =
                net_rt_layer_where(run->rt, k).place == NET_ON_CPU && strcmp(g->layer[k].type, g->layer[i].type) == 0;
            before = before || (same && k < i);
            count += same;
        }
        if (!before && used < size) {
            int n = snprintf(text + used, size - used, "%s%u %s", used == 0 ? "" : ", ", count, g->layer[i].type);
            used += n > 0 ? (size_t)n : 0;
        }
    }
}

static void shape_text(const net_graph *g, char text[48]) {
    const net_shape *s = &g->blob[g->inputs[0]].shape;
    (void)snprintf(text, 48, "%ux%ux%u", s->w, s->h, s->c);
}

/* true: it runs end to end. */
static bool survey_one(const netrun_options *options, uint64_t most, const char *given) {
    netrun run = {0};
    net_error err = {""};
    netrun_options opt = *options;
    char path[NETOPT_PATH];
    char shape[48];
    char cpu[300];
    netopt_split_shape(given, path, opt.shape);
    opt.net = path;
    net_status status = netrun_prepare(&run, &opt, &err);
    bool large = status == NET_OK && net_graph_macs(&run.graph) / 1000000 > most;
    status = status == NET_OK && !large ? netrun_execute(&run, &opt, &err) : status;
    bool ok = status == NET_OK && !large;
    if (ok) {
        uint64_t macs = net_graph_macs(&run.graph);
        uint64_t npu = netrun_npu_macs(&run);
        net_rt_memory_use use = net_rt_memory_used(run.rt);
        shape_text(&run.graph, shape);
        cpu_types(&run, cpu, sizeof cpu);
        printf("| %s | %s | yes | %.1f | %.2f | %.1f of %.1f | %s | %.1f |\n", base_name(path), shape,
               (double)macs / 1e6, macs == 0 ? 0.0 : 100.0 * (double)npu / (double)macs, (double)use.device_arena / 1e6,
               (double)use.device_blobs / 1e6, cpu, run.seconds);
    } else if (large) {
        shape_text(&run.graph, shape);
        printf("| %s | %s | quantises; not run: too large | %.1f | | | | |\n", base_name(path), shape,
               (double)net_graph_macs(&run.graph) / 1e6);
    } else {
        printf("| %s | | not: %s (%s) | | | | | |\n", base_name(path), message(&err, path), run.stage);
    }
    (void)fflush(stdout);
    netrun_free(&run);
    return ok;
}

int netsurvey(const netrun_options *opt, uint64_t most, const char *const *files, uint32_t count) {
    uint32_t ran = 0;
    printf("| file | input | end to end | million MACs | on the NPU, %% | device memory for blobs, MB | layers in C | "
           "seconds |\n"
           "| --- | --- | --- | ---: | ---: | ---: | --- | ---: |\n");
    for (uint32_t i = 0; i < count; i++) {
        ran += survey_one(opt, most, files[i]);
    }
    printf("\n%u of %u run end to end.\n", ran, count);
    return 0;
}
