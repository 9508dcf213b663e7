/* run_options.c - command lines of tandem-net run and tandem-net survey. */
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
#define DEFAULT_N 8
#define DEFAULT_DEVICE "model"
#endif

static const char run_help[] =
    "usage: tandem-net run --net FILE [options]\n"
    "A network through optimiser, quantiser and runtime: what runs on the NPU, what on the CPU and why.\n"
    "  --net FILE [--bin FILE]      ncnn network; without --bin its weights come from the seed\n"
    "  --input FILE                 raw floats of all inputs; without it they come from the seed\n"
    "  --image FILE                 instead: PNG, JPEG or PNM picture, or FILE.npy; --order, --mean and --norm as in classify --help\n"
    "  --table FILE                 calibration table for a float network (tandem-net calibrate)\n"
    "  --top K --names FILE         print the K largest elements of the outputs (default 5 with --image), with names\n"
    "  --device model|rtl|tandem    (default " DEFAULT_DEVICE "); tandem compares both after every layer of the NPU\n"
    "  --cfg n4|n8|n16|n32          mesh size (an RTL program: only its own)\n"
    "  --shape WxHxC                shape of inputs that have none in the file\n"
    "  --float                      do not quantise\n"
    "  --stalls                     on an RTL: how long the mesh worked and what units waited for, in each layer\n"
    "  --seed S --bus PROFILE       weights, input, bus timing of the RTL\n"
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

static int usage(const char *what, const char *value, const char *expected) {
    fprintf(stderr, "tandem-net: %s%s%s%s%s\n", what, value[0] == '\0' ? "" : " '", value, value[0] == '\0' ? "" : "'", expected);
    return 2;
}

static int check(const netrun_options *o) {
    if (o->net == NULL) {
        return usage("run: --net is needed (--help)", "", "");
    }
    if (o->input != NULL && o->image != NULL) {
        return usage("--input and --image exclude each other", "", "");
    }
    if (strcmp(o->device, "model") != 0 && strcmp(o->device, "rtl") != 0 && strcmp(o->device, "tandem") != 0) {
        return usage("--device", o->device, ": expected model, rtl or tandem");
    }
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

/* Options with numbers. 0: done; -1: not one of them; else the exit status. */
static int number(netrun_options *o, const char *name, const char *value) {
    if (strcmp(name, "--seed") == 0) {
        return tb_parse_u64(value, &o->seed) == 0 ? 0 : usage(name, value, ": expected a number of 64 bits");
    }
    if (strcmp(name, "--cfg") == 0) {
        return netjob_parse_cfg(value, &o->n) ? 0 : usage(name, value, ": expected n4, n8, n16 or n32");
    }
    if (strcmp(name, "--shape") == 0) {
        return netjob_parse_shape(value, o->shape)
                   ? 0
                   : usage(name, value, ": expected width x height x channels as in 224x224x3, each 1..65536");
    }
    if (strcmp(name, "--top") == 0) {
        uint64_t top = 0;
        if (tb_parse_u64(value, &top) != 0 || top == 0 || top > 1000000) {
            return usage(name, value, ": expected a number of 1..1000000");
        }
        o->top = (uint32_t)top;
        return 0;
    }
    return photos_prep_option(&o->prep, name, value);
}

int netrun_command(int argc, char *const *argv) {
    int i = 1;
    while (i < argc && strcmp(argv[i], "--seed") == 0) { /* a runner puts it first */
        i += 2;
    }
    return i < argc ? i : 0;
}

int netrun_main(int argc, char **argv) {
    netrun_options o = {.device = DEFAULT_DEVICE, .n = DEFAULT_N, .seed = 1};
    const struct {
        const char *name;
        const char **value;
    } texts[] = {{"--net", &o.net},     {"--bin", &o.bin},     {"--input", &o.input},   {"--device", &o.device}, {"--bus", &o.bus},
                 {"--wave", &o.wave},   {"--json", &o.json},   {"--result", &o.result}, {"--output", &o.output}, {"--image", &o.image},
                 {"--table", &o.table}, {"--names", &o.names}, {"--dump", &o.dump}};
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is a write error, not a death */
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        bool known = false;
        if (i == netrun_command(argc, argv)) {
            continue;
        }
        if (strcmp(argv[i], "--help") == 0) {
            fputs(run_help, stdout);
            return fflush(stdout) == 0 ? 0 : 1;
        }
        if (strcmp(argv[i], "--float") == 0 || strcmp(argv[i], "--stalls") == 0) {
            *(argv[i][2] == 'f' ? &o.float_only : &o.stalls) = true;
            continue;
        }
        for (size_t k = 0; value != NULL && k < sizeof texts / sizeof texts[0]; k++) {
            if (strcmp(argv[i], texts[k].name) == 0) {
                *texts[k].value = value;
                known = true;
            }
        }
        int status = known || value == NULL ? 0 : number(&o, argv[i], value);
        if (value == NULL || status != 0) {
            return status > 0 ? status : usage("option", argv[i], " is unknown or lacks its value (run --help)");
        }
        i++;
    }
    int status = check(&o);
    o.top = o.top == 0 && (o.image != NULL || o.names != NULL) ? 5 : o.top;
    return status != 0 ? status : netrun_one(&o);
}

int netsurvey_main(int argc, char **argv) {
    netrun_options o = {.device = "model", .n = DEFAULT_N, .seed = 1};
    uint64_t most = UINT64_MAX;
    int files = 0;
    for (int i = 2; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--help") == 0) {
            fputs(survey_help, stdout);
            return fflush(stdout) == 0 ? 0 : 1;
        }
        if (argv[i][0] != '-') {
            argv[files++] = argv[i];
            continue;
        }
        bool limit = strcmp(argv[i], "--most") == 0;
        if (value != NULL && limit && tb_parse_u64(value, &most) != 0) {
            return usage("--most", value, ": expected a number of 64 bits");
        }
        int status = value == NULL ? -1 : limit ? 0 : number(&o, argv[i], value);
        if (status != 0) {
            return status > 0 ? status : usage("option", argv[i], " is unknown or lacks its value (survey --help)");
        }
        i++;
    }
    return files == 0 ? usage("survey: no files (--help)", "", "") : netsurvey(&o, most, argv, files);
}
