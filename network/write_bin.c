/* write_bin.c - writer of .bin files, ncnn's own and the 16-byte aligned ones; both files of a network at once. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op.h"
#include "report/report.h"

typedef struct bin_writer {
    const net_graph *graph;
    const net_layer *layer;
    net_save_options how;
    uint8_t *data; /* NULL: only count */
    size_t pos;
    net_error *err;
} bin_writer;

static net_status bad_array(const bin_writer *w, const char *what) {
    return net_fail(w->err, NET_ERR_ARG, NET_WHERE ": %s", w->graph->name, w->layer->line, w->layer->name,
                    w->layer->type, what);
}

/* Nearest FP16, ties to even; values beyond its range become infinite. */
static uint32_t float_to_half(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = (bits >> 16) & 0x8000u;
    uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
        /* a NaN keeps the upper bits of its payload, and remains a NaN */
        uint32_t payload = (magnitude >> 13) & 0x3ffu;
        return sign | 0x7c00u | (payload == 0 ? 1u : payload);
    }
    if (magnitude >= 0x47800000u) {
        return sign | 0x7c00u;
    }
    uint32_t exponent = magnitude >> 23;
    uint32_t fraction = (magnitude & 0x7fffffu) | (exponent == 0 ? 0 : 0x800000u);
    /* bits to drop: 13, more for values that become subnormal */
    uint32_t drop = exponent >= 113 ? 13 : 126 - exponent;
    if (drop > 25) {
        return sign;
    }
    uint32_t kept = fraction >> drop;
    uint32_t rest = fraction & ((1u << drop) - 1);
    uint32_t half = 1u << (drop - 1);
    kept += rest > half || (rest == half && (kept & 1u) != 0);
    /* a carry out of the fraction increments the exponent */
    return sign | (exponent >= 113 ? kept + ((exponent - 113) << 10) : kept);
}

static bool same_bits(float a, float b) {
    return memcmp(&a, &b, sizeof a) == 0;
}

static bool all_halves(const net_tensor *tensor) {
    for (uint32_t i = 0; i < tensor->count; i++) {
        if (!same_bits(net_half_to_float(float_to_half(tensor->f32[i])), tensor->f32[i])) {
            return false;
        }
    }
    return true;
}

/* The tag under which an array is stored. */
static uint32_t choose_tag(const bin_writer *w, const net_tensor *tensor, bool tagged) {
    if (tensor->i8 != NULL) {
        return NET_TAG_INT8;
    }
    if (!tagged || w->how.storage == NET_STORE_FP32) {
        return NET_TAG_FP32;
    }
    if (w->how.storage == NET_STORE_FP16 || (tensor->tag == NET_TAG_FP16 && all_halves(tensor))) {
        return NET_TAG_FP16;
    }
    return tensor->tag == NET_TAG_FP32_SCALED && w->how.layout == NET_LAYOUT_STOCK ? tensor->tag : NET_TAG_FP32;
}

static void put_u32(bin_writer *w, uint32_t value) {
    if (w->data != NULL) {
        for (uint32_t i = 0; i < 4; i++) {
            w->data[w->pos + i] = (uint8_t)(value >> (8 * i));
        }
    }
    w->pos += 4;
}

/* Padding: the buffer is zero already. */
static void fill_up(bin_writer *w) {
    size_t align = w->how.layout == NET_LAYOUT_ALIGNED ? 15 : 3;
    w->pos = (w->pos + align) & ~align;
}

static net_status put_halves(bin_writer *w, const net_tensor *tensor) {
    for (uint32_t i = 0; i < tensor->count; i++) {
        float value = tensor->f32[i];
        uint32_t half = float_to_half(value);
        if ((half & 0x7fffu) == 0x7c00u && !same_bits(value, net_half_to_float(half))) {
            char text[80];
            (void)snprintf(text, sizeof text, "weight %u is %g, FP16 ends at 65504", i, (double)value);
            return bad_array(w, text);
        }
        if (w->data != NULL) {
            w->data[w->pos + 2 * (size_t)i] = (uint8_t)half;
            w->data[w->pos + 2 * (size_t)i + 1] = (uint8_t)(half >> 8);
        }
    }
    w->pos += 2 * (size_t)tensor->count;
    return NET_OK;
}

static net_status put_array(bin_writer *w, const net_tensor *tensor, bool tagged) {
    uint32_t tag = choose_tag(w, tensor, tagged);
    net_status status = NET_OK;
    if (tagged || w->how.layout == NET_LAYOUT_ALIGNED) {
        put_u32(w, tag);
        fill_up(w);
    }
    if (tag == NET_TAG_INT8) {
        if (w->data != NULL) {
            memcpy(w->data + w->pos, tensor->i8, tensor->count);
        }
        w->pos += tensor->count;
    } else if (tag == NET_TAG_FP16) {
        status = put_halves(w, tensor);
    } else {
        for (uint32_t i = 0; i < tensor->count; i++) {
            uint32_t bits;
            memcpy(&bits, &tensor->f32[i], sizeof bits);
            put_u32(w, bits);
        }
    }
    fill_up(w);
    return status;
}

