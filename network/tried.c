#include "tried.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op.h"

#define PIXELS 64u
#define NORM 0.0625f
#define SURE 0.5f /* by which the first class leads in FP32, so that no rounding can change it */

const char *const net_tried_names[3] = {"digits", "lenet", "squeezenet"};
const uint32_t net_tried_weights[3] = {1, 1, 2};

enum { DIGITS, LENET, SQUEEZENET };

void net_tried_constrain(tb_knobs *k, uint64_t seed) {
    const bool squeezenet = tb_knobs_get(k, "net") == SQUEEZENET;
    tb_knobs_draw_in(k, "images", seed, 1, squeezenet ? 1 : 2);
    tb_knobs_draw_in(k, "layer", seed, squeezenet ? 1 : 0, squeezenet ? NET_TRIED_LAYERS : 0);
    tb_knobs_draw_in(k, "side", seed, 25, 40);
}

/* A case in execution. */
typedef struct job {
    const net_tried *tried;
    int net;
    uint64_t seed;
    uint32_t first, side;
    net_graph graph;
    net_images images, calib;
    net_targeted *t;
    net_ref *ref;  /* the whole network in FP32 */
    net_ref *same; /* single layers in FP32, on what the engine has read */
    float *input;
} job;

static net_status load(job *j, net_error *err) {
    static const char *const files[][2] = {{"models/digits/digits.param", "models/digits/digits.bin"},
                                           {"models/lenet/lenet.param", "models/lenet/lenet.bin"},
                                           {"models/squeezenet/squeezenet_v1.1.param", NULL}};
    net_graph *g = &j->graph;
    net_status status = j->net == SQUEEZENET ? net_graph_load_param(g, files[j->net][0], err)
                                             : net_graph_load(g, files[j->net][0], files[j->net][1], err);
    if (j->net == SQUEEZENET) {
        status = status == NET_OK ? net_graph_random_weights(g, j->seed, err) : status;
        status = status == NET_OK ? net_graph_set_input(g, j->side, j->side, 3, err) : status;
    } else {
        status = status == NET_OK ? net_images_load(&j->images, "models/digits/heldout.csv", PIXELS, err) : status;
        status = status == NET_OK ? net_images_load(&j->calib, "models/digits/calibration.csv", PIXELS, err) : status;
    }
    return status == NET_OK ? net_graph_plan(g, err) : status;
}

/* Weights that are powers of two: trained ones of the digits network, rounded ones of the others. */
static net_status weights(job *j, net_error *err) {
    static const char trained[] = "models/digits/digits.pow2";
    net_pow2 p = {0};
    net_status status = j->net == DIGITS ? net_pow2_load(&p, trained, err) : net_pow2_from_graph(&j->graph, &p, err);
    status = status == NET_OK ? net_pow2_to_graph(&p, &j->graph, trained, err) : status;
    net_pow2_free(&p);
    return status;
}

static net_status calib_input(void *user, uint32_t i, float *input, net_error *err) {
    const job *j = (const job *)user;
    (void)err;
    if (j->net == SQUEEZENET) {
        net_seeded_input(&j->graph, j->seed, input);
    } else {
        net_images_input(&j->calib, i, NORM, input);
    }
    return NET_OK;
}

static net_status prepare(job *j, net_error *err) {
    const net_tried *tried = j->tried;
    net_status status = load(j, err);
    status = status == NET_OK && tried->target->fits != NULL ? weights(j, err) : status;
    status = status == NET_OK ? net_targeted_new(&j->graph, tried->target, tried->engine, &j->t, err) : status;
    status = status == NET_OK ? net_ref_new(&j->graph, &j->ref, err) : status;
    status = status == NET_OK ? net_ref_new(&j->graph, &j->same, err) : status;
    if (status == NET_OK && tried->target->fits != NULL) {
        const net_inputs inputs = {.count = j->net == SQUEEZENET ? 1 : j->calib.count, .load = calib_input, .user = j};
        status = net_scales_new(tried->scales, j->t, &inputs, err);
        status =
            status == NET_OK ? net_scales_set(tried->scales, j->t, tried->target->fits, tried->engine, err) : status;
    }
    j->input = status == NET_OK ? calloc(net_graph_input_elements(&j->graph) + 1, sizeof *j->input) : NULL;
    return status == NET_OK && j->input == NULL ? net_fail(err, NET_ERR_MEMORY, "out of memory") : status;
}

static void release(job *j) {
    free(j->input);
    net_ref_free(j->ref);
    net_ref_free(j->same);
    net_targeted_free(j->t);
    net_images_free(&j->images);
    net_images_free(&j->calib);
    net_graph_free(&j->graph);
}

/* Layers of the knob `layer`: all, or the one of that number among those of the engine. */
static void choose(const job *j, uint32_t number, uint32_t *first, uint32_t *last) {
    uint32_t engine = 0, at = 0;
    *first = 0;
    *last = UINT32_MAX;
    for (uint32_t i = 0; i < j->graph.num_layers; i++) {
        engine += net_targeted_layer(j->t, i)->place == NET_TARGET_ENGINE;
    }
    for (uint32_t i = 0; i < j->graph.num_layers && number > 0 && engine > 0; i++) {
        at += net_targeted_layer(j->t, i)->place == NET_TARGET_ENGINE;
        if (at == (number - 1) % engine + 1) {
            *first = *last = i;
            return;
        }
    }
}

static int failed(net_tried_result *r, const char *signature, const char *message) {
    (void)snprintf(r->signature, sizeof r->signature, "%s", signature);
    (void)snprintf(r->message, sizeof r->message, "%s", message);
    return 1;
}

