/* graph_ops.c - makes layers with legal sizes from the knobs of each operator of the test `graph`. */
#include "graph.h"
#include "num.h"

#include <stdio.h>

#define MOST_CHANNELS 160u /* of a Concat */
#define MOST_POWER 4u      /* products of products overflow */

static void counted(graph *g, uint64_t outputs, uint64_t filter, uint64_t weights) {
    g->macs += outputs * filter;
    g->weights += weights;
}

/* Settings of a fused activation; empty: there is none, or it is a separate layer. */
static const char *fused(uint32_t act) {
    static const char *const text[GRAPH_FUSED_ACTS] = {
        "", " 9=1", " 9=2 -23310=1,0.25", " 9=3 -23310=2,-0.5,0.75", " 9=4", " 9=5", " 9=6 -23310=2,0.2,0.5"};
    return act < GRAPH_FUSED_ACTS ? text[act] : "";
}

static uint32_t add_act(graph *g, const graph_spec *s, const char *name, uint32_t in) {
    static const char *const acts[GRAPH_ACTS][2] = {{"ReLU", ""},
                                                    {"ReLU", ""},
                                                    {"ReLU", "0=0.125"},
                                                    {"Clip", "0=-0.5 1=0.5"},
                                                    {"Sigmoid", ""},
                                                    {"Mish", ""},
                                                    {"HardSwish", "0=0.2 1=0.5"},
                                                    {"Swish", ""},
                                                    {"TanH", ""},
                                                    {"HardSigmoid", ""},
                                                    {"ELU", "0=0.5"},
                                                    {"SELU", ""},
                                                    {"GELU", ""},
                                                    {"GELU", "0=1"}};
    return graph_add(g, name, acts[s->act][0], in, g->blob[in], "%s", acts[s->act][1]);
}

/* An activation that ncnn cannot fuse is a separate layer after it. */
static uint32_t act_behind(graph *g, const graph_spec *s, const char *name, uint32_t out) {
    char own[40];
    if (s->act < GRAPH_FUSED_ACTS) {
        return out;
    }
    (void)snprintf(own, sizeof own, "%s_act", name);
    return add_act(g, s, own, out);
}

/* ---- layers with weights ---- */

/* Kernel, padding and dilation that fit into the map. */
static void fit_window(const graph_blob *b, const graph_spec *s, uint32_t *k, uint32_t *p, uint32_t *d) {
    const uint32_t side = tb_min_u32(b->w, b->h);
    *k = s->k;
    *p = tb_min_u32(s->p, s->k - 1);
    *d = s->d;
    if ((*k - 1) * *d + 1 > side + 2 * *p) {
        *d = 1;
    }
    if (*k > side + 2 * *p) {
        *k = side;
        *p = tb_min_u32(*p, *k - 1);
    }
}

static uint32_t add_conv(graph *g, const graph_spec *s, const char *name, uint32_t in) {
    const graph_blob b = g->blob[in];
    uint32_t k, p, d;
    fit_window(&b, s, &k, &p, &d);
    const uint32_t w = (b.w + 2 * p - (k - 1) * d - 1) / s->s + 1;
    const uint32_t h = (b.h + 2 * p - (k - 1) * d - 1) / s->s + 1;
    const uint32_t groups = s->op == GRAPH_DW      ? b.c
                            : s->op == GRAPH_GROUP ? (b.c % 3 == 0   ? 3
                                                      : b.c % 2 == 0 ? 2
                                                                     : 1)
                                                   : 1;
    const uint32_t oc = groups == b.c && s->op == GRAPH_DW ? b.c : groups * ((s->oc + groups - 1) / groups);
    const uint32_t filter = b.c / groups * k * k;
    char more[64] = "";
    if (groups > 1) {
        (void)snprintf(more, sizeof more, " 7=%u", groups);
    }
    counted(g, (uint64_t)w * h * oc, filter, (uint64_t)oc * filter);
    const uint32_t out = graph_add(g, name, groups > 1 ? "ConvolutionDepthWise" : "Convolution", in,
                                   (graph_blob){3, w, h, oc, 0, 0}, "0=%u 1=%u 2=%u 3=%u 4=%u 5=%u 6=%u%s%s", oc, k, d,
                                   s->s, p, s->oc % 2, oc * filter, more, fused(s->act));
    return act_behind(g, s, name, out);
}

