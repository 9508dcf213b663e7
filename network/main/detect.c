/* detect.c - tandem-net detect: boxes in pictures, as text, as JSON, and drawn. */
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
    "usage: tandem-net detect PARAM BIN [options] --image FILE ...\n"
    "Finds boxes with a network that ends in DetectionOutput (SSD), YoloDetectionOutput or Yolov3DetectionOutput, and prints a line each:\n"
    "box <class> <score> x y w h <name>: class as the network numbers it, from 1; pixels of the picture, x and y of the upper left "
    "corner.\n"
    "  --image FILE ...     PNG, JPEG or PNM pictures\n"
    "  --order bgr|rgb|gray channels of a picture (default bgr)\n"
    "  --mean A[,B,C]       subtracted from each channel, in the network's order\n"
    "  --norm A[,B,C]       factor of each channel after that\n"
    "  --letterbox V        keep the aspect, and give the rest of the input the colour V of 0..255 (default: stretch)\n"
    "  --shape WxHxC        shape of an input that has none in the file\n"
    "  --threshold T        least score, 0..1, instead of the network's\n"
    "  --overlap T          of two boxes that overlap more than this (intersection over union) one is kept, instead of the network's\n"
    "  --anchors W,H,...    outputs are heads of YOLOv5 or YOLOv7 without such a layer: width and height of the anchor boxes of each "
    "output\n"
    "                       in pixels of the input, / between outputs; least score 0.25, overlap 0.45 unless they are given\n"
    "  --table FILE         calibration table: the float layers that it names run in INT8\n"
    "  --device cpu|model|rtl|tandem  where (default cpu); --cfg n4|n8|n16|n32: mesh of a device (an RTL program: only its own)\n"
    "  --names FILE         a line for each class, the first for class 1\n"
    "  --draw FILE.png      one picture: write it with its boxes, a colour for each class\n"
    "  --json               a JSON object a line, one for each picture\n";

typedef struct detect_options {
    photos_options base; /* net, bin, table, names, input, prep, shape, device, n, json */
    const char *draw, *anchors;
    float threshold, overlap; /* NaN: as the network says */
    bool letterbox;
    uint8_t fill;
} detect_options;

static int usage(const char *what, const char *value, const char *expected) {
    fprintf(stderr, "tandem-net: %s%s%s%s%s\n", what, value[0] == '\0' ? "" : " '", value, value[0] == '\0' ? "" : "'", expected);
    return 2;
}

/* ---- options ---- */

static bool parse_part(const char *text, float *out) {
    char *end;
    *out = strtof(text, &end);
    return end != text && *end == '\0' && *out >= 0.0f && *out <= 1.0f;
}

static int parse_device(photos_options *o, const char *value) {
    bool known = strcmp(value, "cpu") == 0 || strcmp(value, "model") == 0 || strcmp(value, "rtl") == 0 || strcmp(value, "tandem") == 0;
    o->device = strcmp(value, "cpu") == 0 ? NULL : value;
    return known ? 0 : usage("--device", value, ": expected cpu, model, rtl or tandem");
}

/* 0: done; -1: no such option; otherwise the exit status. */
static int value_option(detect_options *d, const char *name, const char *value) {
    photos_options *o = &d->base;
    const struct {
        const char *name;
        const char **value;
    } texts[] = {{"--table", &o->table}, {"--names", &o->names}, {"--draw", &d->draw}, {"--anchors", &d->anchors}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (strcmp(name, texts[i].name) == 0) {
            *texts[i].value = value;
            return 0;
        }
    }
    if (strcmp(name, "--threshold") == 0 || strcmp(name, "--overlap") == 0) {
        return parse_part(value, name[2] == 't' ? &d->threshold : &d->overlap) ? 0 : usage(name, value, ": expected a number of 0..1");
    }
    if (strcmp(name, "--letterbox") == 0) {
        char *end;
        unsigned long fill = strtoul(value, &end, 10);
        d->letterbox = true;
        d->fill = (uint8_t)fill;
        return *value >= '0' && *value <= '9' && *end == '\0' && fill <= 255 ? 0 : usage(name, value, ": expected a colour of 0..255");
    }
    if (strcmp(name, "--device") == 0) {
        return parse_device(o, value);
    }
    if (strcmp(name, "--cfg") == 0) {
        return netjob_parse_cfg(value, &o->n) ? 0 : usage(name, value, ": expected n4, n8, n16 or n32");
    }
    if (strcmp(name, "--shape") == 0) {
        return netjob_parse_shape(value, o->shape)
                   ? 0
                   : usage(name, value, ": expected width x height x channels as in 224x224x3, each 1..65536");
    }
    return photos_prep_option(&o->prep, name, value);
}

