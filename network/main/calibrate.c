/* calibrate.c - tandem-net calibrate: INT8 scales for a float network, and what they cost. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "photos.h"

typedef struct calib_job {
    const photos_options *opt;
    net_graph fp32, int8, other; /* other: --compare */
    net_hist *hist;
    net_table table;
    net_quant_report report, other_report;
    net_inputs inputs;
    photos_source source;
} calib_job;

/* ---- report ---- */

static void print_agreement(const char *what, const net_quant_report *r) {
    printf("%s: top-1 as in FP32 for %u of %u inputs, output %.2f dB\n", what, r->same_top1, r->inputs, r->output_db);
}

static void print_text(const calib_job *job) {
    const net_quant_report *r = &job->report;
    printf("%-24s %12s %12s %12s %9s %9s %9s %9s\n", "layer", "scale", "absmax", "threshold", "clipped", "input dB", "weight dB",
           "output dB");
    for (uint32_t i = 0; i < job->fp32.num_layers; i++) {
        const net_quant_loss *l = &r->layer[i];
        if (l->quantized) {
            printf("%-24s %12.6f %12.6f %12.6f %8.4f%% %9.2f %9.2f %9.2f\n", job->fp32.layer[i].name, (double)l->scale,
                   (double)job->hist[i].absmax, 127.0 / (double)l->scale,
                   l->values == 0 ? 0.0 : 100.0 * (double)l->clipped / (double)l->values, l->input_db, l->weight_db, l->output_db);
        }
    }
    print_agreement(job->opt->method_name, r);
    if (job->opt->compare != NULL) {
        print_agreement(job->opt->compare, &job->other_report);
    }
}

static void print_string(const char *text) {
    putchar('"');
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '"' || *p == '\\') {
            printf("\\%c", *p);
        } else if ((unsigned char)*p < 0x20) {
            printf("\\u%04x", (unsigned)*p);
        } else {
            putchar(*p);
        }
    }
    putchar('"');
}

/* JSON has no infinities. */
static void print_number(const char *key, double value) {
    if (isfinite(value)) {
        printf(", \"%s\": %.9g", key, value);
    } else {
        printf(", \"%s\": null", key);
    }
}

static void print_json(const calib_job *job) {
    const net_quant_report *r = &job->report;
    bool first = true;
    printf("{\"method\": \"%s\", \"inputs\": %u, \"same_top1\": %u", job->opt->method_name, r->inputs, r->same_top1);
    if (job->opt->compare != NULL) {
        printf(", \"compared_same_top1\": %u", job->other_report.same_top1);
    }
    printf(", \"layers\": [");
    for (uint32_t i = 0; i < job->fp32.num_layers; i++) {
        const net_quant_loss *l = &r->layer[i];
        if (!l->quantized) {
            continue;
        }
        printf("%s\n{\"name\": ", first ? "" : ",");
        first = false;
        print_string(job->fp32.layer[i].name);
        print_number("scale", (double)l->scale);
        print_number("absmax", (double)job->hist[i].absmax);
        print_number("threshold", 127.0 / (double)l->scale);
        print_number("clipped", l->values == 0 ? 0.0 : (double)l->clipped / (double)l->values);
        print_number("input_db", l->input_db);
        print_number("weight_db", l->weight_db);
        print_number("output_db", l->output_db);
        printf("}");
    }
    printf("]}\n");
}

/* ---- the job ---- */

/* A second copy of the network, INT8 by a table, beside the float one. */
static net_status measure(calib_job *job, const net_table *table, net_graph *graph, net_quant_report *report, net_error *err) {
    net_status status = photos_load(job->opt, graph, err);
    status = status == NET_OK ? net_quantize_table(graph, table, err) : status;
    return status == NET_OK ? net_quant_compare(&job->fp32, graph, &job->inputs, report, err) : status;
}

static net_status compare_other(calib_job *job, net_error *err) {
    net_table other;
    net_status status = net_table_load(&other, job->opt->compare, err);
    if (status == NET_OK) {
        status = measure(job, &other, &job->other, &job->other_report, err);
        net_table_free(&other);
    }
    return status;
}

static net_status save(calib_job *job, net_error *err) {
    const photos_options *o = job->opt;
    net_status status = o->table != NULL ? net_table_save(&job->table, o->table, err) : NET_OK;
    if (status == NET_OK && o->optimise) {
        status = net_optimize(&job->int8, NULL, NULL, NULL, err);
    }
    return status == NET_OK && o->out_param != NULL ? net_graph_save(&job->int8, o->out_param, o->out_bin, NULL, err) : status;
}

static net_status run(calib_job *job, net_error *err) {
    const photos_options *o = job->opt;
    net_status status = photos_load(o, &job->fp32, err);
    if (status != NET_OK) {
        return status;
    }
    job->source = (photos_source){o, &job->fp32.blob[job->fp32.input].shape};
    job->inputs = (net_inputs){o->count, photos_input, &job->source};
    job->hist = calloc(job->fp32.num_layers, sizeof *job->hist);
    if (job->hist == NULL) {
        (void)snprintf(err->text, sizeof err->text, "out of memory");
        return NET_ERR_MEMORY;
    }
    status = net_calib_collect(&job->fp32, &job->inputs, job->hist, err);
    status = status == NET_OK ? net_calib_table(&job->fp32, job->hist, o->method, o->percent, &job->table, err) : status;
    if (status == NET_OK && job->table.count == 0) {
        (void)snprintf(err->text, sizeof err->text, "%.200s: no layer that becomes INT8", o->net);
        return NET_ERR_UNSUPPORTED;
    }
    status = status == NET_OK ? measure(job, &job->table, &job->int8, &job->report, err) : status;
    status = status == NET_OK && o->compare != NULL ? compare_other(job, err) : status;
    if (status == NET_OK) {
        (o->json ? print_json : print_text)(job);
        status = save(job, err);
    }
    return status;
}

int photos_calibrate(const photos_options *o) {
    photos_options own = *o;
    own.method_name = own.method_name == NULL ? "kl" : own.method_name;
    calib_job job = {.opt = &own};
    net_error err;
    net_status status = run(&job, &err);
    int result = status == NET_OK ? 0 : photos_failed(status, &err);
    net_quant_report_free(&job.report);
    net_quant_report_free(&job.other_report);
    net_table_free(&job.table);
    net_graph_free(&job.fp32);
    net_graph_free(&job.int8);
    net_graph_free(&job.other);
    free(job.hist);
    return result;
}
