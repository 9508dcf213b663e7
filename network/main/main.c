/* main.c - program tandem-net: accuracy of a network in FP32 and INT8, and its INT8 convolutions on the RTL bit for bit. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netjob.h"
#include "photos.h"
#include "run.h"

#ifdef NPU_CFG_N
#define DEFAULT_N NPU_CFG_N
#define DEFAULT_DEVICE "tandem"
#else
/* Built without an RTL: only the golden model, of any size. */
#define DEFAULT_N 8
#define DEFAULT_DEVICE "model"
#endif

#define DIGITS "models/digits/"
#define DEFAULT_COUNT 30u
#define FP32_AT_LEAST 95.0
#define INT8_MAY_LOSE 1.0
#define GATE_IMAGES 300u

static const char help_text[] =
    "usage: tandem-net [options]\n"
    "       tandem-net classify|calibrate --help   pictures, top-5, INT8 scales\n"
    "       tandem-net detect --help               boxes of SSD and YOLO networks\n"
    "       tandem-net run|survey --help           any network on a device; many networks, a line each\n"
    "Without --net: the digits job, models/digits with its gates.\n"
    "  --show FILE                      layers, shapes and multiply-accumulates of a .param file, nothing else\n"
    "  --net FILE --bin FILE            ncnn network (float, or INT8)\n"
    "  --int8-net FILE --int8-bin FILE  its INT8 form; without it the float network is quantised over --calib\n"
    "  --quantise                       digits job: quantise the float network instead of reading the INT8 files\n"
    "  --images FILE                    labelled images, a line each: pixels and class, separated by commas\n"
    "  --calib FILE                     images for the activation ranges, same format\n"
    "  --layers                         FP32 of every layer of --net: shape as CxHxW, MACs, time (no images)\n"
    "  --optimise                       with --layers: first simplify the graph; each change is printed\n"
    "  --random-weights SEED            with --layers: weights and input from a seed instead of --bin\n"
    "  --shape WxHxC                    with --show or --layers: shape of inputs that have none in the file\n"
    "  --input FILE --dump DIR          with --layers: input as raw floats; every blob into DIR/<number>.f32\n"
    "  --norm F                         input = pixel * F (default 0.0625)\n"
    "  --device model|rtl|tandem        where INT8 runs besides the golden model (default " DEFAULT_DEVICE ")\n"
    "  --count K                        images on the RTL (default 30)\n"
    "  --fp32                           only the FP32 reference\n"
    "  --gate                           fail unless FP32 >= 95 % over at least 300 images and INT8 within one point (digits job: always)\n"
    "  --cfg n4|n8|n16|n32              mesh size (an RTL program: only its own)\n"
    "  --seed S --bus PROFILE           bus timing of the RTL\n"
    "  --wave FILE                      FST waves of the RTL (builds with tracing)\n"
    "  --result FILE                    write outcome, cycles and trace hash as key=value\n"
    "  --verbose                        class and layer hashes of the first --count images\n";

static int usage(const char *what, const char *value, const char *expected) {
    fprintf(stderr, "tandem-net: %s%s%s%s%s\n", what, value[0] == '\0' ? "" : " '", value, value[0] == '\0' ? "" : "'", expected);
    return 2;
}

/* ---- the job ---- */

static bool gates(netjob *job) {
    double fp32 = 100.0 * job->fp32_right / job->images.count;
    double int8 = 100.0 * job->int8_right / job->images.count;
    if (job->images.count < GATE_IMAGES) {
        tb_result_fail(&job->result, TB_FAIL, "network/too-few-images", "%u images, the gates need at least %u", job->images.count,
                       GATE_IMAGES);
    } else if (job->has_fp32 && fp32 < FP32_AT_LEAST) {
        tb_result_fail(&job->result, TB_FAIL, "network/fp32-accuracy", "FP32 accuracy %.2f %%, expected at least %.0f %%", fp32,
                       FP32_AT_LEAST);
    } else if (job->has_fp32 && !job->opt->fp32_only && int8 < fp32 - INT8_MAY_LOSE) {
        tb_result_fail(&job->result, TB_FAIL, "network/int8-accuracy", "INT8 accuracy %.2f %%, expected at least %.2f %%", int8,
                       fp32 - INT8_MAY_LOSE);
    } else {
        printf("gates      passed\n");
        return true;
    }
    return false;
}

