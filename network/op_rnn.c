/*
 * op_rnn.c - recurrent layers: LSTM, GRU and RNN over the rows of a matrix, from the first to the last, back, or both;
 * with the state as inputs and outputs behind the matrix (of LSTM the cell, too), a row for each direction.
 *
 * As ncnn's plain C++ layers: a gate begins with its bias, the products with the input follow, then those with the
 * state (of GRU's new gate the state first). INT8 (key 8): weights with a scale for each row, as in ncnn's files; a row
 * of the input and the state are quantised while the layer runs, each with a scale of its own, so that the products are
 * sums of integers, which an executor may compute elsewhere. (ncnn's plain C++ layers multiply the weights' integers
 * with floats.)
 */
#include <math.h>
#include <string.h>

#include "found.h"
#include "op.h"

#define MOST (1u << 16) /* outputs; elements of the state */

/* Of one direction. The .bin has each array for all directions, one after the other. */
typedef struct rnn_form {
    uint32_t directions, gates, biases, outputs, hidden, inputs;
} rnn_form;

static bool is_lstm(const net_layer *layer) {
    return layer->type[0] == 'L';
}

static bool is_int8(const net_layer *layer) {
    return net_layer_int(layer, 8, 0) != 0;
}

static rnn_form rnn_form_of(const net_layer *layer) {
    rnn_form f = {.gates = is_lstm(layer) ? 4 : layer->type[0] == 'G' ? 3 : 1};
    f.biases = f.gates == 1 ? 1 : 4;
    f.directions = net_layer_int(layer, 2, 0) == 2 ? 2 : 1;
    f.outputs = (uint32_t)net_layer_int(layer, 0, 0);
    f.hidden = is_lstm(layer) ? (uint32_t)net_layer_int(layer, 3, (int32_t)f.outputs) : f.outputs;
    uint64_t rows = (uint64_t)f.directions * f.hidden * f.gates;
    f.inputs = rows == 0 ? 0 : (uint32_t)((uint32_t)net_layer_int(layer, 1, 0) / rows);
    return f;
}

enum { WX, BIAS, WH, WR, SCALE_X = WR, SCALE_H }; /* numbers of the arrays; INT8 has no WR */

static void rnn_arrays(const net_layer *layer, net_arrays *a) {
    rnn_form f = rnn_form_of(layer);
    bool possible = f.outputs <= MOST && f.hidden <= MOST; /* else the products would not fit */
    int64_t rows = possible ? (int64_t)f.directions * f.hidden : -1;
    net_arrays_add(a, NET_ROLE_WEIGHT, true, net_layer_int(layer, 1, 0));
    net_arrays_add(a, NET_ROLE_BIAS, true, rows * f.biases);
    net_arrays_add(a, NET_ROLE_WEIGHT, true, rows * f.gates * f.outputs);
    if (f.hidden != f.outputs) {
        net_arrays_add(a, NET_ROLE_WEIGHT, true, rows * f.outputs);
    }
    for (uint32_t i = 0; is_int8(layer) && i < 2; i++) {
        net_arrays_add(a, NET_ROLE_WEIGHT_SCALE, false, rows * f.gates);
    }
}

/* Scratch memory: floats first, then bytes. */
static size_t rnn_floats(const rnn_form *f) {
    return (size_t)f->hidden * (f->gates + 2) + f->outputs;
}

static size_t rnn_int8_floats(const rnn_form *f, uint32_t steps) {
    return ((size_t)steps + 1) * f->gates * f->hidden + steps + 1;
}

static size_t rnn_int8_bytes(const rnn_form *f, uint32_t steps) {
    uint32_t most = f->inputs > f->outputs ? f->inputs : f->outputs;
    return (size_t)steps * f->inputs + f->outputs + (size_t)f->gates * f->hidden * (f->inputs + most);
}