static uint32_t add_deconv(graph *g, const graph_spec *s, const char *name, uint32_t in) {
    const graph_blob b = g->blob[in];
    const uint32_t stride = b.w * s->s + s->k > GRAPH_SIDE || b.h * s->s + s->k > GRAPH_SIDE ? 1 : s->s;
    const uint32_t p = tb_min_u32(s->p, (s->k - 1) / 2);
    const uint32_t w = (b.w - 1) * stride + s->k - 2 * p;
    const uint32_t h = (b.h - 1) * stride + s->k - 2 * p;
    const uint32_t weights = s->oc * b.c * s->k * s->k;
    counted(g, 0, 0, weights);
    return graph_add(g, name, "Deconvolution", in, (graph_blob){3, w, h, s->oc, 0, 0}, "0=%u 1=%u 3=%u 4=%u 5=1 6=%u",
                     s->oc, s->k, stride, p, weights);
}

static uint32_t add_linear(graph *g, const graph_spec *s, const char *name, uint32_t in) {
    graph_blob b = g->blob[in];
    if (b.dims == 2) {
        in = graph_map(g, name, in);
        b = g->blob[in];
    }
    const uint32_t length = b.w * b.h * b.c;
    counted(g, s->oc, length, (uint64_t)s->oc * length);
    const uint32_t out = graph_add(g, name, "InnerProduct", in, (graph_blob){1, s->oc, 1, 1, 0, 0}, "0=%u 1=%u 2=%u%s",
                                   s->oc, s->k % 2, s->oc * length, fused(s->act));
    return act_behind(g, s, name, out);
}

static uint32_t add_rows(graph *g, const graph_spec *s, const char *name, uint32_t in) {
    graph_blob b = g->blob[in];
    char own[40];
    if (b.dims != 2) {
        (void)snprintf(own, sizeof own, "%s_rows", name);
        in = graph_add(g, own, "Reshape", in, (graph_blob){2, b.w, b.h * b.c, 1, 0, 0}, "0=%u 1=%u", b.w, b.h * b.c);
        b = g->blob[in];
    }
    counted(g, (uint64_t)s->oc * b.h, b.w, (uint64_t)s->oc * b.w);
    const uint32_t out = graph_add(g, name, "InnerProduct", in, (graph_blob){2, s->oc, b.h, 1, 0, 0},
                                   "0=%u 1=%u 2=%u%s", s->oc, s->k % 2, s->oc * b.w, fused(s->act));
    return act_behind(g, s, name, out);
}

/* Squeeze and excitation. */
static uint32_t add_gate(graph *g, const graph_spec *s, const char *name, uint32_t in) {
    const graph_blob b = g->blob[in];
    const uint32_t narrow = tb_min_u32(s->oc, 9);
    char own[3][40];
    for (uint32_t i = 0; i < 3; i++) {
        (void)snprintf(own[i], sizeof own[i], "%s_%u", name, i + 1);
    }
    if (b.power >= MOST_POWER) {
        return add_act(g, s, name, in);
    }
    counted(g, 2 * (uint64_t)narrow, b.c, 2 * (uint64_t)narrow * b.c);
    const uint32_t pooled = graph_add(g, own[0], "Pooling", in, (graph_blob){1, b.c, 1, 1, 0, 0}, "0=1 4=1");
    const uint32_t squeezed = graph_add(g, own[1], "InnerProduct", pooled, (graph_blob){1, narrow, 1, 1, 0, 0},
                                        "0=%u 1=1 2=%u 9=1", narrow, narrow * b.c);
    const uint32_t factor = graph_add(g, own[2], "InnerProduct", squeezed, (graph_blob){1, b.c, 1, 1, 0, 0},
                                      "0=%u 1=1 2=%u 9=4", b.c, narrow * b.c);
    const bool scale = s->k == 1 || b.c == b.w; /* a vector as long as a row is broadcast along it */
    const bool first = scale || s->s == 1;
    const uint32_t out = graph_add(g, name, scale ? "Scale" : "BinaryOp", first ? in : factor, b, "0=%d",
                                   scale ? -233 : (int)(s->k % 3));
    graph_also(g, first ? factor : in);
    g->blob[out].power = b.power + 1;
    return out;
}

