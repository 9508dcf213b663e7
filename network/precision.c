/*
 * precision.c - mean average precision of found boxes.
 *
 * For each class the found boxes, best score first, take the object that they overlap most and that no better box has
 * taken, if the overlap is large enough. The average precision is the area under the precision (at each recall the best
 * one at that recall or above) over the recall.
 */
#include <stdlib.h>
#include <string.h>

#include "found.h"
#include "internal.h"
#include "precision.h"

#define STEPS 10u /* overlaps from 0.5 on, 0.05 apart */

/* ---- boxes ---- */

net_status net_finder_init(net_finder *f, const net_graph *g, net_error *err) {
    net_status status = f->raw ? net_heads_fit(&f->heads, g, err) : net_boxes_layer(g, NULL, err);
    if (status != NET_OK) {
        return status;
    }
    f->rows = f->raw ? f->heads.rows : g->blob[g->output].shape.h;
    f->row = f->raw ? malloc(NET_FOUND_ROW * (size_t)f->rows * sizeof *f->row + 1) : NULL;
    f->box = malloc(f->rows * sizeof *f->box + 1);
    return f->box == NULL || (f->raw && f->row == NULL) ? net_fail(err, NET_ERR_MEMORY, "out of memory") : NET_OK;
}

net_status net_finder_boxes(net_finder *f, const net_graph *g, const float *const *output, const net_fit *fit,
                            uint32_t *count, net_error *err) {
    const float *row = f->raw ? f->row : output[0];
    net_status status = f->raw ? net_heads_decode(&f->heads, g, output, f->least, f->overlap, f->row, err) : NET_OK;
    *count = status == NET_OK ? net_boxes_read(row, f->rows, fit, f->box) : 0;
    return status;
}

void net_finder_free(net_finder *f) {
    free(f->row);
    free(f->box);
    f->row = NULL;
    f->box = NULL;
}

/* ---- precision ---- */

net_status net_precision_add(net_precision *p, uint32_t image, const net_box *box, uint32_t count, net_error *err) {
    if (p->founds + count > p->room) {
        uint32_t room = 2 * (p->founds + count) + 64;
        net_object *more = realloc(p->found, room * sizeof *more);
        if (more == NULL) {
            return net_fail(err, NET_ERR_MEMORY, "out of memory");
        }
        p->found = more;
        p->room = room;
    }
    for (uint32_t i = 0; i < count; i++) {
        p->found[p->founds++] = (net_object){image, box[i]};
    }
    return NET_OK;
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
    const net_object *x = a;
    const net_object *y = b;
    if (x->box.label != y->box.label) {
        return x->box.label < y->box.label ? -1 : 1;
    }
    if (x->box.score != y->box.score) {
        return x->box.score > y->box.score ? -1 : 1;
    }
    return x->image != y->image ? (x->image < y->image ? -1 : 1) : 0;
}

/* The object that a found box takes; p->truths: none. */
static uint32_t taken_by(const net_precision *p, const net_object *f, double least, const bool *taken) {
    uint32_t best = p->truths;
    double most = least;
    for (uint32_t i = 0; i < p->truths; i++) {
        const net_object *t = &p->truth[i];
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
static double average(const net_precision *p, const net_object *found, uint32_t count, uint32_t objects, double least,
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

static uint32_t objects_of(const net_precision *p, uint32_t label) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->truths; i++) {
        count += p->truth[i].box.label == label;
    }
    return count;
}

net_status net_precision_measure(net_precision *p, net_precision_result *result, net_error *err) {
    bool *taken = calloc((size_t)p->truths + 1, sizeof *taken);
    bool *right = calloc((size_t)p->founds + 1, sizeof *right);
    *result = (net_precision_result){.objects = p->truths};
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
    return ok ? NET_OK : net_fail(err, NET_ERR_MEMORY, "out of memory");
}

void net_precision_free(net_precision *p) {
    free(p->found);
    *p = (net_precision){0};
}