/* States as inputs and outputs: all of them or none. */
static net_status rnn_states(net_plan *p, const rnn_form *f) {
    uint32_t states = is_lstm(p->layer) ? 2 : 1;
    const uint32_t width[2] = {f->outputs, f->hidden};
    if ((p->layer->num_in != 1 && p->layer->num_in != 1 + states) ||
        (p->layer->num_out != 1 && p->layer->num_out != 1 + states)) {
        return NET_BAD(p, "%u inputs and %u outputs, expected 1 or %u of each", p->layer->num_in, p->layer->num_out,
                       1 + states);
    }
    for (uint32_t i = 1; i < p->layer->num_in; i++) {
        if (net_shape_elements(net_plan_in(p, i)) != width[i - 1] * f->directions) {
            return NET_BAD(p, "a state of %u elements, expected %u for each of %u directions",
                           net_shape_elements(net_plan_in(p, i)), width[i - 1], f->directions);
        }
    }
    net_status status = NET_OK;
    for (uint32_t i = 1; status == NET_OK && i < p->layer->num_out; i++) {
        status = net_plan_out(p, i, (net_shape){2, width[i - 1], f->directions, 1, 1});
    }
    return status;
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
    rnn_form f = rnn_form_of(p->layer);
    if (is_int8(p->layer) && f.hidden != f.outputs) {
        return NET_CANNOT(p, "%s", "INT8 (key 8) with a state of another size than the output");
    }
    uint64_t weights = (uint64_t)f.directions * f.hidden * f.gates * in->w;
    if (in->dims > 2 || weights != (uint32_t)net_layer_int(p->layer, 1, 0)) {
        return NET_BAD(p, "%u weights for an input of %u dimensions with rows of %u, expected 2 and %llu",
                       (uint32_t)net_layer_int(p->layer, 1, 0), in->dims, in->w, (unsigned long long)weights);
    }
    p->layer->scratch = rnn_floats(&f) * sizeof(float);
    if (is_int8(p->layer)) {
        p->layer->scratch += rnn_int8_floats(&f, in->h) * sizeof(float) + rnn_int8_bytes(&f, in->h);
    }
    status = net_plan_out(p, 0, (net_shape){2, f.outputs * f.directions, in->h, 1, 1});
    return status == NET_OK ? rnn_states(p, &f) : status;
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

/* What LSTM does with its gates, in the order input, forget, output, new; state: h. */
static void lstm_end(const rnn_form *f, const rnn_part *s, float *y) {
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

static void lstm_step(const rnn_form *f, const rnn_part *s, const float *x, float *y) {
    for (uint32_t q = 0; q < f->hidden * 4; q++) {
        float sum = dot(s->bias[q], s->wx + (size_t)q * f->inputs, x, f->inputs);
        s->gate[q] = dot(sum, s->wh + (size_t)q * f->outputs, s->state, f->outputs);
    }
    lstm_end(f, s, y);
}

static void gru_end(const rnn_form *f, const rnn_part *s, float *y) {
    uint32_t n = f->hidden;
    for (uint32_t q = 0; q < n; q++) {
        s->state[q] = (1.0f - s->gate[n + q]) * s->gate[2 * n + q] + s->gate[n + q] * s->state[q];
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
    gru_end(f, s, y);
}

static void rnn_step(const rnn_form *f, const rnn_part *s, const float *x, float *y) {
    for (uint32_t q = 0; q < f->hidden; q++) {
        float sum = dot(s->bias[q], s->wx + (size_t)q * f->inputs, x, f->inputs);
        s->gate[q] = tanhf(dot(sum, s->wh + (size_t)q * f->outputs, s->state, f->outputs));
    }
    memcpy(s->state, s->gate, f->hidden * sizeof *y);
    memcpy(y, s->state, f->hidden * sizeof *y);
}

/* ---- INT8 ---- */

typedef struct rnn_int8 {
    const float *scale_wx, *scale_wh; /* of each row of the weights */
    const int8_t *wx, *wh;
    float *sum_x, *sum_h, *scale_x, *scale_h; /* sums of all steps [steps][rows], and of one */
    int8_t *qx, *qh;
} rnn_int8;

/* Rows of weights: the integers of the file, or floats by its scales. */
static const int8_t *rows_of(const net_tensor *weight, size_t from, uint32_t rows, uint32_t count, const float *scale,
                             int8_t *own) {
    if (weight->i8 != NULL) {
        return weight->i8 + from;
    }
    for (size_t i = 0; i < (size_t)rows * count; i++) {
        own[i] = net_quantize_value(weight->f32[from + i], scale[i / count]);
    }
    return own;
}

/* The part of one direction, and the products with all of its input. */
static rnn_int8 int8_begin(const net_work *work, const rnn_form *f, uint32_t direction) {
    const net_tensor *tensor = work->layer->tensor;
    uint32_t steps = net_work_in(work, 0)->h;
    uint32_t rows = f->gates * f->hidden;
    size_t first = (size_t)direction * rows;
    rnn_int8 q = {.scale_wx = tensor[SCALE_X].f32 + first, .scale_wh = tensor[SCALE_H].f32 + first};
    q.sum_x = (float *)work->scratch + rnn_floats(f);
    q.sum_h = q.sum_x + (size_t)steps * rows;
    q.scale_x = q.sum_h + rows;
    q.scale_h = q.scale_x + steps;
    q.qx = (int8_t *)(q.scale_h + 1);
    q.qh = q.qx + (size_t)steps * f->inputs;
    int8_t *own = q.qh + f->outputs;
    q.wx = rows_of(&tensor[WX], first * f->inputs, rows, f->inputs, q.scale_wx, own);
    q.wh = rows_of(&tensor[WH], first * f->outputs, rows, f->outputs, q.scale_wh, own + (size_t)rows * f->inputs);
    net_dynamic_quantise(
        &(net_quantised){work->in[0], f->inputs, steps, f->inputs, q.qx, q.scale_x, true, false, false});
    net_work_product(work, &(net_product){steps, rows, f->inputs, q.qx, q.wx, q.sum_x});
    return q;
}

/* gate: products with the input of this step, for GRU's new gate without those of the state, which go to full; biases
 * included. */
static void int8_gates(const net_work *work, const rnn_form *f, const rnn_part *s, const rnn_int8 *q, size_t step) {
    uint32_t rows = f->gates * f->hidden;
    net_dynamic_quantise(&(net_quantised){s->state, f->outputs, 1, f->outputs, q->qh, q->scale_h, true, false, false});
    net_work_product(work, &(net_product){1, rows, f->outputs, q->qh, q->wh, q->sum_h});
    for (uint32_t i = 0; i < rows; i++) {
        float x = q->sum_x[step * rows + i] * (1.0f / (q->scale_x[step] * q->scale_wx[i]));
        float h = q->sum_h[i] * (1.0f / (q->scale_h[0] * q->scale_wh[i]));
        bool apart = f->gates == 3 && i >= 2 * f->hidden;
        s->gate[i] = s->bias[i] + x + (apart ? 0.0f : h);
        if (apart) {
            s->full[i - 2 * f->hidden] = s->bias[i + f->hidden] + h;
        }
    }
}

static void int8_step(const net_work *work, const rnn_form *f, const rnn_part *s, const rnn_int8 *q, size_t step,
                      float *y) {
    uint32_t n = f->hidden;
    int8_gates(work, f, s, q, step);
    if (f->gates == 4) {
        lstm_end(f, s, y);
    } else if (f->gates == 3) {
        for (uint32_t i = 0; i < n; i++) {
            float reset = net_found_sigmoid(s->gate[i]);
            s->gate[n + i] = net_found_sigmoid(s->gate[n + i]);
            s->gate[2 * n + i] = tanhf(s->gate[2 * n + i] + reset * s->full[i]);
        }
        gru_end(f, s, y);
    } else {
        for (uint32_t i = 0; i < n; i++) {
            s->state[i] = y[i] = tanhf(s->gate[i]);
        }
    }
}

uint32_t net_rnn_products(const net_graph *graph, const net_layer *layer, net_product product[2], uint32_t times[2]) {
    rnn_form f = rnn_form_of(layer);
    uint32_t steps = graph->blob[layer->in[0]].shape.h;
    product[0] = (net_product){steps, f.gates * f.hidden, f.inputs, NULL, NULL, NULL};
    product[1] = (net_product){1, f.gates * f.hidden, f.outputs, NULL, NULL, NULL};
    times[0] = f.directions;
    times[1] = f.directions * steps;
    return 2;
}

/* ---- a layer ---- */

/* A state at the beginning: an input, or 0. */
static void state_begin(const net_work *work, uint32_t input, uint32_t direction, float *state, uint32_t count) {
    if (input < work->layer->num_in) {
        memcpy(state, work->in[input] + (size_t)direction * count, count * sizeof *state);
    } else {
        memset(state, 0, count * sizeof *state);
    }
}

static void state_end(const net_work *work, uint32_t output, uint32_t direction, const float *state, uint32_t count) {
    if (output < work->layer->num_out) {
        memcpy(work->out[output] + (size_t)direction * count, state, count * sizeof *state);
    }
}

static rnn_part part_of(const net_work *work, const rnn_form *f, uint32_t direction) {
    const net_tensor *tensor = work->layer->tensor;
    size_t rows = (size_t)direction * f->hidden;
    rnn_part s = {.bias = tensor[BIAS].f32 + rows * f->biases};
    if (!is_int8(work->layer)) {
        s.wx = tensor[WX].f32 + rows * f->gates * f->inputs;
        s.wh = tensor[WH].f32 + rows * f->gates * f->outputs;
        s.wr = f->hidden != f->outputs ? tensor[WR].f32 + rows * f->outputs : NULL;
    }
    s.gate = work->scratch;
    s.cell = s.gate + (size_t)f->hidden * f->gates;
    s.full = s.cell + f->hidden;
    s.state = s.full + f->hidden;
    return s;
}

static void rnn_run(const net_work *work) {
    const net_layer *layer = work->layer;
    rnn_form f = rnn_form_of(layer);
    uint32_t steps = net_work_in(work, 0)->h;
    uint32_t width = f.outputs * f.directions;
    for (uint32_t d = 0; d < f.directions; d++) {
        rnn_part s = part_of(work, &f, d);
        rnn_int8 q = {0};
        state_begin(work, 1, d, s.state, f.outputs);
        state_begin(work, 2, d, s.cell, f.hidden);
        if (is_int8(layer)) {
            q = int8_begin(work, &f, d);
        }
        bool back = d == 1 || net_layer_int(layer, 2, 0) == 1;
        for (uint32_t t = 0; t < steps; t++) {
            size_t row = back ? steps - 1 - t : t;
            const float *x = work->in[0] + row * f.inputs;
            float *y = work->out[0] + row * width + (size_t)d * f.outputs;
            if (is_int8(layer)) {
                int8_step(work, &f, &s, &q, row, y);
            } else {
                (f.gates == 4 ? lstm_step : f.gates == 3 ? gru_step : rnn_step)(&f, &s, x, y);
            }
        }
        state_end(work, 1, d, s.state, f.outputs);
        state_end(work, 2, d, s.cell, f.hidden);
    }
}

static uint64_t rnn_macs(const net_graph *graph, const net_layer *layer) {
    rnn_form f = rnn_form_of(layer);
    uint64_t step = (uint64_t)f.hidden * f.gates * (f.inputs + (uint64_t)f.outputs);
    step += f.hidden != f.outputs ? (uint64_t)f.hidden * f.outputs : 0;
    return step * f.directions * graph->blob[layer->in[0]].shape.h;
}

const net_op net_ops_rnn[] = {
    {"LSTM", 1, 3, 1, 3, rnn_arrays, rnn_shape, rnn_run, rnn_macs, false},
    {"GRU", 1, 2, 1, 2, rnn_arrays, rnn_shape, rnn_run, rnn_macs, false},
    {"RNN", 1, 2, 1, 2, rnn_arrays, rnn_shape, rnn_run, rnn_macs, false},
    {0},
};