static void passes(netjob *job) {
    const netjob_options *opt = job->opt;
    bool ok = netjob_load(job);
    job->count = !opt->count_given && job->images.count < opt->count ? job->images.count : opt->count;
    if (ok && job->count > job->images.count) {
        tb_result_fail(&job->result, TB_ERROR, "network/input", "--count %u, but %s holds %u images", opt->count, opt->images,
                       job->images.count);
        ok = false;
    }
    if (ok && opt->fp32_only && !job->has_fp32) {
        tb_result_fail(&job->result, TB_ERROR, "network/input", "--fp32: %s is not a float network", opt->net);
        ok = false;
    }
    if (ok && job->has_fp32) {
        ok = netjob_fp32(job);
    }
    if (ok && !opt->fp32_only) {
        ok = netjob_model(job);
    }
    if (ok && !opt->fp32_only && strcmp(opt->device, "model") == 0) {
        printf("rtl        not run: --device model\n");
    } else if (ok && !opt->fp32_only) {
        ok = netjob_rtl(job, strcmp(opt->device, "rtl") == 0 ? NPU_DEV_RTL : NPU_DEV_TANDEM);
    }
    if (ok && opt->gate) {
        (void)gates(job);
    }
}

static void release(netjob *job) {
    net_images_free(&job->images);
    net_graph_free(&job->fp32);
    net_graph_free(&job->int8);
    free(job->hash);
    free(job->input);
    tb_result_free(&job->result);
}

int netjob_run(const netjob_options *opt) {
    netjob job = {.opt = opt};
    tb_result_init(&job.result);
    if (opt->layers) {
        netjob_layers(opt, &job.result);
    } else {
        passes(&job);
    }
    /* A report that cannot be written (full disk) is a failure, whatever it says. */
    if (fflush(stdout) != 0 || ferror(stdout)) {
        tb_result_fail(&job.result, TB_FAIL, "network/output", "cannot write to standard output: %s", strerror(errno));
    }
    int status = tb_result_exit(&job.result);
    if (status != 0) {
        fprintf(stderr, "tandem-net: %s\n", job.result.message);
    }
    if (opt->result != NULL) {
        char err[400] = "";
        if (tb_result_save(&job.result, opt->result, err, sizeof err) != 0) {
            fprintf(stderr, "tandem-net: %s\n", err);
            status = status == 0 ? 1 : status;
        }
    }
    release(&job);
    return status;
}

/* ---- options ---- */

typedef struct text_option {
    const char *name;
    const char **value;
} text_option;

static bool parse_norm(const char *text, float *out) {
    char *end;
    float value = strtof(text, &end);
    if (end == text || *end != '\0' || !isfinite(value)) {
        return false;
    }
    *out = value;
    return true;
}

bool netjob_parse_cfg(const char *text, uint32_t *out) {
    static const char *const names[] = {"n4", "n8", "n16", "n32"};
    for (uint32_t i = 0; i < 4; i++) {
        if (strcmp(text, names[i]) == 0) {
            *out = 4u << i;
            return true;
        }
    }
    return false;
}

/* WxHxC, each 1..65536. */
bool netjob_parse_shape(const char *text, uint32_t size[3]) {
    for (int i = 0; i < 3; i++) {
        char *end;
        if (*text < '0' || *text > '9') {
            return false;
        }
        unsigned long value = strtoul(text, &end, 10);
        if (value < 1 || value > 65536 || *end != (i < 2 ? 'x' : '\0')) {
            return false;
        }
        size[i] = (uint32_t)value;
        text = end + 1;
    }
    return true;
}

/* Option with a value that is not plain text. 0: done, -1: not such an option, otherwise the exit status. */
static int number_option(netjob_options *o, const char *name, const char *value) {
    uint64_t number = 0;
    if (strcmp(name, "--seed") == 0) {
        return tb_parse_u64(value, &o->seed) == 0 ? 0 : usage("--seed", value, ": expected a number of 64 bits");
    }
    if (strcmp(name, "--random-weights") == 0) {
        o->random = true;
        return tb_parse_u64(value, &o->random_seed) == 0 ? 0 : usage(name, value, ": expected a number of 64 bits");
    }
    if (strcmp(name, "--shape") == 0) {
        return netjob_parse_shape(value, o->shape)
                   ? 0
                   : usage(name, value, ": expected width x height x channels as in 224x224x3, each 1..65536");
    }
    if (strcmp(name, "--count") == 0) {
        if (tb_parse_u64(value, &number) != 0 || number == 0 || number > 1000000) {
            return usage("--count", value, ": expected a number of 1..1000000");
        }
        o->count = (uint32_t)number;
        o->count_given = true;
        return 0;
    }
    if (strcmp(name, "--norm") == 0) {
        return parse_norm(value, &o->norm) ? 0 : usage("--norm", value, ": expected a number");
    }
    if (strcmp(name, "--cfg") == 0) {
        return netjob_parse_cfg(value, &o->n) ? 0 : usage("--cfg", value, ": expected n4, n8, n16 or n32");
    }
    return -1;
}

