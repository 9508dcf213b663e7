/* write.c - writer of ncnn's .param text. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op.h"
#include "report/report.h"

/* A word of a line: not empty, and without a character that ends a word. */
static bool is_word(const char *text) {
    for (const char *p = text; *p != '\0'; p++) {
        unsigned char c = (unsigned char)*p;
        if (c <= ' ' || c == 0x7f) {
            return false;
        }
    }
    return text[0] != '\0';
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* ncnn reads at most 15 characters of a number: nine digits, two signs, point and a two-digit exponent are 15. */
static void print_float(FILE *out, uint32_t bits) {
    char text[32];
    float value;
    uint32_t again;
    memcpy(&value, &bits, sizeof value);
    if (isnan(value)) {
        int32_t whole; /* NaN has no text, but every reader accepts its bits as an integer */
        memcpy(&whole, &bits, sizeof whole);
        fprintf(out, "%d", (int)whole);
        return;
    }
    if (isinf(value)) {
        fprintf(out, "%s", value < 0 ? "-1.000000e+39" : "1.000000e+39");
        return;
    }
    for (int digits = 6; digits <= 8; digits++) {
        (void)snprintf(text, sizeof text, "%.*e", digits, (double)value);
        float parsed = strtof(text, NULL);
        memcpy(&again, &parsed, sizeof again);
        if (again == bits) {
            break;
        }
    }
    fprintf(out, "%s", text);
}

static void print_value(FILE *out, const net_value *value) {
    if (value->is_float) {
        print_float(out, value->bits);
    } else {
        int32_t whole;
        memcpy(&whole, &value->bits, sizeof whole);
        fprintf(out, "%d", (int)whole);
    }
}

/* false: text that no file can hold. */
static bool print_setting(FILE *out, const net_param *param) {
    if (param->text != NULL) {
        for (const char *p = param->text; *p != '\0'; p++) {
            unsigned char c = (unsigned char)*p;
            if (c == '"' || c == 0x7f || (c < ' ' && c != '\t')) {
                return false;
            }
        }
        bool plain = is_letter(param->text[0]) && is_word(param->text);
        fprintf(out, plain ? " %u=%s" : " %u=\"%s\"", param->key, param->text);
        return true;
    }
    if (param->is_array) {
        fprintf(out, " -%u=%u", 23300 + param->key, param->count);
        for (uint32_t i = 0; i < param->count; i++) {
            fprintf(out, ",");
            print_value(out, &param->value[i]);
        }
        return true;
    }
    fprintf(out, " %u=", param->key);
    print_value(out, param->value);
    return true;
}

const net_layer *net_layer_to_write(const net_graph *graph, const net_layer *layer, net_written *w) {
    /* number of outputs, bias, number of weights, INT8, activation and its parameters */
    static const uint32_t from[6] = {0, 5, 6, 8, 9, 10};
    static const uint32_t to[6] = {0, 1, 2, 8, 9, 10};
    if (!graph->planned || strcmp(layer->type, "Convolution") != 0 || net_layer_int(layer, 8, 0) == 0 ||
        graph->blob[layer->in[0]].shape.dims != 1) {
        return layer;
    }
    static char type[] = "InnerProduct";
    w->layer = *layer;
    w->layer.type = type;
    w->layer.param = w->param;
    w->layer.num_params = 0;
    for (int i = 0; i < 6; i++) {
        const net_param *param = net_layer_param(layer, from[i]);
        if (param != NULL) {
            w->param[w->layer.num_params] = *param;
            w->param[w->layer.num_params].key = to[i];
            if (to[i] == 8) {
                w->term = (net_value){2, false};
                w->param[w->layer.num_params].value = &w->term;
            }
            w->layer.num_params++;
        }
    }
    while (w->layer.num_tensors > 0 && layer->tensor[w->layer.num_tensors - 1].role == NET_ROLE_TOP_SCALE) {
        w->layer.num_tensors--;
    }
    return &w->layer;
}

static net_status print_layer(FILE *out, const net_graph *graph, const net_layer *layer, net_error *err) {
    bool ok = is_word(layer->type) && is_word(layer->name);
    fprintf(out, "%-24s %-24s %u %u", layer->type, layer->name, layer->num_in, layer->num_out);
    for (uint32_t i = 0; i < layer->num_in + layer->num_out; i++) {
        const char *name = graph->blob[i < layer->num_in ? layer->in[i] : layer->out[i - layer->num_in]].name;
        ok = ok && is_word(name);
        fprintf(out, " %s", name);
    }
    for (uint32_t i = 0; i < layer->num_params; i++) {
        ok = print_setting(out, &layer->param[i]) && ok;
    }
    fprintf(out, "\n");
    return ok ? NET_OK
              : net_fail(err, NET_ERR_ARG, "%.150s: layer '%.60s' has a name or text that a .param file cannot hold",
                         graph->name, layer->name);
}

net_status net_graph_print_param(const net_graph *graph, char **text, size_t *bytes, net_error *err) {
    if (graph == NULL || text == NULL || bytes == NULL) {
        return net_fail(err, NET_ERR_ARG, "net_graph_print_param: null argument");
    }
    *text = NULL;
    *bytes = 0;
    FILE *out = rep_memory(text, bytes);
    if (out == NULL) {
        return net_fail(err, NET_ERR_MEMORY, "%.150s: out of memory", graph->name);
    }
    net_status status = NET_OK;
    fprintf(out, "7767517\n%u %u\n", graph->num_layers, graph->num_blobs);
    for (uint32_t i = 0; status == NET_OK && i < graph->num_layers; i++) {
        net_written w;
        status = print_layer(out, graph, net_layer_to_write(graph, &graph->layer[i], &w), err);
    }
    bool bad = ferror(out) != 0;
    bad = fclose(out) != 0 || bad;
    if (status == NET_OK && bad) {
        status = net_fail(err, NET_ERR_MEMORY, "%.150s: out of memory", graph->name);
    }
    if (status != NET_OK) {
        free(*text);
        *text = NULL;
        *bytes = 0;
    }
    return status;
}
