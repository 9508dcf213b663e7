/* widths.c - tandem-net widths: a float network as symmetric INT8, asymmetric INT8 and INT16 on the NPU's golden
 * model, beside FP32 (document 002, section 3.2). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "photos.h"

enum { SYM, ASYM, WIDE, VARIANTS };
static const char *const variant_name[VARIANTS] = {"INT8", "INT8 asym", "INT16"};

/* One form of the network. */
typedef struct variant {
    net_graph graph;
    npu_dev *dev;
    net_rt *rt;
    double *signal, *error;       /* [num_layers] sums of squares of the outputs and of their errors, */
    double out_signal, out_error; /* of the network's output */
    uint32_t same, right;         /* inputs: first class as in FP32; as labelled */
} variant;

typedef struct widths_job {
    const photos_options *opt;
    net_graph fp32;
    net_shape shape;
    net_ref *ref;
    float *lo, *hi; /* [num_layers] extremes of the layers' inputs */
    uint32_t labels, right;
    variant v[VARIANTS];
} widths_job;

static net_status no_memory(net_error *err) {
    (void)snprintf(err->text, sizeof err->text, "out of memory");
    return NET_ERR_MEMORY;
}

/* ---- ranges ---- */

static void extend(widths_job *job) {
    for (uint32_t i = 0; i < job->fp32.num_layers; i++) {
        const net_layer *layer = &job->fp32.layer[i];
        const float *value = net_layer_quantizable(layer) ? net_ref_blob(job->ref, layer->in[0]) : NULL;
        const uint32_t count = value != NULL ? net_shape_elements(&job->fp32.blob[layer->in[0]].shape) : 0;
        for (uint32_t k = 0; k < count; k++) {
            job->lo[i] = value[k] < job->lo[i] ? value[k] : job->lo[i];
            job->hi[i] = value[k] > job->hi[i] ? value[k] : job->hi[i];
        }
    }
}

/* Extremes over the inputs of --ranges, or over all that are measured. */
static net_status find_ranges(widths_job *job, float *input, net_error *err) {
    photos_options o = *job->opt;
    photos_source source = {0};
    if (o.ranges > 0) {
        o.input = o.range;
        o.count = o.ranges;
    }
    net_status status = photos_source_open(&source, &o, &job->shape, err);
    for (uint32_t k = 0; status == NET_OK && k < source.count; k++) {
        status = photos_input(&source, k, input, err);
        if (status == NET_OK) {
            net_ref_run(job->ref, input);
            extend(job);
        }
    }
    photos_source_free(&source);
    return status == NET_OK ? net_unify_ranges(&job->fp32, job->lo, job->hi, err) : status;
}

/* ---- the forms ---- */

static net_status quantise(const widths_job *job, uint32_t kind, net_graph *graph, net_error *err) {
    float *absmax = calloc(graph->num_layers + 1, sizeof *absmax);
    net_status status = absmax == NULL ? no_memory(err) : NET_OK;
    if (status == NET_OK && kind == ASYM) {
        status = net_quantize_asym(graph, job->lo, job->hi, err);
    } else if (status == NET_OK && kind == WIDE) {
        status = net_quantize_wide(graph, job->lo, job->hi, err);
    } else if (status == NET_OK) {
        for (uint32_t i = 0; i < graph->num_layers; i++) {
            absmax[i] = fmaxf(-job->lo[i], job->hi[i]);
        }
        status = net_quantize(graph, absmax, err);
    }
    free(absmax);
    return status;
}

static net_status open_variant(const widths_job *job, uint32_t kind, variant *v, net_error *err) {
    char text[400] = "";
    uint64_t bytes = 0;
    v->signal = calloc(job->fp32.num_layers, sizeof *v->signal);
    v->error = calloc(job->fp32.num_layers, sizeof *v->error);
    net_status status = v->signal == NULL || v->error == NULL ? no_memory(err) : NET_OK;
    status = status == NET_OK ? photos_load(job->opt, &v->graph, NULL, err) : status;
    status = status == NET_OK ? quantise(job, kind, &v->graph, err) : status;
    status = status == NET_OK ? net_rt_memory(&v->graph, job->opt->n, NULL, &bytes, err) : status;
    if (status != NET_OK) {
        return status;
    }
    const npu_dev_cfg cfg = {.kind = NPU_DEV_MODEL,
                             .n = job->opt->n,
                             .int16 = true,
                             .seed = 1,
                             .ddr_bytes = 2 * bytes + (UINT64_C(64) << 20)};
    v->dev = npu_dev_open(&cfg, text, sizeof text);
    if (v->dev == NULL) {
        (void)snprintf(err->text, sizeof err->text, "%s", text);
        return NET_ERR_DEVICE;
    }
    return net_rt_new(&v->graph, v->dev, &v->rt, err);
}

/* The blob that holds a layer's output in both executors: behind an activation that the runtime has fused into it. */
static uint32_t output_of(const variant *v, uint32_t layer) {
    uint32_t blob = v->graph.layer[layer].out[0];
    for (uint32_t next = v->graph.blob[blob].consumer; next != NET_NONE && net_rt_layer_where(v->rt, next).fused;
         next = v->graph.blob[blob].consumer) {
        blob = v->graph.layer[next].out[0];
    }
    return blob;
}

static void add_squares(const float *expected, const float *got, uint32_t count, double *signal, double *error) {
    for (uint32_t k = 0; k < count; k++) {
        const double e = (double)got[k] - expected[k];
        *signal += (double)expected[k] * expected[k];
        *error += e * e;
    }
}

