/* main.c - program tandem-net: accuracy of a network in FP32 and INT8, and its INT8 convolutions on the RTL bit for
 * bit. */
#include <errno.h>
#include <float.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netjob.h"
#include "netopt.h"
#include "photos.h"
#include "report/report.h"
#include "run.h"

#define DIGITS "models/digits/"
#define DEFAULT_COUNT 30u
#define FP32_AT_LEAST 95.0
#define INT8_MAY_LOSE 1.0
#define GATE_IMAGES 300u

static const char help_text[] =
    "usage: tandem-net [options]\n"
    "       tandem-net classify|calibrate|widths --help   pictures, top-5, INT8 scales, INT8 and INT16\n"
    "       tandem-net detect --help               boxes of SSD and YOLO networks\n"
    "       tandem-net run|survey --help           any network on a device; many networks, a line each\n"
    "       tandem-net schedule --help             splits of convolutions by search beside the driver's\n"
    "Without --net: the digits job, models/digits with its gates.\n";

/* ---- the job ---- */

static bool gates(netjob *job) {
    double fp32 = 100.0 * job->fp32_right / job->images.count;
    double int8 = 100.0 * job->int8_right / job->images.count;
    if (job->images.count < GATE_IMAGES) {
        tb_result_fail(&job->result, TB_FAIL, "network/too-few-images", "%u images, the gates need at least %u",
                       job->images.count, GATE_IMAGES);
    } else if (job->has_fp32 && fp32 < FP32_AT_LEAST) {
        tb_result_fail(&job->result, TB_FAIL, "network/fp32-accuracy",
                       "FP32 accuracy %.2f %%, expected at least %.0f %%", fp32, FP32_AT_LEAST);
    } else if (job->has_fp32 && !job->opt->fp32_only && int8 < fp32 - INT8_MAY_LOSE) {
        tb_result_fail(&job->result, TB_FAIL, "network/int8-accuracy",
                       "INT8 accuracy %.2f %%, expected at least %.2f %%", int8, fp32 - INT8_MAY_LOSE);
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
        tb_result_fail(&job->result, TB_ERROR, "network/input", "--count %u, but %s holds %u images", opt->count,
                       opt->images, job->images.count);
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
    free(job->fp32_output);
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
    const bool said = !rep_flush();
    if (said) {
        tb_result_fail(&job.result, TB_ERROR, "network/output", "stdout: cannot be written");
    }
    tb_result_close(&job.result);
    int status = tb_result_exit(&job.result);
    if (status != 0 && !said) {
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

/* Rules between options, and the defaults that depend on them. */
static int complete(netjob_options *o, bool quantise) {
    bool digits = o->net == NULL && o->int8_net == NULL;
    bool layer_options = o->optimise || o->random || o->input != NULL || o->dump != NULL;
    if (o->shape[0] != 0 && !o->layers) {
        return netopt_usage("--shape needs --show or --layers", "", "");
    }
    if (layer_options && !o->layers) {
        return netopt_usage("--optimise, --random-weights, --input and --dump need --layers", "", "");
    }
    if (o->layers) {
        bool fits = o->net != NULL && (o->bin != NULL) != o->random && o->images == NULL && o->int8_net == NULL;
        return fits ? 0
                    : netopt_usage("--layers needs --net and either --bin or --random-weights, and takes no images", "",
                                   "");
    }
    if ((o->net == NULL) != (o->bin == NULL)) {
        return netopt_usage("--net and --bin must be given together", "", "");
    }
    if ((o->int8_net == NULL) != (o->int8_bin == NULL)) {
        return netopt_usage("--int8-net and --int8-bin must be given together", "", "");
    }
    if (digits) {
        o->net = DIGITS "digits.param";
        o->bin = DIGITS "digits.bin";
        o->int8_net = quantise || o->asym || o->int16 ? NULL : DIGITS "digits-int8.param";
        o->int8_bin = quantise || o->asym || o->int16 ? NULL : DIGITS "digits-int8.bin";
        o->gate = true;
    }
    if (!digits && o->images == NULL) {
        return netopt_usage("--net needs --images", "", "");
    }
    o->images = o->images == NULL ? DIGITS "heldout.csv" : o->images;
    o->calib = o->calib == NULL && digits ? DIGITS "calibration.csv" : o->calib;
    return netopt_fits(o->device, o->n, false);
}

/* The digits job, and networks with labelled images. */
static int job_main(int argc, char **argv) {
    netjob_options o = {.device = NETOPT_DEVICE, .norm = 0.0625, .n = NETOPT_N, .count = DEFAULT_COUNT, .seed = 1};
    bool quantise = false;
    const char *show = NULL;
    const opt_row table[] = {
        OPT(TEXT, "--show", "FILE", "layers, shapes and multiply-accumulates of a .param file, nothing else", &show),
        OPT(TEXT, "--net", "FILE", "ncnn network (float, or INT8),", &o.net),
        OPT(TEXT, "--bin", "FILE", "with its weights", &o.bin),
        OPT(TEXT, "--int8-net", "FILE", "its INT8 form; without it the float network is quantised over --calib,",
            &o.int8_net),
        OPT(TEXT, "--int8-bin", "FILE", "with its weights", &o.int8_bin),
        OPT(FLAG, "--quantise", NULL, "digits job: quantise the float network instead of reading the INT8 files",
            &quantise),
        OPT(TEXT, "--images", "FILE", "labelled images, a line each: pixels and class, separated by commas", &o.images),
        OPT(TEXT, "--calib", "FILE", "images for the activation ranges, same format", &o.calib),
        OPT(FLAG, "--layers", NULL, "FP32 of every layer of --net: shape as CxHxW, MACs, time (no images)", &o.layers),
        OPT(FLAG, "--optimise", NULL, "with --layers: first simplify the graph; each change is printed", &o.optimise),
        OPT(U64, "--random-weights", "SEED", "with --layers: weights and input from a seed instead of --bin",
            &o.random_seed, .given = &o.random),
        NETOPT_SHAPE(o.shape, "with --show or --layers: shape of inputs that have none in the file"),
        OPT(TEXT, "--input", "FILE", "with --layers: input as raw floats;", &o.input),
        OPT(TEXT, "--dump", "DIR", "every blob into DIR/<number>.f32", &o.dump),
        OPT(REAL, "--norm", "F", "input = pixel * F (default 0.0625)", &o.norm, .least = -FLT_MAX, .most = FLT_MAX),
        OPT(TEXT, "--device", "model|rtl|tandem",
            "where INT8 runs besides the golden model (default " NETOPT_DEVICE ")", &o.device, .words = netopt_devices),
        OPT(U32, "--count", "K", "images on the RTL (default 30)", &o.count, .given = &o.count_given, .lo = 1,
            .hi = 1000000),
        OPT(FLAG, "--int16", NULL, "with --calib: INT16 instead of INT8; a device with RTL needs EnInt16", &o.int16),
        OPT(FLAG, "--asym", NULL, "with --calib: asymmetric INT8, a zero-point for the input of each layer", &o.asym),
        OPT(FLAG, "--fp32", NULL, "only the FP32 reference", &o.fp32_only),
        OPT(FLAG, "--gate", NULL,
            "fail unless FP32 >= 95 % over at least 300 images and INT8 within one point (digits job: always)",
            &o.gate),
        NETOPT_CFG(&o.n),
        OPT(U64, "--seed", "S", "seed of the bus timing of the RTL", &o.seed),
        OPT(TEXT, "--bus", "PROFILE", "profile of the bus timing of the RTL", &o.bus),
        OPT(TEXT, "--wave", "FILE", "FST waves of the RTL (builds with tracing)", &o.wave),
        OPT(TEXT, "--result", "FILE", "write outcome, cycles and trace hash as key=value", &o.result),
        OPT(FLAG, "--verbose", NULL, "class and layer hashes of the first --count images", &o.verbose),
    };
    const opt_group group = OPT_GROUP(NULL, table);
    const netopt_line line = {.head = help_text, .group = &group, .groups = 1};
    int status = netopt_parse(&line, argc, argv);
    if (status != 0) {
        return status < 0 ? 0 : status;
    }
    if (show != NULL) {
        return netjob_show(show, o.shape);
    }
    status = complete(&o, quantise);
    if (o.wave != NULL) { /* so that an interrupted run closes its waveform */
        tb_sim_catch_signals();
    }
    return status != 0 ? status : netjob_run(&o);
}

static int run_command(int argc, char **argv) {
    const char *command = argc > 1 ? argv[1] : "";
    if (strcmp(argv[netrun_command(argc, argv)], "run") == 0) {
        return netrun_main(argc, argv);
    }
    if (strcmp(command, "survey") == 0) {
        return netsurvey_main(argc, argv);
    }
    if (strcmp(command, "schedule") == 0) {
        return netschedule_main(argc, argv);
    }
    if (strcmp(command, "classify") == 0 || strcmp(command, "calibrate") == 0 || strcmp(command, "widths") == 0) {
        return netjob_photos(argc, argv);
    }
    return strcmp(command, "detect") == 0 ? netjob_detect(argc, argv) : job_main(argc, argv);
}

int main(int argc, char **argv) {
    static char name[] = "tandem-net";
    program_invocation_name = name; /* of rep_end() */
    signal(SIGXFSZ, SIG_IGN);       /* a limit of the file size is a write error, not a signal */
    return rep_end(run_command(argc, argv));
}
