/* calibrate.c - tandem-net calibrate: INT8 scales for a float network, layers that stay float, the loss of accuracy. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "photos.h"
#include "report/report.h"

static const char *const method_name[NET_CALIB_METHODS] = {NET_CALIB_METHOD_WORDS};

/* A calibration method, and its result. */
typedef struct candidate {
    net_table table;
    net_graph graph; /* INT8 */
    net_quant_report report;
} candidate;

typedef struct calib_job {
    const photos_options *opt;
    net_graph fp32;
    net_shape shape; /* of an input */
    net_hist *hist;
    candidate best, other; /* other: --compare */
    uint32_t method;       /* of the best */
    int64_t *label;        /* [inputs]: the class, or -1 */
    photos_objects objects;
    net_finder finder; /* of a detection network whose objects are known */
    net_known known;
    net_calib_score tried[NET_CALIB_METHODS];
    net_inputs inputs;
    photos_source source;
} calib_job;

/* ---- report ---- */

static void print_agreement(const calib_job *job, const char *what, const net_calib_score *s) {
    const net_quant_report *r = &job->best.report;
    printf("%s: top-1 as in FP32 for %u of %u inputs, output %.2f dB", what, s->same_top1, job->inputs.count,
           s->output_db);
    if (r->labels > 0) {
        printf(", right for %u of %u", s->right, r->labels);
    }
    if (r->objects > 0) {
        printf(", mAP at 0.5 to 0.95 %.6f", s->precision);
    }
    printf("\n");
}

