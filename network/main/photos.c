/* photos.c - options of tandem-net classify and tandem-net calibrate, and what both need. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netjob.h"
#include "photos.h"

#ifdef NPU_CFG_N
#define DEFAULT_N NPU_CFG_N
#else
#define DEFAULT_N 8
#endif

static const char help_text[] =
    "usage: tandem-net classify --net FILE --bin FILE [options] --image FILE ...\n"
    "       tandem-net calibrate --net FILE --bin FILE [options] --image FILE ...\n"
    "classify runs a float or INT8 network and prints the most probable classes; calibrate makes INT8 scales for a float one.\n"
    "  --image FILE ...     PNG, JPEG or PNM pictures; FILE.npy: the input itself as 32 bit floats; FILE.csv: pixels and class, an image a "
    "line\n"
    "  --order bgr|rgb|gray channels of a picture (default bgr)\n"
    "  --mean A[,B,C]       subtracted from each channel, in the network's order\n"
    "  --norm A[,B,C]       factor of each channel after that\n"
    "  --shape WxHxC        shape of an input that has none in the file\n"
    "classify:\n"
    "  --table FILE         calibration table: the float layers that it names run in INT8\n"
    "  --names FILE         a line for each class\n"
    "  --top K              classes to print (default 5)\n"
    "  --device model|rtl|tandem  the runtime on a device instead of the CPU; --cfg n4|n8|n16|n32: its mesh (an RTL program: only its "
    "own)\n"
    "  --scalar             the scalar definition of the INT8 layers instead of the vectorised one\n"
    "  --dump DIR           one input: blobs as DIR/<number>.f32 or .s8, inputs of INT8 layers as DIR/<layer number>.qin.s8\n"
    "  --time               CPU time of each inference\n"
    "calibrate:\n"
    "  --method auto|kl|minmax|mse|percentile  threshold of the activations; auto (the default): the one with the most top-1 as in FP32, "
    "then the best output\n"
    "  --percent P          of the values that are not zero, for percentile (default 99.99)\n"
    "  --table FILE         write the scales as ncnn's table\n"
    "  --out-param FILE --out-bin FILE  write the INT8 network; --optimise: with INT8 between layers where that is the same\n"
    "  --compare FILE       another table: its agreement with FP32, too\n"
    "  --json               the report as JSON\n";

static int usage(const char *what, const char *value, const char *expected) {
    fprintf(stderr, "tandem-net: %s%s%s%s%s\n", what, value[0] == '\0' ? "" : " '", value, value[0] == '\0' ? "" : "'", expected);
    return 2;
}

int photos_failed(net_status status, const net_error *err) {
    fprintf(stderr, "tandem-net: %s\n", err->text);
    return status == NET_ERR_MEMORY || status == NET_ERR_DEVICE ? 1 : 2;
}

void photos_free(photos_options *o) {
    free(o->input);
    o->input = NULL;
}

/* One number for all channels, or three. */
static bool parse_channels(const char *text, float out[3]) {
    for (uint32_t i = 0; i < 3; i++) {
        char *end;
        out[i] = strtof(text, &end);
        if (end == text || !isfinite(out[i])) {
            return false;
        }
        if (*end == '\0') {
            out[1] = i == 0 ? out[0] : out[1];
            out[2] = i == 0 ? out[0] : out[2];
            return i != 1;
        }
        text = end + 1;
        if (*end != ',') {
            return false;
        }
    }
    return false;
}

static bool parse_number(const char *text, uint32_t most, uint32_t *out) {
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    *out = (uint32_t)value;
    return *text >= '0' && *text <= '9' && value >= 1 && value <= most && *end == '\0';
}

/* Place of a word in a list that ends with NULL; -1: not there. */
static int word_of(const char *text, const char *const *words) {
    for (int i = 0; words[i] != NULL; i++) {
        if (strcmp(text, words[i]) == 0) {
            return i;
        }
    }
    return -1;
}

int photos_prep_option(net_picture_prep *prep, const char *name, const char *value) {
    static const char *const orders[] = {"bgr", "rgb", "gray", NULL};
    if (strcmp(name, "--order") == 0) {
        int at = word_of(value, orders);
        prep->order = (net_pixel_order)(at < 0 ? 0 : at);
        return at >= 0 ? 0 : usage(name, value, ": expected bgr, rgb or gray");
    }
    if (strcmp(name, "--mean") == 0 || strcmp(name, "--norm") == 0) {
        bool mean = name[2] == 'm';
        *(mean ? &prep->has_mean : &prep->has_norm) = true;
        return parse_channels(value, mean ? prep->mean : prep->norm) ? 0 : usage(name, value, ": expected one number or three");
    }
    return -1;
}

