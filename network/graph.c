/* graph.c - allocation and queries of a graph; error lines; files. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "op.h"

net_status net_fail(net_error *err, net_status status, const char *format, ...) {
    if (err != NULL) {
        va_list args;
        va_start(args, format);
        (void)vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
        /* the text has words of a file: keep it on one line, without control characters for a terminal */
        for (char *p = err->text; *p != '\0'; p++) {
            *p = (unsigned char)*p < ' ' || *p == 0x7f ? '?' : *p;
        }
    }
    return status;
}

net_status net_read_file(const char *path, size_t max_bytes, char **data, size_t *bytes, net_error *err) {
    struct stat st;
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return net_fail(err, NET_ERR_IO, "%.200s: cannot open: %s", path, strerror(errno));
    }
    if (fstat(fileno(file), &st) != 0 || !S_ISREG(st.st_mode)) {
        fclose(file);
        return net_fail(err, NET_ERR_IO, "%.200s: not a regular file", path);
    }
    if (st.st_size < 0 || (uint64_t)st.st_size > max_bytes) {
        fclose(file);
        return net_fail(err, NET_ERR_FORMAT, "%.200s: %lld bytes, expected at most %zu", path, (long long)st.st_size,
                        max_bytes);
    }
    size_t size = (size_t)st.st_size;
    char *buffer = malloc(size + 1);
    if (buffer == NULL) {
        fclose(file);
        return net_fail(err, NET_ERR_MEMORY, "%.200s: out of memory for %zu bytes", path, size);
    }
    size_t got = fread(buffer, 1, size, file);
    int bad = ferror(file);
    fclose(file);
    if (bad || got != size) {
        free(buffer);
        return net_fail(err, NET_ERR_IO, "%.200s: read error after %zu of %zu bytes", path, got, size);
    }
    buffer[size] = '\0';
    *data = buffer;
    *bytes = size;
    return NET_OK;
}

net_status net_graph_load_param(net_graph *graph, const char *path, net_error *err) {
    char *data = NULL;
    size_t bytes = 0;
    if (graph == NULL || path == NULL) {
        return net_fail(err, NET_ERR_ARG, "net_graph_load_param: null argument");
    }
    memset(graph, 0, sizeof *graph);
    net_status status = net_read_file(path, NET_MAX_PARAM_BYTES, &data, &bytes, err);
    if (status == NET_OK) {
        status = net_graph_parse_param(graph, data, bytes, path, err);
        free(data);
    }
    return status;
}

net_status net_graph_load(net_graph *graph, const char *param_path, const char *bin_path, net_error *err) {
    if (graph == NULL || param_path == NULL || bin_path == NULL) {
        return net_fail(err, NET_ERR_ARG, "net_graph_load: null argument");
    }
    char *data = NULL;
    size_t bytes = 0;
    net_status status = net_graph_load_param(graph, param_path, err);
    if (status != NET_OK) {
        return status;
    }
    status = net_read_file(bin_path, NET_MAX_BIN_BYTES, &data, &bytes, err);
    if (status == NET_OK) {
        status = net_graph_parse_bin_as(graph, NET_LAYOUT_AUTO, data, bytes, bin_path, err);
        free(data);
    }
    if (status != NET_OK) {
        net_graph_free(graph);
    }
    return status;
}

net_status net_graph_set_input(net_graph *graph, uint32_t w, uint32_t h, uint32_t c, net_error *err) {
    if (graph == NULL || w < 1 || w > 65536 || h < 1 || h > 65536 || c < 1 || c > 65536) {
        return net_fail(err, NET_ERR_ARG, "an input of %ux%ux%u (w, h, c), expected 1..65536 each", w, h, c);
    }
    graph->free_input = (net_shape){3, w, h, c, 1};
    return NET_OK;
}

bool net_type_is_known(const char *type) {
    const net_op *op = net_op_find(type);
    return op != NULL && op->shape != NULL;
}

