/*
 * op_roi.c - two-stage detectors: regions proposed from a map of scores, and maps pooled over a region.
 *
 * As ncnn's plain C++ layers compute them. How many regions there are depends on the data: Proposal has as many as it
 * may keep, those behind the last one are 0. The pooling layers take one region, the first one of their second input.
 * Where ncnn reads behind the end of a map, the last row or column is read here.
 */
#include <math.h>
#include <string.h>

#include "found.h"
#include "op.h"

/* ---- Proposal: anchor boxes of each cell, moved by their offsets, thinned out ---- */

#define ANCHORS 9u /* three aspects, three sizes each */

typedef struct proposal {
    uint32_t step, base, before, after; /* pixels of a cell and of the anchor box; boxes before and after thinning */
} proposal;

static net_status proposal_settings(net_plan *p, proposal *s) {
    net_status status = net_plan_number(p, 0, 16, 1, 65536, "pixels of a cell", &s->step);
    status = status == NET_OK ? net_plan_number(p, 1, 16, 1, 65536, "size of the anchor boxes", &s->base) : status;
    status = status == NET_OK ? net_plan_number(p, 2, 6000, 0, INT32_MAX, "boxes before thinning", &s->before) : status;
    return status == NET_OK ? net_plan_number(p, 3, 300, 1, 65536, "boxes after thinning", &s->after) : status;
}

static net_status proposal_shape(net_plan *p) {
    const net_shape *score = net_plan_in(p, 0);
    const net_shape *offset = net_plan_in(p, 1);
    proposal s = {0};
    net_status status = proposal_settings(p, &s);
    if (status != NET_OK) {
        return status;
    }
    uint64_t cells = (uint64_t)score->w * score->h;
    if (score->dims != 3 || offset->dims != 3 || score->c != 2 * ANCHORS || offset->c != 4 * ANCHORS ||
        offset->w != score->w || offset->h != score->h || net_shape_elements(net_plan_in(p, 2)) < 3) {
        return NET_BAD(p,
                       "scores of %ux%ux%u and offsets of %ux%ux%u (c, h, w), expected %u and %u channels of one size, "
                       "and three numbers of the image",
                       score->c, score->h, score->w, offset->c, offset->h, offset->w, 2 * ANCHORS, 4 * ANCHORS);
    }
    if (cells * ANCHORS > NET_MAX_ELEMENTS / sizeof(net_found)) {
        return NET_BAD(p, "%llu cells", (unsigned long long)cells);
    }
    p->layer->scratch = (size_t)cells * ANCHORS * sizeof(net_found);
    uint32_t rows = s.after < cells * ANCHORS ? s.after : (uint32_t)cells * ANCHORS;
    status = net_plan_out(p, 0, (net_shape){3, 4, 1, rows, 1});
    return status == NET_OK && p->layer->num_out > 1 ? net_plan_out(p, 1, (net_shape){3, 1, 1, rows, 1}) : status;
}

/* Anchor box q around the middle of the first cell: xmin, ymin, xmax, ymax in pixels of the image. */
static void anchor_box(uint32_t q, uint32_t base, float box[4]) {
    static const float aspect[3] = {0.5f, 1.0f, 2.0f};
    static const float scale[3] = {8.0f, 16.0f, 32.0f};
    float middle = (float)base * 0.5f;
    float whole_w = roundf((float)base / sqrtf(aspect[q / 3]));
    float w = whole_w * scale[q % 3];
    float h = roundf(whole_w * aspect[q / 3]) * scale[q % 3];
    box[0] = middle - w * 0.5f;
    box[1] = middle - h * 0.5f;
    box[2] = middle + w * 0.5f;
    box[3] = middle + h * 0.5f;
}

static float clamp(float v, float hi) {
    v = hi < v ? hi : v;
    return v < 0.0f ? 0.0f : v;
}