/* ---- maps ---- */

static uint32_t add_pool(graph *g, const graph_spec *s, const char *name, uint32_t in) {
    const graph_blob b = g->blob[in];
    const uint32_t k = tb_min_u32(s->k, tb_min_u32(b.w, b.h));
    const uint32_t p = tb_min_u32(s->p, k / 2);
    const uint32_t tail = s->d > 1 ? s->s - 1 : 0; /* the last window may extend beyond the end */
    uint32_t w = (b.w + 2 * p - k + tail) / s->s + 1;
    uint32_t h = (b.h + 2 * p - k + tail) / s->s + 1;
    const bool full = s->d > 1 && (w - 1) * s->s < b.w + p && (h - 1) * s->s < b.h + p;
    if (s->d > 1 && !full) { /* a window of padding only */
        w = (b.w + 2 * p - k) / s->s + 1;
        h = (b.h + 2 * p - k) / s->s + 1;
    }
    return graph_add(g, name, "Pooling", in, (graph_blob){3, w, h, b.c, 0, 0}, "0=%u 1=%u 2=%u 3=%u 5=%u 6=%u",
                     s->op == GRAPH_AVGPOOL, k, s->s, p, !full, s->oc % 2);
}

static uint32_t add_global(graph *g, const graph_spec *s, const char *name, uint32_t in) {
    return graph_add(g, name, "Pooling", in, (graph_blob){1, g->blob[in].c, 1, 1, 0, 0}, "0=%u 4=1",
                     s->op == GRAPH_GLOBALAVG);
}

static uint32_t add_reduce(graph *g, const graph_spec *s, const char *name, uint32_t in) {
    const uint32_t c = g->blob[in].c;
    const bool keep = s->s > 1;
    return graph_add(g, name, "Reduction", in, keep ? (graph_blob){3, 1, 1, c, 0, 0} : (graph_blob){1, c, 1, 1, 0, 0},
                     "0=%u 1=0 -23303=2,1,2 5=1%s", 3 + s->k % 2, keep ? " 4=1" : "");
}

static uint32_t add_slice(graph *g, const graph_spec *s, const char *name, uint32_t in) {
    const graph_blob b = g->blob[in];
    if (b.c < 2) {
        return graph_add(g, name, "Noop", in, b, "%s", "");
    }
    const uint32_t first = 1 + (s->oc - 1) % (b.c - 1);
    const uint32_t out =
        graph_add(g, name, "Slice", in, (graph_blob){3, b.w, b.h, first, 0, 0}, "-23300=2,%u,-233 1=0", first);
    g->layer[g->layers - 1].out2 = g->blobs;
    g->blob[g->blobs] = (graph_blob){3, b.w, b.h, b.c - first, 0, b.power};
    g->blobs++;
    return s->k % 2 == 1 ? out : out + 1; /* the other one is an output of the network, unless another layer reads it */
}

static uint32_t add_crop(graph *g, const graph_spec *s, const char *name, uint32_t in) {
    const graph_blob b = g->blob[in];
    const uint32_t first = (s->k - 1) % b.c;
    const uint32_t last = tb_min_u32(b.c, first + s->oc);
    return graph_add(g, name, "Crop", in, (graph_blob){3, b.w, b.h, last - first, 0, 0},
                     "-23309=1,%u -23310=1,%u -23311=1,0", first, last);
}

