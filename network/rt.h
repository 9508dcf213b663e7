/*
 * rt.h - the runtime's parts, private to network/rt*.c.
 *
 * Before anything runs: rt_map.c decides where each layer runs, rt_share.c which blobs are parts of which, rt_place.c
 * their form on the device, and their lifetimes; rt_mem.c puts these lifetimes into one arena on the device and one on
 * the host; rt_load.c uploads weights and fills in addresses. rt.c then runs one layer after the other.
 */
#ifndef NET_RT_H
#define NET_RT_H

#include "../drivers/npu/npu.h"
#include "op.h"

/* ---- memory planner ---- */

/* Something that needs memory while the layers first..last run, both included. */
typedef struct net_mem_item {
    uint64_t bytes; /* 0: none */
    uint32_t first, last;
    uint64_t at; /* the planner's result */
} net_mem_item;

/*
 * Give every item its place so that items whose lifetimes have a layer in common do not overlap. align: a power of two;
 * places are multiples of it. The largest items are placed first, each as low as it fits. *total: bytes of the arena.
 * Errors: NET_ERR_MEMORY, NET_ERR_ARG (last before first, or more than 2^48 bytes).
 */
net_status net_mem_plan(net_mem_item *item, uint32_t count, uint64_t align, uint64_t *total, net_error *err);

/* ---- layers and blobs ---- */

typedef enum rt_kind {
    RT_CPU,     /* its row of the table, in FP32; INT8 layers: rt_int8_layer() */
    RT_NOTHING, /* Input, layers fused into another one, and pure addressing */
    RT_CONV,    /* convolutions and inner products */
    RT_POOL,
    RT_ELTWISE, /* and activations, scales, copies */
    RT_UPSAMPLE,
    RT_MOVE, /* copies of channels */
    RT_NORM  /* softmax and normalisations */
} rt_kind;

/* FP32 arrays that an operator reads besides its inputs: factors, biases, slopes, tables of pooling. Owned here until
 * they are on the device. */
typedef struct rt_array {
    float *data;
    uint32_t bytes;
    uint32_t addr;
} rt_array;

/* A copy of `count` channels: of input number `in` from `from` on every `from_every`-th, to output number `out` from
 * channel `to` on. */
typedef struct rt_move {
    uint32_t in, out, from, from_every, to, to_every, count;
} rt_move;

typedef struct rt_layer {
    rt_kind kind;
    bool linear;     /* RT_CONV over a vector: weights are packed with npu_linear_pack_weights() */
    bool swapped;    /* RT_ELTWISE: input 1 is operand a */
    bool by_channel; /* RT_ELTWISE: the other input has one element for each channel */
    uint32_t pieces; /* RT_ELTWISE: operations, where the inputs have different shapes; 0: one for each further input */
    uint32_t rows;   /* RT_CPU: 0, or its products run on the NPU, for so many rows (rt_rows.c) */
    bool products;   /* RT_CPU: its INT8 products run on the NPU (rt_product.c) */
    uint32_t fused;  /* number of the activation layer fused into this one; NET_NONE */
    char reason[112];
    npu_conv conv;
    npu_conv_plan plan;
    npu_pool pool;
    npu_eltwise elt;
    npu_rows norm;              /* RT_NORM */
    uint32_t norms, norm_apart; /* so many times, bytes from one to the next */
    rt_move *move;
    uint32_t moves;
    rt_array p, q; /* RT_ELTWISE: operands by channel; RT_POOL: p is the table; RT_NORM: gamma, beta */
    uint32_t scratch;
    uint64_t hash, cycles;
    uint64_t perf[NPU_PERF_COUNT]; /* options.stalls: counters of the last run */
} rt_layer;

typedef struct rt_blob {
    uint32_t root;    /* the blob whose memory holds this one */
    uint64_t dev_at;  /* bytes from the root's place on the device */
    uint32_t host_at; /* elements from the root's place on the host */
    bool
        /* on the device INT8 NHWC, quantised with `scale`; else FP32, channels a multiple of 16 bytes apart unless they
           have one pixel */
        int8;
    float scale;
    bool on_dev, on_host; /* which copies are those of the running inference */
} rt_blob;

/* Memory of a root. */
typedef struct rt_root {
    bool dev, host; /* needed there */
    uint32_t first, last;
    uint64_t dev_bytes, dev_place, host_place;
    uint32_t elements; /* on the host; joined maps that overlap have more than the root's blob */
} rt_root;

