/* photos.c - options of tandem-net classify and tandem-net calibrate, and functions that both need. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netjob.h"
#include "netopt.h"
#include "photos.h"

static const char help_text[] = "usage: tandem-net classify --net FILE --bin FILE [options] --image FILE ...\n"
                                "       tandem-net calibrate --net FILE --bin FILE [options] --image FILE ...\n"
                                "       tandem-net widths --net FILE --bin FILE [options] --image FILE ...\n"
                                "classify runs a float or INT8 network and prints the most probable classes; calibrate "
                                "makes INT8 scales for a float one; widths compares INT8, asymmetric INT8 and "
                                "INT16 on the golden model with FP32.\n";

int photos_failed(net_status status, const net_error *err) {
    fprintf(stderr, "tandem-net: %s\n", err->text);
    return status == NET_ERR_MEMORY || status == NET_ERR_DEVICE ? 1 : 2;
}

void photos_free(photos_options *o) {
    free(o->input);
    free(o->stay);
    free(o->range);
    o->range = NULL;
    o->input = NULL;
    o->stay = NULL;
}

static int complete(const photos_options *o) {
    bool classify = strcmp(o->command, "classify") == 0, widths = strcmp(o->command, "widths") == 0;
    if (o->net == NULL || o->bin == NULL || o->count == 0) {
        return netopt_usage(o->command, "", " needs --net, --bin and at least one --image");
    }
    if ((classify || widths) &&
        (o->out_param != NULL || o->out_bin != NULL || o->compare != NULL || o->json || o->optimise ||
         o->method_name != NULL || o->labels != NULL || o->stays > 0 || !isnan(o->reach) || !isnan(o->task) ||
         o->letterbox || !isnan(o->threshold) || !isnan(o->overlap) || o->anchors != NULL || o->head != NULL)) {
        return netopt_usage("--method, --out-param, --out-bin, --compare, --json, --optimise, --labels, --float, "
                            "--reach, --reach-task and those of boxes are options of calibrate",
                            "", "");
    }
    if (!widths && o->ranges > 0) {
        return netopt_usage("--ranges is an option of widths", "", "");
    }
    if (!classify && (o->names != NULL || o->dump != NULL || o->device != NULL || o->scalar || o->time)) {
        return netopt_usage("--names, --dump, --device, --scalar and --time are options of classify", "", "");
    }
    if (o->device != NULL && (o->dump != NULL || o->scalar)) {
        return netopt_usage("--dump and --scalar are for the CPU, not for a device", "", "");
    }
    if ((o->out_param == NULL) != (o->out_bin == NULL) || (o->optimise && o->out_param == NULL)) {
        return netopt_usage("--out-param and --out-bin must be given together, and --optimise needs them", "", "");
    }
    if (o->dump != NULL && o->count != 1) {
        return netopt_usage("--dump takes one input", "", "");
    }
    return netopt_fits(o->device, o->n, false);
}

/*
 * Read the options after the command. 0: done; -1: help was printed; otherwise the exit status, with the error printed.
 */
