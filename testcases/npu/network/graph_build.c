/* graph_build.c - knobs of the test `graph` as a network: layers one after the other, helpers that make blobs fit
 * together, .param text. */
#include "graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define OPERATOR(id, name, ...) name,
const char *const graph_op_names[GRAPH_OPS] = {
#include "graph_ops.def"
};
const char *const graph_act_names[GRAPH_ACTS] = {"none", "relu",      "leaky", "clip",     "sigmoid",
                                                 "mish", "hardswish", "swish", "tanh",     "hardsigmoid",
                                                 "elu",  "selu",      "gelu",  "gelu_tanh"};
const char *const graph_prec_names[GRAPH_PRECS] = {"int8", "chain", "float"};

static uint64_t elements(const graph_blob *b) {
    return (uint64_t)b->w * b->h * b->c;
}

uint32_t graph_add(graph *g, const char *name, const char *type, uint32_t in, graph_blob out, const char *format, ...) {
    graph_layer *l = &g->layer[g->layers++];
    va_list args;
    *l = (graph_layer){.num_in = in == GRAPH_NONE ? 0 : 1, .out = g->blobs, .out2 = GRAPH_NONE};
    l->in[0] = in;
    (void)snprintf(l->type, sizeof l->type, "%s", type);
    (void)snprintf(l->name, sizeof l->name, "%s", name);
    va_start(args, format);
    (void)vsnprintf(l->settings, sizeof l->settings, format, args);
    va_end(args);
    out.uses = 0;
    out.power = in == GRAPH_NONE ? 1 : g->blob[in].power;
    g->elements += elements(&out);
    if (in != GRAPH_NONE) {
        g->blob[in].uses++;
        g->elements += elements(&g->blob[in]);
    }
    g->blob[g->blobs] = out;
    return g->blobs++;
}

void graph_also(graph *g, uint32_t in) {
    graph_layer *l = &g->layer[g->layers - 1];
    l->in[l->num_in++] = in;
    g->blob[in].uses++;
    g->elements += elements(&g->blob[in]);
    if (g->blob[in].power > g->blob[l->out].power) {
        g->blob[l->out].power = g->blob[in].power;
    }
}

uint32_t graph_map(graph *g, const char *name, uint32_t in) {
    const graph_blob b = g->blob[in];
    char own[40];
    if (b.dims == 3) {
        return in;
    }
    (void)snprintf(own, sizeof own, "%s_map", name);
    if (b.dims == 2) {
        return graph_add(g, own, "Reshape", in, (graph_blob){3, b.w, 1, b.h, 0, 0}, "0=%u 1=1 2=%u", b.w, b.h);
    }
    return graph_add(g, own, "Reshape", in, (graph_blob){3, 1, 1, b.w, 0, 0}, "0=1 1=1 2=%u", b.w);
}

static bool same_shape(const graph_blob *a, const graph_blob *b) {
    return a->dims == b->dims && a->w == b->w && a->h == b->h && a->c == b->c;
}

uint32_t graph_partner(graph *g, const char *name, uint32_t in, uint32_t wish) {
    const graph_blob a = g->blob[in];
    const graph_blob w = g->blob[wish];
    char own[40];
    if (wish != in && same_shape(&a, &w)) {
        return wish;
    }
    if (a.dims == 3 && w.dims == 3 && a.w == w.w && a.h == w.h && wish != in) {
        (void)snprintf(own, sizeof own, "%s_fit", name);
        g->macs += elements(&a) * w.c;
        g->weights += (uint64_t)a.c * w.c;
        return graph_add(g, own, "Convolution", wish, a, "0=%u 1=1 5=1 6=%u", a.c, a.c * w.c);
    }
    for (uint32_t i = g->blobs; i-- > 0;) {
        if (i != in && same_shape(&a, &g->blob[i])) {
            return i;
        }
    }
    return in;
}

static bool joins(const graph *g, uint32_t in, uint32_t other, uint32_t most) {
    const graph_blob *a = &g->blob[in];
    const graph_blob *b = &g->blob[other];
    if (a->dims != b->dims) {
        return false;
    }
    if (a->dims == 3) {
        return a->w == b->w && a->h == b->h && a->c + b->c <= most;
    }
    return a->dims == 1 ? a->w + b->w <= 16 * most : a->w == b->w && a->h + b->h <= most;
}

