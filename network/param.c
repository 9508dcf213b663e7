/* param.c - reader of ncnn's .param text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define MAX_NAME 255u

typedef struct span {
    const char *at;
    size_t len;
} span;

typedef struct reader {
    const char *name; /* of the file */
    const char *at;   /* rest of the text */
    const char *end;
    span rest;     /* rest of the current line */
    uint32_t line; /* number of the current line, from 1 */
    net_graph *graph;
    uint32_t cap_layers, cap_blobs;
    uint32_t *slot; /* blobs by name: open addressing; blob number + 1, 0: free */
    uint32_t slots; /* a power of two, at least twice cap_blobs */
    net_error *err;
} reader;

static const struct {
    const char *type;
    net_kind kind;
} kind_table[] = {
    {"Input", NET_INPUT},     {"Convolution", NET_CONV}, {"ReLU", NET_RELU},
    {"Split", NET_SPLIT},     {"Softmax", NET_SOFTMAX},  {"Flatten", NET_FLATTEN},
    {"Reshape", NET_RESHAPE}, {"Dropout", NET_COPY},     {"Noop", NET_COPY},
};

/* Start of every error line of this file: file and line. Text of the file in it has no control characters: these were
 * refused before. */
#define BAD(r, format, ...) net_fail((r)->err, NET_ERR_FORMAT, "%.150s:%u: " format, (r)->name, (r)->line, __VA_ARGS__)
#define NO_MEMORY(r) net_fail((r)->err, NET_ERR_MEMORY, "%.150s:%u: out of memory", (r)->name, (r)->line)

/* Printf arguments for a piece of text, shortened. */
#define SHOW(s) (int)((s).len < 60 ? (s).len : 60), (s).at

