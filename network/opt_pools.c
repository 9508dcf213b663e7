/*
 * opt_pools.c - pooling before a Concat instead of behind it (document 002, graph passes): each branch is pooled, the
 * parts of the result are joined. The joined map at full size need not exist. Pooling works channel by channel, so no
 * bit changes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opt.h"

#define NAME_BYTES 256

static bool is_pool_of_concat(const net_graph *g, uint32_t number) {
    const net_layer *pool = &g->layer[number];
    if (strcmp(pool->type, "Pooling") != 0 || pool->num_in != 1 || g->blob[pool->out[0]].shape.dims != 3) {
        return false;
    }
    const net_layer *concat = &g->layer[g->blob[pool->in[0]].producer];
    return concat->num_in > 1 && net_op_joins(concat);
}

static char *copy_text(const char *text) {
    char *copy = malloc(strlen(text) + 1);
    return copy == NULL ? NULL : strcpy(copy, text);
}

/* Its settings. */
static bool copy_params(net_layer *to, const net_layer *from) {
    to->param = calloc((size_t)from->num_params + 1, sizeof *to->param);
    for (uint32_t i = 0; to->param != NULL && i < from->num_params; i++) {
        const net_param *p = &from->param[i];
        net_param *q = &to->param[to->num_params++];
        *q = *p;
        q->text = p->text == NULL ? NULL : copy_text(p->text);
        q->value = p->value == NULL ? NULL : calloc((size_t)p->count + 1, sizeof *q->value);
        if ((q->text == NULL) != (p->text == NULL) || (q->value == NULL) != (p->value == NULL)) {
            return false;
        }
        if (p->value != NULL) {
            memcpy(q->value, p->value, p->count * sizeof *q->value);
        }
    }
    return to->param != NULL;
}

/* A pooling layer as `pool`, from one blob to another, with a name of its own. */
static bool copy_pool(net_layer *to, const net_layer *pool, uint32_t branch, uint32_t in, uint32_t out) {
    char name[NAME_BYTES];
    memset(to, 0, sizeof *to);
    (void)snprintf(name, sizeof name, "%.200s_of_%u", pool->name, branch);
    to->kind = pool->kind;
    to->line = pool->line;
    to->type = copy_text(pool->type);
    to->name = copy_text(name);
    to->in = calloc(1, sizeof *to->in);
    to->out = calloc(1, sizeof *to->out);
    if (to->type == NULL || to->name == NULL || to->in == NULL || to->out == NULL || !copy_params(to, pool)) {
        return false;
    }
    to->num_in = to->num_out = 1;
    to->in[0] = in;
    to->out[0] = out;
    return true;
}

bool net_opt_room(net_graph *g, uint32_t at, uint32_t count) {
    net_layer *layer = realloc(g->layer, ((size_t)g->num_layers + count + 1) * sizeof *layer);
    g->layer = layer != NULL ? layer : g->layer;
    net_blob *blob = realloc(g->blob, ((size_t)g->num_blobs + count + 1) * sizeof *blob);
    g->blob = blob != NULL ? blob : g->blob;
    if (layer == NULL || blob == NULL) {
        return false;
    }
    memmove(layer + at + count, layer + at, (g->num_layers - at) * sizeof *layer);
    memset(layer + at, 0, count * sizeof *layer);
    memset(blob + g->num_blobs, 0, count * sizeof *blob);
    g->num_layers += count;
    for (uint32_t i = 0; i < g->num_blobs; i++) {
        blob[i].producer += blob[i].producer >= at ? count : 0;
        blob[i].consumer += blob[i].consumer >= at && blob[i].consumer != NET_NONE ? count : 0;
    }
    return true;
}

/*
 * Concat at `from`, Pooling at `to`: the branches' poolings take places from..from+k-1, the Concat that of the Pooling,
 * which is k-1 further on.
 */
static bool move_pool(net_graph *g, uint32_t from, uint32_t to) {
    const uint32_t k = g->layer[from].num_in;
    if (!net_opt_room(g, from, k - 1)) {
        return false;
    }
    net_layer concat = g->layer[from + k - 1];
    net_layer pool = g->layer[to + k - 1];
    const uint32_t joined = concat.out[0];
    net_layer_unset(&pool, NET_KEY_HINTS); /* they would be wrong */
    net_layer_unset(&concat, NET_KEY_HINTS);
    bool ok = true;
    for (uint32_t i = 0; i < k; i++) {
        char name[NAME_BYTES];
        const uint32_t in = concat.in[i];
        const uint32_t blob = i == 0 ? joined : g->num_blobs++; /* the joined map is not needed any more */
        (void)snprintf(name, sizeof name, "%.200s_of_%u", g->blob[pool.out[0]].name, i);
        ok = copy_pool(&g->layer[from + i], &pool, i, in, blob) && ok;
        free(g->blob[blob].name);
        g->blob[blob] = (net_blob){.name = copy_text(name), .producer = from + i, .consumer = to + k - 1};
        g->blob[in].consumer = from + i;
        ok = ok && g->blob[blob].name != NULL;
        concat.in[i] = blob;
    }
    concat.out[0] = pool.out[0];
    g->layer[to + k - 1] = concat;
    pool.num_tensors = 0;
    net_layer_free(&pool);
    return ok;
}

net_status net_opt_pools_first(net_graph *graph, uint32_t *changes, net_error *err) {
    if (graph == NULL || !graph->planned) {
        return net_fail(err, NET_ERR_ARG, "net_opt_pools_first: a planned graph is needed");
    }
    for (uint32_t i = 0; i < graph->num_layers; i++) {
        if (!is_pool_of_concat(graph, i)) {
            continue;
        }
        const uint32_t concat = graph->blob[graph->layer[i].in[0]].producer;
        const uint32_t more = graph->layer[concat].num_in - 1;
        if (graph->num_layers + more > NET_MAX_LAYERS || graph->num_blobs + more > NET_MAX_BLOBS) {
            continue;
        }
        net_status status = NET_OK;
        if (!move_pool(graph, concat, i)) {
            graph->planned = false;
            return net_fail(err, NET_ERR_MEMORY, "%.150s: out of memory", graph->name);
        }
        status = net_graph_plan(graph, err); /* a branch may be a Concat itself */
        if (status != NET_OK) {
            return status;
        }
        if (changes != NULL) {
            ++*changes;
        }
        i = concat;
    }
    return NET_OK;
}
