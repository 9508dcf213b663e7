/* calib_auto.c - the calibration method that loses least. */
#include <math.h>
#include <stdlib.h>

#include "calib.h"
#include "internal.h"

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

/* What a method's table loses, in dB of all outputs; NaN below everything. */
static net_status measure(const net_graph *graph, const net_inputs *inputs, const net_table *table, double *db,
                          net_error *err) {
    net_graph int8 = {0};
    net_quant_report report = {0};
    net_status status = copy_graph(graph, &int8, err);
    status = status == NET_OK ? net_quantize_table(&int8, table, err) : status;
    status = status == NET_OK ? net_quant_compare(graph, &int8, inputs, &report, err) : status;
    *db = isnan(report.output_db) ? -INFINITY : report.output_db;
    net_quant_report_free(&report);
    net_graph_free(&int8);
    return status;
}

net_status net_calib_auto(const net_graph *graph, const net_inputs *inputs, const net_hist *hist, double percent,
                          net_table *table, net_calib_method *taken, net_error *err) {
    static const net_calib_method methods[] = {NET_CALIB_KL, NET_CALIB_MINMAX, NET_CALIB_MSE, NET_CALIB_PERCENTILE};
    double best = 0.0;
    bool any = false;
    net_status status = table == NULL || table->count != 0 ? NET_ERR_ARG : NET_OK;
    if (status != NET_OK) {
        return net_fail(err, status, "net_calib_auto: an empty table is needed");
    }
    for (size_t i = 0; status == NET_OK && i < sizeof methods / sizeof methods[0]; i++) {
        net_table own = {0};
        double db = 0.0;
        status = net_calib_table(graph, hist, methods[i], percent, &own, err);
        status = status == NET_OK ? measure(graph, inputs, &own, &db, err) : status;
        if (status == NET_OK && (!any || db > best)) {
            net_table swap = *table;
            *table = own;
            own = swap;
            best = db;
            any = true;
            if (taken != NULL) {
                *taken = methods[i];
            }
        }
        net_table_free(&own);
    }
    if (status != NET_OK) {
        net_table_free(table);
    }
    return status;
}
