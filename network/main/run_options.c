/* run_options.c - command lines of tandem-net run and tandem-net survey. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netopt.h"
#include "run.h"

static const char run_help[] =
    "usage: tandem-net run --net FILE [options]\n"
    "A network through optimiser, quantiser and runtime: what runs on the NPU, what on the CPU and why.\n"
    "  --net FILE [--bin FILE]      ncnn network; without --bin its weights come from the seed\n"
    "  --input FILE                 raw floats of all inputs; without it they come from the seed\n"
    "  --image FILE                 instead: PNG, JPEG or PNM picture, or FILE.npy; --order, --mean and --norm as in classify --help\n"
    "  --table FILE                 calibration table for a float network (tandem-net calibrate)\n"
    "  --top K --names FILE         print the K largest elements of the outputs (default 5 with --image), with names\n"
    "  --device model|rtl|tandem    (default " NETOPT_DEVICE "); tandem compares both after every layer of the NPU\n"
    "  --cfg n4|n8|n16|n32          mesh size (an RTL program: only its own)\n"
    "  --shape WxHxC                shape of inputs that have none in the file\n"
    "  --float                      do not quantise\n"
    "  --stalls                     on an RTL: how long the mesh worked and what units waited for, in each layer\n"
    "  --seed S --bus PROFILE       weights, input, bus timing of the RTL\n"
    "  --only K[-L]                 these layers alone, on what the golden model has computed before them\n"
    "  --each                       every layer of the NPU alone in that way; --jobs J: so many at a time (default: processors)\n"
    "  --html FILE                  with --each or --only: a page with a timeline and a roofline (with --stalls: stalls by cause)\n"
    "  --published MS               milliseconds at 200 MHz to compare with\n"
    "  --break m0.R:100             on an RTL: a memory whose port m0 or m1 stops on channel AW, W, B, AR or R after so many handshakes "
    "(of each part)\n"
    "  --wave FILE                  FST waves of the RTL (builds with tracing)\n"
    "  --json FILE                  the report as JSON; -: on standard output, instead of the text\n"
    "  --output FILE                all outputs of the network as raw floats\n"
    "  --dump DIR                   first output of each layer as raw floats: DIR/<number>-<name>.f32; of an INT8 one q / scale\n"
    "  --result FILE                write outcome, cycles and trace hash as key=value\n"
    "A float network without --table is quantised by the range of each input in one FP32 run over inputs from the seed.\n";

static const char survey_help[] =
    "usage: tandem-net survey [--cfg n8] [--seed S] [--most MMAC] FILE.param[@WxHxC] ...\n"
    "Each topology with weights from the seed through optimiser, quantiser and runtime on the golden model, as lines of a Markdown table.\n"
    "@WxHxC: shape of inputs that have none in the file. --most: networks of more million multiply-accumulates stop after quantising.\n";

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static int check(netrun_options *o) {
    if (o->net == NULL) {
        return netopt_usage("run: --net is needed (--help)", "", "");
    }
    if (o->input != NULL && o->image != NULL) {
        return netopt_usage("--input and --image exclude each other", "", "");
    }
    if (o->only != NULL && o->each) {
        return netopt_usage("--only and --each exclude each other", "", "");
    }
    if (o->jobs != 0 && !o->each) {
        return netopt_usage("--jobs goes with --each", "", "");
    }
    if ((o->only != NULL || o->each) && (o->output != NULL || o->dump != NULL)) {
        return netopt_usage("--only and --each take no --output and --dump", "", "");
    }
    if ((o->html != NULL || o->published > 0) && o->only == NULL && !o->each) {
        return netopt_usage("--html and --published go with --each and --only", "", "");
    }
    if (o->each && o->wave != NULL) {
        return netopt_usage("--wave goes with --only: layers at the same time would write one file", "", "");
    }
    if (o->broken_text != NULL && !npu_dev_broken_parse(o->broken_text, &o->broken)) {
        return netopt_usage("--break", o->broken_text, ": expected PORT.CHANNEL:HANDSHAKES such as m0.R:100, or m0.R:100:flip");
    }
    return netopt_fits(o->device, o->n, false);
}

int netrun_command(int argc, char *const *argv) {
    int i = 1;
    while (i < argc && strcmp(argv[i], "--seed") == 0) { /* a runner puts it first */
        i += 2;
    }
    return i < argc ? i : 0;
}

int netrun_main(int argc, char **argv) {
    netrun_options o = {.device = NETOPT_DEVICE, .n = NETOPT_N, .seed = 1};
    const netopt table[] = {
        {.name = "--net", .to = &o.net},
        {.name = "--bin", .to = &o.bin},
        {.name = "--input", .to = &o.input},
        {.name = "--bus", .to = &o.bus},
        {.name = "--wave", .to = &o.wave},
        {.name = "--json", .to = &o.json},
        {.name = "--result", .to = &o.result},
        {.name = "--output", .to = &o.output},
        {.name = "--image", .to = &o.image},
        {.name = "--table", .to = &o.table},
        {.name = "--names", .to = &o.names},
        {.name = "--dump", .to = &o.dump},
        {.name = "--float", .type = NETOPT_FLAG, .to = &o.float_only},
        {.name = "--stalls", .type = NETOPT_FLAG, .to = &o.stalls},
        {.name = "--device", .type = NETOPT_WORD, .to = &o.device, .words = netopt_devices, .expected = ": expected model, rtl or tandem"},
        {.name = "--seed", .type = NETOPT_U64, .to = &o.seed},
        {.name = "--cfg", .type = NETOPT_CFG, .to = &o.n},
        {.name = "--shape", .type = NETOPT_SHAPE, .to = o.shape},
        {.name = "--only", .to = &o.only},
        {.name = "--each", .type = NETOPT_FLAG, .to = &o.each},
        {.name = "--html", .to = &o.html},
        {.name = "--break", .to = &o.broken_text},
        {.name = "--published", .type = NETOPT_REAL, .to = &o.published, .lo = 1e-6, .hi = 1e6, .expected = ": expected milliseconds"},
        {.name = "--jobs", .type = NETOPT_COUNT, .to = &o.jobs, .lo = 1, .hi = 256},
        {.name = "--top", .type = NETOPT_COUNT, .to = &o.top, .lo = 1, .hi = 1000000},
        NETOPT_PICTURE(o.prep),
    };
    const netopt_line line = {
        .table = table, .count = COUNT(table), .help = run_help, .command = "run", .skip = netrun_command(argc, argv)};
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
    uint32_t count = 0;
    const char **file = calloc((size_t)argc, sizeof *file);
    const netopt table[] = {
        {.name = "--seed", .type = NETOPT_U64, .to = &o.seed},
        {.name = "--cfg", .type = NETOPT_CFG, .to = &o.n},
        {.name = "--most", .type = NETOPT_U64, .to = &most},
    };
    const netopt_line line = {.table = table,
                              .count = COUNT(table),
                              .help = survey_help,
                              .command = "survey",
                              .skip = 1,
                              .word = file,
                              .word_count = &count,
                              .word_most = UINT32_MAX};
    if (file == NULL) {
        fputs("tandem-net: out of memory\n", stderr);
        return 1;
    }
    int status = netopt_parse(&line, argc, argv);
    if (status == 0) {
        status = count == 0 ? netopt_usage("survey: no files (--help)", "", "") : netsurvey(&o, most, file, count);
    }
    free(file);
    return status < 0 ? 0 : status;
}
