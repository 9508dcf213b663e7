/* target.c - tandem-net run --target NAME: a network on an engine other than the NPU, on its golden model or in tandem
 * with its RTL. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../pow2_net.h"
#include "../targets.h"
#include "netopt.h"
#include "photos.h"
#include "run.h"

/* What this program can simulate: the design that it was built for. */
#if defined(SGEMM_CFG_DIM)
static const uint32_t built[] = {SGEMM_CFG_DIM, SGEMM_CFG_VEC, SGEMM_CFG_R, 0};
#define BUILT "sgemm"
#elif defined(SAC_CFG_WVEC)
static const uint32_t built[] = {SAC_CFG_WVEC, SAC_CFG_CVEC, SAC_CFG_NVEC, SAC_CFG_CACHEPAGES};
#define BUILT "sac"
#else
static const uint32_t built[4];
#define BUILT ""
#endif

static const char help_text[] =
    "usage: tandem-net run --target NAME --net FILE --bin FILE [options] --image FILE ...\n"
    "A network on an engine: where each layer runs, its cycles, and the results beside those in FP32.\n";

typedef struct options {
    photos_options photo; /* network, inputs */
    const char *target, *pow2, *out_pow2, *device, *only, *bus, *wave;
    opt_list calib;
    uint32_t sizes[4], count, first, last;
    bool has_sizes, half, search, quiet;
    uint64_t seed;
} options;

typedef struct job {
    const options *o;
    const net_target *target;
    net_graph graph, own; /* own: with the weights of --bin, where the engine's are rounded */
    void *engine;
    net_targeted *t;
    photos_source source, calib;
    photos_options calib_options;
    net_scales scales;
    net_target_options open;
} job;

/* ---- the network ---- */

static const net_target *find(const char *name) {
    static const net_target *const all[] = NET_TARGETS;
    for (size_t i = 0; all[i] != NULL; i++) {
        if (strcmp(all[i]->name, name) == 0) {
            return all[i];
        }
    }
    return NULL;
}

/* Weights: those of the file, or for engines that need them powers of two, which a norm behind them must not scale. */
static net_status weights(job *j, net_error *err) {
    const options *o = j->o;
    net_pow2 p = {0};
    if (j->target->fits == NULL) {
        return NET_OK;
    }
    net_status status = net_opt_norms(&j->graph, NULL, err);
    if (status != NET_OK) {
        return status;
    }
    status = o->pow2 != NULL ? net_pow2_load(&p, o->pow2, err) : net_pow2_from_graph(&j->graph, &p, err);
    status = status == NET_OK && o->out_pow2 != NULL ? net_pow2_save(&p, o->out_pow2, err) : status;
    status = status == NET_OK
                 ? net_pow2_to_graph(&p, &j->graph, o->pow2 != NULL ? o->pow2 : "the network's own weights", err)
                 : status;
    net_pow2_free(&p);
    return status == NET_OK ? photos_load(&o->photo, &j->own, NULL, err) : status;
}

/* The network in FP32. */
static const net_graph *in_fp32(const job *j) {
    return j->own.planned ? &j->own : &j->graph;
}

/* Labels of the inputs; NULL: not all have one. */
static const uint16_t *labels(const job *j) {
    return j->o->photo.count == 1 && j->source.images[0].count > 0 ? j->source.images[0].label : NULL;
}

static uint32_t inputs(const job *j) {
    return j->o->count != 0 && j->o->count < j->source.count ? j->o->count : j->source.count;
}

static net_status scales(job *j, net_error *err) {
    const net_inputs calib = {.count = j->calib.count, .load = photos_input, .user = &j->calib};
    net_status status = net_scales_new(&j->scales, j->t, &calib, err);
    return status == NET_OK ? net_scales_set(&j->scales, j->t, j->target->fits, j->engine, err) : status;
}

static net_status prepare(job *j, net_error *err) {
    const options *o = j->o;
    net_status status = photos_load(&o->photo, &j->graph, NULL, err);
    if (status == NET_OK && j->graph.output == NET_NONE) {
        (void)snprintf(err->text, sizeof err->text, "%.200s: %u outputs, expected one", o->photo.net,
                       j->graph.num_outputs);
        return NET_ERR_UNSUPPORTED;
    }
    status = status == NET_OK ? weights(j, err) : status;
    const net_shape *shape = status == NET_OK ? &j->graph.blob[j->graph.input].shape : NULL;
    j->calib_options = o->photo;
    j->calib_options.input = o->calib.count > 0 ? o->calib.item : o->photo.input;
    j->calib_options.count = o->calib.count > 0 ? (uint32_t)o->calib.count : o->photo.count;
    status = status == NET_OK ? photos_source_open(&j->source, &o->photo, shape, err) : status;
    status = status == NET_OK ? photos_source_open(&j->calib, &j->calib_options, shape, err) : status;
    status = status == NET_OK ? j->target->open(&j->open, &j->engine, err) : status;
    status = status == NET_OK ? net_targeted_new(&j->graph, j->target, j->engine, &j->t, err) : status;
    return status == NET_OK && j->target->fits != NULL ? scales(j, err) : status;
}

