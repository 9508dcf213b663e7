/* run_options.c - command lines of tandem-net run and tandem-net survey. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netopt.h"
#include "run.h"

static const char run_help[] =
    "usage: tandem-net run --net FILE [options]\n"
    "Runs a network through optimiser, quantiser and runtime, and says which layers run on the NPU, which on the CPU,\n"
    "and why.\n";
static const char run_end[] = "A float network without --table is quantised by the range of each input in one FP32 run "
                              "over inputs from the seed.\n";

static const char survey_help[] =
    "usage: tandem-net survey [--cfg n8] [--seed S] [--most MMAC] FILE.param[@WxHxC] ...\n"
    "Runs each topology, with weights from the seed, through optimiser, quantiser and runtime on the golden model, "
    "and\n"
    "prints lines "
    "of a Markdown table.\n"
    "@WxHxC: shape of inputs that have none in the file.\n";

static const char *const plan_words[] = {"driver", "search", "144", NULL};

static int check(netrun_options *o) {
    if (o->net == NULL) {
        return netopt_usage("run: --net is needed (--help)", "", "");
    }
    if (o->input != NULL && o->image != NULL) {
        return netopt_usage("--input and --image cannot be given together", "", "");
    }
    if (o->only != NULL && o->each) {
        return netopt_usage("--only and --each cannot be given together", "", "");
    }
    if (o->jobs != 0 && !o->each) {
        return netopt_usage("--jobs needs --each", "", "");
    }
    if ((o->only != NULL || o->each) && (o->output != NULL || o->dump != NULL)) {
        return netopt_usage("--only and --each take no --output and --dump", "", "");
    }
    if ((o->html != NULL || o->published > 0) && o->only == NULL && !o->each) {
        return netopt_usage("--html and --published need --each or --only", "", "");
    }
    if (o->each && o->wave != NULL) {
        return netopt_usage("--wave needs --only: several layers would write to one file", "", "");
    }
    if (o->broken_text != NULL && !npu_dev_broken_parse(o->broken_text, &o->broken)) {
        return netopt_usage("--break", o->broken_text,
                            ": expected PORT.CHANNEL:HANDSHAKES such as m0.R:100, or m0.R:100:flip");
    }
    o->search = o->plan != NULL && strcmp(o->plan, "search") == 0;
    o->partition = o->plan != NULL && strcmp(o->plan, "144") == 0;
    return netopt_fits(o->device, o->n, false);
}

int netrun_command(int argc, char *const *argv) {
    int i = 1;
    while (i < argc && strcmp(argv[i], "--seed") == 0) { /* a runner passes it first */
        i += 2;
    }
    return i < argc ? i : 0;
}