/* Next line that is not blank; false at the end. */
static bool next_line(reader *r) {
    while (r->at < r->end) {
        const char *stop = memchr(r->at, '\n', (size_t)(r->end - r->at));
        const char *next = stop == NULL ? r->end : stop + 1;
        size_t len = (size_t)((stop == NULL ? r->end : stop) - r->at);
        r->rest = (span){r->at, len};
        r->at = next;
        r->line++;
        for (size_t i = 0; i < len; i++) {
            if (strchr(" \t\r", r->rest.at[i]) == NULL) {
                return true;
            }
        }
    }
    return false;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

/* Next word of the line. Length 0: no word left. In a setting, text that begins with a quote directly after the equals
 * sign continues to the next quote. */
static span next_piece_of_line(reader *r, bool setting) {
    const char *p = r->rest.at;
    const char *end = p + r->rest.len;
    while (p < end && is_blank(*p)) {
        p++;
    }
    const char *start = p;
    while (p < end && !is_blank(*p)) {
        if (setting && *p == '=' && p + 1 < end && p[1] == '"') {
            const char *quote = memchr(p + 2, '"', (size_t)(end - p - 2));
            p = quote == NULL ? end - 1 : quote;
            setting = false;
        }
        p++;
    }
    r->rest = (span){p, (size_t)(end - p)};
    return (span){start, (size_t)(p - start)};
}

static span next_word(reader *r) {
    return next_piece_of_line(r, false);
}

/* true when s has only these characters. */
static bool only(span s, const char *allowed) {
    for (size_t i = 0; i < s.len; i++) {
        if (strchr(allowed, s.at[i]) == NULL) {
            return false;
        }
    }
    return true;
}

static bool to_int(span s, int64_t lo, int64_t hi, int32_t *out) {
    char buffer[16];
    char *stop;
    if (s.len == 0 || s.len >= sizeof buffer || !only(s, "+-0123456789")) {
        return false;
    }
    memcpy(buffer, s.at, s.len);
    buffer[s.len] = '\0';
    long long value = strtoll(buffer, &stop, 10);
    if (*stop != '\0' || value < lo || value > hi) {
        return false;
    }
    *out = (int32_t)value;
    return true;
}

/* A number; it is a float if and only if it has a point or an exponent. */
static bool to_value(span s, net_value *out) {
    bool is_float = false;
    for (size_t i = 0; i < s.len; i++) {
        is_float = is_float || s.at[i] == '.' || s.at[i] == 'e' || s.at[i] == 'E';
    }
    if (!is_float) {
        int32_t value = 0;
        bool ok = to_int(s, INT32_MIN, INT32_MAX, &value);
        memcpy(&out->bits, &value, sizeof value);
        out->is_float = false;
        return ok;
    }
    char buffer[64];
    char *stop;
    if (s.len >= sizeof buffer || !only(s, "+-.0123456789eE")) {
        return false;
    }
    memcpy(buffer, s.at, s.len);
    buffer[s.len] = '\0';
    float value = strtof(buffer, &stop);
    memcpy(&out->bits, &value, sizeof value);
    out->is_float = true;
    return *stop == '\0';
}

static char *copy_span(span s) {
    char *text = malloc(s.len + 1);
    if (text != NULL) {
        memcpy(text, s.at, s.len);
        text[s.len] = '\0';
    }
    return text;
}

static uint32_t count_commas(span s) {
    uint32_t count = 0;
    for (size_t i = 0; i < s.len; i++) {
        count += s.at[i] == ',';
    }
    return count;
}

/* Piece of s up to the next comma; s becomes the rest. */
static span next_piece(span *s) {
    const char *comma = memchr(s->at, ',', s->len);
    size_t len = comma == NULL ? s->len : (size_t)(comma - s->at);
    span piece = {s->at, len};
    size_t used = comma == NULL ? len : len + 1;
    *s = (span){s->at + used, s->len - used};
    return piece;
}

/* An array. Old style (key -233NN): the number of values comes first. */
static net_status parse_array(reader *r, net_param *param, span word, span text, bool counted) {
    /* The newer style writes an array of one value as "5,". */
    bool one = !counted && count_commas(text) == 1 && text.len > 1 && text.at[text.len - 1] == ',';
    uint32_t present = one ? 1 : count_commas(text) + 1;
    param->is_array = true;
    if (counted) {
        span piece = next_piece(&text);
        int32_t len;
        if (!to_int(piece, 0, INT32_MAX, &len)) {
            return BAD(r, "array length '%.*s' is not a number", SHOW(piece));
        }
        present--;
        if ((uint32_t)len != present) {
            return BAD(r, "array '%.*s' has %u values, its length says %d", SHOW(word), present, len);
        }
    }
    if (present == 0) {
        return NET_OK;
    }
    param->value = calloc(present, sizeof *param->value);
    if (param->value == NULL) {
        return NO_MEMORY(r);
    }
    param->count = present;
    for (uint32_t i = 0; i < present; i++) {
        span piece = next_piece(&text);
        if (!to_value(piece, &param->value[i])) {
            return BAD(r, "'%.*s' is not a number (array of key %u)", SHOW(piece), param->key);
        }
    }
    return NET_OK;
}

/* Text, with or without quotes around it; there are no quotes and line ends inside. */
static net_status parse_text(reader *r, net_param *param, span text) {
    bool quoted = text.at[0] == '"';
    if (quoted && (text.len < 2 || text.at[text.len - 1] != '"')) {
        return BAD(r, "text of key %u has no closing quote", param->key);
    }
    span inner = quoted ? (span){text.at + 1, text.len - 2} : text;
    if (memchr(inner.at, '"', inner.len) != NULL || memchr(inner.at, '\r', inner.len) != NULL) {
        return BAD(r, "text of key %u has a quote or a carriage return in its middle", param->key);
    }
    param->text = copy_span(inner);
    return param->text == NULL ? NO_MEMORY(r) : NET_OK;
}

/* One key=value. */
static net_status parse_setting(reader *r, net_layer *layer, span word) {
    const char *equals = memchr(word.at, '=', word.len);
    span key_text = {word.at, equals == NULL ? 0 : (size_t)(equals - word.at)};
    int32_t key;
    if (equals == NULL || !to_int(key_text, -23300 - (int)NET_MAX_KEY, (int)NET_MAX_KEY, &key) ||
        (key < 0 && key > -23300)) {
        return BAD(r, "'%.*s' is not key=value with a key of 0..31 or -23300..-23331", SHOW(word));
    }
    bool counted = key < 0;
    uint32_t number = (uint32_t)(counted ? -23300 - key : key);
    if (net_layer_param(layer, number) != NULL) {
        return BAD(r, "key %u is given twice", number);
    }
    span text = {equals + 1, word.len - key_text.len - 1};
    net_param *param = &layer->param[layer->num_params++];
    param->key = number;
    char first = text.len > 0 ? text.at[0] : '\0';
    if (!counted && (first == '"' || (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z'))) {
        return parse_text(r, param, text);
    }
    if (counted || count_commas(text) > 0) {
        return parse_array(r, param, word, text, counted);
    }
    param->value = calloc(1, sizeof *param->value);
    if (param->value == NULL) {
        return NO_MEMORY(r);
    }
    param->count = 1;
    return to_value(text, param->value) ? NET_OK : BAD(r, "value '%.*s' of key %u is not a number", SHOW(text), number);
}

/* Shape hints (key 30): four or five whole numbers for each output. */
static net_status check_hints(reader *r, const net_layer *layer) {
    const net_param *param = net_layer_param(layer, NET_KEY_HINTS);
    if (param == NULL || !param->is_array || param->count == 0) {
        return NET_OK;
    }
    if (param->count != 4 * layer->num_out && param->count != 5 * layer->num_out) {
        return BAD(r, "shape hints (key 30) of layer '%.60s' are %u values, expected 4 or 5 for each of its %u outputs",
                   layer->name, param->count, layer->num_out);
    }
    uint32_t each = param->count / layer->num_out;
    for (uint32_t i = 0; i < param->count; i++) {
        if (param->value[i].is_float || param->value[i].bits > INT32_MAX ||
            (i % each == 0 && param->value[i].bits > 4)) {
            return BAD(r, "shape hint %u (key 30) of layer '%.60s' is not a possible %s", i, layer->name,
                       i % each == 0 ? "number of dimensions" : "size");
        }
    }
    return NET_OK;
}

static net_status parse_settings(reader *r, net_layer *layer) {
    layer->param = calloc(NET_MAX_KEY + 1, sizeof *layer->param);
    if (layer->param == NULL) {
        return NO_MEMORY(r);
    }
    for (span word = next_piece_of_line(r, true); word.len > 0; word = next_piece_of_line(r, true)) {
        net_status status = parse_setting(r, layer, word);
        if (status != NET_OK) {
            return status;
        }
    }
    return check_hints(r, layer);
}

/* Slot of a blob of this name in the table, used or free. */
static uint32_t *find_slot(reader *r, span name) {
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < name.len; i++) {
        hash = (hash ^ (unsigned char)name.at[i]) * 16777619u;
    }
    for (uint32_t at = hash & (r->slots - 1);; at = (at + 1) & (r->slots - 1)) {
        uint32_t *slot = &r->slot[at];
        const char *have = *slot == 0 ? NULL : r->graph->blob[*slot - 1].name;
        if (have == NULL || (strncmp(have, name.at, name.len) == 0 && have[name.len] == '\0')) {
            return slot;
        }
    }
}

static uint32_t find_blob(reader *r, span name) {
    uint32_t slot = *find_slot(r, name);
    return slot == 0 ? NET_NONE : slot - 1;
}

static net_status parse_inputs(reader *r, net_layer *layer, uint32_t number) {
    for (uint32_t i = 0; i < layer->num_in; i++) {
        span word = next_word(r);
        if (word.len == 0) {
            return BAD(r, "layer '%.60s' names %u of its %u inputs", layer->name, i, layer->num_in);
        }
        uint32_t blob = find_blob(r, word);
        if (blob == NET_NONE) {
            return BAD(r, "input '%.*s' of layer '%.60s' is not an output of an earlier layer", SHOW(word),
                       layer->name);
        }
        if (r->graph->blob[blob].consumer != NET_NONE) {
            return BAD(r, "blob '%.*s' already has a consumer, layer '%.60s' needs a Split", SHOW(word), layer->name);
        }
        r->graph->blob[blob].consumer = number;
        layer->in[i] = blob;
    }
    return NET_OK;
}

static net_status parse_outputs(reader *r, net_layer *layer, uint32_t number) {
    for (uint32_t i = 0; i < layer->num_out; i++) {
        span word = next_word(r);
        if (word.len == 0) {
            return BAD(r, "layer '%.60s' names %u of its %u outputs", layer->name, i, layer->num_out);
        }
        if (word.len > MAX_NAME) {
            return BAD(r, "blob name of %zu characters, expected at most %u", word.len, MAX_NAME);
        }
        if (r->graph->num_blobs == r->cap_blobs) {
            return BAD(r, "more blobs than the %u that line 2 announces", r->cap_blobs);
        }
        if (find_blob(r, word) != NET_NONE) {
            return BAD(r, "blob '%.*s' is produced twice", SHOW(word));
        }
        net_blob *blob = &r->graph->blob[r->graph->num_blobs];
        blob->name = copy_span(word);
        if (blob->name == NULL) {
            return NO_MEMORY(r);
        }
        blob->producer = number;
        blob->consumer = NET_NONE;
        layer->out[i] = r->graph->num_blobs++;
        *find_slot(r, word) = r->graph->num_blobs;
    }
    return NET_OK;
}

static net_status parse_layer(reader *r) {
    uint32_t number = r->graph->num_layers;
    net_layer *layer = &r->graph->layer[number];
    span type = next_word(r);
    span name = next_word(r);
    span counts[2] = {next_word(r), {NULL, 0}};
    counts[1] = next_word(r);
    int32_t num[2];
    if (counts[1].len == 0) {
        return BAD(r, "layer '%.*s': expected type, name, number of inputs, number of outputs", SHOW(type));
    }
    if (type.len > MAX_NAME || name.len > MAX_NAME) {
        return BAD(r, "layer type or name longer than %u characters", MAX_NAME);
    }
    for (int i = 0; i < 2; i++) {
        /* No layer can name more blobs than there are words left in its line. */
        if (!to_int(counts[i], 0, INT32_MAX, &num[i]) || (size_t)num[i] > r->rest.len) {
            return BAD(r, "'%.*s' is not a possible number of %s of layer '%.*s'", SHOW(counts[i]),
                       i == 0 ? "inputs" : "outputs", SHOW(name));
        }
    }
    r->graph->num_layers++;
    layer->line = r->line;
    layer->num_in = (uint32_t)num[0];
    layer->num_out = (uint32_t)num[1];
    layer->type = copy_span(type);
    layer->name = copy_span(name);
    layer->in = calloc((size_t)num[0] + 1, sizeof *layer->in);
    layer->out = calloc((size_t)num[1] + 1, sizeof *layer->out);
    if (layer->type == NULL || layer->name == NULL || layer->in == NULL || layer->out == NULL) {
        return NO_MEMORY(r);
    }
    for (size_t i = 0; i < sizeof kind_table / sizeof kind_table[0]; i++) {
        if (strcmp(kind_table[i].type, layer->type) == 0) {
            layer->kind = kind_table[i].kind;
        }
    }
    net_status status = parse_inputs(r, layer, number);
    status = status == NET_OK ? parse_outputs(r, layer, number) : status;
    return status == NET_OK ? parse_settings(r, layer) : status;
}

/* Magic and the two counts; allocates the arrays. */
static net_status parse_head(reader *r, size_t bytes) {
    span word = next_line(r) ? next_word(r) : (span){"", 0};
    if (word.len != 7 || memcmp(word.at, "7767517", 7) != 0) {
        return BAD(r, "magic is '%.*s', expected 7767517", SHOW(word));
    }
    if (next_word(r).len > 0) {
        return BAD(r, "%s", "more than the magic in its line");
    }
    int32_t layers = 0;
    int32_t blobs = 0;
    bool ok = next_line(r) && to_int(next_word(r), 1, NET_MAX_LAYERS, &layers) &&
              to_int(next_word(r), 1, NET_MAX_BLOBS, &blobs);
    if (!ok || next_word(r).len > 0) {
        return BAD(r, "expected the number of layers (1..%u) and of blobs (1..%u)", NET_MAX_LAYERS, NET_MAX_BLOBS);
    }
    /* A layer takes at least 8 bytes ("a b 0 0\n"), a blob 2: counts that do not fit the size of the text are refused
     * before memory is allocated for them. */
    if ((size_t)layers > bytes / 8 + 1 || (size_t)blobs > bytes / 2) {
        return BAD(r, "%d layers and %d blobs do not fit into %zu bytes of text", layers, blobs, bytes);
    }
    r->cap_layers = (uint32_t)layers;
    r->cap_blobs = (uint32_t)blobs;
    r->graph->layer = calloc(r->cap_layers, sizeof *r->graph->layer);
    r->graph->blob = calloc(r->cap_blobs, sizeof *r->graph->blob);
    for (r->slots = 16; r->slots < 2 * r->cap_blobs; r->slots *= 2) {
    }
    r->slot = calloc(r->slots, sizeof *r->slot);
    return r->graph->layer == NULL || r->graph->blob == NULL || r->slot == NULL ? NO_MEMORY(r) : NET_OK;
}

static net_status parse_all(reader *r, size_t bytes) {
    net_status status = parse_head(r, bytes);
    while (status == NET_OK && r->graph->num_layers < r->cap_layers && next_line(r)) {
        status = parse_layer(r);
    }
    if (status != NET_OK) {
        return status;
    }
    if (r->graph->num_layers != r->cap_layers || r->graph->num_blobs != r->cap_blobs) {
        return BAD(r, "%u layers and %u blobs up to here, line 2 announces %u and %u", r->graph->num_layers,
                   r->graph->num_blobs, r->cap_layers, r->cap_blobs);
    }
    while (next_line(r)) {
        r->graph->extra_lines++;
    }
    return NET_OK;
}

net_status net_graph_parse_param(net_graph *graph, const char *text, size_t bytes, const char *name, net_error *err) {
    if (graph == NULL || text == NULL || name == NULL) {
        return net_fail(err, NET_ERR_ARG, "net_graph_parse_param: null argument");
    }
    memset(graph, 0, sizeof *graph);
    if (bytes > NET_MAX_PARAM_BYTES) {
        return net_fail(err, NET_ERR_FORMAT, "%.150s: %zu bytes, expected at most %u", name, bytes,
                        NET_MAX_PARAM_BYTES);
    }
    for (size_t i = 0; i < bytes; i++) {
        unsigned char c = (unsigned char)text[i];
        if ((c < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7f) {
            return net_fail(err, NET_ERR_FORMAT, "%.150s: byte %zu is 0x%02x, expected text", name, i, c);
        }
    }
    reader r = {.name = name, .at = text, .end = text + bytes, .rest = {text, 0}, .graph = graph, .err = err};
    (void)snprintf(graph->name, sizeof graph->name, "%s", name);
    net_status status = parse_all(&r, bytes);
    free(r.slot);
    if (status != NET_OK) {
        net_graph_free(graph);
    }
    return status;
}