/* Rules between options, and the defaults that depend on them. */
static int complete(netjob_options *o, bool quantise) {
    bool digits = o->net == NULL && o->int8_net == NULL;
    bool layer_options = o->optimise || o->random || o->input != NULL || o->dump != NULL;
    if (o->shape[0] != 0 && !o->layers) {
        return usage("--shape goes with --show or --layers", "", "");
    }
    if (layer_options && !o->layers) {
        return usage("--optimise, --random-weights, --input and --dump need --layers", "", "");
    }
    if (o->layers) {
        bool fits = o->net != NULL && (o->bin != NULL) != o->random && o->images == NULL && o->int8_net == NULL;
        return fits ? 0 : usage("--layers needs --net and either --bin or --random-weights, and takes no images", "", "");
    }
    if ((o->net == NULL) != (o->bin == NULL)) {
        return usage("--net and --bin belong together", "", "");
    }
    if ((o->int8_net == NULL) != (o->int8_bin == NULL)) {
        return usage("--int8-net and --int8-bin belong together", "", "");
    }
    if (strcmp(o->device, "model") != 0 && strcmp(o->device, "rtl") != 0 && strcmp(o->device, "tandem") != 0) {
        return usage("--device", o->device, ": expected model, rtl or tandem");
    }
    if (digits) {
        o->net = DIGITS "digits.param";
        o->bin = DIGITS "digits.bin";
        o->int8_net = quantise ? NULL : DIGITS "digits-int8.param";
        o->int8_bin = quantise ? NULL : DIGITS "digits-int8.bin";
        o->gate = true;
    }
    if (!digits && o->images == NULL) {
        return usage("--net needs --images", "", "");
    }
    o->images = o->images == NULL ? DIGITS "heldout.csv" : o->images;
    o->calib = o->calib == NULL && digits ? DIGITS "calibration.csv" : o->calib;
#ifdef NPU_CFG_N
    if (o->n != NPU_CFG_N) {
        return usage("--cfg", "", ": this program was built for " NPU_CFG_NAME);
    }
#else
    if (strcmp(o->device, "model") != 0) {
        return usage("--device", o->device, ": this program was built without RTL, expected model");
    }
#endif
    return 0;
}

int main(int argc, char **argv) {
    netjob_options o = {.device = DEFAULT_DEVICE, .norm = 0.0625f, .n = DEFAULT_N, .count = DEFAULT_COUNT, .seed = 1};
    bool quantise = false;
    const char *show = NULL;
    const text_option texts[] = {{"--show", &show},           {"--net", &o.net},       {"--bin", &o.bin},       {"--int8-net", &o.int8_net},
                                 {"--int8-bin", &o.int8_bin}, {"--images", &o.images}, {"--calib", &o.calib},   {"--device", &o.device},
                                 {"--bus", &o.bus},           {"--wave", &o.wave},     {"--result", &o.result}, {"--input", &o.input},
                                 {"--dump", &o.dump}};
    if (strcmp(argv[netrun_command(argc, argv)], "run") == 0) {
        return netrun_main(argc, argv);
    }
    if (argc > 1 && strcmp(argv[1], "survey") == 0) {
        return netsurvey_main(argc, argv);
    }
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is a write error, not a death */
    if (argc > 1 && (strcmp(argv[1], "classify") == 0 || strcmp(argv[1], "calibrate") == 0)) {
        return netjob_photos(argc, argv);
    }
    if (argc > 1 && strcmp(argv[1], "detect") == 0) {
        return netjob_detect(argc, argv);
    }
    const struct {
        const char *name;
        bool *value;
    } flags[] = {{"--fp32", &o.fp32_only},  {"--gate", &o.gate},     {"--verbose", &o.verbose},
                 {"--quantise", &quantise}, {"--layers", &o.layers}, {"--optimise", &o.optimise}};
    for (int i = 1; i < argc; i++) {
        bool known = false;
        if (strcmp(argv[i], "--help") == 0) {
            fputs(help_text, stdout);
            return fflush(stdout) == 0 ? 0 : 1;
        }
        for (size_t k = 0; k < sizeof flags / sizeof flags[0]; k++) {
            if (strcmp(argv[i], flags[k].name) == 0) {
                *flags[k].value = known = true;
            }
        }
        if (known) {
            continue;
        }
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        for (size_t k = 0; value != NULL && k < sizeof texts / sizeof texts[0]; k++) {
            if (strcmp(argv[i], texts[k].name) == 0) {
                *texts[k].value = value;
                known = true;
            }
        }
        int status = known || value == NULL ? 0 : number_option(&o, argv[i], value);
        if (value == NULL || status != 0) {
            return status > 0 ? status : usage("option", argv[i], " is unknown or lacks its value (--help)");
        }
        i++;
    }
    if (show != NULL) {
        return netjob_show(show, o.shape);
    }
    int status = complete(&o, quantise);
    if (o.wave != NULL) { /* an interrupted run leaves a readable waveform */
        tb_sim_catch_signals();
    }
    return status != 0 ? status : netjob_run(&o);
}