static void release(job *j) {
    net_targeted_free(j->t);
    if (j->engine != NULL) {
        j->target->close(j->engine);
    }
    net_scales_free(&j->scales);
    if (j->source.opt != NULL) {
        photos_source_free(&j->source);
    }
    if (j->calib.opt != NULL) {
        photos_source_free(&j->calib);
    }
    net_graph_free(&j->graph);
    net_graph_free(&j->own);
}

/* ---- reports ---- */

static void print_layers(const job *j) {
    const net_graph *g = &j->graph;
    const bool rtl = strcmp(j->o->device, "tandem") == 0;
    uint64_t cycles = 0, expected = 0;
    printf("%-24s %-20s %-9s %12s %6s %12s %12s\n", "layer", "type", "where", "MACs", "tasks",
           rtl ? "cycles" : "cycles (-)", "formula");
    for (uint32_t i = 0; i < g->num_layers; i++) {
        const net_target_layer *l = net_targeted_layer(j->t, i);
        static const char *const where[] = {"cpu", "engine", "fused"};
        printf("%-24.24s %-20.20s %-9s %12" PRIu64 " %6" PRIu64 " %12" PRIu64 " %12" PRIu64 "%s%s\n", g->layer[i].name,
               g->layer[i].type, where[l->place], net_layer_macs(g, i), l->tasks, l->cycles, l->expected,
               l->reason[0] != '\0' ? "  " : "", l->reason);
        cycles += l->cycles;
        expected += l->expected;
    }
    printf("%-24s %-20s %-9s %12" PRIu64 " %6s %12" PRIu64 " %12" PRIu64 "\n", "all", "", "", net_graph_macs(g), "",
           cycles, expected);
    printf("%.2f %% of the multiply-accumulates on the engine\n",
           100.0 * (double)net_targeted_macs(j->t) / (double)(net_graph_macs(g) > 0 ? net_graph_macs(g) : 1));
}

static void print_scales(const job *j) {
    printf("%-24s %8s %6s %6s %6s %6s %8s %10s\n", "scales of", "channels", "cap", "first", "least", "most", "lowered",
           "norm1");
    for (uint32_t p = 0; p < j->scales.points; p++) {
        const net_scale_point *point = &j->scales.point[p];
        const int8_t *q = j->scales.q[point->blob];
        int8_t least = q[0], most = q[0];
        for (uint32_t c = 0; c < point->channels; c++) {
            least = q[c] < least ? q[c] : least;
            most = q[c] > most ? q[c] : most;
        }
        printf("%-24.24s %8u %6d %6d %6d %6d %8u %10.4f\n", point->name, point->channels, point->cap.cap,
               point->cap.first_cap, least, most, point->lowered, point->cap.norm1);
    }
}

/* The classes with the largest values, at most `top`: how many. */
static uint32_t largest(const float *value, uint32_t count, uint32_t top, uint32_t *at) {
    uint32_t found = 0;
    uint32_t next = photos_next_top(value, count, UINT32_MAX);
    while (found < top && next != UINT32_MAX) {
        at[found++] = next;
        next = photos_next_top(value, count, next);
    }
    return found;
}

/* A line for a picture: its classes on the engine and in FP32. true: the same in the same order. */
static bool print_picture(const job *j, uint32_t i, const float *engine, const float *fp32) {
    const uint32_t count = net_shape_elements(&j->graph.blob[j->graph.output].shape);
    uint32_t a[16], b[16];
    const uint32_t top = j->o->photo.top < 16 ? j->o->photo.top : 16;
    char name[300];
    photos_source_name(&j->source, i, name, sizeof name);
    const uint32_t ours = largest(engine, count, top, a), theirs = largest(fp32, count, top, b);
    printf("image %s engine", name);
    for (uint32_t k = 0; k < ours; k++) {
        printf(" %u %.3f", a[k], (double)engine[a[k]]);
    }
    printf(" fp32");
    for (uint32_t k = 0; k < theirs; k++) {
        printf(" %u %.3f", b[k], (double)fp32[b[k]]);
    }
    const bool same = ours == theirs && memcmp(a, b, ours * sizeof *a) == 0;
    const bool first = ours > 0 && theirs > 0 && a[0] == b[0];
    printf(" %s\n", same ? "same" : first ? "same first" : "other");
    return same;
}

/* ---- runs ---- */

typedef struct counts {
    uint32_t fp32, engine, same_first, same;
} counts;

