/* calib_loss.c - the loss by quantisation: an INT8 network compared with its float network. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calib.h"
#include "int8.h"
#include "op.h"
#include "precision.h"

/* Sums over all inputs. */
typedef struct power {
    double signal, error;
} power;

typedef struct comparison {
    const net_graph *fp32, *int8;
    const net_inputs *inputs;
    net_quant_report *report;
    net_ref *ref;
    net_int8 *net;
    power *in, *out; /* [num_layers] */
    power *output;   /* [num_outputs] */
    float *input;
    net_precision found[2]; /* FP32, INT8 */
} comparison;

static void add(power *p, double exact, double other) {
    p->signal += exact * exact;
    p->error += (exact - other) * (exact - other);
}

static double decibels(const power *p) {
    return p->signal == 0.0 ? NAN : p->error == 0.0 ? INFINITY : 10.0 * log10(p->signal / p->error);
}

void net_quant_report_free(net_quant_report *report) {
    if (report != NULL) {
        free(report->layer);
        free(report->fp32);
        free(report->int8);
        *report = (net_quant_report){0};
    }
}

/* Every output counts the same, whatever its size: the mean of error / signal. */
static double all_outputs(const comparison *c) {
    double sum = 0.0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->fp32->num_outputs; i++) {
        if (c->output[i].signal > 0.0) {
            sum += c->output[i].error / c->output[i].signal;
            count++;
        }
    }
    return count == 0 ? NAN : sum == 0.0 ? INFINITY : 10.0 * log10(count / sum);
}

static void weight_loss(const net_layer *fp32, const net_layer *int8, net_quant_loss *loss) {
    const net_tensor *exact = net_layer_tensor(fp32, NET_ROLE_WEIGHT);
    const net_tensor *q = net_layer_tensor(int8, NET_ROLE_WEIGHT);
    const net_tensor *scale = net_layer_tensor(int8, NET_ROLE_WEIGHT_SCALE);
    uint32_t share = exact->count / scale->count;
    power p = {0};
    for (uint32_t i = 0; i < exact->count; i++) {
        double s = (double)scale->f32[i / share];
        add(&p, (double)exact->f32[i], q->i8[i] == 0 ? 0.0 : q->i8[i] / s);
    }
    loss->weight_db = decibels(&p);
}

/* The reference's input of a layer, quantised with the layer's scale. */
static void input_loss(comparison *c, uint32_t number) {
    net_quant_loss *loss = &c->report->layer[number];
    uint32_t blob = c->fp32->layer[number].in[0];
    const float *value = net_ref_blob(c->ref, blob);
    uint32_t count = net_shape_elements(&c->fp32->blob[blob].shape);
    for (uint32_t i = 0; i < count; i++) {
        int8_t q = net_quantize_value(value[i], loss->scale);
        loss->clipped += fabsf(value[i] * loss->scale) >= 127.5f;
        add(&c->in[number], (double)value[i], q == 0 ? 0.0 : (double)q / (double)loss->scale);
    }
    loss->values += count;
}

static void output_loss(comparison *c, uint32_t number) {
    uint32_t blob = c->fp32->layer[number].out[0];
    const float *exact = net_ref_blob(c->ref, blob);
    const float *value = net_int8_blob(c->net, blob);
    uint32_t count = net_shape_elements(&c->fp32->blob[blob].shape);
    for (uint32_t i = 0; value != NULL && i < count; i++) {
        add(&c->out[number], (double)exact[i], (double)value[i]);
    }
}

double net_quant_task(const net_quant_report *r, bool fp32) {
    return r->labels > 0    ? (double)(fp32 ? r->fp32_right : r->right) / r->labels
           : r->objects > 0 ? (fp32 ? r->fp32_map : r->map)[1]
                            : NAN;
}

