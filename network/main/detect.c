/* detect.c - tandem-net detect: boxes in pictures, as text, as JSON, and drawn. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netjob.h"
#include "netopt.h"
#include "photos.h"
#include "report/report.h"

static const char help_text[] = "usage: tandem-net detect PARAM BIN [options] --image FILE ...\n"
                                "Finds boxes with a network that ends in DetectionOutput (SSD), YoloDetectionOutput or "
                                "Yolov3DetectionOutput, and prints a line each:\n"
                                "box <class> <score> x y w h <name>: class as the network numbers it, from 1; pixels "
                                "of the picture, x and y of the upper left "
                                "corner.\n";

typedef struct detect_options {
    photos_options base; /* all but those of classify, calibrate and widths alone */
    const char *draw;
} detect_options;

/* ---- options ---- */

static int complete(const detect_options *d) {
    const photos_options *o = &d->base;
    if (o->net == NULL || o->bin == NULL || o->count == 0) {
        return netopt_usage("detect needs PARAM, BIN and at least one --image (--help)", "", "");
    }
    if (d->draw != NULL && o->count != 1) {
        return netopt_usage("--draw takes one picture", "", "");
    }
    return netopt_fits(o->device, o->n, true);
}

/* -1: help was printed. */
static int parse(detect_options *d, int argc, char **argv) {
    static const char *const devices[] = {"cpu", "model", "rtl", "tandem", NULL};
    photos_options *o = &d->base;
    const char *files[2] = {NULL, NULL};
    opt_list words = {.item = files, .most = 2}, images = {.item = o->input, .most = (size_t)argc};
    const opt_row table[] = {
        OPT(WORDS, "--image", "FILE ...", "PNG, JPEG or PNM pictures", &images),
        NETOPT_PICTURE(o->prep),
        NETOPT_SHAPE(o->shape, "shape of an input that has none in the file"),
        PHOTOS_BOXES(o),
        OPT(TEXT, "--table", "FILE", "calibration table: the float layers that it names run in INT8", &o->table),
        OPT(TEXT, "--device", "cpu|model|rtl|tandem", "where (default cpu)", &o->device, .words = devices),
        NETOPT_CFG(&o->n),
        OPT(TEXT, "--names", "FILE", "a line for each class, the first for class 1", &o->names),
        OPT(TEXT, "--labels", "FILE",
            "objects that are there, a line each: picture, class, x, y, width, height; mean average precision at the\n"
            "end (with a low --threshold)",
            &o->labels),
        OPT(TEXT, "--draw", "FILE.png", "one picture: write it with its boxes, a colour for each class", &d->draw),
        OPT(FLAG, "--json", NULL, "a JSON object a line, one for each picture", &o->json),
    };
    const opt_group group = OPT_GROUP(NULL, table);
    const netopt_line line = {
        .head = help_text, .group = &group, .groups = 1, .command = "detect", .skip = 1, .words = &words};
    int status = netopt_parse(&line, argc, argv);
    o->count = (uint32_t)images.count;
    o->net = files[0];
    o->bin = files[1];
    o->device = o->device != NULL && strcmp(o->device, "cpu") == 0 ? NULL : o->device;
    return status != 0 ? status : complete(d);
}

/* ---- the job ---- */

typedef struct detect_job {
    const detect_options *opt;
    net_graph graph;
    photos_engine engine;
    photos_names names;
    net_finder finder;
    float *input;
    photos_objects objects;  /* --labels */
    net_precision precision; /* of these */
} detect_job;

static net_status out_of_memory(net_error *err) {
    (void)snprintf(err->text, sizeof err->text, "out of memory");
    return NET_ERR_MEMORY;
}

static net_status prepare(detect_job *job, net_error *err) {
    const detect_options *d = job->opt;
    net_graph *g = &job->graph;
    net_table table = {0};
    net_status status = photos_load(&d->base, g, NULL, err);
    if (status == NET_OK && !job->finder.raw) {
        status = net_boxes_limits(g, (float)d->base.threshold, (float)d->base.overlap, err);
    }
    status = status == NET_OK ? net_finder_init(&job->finder, g, err) : status;
    if (status == NET_OK && d->base.table != NULL) {
        status = net_table_load(&table, d->base.table, err);
        status = status == NET_OK ? net_quantize_table(g, &table, err) : status;
        net_table_free(&table);
    }
    status = status == NET_OK ? photos_engine_open(&job->engine, &d->base, g, err) : status;
    if (status != NET_OK) {
        return status;
    }
    job->input = malloc(net_shape_elements(&g->blob[g->input].shape) * sizeof *job->input + 1);
    return job->input == NULL ? out_of_memory(err) : NET_OK;
}

/* One inference; its boxes are in job->finder.box. */
static net_status infer(detect_job *job, const net_fit *fit, uint32_t *count, net_error *err) {
    const net_graph *g = &job->graph;
    const float *output[NET_MAX_HEAD_OUTPUTS];
    net_status status = photos_engine_infer(&job->engine, job->input, err);
    for (uint32_t i = 0; status == NET_OK && i < g->num_outputs; i++) {
        output[i] = photos_engine_blob(&job->engine, g->outputs[i]);
    }
    return status == NET_OK ? net_finder_boxes(&job->finder, g, output, fit, count, err) : status;
}

