/* found.h - candidates of detections: sorted, thinned out, written as rows. Inside network/ only. */
#ifndef NET_FOUND_H
#define NET_FOUND_H

#include <stdbool.h>
#include <stdint.h>

#define NET_FOUND_ROW 6u /* elements of a row: label, score, xmin, ymin, xmax, ymax */

typedef struct net_found {
    float score; /* never NaN: it was compared with a threshold */
    uint32_t label, order;
    float box[4]; /* xmin, ymin, xmax, ymax */
    float area;   /* as the layer computes it: w * h before or after the corners were rounded */
} net_found;

/* How boxes are thinned out. Of two boxes with the areas a and b and the common area c: c / (a + b - c) > limit, or,
 * without the division, c > limit * (a + b - c), which is not the same in every last bit. */
enum { NET_FOUND_RATIO = 0, NET_FOUND_PRODUCT = 1, NET_FOUND_PER_CLASS = 2 };

/* Best score first; equal scores keep their order. */
void net_found_sort(net_found *list, uint32_t count);
/* Area of a box from its corners. */
float net_found_area(const float *box);
/* Keep the elements of a sorted list that overlap none of the kept ones (NET_FOUND_PER_CLASS: of their label) by more
 * than a part `limit` of the union. `rule`: of the enumeration above. Returns how many. */
uint32_t net_found_suppress(net_found *list, uint32_t count, float limit, unsigned rule);
/* As rows into out[rows][NET_FOUND_ROW]; the rest of it becomes 0. */
void net_found_write(const net_found *list, uint32_t count, float *out, uint32_t rows);

/* 1 / (1 + e^-x) in binary32. */
float net_found_sigmoid(float x);

#endif