/* Adds the boxes of an anchor box that are large enough; returns the new number of boxes. */
static uint32_t propose(const net_work *work, uint32_t q, net_found *list, uint32_t count) {
    const net_shape *s = net_work_in(work, 0);
    const float *image = work->in[2]; /* height, width, scale */
    float step = (float)net_layer_int(work->layer, 0, 16);
    float least = (float)net_layer_int(work->layer, 5, 16) * image[2];
    size_t plane = (size_t)s->w * s->h;
    float a[4];
    anchor_box(q, (uint32_t)net_layer_int(work->layer, 1, 16), a);
    float w = a[2] - a[0];
    float h = a[3] - a[1];
    float y = a[1];
    for (uint32_t i = 0; i < s->h; i++, y += step) {
        float x = a[0];
        for (uint32_t j = 0; j < s->w; j++, x += step) {
            size_t cell = (size_t)i * s->w + j;
            const float *offset = work->in[1] + 4 * (size_t)q * plane + cell;
            float cx = x + w * 0.5f + w * offset[0];
            float cy = y + h * 0.5f + h * offset[plane];
            float bw = w * expf(offset[2 * plane]);
            float bh = h * expf(offset[3 * plane]);
            net_found *f = &list[count];
            f->score = work->in[0][(ANCHORS + q) * plane + cell];
            f->label = 0;
            f->box[0] = clamp(cx - bw * 0.5f, image[1] - 1.0f);
            f->box[1] = clamp(cy - bh * 0.5f, image[0] - 1.0f);
            f->box[2] = clamp(cx + bw * 0.5f, image[1] - 1.0f);
            f->box[3] = clamp(cy + bh * 0.5f, image[0] - 1.0f);
            f->area = net_found_area(f->box);
            count += f->box[2] - f->box[0] + 1.0f >= least && f->box[3] - f->box[1] + 1.0f >= least;
        }
    }
    return count;
}

static void proposal_run(const net_work *work) {
    net_found *list = work->scratch;
    uint32_t rows = net_work_out(work, 0)->c;
    uint32_t before = (uint32_t)net_layer_int(work->layer, 2, 6000);
    uint32_t count = 0;
    for (uint32_t q = 0; q < ANCHORS; q++) {
        count = propose(work, q, list, count);
    }
    net_found_sort(list, count);
    count = before > 0 && before < count ? before : count;
    count = net_found_suppress(list, count, net_layer_float(work->layer, 4, 0.7f), NET_FOUND_RATIO);
    for (uint32_t i = 0; i < rows; i++) {
        for (uint32_t k = 0; k < 4; k++) {
            work->out[0][4 * (size_t)i + k] = i < count ? list[i].box[k] : 0.0f;
        }
        if (work->layer->num_out > 1) {
            work->out[1][i] = i < count ? list[i].score : 0.0f;
        }
    }
}

/* ---- ROIPooling, PSROIPooling, ROIAlign ---- */

/* The region in elements of the map, and the size of a part of it, for each dimension: x, y. */
typedef struct roi {
    float from[2], to[2], part[2];
} roi;

static net_status pooled_out(net_plan *p, int32_t absent, uint32_t channels) {
    uint32_t w = 0;
    uint32_t h = 0;
    net_status status = net_plan_number(p, 0, absent, 1, 65536, "columns of the output", &w);
    status = status == NET_OK ? net_plan_number(p, 1, absent, 1, 65536, "rows of the output", &h) : status;
    if (status != NET_OK) {
        return status;
    }
    if (net_plan_in(p, 0)->dims != 3 || net_shape_elements(net_plan_in(p, 1)) < 4) {
        return NET_BAD(p, "a map of %u dimensions and a region of %u numbers, expected 3 and at least 4",
                       net_plan_in(p, 0)->dims, net_shape_elements(net_plan_in(p, 1)));
    }
    return net_plan_out(p, 0, (net_shape){3, w, h, channels, 1});
}

static net_status roi_pooling_shape(net_plan *p) {
    return pooled_out(p, 0, net_plan_in(p, 0)->c);
}

static net_status psroi_pooling_shape(net_plan *p) {
    uint32_t channels;
    net_status status = net_plan_number(p, 3, 0, 1, 65536, "channels of the output", &channels);
    status = status == NET_OK ? pooled_out(p, 7, channels) : status;
    if (status != NET_OK) {
        return status;
    }
    const net_shape *out = &p->graph->blob[p->layer->out[0]].shape;
    uint64_t needed = (uint64_t)channels * out->w * out->h;
    return net_plan_in(p, 0)->c == needed
               ? NET_OK
               : NET_BAD(p, "%u channels, %u outputs of %ux%u parts need %llu", net_plan_in(p, 0)->c, channels, out->h,
                         out->w, (unsigned long long)needed);
}