static net_status put_layer(bin_writer *w, const net_layer *layer) {
    net_arrays arrays;
    char text[160];
    w->layer = layer;
    if (net_op_find(layer->type) == NULL) {
        return net_fail(w->err, NET_ERR_UNSUPPORTED, NET_WHERE " is not supported: its weights are not known",
                        w->graph->name, layer->line, layer->name, layer->type);
    }
    net_op_arrays(layer, &arrays);
    if (arrays.count != layer->num_tensors) {
        (void)snprintf(text, sizeof text, "the layer has %u arrays, its settings need %u", layer->num_tensors,
                       arrays.count);
        return bad_array(w, text);
    }
    for (uint32_t i = 0; i < arrays.count; i++) {
        const net_tensor *tensor = &layer->tensor[i];
        if (tensor->count != arrays.item[i].elements || tensor->role != arrays.item[i].role) {
            (void)snprintf(text, sizeof text, "array %u has %u values and role %d, the settings need %lld and %d", i,
                           tensor->count, (int)tensor->role, (long long)arrays.item[i].elements,
                           (int)arrays.item[i].role);
            return bad_array(w, text);
        }
        if ((tensor->f32 == NULL) == (tensor->i8 == NULL) || (tensor->i8 != NULL && !arrays.item[i].tagged)) {
            return bad_array(w, "an array does not have the type, float or INT8, of its role");
        }
        net_status status = put_array(w, tensor, arrays.item[i].tagged);
        if (status != NET_OK) {
            return status;
        }
    }
    return NET_OK;
}

static net_status put_all(bin_writer *w) {
    net_status status = NET_OK;
    w->pos = 0;
    for (uint32_t i = 0; status == NET_OK && i < w->graph->num_layers; i++) {
        net_written written;
        status = put_layer(w, net_layer_to_write(w->graph, &w->graph->layer[i], &written));
    }
    return status;
}

net_status net_graph_pack_bin(const net_graph *graph, const net_save_options *options, uint8_t **data, size_t *bytes,
                              net_error *err) {
    net_save_options how = options != NULL ? *options : (net_save_options){NET_LAYOUT_AUTO, NET_STORE_EXACT};
    if (graph == NULL || data == NULL || bytes == NULL || (unsigned)how.layout > NET_LAYOUT_AUTO ||
        (unsigned)how.storage > NET_STORE_FP16) {
        return net_fail(err, NET_ERR_ARG, "net_graph_pack_bin: bad argument");
    }
    *data = NULL;
    *bytes = 0;
    if (!graph->has_weights) {
        return net_fail(err, NET_ERR_ARG, "%.150s: the graph has no weights to write", graph->name);
    }
    how.layout = how.layout == NET_LAYOUT_AUTO ? graph->layout : how.layout;
    bin_writer w = {.graph = graph, .how = how, .err = err};
    net_status status = put_all(&w);
    if (status != NET_OK) {
        return status;
    }
    w.data = calloc(w.pos + 1, 1);
    if (w.data == NULL) {
        return net_fail(err, NET_ERR_MEMORY, "%.150s: out of memory", graph->name);
    }
    (void)put_all(&w); /* everything that can fail was checked above */
    *data = w.data;
    *bytes = w.pos;
    return NET_OK;
}

static net_status told(const char *path, int error, net_error *err) {
    return error == 0 ? NET_OK : net_fail(err, NET_ERR_IO, "%.200s: cannot write: %s", path, strerror(error));
}

net_status net_save(const char *path, const void *data, size_t bytes, net_error *err) {
    return told(path, rep_save(path, data, bytes), err);
}

/* Both files are written completely before the first one is renamed. */
static net_status save_both(const char *param_path, const char *text, size_t text_bytes, const char *bin_path,
                            const void *data, size_t data_bytes, net_error *err) {
    rep_file param;
    rep_file bin;
    net_status status = told(param_path, rep_file_open(&param, param_path), err);
    if (status != NET_OK) {
        return status;
    }
    status = told(bin_path, rep_file_open(&bin, bin_path), err);
    if (status == NET_OK && (fwrite(text, 1, text_bytes, param.file) != text_bytes || fflush(param.file) != 0)) {
        status = told(param_path, errno != 0 ? errno : EIO, err);
    }
    if (status == NET_OK && (fwrite(data, 1, data_bytes, bin.file) != data_bytes || fflush(bin.file) != 0)) {
        status = told(bin_path, errno != 0 ? errno : EIO, err);
    }
    status = status == NET_OK ? told(bin_path, rep_file_close(&bin, false), err) : status;
    status = status == NET_OK ? told(param_path, rep_file_close(&param, false), err) : status;
    rep_file_drop(&bin);
    rep_file_drop(&param);
    return status;
}

net_status net_graph_save(const net_graph *graph, const char *param_path, const char *bin_path,
                          const net_save_options *options, net_error *err) {
    if (graph == NULL || param_path == NULL || bin_path == NULL) {
        return net_fail(err, NET_ERR_ARG, "net_graph_save: null argument");
    }
    char *text = NULL;
    uint8_t *data = NULL;
    size_t text_bytes = 0;
    size_t data_bytes = 0;
    net_status status = net_graph_print_param(graph, &text, &text_bytes, err);
    status = status == NET_OK ? net_graph_pack_bin(graph, options, &data, &data_bytes, err) : status;
    if (status == NET_OK) {
        status = save_both(param_path, text, text_bytes, bin_path, data, data_bytes, err);
    }
    free(text);
    free(data);
    return status;
}
