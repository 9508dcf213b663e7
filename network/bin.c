/* bin.c - reader of ncnn's .bin: the arrays that the table of layer types (op.h) promises. */
#include <stdlib.h>
#include <string.h>

#include "op.h"

#define TAG_FP32 0x00000000u
#define TAG_FP16 0x01306B47u
#define TAG_INT8 0x000D4B38u
#define TAG_FP32_SCALED 0x0002C056u
#define CODEBOOK_ENTRIES 256u

typedef struct bin_reader {
    const char *name;
    const uint8_t *data;
    size_t bytes;
    size_t pos;
    const net_layer *layer;
    const char *param_name;
    net_error *err;
} bin_reader;

static net_status truncated(const bin_reader *b, uint64_t needed) {
    return net_fail(b->err, NET_ERR_FORMAT, "%.130s: truncated: layer '%.50s' (%.100s:%u) needs %llu bytes at offset %zu, %zu are left",
                    b->name, b->layer->name, b->param_name, b->layer->line, (unsigned long long)needed, b->pos, b->bytes - b->pos);
}

static uint32_t get_u32(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static float bits_to_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float half_to_float(uint32_t half) {
    uint32_t sign = (half & 0x8000u) << 16;
    uint32_t exponent = (half >> 10) & 31u;
    uint32_t fraction = half & 0x3ffu;
    if (exponent == 31) {
        return bits_to_float(sign | 0x7f800000u | fraction << 13);
    }
    if (exponent == 0) {
        /* Subnormal halves are exact multiples of 2^-24. */
        float value = (float)fraction * 0x1p-24f;
        return sign != 0 ? -value : value;
    }
    return bits_to_float(sign | (exponent + 112) << 23 | fraction << 13);
}

/* Bytes of n elements behind the tag, padding included. */
static uint64_t tagged_bytes(uint32_t tag, uint64_t n) {
    switch (tag) {
    case TAG_FP32:
    case TAG_FP32_SCALED:
        return 4 * n;
    case TAG_FP16:
        return (2 * n + 3) & ~UINT64_C(3);
    case TAG_INT8:
        return (n + 3) & ~UINT64_C(3);
    default:
        return 4 * CODEBOOK_ENTRIES + ((n + 3) & ~UINT64_C(3));
    }
}

static void expand(uint32_t tag, const uint8_t *src, uint32_t n, float *dst) {
    for (uint32_t i = 0; i < n; i++) {
        if (tag == TAG_FP16) {
            dst[i] = half_to_float((uint32_t)src[2 * (size_t)i] | (uint32_t)src[2 * (size_t)i + 1] << 8);
        } else if (tag == TAG_FP32 || tag == TAG_FP32_SCALED) {
            dst[i] = bits_to_float(get_u32(src + 4 * (size_t)i));
        } else {
            dst[i] = bits_to_float(get_u32(src + 4 * (size_t)src[4 * (size_t)CODEBOOK_ENTRIES + i]));
        }
    }
}

static net_status read_array(bin_reader *b, bool tagged, int64_t elements, net_tensor *out) {
    if (elements < 0 || elements > INT32_MAX) {
        return net_fail(b->err, NET_ERR_FORMAT, "%.150s:%u: layer '%.60s' (%.60s) has an impossible number of weights: %lld", b->param_name,
                        b->layer->line, b->layer->name, b->layer->type, (long long)elements);
    }
    uint32_t n = (uint32_t)elements;
    uint32_t tag = TAG_FP32;
    if (tagged) {
        if (b->bytes - b->pos < 4) {
            return truncated(b, 4);
        }
        tag = get_u32(b->data + b->pos);
        b->pos += 4;
    }
    uint64_t size = tagged_bytes(tag, n);
    if (size > b->bytes - b->pos) {
        return truncated(b, size);
    }
    const uint8_t *src = b->data + b->pos;
    b->pos += (size_t)size;
    out->count = n;
    out->tag = tag;
    if (tag == TAG_INT8) {
        out->i8 = malloc((size_t)n + 1);
        if (out->i8 != NULL) {
            memcpy(out->i8, src, n);
        }
    } else {
        out->f32 = malloc((size_t)n * sizeof(float) + 1);
        if (out->f32 != NULL) {
            expand(tag, src, n, out->f32);
        }
    }
    return out->i8 == NULL && out->f32 == NULL ? net_fail(b->err, NET_ERR_MEMORY, "%.150s: out of memory", b->name) : NET_OK;
}

static net_status read_layer(bin_reader *b, net_layer *layer) {
    net_arrays arrays;
    b->layer = layer;
    if (net_op_find(layer->type) == NULL) {
        return net_fail(b->err, NET_ERR_UNSUPPORTED, "%.150s:%u: layer '%.60s' of type '%.60s' is not supported: its weights are not known",
                        b->param_name, layer->line, layer->name, layer->type);
    }
    net_op_arrays(layer, &arrays);
    for (uint32_t i = 0; i < arrays.count; i++) {
        net_tensor *tensor = &layer->tensor[i];
        layer->num_tensors = i + 1;
        tensor->role = arrays.item[i].role;
        net_status status = read_array(b, arrays.item[i].tagged, arrays.item[i].elements, tensor);
        if (status != NET_OK) {
            return status;
        }
    }
    return NET_OK;
}

net_status net_graph_parse_bin(net_graph *graph, const void *data, size_t bytes, const char *name, net_error *err) {
    if (graph == NULL || (data == NULL && bytes > 0) || name == NULL) {
        return net_fail(err, NET_ERR_ARG, "net_graph_parse_bin: null argument");
    }
    bin_reader b = {.name = name, .data = data, .bytes = bytes, .param_name = graph->name, .err = err};
    net_status status = NET_OK;
    net_graph_free_weights(graph);
    for (uint32_t i = 0; status == NET_OK && i < graph->num_layers; i++) {
        status = read_layer(&b, &graph->layer[i]);
    }
    if (status == NET_OK && b.pos != bytes) {
        status = net_fail(err, NET_ERR_FORMAT, "%.150s: %zu bytes are left over after the last layer, expected a file of %zu bytes", name,
                          bytes - b.pos, b.pos);
    }
    if (status != NET_OK) {
        net_graph_free_weights(graph);
        return status;
    }
    graph->has_weights = true;
    return NET_OK;
}
