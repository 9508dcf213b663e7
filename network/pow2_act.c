/* pow2_act.c - activations with power-of-two scales: Q of a channel, the cap of a layer, the search of the caps. */
#include <math.h>

#include "internal.h"
#include "pow2.h"

int net_pow2_q(float absmax) {
    int e;
    const float half = frexpf(absmax, &e); /* absmax = half * 2^e, 0.5 <= half < 1 */
    const double f = 2.0 * (double)half;   /* of 24 bits, so its square is exact: 1 <= f < 2 */
    /* log2(128 / absmax) = 7 - (e - 1) - log2(f); it is rounded down where f > sqrt(2), and f is never equal to that */
    return 7 - (e - 1) - (f * f > 2.0);
}

int8_t net_pow2_activation(float a, int q) {
    const double scaled = isnan(a) ? 0.0 : round(ldexp((double)a, q));
    return (int8_t)(scaled < -128.0 ? -128.0 : scaled > 127.0 ? 127.0 : scaled);
}

int net_pow2_cap(const float *absmax, uint32_t channels) {
    int64_t sum = 0, count = 0;
    int least = 0;
    for (uint32_t i = 0; i < channels; i++) {
        if (absmax[i] > 0) {
            const int q = net_pow2_q(absmax[i]);
            least = count == 0 || q < least ? q : least;
            sum += q;
            count++;
        }
    }
    if (count == 0) {
        return 0;
    }
    const int64_t mean = sum >= 0 ? sum / count : -((-sum + count - 1) / count); /* rounded down */
    return mean < least + 7 ? (int)mean : least + 7;
}

void net_pow2_channels(const float *absmax, uint32_t channels, int cap, int *q) {
    for (uint32_t i = 0; i < channels; i++) {
        const int own = absmax[i] > 0 ? net_pow2_q(absmax[i]) : cap;
        q[i] = own < cap ? own : cap;
    }
}

double net_pow2_norm1(const float *a, const int8_t *a8, const int *q, uint32_t channels, uint32_t count) {
    double error = 0, all = 0;
    for (uint32_t c = 0; c < channels; c++) {
        for (uint32_t i = 0; i < count; i++) {
            const size_t at = (size_t)c * count + i;
            error += fabs(ldexp(a8[at], -q[c]) - (double)a[at]);
            all += fabs((double)a[at]);
        }
    }
    return all > 0 ? error / all : 0;
}

/* The layer to lower: the largest error among those that can be. `layers`: none. */
static uint32_t worst(const net_pow2_layer *layer, uint32_t layers) {
    uint32_t found = layers;
    for (uint32_t i = 0; i < layers; i++) {
        const bool can = layer[i].first_cap - layer[i].cap < (int)NET_POW2_STEPS;
        if (can && (found == layers || layer[i].norm1 > layer[found].norm1)) {
            found = i;
        }
    }
    return found;
}

net_status net_pow2_search(const net_pow2_trial *trial, double fp32, net_pow2_layer *layer, uint32_t layers,
                           net_pow2_result *result, net_error *err) {
    int cap[NET_POW2_MAX_RECORDS];
    double norm1[NET_POW2_MAX_RECORDS];
    if (layers == 0 || layers > NET_POW2_MAX_RECORDS) {
        return net_fail(err, NET_ERR_ARG, "%u layers, expected 1..%u", layers, NET_POW2_MAX_RECORDS);
    }
    *result = (net_pow2_result){.fp32 = fp32};
    for (uint32_t i = 0; i < layers; i++) {
        layer[i].first_cap = layer[i].cap;
    }
    for (;;) {
        for (uint32_t i = 0; i < layers; i++) {
            cap[i] = layer[i].cap;
        }
        const net_status status = trial->run(trial->user, cap, layers, &result->accuracy, norm1, err);
        if (status != NET_OK) {
            return status;
        }
        result->runs++;
        for (uint32_t i = 0; i < layers; i++) {
            layer[i].norm1 = norm1[i];
        }
        /* one point, with room for the rounding of a difference of two fractions */
        if (result->accuracy >= fp32 - 0.01 - 1e-12) {
            return NET_OK;
        }
        const uint32_t at = worst(layer, layers);
        if (at == layers) {
            return net_fail(err, NET_ERR_UNSUPPORTED,
                            "accuracy %.4f after %u runs, expected %.4f: no cap can fall any more", result->accuracy,
                            result->runs, fp32 - 0.01);
        }
        layer[at].cap--;
    }
}