int netrun_main(int argc, char **argv) {
    if (nettarget_asked(argc, argv) != NULL) {
        return nettarget_main(argc, argv);
    }
    const char *target = "npu";
    netrun_options o = {.device = NETOPT_DEVICE, .n = NETOPT_N, .seed = 1};
    const opt_row table[] = {
        OPT(TEXT, "--target", "npu|sgemm|sac", "another engine, which has its own options: --target sgemm --help",
            &target),
        OPT(TEXT, "--net", "FILE", "ncnn network", &o.net),
        OPT(TEXT, "--bin", "FILE", "its weights; without it they come from the seed", &o.bin),
        OPT(TEXT, "--input", "FILE", "raw floats of all inputs; without it they come from the seed", &o.input),
        OPT(TEXT, "--image", "FILE", "instead: PNG, JPEG or PNM picture, or FILE.npy", &o.image),
        NETOPT_PICTURE(o.prep),
        OPT(TEXT, "--table", "FILE", "calibration table for a float network (tandem-net calibrate)", &o.table),
        OPT(U32, "--top", "K", "print the K largest elements of the outputs (default 5 with --image),", &o.top, .lo = 1,
            .hi = 1000000),
        OPT(TEXT, "--names", "FILE", "with names", &o.names),
        OPT(TEXT, "--device", "model|rtl|tandem",
            "(default " NETOPT_DEVICE "); tandem compares both after every layer of the NPU", &o.device,
            .words = netopt_devices),
        NETOPT_CFG(&o.n),
        NETOPT_SHAPE(o.shape, "shape of inputs that have none in the file"),
        OPT(FLAG, "--float", NULL, "do not quantise", &o.float_only),
        OPT(TEXT, "--plan", "driver|search|144",
            "splits of convolutions: by the driver's rule, by search over predicted cycles, or slices of 144 inputs "
            "(document 004)",
            &o.plan, .words = plan_words),
        OPT(FLAG, "--copy-concat", NULL, "copy the inputs of a Concat instead of writing them into its memory",
            &o.copy_concat),
        OPT(FLAG, "--apart", NULL, "joined maps of Concat layers do not overlap: a blob that is part of two is copied",
            &o.apart),
        OPT(FLAG, "--merge-convs", NULL, "convolutions of one input with equal windows and scales become one",
            &o.merge_convs),
        OPT(FLAG, "--pools-first", NULL, "pool the branches of a Concat instead of the joined map", &o.pools_first),
        OPT(FLAG, "--stalls", NULL, "on an RTL: how long the mesh worked and what units waited for, in each layer",
            &o.stalls),
        OPT(U64, "--seed", "S", "seed of weights, input and bus timing of the RTL", &o.seed),
        OPT(TEXT, "--bus", "PROFILE", "profile of the bus timing of the RTL", &o.bus),
        OPT(TEXT, "--only", "K[-L]", "these layers alone, on the golden model's results of the layers before them",
            &o.only),
        OPT(FLAG, "--each", NULL, "the same for every layer of the NPU, one at a time", &o.each),
        OPT(U32, "--jobs", "J", "with --each: layers at a time (default: processors)", &o.jobs, .lo = 1, .hi = 256),
        OPT(TEXT, "--html", "FILE",
            "with --each or --only: a page with a timeline and a roofline (with --stalls: stalls by cause)", &o.html),
        OPT(REAL, "--published", "MS", "milliseconds at 200 MHz to compare with", &o.published, .least = 1e-6,
            .most = 1e6),
        OPT(TEXT, "--break", "m0.R:100",
            "on an RTL: a memory whose port m0 or m1 stops on channel AW, W, B, AR or R after so many handshakes\n(of "
            "each part)",
            &o.broken_text),
        OPT(TEXT, "--wave", "FILE", "FST waves of the RTL (builds with tracing)", &o.wave),
        OPT(TEXT, "--json", "FILE", "the report as JSON; -: on standard output, instead of the text", &o.json),
        OPT(TEXT, "--output", "FILE", "all outputs of the network as raw floats", &o.output),
        OPT(TEXT, "--dump", "DIR",
            "first output of each layer as raw floats: DIR/<number>-<name>.f32; of an INT8 one q / scale", &o.dump),
        OPT(TEXT, "--result", "FILE", "write outcome, cycles and trace hash as key=value", &o.result),
    };
    const opt_group group = OPT_GROUP(NULL, table);
    const netopt_line line = {.head = run_help,
                              .end = run_end,
                              .group = &group,
                              .groups = 1,
                              .command = "run",
                              .skip = netrun_command(argc, argv)};
    int status = netopt_parse(&line, argc, argv);
    if (status != 0) {
        return status < 0 ? 0 : status;
    }
    status = check(&o);
    o.top = o.top == 0 && (o.image != NULL || o.names != NULL) ? 5 : o.top;
    return status != 0 ? status : netrun_one(&o);
}

int netsurvey_main(int argc, char **argv) {
    netrun_options o = {.device = "model", .n = NETOPT_N, .seed = 1};
    uint64_t most = UINT64_MAX;
    const char **file = calloc((size_t)argc, sizeof *file);
    opt_list words = {.item = file, .most = (size_t)argc};
    const opt_row table[] = {
        OPT(U64, "--seed", "S", "seed of the weights", &o.seed),
        NETOPT_CFG(&o.n),
        OPT(U64, "--most", "MMAC", "networks of more million multiply-accumulates stop after quantising", &most),
    };
    const opt_group group = OPT_GROUP(NULL, table);
    const netopt_line line = {
        .head = survey_help, .group = &group, .groups = 1, .command = "survey", .skip = 1, .words = &words};
    if (file == NULL) {
        fputs("tandem-net: out of memory\n", stderr);
        return 1;
    }
    int status = netopt_parse(&line, argc, argv);
    if (status == 0) {
        status = words.count == 0 ? netopt_usage("survey: no files (--help)", "", "")
                                  : netsurvey(&o, most, file, (uint32_t)words.count);
    }
    free(file);
    return status < 0 ? 0 : status;
}