static net_status measure(widths_job *job, variant *v, const float *input, bool labelled, uint32_t label,
                          net_error *err) {
    const net_status status = net_rt_run(v->rt, input, err);
    if (status != NET_OK) {
        return status;
    }
    for (uint32_t i = 0; i < job->fp32.num_layers; i++) {
        if (net_layer_quantizable(&job->fp32.layer[i])) {
            const uint32_t blob = output_of(v, i);
            add_squares(net_ref_blob(job->ref, blob), net_rt_blob(v->rt, blob),
                        net_shape_elements(&job->fp32.blob[blob].shape), &v->signal[i], &v->error[i]);
        }
    }
    const uint32_t out = job->fp32.output, count = out == NET_NONE ? 0 : net_shape_elements(&job->fp32.blob[out].shape);
    if (count > 0) {
        const float *expected = net_ref_blob(job->ref, out), *got = net_rt_blob(v->rt, out);
        const uint32_t top = net_argmax(got, count);
        add_squares(expected, got, count, &v->out_signal, &v->out_error);
        v->same += top == net_argmax(expected, count);
        v->right += labelled && top == label;
    }
    return NET_OK;
}

/* ---- report ---- */

static double decibels(double signal, double error) {
    return 10.0 * log10(signal / error);
}

static void print_report(const widths_job *job, uint32_t inputs) {
    printf("%-28s %10s %10s %10s   SQNR of the output, dB\n", "layer", variant_name[SYM], variant_name[ASYM],
           variant_name[WIDE]);
    for (uint32_t i = 0; i < job->fp32.num_layers; i++) {
        if (!net_layer_quantizable(&job->fp32.layer[i])) {
            continue;
        }
        printf("%-28.28s", job->fp32.layer[i].name);
        for (uint32_t k = 0; k < VARIANTS; k++) {
            printf(" %10.2f%s", decibels(job->v[k].signal[i], job->v[k].error[i]),
                   net_rt_layer_on_npu(job->v[k].rt, i) ? "" : "*");
        }
        printf("\n");
    }
    printf("%-28s", "output of the network");
    for (uint32_t k = 0; k < VARIANTS; k++) {
        printf(" %10.2f", decibels(job->v[k].out_signal, job->v[k].out_error));
    }
    printf("\n%-28s", "first class as in FP32");
    for (uint32_t k = 0; k < VARIANTS; k++) {
        printf(" %10u", job->v[k].same);
    }
    printf("   of %u inputs\n", inputs);
    if (job->labels > 0) {
        printf("%-28s", "right class");
        for (uint32_t k = 0; k < VARIANTS; k++) {
            printf(" %10u", job->v[k].right);
        }
        printf("   of %u, FP32 %u\n", job->labels, job->right);
    }
}

/* ---- the job ---- */

static net_status run_inputs(widths_job *job, const photos_source *source, float *input, net_error *err) {
    net_status status = NET_OK;
    for (uint32_t k = 0; status == NET_OK && k < source->count; k++) {
        uint32_t label = 0;
        const bool labelled = photos_source_label(source, k, &label);
        status = photos_input((void *)source, k, input, err);
        if (status != NET_OK) {
            break;
        }
        net_ref_run(job->ref, input);
        const uint32_t out = job->fp32.output;
        job->labels += labelled;
        job->right += labelled && out != NET_NONE &&
                      net_argmax(net_ref_blob(job->ref, out), net_shape_elements(&job->fp32.blob[out].shape)) == label;
        for (uint32_t i = 0; status == NET_OK && i < VARIANTS; i++) {
            status = measure(job, &job->v[i], input, labelled, label, err);
        }
    }
    return status;
}

static net_status run(widths_job *job, net_error *err) {
    photos_source source = {0};
    net_status status = photos_load(job->opt, &job->fp32, &job->shape, err);
    if (status != NET_OK) {
        return status;
    }
    job->lo = calloc(2 * (size_t)job->fp32.num_layers + 2, sizeof *job->lo);
    job->hi = job->lo != NULL ? job->lo + job->fp32.num_layers : NULL;
    float *input = malloc(net_shape_elements(&job->shape) * sizeof *input + 1);
    status = job->lo == NULL || input == NULL ? no_memory(err) : net_ref_new(&job->fp32, &job->ref, err);
    status = status == NET_OK ? find_ranges(job, input, err) : status;
    for (uint32_t i = 0; status == NET_OK && i < VARIANTS; i++) {
        status = open_variant(job, i, &job->v[i], err);
    }
    status = status == NET_OK ? photos_source_open(&source, job->opt, &job->shape, err) : status;
    status = status == NET_OK ? run_inputs(job, &source, input, err) : status;
    if (status == NET_OK) {
        print_report(job, source.count);
    }
    photos_source_free(&source);
    free(input);
    return status;
}

int photos_widths(const photos_options *o) {
    widths_job job = {.opt = o};
    net_error err;
    const net_status status = run(&job, &err);
    const int result = status == NET_OK ? 0 : photos_failed(status, &err);
    for (uint32_t i = 0; i < VARIANTS; i++) {
        variant *v = &job.v[i];
        net_rt_free(v->rt);
        npu_dev_close(v->dev);
        net_graph_free(&v->graph);
        free(v->signal);
        free(v->error);
    }
    net_ref_free(job.ref);
    net_graph_free(&job.fp32);
    free(job.lo);
    return result;
}
