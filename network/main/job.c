/* job.c - the passes of tandem-net: FP32 reference, INT8 on the golden model, INT8 on the RTL. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netjob.h"

bool netjob_failed(netjob *job, net_status status, const net_error *err) {
    bool device = status == NET_ERR_DEVICE;
    tb_result_fail(&job->result, device ? TB_FAIL : TB_ERROR, device ? "network/device" : "network/input", "%s",
                   err->text);
    return false;
}

/* ---- loading ---- */

static bool load_graph(netjob *job, net_graph *graph, const char *param, const char *bin) {
    net_error err;
    net_status status = net_graph_load(graph, param, bin, &err);
    status = status == NET_OK ? net_graph_plan(graph, &err) : status;
    if (status == NET_OK && graph->extra_lines > 0) {
        printf("note       %s: %u lines after the last layer counted in line 2 are not read\n", param,
               graph->extra_lines);
    }
    if (status == NET_OK && (graph->input == NET_NONE || graph->output == NET_NONE)) {
        tb_result_fail(&job->result, TB_ERROR, "network/input", "%s has %u inputs and %u outputs, expected one of each",
                       param, graph->num_inputs, graph->num_outputs);
        return false;
    }
    return status == NET_OK || netjob_failed(job, status, &err);
}

/* The INT8 network of a job that names only a float one. */
static bool quantise(netjob *job) {
    net_error err;
    net_images calib = {0};
    if (job->opt->calib == NULL) {
        tb_result_fail(&job->result, TB_ERROR, "network/input",
                       "%s is a float network: --calib or --int8-net is needed", job->opt->net);
        return false;
    }
    if (!load_graph(job, &job->int8, job->opt->net, job->opt->bin)) {
        return false;
    }
    float *absmax = calloc(2 * (size_t)job->int8.num_layers, sizeof *absmax);
    if (absmax == NULL) {
        tb_result_fail(&job->result, TB_ERROR, "network/memory", "out of memory");
        return false;
    }
    const bool asym = job->opt->asym, wide = job->opt->int16;
    float *hi = absmax + job->int8.num_layers; /* asym: absmax has the lower ends */
    net_status status = net_images_load(&calib, job->opt->calib, job->images.pixels, &err);
    if (status == NET_OK) {
        status = asym || wide
                     ? net_calibrate_range(&job->int8, &calib, calib.count, (float)job->opt->norm, absmax, hi, &err)
                     : net_calibrate(&job->int8, &calib, calib.count, (float)job->opt->norm, absmax, &err);
    }
    if (status == NET_OK && (asym || wide)) {
        status = net_unify_ranges(&job->int8, absmax, hi, &err);
    }
    if (status == NET_OK) {
        status = wide   ? net_quantize_wide(&job->int8, absmax, hi, &err)
                 : asym ? net_quantize_asym(&job->int8, absmax, hi, &err)
                        : net_quantize(&job->int8, absmax, &err);
    }
    if (status == NET_OK) {
        printf("quantised  %s over %u images of %s%s\n", job->opt->net, calib.count, job->opt->calib,
               wide   ? " to INT16"
               : asym ? ", with zero-points"
                      : "");
    }
    net_images_free(&calib);
    free(absmax);
    return status == NET_OK || netjob_failed(job, status, &err);
}

bool netjob_load(netjob *job) {
    const netjob_options *opt = job->opt;
    net_error err;
    if (opt->net != NULL && !load_graph(job, &job->fp32, opt->net, opt->bin)) {
        return false;
    }
    job->has_fp32 = opt->net != NULL && !net_graph_is_int8(&job->fp32);
    if (opt->net != NULL && !job->has_fp32) {
        job->int8 = job->fp32; /* --net names an INT8 network: there is no float one */
        job->fp32 = (net_graph){0};
    }
    if (opt->int8_net != NULL && !load_graph(job, &job->int8, opt->int8_net, opt->int8_bin)) {
        return false;
    }
    const net_graph *any = job->has_fp32 ? &job->fp32 : &job->int8;
    uint32_t pixels = net_shape_elements(&any->blob[any->input].shape);
    net_status status = net_images_load(&job->images, opt->images, pixels, &err);
    if (status != NET_OK) {
        return netjob_failed(job, status, &err);
    }
    if (job->int8.num_layers == 0 && !opt->fp32_only && !quantise(job)) {
        return false;
    }
    if (!opt->fp32_only && net_shape_elements(&job->int8.blob[job->int8.input].shape) != pixels) {
        tb_result_fail(&job->result, TB_ERROR, "network/input", "%s and %s have inputs of different sizes", opt->net,
                       opt->int8_net);
        return false;
    }
    job->input = malloc(pixels * sizeof *job->input);
    job->hash = calloc((size_t)job->images.count * (job->int8.num_layers + 1), sizeof *job->hash);
    if (job->input == NULL || job->hash == NULL) {
        tb_result_fail(&job->result, TB_ERROR, "network/memory", "out of memory");
        return false;
    }
    return true;
}

