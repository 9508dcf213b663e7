/* kl.c - thresholds from histograms. */
#include <math.h>
#include <string.h>

#include "calib.h"

#define EPSILON 1e-4

/* The bins of a level, from `from` to `to` (fractions): whole ones, and parts at both ends. */
typedef struct span {
    uint32_t first, last; /* whole bins first..last-1 */
    double left, right;   /* parts of bins first-1 and last */
} span;

static span span_of(uint32_t level, uint32_t t) {
    double per_level = (double)t / NET_CALIB_LEVELS;
    double from = level * per_level;
    double to = level + 1 == NET_CALIB_LEVELS ? (double)t : (level + 1) * per_level;
    span s = {.first = (uint32_t)ceil(from), .last = (uint32_t)floor(to)};
    s.left = (double)s.first - from;
    s.right = to - (double)s.last;
    return s;
}

/* The first t bins reduced to 128 levels (each the mean of its bins) and expanded again. A level is wider than a bin,
 * so no bin has parts in more than two levels. */
static void requantise(const double *p, uint32_t t, double *q) {
    for (uint32_t i = 0; i < t; i++) {
        q[i] = EPSILON;
    }
    for (uint32_t level = 0; level < NET_CALIB_LEVELS; level++) {
        span s = span_of(level, t);
        double sum = 0.0;
        sum += s.left > 0.0 ? s.left * p[s.first - 1] : 0.0;
        sum += s.right > 0.0 ? s.right * p[s.last] : 0.0;
        for (uint32_t i = s.first; i < s.last; i++) {
            sum += p[i];
        }
        double mean = sum / ((double)(s.last - s.first) + s.left + s.right);
        if (s.left > 0.0) {
            q[s.first - 1] += s.left * mean;
        }
        if (s.right > 0.0) {
            q[s.last] += s.right * mean;
        }
        for (uint32_t i = s.first; i < s.last; i++) {
            q[i] += mean;
        }
    }
}

static double divergence(const double *p, const double *q, uint32_t t, double tail) {
    double sum = 0.0;
    for (uint32_t i = 0; i < t; i++) {
        double a = p[i] + EPSILON + (i + 1 == t ? tail : 0.0);
        sum += a * log(a / q[i]);
    }
    return sum;
}

static float kl_threshold(const net_hist *hist, uint64_t total) {
    double p[NET_CALIB_BINS];
    double q[NET_CALIB_BINS];
    double tail = 0.0; /* of bins t and above */
    double best = INFINITY;
    uint32_t choice = NET_CALIB_LEVELS;
    for (uint32_t i = 0; i < NET_CALIB_BINS; i++) {
        p[i] = (double)hist->bin[i] / (double)total;
    }
    uint64_t above = 0;
    for (uint32_t t = NET_CALIB_BINS - 1; t >= NET_CALIB_LEVELS; t--) {
        above += hist->bin[t];
        tail = (double)above / (double)total;
        requantise(p, t, q);
        double kl = divergence(p, q, t, tail);
        if (kl <= best) { /* t decreases, so on a tie the smallest one is kept */
            best = kl;
            choice = t;
        }
    }
    return (float)choice + 0.5f;
}

/* Expected squared error with a threshold of t bins, in squared bins. */
static double squared_error(const net_hist *hist, uint32_t t) {
    double step = (double)t / 127.0;
    double sum = 0.0;
    for (uint32_t i = 0; i < NET_CALIB_BINS; i++) {
        double x = i + 0.5;
        double error = x < step / 2 ? x * x : x > t ? (x - t) * (x - t) : step * step / 12;
        sum += error * (double)hist->bin[i];
    }
    return sum;
}

static float mse_threshold(const net_hist *hist) {
    double best = INFINITY;
    uint32_t choice = NET_CALIB_BINS;
    for (uint32_t t = NET_CALIB_BINS; t >= NET_CALIB_LEVELS; t--) {
        double error = squared_error(hist, t);
        if (error < best) {
            best = error;
            choice = t;
        }
    }
    return (float)choice;
}

float net_hist_threshold(const net_hist *hist, net_calib_method method, double percent) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < NET_CALIB_BINS; i++) {
        total += hist->bin[i];
    }
    if (total == 0) {
        return 0.0f;
    }
    if (method == NET_CALIB_KL) {
        return kl_threshold(hist, total);
    }
    if (method == NET_CALIB_MSE) {
        return mse_threshold(hist);
    }
    uint64_t sum = 0;
    uint32_t last = 0;
    for (uint32_t i = 0; method == NET_CALIB_PERCENTILE && i < NET_CALIB_BINS; i++) {
        sum += hist->bin[i];
        last = i;
        if ((double)sum >= percent / 100.0 * (double)total) {
            return (float)(last + 1);
        }
    }
    return (float)NET_CALIB_BINS;
}
