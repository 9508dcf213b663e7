/* pow2.c - weights that are powers of two: codes, records of a file. */
#include "pow2.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define HEADER 10u

/* p(w): the power that |w| is rounded to, ties up: |w| = f * 2^e, 1 <= f < 2, p = e + (f >= 1.5). w is not 0. */
static int power_of(float w) {
    int e;
    const float half = frexpf(fabsf(w), &e); /* 0.5 .. 1, so f = 2 * half and its exponent e - 1 */
    return e - 1 + (half >= 0.75F);
}

net_status net_pow2_range(const float *weights, size_t count, int *nmin, net_error *err) {
    float most = 0;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(weights[i])) {
            return net_fail(err, NET_ERR_UNSUPPORTED, "weight %zu is not a finite number", i);
        }
        most = fmaxf(most, fabsf(weights[i]));
    }
    *nmin = (most > 0 ? power_of(most) : 0) - NET_POW2_SPAN;
    if (*nmin < INT8_MIN || *nmin > INT8_MAX) {
        return net_fail(err, NET_ERR_UNSUPPORTED, "largest weight %g: least power %d, expected -128..127", (double)most,
                        *nmin);
    }
    return NET_OK;
}

uint8_t net_pow2_code(float weight, int nmin) {
    if (!(fabs((double)weight) >= ldexp(1, nmin - 1))) {
        return NET_POW2_ZERO;
    }
    const int p = power_of(weight), k = p < nmin ? 0 : p - nmin;
    return (uint8_t)(k > NET_POW2_SPAN ? NET_POW2_ZERO : (unsigned)k | (weight > 0 ? 8u : 0u));
}

float net_pow2_weight(uint8_t code, int nmin) {
    const unsigned k = code & 7u;
    return k == NET_POW2_ZERO ? 0.0F : ldexpf((code & 8u) != 0 ? 1.0F : -1.0F, nmin + (int)k);
}

void net_pow2_free(net_pow2 *p) {
    for (uint32_t i = 0; p != NULL && i < p->count; i++) {
        free(p->record[i].code);
        free(p->record[i].value);
    }
    if (p != NULL) {
        free(p->record);
        *p = (net_pow2){0};
    }
}

/* Shorts of a filter's weights: 1x1 packs four channels, else each kernel row has ceil(w / 3). */
static size_t filter_shorts(const net_pow2_record *r) {
    return r->h == 1 && r->w == 1 ? (r->c + 3u) / 4u : (size_t)r->c * r->h * ((r->w + 2u) / 3u);
}

static size_t body_bytes(const net_pow2_record *r) {
    return r->bias ? (size_t)4 * r->n : 2 * r->n * filter_shorts(r);
}

/* Weight number i of a filter: its short and its nibble. */
static size_t place(const net_pow2_record *r, size_t i, unsigned *nibble) {
    if (r->h == 1 && r->w == 1) {
        *nibble = (unsigned)(i % 4);
        return i / 4;
    }
    const size_t row = i / r->w, col = i % r->w;
    *nibble = (unsigned)(col % 3);
    return row * ((r->w + 2u) / 3u) + col / 3;
}

/* One more record, empty. NULL: no memory. */
static net_pow2_record *more(net_pow2 *p) {
    net_pow2_record *record = realloc(p->record, (p->count + 1) * sizeof *record);
    if (record == NULL) {
        return NULL;
    }
    p->record = record;
    p->record[p->count] = (net_pow2_record){0};
    return &p->record[p->count++];
}

static bool side_ok(uint32_t n) {
    return n >= 1 && n <= NET_POW2_MAX_SIDE;
}

net_status net_pow2_add(net_pow2 *p, const float *weights, const float *bias, uint32_t n, uint32_t c, uint32_t h,
                        uint32_t w, net_error *err) {
    const size_t per = (size_t)c * h * w, count = n * per;
    int nmin = 0;
    if (weights == NULL || !side_ok(n) || !side_ok(c) || !side_ok(h) || !side_ok(w) || count > NET_POW2_MAX_BYTES) {
        return net_fail(err, NET_ERR_ARG, "weights of %ux%ux%ux%u: expected sizes of 1..32767 and at most 2^28 weights",
                        n, c, h, w);
    }
    net_status status = net_pow2_range(weights, count, &nmin, err);
    for (uint32_t i = 0; i < n && bias != NULL && status == NET_OK; i++) {
        if (!isfinite(bias[i])) {
            status = net_fail(err, NET_ERR_UNSUPPORTED, "bias %u is not a finite number", i);
        }
    }
    if (status != NET_OK) {
        return status;
    }
    net_pow2_record *r = more(p);
    if (r == NULL || (r->code = malloc(count)) == NULL) {
        return net_fail(err, NET_ERR_MEMORY, "out of memory");
    }
    *r = (net_pow2_record){.nmin = nmin, .n = n, .c = c, .h = h, .w = w, .code = r->code};
    for (size_t i = 0; i < count; i++) {
        r->code[i] = net_pow2_code(weights[i], nmin);
    }
    if (bias != NULL) {
        r = more(p);
        if (r == NULL || (r->value = malloc(n * sizeof *bias)) == NULL) {
            return net_fail(err, NET_ERR_MEMORY, "out of memory");
        }
        *r = (net_pow2_record){.bias = true, .n = n, .c = 1, .h = 1, .w = 1, .value = r->value};
        memcpy(r->value, bias, n * sizeof *bias);
    }
    return NET_OK;
}