/* ---- passes ---- */

static uint32_t output_class(const net_graph *graph, const float *output) {
    return net_argmax(output, net_shape_elements(&graph->blob[graph->output].shape));
}

static void print_accuracy(const char *what, uint32_t right, uint32_t images, const char *where) {
    printf("%-10s %.2f %% (%u of %u images, %s)\n", what, images == 0 ? 0.0 : 100.0 * right / images, right, images,
           where);
}

bool netjob_fp32(netjob *job) {
    net_error err;
    net_ref *ref = NULL;
    const size_t outputs = net_shape_elements(&job->fp32.blob[job->fp32.output].shape);
    net_status status = net_ref_new(&job->fp32, &ref, &err);
    if (status != NET_OK) {
        return netjob_failed(job, status, &err);
    }
    job->fp32_output = malloc(job->images.count * outputs * sizeof *job->fp32_output + 1);
    if (job->fp32_output == NULL) {
        net_ref_free(ref);
        tb_result_fail(&job->result, TB_ERROR, "network/memory", "out of memory");
        return false;
    }
    for (uint32_t i = 0; i < job->images.count; i++) {
        net_images_input(&job->images, i, (float)job->opt->norm, job->input);
        net_ref_run(ref, job->input);
        uint32_t class = output_class(&job->fp32, net_ref_blob(ref, job->fp32.output));
        memcpy(&job->fp32_output[i * outputs], net_ref_blob(ref, job->fp32.output), outputs * sizeof *job->fp32_output);
        job->fp32_right += class == job->images.label[i];
        if (job->opt->verbose && i < job->count) {
            printf("fp32 image %u class %u label %u\n", i, class, job->images.label[i]);
        }
    }
    net_ref_free(ref);
    print_accuracy("fp32", job->fp32_right, job->images.count, "reference in C");
    return true;
}

/* One device with the network on it. */
typedef struct session {
    npu_dev *dev;
    net_rt *rt;
    uint64_t cycles; /* spent in inferences */
} session;

/* Note the device's own failure, if there is one, under its signature. */
static bool device_fine(netjob *job, const npu_dev *dev) {
    const npu_dev_failure *failure = npu_dev_get_failure(dev);
    if (failure == NULL || failure->signature[0] == '\0') {
        return true;
    }
    tb_result_fail(&job->result, TB_FAIL, failure->signature, "%s", failure->message);
    return false;
}

static bool session_open(netjob *job, session *s, npu_dev_kind kind) {
    char text[400] = "";
    net_error err;
    bool rtl = kind != NPU_DEV_MODEL;
    npu_dev_cfg cfg = {
        .kind = kind,
        .n = job->opt->n,
        .int16 = job->opt->int16,
        .seed = job->opt->seed,
        .bus_profile = rtl ? job->opt->bus : NULL,
        .wave = rtl ? job->opt->wave : NULL,
        .poison_reads = true,
    };
    *s = (session){0};
    s->dev = npu_dev_open(&cfg, text, sizeof text);
    if (s->dev == NULL) {
        tb_result_fail(&job->result, TB_ERROR, "network/open", "%s", text);
        return false;
    }
    net_status status = net_rt_new(&job->int8, s->dev, &s->rt, &err);
    if (status != NET_OK) {
        return device_fine(job, s->dev) ? netjob_failed(job, status, &err) : false;
    }
    return true;
}

static void session_close(session *s) {
    net_rt_free(s->rt);
    if (s->dev != NULL) {
        npu_dev_close(s->dev);
    }
}

static bool infer(netjob *job, session *s, uint32_t image, uint32_t *class) {
    net_error err;
    uint64_t before = npu_dev_cycles(s->dev);
    net_images_input(&job->images, image, (float)job->opt->norm, job->input);
    net_status status = net_rt_run(s->rt, job->input, &err);
    s->cycles += npu_dev_cycles(s->dev) - before;
    if (status != NET_OK) {
        return device_fine(job, s->dev) ? netjob_failed(job, status, &err) : false;
    }
    *class = output_class(&job->int8, net_rt_blob(s->rt, job->int8.output));
    return true;
}

static void print_layers(const netjob *job, const session *s, const char *where, uint32_t image, uint32_t class) {
    for (uint32_t k = 0; k < job->int8.num_layers; k++) {
        if (net_rt_layer_on_npu(s->rt, k)) {
            printf("%s image %u layer %s hash %016" PRIx64 "\n", where, image, job->int8.layer[k].name,
                   net_rt_layer_hash(s->rt, k));
        }
    }
    printf("%s image %u class %u label %u\n", where, image, class, job->images.label[image]);
}

