/*
 * digits.c - the network of models/digits with its convolutions as Caffe computes them, im2col and two GEMMs an image:
 * W (oc x c*k*k) times the columns (c*k*k x pixels), then the bias (oc x 1) times a row of ones with beta = 1. Both run
 * on the engine and its model in tandem; padding, columns, ReLU and the choice of the class are the processor's.
 *
 * Each image's class must be that of a reference in double precision, unless its two best scores are closer than
 * rounding can decide.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "opt/opt.h"
#include "tests.h"

#define IMAGES 400
#define PIXELS 64u
#define CLASSES 10u
#define LAYERS 4u
#define MAX_PLANE (16u * PIXELS)    /* values between two layers, at most */
#define MAX_COLUMNS (288u * PIXELS) /* of im2col, at most */
#define AT_WEIGHTS (SGEMM_MEM_BASE + 0x10000u)
#define AT_BIAS (SGEMM_MEM_BASE + 0x100000u)
#define AT_ONES (SGEMM_MEM_BASE + 0x110000u)
#define AT_COLUMNS (SGEMM_MEM_BASE + 0x200000u)
#define AT_OUT (SGEMM_MEM_BASE + 0x300000u)
#define LAYER_STEP 0x20000u

static const uint32_t bus_weights[] = {4, 4, 4, 2, 3, 3};
static const char *const half_names[] = {"fp32", "half"};
static const tb_knob knobs[] = {
    {"images", 1, IMAGES, TB_KNOB_SMALL, NULL, NULL, "images"},
    {"first", 0, IMAGES - 1, TB_KNOB_UNIFORM, NULL, NULL, "the first one; after the last one comes number 0"},
    {"half", 0, 1, TB_KNOB_ENUM, half_names, NULL, "operands rounded to binary16"},
    {"bus", 0, 5, TB_KNOB_ENUM, gemm_bus_names, bus_weights, "timing of the buses"},
};

typedef struct layer {
    uint32_t ic, oc, size, kernel, stride, pad; /* size: of the square input */
} layer;
static const layer layers[LAYERS] = {
    {1, 16, 8, 3, 1, 1}, {16, 32, 8, 3, 2, 1}, {32, 64, 4, 3, 2, 1}, {64, 10, 2, 2, 1, 0}};

typedef struct network {
    float *weights[LAYERS], *bias[LAYERS];
    uint8_t image[IMAGES][PIXELS], label[IMAGES];
} network;

static uint32_t out_size(const layer *l) {
    return (l->size + 2 * l->pad - l->kernel) / l->stride + 1;
}

static uint32_t taps(const layer *l) {
    return l->ic * l->kernel * l->kernel;
}

/* ---- files ---- */

static int read_floats(FILE *f, float **dst, size_t count) {
    *dst = malloc(count * sizeof **dst);
    return *dst != NULL && fread(*dst, sizeof **dst, count, f) == count ? 0 : -1;
}

/* models/digits/digits.bin: of each convolution a tag (0: binary32), weights, biases. */
static int read_weights(network *n, char *err, size_t err_size) {
    static const char path[] = "models/digits/digits.bin";
    FILE *f = fopen(path, "rb");
    int rc = f != NULL ? 0 : -1;
    for (uint32_t i = 0; i < LAYERS && rc == 0; i++) {
        uint32_t tag = 1;
        rc = fread(&tag, sizeof tag, 1, f) == 1 && tag == 0 ? 0 : -1;
        rc = rc == 0 ? read_floats(f, &n->weights[i], (size_t)layers[i].oc * taps(&layers[i])) : rc;
        rc = rc == 0 ? read_floats(f, &n->bias[i], layers[i].oc) : rc;
    }
    if (f != NULL) {
        fclose(f);
    }
    return rc == 0 ? 0 : opt_fail(err, err_size, "%s: cannot be read, expected four layers of binary32", path);
}

