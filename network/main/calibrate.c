/* calibrate.c - tandem-net calibrate: INT8 scales for a float network, and the loss of accuracy. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "photos.h"
#include "report/report.h"

#define METHODS 4u
static const char *const method_name[METHODS] = {[NET_CALIB_KL] = "kl",
                                                 [NET_CALIB_MINMAX] = "minmax",
                                                 [NET_CALIB_MSE] = "mse",
                                                 [NET_CALIB_PERCENTILE] = "percentile"};

/* A calibration method, and its result. */
typedef struct candidate {
    net_table table;
    net_graph graph; /* INT8 */
    net_quant_report report;
} candidate;

typedef struct calib_job {
    const photos_options *opt;
    net_graph fp32;
    net_hist *hist;
    candidate best, other; /* other: --compare */
    uint32_t method;       /* of the best */
    struct {
        bool done;
        uint32_t same_top1;
        double output_db;
    } tried[METHODS];
    net_inputs inputs;
    photos_source source;
} calib_job;

/* ---- report ---- */

static void print_agreement(const char *what, uint32_t same_top1, uint32_t inputs, double output_db) {
    printf("%s: top-1 as in FP32 for %u of %u inputs, output %.2f dB\n", what, same_top1, inputs, output_db);
}

static void print_text(const calib_job *job) {
    const net_quant_report *r = &job->best.report;
    printf("%-24s %12s %12s %12s %9s %9s %9s %9s\n", "layer", "scale", "absmax", "threshold", "clipped", "input dB",
           "weight dB", "output dB");
    for (uint32_t i = 0; i < job->fp32.num_layers; i++) {
        const net_quant_loss *l = &r->layer[i];
        if (l->quantized) {
            printf("%-24s %12.6f %12.6f %12.6f %8.4f%% %9.2f %9.2f %9.2f\n", job->fp32.layer[i].name, (double)l->scale,
                   (double)job->hist[i].absmax, 127.0 / (double)l->scale,
                   l->values == 0 ? 0.0 : 100.0 * (double)l->clipped / (double)l->values, l->input_db, l->weight_db,
                   l->output_db);
        }
    }
    for (uint32_t i = 0; i < METHODS; i++) {
        if (job->tried[i].done) {
            print_agreement(method_name[i], job->tried[i].same_top1, r->inputs, job->tried[i].output_db);
        }
    }
    if (job->opt->compare != NULL) {
        print_agreement(job->opt->compare, job->other.report.same_top1, r->inputs, job->other.report.output_db);
    }
    printf("taken: %s\n", method_name[job->method]);
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
    const net_quant_report *r = &job->best.report;
    bool first = true;
    printf("{\"method\": \"%s\", \"inputs\": %u, \"same_top1\": %u", method_name[job->method], r->inputs, r->same_top1);
    print_number("output_db", r->output_db);
    if (job->opt->compare != NULL) {
        printf(", \"compared_same_top1\": %u", job->other.report.same_top1);
        print_number("compared_output_db", job->other.report.output_db);
    }
    printf(", \"tried\": [");
    for (uint32_t i = 0; i < METHODS; i++) {
        if (job->tried[i].done) {
            printf("%s{\"method\": \"%s\", \"same_top1\": %u", first ? "" : ", ", method_name[i],
                   job->tried[i].same_top1);
            print_number("output_db", job->tried[i].output_db);
            printf("}");
            first = false;
        }
    }
    printf("]");
    first = true;
    printf(", \"layers\": [");
    for (uint32_t i = 0; i < job->fp32.num_layers; i++) {
        const net_quant_loss *l = &r->layer[i];
        if (!l->quantized) {
            continue;
        }
        printf("%s\n{\"name\": ", first ? "" : ",");
        first = false;
        rep_json(stdout, job->fp32.layer[i].name);
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

static void drop(candidate *c) {
    net_table_free(&c->table);
    net_graph_free(&c->graph);
    net_quant_report_free(&c->report);
}

/* A second copy of the network, INT8 by the candidate's table, to be compared with the float one. */
static net_status measure(calib_job *job, candidate *c, net_error *err) {
    net_status status = photos_load(job->opt, &c->graph, err);
    status = status == NET_OK ? net_quantize_table(&c->graph, &c->table, err) : status;
    return status == NET_OK ? net_quant_compare(&job->fp32, &c->graph, &job->inputs, &c->report, err) : status;
}

static bool better(const net_quant_report *a, const net_quant_report *b) {
    return a->same_top1 != b->same_top1 ? a->same_top1 > b->same_top1 : a->output_db > b->output_db;
}

/* Quantise by a method, and keep the result if it is the best one so far. */
static net_status try_method(calib_job *job, net_calib_method method, net_error *err) {
    candidate c = {0};
    net_status status = net_calib_table(&job->fp32, job->hist, method, job->opt->percent, &c.table, err);
    if (status == NET_OK && c.table.count == 0) {
        (void)snprintf(err->text, sizeof err->text, "%.200s: no layer that becomes INT8", job->opt->net);
        status = NET_ERR_UNSUPPORTED;
    }
    status = status == NET_OK ? measure(job, &c, err) : status;
    if (status == NET_OK) {
        job->tried[method].done = true;
        job->tried[method].same_top1 = c.report.same_top1;
        job->tried[method].output_db = c.report.output_db;
    }
    bool keep = status == NET_OK && (job->best.report.layer == NULL || better(&c.report, &job->best.report));
    if (keep) {
        drop(&job->best);
        job->best = c;
        job->method = method;
    } else {
        drop(&c);
    }
    return status;
}

static net_status save(calib_job *job, net_error *err) {
    const photos_options *o = job->opt;
    net_status status = o->table != NULL ? net_table_save(&job->best.table, o->table, err) : NET_OK;
    if (status == NET_OK && o->optimise) {
        status = net_optimize(&job->best.graph, NULL, NULL, NULL, err);
    }
    return status == NET_OK && o->out_param != NULL
               ? net_graph_save(&job->best.graph, o->out_param, o->out_bin, NULL, err)
               : status;
}

static net_status run(calib_job *job, net_error *err) {
    const photos_options *o = job->opt;
    net_status status = photos_load(o, &job->fp32, err);
    if (status != NET_OK) {
        return status;
    }
    status = photos_source_open(&job->source, o, &job->fp32.blob[job->fp32.input].shape, err);
    if (status != NET_OK) {
        return status;
    }
    job->inputs = (net_inputs){job->source.count, photos_input, &job->source};
    job->hist = calloc(job->fp32.num_layers, sizeof *job->hist);
    if (job->hist == NULL) {
        (void)snprintf(err->text, sizeof err->text, "out of memory");
        return NET_ERR_MEMORY;
    }
    status = net_calib_collect(&job->fp32, &job->inputs, job->hist, err);
    for (uint32_t i = 0; status == NET_OK && i < METHODS; i++) {
        if (o->method_name == NULL || strcmp(o->method_name, "auto") == 0 ||
            strcmp(o->method_name, method_name[i]) == 0) {
            status = try_method(job, (net_calib_method)i, err);
        }
    }
    if (status == NET_OK && o->compare != NULL) {
        status = net_table_load(&job->other.table, o->compare, err);
        status = status == NET_OK ? measure(job, &job->other, err) : status;
    }
    if (status == NET_OK) {
        (o->json ? print_json : print_text)(job);
        status = save(job, err);
    }
    return status;
}

int photos_calibrate(const photos_options *o) {
    calib_job job = {.opt = o};
    net_error err;
    net_status status = run(&job, &err);
    int result = status == NET_OK ? 0 : photos_failed(status, &err);
    drop(&job.best);
    drop(&job.other);
    net_graph_free(&job.fp32);
    photos_source_free(&job.source);
    free(job.hist);
    return result;
}
