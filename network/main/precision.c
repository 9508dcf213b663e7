/*
 * precision.c - mean average precision of found boxes.
 *
 * For each class the found boxes, best score first, take the object that they overlap most and that no better box has
 * taken, if the overlap is large enough. The average precision is the area under the precision (at each recall the best
 * one at that recall or above) over the recall.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "photos.h"
#include "precision.h"

#define STEPS 10u /* overlaps from 0.5 on, 0.05 apart */

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static bool parse(const char *line, char name[256], net_box *b) {
    int end = 0;
    bool ok = sscanf(line, "%255s %u %f %f %f %f %n", name, &b->label, &b->x, &b->y, &b->w, &b->h, &end) == 6;
    return ok && (line[end] == '\0' || line[end - 1] == ' ') && b->w > 0.0f && b->h > 0.0f; /* a name may follow */
}

bool precision_load(precision *p, const char *path, uint32_t count, const char *const *image) {
    photos_names lines = {0};
    bool ok = photos_names_load(&lines, path);
    p->truth = ok ? calloc((size_t)lines.count + 1, sizeof *p->truth) : NULL;
    ok = p->truth != NULL;
    for (uint32_t i = 0; ok && i < lines.count; i++) {
        char name[256];
        precision_box t = {.image = count};
        if (lines.line[i][0] == '\0') {
            continue;
        }
        ok = parse(lines.line[i], name, &t.box);
        if (!ok) {
            fprintf(stderr, "tandem-net: %s:%u: expected picture, class, x, y, width and height of an object\n", path,
                    i + 1);
        }
        for (uint32_t k = 0; ok && k < count && t.image == count; k++) {
            t.image = strcmp(base_name(image[k]), name) == 0 ? k : count;
        }
        if (t.image < count) {
            p->truth[p->truths++] = t;
        }
    }
    photos_names_free(&lines);
    if (ok && p->truths == 0) {
        fprintf(stderr, "tandem-net: %s: no objects of these pictures\n", path);
        ok = false;
    }
    return ok;
}

bool precision_add(precision *p, uint32_t image, const net_box *box, uint32_t count) {
    if (p->founds + count > p->room) {
        uint32_t room = 2 * (p->founds + count) + 64;
        precision_box *more = realloc(p->found, room * sizeof *more);
        if (more == NULL) {
            return false;
        }
        p->found = more;
        p->room = room;
    }
    for (uint32_t i = 0; i < count; i++) {
        p->found[p->founds++] = (precision_box){image, box[i]};
    }
    return true;
}

static double overlap(const net_box *a, const net_box *b) {
    double left = a->x > b->x ? (double)a->x : (double)b->x;
    double top = a->y > b->y ? (double)a->y : (double)b->y;
    double right = a->x + a->w < b->x + b->w ? (double)a->x + (double)a->w : (double)b->x + (double)b->w;
    double bottom = a->y + a->h < b->y + b->h ? (double)a->y + (double)a->h : (double)b->y + (double)b->h;
    double common = right > left && bottom > top ? (right - left) * (bottom - top) : 0.0;
    return common / ((double)a->w * (double)a->h + (double)b->w * (double)b->h - common);
}

/* By class, then the best score first, then the order of pictures. */
static int by_score(const void *a, const void *b) {
    const precision_box *x = a;
    const precision_box *y = b;
    if (x->box.label != y->box.label) {
        return x->box.label < y->box.label ? -1 : 1;
    }
    if (x->box.score != y->box.score) {
        return x->box.score > y->box.score ? -1 : 1;
    }
    return x->image != y->image ? (x->image < y->image ? -1 : 1) : 0;
}

/* The object that a found box takes; p->truths: none. */
static uint32_t taken_by(const precision *p, const precision_box *f, double least, const bool *taken) {
    uint32_t best = p->truths;
    double most = least;
    for (uint32_t i = 0; i < p->truths; i++) {
        const precision_box *t = &p->truth[i];
        if (!taken[i] && t->image == f->image && t->box.label == f->box.label) {
            double share = overlap(&t->box, &f->box);
            if (share >= most && (best == p->truths || share > most)) {
                best = i;
                most = share;
            }
        }
    }
    return best;
}

/* found[count]: of one class, sorted; right[count] is memory. */
static double average(const precision *p, const precision_box *found, uint32_t count, uint32_t objects, double least,
                      bool *taken, bool *right) {
    double area = 0.0;
    double best = 0.0;
    uint32_t sum = 0;
    memset(taken, 0, p->truths * sizeof *taken);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t t = taken_by(p, &found[i], least, taken);
        right[i] = t < p->truths;
        sum += right[i];
        if (right[i]) {
            taken[t] = true;
        }
    }
    for (uint32_t i = count; i > 0; i--) { /* backwards: the best precision at this recall or above */
        double here = (double)sum / i;
        best = here > best ? here : best;
        area += right[i - 1] ? best / objects : 0.0;
        sum -= right[i - 1];
    }
    return area;
}

static uint32_t objects_of(const precision *p, uint32_t label) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->truths; i++) {
        count += p->truth[i].box.label == label;
    }
    return count;
}

bool precision_measure(precision *p, precision_result *result) {
    bool *taken = calloc((size_t)p->truths + 1, sizeof *taken);
    bool *right = calloc((size_t)p->founds + 1, sizeof *right);
    *result = (precision_result){.objects = p->truths};
    if (p->founds > 0) {
        qsort(p->found, p->founds, sizeof *p->found, by_score);
    }
    for (uint32_t i = 0; taken != NULL && right != NULL && i < p->truths; i++) {
        const uint32_t label = p->truth[i].box.label;
        uint32_t earlier = 0;
        uint32_t first = 0;
        uint32_t count = 0;
        for (uint32_t k = 0; k < i; k++) {
            earlier += p->truth[k].box.label == label;
        }
        if (earlier > 0) {
            continue;
        }
        for (uint32_t k = 0; k < p->founds; k++) {
            first += p->found[k].box.label < label;
            count += p->found[k].box.label == label;
        }
        result->classes++;
        for (uint32_t step = 0; step < STEPS; step++) {
            double part = average(p, p->found + first, count, objects_of(p, label), 0.5 + 0.05 * step, taken, right);
            result->half += step == 0 ? part : 0.0;
            result->mean += part / STEPS;
        }
    }
    result->half /= result->classes > 0 ? result->classes : 1;
    result->mean /= result->classes > 0 ? result->classes : 1;
    bool ok = taken != NULL && right != NULL;
    free(taken);
    free(right);
    return ok;
}

void precision_free(precision *p) {
    free(p->truth);
    free(p->found);
    *p = (precision){0};
}