/* Device memory that all layers with products share, and what came of the last one. */
typedef struct rt_products {
    uint32_t in_bytes, out_bytes, wgt_bytes, param_bytes, scratch_bytes, score_bytes, stats_bytes;
    uint32_t in, out, wgt, param, scratch, score, stats;
    npu_status status;
} rt_products;

struct net_rt {
    const net_graph *graph;
    npu_dev *dev; /* NULL: memory is being planned for a device that is not open yet */
    npu npu;
    net_rt_options options;
    rt_layer *layer;
    rt_blob *blob;
    rt_root *root; /* by blob; of roots only */
    uint64_t arena_bytes, host_bytes;
    uint32_t arena;
    float *host;
    net_exec exec;
    rt_products products;
};

/* ---- rt.c ---- */

/* The blob's elements on the host, gapless. */
float *rt_host(const net_rt *rt, uint32_t blob);
/* Copy it there unless it is there already. */
bool rt_need_host(net_rt *rt, uint32_t blob);
net_status rt_run_layer(net_rt *rt, uint32_t number, net_error *err);
/* The line of a layer that failed on the device: the device's own failure, or the driver's status. */
net_status rt_device_failed(const net_rt *rt, const net_layer *layer, npu_status ns, net_error *err);

/* ---- rt_part.c ---- */

/* Will this layer run? */
bool rt_runs(const net_rt *rt, uint32_t number);

/* ---- rt_map.c, rt_map_conv.c ---- */