/* 0: done; -1: no such option; otherwise the exit status. */
static int value_option(photos_options *o, const char *name, const char *value) {
    static const char *const methods[] = {"auto", "kl", "minmax", "mse", "percentile", NULL};
    static const char *const devices[] = {"model", "rtl", "tandem", NULL};
    int status = photos_prep_option(&o->prep, name, value);
    if (status >= 0) {
        return status;
    }
    if (strcmp(name, "--method") == 0) {
        int at = word_of(value, methods);
        o->method_name = at <= 0 ? NULL : methods[at];
        return at >= 0 ? 0 : usage(name, value, ": expected auto, kl, minmax, mse or percentile");
    }
    if (strcmp(name, "--device") == 0) {
        o->device = value;
        return word_of(value, devices) >= 0 ? 0 : usage(name, value, ": expected model, rtl or tandem");
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
        return parse_number(value, 1000000, &o->top) ? 0 : usage(name, value, ": expected a number of 1..1000000");
    }
    if (strcmp(name, "--percent") == 0) {
        char *end;
        o->percent = strtod(value, &end);
        return end != value && *end == '\0' && o->percent > 0 && o->percent <= 100 ? 0
                                                                                   : usage(name, value, ": expected above 0, up to 100");
    }
    return -1;
}

static int complete(const photos_options *o) {
    bool classify = strcmp(o->command, "classify") == 0;
    if (o->net == NULL || o->bin == NULL || o->count == 0) {
        return usage(o->command, "", " needs --net, --bin and at least one --image");
    }
    if (classify &&
        (o->out_param != NULL || o->out_bin != NULL || o->compare != NULL || o->json || o->optimise || o->method_name != NULL)) {
        return usage("--method, --out-param, --out-bin, --compare, --json and --optimise go with calibrate", "", "");
    }
    if (!classify && (o->names != NULL || o->dump != NULL || o->device != NULL || o->scalar || o->time)) {
        return usage("--names, --dump, --device, --scalar and --time go with classify", "", "");
    }
    if (o->device != NULL && (o->dump != NULL || o->scalar)) {
        return usage("--dump and --scalar are for the CPU, not for a device", "", "");
    }
#ifdef NPU_CFG_N
    if (o->n != NPU_CFG_N) {
        return usage("--cfg", "", ": this program was built for " NPU_CFG_NAME);
    }
#else
    if (o->device != NULL && strcmp(o->device, "model") != 0) {
        return usage("--device", o->device, ": this program was built without RTL, expected model");
    }
#endif
    if ((o->out_param == NULL) != (o->out_bin == NULL) || (o->optimise && o->out_param == NULL)) {
        return usage("--out-param and --out-bin belong together, --optimise goes with them", "", "");
    }
    if (o->dump != NULL && o->count != 1) {
        return usage("--dump takes one input", "", "");
    }
    return 0;
}

int photos_parse(photos_options *o, int argc, char **argv) {
    const struct {
        const char *name;
        const char **value;
    } texts[] = {{"--net", &o->net},   {"--bin", &o->bin},         {"--table", &o->table},         {"--names", &o->names},
                 {"--dump", &o->dump}, {"--compare", &o->compare}, {"--out-param", &o->out_param}, {"--out-bin", &o->out_bin}};
    const struct {
        const char *name;
        bool *value;
    } flags[] = {{"--scalar", &o->scalar}, {"--time", &o->time}, {"--json", &o->json}, {"--optimise", &o->optimise}};
    bool images = false; /* behind --image: files until the next option */
    for (int i = 0; i < argc; i++) {
        bool known = false;
        if (strcmp(argv[i], "--help") == 0) {
            fputs(help_text, stdout);
            return fflush(stdout) == 0 ? -1 : 1;
        }
        if (strncmp(argv[i], "--", 2) != 0 && images) {
            o->input[o->count++] = argv[i];
            continue;
        }
        images = strcmp(argv[i], "--image") == 0;
        known = images;
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
        int status = known || value == NULL ? 0 : value_option(o, argv[i], value);
        if (value == NULL || status != 0) {
            return status > 0 ? status : usage("option", argv[i], " is unknown or lacks its value (--help)");
        }
        i++;
    }
    return complete(o);
}

net_status photos_load(const photos_options *o, net_graph *graph, net_error *err) {
    const uint32_t *shape = o->shape;
    net_status status = net_graph_load(graph, o->net, o->bin, err);
    status = status == NET_OK && shape[0] != 0 ? net_graph_set_input(graph, shape[0], shape[1], shape[2], err) : status;
    status = status == NET_OK ? net_graph_plan(graph, err) : status;
    if (status == NET_OK && graph->input == NET_NONE) {
        (void)snprintf(err->text, sizeof err->text, "%.200s: %u inputs, expected one", o->net, graph->num_inputs);
        status = NET_ERR_UNSUPPORTED;
    }
    return status;
}

int netjob_photos(int argc, char **argv) {
    photos_options o = {.command = argv[1], .top = 5, .percent = 99.99, .n = DEFAULT_N};
    o.input = calloc((size_t)argc, sizeof *o.input);
    if (o.input == NULL) {
        fputs("tandem-net: out of memory\n", stderr);
        return 1;
    }
    int status = photos_parse(&o, argc - 2, argv + 2);
    if (status == 0) {
        status = strcmp(o.command, "classify") == 0 ? photos_classify(&o) : photos_calibrate(&o);
    } else if (status < 0) {
        status = 0;
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "tandem-net: cannot write to standard output: %s\n", strerror(errno));
        status = status == 0 ? 1 : status;
    }
    photos_free(&o);
    return status;
}