static void free_tensors(net_layer *layer) {
    for (uint32_t k = 0; k < layer->num_tensors; k++) {
        free(layer->tensor[k].f32);
        free(layer->tensor[k].i8);
    }
    layer->num_tensors = 0;
    memset(layer->tensor, 0, sizeof layer->tensor);
}

void net_graph_free_weights(net_graph *graph) {
    for (uint32_t i = 0; i < graph->num_layers; i++) {
        free_tensors(&graph->layer[i]);
    }
    graph->has_weights = false;
}

static void free_param(net_param *param) {
    free(param->value);
    free(param->text);
}

void net_layer_free(net_layer *layer) {
    free_tensors(layer);
    for (uint32_t k = 0; k < layer->num_params; k++) {
        free_param(&layer->param[k]);
    }
    free(layer->param);
    free(layer->in);
    free(layer->out);
    free(layer->type);
    free(layer->name);
}

void net_graph_free(net_graph *graph) {
    if (graph == NULL) {
        return;
    }
    for (uint32_t i = 0; i < graph->num_layers; i++) {
        net_layer_free(&graph->layer[i]);
    }
    for (uint32_t i = 0; i < graph->num_blobs; i++) {
        free(graph->blob[i].name);
    }
    free(graph->layer);
    free(graph->blob);
    free(graph->inputs);
    free(graph->outputs);
    memset(graph, 0, sizeof *graph);
}

const net_param *net_layer_param(const net_layer *layer, uint32_t key) {
    for (uint32_t i = 0; i < layer->num_params; i++) {
        if (layer->param[i].key == key) {
            return &layer->param[i];
        }
    }
    return NULL;
}

int32_t net_layer_int(const net_layer *layer, uint32_t key, int32_t absent) {
    const net_param *param = net_layer_param(layer, key);
    if (param == NULL || param->is_array || param->count != 1) {
        return absent;
    }
    int32_t value;
    memcpy(&value, &param->value[0].bits, sizeof value);
    return value;
}

float net_layer_float(const net_layer *layer, uint32_t key, float absent) {
    const net_param *param = net_layer_param(layer, key);
    if (param == NULL || param->is_array || param->count != 1) {
        return absent;
    }
    float value;
    memcpy(&value, &param->value[0].bits, sizeof value);
    return value;
}

void net_layer_unset(net_layer *layer, uint32_t key) {
    for (uint32_t i = 0; i < layer->num_params; i++) {
        if (layer->param[i].key == key) {
            free_param(&layer->param[i]);
            layer->num_params--;
            memmove(&layer->param[i], &layer->param[i + 1], (layer->num_params - i) * sizeof *layer->param);
            return;
        }
    }
}

/* Every layer that has settings has space for all keys: both the reader and this function ensure it. */
static net_status set_param(net_layer *layer, uint32_t key, bool is_array, const net_value *value, uint32_t count) {
    if (layer == NULL || key > NET_MAX_KEY || (value == NULL && count > 0)) {
        return NET_ERR_ARG;
    }
    if (layer->param == NULL) {
        layer->param = calloc(NET_MAX_KEY + 1, sizeof *layer->param);
    }
    if (layer->param == NULL) {
        return NET_ERR_MEMORY;
    }
    net_param param = {.key = key, .is_array = is_array, .count = count};
    if (count > 0) {
        param.value = calloc(count, sizeof *param.value);
        if (param.value == NULL) {
            return NET_ERR_MEMORY;
        }
        memcpy(param.value, value, count * sizeof *value);
    }
    uint32_t at = 0;
    while (at < layer->num_params && layer->param[at].key != key) {
        at++;
    }
    if (at == layer->num_params) {
        layer->num_params++;
    } else {
        free_param(&layer->param[at]);
    }
    layer->param[at] = param;
    return NET_OK;
}

net_status net_layer_set_int(net_layer *layer, uint32_t key, int32_t value) {
    const net_value v = {.bits = (uint32_t)value};
    return set_param(layer, key, false, &v, 1);
}

net_status net_layer_set_float(net_layer *layer, uint32_t key, float value) {
    net_value v = {.is_float = true};
    memcpy(&v.bits, &value, sizeof value);
    return set_param(layer, key, false, &v, 1);
}