static uint32_t add_shuffle(graph *g, const graph_spec *s, const char *name, uint32_t in) {
    const graph_blob b = g->blob[in];
    uint32_t groups = tb_min_u32(s->k + 1, b.c);
    while (b.c % groups != 0) {
        groups--;
    }
    return graph_add(g, name, "ShuffleChannel", in, b, "0=%u 1=%u", groups, s->s > 1);
}

static uint32_t add_interp(graph *g, const graph_spec *s, const char *name, uint32_t in) {
    const graph_blob b = g->blob[in];
    (void)s;
    if (2 * b.w > GRAPH_SIDE || 2 * b.h > GRAPH_SIDE) {
        return graph_add(g, name, "Noop", in, b, "%s", "");
    }
    return graph_add(g, name, "Interp", in, (graph_blob){3, 2 * b.w, 2 * b.h, b.c, 0, 0}, "0=1 1=2.0 2=2.0");
}

/* ---- several inputs ---- */

static uint32_t add_pair(graph *g, const graph_spec *s, const char *name, uint32_t in) {
    /* neither quotients nor powers: NaN spreads, and the maximum with a NaN is not defined */
    static const uint32_t ops[] = {0, 1, 2, 4, 5, 7};
    const bool binary = s->op == GRAPH_BINARY;
    const graph_blob b = g->blob[in];
    if (binary && s->s > 1) {
        return graph_add(g, name, "BinaryOp", in, b, "0=%u 1=1 2=0.75", ops[(s->k - 1) % 6]);
    }
    const uint32_t other = graph_partner(g, name, in, g->of[s->b]);
    const uint32_t third = !binary && s->k > 2 ? graph_partner(g, name, other, g->of[0]) : GRAPH_NONE;
    uint32_t op = binary ? ops[(s->k - 1) % 6] : (uint32_t)(s->op == GRAPH_PROD ? 0 : s->op == GRAPH_SUM ? 1 : 2);
    const bool product = binary ? op == 2 : op == 0;
    const uint32_t power = g->blob[in].power + g->blob[other].power + (third != GRAPH_NONE ? g->blob[third].power : 0);
    if (product && power > MOST_POWER) {
        op = binary ? 0 : 1; /* the sum */
    }
    const uint32_t out = graph_add(g, name, binary ? "BinaryOp" : "Eltwise", in, b, "0=%u", op);
    graph_also(g, other);
    if (third != GRAPH_NONE) {
        graph_also(g, third);
    }
    g->blob[out].power = product && power <= MOST_POWER ? power : g->blob[out].power;
    return out;
}

static uint32_t add_concat(graph *g, const graph_spec *s, const char *name, uint32_t in) {
    const uint32_t count = s->k > 5 ? 4 : s->k > 3 ? 3 : 2;
    graph_blob out = g->blob[in];
    uint32_t other[3];
    uint32_t found = 0;
    for (uint32_t wish = g->of[s->b]; found + 1 < count; wish = g->of[0]) {
        const uint32_t taken = out.dims == 3   ? out.c - g->blob[in].c
                               : out.dims == 1 ? out.w - g->blob[in].w
                                               : out.h - g->blob[in].h;
        const uint32_t limit =
            out.dims == 1 ? MOST_CHANNELS - taken / 16 : MOST_CHANNELS - tb_min_u32(taken, MOST_CHANNELS);
        const uint32_t next = graph_beside(g, in, wish, limit);
        if (next == GRAPH_NONE) {
            break;
        }
        other[found++] = next;
        out.c += out.dims == 3 ? g->blob[next].c : 0;
        out.h += out.dims == 2 ? g->blob[next].h : 0;
        out.w += out.dims == 1 ? g->blob[next].w : 0;
    }
    const uint32_t at = graph_add(g, name, "Concat", in, out, "0=0");
    for (uint32_t i = 0; i < found; i++) {
        graph_also(g, other[i]);
    }
    return at;
}

