/* bin.c - reader of .bin files, ncnn's own and the 16-byte aligned ones: the arrays that the table of layer types
 * (op.h) promises. */
#include <stdlib.h>
#include <string.h>

#include "op.h"

#define CODEBOOK_ENTRIES 256u

typedef struct bin_reader {
    const char *name;
    net_layout layout;
    const uint8_t *data;
    size_t bytes;
    size_t pos;
    const net_layer *layer;
    const char *param_name;
    net_error *err;
} bin_reader;

static const char *layout_text(net_layout layout) {
    return layout == NET_LAYOUT_ALIGNED ? "16-byte aligned file " : "";
}

static net_status truncated(const bin_reader *b, uint64_t needed) {
    return net_fail(b->err, NET_ERR_FORMAT,
                    "%.130s: %struncated: layer '%.50s' (%.100s:%u) needs %llu bytes at offset %zu, %zu are left",
                    b->name, layout_text(b->layout), b->layer->name, b->param_name, b->layer->line,
                    (unsigned long long)needed, b->pos, b->bytes - b->pos);
}

static uint32_t get_u32(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static float bits_to_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

float net_half_to_float(uint32_t half) {
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

/* Bytes of n elements after the tag, padding included. */
static uint64_t array_bytes(net_layout layout, uint32_t tag, uint64_t n) {
    uint64_t align = layout == NET_LAYOUT_ALIGNED ? 15 : 3;
    switch (tag) {
    case NET_TAG_FP32:
    case NET_TAG_FP32_SCALED:
        return (4 * n + align) & ~align;
    case NET_TAG_FP16:
        return (2 * n + align) & ~align;
    case NET_TAG_INT8:
        return (n + align) & ~align;
    default:
        return 4 * CODEBOOK_ENTRIES + ((n + align) & ~align);
    }
}

/* Bytes of the elements alone. */
static uint64_t data_bytes(uint32_t tag, uint64_t n) {
    return tag == NET_TAG_FP16 ? 2 * n : tag == NET_TAG_INT8 ? n : 4 * n;
}

static void expand(uint32_t tag, const uint8_t *src, uint32_t n, float *dst) {
    for (uint32_t i = 0; i < n; i++) {
        if (tag == NET_TAG_FP16) {
            dst[i] = net_half_to_float((uint32_t)src[2 * (size_t)i] | (uint32_t)src[2 * (size_t)i + 1] << 8);
        } else if (tag == NET_TAG_FP32 || tag == NET_TAG_FP32_SCALED) {
            dst[i] = bits_to_float(get_u32(src + 4 * (size_t)i));
        } else {
            dst[i] = bits_to_float(get_u32(src + 4 * (size_t)src[4 * (size_t)CODEBOOK_ENTRIES + i]));
        }
    }
}

/* The fill of an aligned file is zero: other bytes mean a wrong file, or a wrong network. */
static net_status check_fill(const bin_reader *b, uint64_t from, uint64_t to) {
    for (uint64_t i = from; i < to; i++) {
        if (b->data[i] != 0) {
            return net_fail(b->err, NET_ERR_FORMAT,
                            "%.130s: 16-byte aligned file: byte %llu is 0x%02x, expected zeros (layer '%.60s')",
                            b->name, (unsigned long long)i, b->data[i], b->layer->name);
        }
    }
    return NET_OK;
}

/* The tag before an array. */
static net_status read_tag(bin_reader *b, bool tagged, uint32_t *tag) {
    bool aligned = b->layout == NET_LAYOUT_ALIGNED;
    size_t size = aligned ? 16 : tagged ? 4 : 0;
    *tag = NET_TAG_FP32;
    if (size == 0) {
        return NET_OK;
    }
    if (b->bytes - b->pos < size) {
        return truncated(b, size);
    }
    *tag = get_u32(b->data + b->pos);
    if (aligned && *tag != NET_TAG_FP32 && *tag != NET_TAG_FP16 && (*tag != NET_TAG_INT8 || !tagged)) {
        return net_fail(b->err, NET_ERR_FORMAT,
                        "%.130s: 16-byte aligned file: tag 0x%08x at offset %zu (layer '%.60s'), expected FP32, FP16%s",
                        b->name, *tag, b->pos, b->layer->name, tagged ? " or INT8" : "");
    }
    b->pos += size;
    return aligned ? check_fill(b, b->pos - 12, b->pos) : NET_OK;
}

static net_status take_array(bin_reader *b, uint32_t tag, uint32_t n, const uint8_t *src, net_tensor *out) {
    out->count = n;
    out->tag = tag;
    if (tag == NET_TAG_INT8) {
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
    return out->i8 == NULL && out->f32 == NULL ? net_fail(b->err, NET_ERR_MEMORY, "%.150s: out of memory", b->name)
                                               : NET_OK;
}

/* out NULL: skip it. */
static net_status read_array(bin_reader *b, bool tagged, int64_t elements, net_tensor *out) {
    if (elements < 0 || elements > INT32_MAX) {
        return net_fail(b->err, NET_ERR_FORMAT,
                        "%.150s:%u: layer '%.60s' (%.60s) has an impossible number of weights: %lld", b->param_name,
                        b->layer->line, b->layer->name, b->layer->type, (long long)elements);
    }
    uint32_t n = (uint32_t)elements;
    uint32_t tag;
    net_status status = read_tag(b, tagged, &tag);
    if (status != NET_OK) {
        return status;
    }
    uint64_t size = array_bytes(b->layout, tag, n);
    if (size > b->bytes - b->pos) {
        return truncated(b, size);
    }
    const uint8_t *src = b->data + b->pos;
    b->pos += (size_t)size;
    if (b->layout == NET_LAYOUT_ALIGNED) {
        status = check_fill(b, b->pos - size + data_bytes(tag, n), b->pos);
    }
    return status == NET_OK && out != NULL ? take_array(b, tag, n, src, out) : status;
}

/* take false: skip the arrays. */
static net_status read_layer(bin_reader *b, net_layer *layer, bool take) {
    net_arrays arrays;
    b->layer = layer;
    if (net_op_find(layer->type) == NULL) {
        return net_fail(b->err, NET_ERR_UNSUPPORTED,
                        "%.150s:%u: layer '%.60s' of type '%.60s' is not supported: its weights are not known",
                        b->param_name, layer->line, layer->name, layer->type);
    }
    net_op_arrays(layer, &arrays);
    for (uint32_t i = 0; i < arrays.count; i++) {
        net_tensor *tensor = &layer->tensor[i];
        if (take) {
            layer->num_tensors = i + 1;
            tensor->role = arrays.item[i].role;
        }
        net_status status = read_array(b, arrays.item[i].tagged, arrays.item[i].elements, take ? tensor : NULL);
        if (status != NET_OK) {
            return status;
        }
    }
    return NET_OK;
}

static net_status read_all(bin_reader b, net_graph *graph, bool take) {
    net_status status = NET_OK;
    for (uint32_t i = 0; status == NET_OK && i < graph->num_layers; i++) {
        status = read_layer(&b, &graph->layer[i], take);
    }
    if (status == NET_OK && b.pos != b.bytes) {
        status = net_fail(b.err, NET_ERR_FORMAT,
                          "%.150s: %s%zu bytes are left over after the last layer, expected a file of %zu bytes",
                          b.name, layout_text(b.layout), b.bytes - b.pos, b.pos);
    }
    return status;
}

/* Layout of the bytes: ncnn's, unless only the other one ends at the end of the file. The layout of a damaged file
 * follows from its first tag. */
static net_layout guess_layout(const bin_reader *b, net_graph *graph) {
    bin_reader probe = *b;
    static const uint8_t fill[12];
    probe.err = NULL;
    probe.layout = NET_LAYOUT_STOCK;
    if (read_all(probe, graph, false) == NET_OK) {
        return NET_LAYOUT_STOCK;
    }
    probe.layout = NET_LAYOUT_ALIGNED;
    bool aligned =
        read_all(probe, graph, false) == NET_OK || (b->bytes >= 16 && memcmp(b->data + 4, fill, sizeof fill) == 0);
    return aligned ? NET_LAYOUT_ALIGNED : NET_LAYOUT_STOCK;
}

net_status net_graph_parse_bin_as(net_graph *graph, net_layout layout, const void *data, size_t bytes, const char *name,
                                  net_error *err) {
    if (graph == NULL || (data == NULL && bytes > 0) || name == NULL || (unsigned)layout > NET_LAYOUT_AUTO) {
        return net_fail(err, NET_ERR_ARG, "net_graph_parse_bin: bad argument");
    }
    bin_reader b = {.name = name,
                    .data = data == NULL ? (const uint8_t *)"" : data,
                    .bytes = bytes,
                    .param_name = graph->name,
                    .err = err};
    net_graph_free_weights(graph);
    b.layout = layout == NET_LAYOUT_AUTO ? guess_layout(&b, graph) : layout;
    net_status status = read_all(b, graph, true);
    if (status != NET_OK) {
        net_graph_free_weights(graph);
        return status;
    }
    graph->has_weights = true;
    graph->layout = b.layout;
    return NET_OK;
}

net_status net_graph_parse_bin(net_graph *graph, const void *data, size_t bytes, const char *name, net_error *err) {
    return net_graph_parse_bin_as(graph, NET_LAYOUT_STOCK, data, bytes, name, err);
}