static net_status roi_align_shape(net_plan *p) {
    uint32_t unused;
    net_status status = net_plan_number(p, 5, 0, 0, 1, "version", &unused);
    status = status == NET_OK ? net_plan_number(p, 3, 0, 0, 1024, "samples of a part", &unused) : status;
    return status == NET_OK ? pooled_out(p, 0, net_plan_in(p, 0)->c) : status;
}

/* A bound as an element number: within 0..limit, also when it is no number. */
static uint32_t bound(float v, uint32_t limit) {
    return v >= (float)limit ? limit : v > 0.0f ? (uint32_t)v : 0;
}

/* Elements first..last-1 of part i: rounded outwards. `whole`: from an element of the map on, as ROIPooling has it. */
static void part_of(const roi *r, int d, uint32_t i, uint32_t limit, bool whole, uint32_t *first, uint32_t *last) {
    float lo = (float)i * r->part[d];
    float hi = (float)(i + 1) * r->part[d];
    *first = bound(whole ? r->from[d] + floorf(lo) : floorf(r->from[d] + lo), limit);
    *last = bound(whole ? r->from[d] + ceilf(hi) : ceilf(r->from[d] + hi), limit);
}

static void roi_pooling_run(const net_work *work) {
    const net_shape *in = net_work_in(work, 0);
    const net_shape *out = net_work_out(work, 0);
    float scale = net_layer_float(work->layer, 2, 1.0f);
    const uint32_t parts[2] = {out->w, out->h};
    roi r;
    for (int d = 0; d < 2; d++) {
        r.from[d] = roundf(work->in[1][d] * scale);
        r.to[d] = roundf(work->in[1][2 + d] * scale);
        float size = r.to[d] - r.from[d] + 1.0f;
        r.part[d] = (size < 1.0f ? 1.0f : size) / (float)parts[d];
    }
    float *to = work->out[0];
    for (uint32_t c = 0; c < out->c; c++) {
        const float *map = work->in[0] + (size_t)c * in->w * in->h;
        for (uint32_t o = 0; o < out->w * out->h; o++) {
            uint32_t y0, y1, x0, x1;
            part_of(&r, 1, o / out->w, in->h, true, &y0, &y1);
            part_of(&r, 0, o % out->w, in->w, true, &x0, &x1);
            float largest = y1 <= y0 || x1 <= x0 ? 0.0f : map[(size_t)y0 * in->w + x0];
            for (uint32_t y = y0; y < y1; y++) {
                for (uint32_t x = x0; x < x1; x++) {
                    float v = map[(size_t)y * in->w + x];
                    largest = largest < v ? v : largest;
                }
            }
            *to++ = largest;
        }
    }
}

/* Each part of each output channel has a map of its own. */
static void psroi_pooling_run(const net_work *work) {
    const net_shape *in = net_work_in(work, 0);
    const net_shape *out = net_work_out(work, 0);
    float scale = net_layer_float(work->layer, 2, 0.0625f);
    const uint32_t parts[2] = {out->w, out->h};
    roi r;
    for (int d = 0; d < 2; d++) {
        r.from[d] = roundf(work->in[1][d]) * scale;
        r.to[d] = roundf(work->in[1][2 + d] + 1.0f) * scale;
        float size = r.to[d] - r.from[d];
        r.part[d] = (size < 0.1f ? 0.1f : size) / (float)parts[d];
    }
    for (uint32_t o = 0; o < out->c * out->h * out->w; o++) {
        const float *map = work->in[0] + (size_t)o * in->w * in->h;
        uint32_t y0, y1, x0, x1;
        part_of(&r, 1, o / out->w % out->h, in->h, false, &y0, &y1);
        part_of(&r, 0, o % out->w, in->w, false, &x0, &x1);
        float sum = 0.0f;
        for (uint32_t y = y0; y < y1; y++) {
            for (uint32_t x = x0; x < x1; x++) {
                sum += map[(size_t)y * in->w + x];
            }
        }
        work->out[0][o] = y1 <= y0 || x1 <= x0 ? 0.0f : sum / (float)((y1 - y0) * (x1 - x0));
    }
}