static net_status run_one(job *j, net_ref *ref, uint32_t i, float *input, counts *n, net_error *err) {
    const net_graph *g = &j->graph;
    const uint32_t classes = net_shape_elements(&g->blob[g->output].shape);
    net_status status = photos_input(&j->source, i, input, err);
    status = status == NET_OK ? net_targeted_run_some(j->t, input, j->o->first, j->o->last, err) : status;
    if (status != NET_OK) {
        return status;
    }
    net_ref_run(ref, input);
    const float *engine = net_targeted_blob(j->t, g->output), *fp32 = net_ref_blob(ref, g->output);
    const uint32_t a = net_argmax(engine, classes), b = net_argmax(fp32, classes);
    const uint16_t *label = labels(j);
    n->engine += label != NULL && a == label[i];
    n->fp32 += label != NULL && b == label[i];
    n->same_first += a == b;
    n->same += label == NULL && print_picture(j, i, engine, fp32);
    return NET_OK;
}

static net_status run_all(job *j, net_error *err) {
    counts n = {0};
    net_ref *ref = NULL;
    float *input = calloc(net_graph_input_elements(&j->graph) + 1, sizeof *input);
    net_status status = input != NULL ? net_ref_new(in_fp32(j), &ref, err) : NET_ERR_MEMORY;
    const uint32_t all = inputs(j);
    for (uint32_t i = 0; i < all && status == NET_OK; i++) {
        status = run_one(j, ref, i, input, &n, err);
    }
    net_ref_free(ref);
    free(input);
    if (status == NET_OK && labels(j) != NULL) {
        printf("%u images: FP32 %u right, engine %u right, same class %u\n", all, n.fp32, n.engine, n.same_first);
    } else if (status == NET_OK) {
        printf("%u images: same class as in FP32 %u, same first %u in the same order %u\n", all, n.same_first,
               j->o->photo.top, n.same);
    }
    return status;
}

/* Accuracy of the calibration inputs, and lower caps where it is low. */
static net_status search(job *j, net_error *err) {
    const net_inputs in = {.count = inputs(j), .load = photos_input, .user = &j->source};
    net_pow2_result result = {0};
    net_scale_run run = {
        .scales = &j->scales, .t = j->t, .inputs = &in, .label = labels(j), .fits = j->target->fits, .ctx = j->engine};
    const net_status status = j->o->search ? net_scale_search(&run, &result, err) : net_scale_measure(&run, err);
    if (status == NET_OK) {
        printf("weights that are powers of two, %u images: FP32 activations %u right, INT8 activations %u%s, %u runs\n",
               in.count, run.fp32_right, run.right, run.label == NULL ? " (as those in FP32)" : "",
               j->o->search ? result.runs : 1);
        print_scales(j);
    }
    return status;
}

static int run(const options *o) {
    job j = {.o = o, .target = find(o->target)};
    net_error err = {""};
    j.open = (net_target_options){.device = o->device,
                                  .bus = o->bus,
                                  .wave = o->wave,
                                  .seed = o->seed,
                                  .sizes = strcmp(o->device, "tandem") == 0 ? built
                                           : o->has_sizes                   ? o->sizes
                                                                            : NULL,
                                  .half = o->half,
                                  .scales = &j.scales};
    net_status status = prepare(&j, &err);
    if (status == NET_OK && j.target->fits != NULL && o->only == NULL) {
        status = search(&j, &err);
    }
    status = status == NET_OK ? run_all(&j, &err) : status;
    if (status == NET_OK && !o->quiet) {
        print_layers(&j);
    }
    const int result = status == NET_OK ? 0 : photos_failed(status, &err);
    release(&j);
    return result;
}

/* ---- options ---- */

/* Up to four numbers, separated by commas. */
static int take_sizes(void *to, const char *value, char *err, size_t err_size) {
    uint32_t *size = (uint32_t *)to;
    const char *at = value;
    for (int i = 0; i < 4; i++) {
        char *end;
        const unsigned long n = strtoul(at, &end, 10);
        if (*at < '0' || *at > '9' || n < 1 || n > 65535 || (*end != ',' && *end != '\0')) {
            return opt_fail(err, err_size, "expected up to four numbers as in 4,8,8,25088, got '%.60s'", value);
        }
        size[i] = (uint32_t)n;
        if (*end == '\0') {
            return 0;
        }
        at = end + 1;
    }
    return opt_fail(err, err_size, "expected up to four numbers as in 4,8,8,25088, got '%.60s'", value);
}