uint32_t graph_beside(const graph *g, uint32_t in, uint32_t wish, uint32_t most) {
    if (joins(g, in, wish, most)) {
        return wish;
    }
    for (uint32_t i = g->blobs; i-- > 0;) {
        if (i != in && joins(g, in, i, most)) {
            return i;
        }
    }
    return joins(g, in, in, most) ? in : GRAPH_NONE;
}

void graph_resolve(const graph_knobs *k, graph *g) {
    memset(g, 0, sizeof *g);
    g->of[0] = graph_add(g, "input", "Input", GRAPH_NONE, (graph_blob){3, k->w, k->h, k->c, 0, 0}, "0=%u 1=%u 2=%u",
                         k->w, k->h, k->c);
    for (uint32_t i = 1; i <= GRAPH_LAYERS; i++) {
        const graph_spec *s = &k->layer[i];
        const uint32_t in = g->of[s->a < i ? s->a : i - 1];
        char name[32];
        g->of[i] = in;
        if (i <= k->layers && s->op != GRAPH_SKIP) {
            (void)snprintf(name, sizeof name, "%u_%s", i, graph_op_names[s->op]);
            g->of[i] = graph_layers(g, s, name, in);
        }
    }
    if (g->layers == 1) { /* a network needs a layer with an operation */
        (void)graph_add(g, "0_relu", "ReLU", 0, g->blob[0], "%s", "");
    }
}

uint32_t graph_number(const char *name) {
    return (uint32_t)strtoul(name, NULL, 10); /* 0 if it does not begin with a number */
}

/* ---- text ---- */

/* Name of a blob for its reader `k`. */
static void name_of(const graph *g, uint32_t b, uint32_t k, char name[32]) {
    (void)snprintf(name, 32, g->blob[b].uses > 1 ? "b%u_%u" : "b%u", b, k);
}

typedef struct text {
    char *at;
    size_t room, used;
    uint32_t layers, blobs;
} text;

static void put(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(text *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(t->at + t->used, t->room - t->used, format, args);
    va_end(args);
    t->used += n > 0 && (size_t)n < t->room - t->used ? (size_t)n : 0;
}

/* The Split of a blob that several layers read. */
static void put_split(text *t, const graph *g, uint32_t b) {
    if (g->blob[b].uses < 2) {
        return;
    }
    put(t, "Split split_b%u 1 %u b%u", b, g->blob[b].uses, b);
    for (uint32_t k = 0; k < g->blob[b].uses; k++) {
        put(t, " b%u_%u", b, k);
    }
    put(t, "\n");
    t->layers++;
    t->blobs += g->blob[b].uses;
}

size_t graph_print(const graph *g, char out[GRAPH_TEXT]) {
    char body[GRAPH_TEXT - 64];
    char name[32];
    uint32_t taken[GRAPH_MOST] = {0};
    text t = {.at = body, .room = sizeof body, .layers = g->layers, .blobs = g->blobs};
    body[0] = '\0';
    for (uint32_t i = 0; i < g->layers; i++) {
        const graph_layer *l = &g->layer[i];
        put(&t, "%s %s %u %u", l->type, l->name, l->num_in, l->out2 == GRAPH_NONE ? 1 : 2);
        for (uint32_t k = 0; k < l->num_in; k++) {
            name_of(g, l->in[k], taken[l->in[k]]++, name);
            put(&t, " %s", name);
        }
        put(&t, " b%u", l->out);
        if (l->out2 != GRAPH_NONE) {
            put(&t, " b%u", l->out2);
        }
        put(&t, " %s\n", l->settings);
        put_split(&t, g, l->out);
        if (l->out2 != GRAPH_NONE) {
            put_split(&t, g, l->out2);
        }
    }
    return (size_t)snprintf(out, GRAPH_TEXT, "7767517\n%u %u\n%s", t.layers, t.blobs, body);
}