/* The map between its elements; x and y are not negative. */
static float between(const float *map, const net_shape *in, float x, float y) {
    uint32_t x0 = bound(x, in->w - 1);
    uint32_t y0 = bound(y, in->h - 1);
    bool right = x0 + 1 < in->w;
    bool below = y0 + 1 < in->h;
    float a0 = right ? (float)(x0 + 1) - x : 1.0f;
    float a1 = right ? x - (float)x0 : 0.0f;
    float b0 = below ? (float)(y0 + 1) - y : 1.0f;
    float b1 = below ? y - (float)y0 : 0.0f;
    const float *upper = map + (size_t)y0 * in->w;
    const float *lower = below ? upper + in->w : upper;
    uint32_t x1 = right ? x0 + 1 : x0;
    return (upper[x0] * a0 + upper[x1] * a1) * b0 + (lower[x0] * a0 + lower[x1] * a1) * b1;
}

/* Where the samples of part i begin, how many there are, and whether the part is empty, along one dimension. */
typedef struct samples {
    float from;
    uint32_t count;
    bool empty;
} samples;

static samples samples_of(const net_layer *layer, const roi *r, int d, uint32_t i, uint32_t parts, uint32_t limit) {
    uint32_t given = (uint32_t)net_layer_int(layer, 3, 0);
    float lo = r->from[d] + (float)i * r->part[d];
    if (net_layer_int(layer, 5, 0) == 1) { /* Detectron2: as many in each part, outside the map, too */
        uint32_t count = given > 0 ? given : bound(ceilf((r->to[d] - r->from[d]) / (float)parts), 1u << 12);
        return (samples){lo, count, false};
    }
    lo = clamp(lo, (float)limit);
    float hi = clamp(r->from[d] + (float)(i + 1) * r->part[d], (float)limit);
    return (samples){lo, given > 0 ? given : bound(ceilf(hi - lo), limit), hi <= lo};
}

static float roi_align_part(const net_layer *layer, const roi *r, const float *map, const net_shape *in,
                            const samples *sx, const samples *sy) {
    bool second = net_layer_int(layer, 5, 0) == 1;
    float sum = 0.0f;
    uint32_t all = sx->count * sy->count;
    for (uint32_t i = 0; i < sy->count; i++) {
        float y = sy->from + ((float)i + 0.5f) * r->part[1] / (float)sy->count;
        for (uint32_t j = 0; j < sx->count; j++) {
            float x = sx->from + ((float)j + 0.5f) * r->part[0] / (float)sx->count;
            if (second && (y < -1.0f || y > (float)in->h || x < -1.0f || x > (float)in->w)) {
                continue;
            }
            sum += between(map, in, x < 0.0f ? 0.0f : x, y < 0.0f ? 0.0f : y);
        }
    }
    return sx->empty || sy->empty ? 0.0f : sum / (float)(all > 0 ? all : 1);
}

static void roi_align_run(const net_work *work) {
    const net_layer *layer = work->layer;
    const net_shape *in = net_work_in(work, 0);
    const net_shape *out = net_work_out(work, 0);
    const uint32_t parts[2] = {out->w, out->h};
    float scale = net_layer_float(layer, 2, 1.0f);
    bool aligned = net_layer_int(layer, 4, 0) != 0;
    roi r;
    for (int d = 0; d < 2; d++) {
        r.from[d] = work->in[1][d] * scale - (aligned ? 0.5f : 0.0f);
        r.to[d] = work->in[1][2 + d] * scale - (aligned ? 0.5f : 0.0f);
        float size = r.to[d] - r.from[d];
        size = !aligned && size < 1.0f ? 1.0f : size;
        r.to[d] = r.from[d] + size;
        r.part[d] = size / (float)parts[d];
    }
    for (uint32_t c = 0; c < out->c; c++) {
        const float *map = work->in[0] + (size_t)c * in->w * in->h;
        for (uint32_t o = 0; o < out->w * out->h; o++) {
            samples sy = samples_of(layer, &r, 1, o / out->w, out->h, in->h);
            samples sx = samples_of(layer, &r, 0, o % out->w, out->w, in->w);
            work->out[0][(size_t)c * out->w * out->h + o] = roi_align_part(layer, &r, map, in, &sx, &sy);
        }
    }
}

const net_op net_ops_roi[] = {
    {"Proposal", 3, 3, 1, 2, NULL, proposal_shape, proposal_run, NULL, false},
    {"ROIPooling", 2, 2, 1, 1, NULL, roi_pooling_shape, roi_pooling_run, NULL, false},
    {"PSROIPooling", 2, 2, 1, 1, NULL, psroi_pooling_shape, psroi_pooling_run, NULL, false},
    {"ROIAlign", 2, 2, 1, 1, NULL, roi_align_shape, roi_align_run, NULL, false},
    {0},
};