/* Where each layer runs, and why not on the NPU. Errors: those of rt_requantised(). */
net_status rt_map(net_rt *rt, net_error *err);
/* Note why a layer runs on the CPU; false. */
bool rt_reason(rt_layer *rl, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The NPU's activation with the same function. false: it has none. */
bool rt_act(const net_act *act, npu_act *type, uint32_t params[2]);
/* Convolution, ConvolutionDepthWise, InnerProduct. false: on the CPU, with its reason. */
bool rt_map_conv(net_rt *rt, uint32_t number);
/* The layer's input is laid out so that the driver can use it as a vector; known after the roots. */
bool rt_reads_vector(const net_rt *rt, uint32_t number);

/* Operation of the ALU for one of ncnn's, with its operands exchanged or not. false: there is none. */
bool rt_binary_op(int32_t op, bool swapped, npu_alu_op *out);

/* ---- rt_broadcast.c ---- */

/* BinaryOp number `code` of two blobs of different shapes. false: on the CPU, with its reason. */
bool rt_map_broadcast(net_rt *rt, uint32_t number, int32_t code);
/* Operation `index` of rl->pieces, at the addresses of the blobs. */
npu_eltwise rt_broadcast_piece(const net_rt *rt, uint32_t number, uint32_t index);
npu_status rt_run_broadcast(net_rt *rt, uint32_t number);

/* ---- rt_move.c ---- */

/* A Concat whose inputs are copied (options.copy_concat). false: on the CPU, with its reason. */
bool rt_map_concat_copies(net_rt *rt, uint32_t number);
/* Slice and Crop along the outermost dimension, ShuffleChannel. false: on the CPU, with its reason. */
bool rt_map_slice(net_rt *rt, uint32_t number);
bool rt_map_crop(net_rt *rt, uint32_t number);
bool rt_map_shuffle(net_rt *rt, uint32_t number);
npu_status rt_run_move(net_rt *rt, uint32_t number);
/* Copy i of them as a job of the driver. */
npu_status rt_move_job(const net_rt *rt, uint32_t number, uint32_t i, npu_job *job);

/* ---- rt_rows.c ---- */

/* An inner product of each row of a matrix. false: its blobs stay on the host, and its products, too, with the reason,
 * unless rows is set then. */
bool rt_map_rows(net_rt *rt, uint32_t number);
/* Device memory for the map, the result and what the driver needs. */
uint64_t rt_rows_bytes(const rt_layer *rl);
bool rt_load_rows(net_rt *rt, rt_layer *rl);
/* in: [rows][inputs], out: [rows][outputs], on the host. */
npu_status rt_run_rows(net_rt *rt, const rt_layer *rl, const float *in, float *out);

/* ---- rt_product.c ---- */

/* A layer with INT8 products. false: its blobs stay on the host, and its products, too, with the reason, unless
 * `products` is set then. */
bool rt_map_products(net_rt *rt, uint32_t number);
uint64_t rt_products_bytes(const net_rt *rt);
bool rt_load_products(net_rt *rt);
/* net_product_fn: user is the runtime. */
void rt_run_product(void *user, const net_product *product);
npu_status rt_product_job(const net_rt *rt, const net_product *product, npu_job *job);

/* ---- rt_norm.c ---- */

/* Softmax, LayerNorm, RMSNorm. false: on the CPU, with its reason. */
bool rt_map_softmax(net_rt *rt, uint32_t number);
bool rt_map_norm(net_rt *rt, uint32_t number);
npu_status rt_run_norm(net_rt *rt, const rt_layer *rl);
/* The layer's number i of rl->norms, at the addresses of the blobs. */
npu_rows rt_norm_rows(const rt_layer *rl, uint32_t i);
/* true: attention in INT8, whose softmax the runtime computes on the NPU. */
bool rt_softmax_on_npu(const net_layer *layer);
/* Its size for a head: a row for each query, an element for each key. Returns the number of heads. */
uint32_t rt_softmax_size(const net_graph *graph, const net_layer *layer, uint32_t *rows, uint32_t *count);
/* The softmax of a head: its memory on the device, and the operator there. */
void rt_need_softmax(const net_rt *rt, const net_layer *layer, rt_products *need);
npu_rows rt_softmax_rows(const net_rt *rt, uint32_t rows, uint32_t count);
/* net_softmax_fn: user is the runtime. */
void rt_run_softmax(void *user, float *row, uint32_t rows, uint32_t count);

/* ---- rt_chain.c ---- */

/* Fuse an activation into the operator before it, if that has none. */
void rt_fuse(net_rt *rt, uint32_t number);
/* Chains of INT8 convolutions pass on INT8 blobs where both ends can. Before rt_fuse(). Errors: NET_ERR_UNSUPPORTED. */
net_status rt_requantised(net_rt *rt, uint32_t number, net_error *err);

/* ---- rt_share.c ---- */

/* Which blobs are parts of which. false: no memory. */
bool rt_share(net_rt *rt);

/* ---- rt_place.c ---- */

/* Roots, forms, lifetimes, both arenas. */
net_status rt_place(net_rt *rt, net_error *err);
/* The blob as a tensor of the driver, at this address. As a map where it has three dimensions else as one long row. */
npu_tensor rt_tensor(const net_rt *rt, uint32_t blob, uint32_t addr);
/* A Split output at another address than its input is copied by the NPU; otherwise on the host. */
bool rt_copies_on_device(const net_rt *rt, uint32_t from, uint32_t to);
/* An output of a layer that computes nothing has another place than its input, or than its part of it (Slice). */
bool rt_is_copied(const net_rt *rt, uint32_t from, uint32_t to);
/* A blob's elements are contiguous on the device. */
bool rt_gapless(const net_shape *shape);
/* Bytes from channel to channel of an FP32 blob of three dimensions. */
uint64_t rt_cstep(const net_shape *shape);

/* ---- rt_search.c ---- */

/* options.search, options.partition: the plans of all convolutions. Before their scratch memory is placed. */
void rt_search(net_rt *rt);

/* ---- rt_load.c ---- */

/* Fill in addresses of inputs and outputs. */
void rt_address(rt_layer *rl, const uint32_t in[2], uint32_t out);
/* Address of a blob on the device, when memory is planned and there. */
uint32_t rt_addr(const net_rt *rt, uint32_t blob);
/* Device memory that rt_load() will allocate. */
uint64_t rt_load_bytes(const net_rt *rt);
/* Device memory, weights, addresses. */
net_status rt_load(net_rt *rt, net_error *err);

/* ---- rt_int8.c ---- */

/*
 * An INT8 layer with weights in C, by the definition (docs/npu/ncnn-contract.md): quantise the input with its scale,
 * add products in int32, then scale, bias and activation in FP32. in and out: gapless floats. Errors: NET_ERR_MEMORY.
 */
net_status rt_int8_layer(const net_graph *graph, const net_layer *layer, const float *in, float *out, net_error *err);
/* true: the layer has weights and the scales that make it INT8. */
bool rt_is_int8(const net_layer *layer);
/* Scale of output channel c. */
float rt_weight_scale(const net_layer *layer, uint32_t c);
/* Asymmetric INT8: the bias of output channel c in steps of the sums; 0 without biases. */
int32_t rt_asym_bias(const net_layer *layer, uint32_t c);
/* INT8 weights: those of the file, or float ones quantised with the layer's scales. NULL: no memory. */
int8_t *rt_int8_weights(const net_layer *layer);
/* The same of an INT16 layer. */
int16_t *rt_int16_weights(const net_layer *layer);
/* rt_int8_layer() of an INT16 layer. */
net_status rt_int16_layer(const net_graph *graph, const net_layer *layer, const float *in, float *out, net_error *err);

#endif
