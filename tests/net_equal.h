/* net_equal.h - two graphs are the same: layers, blobs, settings and arrays, bit for bit. For tests of readers and
 * writers. */
#ifndef TESTS_NET_EQUAL_H
#define TESTS_NET_EQUAL_H

#include <string.h>

#include "../network/network.h"

static inline bool net_equal_param(const net_param *a, const net_param *b) {
    bool same = a->key == b->key && a->is_array == b->is_array && a->count == b->count &&
                (a->text == NULL) == (b->text == NULL);
    same = same && (a->text == NULL || strcmp(a->text, b->text) == 0);
    for (uint32_t i = 0; same && i < a->count; i++) {
        /* a NaN cannot be written as a float: its bits are */
        bool nan = a->value[i].is_float && (a->value[i].bits & 0x7fffffffu) > 0x7f800000u;
        same = a->value[i].bits == b->value[i].bits && (nan || a->value[i].is_float == b->value[i].is_float);
    }
    return same;
}

static inline bool net_equal_tensor(const net_tensor *a, const net_tensor *b) {
    bool same = a->role == b->role && a->count == b->count && (a->f32 == NULL) == (b->f32 == NULL) &&
                (a->i8 == NULL) == (b->i8 == NULL);
    same = same && (a->f32 == NULL || memcmp(a->f32, b->f32, a->count * sizeof *a->f32) == 0);
    return same && (a->i8 == NULL || memcmp(a->i8, b->i8, a->count) == 0);
}

static inline bool net_equal_layer(const net_layer *a, const net_layer *b) {
    bool same = strcmp(a->type, b->type) == 0 && strcmp(a->name, b->name) == 0 && a->kind == b->kind &&
                a->num_in == b->num_in && a->num_out == b->num_out && a->num_params == b->num_params &&
                a->num_tensors == b->num_tensors;
    same = same && memcmp(a->in, b->in, a->num_in * sizeof *a->in) == 0 &&
           memcmp(a->out, b->out, a->num_out * sizeof *a->out) == 0;
    for (uint32_t i = 0; same && i < a->num_params; i++) {
        same = net_equal_param(&a->param[i], &b->param[i]);
    }
    for (uint32_t i = 0; same && i < a->num_tensors; i++) {
        same = net_equal_tensor(&a->tensor[i], &b->tensor[i]);
    }
    return same;
}

/* Line numbers, file names and extra lines may differ. */
static inline bool net_equal(const net_graph *a, const net_graph *b) {
    bool same = a->num_layers == b->num_layers && a->num_blobs == b->num_blobs && a->has_weights == b->has_weights;
    for (uint32_t i = 0; same && i < a->num_layers; i++) {
        same = net_equal_layer(&a->layer[i], &b->layer[i]);
    }
    for (uint32_t i = 0; same && i < a->num_blobs; i++) {
        same = strcmp(a->blob[i].name, b->blob[i].name) == 0 && a->blob[i].producer == b->blob[i].producer &&
               a->blob[i].consumer == b->blob[i].consumer;
    }
    return same;
}

#endif
