/* found.c - candidates of detections: sorted, thinned out, written as rows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "found.h"

float net_found_sigmoid(float x) {
    return 1.0f / (1.0f + expf(-x));
}

static int by_score(const void *a, const void *b) {
    const net_found *x = a;
    const net_found *y = b;
    if (x->score != y->score) {
        return x->score > y->score ? -1 : 1;
    }
    return x->order < y->order ? -1 : x->order > y->order;
}

void net_found_sort(net_found *list, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        list[i].order = i;
    }
    if (count > 1) {
        qsort(list, count, sizeof *list, by_score);
    }
}

float net_found_area(const float *b) {
    return (b[2] - b[0]) * (b[3] - b[1]);
}

static float overlap(const float *a, const float *b) {
    if (a[0] > b[2] || a[2] < b[0] || a[1] > b[3] || a[3] < b[1]) {
        return 0.0f;
    }
    float w = fminf(a[2], b[2]) - fmaxf(a[0], b[0]);
    float h = fminf(a[3], b[3]) - fmaxf(a[1], b[1]);
    return w * h;
}

uint32_t net_found_suppress(net_found *list, uint32_t count, float limit, unsigned rule) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool keep = true;
        for (uint32_t k = 0; keep && k < kept; k++) {
            float common = overlap(list[i].box, list[k].box);
            float both = list[i].area + list[k].area - common;
            keep = ((rule & NET_FOUND_PER_CLASS) != 0 && list[i].label != list[k].label) ||
                   !((rule & NET_FOUND_PRODUCT) != 0 ? common > limit * both : common / both > limit);
        }
        if (keep) {
            list[kept++] = list[i];
        }
    }
    return kept;
}

void net_found_write(const net_found *list, uint32_t count, float *out, uint32_t rows) {
    memset(out, 0, (size_t)rows * NET_FOUND_ROW * sizeof *out);
    for (uint32_t i = 0; i < count && i < rows; i++) {
        float *row = out + (size_t)i * NET_FOUND_ROW;
        row[0] = (float)list[i].label;
        row[1] = list[i].score;
        memcpy(row + 2, list[i].box, sizeof list[i].box);
    }
}
