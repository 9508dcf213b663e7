/*
 * op_rnn.c - recurrent layers: LSTM and GRU over the rows of a matrix, from the first to the last, back, or both.
 *
 * As ncnn's plain C++ layers: a gate begins with its bias, the products with the input follow, then those with the
 * state (of GRU's new gate the state first).
 */
#include <math.h>
#include <string.h>

#include "found.h"
#include "op.h"

#define MOST (1u << 16) /* outputs; elements of the state */

/* Of one direction. The .bin has each array for all directions, one after the other. */
typedef struct rnn_form {
    uint32_t directions, gates, outputs, hidden, inputs;
} rnn_form;

static bool is_lstm(const net_layer *layer) {
    return layer->type[0] == 'L';
}

static rnn_form rnn_form_of(const net_layer *layer) {
    rnn_form f = {.gates = is_lstm(layer) ? 4 : 3};
    f.directions = net_layer_int(layer, 2, 0) == 2 ? 2 : 1;
    f.outputs = (uint32_t)net_layer_int(layer, 0, 0);
    f.hidden = is_lstm(layer) ? (uint32_t)net_layer_int(layer, 3, (int32_t)f.outputs) : f.outputs;
    uint64_t rows = (uint64_t)f.directions * f.hidden * f.gates;
    f.inputs = rows == 0 ? 0 : (uint32_t)((uint32_t)net_layer_int(layer, 1, 0) / rows);
    return f;
}

static void rnn_arrays(const net_layer *layer, net_arrays *a) {
    rnn_form f = rnn_form_of(layer);
    bool possible = f.outputs <= MOST && f.hidden <= MOST; /* else the products would not fit */
    int64_t rows = possible ? (int64_t)f.directions * f.hidden : -1;
    if (net_layer_int(layer, 8, 0) != 0) {
        return; /* INT8: rnn_shape() refuses it */
    }
    net_arrays_add(a, NET_ROLE_WEIGHT, true, net_layer_int(layer, 1, 0));
    net_arrays_add(a, NET_ROLE_BIAS, true, rows * 4);
    net_arrays_add(a, NET_ROLE_WEIGHT, true, rows * f.gates * f.outputs);
    if (f.hidden != f.outputs) {
        net_arrays_add(a, NET_ROLE_WEIGHT, true, rows * f.outputs);
    }
}

static net_status rnn_shape(net_plan *p) {
    const net_shape *in = net_plan_in(p, 0);
    uint32_t unused;
    net_status status = net_plan_number(p, 0, 0, 1, MOST, "number of outputs", &unused);
    status = status == NET_OK ? net_plan_number(p, 1, 0, 1, INT32_MAX, "number of weights", &unused) : status;
    status = status == NET_OK ? net_plan_number(p, 2, 0, 0, 2, "direction", &unused) : status;
    status = status == NET_OK && is_lstm(p->layer)
                 ? net_plan_number(p, 3, net_layer_int(p->layer, 0, 0), 1, MOST, "size of the state", &unused)
                 : status;
    if (status != NET_OK) {
        return status;
    }
    if (net_layer_int(p->layer, 8, 0) != 0) {
        return NET_CANNOT(p, "%s", "INT8 weights (key 8)");
    }
    rnn_form f = rnn_form_of(p->layer);
    uint64_t weights = (uint64_t)f.directions * f.hidden * f.gates * in->w;
    if (in->dims > 2 || weights != (uint32_t)net_layer_int(p->layer, 1, 0)) {
        return NET_BAD(p, "%u weights for an input of %u dimensions with rows of %u, expected 2 and %llu",
                       (uint32_t)net_layer_int(p->layer, 1, 0), in->dims, in->w, (unsigned long long)weights);
    }
    p->layer->scratch = ((size_t)f.hidden * (f.gates + 2) + f.outputs) * sizeof(float);
    return net_plan_out(p, 0, (net_shape){2, f.outputs * f.directions, in->h, 1});
}

/* sum + w[0] * x[0] + w[1] * x[1] ... */
static float dot(float sum, const float *w, const float *x, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        sum += w[i] * x[i];
    }
    return sum;
}

/* Arrays of one direction, and its state. */
typedef struct rnn_part {
    const float *wx, *bias, *wh, *wr; /* wr: NULL: the state is the output */
    float *gate, *cell, *full, *state;
} rnn_part;