static int complete(options *o) {
    const net_target *target = find(o->target);
    if (target == NULL) {
        return netopt_usage("--target", o->target, ": expected npu, sgemm or sac");
    }
    if (o->photo.net == NULL || o->photo.bin == NULL || o->photo.count == 0) {
        return netopt_usage("run --target needs --net, --bin and at least one --image", "", "");
    }
    if (strcmp(o->device, "tandem") == 0 && strcmp(o->target, BUILT) != 0) {
        return netopt_usage("--device tandem: this program was built without the RTL of", o->target, "");
    }
    if (target->fits == NULL && (o->pow2 != NULL || o->out_pow2 != NULL || o->search || o->calib.count > 0)) {
        return netopt_usage("--pow2, --out-pow2, --calib and --search are for engines with integers", "", "");
    }
    o->last = UINT32_MAX;
    if (o->only != NULL && !netrun_range(o->only, NET_MAX_LAYERS, &o->first, &o->last)) {
        return netopt_usage("--only", o->only, ": expected K or K-L");
    }
    return 0;
}

static int parse(options *o, int argc, char **argv) {
    static const char *const devices[] = {"model", "tandem", NULL};
    opt_list images = {.item = o->photo.input, .most = (size_t)argc};
    const opt_row rows[] = {
        OPT(TEXT, "--target", "npu|sgemm|sac", "engine", &o->target),
        OPT(TEXT, "--net", "FILE", "ncnn network with float weights,", &o->photo.net),
        OPT(TEXT, "--bin", "FILE", "and these", &o->photo.bin),
        OPT(WORDS, "--image", "FILE ...", "PNG, JPEG or PNM pictures, .npy, or one .csv of labelled images", &images),
        NETOPT_PICTURE(o->photo.prep),
        NETOPT_SHAPE(o->photo.shape, "shape of an input that has none in the file"),
        OPT(U32, "--count", "K", "the first K inputs (default: all)", &o->count, .lo = 1, .hi = 1000000),
        OPT(U32, "--top", "K", "classes to print and to compare (default 5)", &o->photo.top, .lo = 1, .hi = 16),
        OPT(TEXT, "--device", "model|tandem", "(default model); tandem: RTL and model, compared after each task",
            &o->device, .words = devices),
        OPT(TAKE, "--sizes", "A,B,...",
            "parameters of the model's build, as designs/NAME/design lists them (tandem: those of the RTL)", o->sizes,
            .given = &o->has_sizes, .take = take_sizes),
        OPT(FLAG, "--half", NULL, "sgemm: operands rounded to binary16", &o->half),
        OPT(TEXT, "--pow2", "FILE", "sac: weights that are powers of two; without it those of --bin are rounded",
            &o->pow2),
        OPT(TEXT, "--out-pow2", "FILE", "sac: write them", &o->out_pow2),
        OPT(WORDS, "--calib", "FILE ...", "sac: inputs for the scales of activations (default: those of --image)",
            &o->calib),
        OPT(FLAG, "--search", NULL, "sac: lower caps of layers until the accuracy is within one point of FP32",
            &o->search),
        OPT(TEXT, "--only", "K[-L]", "these layers alone on the engine, all others in FP32", &o->only),
        OPT(U64, "--seed", "S", "seed of the bus timing of the RTL", &o->seed),
        OPT(TEXT, "--bus", "PROFILE", "profile of the bus timing of the RTL", &o->bus),
        OPT(TEXT, "--wave", "FILE", "FST waves of the RTL (builds with tracing)", &o->wave),
        OPT(FLAG, "--quiet", NULL, "without the table of layers", &o->quiet),
    };
    const opt_group group = OPT_GROUP(NULL, rows);
    const netopt_line line = {
        .head = help_text, .group = &group, .groups = 1, .command = "run", .skip = netrun_command(argc, argv)};
    const int status = netopt_parse(&line, argc, argv);
    o->photo.count = (uint32_t)images.count;
    return status != 0 ? status : complete(o);
}

const char *nettarget_asked(int argc, char *const *argv) {
    for (int i = 1; i < argc; i++) {
        const char *value = strncmp(argv[i], "--target=", 9) == 0              ? argv[i] + 9
                            : strcmp(argv[i], "--target") == 0 && i + 1 < argc ? argv[i + 1]
                                                                               : NULL;
        if (value != NULL) {
            return strcmp(value, "npu") == 0 ? NULL : value;
        }
    }
    return NULL;
}

int nettarget_main(int argc, char **argv) {
    options o = {.device = "model", .seed = 1, .photo = {.top = 5}};
    o.photo.input = calloc(2 * (size_t)argc, sizeof *o.photo.input);
    if (o.photo.input == NULL) {
        fputs("tandem-net: out of memory\n", stderr);
        return 1;
    }
    o.calib = (opt_list){.item = o.photo.input + argc, .most = (size_t)argc};
    int status = parse(&o, argc, argv);
    status = status == 0 ? run(&o) : status < 0 ? 0 : status;
    photos_free(&o.photo);
    return status;
}
