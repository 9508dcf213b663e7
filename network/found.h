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
} net_found;

/* Best score first; equal scores keep their order. */
void net_found_sort(net_found *list, uint32_t count);
/* Keep the elements of a sorted list that overlap none of the kept ones (per_class: of their label) by more than a part
 * `limit` of the union. Returns how many. */
uint32_t net_found_suppress(net_found *list, uint32_t count, float limit, bool per_class);
/* As rows into out[rows][NET_FOUND_ROW]; the rest of it becomes 0. */
void net_found_write(const net_found *list, uint32_t count, float *out, uint32_t rows);

/* 1 / (1 + e^-x) in binary32. */
float net_found_sigmoid(float x);

#endif
