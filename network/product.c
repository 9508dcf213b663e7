/* product.c - products of INT8 matrices whose scales are found while a layer runs. */
#include <math.h>
#include <string.h>

#include "attn.h"

void net_dynamic_quantise(const net_quantised *v) {
    float largest = 0.0f;
    for (uint32_t i = 0; i < v->rows; i++) {
        largest = v->each ? 0.0f : largest;
        for (uint32_t j = 0; j < v->count; j++) {
            float x = fabsf(v->x[i * v->step + j]);
            largest = x > largest ? x : largest;
        }
        v->scale[v->each ? i : 0] = v->steps || largest == 0.0f ? 1.0f : 127.0f / largest;
    }
    for (uint32_t i = 0; i < v->rows; i++) {
        for (uint32_t j = 0; j < v->count; j++) {
            size_t at = v->turned ? (size_t)j * v->rows + i : (size_t)i * v->count + j;
            v->q[at] = net_quantize_value(v->x[i * v->step + j], v->scale[v->each ? i : 0]);
        }
    }
}

static void product_in_c(const net_product *p) {
    for (size_t i = 0; i < p->m; i++) {
        for (size_t j = 0; j < p->n; j++) {
            const int8_t *a = p->a + i * p->k;
            const int8_t *b = p->b + j * p->k;
            int32_t sum = 0;
            for (uint32_t k = 0; k < p->k; k++) {
                sum += a[k] * b[k];
            }
            p->out[i * p->n + j] = (float)sum;
        }
    }
}

void net_work_product(const net_work *work, const net_product *product) {
    if (work->product != NULL) {
        work->product(work->user, product);
    } else {
        product_in_c(product);
    }
}

bool net_layer_products_are_dynamic(const net_layer *layer) {
    return strcmp(layer->type, "MultiHeadAttention") == 0 || strcmp(layer->type, "Gemm") == 0 ||
           net_layer_recurs(layer);
}

bool net_layer_recurs(const net_layer *layer) {
    return strcmp(layer->type, "LSTM") == 0 || strcmp(layer->type, "GRU") == 0 || strcmp(layer->type, "RNN") == 0;
}

uint32_t net_layer_products(const net_graph *graph, const net_layer *layer, net_product list[NET_MAX_PRODUCTS],
                            uint32_t times[NET_MAX_PRODUCTS]) {
    uint32_t count = 0;
    if (strcmp(layer->type, "MultiHeadAttention") == 0 && net_layer_int(layer, 18, 0) != 0) {
        mha_form f = mha_form_of(graph, layer);
        uint32_t size = f.embed / f.heads;
        const net_product all[NET_MAX_PRODUCTS] = {
            {f.source, f.embed, f.qdim, NULL, NULL, NULL}, {f.target, f.embed, f.kdim, NULL, NULL, NULL},
            {f.target, f.embed, f.vdim, NULL, NULL, NULL}, {f.source, f.target, size, NULL, NULL, NULL},
            {f.source, size, f.target, NULL, NULL, NULL},  {f.source, f.qdim, f.embed, NULL, NULL, NULL}};
        for (; count < NET_MAX_PRODUCTS; count++) {
            list[count] = all[count];
            times[count] = count == 3 || count == 4 ? f.heads : 1;
        }
    } else if (strcmp(layer->type, "MatMul") == 0 && net_layer_int(layer, 8, 0) != 0) {
        times[count] = net_matmul_product(graph, layer, &list[count]);
        count++;
    } else if (strcmp(layer->type, "SDPA") == 0 && net_layer_int(layer, 18, 0) != 0) {
        times[0] = times[1] = net_sdpa_products(graph, layer, list);
        count = 2;
    } else if (strcmp(layer->type, "Gemm") == 0 && net_layer_int(layer, 18, 0) != 0) {
        times[count] = net_gemm_product(graph, layer, &list[count]);
        count++;
    } else if (net_layer_recurs(layer) && net_layer_int(layer, 8, 0) != 0) {
        count = net_rnn_products(graph, layer, list, times);
    }
    return count;
}
