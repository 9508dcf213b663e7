/* graph_run.h - the executor of the test `graph` (graph_run.c) and the knobs that it reads (graph.c). */
#ifndef TESTCASES_GRAPH_RUN_H
#define TESTCASES_GRAPH_RUN_H

#include "../operator/tensor.h"
#include "graph.h"
#include "network.h"

/* Knob `data`. */
typedef enum graph_data {
    GRAPH_PLAIN, /* -1..1 */
    GRAPH_ZEROS,
    GRAPH_RAMP,
    GRAPH_WIDE, /* eight times the range over which the network was quantised */
    GRAPH_ONES, /* never drawn, for shrinking */
    GRAPH_DATA_COUNT
} graph_data;
extern const char *const graph_data_names[GRAPH_DATA_COUNT];

/* Knob `optimise`: bit 0 before, bit 1 after quantisation. */
#define GRAPH_OPTIMISE_COUNT 4u
extern const char *const graph_optimise_names[GRAPH_OPTIMISE_COUNT];

void graph_from_knobs(const tb_knobs *knobs, graph_knobs *out);
/* The first layer that differs from its definition fails the run; NET_OK then, too. Errors: NET_ERR_MEMORY. */
net_status graph_check_layers(tc_run *run, const net_graph *g, const net_rt *rt, net_error *err);
/* The same for blobs that follow from the input without averages and fitted functions: bit by bit those of
 * net_int8_run(). Errors: those of net_int8_new(). */
net_status graph_check_whole(tc_run *run, const net_graph *g, const net_rt *rt, const float *input, net_error *err);
/* Kinds and places of all layers, except Input and Split; NULL: no memory. To be freed. */
npu_cov_layer *graph_describe(const net_graph *g, const net_rt *rt, uint32_t *count);
/* execute() of the test. */
int graph_execute(tc_run *run);

#endif
