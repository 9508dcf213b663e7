/* net_random.c - random small networks: layers are drawn one after the other over blobs that exist; blobs that several
 * layers read get a Split. */
#include "net_random.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "../tb/case/rng.h"

#define MOST_BLOBS 160u
#define MOST_LAYERS 120u

typedef struct blob {
    uint32_t dims, w, h, c;
    uint32_t uses; /* readers */
} blob;

typedef struct layer {
    char type[24], settings[160];
    uint32_t in[4], num_in, out, out2; /* out2: NONE, or a second output */
} layer;

#define NONE UINT32_MAX

typedef struct net {
    tb_rng rng;
    blob blob[MOST_BLOBS];
    layer layer[MOST_LAYERS];
    uint32_t blobs, layers;
} net;

static uint32_t draw(net *n, uint32_t lo, uint32_t hi) {
    return (uint32_t)tb_rng_range(&n->rng, lo, hi);
}

/* A layer with one output of this shape. */
static uint32_t add(net *n, const char *type, uint32_t in, blob out, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
static uint32_t add(net *n, const char *type, uint32_t in, blob out, const char *format, ...) {
    layer *l = &n->layer[n->layers++];
    va_list args;
    *l = (layer){.num_in = strcmp(type, "Input") == 0 ? 0 : 1, .out = n->blobs, .out2 = NONE};
    l->in[0] = in;
    (void)snprintf(l->type, sizeof l->type, "%s", type);
    va_start(args, format);
    (void)vsnprintf(l->settings, sizeof l->settings, format, args);
    va_end(args);
    out.uses = 0;
    n->blob[n->blobs] = out;
    if (l->num_in == 1) {
        n->blob[in].uses++;
    }
    return n->blobs++;
}

static void also_reads(net *n, uint32_t in) {
    layer *l = &n->layer[n->layers - 1];
    l->in[l->num_in++] = in;
    n->blob[in].uses++;
}

static bool same_shape(const blob *a, const blob *b) {
    return a->dims == b->dims && a->w == b->w && a->h == b->h && a->c == b->c;
}

/* Another blob of the same shape (map: of the same width and height), the latest ones more often. NONE: there is none.
 */
static uint32_t partner(net *n, uint32_t a, bool map) {
    uint32_t found = NONE;
    for (uint32_t i = 0; i < n->blobs; i++) {
        const blob *b = &n->blob[i];
        bool fits = map ? b->dims == 3 && b->w == n->blob[a].w && b->h == n->blob[a].h : same_shape(b, &n->blob[a]);
        if (i != a && fits && (found == NONE || draw(n, 0, 1) == 1)) {
            found = i;
        }
    }
    return found;
}

static const char *activation(net *n) {
    static const char *const acts[] = {
        "", "", " 9=1", " 9=2 -23310=1,0.25", " 9=3 -23310=2,-0.5,0.75", " 9=4", " 9=5", " 9=6 -23310=2,0.2,0.5"};
    return acts[draw(n, 0, sizeof acts / sizeof acts[0] - 1)];
}

static void draw_conv(net *n, uint32_t in) {
    const blob *b = &n->blob[in];
    uint32_t k = draw(n, 1, b->w < b->h ? (b->w < 5 ? b->w : 5) : (b->h < 5 ? b->h : 5));
    uint32_t s = draw(n, 1, 2);
    uint32_t p = draw(n, 0, k / 2);
    uint32_t bias = draw(n, 0, 1);
    uint32_t w = (b->w + 2 * p - k) / s + 1;
    uint32_t h = (b->h + 2 * p - k) / s + 1;
    uint32_t kind = draw(n, 0, 3);
    if (kind == 0) {
        (void)add(n, "ConvolutionDepthWise", in, (blob){3, w, h, b->c, 0}, "0=%u 1=%u 3=%u 4=%u 5=%u 6=%u 7=%u%s", b->c,
                  k, s, p, bias, b->c * k * k, b->c, activation(n));
        return;
    }
    uint32_t groups = kind == 1 && b->c % 2 == 0 ? 2 : 1;
    uint32_t alike = groups == 1 && draw(n, 0, 3) == 0 ? draw(n, 2, 3) : 1; /* several with one window */
    const char *act = activation(n);
    for (uint32_t i = 0; i < alike; i++) {
        uint32_t oc = groups * draw(n, 1, 24 / groups);
        (void)add(n, groups == 2 ? "ConvolutionDepthWise" : "Convolution", in, (blob){3, w, h, oc, 0},
                  "0=%u 1=%u 3=%u 4=%u 5=%u 6=%u%s%s", oc, k, s, p, bias, oc * b->c / groups * k * k,
                  groups == 2 ? " 7=2" : "", act);
    }
}

static void draw_pool(net *n, uint32_t in) {
    const blob *b = &n->blob[in];
    uint32_t type = draw(n, 0, 1);
    if (draw(n, 0, 3) == 0) {
        (void)add(n, "Pooling", in, (blob){1, b->c, 1, 1, 0}, "0=%u 4=1", type);
        return;
    }
    uint32_t k = draw(n, 1, b->w < b->h ? (b->w < 3 ? b->w : 3) : (b->h < 3 ? b->h : 3));
    uint32_t p = draw(n, 0, k / 2);
    uint32_t s = draw(n, 1, k);
    uint32_t full = draw(n, 0, 1);
    uint32_t tail = full == 1 ? s - 1 : 0;
    uint32_t w = (b->w + 2 * p - k + tail) / s + 1;
    uint32_t h = (b->h + 2 * p - k + tail) / s + 1;
    if ((w - 1) * s >= b->w + p || (h - 1) * s >= b->h + p) { /* a window of padding only */
        full = 0;
        w = (b->w + 2 * p - k) / s + 1;
        h = (b->h + 2 * p - k) / s + 1;
    }
    (void)add(n, "Pooling", in, (blob){3, w, h, b->c, 0}, "0=%u 1=%u 2=%u 3=%u 5=%u 6=%u", type, k, s, p,
              full == 1 ? 0u : 1u, draw(n, 0, 1));
}

static void draw_act(net *n, uint32_t in) {
    static const char *const acts[][2] = {{"ReLU", ""},
                                          {"ReLU", "0=0.125"},
                                          {"Clip", "0=-0.5 1=0.5"},
                                          {"Sigmoid", ""},
                                          {"Swish", ""},
                                          {"TanH", ""},
                                          {"Mish", ""},
                                          {"HardSwish", "0=0.2 1=0.5"},
                                          {"HardSigmoid", ""},
                                          {"ELU", "0=0.5"},
                                          {"SELU", ""},
                                          {"Dropout", "0=0.5"},
                                          {"Dropout", ""},
                                          {"Noop", ""},
                                          {"UnaryOp", "0=0"},
                                          {"UnaryOp", "0=1"},
                                          {"UnaryOp", "0=4"},
                                          {"Softplus", ""},
                                          {"GELU", ""},
                                          {"GELU", "0=1"},
                                          {"Threshold", "0=0.25"}};
    uint32_t k = draw(n, 0, sizeof acts / sizeof acts[0] - 1);
    (void)add(n, acts[k][0], in, n->blob[in], "%s", acts[k][1]);
}

static void draw_pair(net *n, uint32_t in) {
    /* neither quotients nor powers: NaN spreads, and a maximum may take it or leave it */
    static const uint32_t ops[] = {0, 1, 2, 4, 5, 7};
    uint32_t other = partner(n, in, false);
    uint32_t third = other == NONE ? NONE : partner(n, other, false);
    if (other == NONE) {
        (void)add(n, "BinaryOp", in, n->blob[in], "0=%u 1=1 2=%g", draw(n, 0, 7) % 6, 0.75);
    } else if (draw(n, 0, 1) == 0) {
        (void)add(n, "BinaryOp", in, n->blob[in], "0=%u", ops[draw(n, 0, 5)]);
        also_reads(n, other);
    } else {
        (void)add(n, "Eltwise", in, n->blob[in], "0=%u", draw(n, 0, 2));
        also_reads(n, other);
        if (third != in && draw(n, 0, 1) == 0) {
            also_reads(n, third);
        }
    }
}

/* Squeeze and excitation: a factor for each channel from the whole map. */
static void draw_factors(net *n, uint32_t in) {
    const blob b = n->blob[in];
    uint32_t pooled = add(n, "Pooling", in, (blob){1, b.c, 1, 1, 0}, "0=1 4=1");
    uint32_t narrow = draw(n, 1, 9);
    uint32_t a = add(n, "InnerProduct", pooled, (blob){1, narrow, 1, 1, 0}, "0=%u 1=1 2=%u 9=1", narrow, narrow * b.c);
    uint32_t f = add(n, "InnerProduct", a, (blob){1, b.c, 1, 1, 0}, "0=%u 1=1 2=%u 9=4", b.c, narrow * b.c);
    if (draw(n, 0, 1) == 0 || b.c == b.w) { /* a vector as long as a row is broadcast along it */
        (void)add(n, "Scale", in, b, "0=-233");
        also_reads(n, f);
    } else {
        bool first = draw(n, 0, 1) == 0;
        (void)add(n, "BinaryOp", first ? in : f, b, "0=%u", draw(n, 0, 2));
        also_reads(n, first ? f : in);
    }
}

/* A sum, a mean or a maximum along one axis or two, which stay with one element; then the map and that, which is
 * repeated. */
static void draw_reduction(net *n, uint32_t in) {
    static const char *const axes[] = {"1,0", "1,1", "1,2", "2,1,2", "2,0,1"};
    static const uint32_t ops[] = {0, 3, 4};
    const blob b = n->blob[in];
    uint32_t k = draw(n, 0, 4);
    blob r = {3, k == 2 || k == 3 ? 1 : b.w, k == 0 || k == 2 ? b.h : 1, k == 0 || k == 4 ? 1 : b.c, 0};
    uint32_t reduced = add(n, "Reduction", in, r, "0=%u 1=0 -23303=%s 4=1 5=1", ops[draw(n, 0, 2)], axes[k]);
    bool first = draw(n, 0, 1) == 0;
    if (draw(n, 0, 3) > 0) {
        (void)add(n, "BinaryOp", first ? in : reduced, b, "0=%u", draw(n, 0, 1) == 0 ? 1u : 4u);
        also_reads(n, first ? reduced : in);
    }
}

static void draw_concat(net *n, uint32_t in) {
    uint32_t other = n->blob[in].dims == 3 ? partner(n, in, true) : NONE;
    blob out = n->blob[in];
    if (n->blob[in].dims != 3) { /* vectors of any length */
        for (uint32_t i = 0; i < n->blobs; i++) {
            other = i != in && n->blob[i].dims == 1 ? i : other;
        }
    }
    if (other == NONE || n->blob[other].dims != out.dims ||
        (out.dims == 3 ? out.c + n->blob[other].c : out.w + n->blob[other].w) > 60) {
        draw_act(n, in);
        return;
    }
    out.c += out.dims == 3 ? n->blob[other].c : 0;
    out.w += out.dims == 1 ? n->blob[other].w : 0;
    (void)add(n, "Concat", in, out, "0=0");
    also_reads(n, other);
}

/* Rows, maps, or across the rows. */
static void draw_row_norm(net *n, uint32_t in) {
    const blob b = n->blob[in];
    const bool map = b.dims == 3 && draw(n, 0, 1) == 1;
    const uint32_t size = map ? b.w * b.h : b.w, kind = draw(n, 0, 3);
    if (kind < 2) {
        (void)add(n, "Softmax", in, b, "0=%u 1=1", draw(n, 0, b.dims - 1));
    } else {
        (void)add(n, kind == 2 ? "LayerNorm" : "RMSNorm", in, b, "0=%u 1=0.01 2=%u", size, draw(n, 0, 1));
    }
}

static void draw_norm(net *n, uint32_t in) {
    const blob b = n->blob[in];
    uint32_t channels = b.dims == 3 ? b.c : b.dims == 2 ? b.h : b.w;
    switch (draw(n, 0, 6)) {
    case 0:
        (void)add(n, "BatchNorm", in, b, "0=%u", channels);
        break;
    case 1:
        (void)add(n, "Scale", in, b, "0=%u 1=%u", channels, draw(n, 0, 1));
        break;
    case 2:
    case 3:
    case 4:
        draw_row_norm(n, in);
        break;
    default:
        (void)add(n, "PReLU", in, b, "0=%u", draw(n, 0, 1) == 0 ? 1 : channels);
        break;
    }
}

/* Layers that move elements, on the CPU or by addresses. */
static void draw_move(net *n, uint32_t in) {
    const blob b = n->blob[in];
    uint32_t elements = b.w * b.h * b.c;
    switch (draw(n, 0, 8)) {
    case 0:
        if (b.w <= 6 && b.h <= 6) {
            (void)add(n, "Interp", in, (blob){3, 2 * b.w, 2 * b.h, b.c, 0}, "0=1 1=2.0 2=2.0");
            break;
        }
        (void)add(n, "Softmax", in, b, "0=0 1=1");
        break;
    case 1:
        (void)add(n, "Permute", in, (blob){3, b.c, b.w, b.h, 0}, "0=3");
        break;
    case 2:
        (void)add(n, "Reshape", in, (blob){3, b.w, 1, b.h * b.c, 0}, "0=%u 1=1 2=%u", b.w, b.h * b.c);
        break;
    case 3:
        if (b.c % 2 == 0 || b.c % 3 == 0) {
            (void)add(n, "ShuffleChannel", in, b, "0=%u 1=%u", b.c % 3 == 0 ? 3u : 2u, draw(n, 0, 1));
            break;
        }
        (void)add(n, "Softmax", in, b, "0=0 1=1");
        break;
    case 4: { /* a matrix, each row of which goes through an inner product */
        uint32_t o = draw(n, 1, 9);
        uint32_t rows = add(n, "Reshape", in, (blob){2, b.w, b.h * b.c, 1, 0}, "0=%u 1=%u", b.w, b.h * b.c);
        (void)add(n, "InnerProduct", rows, (blob){2, o, b.h * b.c, 1, 0}, "0=%u 1=1 2=%u%s", o, o * b.w, activation(n));
        break;
    }
    case 5: { /* the first channels and the rest */
        uint32_t first = draw(n, 1, b.c);
        (void)add(n, first < b.c ? "Slice" : "Noop", in, (blob){3, b.w, b.h, first, 0}, "-23300=2,%u,-233 1=0", first);
        if (first < b.c) {
            n->layer[n->layers - 1].out2 = n->blobs;
            n->blob[n->blobs++] = (blob){3, b.w, b.h, b.c - first, 0};
        }
        break;
    }
    case 6: {
        uint32_t first = draw(n, 0, b.c - 1);
        uint32_t last = draw(n, first + 1, b.c);
        (void)add(n, "Crop", in, (blob){3, b.w, b.h, last - first, 0}, "-23309=1,%u -23310=1,%u -23311=1,0", first,
                  last);
        break;
    }
    case 7:
        (void)add(n, "Reduction", in, (blob){draw(n, 0, 1) == 0 ? 1u : 3u, b.c, 1, 1, 0}, "0=%u 1=0 -23303=2,1,2 5=1",
                  draw(n, 3, 4));
        if (n->blob[n->blobs - 1].dims == 3) {
            n->blob[n->blobs - 1] = (blob){3, 1, 1, b.c, 0};
            (void)strcat(n->layer[n->layers - 1].settings, " 4=1");
        }
        break;
    default:
        (void)add(n, "Flatten", in, (blob){1, elements, 1, 1, 0}, "%s", "");
        break;
    }
}

static void draw_inner_product(net *n, uint32_t in) {
    const blob b = n->blob[in];
    uint32_t o = draw(n, 1, 20);
    uint32_t dims = b.dims == 2 && b.h == 1 ? 2 : 1; /* a matrix of one row stays one */
    (void)add(n, "InnerProduct", in, (blob){dims, o, 1, 1, 0}, "0=%u 1=%u 2=%u%s", o, draw(n, 0, 1),
              o * b.w * b.h * b.c, activation(n));
}

static void draw_layer(net *n) {
    uint32_t first = n->blobs > 6 && draw(n, 0, 2) > 0 ? n->blobs - 6 : 0;
    uint32_t in = draw(n, first, n->blobs - 1);
    bool map = n->blob[in].dims == 3;
    switch (draw(n, 0, 13)) {
    case 0:
        draw_inner_product(n, in);
        break;
    case 1:
        draw_act(n, in);
        break;
    case 2:
        draw_pair(n, in);
        break;
    case 3:
    case 4:
        draw_concat(n, in);
        break;
    case 5:
        draw_norm(n, in);
        break;
    case 6:
    case 12:
        (map ? draw_move : draw_act)(n, in);
        break;
    case 7:
        (map ? draw_pool : draw_pair)(n, in);
        break;
    case 8:
        (map ? draw_factors : draw_act)(n, in);
        break;
    case 13:
        (map ? draw_reduction : draw_act)(n, in);
        break;
    default:
        (map ? draw_conv : draw_inner_product)(n, in);
        break;
    }
}

/* ---- text ---- */

/* Name under which reader k of a blob finds it. */
static void name_of(const net *n, uint32_t b, uint32_t k, char name[32]) {
    (void)snprintf(name, 32, n->blob[b].uses > 1 ? "b%u_%u" : "b%u", b, k);
}

/* The Split of a blob that several layers read. */
static size_t print_split(const net *n, uint32_t b, char *text, size_t room, uint32_t *layers, uint32_t *blobs) {
    size_t used = 0;
    if (n->blob[b].uses < 2) {
        return 0;
    }
    used += (size_t)snprintf(text, room, "Split s%u 1 %u b%u", b, n->blob[b].uses, b);
    for (uint32_t k = 0; k < n->blob[b].uses; k++) {
        used += (size_t)snprintf(text + used, room - used, " b%u_%u", b, k);
    }
    used += (size_t)snprintf(text + used, room - used, "\n");
    (*layers)++;
    *blobs += n->blob[b].uses;
    return used;
}

static size_t print(const net *n, char text[NET_RANDOM_TEXT]) {
    char body[NET_RANDOM_TEXT - 64];
    uint32_t taken[MOST_BLOBS] = {0};
    uint32_t layers = n->layers;
    uint32_t blobs = n->blobs;
    size_t used = 0;
    for (uint32_t i = 0; i < n->layers; i++) {
        const layer *l = &n->layer[i];
        used += (size_t)snprintf(body + used, sizeof body - used, "%s l%u %u %u", l->type, i, l->num_in,
                                 l->out2 == NONE ? 1 : 2);
        for (uint32_t k = 0; k < l->num_in; k++) {
            char name[32];
            name_of(n, l->in[k], taken[l->in[k]]++, name);
            used += (size_t)snprintf(body + used, sizeof body - used, " %s", name);
        }
        used += (size_t)snprintf(body + used, sizeof body - used, " b%u", l->out);
        if (l->out2 != NONE) {
            used += (size_t)snprintf(body + used, sizeof body - used, " b%u", l->out2);
        }
        used += (size_t)snprintf(body + used, sizeof body - used, " %s\n", l->settings);
        used += print_split(n, l->out, body + used, sizeof body - used, &layers, &blobs);
        if (l->out2 != NONE) {
            used += print_split(n, l->out2, body + used, sizeof body - used, &layers, &blobs);
        }
    }
    return (size_t)snprintf(text, NET_RANDOM_TEXT, "7767517\n%u %u\n%s", layers, blobs, body);
}

size_t net_random_param(uint64_t seed, uint32_t layers, char text[NET_RANDOM_TEXT]) {
    net n = {.rng = tb_rng_stream(seed, "net_random")};
    uint32_t inputs = draw(&n, 0, 4) == 0 ? 2 : 1;
    for (uint32_t i = 0; i < inputs; i++) {
        blob b = {3, draw(&n, 1, 9), draw(&n, 1, 9), draw(&n, 1, 20), 0};
        (void)add(&n, "Input", 0, b, "0=%u 1=%u 2=%u", b.w, b.h, b.c);
    }
    while (n.layers < layers && n.blobs + 4 < MOST_BLOBS) {
        draw_layer(&n);
    }
    return print(&n, text);
}