net_status net_layer_set_array(net_layer *layer, uint32_t key, const net_value *value, uint32_t count) {
    return set_param(layer, key, true, value, count);
}

bool net_layer_hint(const net_layer *layer, uint32_t output, net_hint *hint) {
    const net_param *param = net_layer_param(layer, NET_KEY_HINTS);
    if (param == NULL || !param->is_array || output >= layer->num_out || param->count % layer->num_out != 0) {
        return false;
    }
    uint32_t each = param->count / layer->num_out;
    if (each != 4 && each != 5) {
        return false;
    }
    const net_value *v = param->value + (size_t)output * each;
    *hint = (net_hint){
        .dims = v[0].bits, .w = v[1].bits, .h = v[2].bits, .d = each == 5 ? v[3].bits : 1, .c = v[each - 1].bits};
    return true;
}

const net_value *net_layer_array(const net_layer *layer, uint32_t key, uint32_t *count) {
    const net_param *param = net_layer_param(layer, key);
    *count = param == NULL ? 0 : param->count;
    return param == NULL ? NULL : param->value;
}

float net_value_float(net_value value) {
    float number;
    memcpy(&number, &value.bits, sizeof number);
    return number;
}

const net_tensor *net_layer_tensor(const net_layer *layer, net_role role) {
    for (uint32_t i = 0; i < layer->num_tensors; i++) {
        if (layer->tensor[i].role == role) {
            return &layer->tensor[i];
        }
    }
    return NULL;
}

uint32_t net_shape_elements(const net_shape *shape) {
    return shape->dims == 0 ? 0 : shape->w * shape->h * shape->c * (shape->dims == 4 ? shape->d : 1);
}

bool net_shape_same(const net_shape *a, const net_shape *b) {
    return a->dims == b->dims && a->w == b->w && a->h == b->h && a->c == b->c && (a->dims != 4 || a->d == b->d);
}

void net_shape_outer(const net_shape *shape, uint32_t size[NET_MAX_DIMS]) {
    const uint32_t deep[4] = {shape->c, shape->d, shape->h, shape->w};
    const uint32_t flat[3] = {shape->c, shape->h, shape->w};
    for (uint32_t i = 0; i < NET_MAX_DIMS; i++) {
        size[i] = i >= shape->dims ? 1 : shape->dims == 4 ? deep[i] : flat[3 - shape->dims + i];
    }
}

net_shape net_shape_from(uint32_t dims, const uint32_t size[NET_MAX_DIMS]) {
    net_shape s = {dims, size[dims - 1], dims > 1 ? size[dims - 2] : 1, dims > 2 ? size[0] : 1, 1};
    s.d = dims > 3 ? size[1] : 1;
    return s;
}

uint64_t net_layer_macs(const net_graph *graph, uint32_t number) {
    const net_layer *layer = &graph->layer[number];
    return graph->planned && layer->op->macs != NULL ? layer->op->macs(graph, layer) : 0;
}

uint64_t net_graph_macs(const net_graph *graph) {
    uint64_t macs = 0;
    for (uint32_t i = 0; graph->planned && i < graph->num_layers; i++) {
        macs += net_layer_macs(graph, i);
    }
    return macs;
}

bool net_graph_is_int8(const net_graph *graph) {
    for (uint32_t i = 0; i < graph->num_layers; i++) {
        const net_layer *layer = &graph->layer[i];
        /* an input scale, or INT8 weights of attention, which finds it while it runs */
        const net_tensor *weight = net_layer_tensor(layer, NET_ROLE_WEIGHT);
        if (net_layer_tensor(layer, NET_ROLE_BOTTOM_SCALE) != NULL || (weight != NULL && weight->i8 != NULL)) {
            return true;
        }
    }
    return false;
}

uint64_t net_hash(const float *data, size_t count) {
    return tb_hash_final(tb_hash_bytes(TB_HASH_INIT, data, count * sizeof *data));
}