static net_calib_score score_of(const net_quant_report *r) {
    return (net_calib_score){
        .done = true, .right = r->right, .same_top1 = r->same_top1, .output_db = r->output_db, .precision = r->map[1]};
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
    for (uint32_t i = 0; i < NET_CALIB_METHODS; i++) {
        if (job->tried[i].done) {
            print_agreement(job, method_name[i], &job->tried[i]);
        }
    }
    if (job->opt->compare != NULL) {
        net_calib_score other = score_of(&job->other.report);
        print_agreement(job, job->opt->compare, &other);
    }
    if (r->labels > 0) {
        printf("FP32: right for %u of %u\n", r->fp32_right, r->labels);
    }
    if (r->objects > 0) {
        printf("FP32: %u objects, mAP at 0.5 %.6f, at 0.5 to 0.95 %.6f\n", r->objects, r->fp32_map[0], r->fp32_map[1]);
    }
    for (uint32_t i = 0; i < job->fp32.num_layers; i++) {
        if (net_layer_quantizable(&job->fp32.layer[i]) && !r->layer[i].quantized) {
            printf("stays FP32: %s\n", job->fp32.layer[i].name);
        }
    }
    printf("taken: %s\n", method_name[job->method]);
    if (job->opt->stays > 0 || !isnan(job->opt->reach) || !isnan(job->opt->task)) {
        net_calib_score best = score_of(r);
        print_agreement(job, "with layers in FP32", &best);
    }
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
    if (r->labels > 0) {
        printf(", \"labels\": %u, \"right\": %u, \"fp32_right\": %u", r->labels, r->right, r->fp32_right);
    }
    if (r->objects > 0) {
        printf(", \"objects\": %u, \"map_50\": %.9g, \"map_50_95\": %.9g, \"fp32_map_50\": %.9g, "
               "\"fp32_map_50_95\": %.9g",
               r->objects, r->map[0], r->map[1], r->fp32_map[0], r->fp32_map[1]);
    }
    if (job->opt->compare != NULL) {
        printf(", \"compared_same_top1\": %u", job->other.report.same_top1);
        print_number("compared_output_db", job->other.report.output_db);
    }
    printf(", \"tried\": [");
    for (uint32_t i = 0; i < NET_CALIB_METHODS; i++) {
        if (job->tried[i].done) {
            printf("%s{\"method\": \"%s\", \"same_top1\": %u", first ? "" : ", ", method_name[i],
                   job->tried[i].same_top1);
            print_number("output_db", job->tried[i].output_db);
            if (r->objects > 0) {
                print_number("map_50_95", job->tried[i].precision);
            }
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

/* The layers of the table that shall stay float. */
static net_status leave_float(const calib_job *job, net_table *table, net_error *err) {
    for (uint32_t i = 0; i < job->opt->stays; i++) {
        if (!net_table_remove(table, job->opt->stay[i])) {
            (void)snprintf(err->text, sizeof err->text, "--float: '%.200s' is not a layer that would become INT8",
                           job->opt->stay[i]);
            return NET_ERR_ARG;
        }
    }
    return NET_OK;
}

/* The network, with the limits of its detection layer. */
static net_status load(calib_job *job, net_graph *graph, net_error *err) {
    const photos_options *o = job->opt;
    net_status status = photos_load(o, graph, &job->shape, err);
    return status != NET_OK || job->objects.object == NULL || job->finder.raw
               ? status
               : net_boxes_limits(graph, (float)o->threshold, (float)o->overlap, err);
}

/* A second copy of the network, INT8 by the candidate's table, to be compared with the float one. */
static net_status measure(calib_job *job, candidate *c, net_error *err) {
    net_status status = load(job, &c->graph, err);
    status = status == NET_OK ? net_quantize_table(&c->graph, &c->table, err) : status;
    return status == NET_OK ? net_quant_compare(&job->fp32, &c->graph, &job->inputs, &c->report, err) : status;
}

/* The network quantised by a method: *c, also on an error. */
static net_status quantise(calib_job *job, net_calib_method method, candidate *c, net_error *err) {
    net_status status = net_calib_table(&job->fp32, job->hist, method, job->opt->percent, &c->table, err);
    if (status == NET_OK && c->table.count == 0 && !net_needs_no_table(&job->fp32)) {
        (void)snprintf(err->text, sizeof err->text, "%.200s: no layer that becomes INT8", job->opt->net);
        status = NET_ERR_UNSUPPORTED;
    }
    status = status == NET_OK ? leave_float(job, &c->table, err) : status;
    return status == NET_OK ? measure(job, c, err) : status;
}

/* Try the methods that are asked for; the best one is made again, which costs less than keeping all networks. */
static net_status choose(calib_job *job, net_error *err) {
    const char *asked = job->opt->method_name;
    net_calib_score score[NET_CALIB_METHODS] = {0};
    net_status status = NET_OK;
    uint32_t last = 0;
    for (uint32_t i = 0; status == NET_OK && i < NET_CALIB_METHODS; i++) {
        if (asked != NULL && strcmp(asked, "auto") != 0 && strcmp(asked, method_name[i]) != 0) {
            continue;
        }
        drop(&job->best);
        last = i;
        status = quantise(job, (net_calib_method)i, &job->best, err);
        if (status == NET_OK) {
            const net_quant_report *r = &job->best.report;
            job->tried[i] = score_of(r);
            score[i] = job->tried[i];
            score[i].same_top1 = r->classes ? r->same_top1 : 0;
        }
    }
    job->method = net_calib_choose(score);
    if (status == NET_OK && job->method != last) {
        drop(&job->best);
        status = quantise(job, (net_calib_method)job->method, &job->best, err);
    }
    return status;
}

/* The quantised layer whose input or weights lose most; NET_NONE: there is none. */
static uint32_t least_exact(const calib_job *job) {
    uint32_t worst = NET_NONE;
    double least = INFINITY;
    for (uint32_t i = 0; i < job->fp32.num_layers; i++) {
        const net_quant_loss *l = &job->best.report.layer[i];
        double db = fmin(l->input_db, l->weight_db); /* of a NaN and a number: the number */
        if (l->quantized && (worst == NET_NONE || db < least)) {
            worst = i;
            least = isnan(db) ? INFINITY : db;
        }
    }
    return worst;
}

/* false where nothing is asked for. */
static bool falls_short(const calib_job *job) {
    const net_quant_report *r = &job->best.report;
    return r->output_db < job->opt->reach || net_quant_task(r, false) < job->opt->task * net_quant_task(r, true);
}

/* Layers of the best candidate become float again, one by one, until its outputs are as good as asked for. */
static net_status reach(calib_job *job, net_error *err) {
    net_status status = NET_OK;
    while (status == NET_OK && falls_short(job)) {
        uint32_t worst = least_exact(job);
        if (worst == NET_NONE) {
            break;
        }
        (void)net_table_remove(&job->best.table, job->fp32.layer[worst].name);
        net_graph_free(&job->best.graph);
        net_quant_report_free(&job->best.report);
        status = measure(job, &job->best, err);
    }
    return status;
}

/* Classes from a file with a line for each input, or from .csv files. */
static net_status read_labels(calib_job *job, net_error *err) {
    photos_names n = {0};
    job->label = malloc(job->inputs.count * sizeof *job->label + 1);
    if (job->label == NULL) {
        (void)snprintf(err->text, sizeof err->text, "out of memory");
        return NET_ERR_MEMORY;
    }
    job->known.label = job->label;
    net_status status = job->opt->labels != NULL ? photos_names_load(&n, job->opt->labels, err) : NET_OK;
    for (uint32_t i = 0; status == NET_OK && i < job->inputs.count; i++) {
        uint32_t label = 0;
        char *end = NULL;
        job->label[i] = photos_source_label(&job->source, i, &label) ? (int64_t)label : -1;
        if (job->opt->labels != NULL) {
            job->label[i] = i < n.count ? (int64_t)strtoul(n.line[i], &end, 10) : -1;
            if (end == NULL || end == n.line[i] || *end != '\0' || n.line[i][0] == '-' ||
                n.count != job->inputs.count) {
                (void)snprintf(err->text, sizeof err->text,
                               "%.200s:%u: expected a class, 0 or more, for each of %u inputs", job->opt->labels, i + 1,
                               job->inputs.count);
                status = NET_ERR_FORMAT;
            }
        }
    }
    photos_names_free(&n);
    return status;
}

/* Objects in the pictures of a detection network. */
static net_status read_objects(calib_job *job, net_error *err) {
    const photos_options *o = job->opt;
    if (job->inputs.count != o->count) {
        (void)snprintf(err->text, sizeof err->text, "--labels: objects are of pictures, not of lines of a .csv file");
        return NET_ERR_ARG;
    }
    net_status status = photos_objects_load(&job->objects, o->labels, o->count, o->input, err);
    if (status != NET_OK) {
        return status;
    }
    job->known = (net_known){
        .object = job->objects.object, .objects = job->objects.count, .finder = &job->finder, .fit = job->source.fit};
    status = job->finder.raw ? NET_OK : net_boxes_limits(&job->fp32, (float)o->threshold, (float)o->overlap, err);
    return status == NET_OK ? net_finder_init(&job->finder, &job->fp32, err) : status;
}

static net_status read_known(calib_job *job, net_error *err) {
    const photos_options *o = job->opt;
    net_error none;
    net_status status = photos_finder(o, &job->finder, err);
    if (status != NET_OK) {
        return status;
    }
    job->inputs.known = &job->known;
    if (o->labels != NULL && (job->finder.raw || net_boxes_layer(&job->fp32, NULL, &none) == NET_OK)) {
        return read_objects(job, err);
    }
    if (job->finder.raw || !isnan(o->threshold) || !isnan(o->overlap)) {
        (void)snprintf(err->text, sizeof err->text,
                       "--head, --anchors, --threshold and --overlap are for --labels of a detection network");
        return NET_ERR_ARG;
    }
    return read_labels(job, err);
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
    net_status status = photos_load(o, &job->fp32, &job->shape, err);
    if (status != NET_OK) {
        return status;
    }
    status = photos_source_open(&job->source, o, &job->shape, err);
    if (status != NET_OK) {
        return status;
    }
    job->inputs = (net_inputs){.count = job->source.count, .load = photos_input, .user = &job->source};
    job->hist = calloc(job->fp32.num_layers, sizeof *job->hist);
    if (job->hist == NULL) {
        (void)snprintf(err->text, sizeof err->text, "out of memory");
        return NET_ERR_MEMORY;
    }
    status = read_known(job, err);
    status = status == NET_OK ? net_calib_collect(&job->fp32, &job->inputs, job->hist, err) : status;
    status = status == NET_OK ? choose(job, err) : status;
    if (status == NET_OK && !isnan(o->task) && isnan(net_quant_task(&job->best.report, true))) {
        (void)snprintf(err->text, sizeof err->text, "--reach-task needs --labels, or .csv files");
        status = NET_ERR_ARG;
    }
    status = status == NET_OK ? reach(job, err) : status;
    if (status == NET_OK && o->compare != NULL) {
        status = net_table_load(&job->other.table, o->compare, err);
        status = status == NET_OK ? measure(job, &job->other, err) : status;
    }
    if (status == NET_OK) {
        (o->json ? print_json : print_text)(job);
        if (job->best.report.output_db < o->least) {
            fprintf(stderr,
                    "tandem-net: warning: the outputs of the INT8 network have %.2f dB, less than %.2f (--least)\n",
                    job->best.report.output_db, o->least);
        }
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
    free(job.label);
    photos_objects_free(&job.objects);
    net_finder_free(&job.finder);
    return result;
}