/* ---- element by element, and other shapes ---- */

/* Channels of a blob of any number of dimensions. */
static uint32_t channels_of(const graph_blob *b) {
    return b->dims == 3 ? b->c : b->dims == 2 ? b->h : b->w;
}

/* A layer whose settings are always the same. */
static uint32_t add_same(graph *g, const graph_spec *s, const char *name, uint32_t in) {
    return graph_add(g, name, graph_rows[s->op].type, in, g->blob[in], "%s", s->op == GRAPH_DROPOUT ? "0=0.5" : "");
}

static uint32_t add_softmax(graph *g, const graph_spec *s, const char *name, uint32_t in) {
    return graph_add(g, name, "Softmax", in, g->blob[in], "0=%u 1=1", s->k % g->blob[in].dims);
}

static uint32_t add_row_norm(graph *g, const graph_spec *s, const char *name, uint32_t in) {
    const graph_blob b = g->blob[in];
    const uint32_t size = b.dims == 3 && s->s % 2 == 0 ? b.w * b.h : b.w;
    return graph_add(g, name, graph_rows[s->op].type, in, b, "0=%u 1=0.001 2=%u", size, s->k % 2);
}

static uint32_t add_norm(graph *g, const graph_spec *s, const char *name, uint32_t in) {
    (void)s;
    return graph_add(g, name, "BatchNorm", in, g->blob[in], "0=%u", channels_of(&g->blob[in]));
}

static uint32_t add_scale(graph *g, const graph_spec *s, const char *name, uint32_t in) {
    return graph_add(g, name, "Scale", in, g->blob[in], "0=%u 1=%u", channels_of(&g->blob[in]), s->k % 2);
}

static uint32_t add_prelu(graph *g, const graph_spec *s, const char *name, uint32_t in) {
    return graph_add(g, name, "PReLU", in, g->blob[in], "0=%u", s->k == 1 ? 1 : channels_of(&g->blob[in]));
}

static uint32_t add_unary(graph *g, const graph_spec *s, const char *name, uint32_t in) {
    return graph_add(g, name, "UnaryOp", in, g->blob[in], "0=%u", s->k % 2);
}

static uint32_t add_lrn(graph *g, const graph_spec *s, const char *name, uint32_t in) {
    return graph_add(g, name, "LRN", in, g->blob[in], "0=0 1=%u", s->k | 1);
}

static uint32_t add_flatten(graph *g, const graph_spec *s, const char *name, uint32_t in) {
    const graph_blob b = g->blob[in];
    (void)s;
    return graph_add(g, name, "Flatten", in, (graph_blob){1, b.w * b.h * b.c, 1, 1, 0, 0}, "%s", "");
}

static uint32_t add_permute(graph *g, const graph_spec *s, const char *name, uint32_t in) {
    const graph_blob b = g->blob[in];
    (void)s;
    return graph_add(g, name, "Permute", in, (graph_blob){3, b.c, b.w, b.h, 0, 0}, "0=3");
}

static uint32_t add_reshape(graph *g, const graph_spec *s, const char *name, uint32_t in) {
    const graph_blob b = g->blob[in];
    (void)s;
    return graph_add(g, name, "Reshape", in, (graph_blob){3, b.w, 1, b.h * b.c, 0, 0}, "0=%u 1=1 2=%u", b.w, b.h * b.c);
}

enum { ANY, MAP };
#define OPERATOR(id, name, weight, fields, ...) {__VA_ARGS__},
const graph_row graph_rows[GRAPH_OPS] = {
#include "graph_ops.def"
};

uint32_t graph_layers(graph *g, const graph_spec *s, const char *name, uint32_t in) {
    const graph_row *row = &graph_rows[s->op];
    return row->add(g, s, name, row->map ? graph_map(g, name, in) : in);
}