static int read_images(network *n, char *err, size_t err_size) {
    static const char path[] = "models/digits/heldout.csv";
    FILE *f = fopen(path, "r");
    int rc = f != NULL ? 0 : -1;
    for (uint32_t i = 0; i < IMAGES && rc == 0; i++) {
        for (uint32_t p = 0; p <= PIXELS && rc == 0; p++) {
            unsigned value = 0;
            rc = fscanf(f, p < PIXELS ? "%u," : "%u", &value) == 1 && value <= 16 ? 0 : -1;
            *(p < PIXELS ? &n->image[i][p] : &n->label[i]) = (uint8_t)value;
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return rc == 0 ? 0 : opt_fail(err, err_size, "%s: cannot be read, expected %d lines of 65 numbers", path, IMAGES);
}

static void close_network(network *n) {
    for (uint32_t i = 0; i < LAYERS; i++) {
        free(n->weights[i]);
        free(n->bias[i]);
    }
    free(n);
}

/* ---- layers ---- */

/* Row (channel, ky, kx), column (y, x): the input under that tap, 0 in the padding. */
static void im2col(const layer *l, const float *in, float *columns) {
    const uint32_t out = out_size(l);
    for (uint32_t row = 0; row < taps(l); row++) {
        const uint32_t c = row / (l->kernel * l->kernel), ky = row / l->kernel % l->kernel, kx = row % l->kernel;
        for (uint32_t i = 0; i < out * out; i++) {
            const uint32_t y = i / out * l->stride + ky - l->pad, x = i % out * l->stride + kx - l->pad;
            columns[row * out * out + i] = y < l->size && x < l->size ? in[(c * l->size + y) * l->size + x] : 0.0f;
        }
    }
}

/* The definition in double precision. */
static void reference(const layer *l, const float *weights, const float *bias, const double *in, double *out) {
    const uint32_t size = out_size(l);
    for (uint32_t o = 0; o < l->oc * size * size; o++) {
        const uint32_t oc = o / (size * size), oy = o / size % size, ox = o % size;
        double sum = (double)bias[oc];
        for (uint32_t row = 0; row < taps(l); row++) {
            const uint32_t c = row / (l->kernel * l->kernel), ky = row / l->kernel % l->kernel, kx = row % l->kernel;
            const uint32_t y = oy * l->stride + ky - l->pad, x = ox * l->stride + kx - l->pad;
            sum += y < l->size && x < l->size
                       ? (double)weights[oc * taps(l) + row] * in[(c * l->size + y) * l->size + x]
                       : 0.0;
        }
        out[o] = sum;
    }
}

/* One convolution on the engine: in -> out. */
static bool convolve(test_bench *t, uint32_t number, const float *in, float *out, uint32_t flags) {
    static float columns[MAX_COLUMNS];
    const layer *l = &layers[number];
    const uint32_t pixels = out_size(l) * out_size(l), rows = taps(l);
    im2col(l, in, columns);
    tb_pair_fill(&t->dev->pair, AT_COLUMNS, columns, (size_t)rows * pixels * sizeof *columns);
    const int32_t oc = (int32_t)l->oc, n = (int32_t)pixels, k = (int32_t)rows;
    const uint32_t weights = AT_WEIGHTS + number * LAYER_STEP, bias = AT_BIAS + number * 0x1000u;
    const sgemm_args sums = {SGEMM_ROW_MAJOR,
                             SGEMM_NO_TRANS,
                             SGEMM_NO_TRANS,
                             oc,
                             n,
                             k,
                             1.0f,
                             weights,
                             k,
                             AT_COLUMNS,
                             n,
                             0.0f,
                             AT_OUT,
                             n,
                             flags};
    const sgemm_args biases = {
        SGEMM_ROW_MAJOR, SGEMM_NO_TRANS, SGEMM_NO_TRANS, oc, n, 1, 1.0f, bias, 1, AT_ONES, n, 1.0f, AT_OUT, n, flags};
    sgemm_status status = sgemm_submit(&t->drv, &sums);
    status = status == SGEMM_OK ? sgemm_submit(&t->drv, &biases) : status; /* queued behind the first */
    status = status == SGEMM_OK ? sgemm_wait(&t->drv) : status;
    if (status != SGEMM_OK) {
        tb_run_fail(&t->dev->run, "driver:status", "the driver answered \"%s\"", sgemm_strerror(status));
    }
    return status == SGEMM_OK && sgemm_device_compare(t->dev) &&
           sgemm_device_read(t->dev, AT_OUT, out, (size_t)l->oc * pixels * sizeof *out);
}

/* The scores of an image, by the engine and by the reference. */
static bool classify(test_bench *t, const network *n, const uint8_t *image, float *scores, double *want,
                     uint32_t flags) {
    float plane[2][MAX_PLANE];
    double exact[2][MAX_PLANE];
    for (uint32_t p = 0; p < PIXELS; p++) {
        plane[0][p] = (float)image[p] / 16.0f;
        exact[0][p] = (double)plane[0][p];
    }
    for (uint32_t i = 0; i < LAYERS; i++) {
        const uint32_t values = layers[i].oc * out_size(&layers[i]) * out_size(&layers[i]);
        if (!convolve(t, i, plane[i % 2], plane[(i + 1) % 2], flags)) {
            return false;
        }
        reference(&layers[i], n->weights[i], n->bias[i], exact[i % 2], exact[(i + 1) % 2]);
        for (uint32_t v = 0; v < values && i + 1 < LAYERS; v++) { /* ReLU */
            plane[(i + 1) % 2][v] = plane[(i + 1) % 2][v] > 0.0f ? plane[(i + 1) % 2][v] : 0.0f;
            exact[(i + 1) % 2][v] = exact[(i + 1) % 2][v] > 0.0 ? exact[(i + 1) % 2][v] : 0.0;
        }
    }
    memcpy(scores, plane[LAYERS % 2], CLASSES * sizeof *scores);
    memcpy(want, exact[LAYERS % 2], CLASSES * sizeof *want);
    return true;
}

/* ---- the case ---- */

static void load(test_bench *t, const network *n) {
    float ones[PIXELS];
    for (uint32_t i = 0; i < PIXELS; i++) {
        ones[i] = 1.0f;
    }
    tb_pair_fill(&t->dev->pair, AT_ONES, ones, sizeof ones);
    for (uint32_t i = 0; i < LAYERS; i++) {
        tb_pair_fill(&t->dev->pair, AT_WEIGHTS + i * LAYER_STEP, n->weights[i],
                     (size_t)layers[i].oc * taps(&layers[i]) * sizeof(float));
        tb_pair_fill(&t->dev->pair, AT_BIAS + i * 0x1000u, n->bias[i], layers[i].oc * sizeof(float));
    }
}

static void run_images(test_bench *t, const network *n) {
    const tb_knobs *k = t->run->knobs;
    const bool half = tb_knobs_get(k, "half") != 0;
    const uint32_t images = (uint32_t)tb_knobs_get(k, "images"), first = (uint32_t)tb_knobs_get(k, "first");
    uint32_t right = 0, right_exact = 0;
    load(t, n);
    t->drv.min_dim = 0;
    for (uint32_t i = 0; i < images; i++) {
        const uint32_t number = (first + i) % IMAGES;
        float scores[CLASSES];
        double want[CLASSES], error = 0;
        uint32_t got = 0, best = 0;
        if (!classify(t, n, n->image[number], scores, want, half ? SGEMM_HALF : 0)) {
            return;
        }
        for (uint32_t c = 0; c < CLASSES; c++) {
            const double off = (double)scores[c] > want[c] ? (double)scores[c] - want[c] : want[c] - (double)scores[c];
            got = scores[c] > scores[got] ? c : got;
            best = want[c] > want[best] ? c : best;
            error = off > error ? off : error;
        }
        /* scores of the net are below 100: 2^-24 a step over at most 288 steps a layer, or 2^-11 of an operand */
        if (error > (half ? 0.25 : 0.001) || (got != best && want[best] - want[got] > 2 * error)) {
            tb_run_fail(&t->dev->run, "digits:class",
                        "image %" PRIu32 ": class got %" PRIu32 ", expected %" PRIu32 "; scores are off by %g", number,
                        got, best, error);
            return;
        }
        right += got == n->label[number];
        right_exact += best == n->label[number];
    }
    if (!t->run->again && !t->run->o->quiet) {
        printf("digits %s %s: %" PRIu32 " of %" PRIu32 " images right, in double precision %" PRIu32 ", %" PRIu64
               " cycles\n",
               SGEMM_CFG_NAME, half ? "binary16 operands" : "FP32", right, images, right_exact, t->dev->run.sim.cycle);
    }
}

static int body(void *bench, tb_prog_run *run) {
    network *n = calloc(1, sizeof *n);
    test_bench t;
    int rc =
        n == NULL ? opt_fail(run->err, sizeof run->err, "out of memory") : read_weights(n, run->err, sizeof run->err);
    rc = rc == 0 ? read_images(n, run->err, sizeof run->err) : rc;
    if (rc == 0) {
        test_begin(&t, bench, run);
        if (!tb_run_failed(&t.dev->run)) {
            run_images(&t, n);
        }
    }
    if (n != NULL) {
        close_network(n);
    }
    return rc;
}

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "images", seed, 1, 8);
    if (!gemm_mode_legal(tb_knobs_get(k, "half")) && !tb_knobs_is_pinned(k, "half")) {
        tb_knobs_set(k, "half", gemm_mode_legal(0) ? 0 : 1);
    }
}

static int check(const tb_test *test, const tb_knobs *k, char *err, size_t err_size) {
    (void)test;
    return gemm_mode_legal(tb_knobs_get(k, "half"))
               ? 0
               : opt_fail(err, err_size, "half=%s: configuration " SGEMM_CFG_NAME " has no such mode",
                          tb_knobs_get_name(k, "half"));
}

const tb_test test_digits = {.name = "digits",
                             .about = "the network of models/digits, convolutions as Caffe computes them",
                             .is_operator = true,
                             TB_KNOBS_OF(knobs),
                             .constrain = constrain,
                             .check = check,
                             .bench = &sgemm_bench,
                             .body = body};