/* ---- reading ---- */

typedef struct reader {
    const uint8_t *data;
    size_t bytes, at;
    const char *name;
    net_error *err;
} reader;

static uint32_t get16(const uint8_t *b) {
    return b[0] | (uint32_t)b[1] << 8;
}

static net_status read_codes(reader *in, net_pow2_record *r) {
    const size_t per = (size_t)r->c * r->h * r->w, shorts = filter_shorts(r);
    const uint8_t *body = in->data + in->at;
    r->code = malloc(r->n * per);
    if (r->code == NULL) {
        return net_fail(in->err, NET_ERR_MEMORY, "%.150s: out of memory", in->name);
    }
    for (size_t i = 0; i < r->n * per; i++) {
        unsigned nibble;
        const size_t at = i / per * shorts + place(r, i % per, &nibble);
        r->code[i] = get16(body + 2 * at) >> (4 * nibble) & 15u;
        if (r->code[i] == 15) {
            return net_fail(in->err, NET_ERR_FORMAT, "%.150s: byte %zu: code 15, expected 0..14", in->name,
                            in->at + 2 * at + nibble / 2);
        }
    }
    return NET_OK;
}

static net_status read_bias(reader *in, net_pow2_record *r) {
    r->value = malloc(r->n * sizeof *r->value);
    if (r->value == NULL) {
        return net_fail(in->err, NET_ERR_MEMORY, "%.150s: out of memory", in->name);
    }
    for (uint32_t i = 0; i < r->n; i++) {
        const uint8_t *b = in->data + in->at + 4 * (size_t)i;
        const uint32_t bits = get16(b) | get16(b + 2) << 16;
        memcpy(&r->value[i], &bits, sizeof bits);
        if (!isfinite(r->value[i])) {
            return net_fail(in->err, NET_ERR_FORMAT, "%.150s: byte %zu: bias %u is not a finite number", in->name,
                            in->at + 4 * (size_t)i, i);
        }
    }
    return NET_OK;
}

/* Is this header legal after the record before it? */
static net_status check_header(const reader *in, const net_pow2_record *r, unsigned type,
                               const net_pow2_record *before) {
    if (type > 1) {
        return net_fail(in->err, NET_ERR_FORMAT, "%.150s: byte %zu: type %u, expected 0 (codes) or 1 (bias)", in->name,
                        in->at + 1, type);
    }
    if (!side_ok(r->n) || !side_ok(r->c) || !side_ok(r->h) || !side_ok(r->w)) {
        return net_fail(in->err, NET_ERR_FORMAT, "%.150s: byte %zu: sizes %ux%ux%ux%u, expected 1..32767", in->name,
                        in->at + 2, r->n, r->c, r->h, r->w);
    }
    if (r->bias &&
        (before == NULL || before->bias || before->n != r->n || r->c != 1 || r->h != 1 || r->w != 1 || r->nmin != 0)) {
        return net_fail(
            in->err, NET_ERR_FORMAT,
            "%.150s: byte %zu: floating-point record %ux%ux%ux%u, expected the bias of the weights before it", in->name,
            in->at, r->n, r->c, r->h, r->w);
    }
    return NET_OK;
}