static int parse(photos_options *o, int argc, char **argv) {
    static const char *const methods[] = {"auto", NET_CALIB_METHOD_WORDS, NULL};
    opt_list images = {.item = o->input, .most = (size_t)argc}, stay = {.item = o->stay, .most = (size_t)argc},
             ranges = {.item = o->range, .most = (size_t)argc};
    const opt_row both[] = {
        OPT(WORDS, "--image", "FILE ...",
            "PNG, JPEG or PNM pictures; FILE.npy: the input itself as 32 bit floats; FILE.csv: pixels and class,\nan "
            "image a line",
            &images),
        OPT(TEXT, "--net", "FILE", "ncnn network,", &o->net),
        OPT(TEXT, "--bin", "FILE", "with its weights", &o->bin),
        NETOPT_PICTURE(o->prep),
        NETOPT_SHAPE(o->shape, "shape of an input that has none in the file"),
        OPT(TEXT, "--table", "FILE",
            "calibration table: classify: the float layers that it names run in INT8; calibrate: the scales\ngo there",
            &o->table),
    };
    const opt_row classify[] = {
        OPT(TEXT, "--names", "FILE", "a line for each class", &o->names),
        OPT(U32, "--top", "K", "classes to print (default 5)", &o->top, .lo = 1, .hi = 1000000),
        OPT(TEXT, "--device", "model|rtl|tandem", "the runtime on a device instead of the CPU", &o->device,
            .words = netopt_devices),
        NETOPT_CFG(&o->n),
        OPT(FLAG, "--scalar", NULL, "the scalar definition of the INT8 layers instead of the vectorised one",
            &o->scalar),
        OPT(TEXT, "--dump", "DIR",
            "one input: blobs as DIR/<number>.f32 or .s8, inputs of INT8 layers as DIR/<layer number>.qin.s8",
            &o->dump),
        OPT(FLAG, "--time", NULL, "CPU time of each inference", &o->time),
    };
    const opt_row calibrate[] = {
        OPT(TEXT, "--method", "auto|kl|minmax|mse|percentile",
            "threshold of the activations; auto (the default): the one with the most right top-1 or the best boxes\n"
            "where these are known, then the best outputs",
            &o->method_name, .words = methods),
        OPT(REAL, "--percent", "P", "of the values that are not zero, for percentile (default 99.99)", &o->percent,
            .least = 1e-6, .most = 100),
        OPT(TEXT, "--out-param", "FILE", "write the INT8 network,", &o->out_param),
        OPT(TEXT, "--out-bin", "FILE", "with its weights;", &o->out_bin),
        OPT(FLAG, "--optimise", NULL, "with INT8 between layers where that is the same", &o->optimise),
        OPT(TEXT, "--labels", "FILE",
            "the class of each input, a line for each (.csv files have their own); of a network that finds boxes\n"
            "the objects in the pictures as for detect: auto takes the best mean average precision",
            &o->labels),
        PHOTOS_BOXES(o),
        OPT(WORDS, "--float", "LAYER ...", "these layers stay in FP32 (on the CPU)", &stay),
        OPT(REAL, "--reach", "DB", "layers stay in FP32, the least exact first, until the outputs are that exact",
            &o->reach, .most = 1000),
        OPT(REAL, "--reach-task", "S",
            "layers stay in FP32 until top-1 or mean average precision (--labels) are S times those of FP32", &o->task,
            .most = 1),
        OPT(REAL, "--least", "DB", "warn when the outputs are less exact (default 10)", &o->least, .most = 1000),
        OPT(TEXT, "--compare", "FILE", "another table: its agreement with FP32, too", &o->compare),
        OPT(FLAG, "--json", NULL, "the report as JSON", &o->json),
    };
    const opt_row widths[] = {
        OPT(WORDS, "--ranges", "FILE ...", "inputs that the ranges come from (default: those that are measured)",
            &ranges),
    };
    const opt_group groups[] = {OPT_GROUP(NULL, both), OPT_GROUP("classify", classify),
                                OPT_GROUP("calibrate", calibrate), OPT_GROUP("widths", widths)};
    const netopt_line line = {
        .head = help_text, .group = groups, .groups = sizeof groups / sizeof groups[0], .skip = 1};
    int status = netopt_parse(&line, argc, argv);
    o->count = (uint32_t)images.count;
    o->stays = (uint32_t)stay.count;
    o->ranges = (uint32_t)ranges.count;
    return status != 0 ? status : complete(o);
}

net_status photos_load(const photos_options *o, net_graph *graph, net_shape *input, net_error *err) {
    const uint32_t *shape = o->shape;
    net_status status = net_graph_load(graph, o->net, o->bin, err);
    status = status == NET_OK && shape[0] != 0 ? net_graph_set_input(graph, shape[0], shape[1], shape[2], err) : status;
    status = status == NET_OK ? net_graph_plan(graph, err) : status;
    if (status == NET_OK && input != NULL) {
        *input = graph->input != NET_NONE ? graph->blob[graph->input].shape
                                          : (net_shape){1, (uint32_t)net_graph_input_elements(graph), 1, 1, 1};
    } else if (status == NET_OK && graph->input == NET_NONE) {
        (void)snprintf(err->text, sizeof err->text, "%.200s: %u inputs, expected one", o->net, graph->num_inputs);
        status = NET_ERR_UNSUPPORTED;
    }
    return status;
}

int netjob_photos(int argc, char **argv) {
    photos_options o = {.command = argv[1],
                        .top = 5,
                        .percent = 99.99,
                        .n = NETOPT_N,
                        .reach = NAN,
                        .least = 10.0,
                        .task = NAN,
                        .threshold = NAN,
                        .overlap = NAN};
    o.input = calloc((size_t)argc, sizeof *o.input);
    o.stay = calloc((size_t)argc, sizeof *o.stay);
    o.range = calloc((size_t)argc, sizeof *o.range);
    if (o.input == NULL || o.stay == NULL || o.range == NULL) {
        photos_free(&o);
        fputs("tandem-net: out of memory\n", stderr);
        return 1;
    }
    int status = parse(&o, argc, argv);
    if (status == 0) {
        status = strcmp(o.command, "classify") == 0 ? photos_classify(&o)
                 : strcmp(o.command, "widths") == 0 ? photos_widths(&o)
                                                    : photos_calibrate(&o);
    } else if (status < 0) {
        status = 0;
    }
    photos_free(&o);
    return status;
}