/* Gates in the order input, forget, output, new; state: h. */
static void lstm_step(const rnn_form *f, const rnn_part *s, const float *x, float *y) {
    for (uint32_t q = 0; q < f->hidden * 4; q++) {
        float sum = dot(s->bias[q], s->wx + (size_t)q * f->inputs, x, f->inputs);
        s->gate[q] = dot(sum, s->wh + (size_t)q * f->outputs, s->state, f->outputs);
    }
    for (uint32_t q = 0; q < f->hidden; q++) {
        float in = net_found_sigmoid(s->gate[q]);
        float forget = net_found_sigmoid(s->gate[f->hidden + q]);
        float out = net_found_sigmoid(s->gate[2 * f->hidden + q]);
        s->cell[q] = forget * s->cell[q] + in * tanhf(s->gate[3 * f->hidden + q]);
        s->full[q] = out * tanhf(s->cell[q]);
    }
    for (uint32_t q = 0; q < f->outputs; q++) {
        s->state[q] = s->wr == NULL ? s->full[q] : dot(0.0f, s->wr + (size_t)q * f->hidden, s->full, f->hidden);
        y[q] = s->state[q];
    }
}

/* Gates in the order reset, update, new; the new one has two biases, of the input and of the state. */
static void gru_step(const rnn_form *f, const rnn_part *s, const float *x, float *y) {
    uint32_t n = f->hidden;
    for (uint32_t q = 0; q < 2 * n; q++) {
        float sum = dot(s->bias[q], s->wx + (size_t)q * f->inputs, x, f->inputs);
        s->gate[q] = net_found_sigmoid(dot(sum, s->wh + (size_t)q * n, s->state, n));
    }
    for (uint32_t q = 2 * n; q < 3 * n; q++) {
        float sum = dot(s->bias[n + q], s->wh + (size_t)q * n, s->state, n);
        sum = s->bias[q] + s->gate[q - 2 * n] * sum;
        s->gate[q] = tanhf(dot(sum, s->wx + (size_t)q * f->inputs, x, f->inputs));
    }
    for (uint32_t q = 0; q < n; q++) {
        s->state[q] = (1.0f - s->gate[n + q]) * s->gate[2 * n + q] + s->gate[n + q] * s->state[q];
        y[q] = s->state[q];
    }
}

static void rnn_run(const net_work *work) {
    const net_layer *layer = work->layer;
    rnn_form f = rnn_form_of(layer);
    uint32_t steps = net_work_in(work, 0)->h;
    uint32_t width = f.outputs * f.directions;
    float *scratch = work->scratch;
    for (uint32_t d = 0; d < f.directions; d++) {
        size_t rows = (size_t)d * f.hidden;
        rnn_part s = {.wx = layer->tensor[0].f32 + rows * f.gates * f.inputs,
                      .bias = layer->tensor[1].f32 + rows * 4,
                      .wh = layer->tensor[2].f32 + rows * f.gates * f.outputs,
                      .wr = f.hidden != f.outputs ? layer->tensor[3].f32 + rows * f.outputs : NULL};
        s.gate = scratch;
        s.cell = s.gate + (size_t)f.hidden * f.gates;
        s.full = s.cell + f.hidden;
        s.state = s.full + f.hidden;
        memset(s.cell, 0, f.hidden * sizeof *s.cell);
        memset(s.state, 0, f.outputs * sizeof *s.state);
        bool back = d == 1 || net_layer_int(layer, 2, 0) == 1;
        for (uint32_t t = 0; t < steps; t++) {
            size_t row = back ? steps - 1 - t : t;
            const float *x = work->in[0] + row * f.inputs;
            float *y = work->out[0] + row * width + (size_t)d * f.outputs;
            (is_lstm(layer) ? lstm_step : gru_step)(&f, &s, x, y);
        }
    }
}

static uint64_t rnn_macs(const net_graph *graph, const net_layer *layer) {
    rnn_form f = rnn_form_of(layer);
    uint64_t step = (uint64_t)f.hidden * f.gates * (f.inputs + (uint64_t)f.outputs);
    step += f.hidden != f.outputs ? (uint64_t)f.hidden * f.outputs : 0;
    return step * f.directions * graph->blob[layer->in[0]].shape.h;
}

const net_op net_ops_rnn[] = {
    {"LSTM", 1, 1, 1, 1, rnn_arrays, rnn_shape, rnn_run, rnn_macs},
    {"GRU", 1, 1, 1, 1, rnn_arrays, rnn_shape, rnn_run, rnn_macs},
    {0},
};
