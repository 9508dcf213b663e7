/*
 * pow2.h - weights that are powers of two, and activations with power-of-two scales: the formats and the quantisers of
 * document 001 (sections 3.1 and 3.3), as docs/sac/compression.md decides them.
 */
#ifndef NET_POW2_H
#define NET_POW2_H

#include "network.h"

#define NET_POW2_ZERO 7u         /* code of a weight that is 0, and of what pads a short */
#define NET_POW2_SPAN 6          /* n1 - nmin: seven magnitudes */
#define NET_POW2_MAX_SIDE 32767u /* of each of the four sizes of a record */
#define NET_POW2_MAX_BYTES (1u << 28)
#define NET_POW2_MAX_RECORDS 4096u

/* ---- weights ---- */

/*
 * Least exponent nmin of a layer (equation 2): n1 - 6, 2^n1 the largest power that a weight is rounded to; -6 when all
 * are 0. NET_ERR_UNSUPPORTED: a weight is not a finite number, or nmin is not within -128..127.
 */
net_status net_pow2_range(const float *weights, size_t count, int *nmin, net_error *err);
/* Code of a weight (equation 4, half-open): 0..6 negative, 8..14 positive, +-2^(nmin + (code & 7)); 7: zero. */
uint8_t net_pow2_code(float weight, int nmin);
/* Weight of a code; 15 counts as 0. */
float net_pow2_weight(uint8_t code, int nmin);

/* One record of a file (table 3-1): weights of a convolution, or its bias. */
typedef struct net_pow2_record {
    bool bias;           /* true: `value`, n numbers; false: `code`, n*c*h*w codes [n][c][h][w] */
    int nmin;            /* -128..127; 0 for a bias */
    uint32_t n, c, h, w; /* 1..32767; of a bias n, 1, 1, 1 */
    uint8_t *code;
    float *value;
} net_pow2_record;

typedef struct net_pow2 {
    net_pow2_record *record; /* in execution order; a bias follows the weights that it belongs to */
    uint32_t count;
} net_pow2;

void net_pow2_free(net_pow2 *p);
/* Add a layer: weights [n][c][h][w], quantised; bias [n] or NULL. */
net_status net_pow2_add(net_pow2 *p, const float *weights, const float *bias, uint32_t n, uint32_t c, uint32_t h,
                        uint32_t w, net_error *err);
/* Read a file's contents; `name` for errors. On an error *p is empty. */
net_status net_pow2_parse(net_pow2 *p, const void *data, size_t bytes, const char *name, net_error *err);
net_status net_pow2_load(net_pow2 *p, const char *path, net_error *err);
/* Bytes of the file, allocated; and to a file. Void nibbles are written as 7. */
net_status net_pow2_print(const net_pow2 *p, uint8_t **data, size_t *bytes, net_error *err);
net_status net_pow2_save(const net_pow2 *p, const char *path, net_error *err);

/* ---- activations ---- */

/* Q = round(log2(128 / absmax)) (equation 12), exact; absmax > 0 and finite. */
int net_pow2_q(float absmax);
/* round(a * 2^q), half away from zero, saturated to -128..127 (equation 14); NaN: 0. */
int8_t net_pow2_activation(float a, int q);
/*
 * Cap of a layer (section 3.3.3, step 4): the mean of the channels' Q, rounded down, at most the least Q + 7. Channels
 * whose absmax is 0 do not count; 0 when all are.
 */
int net_pow2_cap(const float *absmax, uint32_t channels);
/* Q of the channels under a cap: min(Q, cap); a channel that is all zero gets the cap. At least cap - 7 .. is not
 * enforced: caps only fall. */
void net_pow2_channels(const float *absmax, uint32_t channels, int cap, int *q);
/* sum|a8 / 2^q - a| / sum|a| over [channel][count], q by channel; 0 when all a are 0. */
double net_pow2_norm1(const float *a, const int8_t *a8, const int *q, uint32_t channels, uint32_t count);

#define NET_POW2_STEPS 8u /* by which the search lowers a cap at most */

/* What the search tries: caps of all layers to accuracy (0..1) and norm1 error of each layer. */
typedef struct net_pow2_trial {
    net_status (*run)(void *user, const int *cap, uint32_t layers, double *accuracy, double *norm1, net_error *err);
    void *user;
} net_pow2_trial;

typedef struct net_pow2_layer {
    int first_cap, cap; /* before and after the search */
    double norm1;       /* in the last run */
} net_pow2_layer;

typedef struct net_pow2_result {
    double fp32, accuracy; /* to reach within one point, and reached */
    uint32_t runs;
} net_pow2_result;

/*
 * The search of section 3.3.3, step 5: while the accuracy is more than one point below fp32, lower by 1 the cap of the
 * layer with the largest norm1 error (the first one of equals) that has been lowered less than NET_POW2_STEPS times.
 * layer[layers].cap holds the caps to begin with. NET_ERR_UNSUPPORTED: no cap can be lowered any more.
 */
net_status net_pow2_search(const net_pow2_trial *trial, double fp32, net_pow2_layer *layer, uint32_t layers,
                           net_pow2_result *result, net_error *err);

#endif