static int complete(const detect_options *d) {
    const photos_options *o = &d->base;
    if (o->net == NULL || o->bin == NULL || o->count == 0) {
        return usage("detect needs PARAM, BIN and at least one --image (--help)", "", "");
    }
    if (d->draw != NULL && o->count != 1) {
        return usage("--draw takes one picture", "", "");
    }
#ifdef NPU_CFG_N
    if (o->n != NPU_CFG_N) {
        return usage("--cfg", "", ": this program was built for " NPU_CFG_NAME);
    }
#else
    if (o->device != NULL && strcmp(o->device, "model") != 0) {
        return usage("--device", o->device, ": this program was built without RTL, expected cpu or model");
    }
#endif
    return 0;
}

/* -1: help was printed. */
static int parse(detect_options *d, int argc, char **argv) {
    photos_options *o = &d->base;
    bool images = false; /* behind --image: files until the next option */
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            fputs(help_text, stdout);
            return fflush(stdout) == 0 ? -1 : 1;
        }
        if (strcmp(argv[i], "--json") == 0) {
            o->json = true;
            images = false;
            continue;
        }
        if (strcmp(argv[i], "--image") == 0) {
            images = true;
            continue;
        }
        if (strncmp(argv[i], "--", 2) != 0) {
            if (images) {
                o->input[o->count++] = argv[i];
            } else if (o->net == NULL || o->bin == NULL) {
                *(o->net == NULL ? &o->net : &o->bin) = argv[i];
            } else {
                return usage("argument", argv[i], " is one too many: expected PARAM BIN (detect --help)");
            }
            continue;
        }
        images = false;
        int status = i + 1 < argc ? value_option(d, argv[i], argv[i + 1]) : -1;
        if (status != 0) {
            return status > 0 ? status : usage("option", argv[i], " is unknown or lacks its value (detect --help)");
        }
        i++;
    }
    return complete(d);
}

/* ---- the job ---- */

typedef struct detect_job {
    const detect_options *opt;
    net_graph graph;
    photos_engine engine;
    photos_names names;
    net_heads heads; /* with --anchors */
    float *input;
    float *row;   /* with --anchors: decoded */
    net_box *box; /* room for all rows */
    uint32_t rows;
} detect_job;

static net_status out_of_memory(net_error *err) {
    (void)snprintf(err->text, sizeof err->text, "out of memory");
    return NET_ERR_MEMORY;
}

static net_status prepare(detect_job *job, net_error *err) {
    const detect_options *d = job->opt;
    net_graph *g = &job->graph;
    net_table table = {0};
    net_status status = photos_load(&d->base, g, err);
    status = status != NET_OK     ? status
             : d->anchors != NULL ? net_heads_fit(&job->heads, g, err)
                                  : net_boxes_limits(g, d->threshold, d->overlap, err);
    if (status == NET_OK && d->base.table != NULL) {
        status = net_table_load(&table, d->base.table, err);
        status = status == NET_OK ? net_quantize_table(g, &table, err) : status;
        net_table_free(&table);
    }
    status = status == NET_OK ? photos_engine_open(&job->engine, &d->base, g, err) : status;
    if (status != NET_OK) {
        return status;
    }
    job->rows = d->anchors != NULL ? job->heads.rows : g->blob[g->output].shape.h;
    job->input = malloc(net_shape_elements(&g->blob[g->input].shape) * sizeof *job->input + 1);
    job->row = d->anchors != NULL ? malloc(6 * (size_t)job->rows * sizeof *job->row) : NULL;
    job->box = malloc(job->rows * sizeof *job->box + 1);
    return job->input == NULL || job->box == NULL || (d->anchors != NULL && job->row == NULL) ? out_of_memory(err) : NET_OK;
}

/* One inference; *row: job->rows rows of detections. */
static net_status infer(detect_job *job, const float **row, net_error *err) {
    const detect_options *d = job->opt;
    const net_graph *g = &job->graph;
    const float *output[NET_MAX_HEADS];
    if (d->anchors == NULL) {
        return photos_engine_run(&job->engine, g, job->input, row, err);
    }
    net_status status = photos_engine_infer(&job->engine, job->input, err);
    for (uint32_t i = 0; i < job->heads.count; i++) {
        output[i] = photos_engine_blob(&job->engine, g->outputs[i]);
    }
    *row = job->row;
    return status != NET_OK ? status
                            : net_heads_decode(&job->heads, g, output, isnan(d->threshold) ? 0.25f : d->threshold,
                                               isnan(d->overlap) ? 0.45f : d->overlap, job->row, err);
}