/* The output of an image beside that of FP32. */
static void compare_fp32(netjob *job, const float *output, uint32_t image, uint32_t class) {
    const size_t outputs = net_shape_elements(&job->int8.blob[job->int8.output].shape);
    if (job->fp32_output == NULL || outputs != net_shape_elements(&job->fp32.blob[job->fp32.output].shape)) {
        return;
    }
    const float *exact = &job->fp32_output[image * outputs];
    for (size_t k = 0; k < outputs; k++) {
        const double apart = (double)output[k] - (double)exact[k];
        job->signal += (double)exact[k] * (double)exact[k];
        job->noise += apart * apart;
    }
    job->agree += class == output_class(&job->fp32, exact);
}

bool netjob_model(netjob *job) {
    session s;
    bool ok = session_open(job, &s, NPU_DEV_MODEL);
    for (uint32_t i = 0; ok && i < job->images.count; i++) {
        uint32_t class = 0;
        ok = infer(job, &s, i, &class);
        job->int8_right += ok && class == job->images.label[i];
        if (ok) {
            compare_fp32(job, net_rt_blob(s.rt, job->int8.output), i, class);
        }
        for (uint32_t k = 0; ok && k < job->int8.num_layers; k++) {
            job->hash[(size_t)i * job->int8.num_layers + k] = net_rt_layer_hash(s.rt, k);
        }
        if (ok && job->opt->verbose && i < job->count) {
            print_layers(job, &s, "model", i, class);
        }
    }
    if (ok && !npu_dev_finish(s.dev)) {
        ok = device_fine(job, s.dev);
    }
    if (ok && !tb_result_exit(&job->result)) {
        char where[64];
        (void)snprintf(where, sizeof where, "golden model, N = %u", job->opt->n);
        print_accuracy(job->opt->int16 ? "int16" : "int8", job->int8_right, job->images.count, where);
        if (job->signal > 0.0 && job->noise > 0.0) {
            printf(
                "beside fp32 %.2f dB signal to quantisation noise of the outputs, the same class in %u of %u images\n",
                10.0 * log10(job->signal / job->noise), job->agree, job->images.count);
        }
        if (job->result.trace_hash == 0) {
            job->result.trace_hash = npu_dev_trace_hash(s.dev);
        }
    }
    session_close(&s);
    return ok;
}

/* Every NPU layer of an image against the golden model's. */
static bool same_layers(netjob *job, const session *s, uint32_t image, uint32_t *compared) {
    for (uint32_t k = 0; k < job->int8.num_layers; k++) {
        if (!net_rt_layer_on_npu(s->rt, k)) {
            continue;
        }
        uint64_t expected = job->hash[(size_t)image * job->int8.num_layers + k];
        uint64_t got = net_rt_layer_hash(s->rt, k);
        if (got != expected) {
            tb_result_fail(&job->result, TB_FAIL, "network/layer-differs",
                           "image %u, layer '%.60s': output hash %016" PRIx64 ", golden model %016" PRIx64, image,
                           job->int8.layer[k].name, got, expected);
            return false;
        }
        (*compared)++;
    }
    return true;
}

static void print_speed(const netjob *job, const session *s, uint32_t images) {
    uint64_t macs = net_graph_macs(&job->int8);
    uint64_t peak = 2 * (uint64_t)job->opt->n * job->opt->n;
    double cycles = (double)s->cycles / images;
    uint64_t predicted = 0;
    for (uint32_t k = 0; k < job->int8.num_layers; k++) {
        predicted += net_rt_predict(s->rt, k).cycles;
    }
    printf("cycles     %.0f an image (%" PRIu64 " in all), %" PRIu64 " predicted, %" PRIu64 " MACs an image\n", cycles,
           s->cycles, predicted, macs);
    printf("MAC use    %.2f %% of %" PRIu64 " a cycle\n", 100.0 * (double)macs / (cycles * (double)peak), peak);
}

bool netjob_rtl(netjob *job, npu_dev_kind kind) {
    const char *name = kind == NPU_DEV_RTL ? "rtl" : "tandem";
    session s;
    uint32_t right = 0;
    uint32_t compared = 0;
    bool ok = session_open(job, &s, kind);
    for (uint32_t i = 0; ok && i < job->count; i++) {
        uint32_t class = 0;
        ok = infer(job, &s, i, &class) && same_layers(job, &s, i, &compared);
        right += ok && class == job->images.label[i];
        if (ok && job->opt->verbose) {
            print_layers(job, &s, name, i, class);
        }
    }
    if (ok && !npu_dev_finish(s.dev)) {
        ok = device_fine(job, s.dev);
    }
    if (s.dev != NULL) {
        job->result.cycles = npu_dev_cycles(s.dev);
        job->result.trace_hash = npu_dev_trace_hash(s.dev);
    }
    if (ok) {
        print_accuracy(name, right, job->count, "bit for bit as the golden model");
        printf("layers     %u outputs compared, 0 differences\n", compared);
        print_speed(job, &s, job->count);
    }
    session_close(&s);
    return ok;
}
