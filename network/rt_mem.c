/*
 * rt_mem.c - memory plan: places lifetimes in one arena, so that those that are alive at the same time do not overlap.
 */
#include <stdlib.h>

#include "rt.h"

#define MOST_BYTES (UINT64_C(1) << 48)

/* Largest first, then in the order of the list. */
static int by_size(const void *a, const void *b) {
    const net_mem_item *x = *(net_mem_item *const *)a;
    const net_mem_item *y = *(net_mem_item *const *)b;
    if (x->bytes != y->bytes) {
        return x->bytes > y->bytes ? -1 : 1;
    }
    return x < y ? -1 : x > y;
}

static bool meet(const net_mem_item *a, const net_mem_item *b) {
    return a->first <= b->last && b->first <= a->last;
}

/*
 * The lowest place for `item` among `placed`, which are sorted by address. Returns the position at which to insert it.
 */
static uint32_t place(net_mem_item *item, net_mem_item *const *placed, uint32_t count, uint64_t align) {
    uint64_t at = 0;
    uint32_t i;
    for (i = 0; i < count; i++) {
        const net_mem_item *p = placed[i];
        if (!meet(item, p)) {
            continue;
        }
        if (p->at >= at && p->at - at >= item->bytes) {
            break;
        }
        uint64_t end = (p->at + p->bytes + align - 1) & ~(align - 1);
        at = end > at ? end : at;
    }
    item->at = at;
    for (i = 0; i < count && placed[i]->at <= at; i++) {
    }
    return i;
}

net_status net_mem_plan(net_mem_item *item, uint32_t count, uint64_t align, uint64_t *total, net_error *err) {
    uint64_t sum = 0;
    uint32_t used = 0;
    if (item == NULL || total == NULL || align == 0 || (align & (align - 1)) != 0) {
        return net_fail(err, NET_ERR_ARG, "net_mem_plan: null argument, or an alignment that is not a power of two");
    }
    net_mem_item **order = calloc((size_t)count + 1, sizeof *order);
    net_mem_item **placed = calloc((size_t)count + 1, sizeof *placed);
    if (order == NULL || placed == NULL) {
        free(order);
        free(placed);
        return net_fail(err, NET_ERR_MEMORY, "out of memory for a plan of %u lifetimes", count);
    }
    net_status status = NET_OK;
    for (uint32_t i = 0; i < count && status == NET_OK; i++) {
        order[i] = &item[i];
        item[i].at = 0;
        sum += item[i].bytes < MOST_BYTES ? item[i].bytes + align : MOST_BYTES;
        if (item[i].last < item[i].first || sum >= MOST_BYTES) {
            status = net_fail(err, NET_ERR_ARG,
                              "net_mem_plan: item %u ends before it begins, or the items are too large", i);
        }
    }
    if (status == NET_OK) {
        qsort(order, count, sizeof *order, by_size);
        *total = 0;
    }
    for (uint32_t i = 0; i < count && status == NET_OK && order[i]->bytes > 0; i++) {
        uint32_t to = place(order[i], placed, used, align);
        for (uint32_t k = used; k > to; k--) {
            placed[k] = placed[k - 1];
        }
        placed[to] = order[i];
        used++;
        uint64_t end = order[i]->at + order[i]->bytes;
        *total = end > *total ? end : *total;
    }
    free(order);
    free(placed);
    return status;
}