/* Boxes that both networks find in input k. */
static net_status find(comparison *c, uint32_t k, net_error *err) {
    const net_known *known = c->inputs->known;
    const float *output[NET_MAX_HEAD_OUTPUTS];
    net_status status = NET_OK;
    for (uint32_t side = 0; status == NET_OK && side < 2; side++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < c->fp32->num_outputs; i++) {
            output[i] =
                side == 0 ? net_ref_blob(c->ref, c->fp32->outputs[i]) : net_int8_blob(c->net, c->fp32->outputs[i]);
        }
        status = net_finder_boxes(known->finder, c->fp32, output, &known->fit[k], &count, err);
        status = status == NET_OK ? net_precision_add(&c->found[side], k, known->finder->box, count, err) : status;
    }
    return status;
}

static net_status task_of_input(comparison *c, uint32_t k, net_error *err) {
    const net_known *known = c->inputs->known;
    net_quant_report *report = c->report;
    if (known != NULL && known->label != NULL && known->label[k] >= 0) {
        report->labels++;
        report->fp32_right += known->label[k] == (int64_t)report->fp32[k];
        report->right += known->label[k] == (int64_t)report->int8[k];
    }
    return known != NULL && known->object != NULL ? find(c, k, err) : NET_OK;
}

/* Precision over all inputs. */
static net_status task_of_all(comparison *c, net_error *err) {
    const net_known *known = c->inputs->known;
    net_quant_report *report = c->report;
    if (known == NULL || known->object == NULL) {
        return NET_OK;
    }
    net_status status = NET_OK;
    for (uint32_t side = 0; status == NET_OK && side < 2; side++) {
        double *map = side == 0 ? report->fp32_map : report->map;
        net_precision_result found;
        status = net_precision_measure(&c->found[side], &found, err);
        report->objects = found.objects;
        map[0] = found.half;
        map[1] = found.mean;
    }
    return status;
}

static net_status one_input(comparison *c, uint32_t k, net_error *err) {
    net_quant_report *report = c->report;
    net_status status = c->inputs->load(c->inputs->user, k, c->input, err);
    if (status != NET_OK) {
        return status;
    }
    net_ref_run(c->ref, c->input);
    net_int8_run(c->net, c->input);
    for (uint32_t i = 0; i < c->fp32->num_layers; i++) {
        if (report->layer[i].quantized) {
            input_loss(c, i);
            output_loss(c, i);
        }
    }
    for (uint32_t o = c->fp32->num_outputs; o-- > 0;) { /* the first one is the last: its top-1 stays */
        uint32_t output = c->fp32->outputs[o];
        uint32_t count = net_shape_elements(&c->fp32->blob[output].shape);
        const float *exact = net_ref_blob(c->ref, output);
        const float *value = net_int8_blob(c->net, output);
        report->fp32[k] = net_argmax(exact, count);
        report->int8[k] = net_argmax(value, count);
        for (uint32_t i = 0; i < count; i++) {
            add(&c->output[o], (double)exact[i], (double)value[i]);
        }
    }
    report->same_top1 += report->fp32[k] == report->int8[k];
    return task_of_input(c, k, err);
}

static net_status same_graphs(const net_graph *fp32, const net_graph *int8, net_error *err) {
    bool same = fp32->num_layers == int8->num_layers && fp32->num_blobs == int8->num_blobs && fp32->num_outputs > 0;
    for (uint32_t i = 0; same && i < fp32->num_blobs; i++) {
        same = memcmp(&fp32->blob[i].shape, &int8->blob[i].shape, sizeof fp32->blob[i].shape) == 0 &&
               fp32->blob[i].producer == int8->blob[i].producer;
    }
    for (uint32_t i = 0; same && i < fp32->num_layers; i++) {
        same = strcmp(fp32->layer[i].name, int8->layer[i].name) == 0 &&
               strcmp(fp32->layer[i].type, int8->layer[i].type) == 0;
    }
    return same ? NET_OK
                : net_fail(err, NET_ERR_UNSUPPORTED, "%.150s and %.150s are not the same network", fp32->name,
                           int8->name);
}

