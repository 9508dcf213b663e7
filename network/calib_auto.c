/* calib_auto.c - the calibration method that loses least. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calib.h"
#include "internal.h"

#define NEARLY_DB 3.0          /* outputs that are as exact */
#define NEARLY_PRECISION 0.005 /* boxes that are as good */

/* A second graph of the same files; the shape of open inputs is that of the first. */
static net_status copy_graph(const net_graph *graph, net_graph *copy, net_error *err) {
    const net_save_options exact = {NET_LAYOUT_STOCK, NET_STORE_FP32};
    char *text = NULL;
    uint8_t *data = NULL;
    size_t text_bytes = 0;
    size_t data_bytes = 0;
    net_status status = net_graph_print_param(graph, &text, &text_bytes, err);
    status = status == NET_OK ? net_graph_pack_bin(graph, &exact, &data, &data_bytes, err) : status;
    status = status == NET_OK ? net_graph_parse_param(copy, text, text_bytes, graph->name, err) : status;
    status = status == NET_OK ? net_graph_parse_bin(copy, data, data_bytes, graph->name, err) : status;
    free(text);
    free(data);
    if (status == NET_OK) {
        copy->free_input = graph->free_input;
        status = net_graph_plan(copy, err);
    }
    return status;
}

/* What a method's table gives. */
static net_status measure(const net_graph *graph, const net_inputs *inputs, const net_table *table,
                          net_calib_score *score, net_error *err) {
    net_graph int8 = {0};
    net_quant_report report = {0};
    net_status status = copy_graph(graph, &int8, err);
    status = status == NET_OK ? net_quantize_table(&int8, table, err) : status;
    status = status == NET_OK ? net_quant_compare(graph, &int8, inputs, &report, err) : status;
    *score = (net_calib_score){.done = status == NET_OK,
                               .right = report.right,
                               .same_top1 = report.classes ? report.same_top1 : 0,
                               .output_db = report.output_db,
                               .precision = report.map[1]};
    net_quant_report_free(&report);
    net_graph_free(&int8);
    return status;
}

/* dB in which NaN, of outputs that are all zero, is below everything. */
static double decibels(const net_calib_score *s) {
    return isnan(s->output_db) ? -INFINITY : s->output_db;
}

uint32_t net_calib_choose(const net_calib_score score[NET_CALIB_METHODS]) {
    uint32_t right = 0;
    double precision = 0.0;
    double most = -INFINITY;
    uint32_t best = NET_CALIB_METHODS;
    bool possible[NET_CALIB_METHODS];
    for (uint32_t i = 0; i < NET_CALIB_METHODS; i++) {
        right = score[i].done && score[i].right > right ? score[i].right : right;
        precision = score[i].done && score[i].precision > precision ? score[i].precision : precision;
    }
    for (uint32_t i = 0; i < NET_CALIB_METHODS; i++) {
        possible[i] = score[i].done && score[i].right == right && score[i].precision >= precision - NEARLY_PRECISION;
        most = possible[i] && decibels(&score[i]) > most ? decibels(&score[i]) : most;
    }
    for (uint32_t i = 0; i < NET_CALIB_METHODS; i++) {
        const net_calib_score *s = &score[i];
        const net_calib_score *b = &score[best < NET_CALIB_METHODS ? best : i];
        if (!possible[i] || decibels(s) < most - NEARLY_DB) {
            continue;
        }
        if (best == NET_CALIB_METHODS || s->same_top1 > b->same_top1 ||
            (s->same_top1 == b->same_top1 && decibels(s) > decibels(b))) {
            best = i;
        }
    }
    return best < NET_CALIB_METHODS ? best : 0;
}

net_status net_calib_auto(const net_graph *graph, const net_inputs *inputs, const net_hist *hist, uint32_t methods,
                          double percent, net_table *table, net_calib_method *taken, net_calib_score *score,
                          net_error *err) {
    net_table tables[NET_CALIB_METHODS] = {0};
    net_calib_score all[NET_CALIB_METHODS] = {0};
    net_status status = table == NULL || table->count != 0 || (methods & NET_CALIB_ALL) == 0 ? NET_ERR_ARG : NET_OK;
    if (status != NET_OK) {
        return net_fail(err, status, "net_calib_auto: an empty table and a method are needed");
    }
    for (uint32_t i = 0; status == NET_OK && i < NET_CALIB_METHODS; i++) {
        if ((methods >> i & 1u) != 0) {
            status = net_calib_table(graph, hist, (net_calib_method)i, percent, &tables[i], err);
            status = status == NET_OK ? measure(graph, inputs, &tables[i], &all[i], err) : status;
        }
    }
    if (status == NET_OK) {
        uint32_t best = net_calib_choose(all);
        *table = tables[best];
        tables[best] = (net_table){0};
        if (taken != NULL) {
            *taken = (net_calib_method)best;
        }
        if (score != NULL) {
            memcpy(score, all, sizeof all);
        }
    }
    for (uint32_t i = 0; i < NET_CALIB_METHODS; i++) {
        net_table_free(&tables[i]);
    }
    return status;
}