static net_status read_record(reader *in, net_pow2 *p) {
    if (in->bytes - in->at < HEADER) {
        return net_fail(in->err, NET_ERR_FORMAT, "%.150s: byte %zu: the file ends in a header", in->name, in->at);
    }
    if (p->count == NET_POW2_MAX_RECORDS) {
        return net_fail(in->err, NET_ERR_FORMAT, "%.150s: more than %u records", in->name, NET_POW2_MAX_RECORDS);
    }
    const uint8_t *h = in->data + in->at;
    net_pow2_record *r = more(p);
    if (r == NULL) {
        return net_fail(in->err, NET_ERR_MEMORY, "%.150s: out of memory", in->name);
    }
    *r = (net_pow2_record){.bias = h[1] == 1, .nmin = (int8_t)h[0]};
    r->n = get16(h + 2);
    r->c = get16(h + 4);
    r->h = get16(h + 6);
    r->w = get16(h + 8);
    net_status status = check_header(in, r, h[1], p->count > 1 ? r - 1 : NULL);
    if (status != NET_OK) {
        return status;
    }
    in->at += HEADER;
    /* a product that overflows is larger than any file, so it is compared factor by factor */
    if ((in->bytes - in->at) / r->n < body_bytes(r) / r->n) {
        return net_fail(in->err, NET_ERR_FORMAT, "%.150s: byte %zu: %zu bytes left, expected %zu of %ux%ux%ux%u",
                        in->name, in->at, in->bytes - in->at, body_bytes(r), r->n, r->c, r->h, r->w);
    }
    status = r->bias ? read_bias(in, r) : read_codes(in, r);
    in->at += body_bytes(r);
    return status;
}

net_status net_pow2_parse(net_pow2 *p, const void *data, size_t bytes, const char *name, net_error *err) {
    reader in = {.data = data, .bytes = bytes, .name = name, .err = err};
    net_status status = NET_OK;
    *p = (net_pow2){0};
    if (bytes > NET_POW2_MAX_BYTES) {
        return net_fail(err, NET_ERR_FORMAT, "%.150s: %zu bytes, expected at most %u", name, bytes, NET_POW2_MAX_BYTES);
    }
    while (in.at < bytes && status == NET_OK) {
        status = read_record(&in, p);
    }
    if (status != NET_OK) {
        net_pow2_free(p);
    }
    return status;
}

net_status net_pow2_load(net_pow2 *p, const char *path, net_error *err) {
    char *data = NULL;
    size_t bytes = 0;
    *p = (net_pow2){0};
    net_status status = net_read_file(path, NET_POW2_MAX_BYTES, &data, &bytes, err);
    if (status == NET_OK) {
        status = net_pow2_parse(p, data, bytes, path, err);
        free(data);
    }
    return status;
}

/* ---- writing ---- */

static void put16(uint8_t *b, uint32_t v) {
    b[0] = (uint8_t)v;
    b[1] = (uint8_t)(v >> 8);
}

static void print_record(const net_pow2_record *r, uint8_t *out) {
    const size_t per = (size_t)r->c * r->h * r->w;
    out[0] = (uint8_t)r->nmin;
    out[1] = r->bias;
    put16(out + 2, r->n);
    put16(out + 4, r->c);
    put16(out + 6, r->h);
    put16(out + 8, r->w);
    out += HEADER;
    memset(out, 0x77, body_bytes(r));
    for (size_t i = 0; i < (r->bias ? r->n : r->n * per); i++) {
        if (r->bias) {
            uint32_t bits;
            memcpy(&bits, &r->value[i], sizeof bits);
            put16(out + 4 * i, bits);
            put16(out + 4 * i + 2, bits >> 16);
            continue;
        }
        unsigned nibble;
        uint8_t *at = out + 2 * (i / per * filter_shorts(r) + place(r, i % per, &nibble)) + nibble / 2;
        *at = (uint8_t)(nibble % 2 == 0 ? (*at & 0xF0u) | r->code[i] : (*at & 0x0Fu) | (unsigned)r->code[i] << 4);
    }
}

net_status net_pow2_print(const net_pow2 *p, uint8_t **data, size_t *bytes, net_error *err) {
    size_t all = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        all += HEADER + body_bytes(&p->record[i]);
    }
    *data = malloc(all > 0 ? all : 1);
    if (*data == NULL) {
        return net_fail(err, NET_ERR_MEMORY, "out of memory");
    }
    uint8_t *at = *data;
    for (uint32_t i = 0; i < p->count; i++) {
        print_record(&p->record[i], at);
        at += HEADER + body_bytes(&p->record[i]);
    }
    *bytes = all;
    return NET_OK;
}

net_status net_pow2_save(const net_pow2 *p, const char *path, net_error *err) {
    uint8_t *data = NULL;
    size_t bytes = 0;
    net_status status = net_pow2_print(p, &data, &bytes, err);
    if (status == NET_OK) {
        status = net_save(path, data, bytes, err);
        free(data);
    }
    return status;
}