static net_status compare(comparison *c, net_error *err) {
    net_status status = net_ref_new(c->fp32, &c->ref, err);
    status = status == NET_OK ? net_int8_new(c->int8, NET_INT8_FAST, &c->net, err) : status;
    for (uint32_t i = 0; status == NET_OK && i < c->fp32->num_layers; i++) {
        const net_tensor *bottom = net_layer_tensor(&c->int8->layer[i], NET_ROLE_BOTTOM_SCALE);
        net_quant_loss *loss = &c->report->layer[i];
        const net_tensor *weight = net_layer_tensor(&c->int8->layer[i], NET_ROLE_WEIGHT);
        loss->quantized =
            bottom != NULL && weight != NULL && weight->i8 != NULL && net_layer_quantizable(&c->fp32->layer[i]);
        if (loss->quantized) {
            loss->scale = bottom->f32[0];
            weight_loss(&c->fp32->layer[i], &c->int8->layer[i], loss);
        }
    }
    for (uint32_t k = 0; status == NET_OK && k < c->inputs->count; k++) {
        status = one_input(c, k, err);
    }
    status = status == NET_OK ? task_of_all(c, err) : status;
    for (uint32_t i = 0; status == NET_OK && i < c->fp32->num_layers; i++) {
        c->report->layer[i].input_db = decibels(&c->in[i]);
        c->report->layer[i].output_db = decibels(&c->out[i]);
    }
    c->report->output_db = all_outputs(c);
    const net_shape *first = &c->fp32->blob[c->fp32->outputs[0]].shape;
    uint32_t count = net_shape_elements(first);
    c->report->classes = count > 1 && (count == first->w || count == first->h || count == first->c);
    return status;
}

net_status net_quant_compare(const net_graph *fp32, const net_graph *int8, const net_inputs *inputs,
                             net_quant_report *report, net_error *err) {
    if (fp32 == NULL || int8 == NULL || inputs == NULL || inputs->load == NULL || inputs->count == 0 ||
        report == NULL || !fp32->planned || !int8->planned) {
        return net_fail(err, NET_ERR_ARG, "net_quant_compare: two planned graphs and at least one input are needed");
    }
    *report = (net_quant_report){.inputs = inputs->count};
    net_status status = same_graphs(fp32, int8, err);
    if (status != NET_OK) {
        return status;
    }
    comparison c = {.fp32 = fp32, .int8 = int8, .inputs = inputs, .report = report};
    for (uint32_t side = 0; inputs->known != NULL && side < 2; side++) {
        c.found[side] = (net_precision){.truth = inputs->known->object, .truths = inputs->known->objects};
    }
    report->layer = calloc(fp32->num_layers, sizeof *report->layer);
    report->fp32 = calloc(inputs->count, sizeof *report->fp32);
    report->int8 = calloc(inputs->count, sizeof *report->int8);
    c.in = calloc(fp32->num_layers, sizeof *c.in);
    c.out = calloc(fp32->num_layers, sizeof *c.out);
    c.output = calloc(fp32->num_outputs, sizeof *c.output);
    c.input = malloc(net_graph_input_elements(fp32) * sizeof *c.input + 1);
    bool ok = report->layer != NULL && report->fp32 != NULL && report->int8 != NULL && c.in != NULL && c.out != NULL &&
              c.output != NULL && c.input != NULL;
    status = ok ? compare(&c, err) : net_fail(err, NET_ERR_MEMORY, "out of memory");
    net_precision_free(&c.found[0]);
    net_precision_free(&c.found[1]);
    net_ref_free(c.ref);
    net_int8_free(c.net);
    free(c.in);
    free(c.out);
    free(c.output);
    free(c.input);
    if (status != NET_OK) {
        net_quant_report_free(report);
    }
    return status;
}
