/* precision.h - tandem-net detect --labels: found boxes beside those that are there, as mean average precision. */
#ifndef NETJOB_PRECISION_H
#define NETJOB_PRECISION_H

#include "../boxes.h"

/* A box of picture number `image`, as the network numbers classes. truth: one that is there, score then unused. */
typedef struct precision_box {
    uint32_t image;
    net_box box;
} precision_box;

typedef struct precision {
    precision_box *truth, *found;
    uint32_t truths, founds, room;
} precision;

/* Mean over the classes that have objects. half: two boxes fit from an overlap (intersection over union) of 0.5 on;
 * mean: the mean over 0.5, 0.55 ... 0.95. 0..1. */
typedef struct precision_result {
    uint32_t objects, classes;
    double half, mean;
} precision_result;

/* Objects of a file, a line each: name of the picture without its folder, class, x, y, width, height in pixels, and
 * anything behind them. Those of other pictures than image[count] are left out. false: the reason is printed. */
bool precision_load(precision *p, const char *path, uint32_t count, const char *const *image);
/* Boxes that a network has found in a picture. false: no memory. */
bool precision_add(precision *p, uint32_t image, const net_box *box, uint32_t count);
/* false: no memory. */
bool precision_measure(precision *p, precision_result *result);
void precision_free(precision *p);

#endif