static const char *name_of(const detect_job *job, uint32_t label) {
    return label >= 1 && label <= job->names.count ? job->names.line[label - 1] : NULL;
}

static void print_text(const detect_job *job, const char *path, uint32_t count) {
    printf("image %s\n", path);
    for (uint32_t i = 0; i < count; i++) {
        const net_box *b = &job->finder.box[i];
        const char *name = name_of(job, b->label);
        printf("box %u %.6f %.2f %.2f %.2f %.2f%s%s\n", b->label, (double)b->score, (double)b->x, (double)b->y,
               (double)b->w, (double)b->h, name != NULL ? " " : "", name != NULL ? name : "");
    }
}

static void print_json(const detect_job *job, const char *path, const net_picture *picture, uint32_t count) {
    printf("{\"image\": ");
    rep_json(stdout, path);
    printf(", \"width\": %u, \"height\": %u, \"boxes\": [", picture->w, picture->h);
    for (uint32_t i = 0; i < count; i++) {
        const net_box *b = &job->finder.box[i];
        const char *name = name_of(job, b->label);
        printf("%s{\"class\": %u, \"score\": %.9g, \"x\": %.9g, \"y\": %.9g, \"w\": %.9g, \"h\": %.9g",
               i == 0 ? "" : ", ", b->label, (double)b->score, (double)b->x, (double)b->y, (double)b->w, (double)b->h);
        if (name != NULL) {
            printf(", \"name\": ");
            rep_json(stdout, name);
        }
        printf("}");
    }
    printf("]}\n");
}

/* The weakest boxes first, so that the best are on top. Lines are one pixel wide for each 200 of the longer side. */
static net_status draw(const detect_job *job, net_picture *picture, uint32_t count, net_error *err) {
    uint32_t side = picture->w > picture->h ? picture->w : picture->h;
    for (uint32_t i = count; i > 0; i--) {
        net_picture_draw_box(picture, &job->finder.box[i - 1], 1 + side / 200);
    }
    return net_picture_save_png(picture, job->opt->draw, err);
}

static net_status one_picture(detect_job *job, uint32_t number, net_error *err) {
    const char *path = job->opt->base.input[number];
    net_picture picture;
    net_fit fit;
    uint32_t count = 0;
    net_status status = net_picture_load(&picture, path, err);
    if (status != NET_OK) {
        return status;
    }
    status = photos_picture(&job->opt->base, &picture, &job->graph.blob[job->graph.input].shape, job->input, &fit, err);
    status = status == NET_OK ? infer(job, &fit, &count, err) : status;
    if (status == NET_OK) {
        if (job->opt->base.json) {
            print_json(job, path, &picture, count);
        } else {
            print_text(job, path, count);
        }
        status = job->opt->draw != NULL ? draw(job, &picture, count, err) : NET_OK;
        if (status == NET_OK && job->opt->base.labels != NULL) {
            status = net_precision_add(&job->precision, number, job->finder.box, count, err);
        }
    }
    net_picture_free(&picture);
    return status;
}

static net_status print_precision(detect_job *job, net_error *err) {
    const char *form = job->opt->base.json
                           ? "{\"objects\": %u, \"classes\": %u, \"map_50\": %.6f, \"map_50_95\": %.6f}\n"
                           : "%u objects of %u classes: mAP at 0.5 %.6f, at 0.5 to 0.95 %.6f\n";
    net_precision_result r;
    net_status status = net_precision_measure(&job->precision, &r, err);
    if (status == NET_OK) {
        printf(form, r.objects, r.classes, r.half, r.mean);
    }
    return status;
}

static int detect(const detect_options *d) {
    detect_job job = {.opt = d};
    net_error err = {""};
    net_status status = d->base.names != NULL ? photos_names_load(&job.names, d->base.names, &err) : NET_OK;
    if (status == NET_OK && d->base.labels != NULL) {
        status = photos_objects_load(&job.objects, d->base.labels, d->base.count, d->base.input, &err);
    }
    job.precision = (net_precision){.truth = job.objects.object, .truths = job.objects.count};
    status = status == NET_OK ? photos_finder(&d->base, &job.finder, &err) : status;
    status = status == NET_OK ? prepare(&job, &err) : status;
    for (uint32_t i = 0; status == NET_OK && i < d->base.count; i++) {
        status = one_picture(&job, i, &err);
    }
    status = status == NET_OK ? photos_engine_finish(&job.engine, &err) : status;
    status = status == NET_OK && d->base.labels != NULL ? print_precision(&job, &err) : status;
    net_precision_free(&job.precision);
    photos_objects_free(&job.objects);
    net_finder_free(&job.finder);
    photos_engine_free(&job.engine);
    net_graph_free(&job.graph);
    photos_names_free(&job.names);
    free(job.input);
    return status == NET_OK ? 0 : photos_failed(status, &err);
}

int netjob_detect(int argc, char **argv) {
    detect_options d = {.base = {.command = "detect", .n = NETOPT_N, .threshold = NAN, .overlap = NAN}};
    d.base.input = calloc((size_t)argc, sizeof *d.base.input);
    if (d.base.input == NULL) {
        fputs("tandem-net: out of memory\n", stderr);
        return 1;
    }
    int status = parse(&d, argc, argv);
    status = status < 0 ? 0 : status == 0 ? detect(&d) : status;
    photos_free(&d.base);
    return status;
}
