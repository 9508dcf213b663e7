/* photos.h - tandem-net classify, calibrate and detect: their options and inputs. */
#ifndef NETJOB_PHOTOS_H
#define NETJOB_PHOTOS_H

#include "../precision.h"

typedef struct photos_options {
    const char *command; /* classify, calibrate, widths */
    const char *net, *bin, *table, *names, *dump;
    const char *out_param, *out_bin, *compare, *labels;
    const char **stay; /* [stays] layers that stay float */
    uint32_t stays;
    const char *head, *anchors; /* calibrate: outputs are those of a kind of network without a detection layer */
    double threshold, overlap;  /* of a detection network; NaN: its own */
    bool letterbox;             /* pictures keep their aspect, */
    uint32_t fill;              /* the rest of the input has this colour */
    double task;                /* share of FP32's measure of the task that --reach-task asks for; NaN: no search */
    double reach;               /* dB that the INT8 network shall reach by leaving layers float; NaN: no search */
    double least;               /* dB below which a warning is printed */
    const char **range;         /* [ranges] widths: files that the ranges come from; none: the inputs themselves */
    uint32_t ranges;
    uint32_t count;     /* inputs, in the order of the command line */
    const char **input; /* files; .npy: floats, all others: pictures */
    net_picture_prep prep;
    uint32_t shape[3]; /* w, h, c of an input without a shape; 0: not given */
    uint32_t top;
    const char *device;      /* NULL: the CPU; model, rtl, tandem */
    uint32_t n;              /* mesh size */
    const char *method_name; /* NULL or "auto": all methods, and the best one is taken */
    double percent;
    bool scalar, time, json, optimise;
} photos_options;

/* Options of networks that find boxes. */
extern const char *const photos_heads[]; /* words of --head */
#define PHOTOS_BOXES(o)                                                                                                \
    OPT(U32, "--letterbox", "V",                                                                                       \
        "keep the aspect, and give the rest of the input the colour V of 0..255 (default: stretch)", &(o)->fill,       \
        .given = &(o)->letterbox, .hi = 255),                                                                          \
        OPT(REAL, "--threshold", "T", "least score, 0..1, instead of the network's", &(o)->threshold, .most = 1),      \
        OPT(REAL, "--overlap", "T",                                                                                    \
            "of two boxes that overlap more than this (intersection over union) one is kept, instead of the\n"         \
            "network's",                                                                                               \
            &(o)->overlap, .most = 1),                                                                                 \
        OPT(TEXT, "--anchors", "W,H,...",                                                                              \
            "outputs are heads of YOLOv5 or YOLOv7 without such a layer: width and height of the anchor boxes of\n"    \
            "each output in pixels of the input, / between outputs; least score 0.25, overlap 0.45 unless they\n"      \
            "are given",                                                                                               \
            &(o)->anchors),                                                                                            \
        OPT(TEXT, "--head", "KIND",                                                                                    \
            "outputs are those of this kind of network, without such a layer: nanodet, scrfd, retinaface, "            \
            "ultraface,\n"                                                                                             \
            "fastestdet, yolo-fastestv2, yolov8, yolov5-rows (boxes in pixels, as exported to ONNX), yolox,\n"         \
            "yolov8-dfl (ncnn's), or yolov5 with --anchors; scores as with --anchors",                                 \
            &(o)->head, .words = photos_heads)

/*
 * Class behind `last` in the order of falling values, the lower class first on a tie; last UINT32_MAX: the first one.
 * NaN is no class. UINT32_MAX: there is none.
 */
uint32_t photos_next_top(const float *value, uint32_t count, uint32_t last);
/* `top` lines "topK class probability name"; path: a name for each class, a line each, or NULL. 0, or the exit
 * status, with the error printed. */
int photos_print_top(const float *value, uint32_t count, uint32_t top, const char *path);
/* Names of classes: the lines of a file. */
typedef struct photos_names {
    char *text;
    uint32_t count;
    char **line;
} photos_names;
/* Into an empty one, to be freed in any case. NET_ERR_IO, NET_ERR_MEMORY. */
net_status photos_names_load(photos_names *n, const char *path, net_error *err);
void photos_names_free(photos_names *n);
/* Objects that are in pictures: --labels of a detection network. */
typedef struct photos_objects {
    net_object *object;
    uint32_t count;
} photos_objects;
/* Objects of a file, a line each: name of the picture without its folder, class, x, y, width, height in pixels, and
 * anything behind them. Those of other pictures than image[count] are left out. To be freed in any case.
 * NET_ERR_FORMAT, also where none is left; as photos_names_load(). */
net_status photos_objects_load(photos_objects *p, const char *path, uint32_t count, const char *const *image,
                               net_error *err);
void photos_objects_free(photos_objects *p);
void photos_free(photos_options *o);
/* Status of a failure: prints the line, returns 1 for lack of memory and for the device, 2 otherwise. */
int photos_failed(net_status status, const net_error *err);
/* The network with its shapes. input: the shape of an input of the command line; of several blobs it is a vector of all
 * their elements, one blob after the other (.npy). NULL: several are refused. */
net_status photos_load(const photos_options *o, net_graph *graph, net_shape *input, net_error *err);

/* The inputs of the command line one by one: a picture or .npy file is one, a .csv file (images.c) one for each line.
 */
typedef struct photos_source {
    const photos_options *opt;
    const net_shape *shape;
    uint32_t count;
    net_images *images; /* [opt->count]; empty but for .csv files */
    net_fit *fit;       /* [count]: where the picture is in the input, once photos_input() made it */
} photos_source;
net_status photos_source_open(photos_source *source, const photos_options *o, const net_shape *shape, net_error *err);
void photos_source_free(photos_source *source);
/* Name of input i: file, and line of a .csv file. */
void photos_source_name(const photos_source *source, uint32_t i, char *text, size_t size);
/* The picture as an input, and its position there. */
net_status photos_picture(const photos_options *o, const net_picture *picture, const net_shape *shape, float *input,
                          net_fit *fit, net_error *err);
/* Kind of the heads that --head and --anchors name. */
net_status photos_finder(const photos_options *o, net_finder *finder, net_error *err);
/* Class of input i in a .csv file; false: another file. */
bool photos_source_label(const photos_source *source, uint32_t i, uint32_t *label);
/* net_inputs.load: user is a photos_source. */
net_status photos_input(void *user, uint32_t i, float *input, net_error *err);

/* The executor: INT8 on the CPU, or the runtime on a device. */
typedef struct photos_engine {
    net_int8 *cpu;
    npu_dev *dev;
    net_rt *rt;
} photos_engine;
net_status photos_engine_open(photos_engine *engine, const photos_options *o, net_graph *graph, net_error *err);
/* One inference: *output points to the graph's only output. */
net_status photos_engine_run(photos_engine *engine, const net_graph *graph, const float *input, const float **output,
                             net_error *err);
/* One inference of a graph with any number of outputs, and the contents of one of them after it. */
net_status photos_engine_infer(photos_engine *engine, const float *input, net_error *err);
const float *photos_engine_blob(const photos_engine *engine, uint32_t blob);
/* The device's last checks. */
net_status photos_engine_finish(photos_engine *engine, net_error *err);
void photos_engine_free(photos_engine *engine);

int photos_classify(const photos_options *o);
int photos_calibrate(const photos_options *o);
int photos_widths(const photos_options *o);

/* tandem-net classify ... and tandem-net calibrate ...: everything. Returns the exit status. */
int netjob_photos(int argc, char **argv);
/* tandem-net detect ...: everything. */
int netjob_detect(int argc, char **argv);

#endif