/* The picture as the network's input, and where it lies in it. */
static net_status make_input(detect_job *job, const net_picture *picture, net_fit *fit, net_error *err) {
    const detect_options *d = job->opt;
    const net_shape *shape = &job->graph.blob[job->graph.input].shape;
    if (!d->letterbox) {
        *fit = net_fit_stretched(picture, shape->w, shape->h);
        return net_picture_input(picture, &d->base.prep, shape, job->input, err);
    }
    net_picture boxed;
    net_status status = net_fit_letterbox(picture, shape->w, shape->h, d->fill, &boxed, fit, err);
    if (status == NET_OK) {
        status = net_picture_input(&boxed, &d->base.prep, shape, job->input, err);
        net_picture_free(&boxed);
    }
    return status;
}

static const char *name_of(const detect_job *job, uint32_t label) {
    return label >= 1 && label <= job->names.count ? job->names.line[label - 1] : NULL;
}

static void print_text(const detect_job *job, const char *path, uint32_t count) {
    printf("image %s\n", path);
    for (uint32_t i = 0; i < count; i++) {
        const net_box *b = &job->box[i];
        const char *name = name_of(job, b->label);
        printf("box %u %.6f %.2f %.2f %.2f %.2f%s%s\n", b->label, (double)b->score, (double)b->x, (double)b->y, (double)b->w, (double)b->h,
               name != NULL ? " " : "", name != NULL ? name : "");
    }
}

static void print_json(const detect_job *job, const char *path, const net_picture *picture, uint32_t count) {
    printf("{\"image\": ");
    photos_json_string(path);
    printf(", \"width\": %u, \"height\": %u, \"boxes\": [", picture->w, picture->h);
    for (uint32_t i = 0; i < count; i++) {
        const net_box *b = &job->box[i];
        const char *name = name_of(job, b->label);
        printf("%s{\"class\": %u, \"score\": %.9g, \"x\": %.9g, \"y\": %.9g, \"w\": %.9g, \"h\": %.9g", i == 0 ? "" : ", ", b->label,
               (double)b->score, (double)b->x, (double)b->y, (double)b->w, (double)b->h);
        if (name != NULL) {
            printf(", \"name\": ");
            photos_json_string(name);
        }
        printf("}");
    }
    printf("]}\n");
}

/* The weakest boxes first: the best lie on top. A line of one pixel for each 200 of the longer side. */
static net_status draw(const detect_job *job, net_picture *picture, uint32_t count, net_error *err) {
    uint32_t side = picture->w > picture->h ? picture->w : picture->h;
    for (uint32_t i = count; i > 0; i--) {
        net_picture_draw_box(picture, &job->box[i - 1], 1 + side / 200);
    }
    return net_picture_save_png(picture, job->opt->draw, err);
}

static net_status one_picture(detect_job *job, const char *path, net_error *err) {
    net_picture picture;
    net_fit fit;
    const float *row = NULL;
    net_status status = net_picture_load(&picture, path, err);
    if (status != NET_OK) {
        return status;
    }
    status = make_input(job, &picture, &fit, err);
    status = status == NET_OK ? infer(job, &row, err) : status;
    if (status == NET_OK) {
        uint32_t count = net_boxes_read(row, job->rows, &fit, job->box);
        if (job->opt->base.json) {
            print_json(job, path, &picture, count);
        } else {
            print_text(job, path, count);
        }
        status = job->opt->draw != NULL ? draw(job, &picture, count, err) : NET_OK;
    }
    net_picture_free(&picture);
    return status;
}

static int detect(const detect_options *d) {
    detect_job job = {.opt = d};
    net_error err = {""};
    if (d->base.names != NULL && !photos_names_load(&job.names, d->base.names)) {
        photos_names_free(&job.names);
        return 2;
    }
    net_status status = d->anchors != NULL ? net_heads_parse(&job.heads, d->anchors, &err) : NET_OK;
    status = status == NET_OK ? prepare(&job, &err) : status;
    for (uint32_t i = 0; status == NET_OK && i < d->base.count; i++) {
        status = one_picture(&job, d->base.input[i], &err);
    }
    status = status == NET_OK ? photos_engine_finish(&job.engine, &err) : status;
    photos_engine_free(&job.engine);
    net_graph_free(&job.graph);
    photos_names_free(&job.names);
    free(job.input);
    free(job.row);
    free(job.box);
    return status == NET_OK ? 0 : photos_failed(status, &err);
}

int netjob_detect(int argc, char **argv) {
    detect_options d = {.base = {.command = "detect", .n = DEFAULT_N}, .threshold = NAN, .overlap = NAN};
    d.base.input = calloc((size_t)argc, sizeof *d.base.input);
    if (d.base.input == NULL) {
        fputs("tandem-net: out of memory\n", stderr);
        return 1;
    }
    int status = parse(&d, argc - 2, argv + 2);
    status = status < 0 ? 0 : status == 0 ? detect(&d) : status;
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "tandem-net: cannot write to standard output: %s\n", strerror(errno));
        status = status == 0 ? 1 : status;
    }
    photos_free(&d.base);
    return status;
}