/* What the engine takes a blob for: the numbers themselves, or those that its integers stand for. */
static void as_taken(const job *j, uint32_t blob, const float *in, float *out) {
    const net_scales *scales = j->tried->scales;
    uint32_t each;
    const uint32_t channels = net_scale_channels(&j->graph.blob[blob].shape, &each);
    for (size_t i = 0; i < (size_t)channels * each; i++) {
        const int q = scales != NULL ? scales->q[blob][i / each] : 0;
        out[i] = scales != NULL ? ldexpf(net_pow2_activation(in[i], q), -q) : in[i];
    }
}

/* The nearest number that an integer of this scale stands for is at most a step away, beyond the largest one it is
 * that. */
static double clipped(double value, double step) {
    return fmax(-128.0 * step, fmin(127.0 * step, value));
}

/* Layers `layer` to `last`, which were one step of the engine, beside their definition in FP32 on the same input. 1:
 * too far from it. */
static int compare(const job *j, uint32_t layer, net_tried_result *r) {
    const net_graph *g = &j->graph;
    const uint32_t last = net_targeted_layer(j->t, layer)->last, blob = g->layer[last].out[0];
    const float *got = net_targeted_blob(j->t, blob), *expected = net_ref_blob(j->same, blob);
    const uint32_t in = g->layer[layer].in[0];
    /* an average has terms with scales of their own */
    const bool average =
        j->tried->scales != NULL && strcmp(g->layer[last].type, "Pooling") == 0 && !g->layer[last].pool.max;
    const uint32_t terms = average ? g->layer[last].in[0] : in;
    uint32_t each;
    const uint32_t channels = net_scale_channels(&g->blob[blob].shape, &each);
    double most = 0;
    as_taken(j, in, net_targeted_blob(j->t, in), net_ref_space(j->same, in));
    for (uint32_t i = layer; i <= last; i++) { /* fused layers follow each other */
        if (i == last && terms != in) {
            as_taken(j, terms, net_ref_blob(j->same, terms), net_ref_space(j->same, terms));
        }
        net_ref_run_layer(j->same, i);
    }
    for (size_t i = 0; i < (size_t)channels * each; i++) {
        most = fmax(most, fabs((double)expected[i]));
    }
    for (size_t i = 0; i < (size_t)channels * each; i++) {
        const double step = j->tried->scales != NULL ? ldexp(1, -j->tried->scales->q[blob][i / each]) : 0;
        const double want = step > 0 ? clipped((double)expected[i], step) : (double)expected[i];
        const double before = average ? ldexp(1, -j->tried->scales->q[terms][i / each]) : 0;
        if (!(fabs((double)got[i] - want) <= step + before + j->tried->bound * most)) {
            char text[200];
            (void)snprintf(text, sizeof text, "layer '%.60s': element %zu: got %g, expected %g", g->layer[layer].name,
                           i, (double)got[i], want);
            return failed(r, "net:output", text);
        }
    }
    return 0;
}

/* One image, all layers in [first, last] on the engine. 1: a failure. */
static int run_image(const job *j, uint32_t image, uint32_t first, uint32_t last, net_tried_result *r) {
    const net_graph *g = &j->graph;
    net_error err = {""};
    if (j->net == SQUEEZENET) {
        net_seeded_input(g, j->seed, j->input);
    } else {
        net_images_input(&j->images, image, NORM, j->input);
    }
    if (net_targeted_run_some(j->t, j->input, first, last, &err) != NET_OK) {
        return failed(r, "net:run", err.text);
    }
    net_ref_run(j->ref, j->input);
    int bad = 0;
    for (uint32_t i = 0; i < g->num_layers && bad == 0; i++) {
        const net_target_layer *l = net_targeted_layer(j->t, i);
        r->tasks += l->tasks;
        r->cycles += l->cycles;
        r->expected += l->expected;
        bad = l->tasks > 0 ? compare(j, i, r) : 0;
    }
    if (j->net == SQUEEZENET || bad != 0) {
        return bad;
    }
    const float *out = net_targeted_blob(j->t, g->output), *fp32 = net_ref_blob(j->ref, g->output);
    const uint32_t classes = net_shape_elements(&g->blob[g->output].shape);
    const uint32_t got = net_argmax(out, classes), expected = net_argmax(fp32, classes);
    r->images++;
    r->right += got == j->images.label[image];
    r->fp32_right += expected == j->images.label[image];
    if (got != expected && fp32[expected] - fp32[got] > SURE) {
        char text[120];
        (void)snprintf(text, sizeof text, "image %u: class got %u, expected %u", image, got, expected);
        return failed(r, "net:class", text);
    }
    return 0;
}

int net_tried_run(const net_tried *tried, const tb_knobs *k, uint64_t seed, net_tried_result *result, net_error *err) {
    job j = {.tried = tried,
             .net = (int)tb_knobs_get(k, "net"),
             .seed = seed,
             .first = (uint32_t)tb_knobs_get(k, "first"),
             .side = (uint32_t)tb_knobs_get(k, "side")};
    const uint32_t images = j.net == SQUEEZENET ? 1 : (uint32_t)tb_knobs_get(k, "images");
    *result = (net_tried_result){0};
    const net_status status = prepare(&j, err);
    if (status == NET_OK) {
        uint32_t first, last;
        int bad = 0;
        choose(&j, (uint32_t)tb_knobs_get(k, "layer"), &first, &last);
        for (uint32_t i = 0; i < images && bad == 0; i++) {
            const uint32_t image = j.net == SQUEEZENET ? 0 : (j.first + i) % j.images.count;
            bad = run_image(&j, image, first, last, result);
        }
    }
    release(&j);
    return status == NET_OK ? 0 : -1;
}
