/* runtime.h - running a network on a device: which layers the NPU executes, their memory, inferences, and what each
 * layer took. Part of network.h. */
#ifndef NET_RUNTIME_H
#define NET_RUNTIME_H

#include "network.h"

typedef struct net_rt net_rt;

typedef struct net_rt_options {
    /* Blobs that are not needed at the same time share memory on the host, too: after a run only the outputs of the
     * network can be read. Without it every blob can. */
    bool reuse;
    /* Read the counters of the NPU after each of its layers (RTL only); the accesses take cycles of their own, between
     * the layers. */
    bool stalls;
    /* Only the layers first..last will run (net_rt_run_part()); nothing of the others is loaded. */
    bool part;
    uint32_t first, last;
    /* The driver polls for the end of a task, instead of waiting for its interrupt. */
    bool poll;
    /* Splits of convolutions by search over predicted cycles (net_rt_schedule), instead of the driver's rule. Results
     * do not depend on it. */
    bool search;
    /* Splits of convolutions as document 004 partitions them: slices of 144 inputs (channels x kernel), or N channels
     * if that is more, and rows so that map and weights of a channel fit 2048 bytes. */
    bool partition;
    /* The inputs of a Concat are copied into its output by the NPU, instead of being written there, and the outputs of
     * a Slice are copied from its input, instead of staying there: to see what sharing memory saves. */
    bool copy_concat;
    /* Each joined map has memory of its own, and a blob that is part of two is copied, instead of joined maps that
     * overlap: to see what that saves. */
    bool apart;
} net_rt_options;

/*
 * Decide where each layer runs, plan memory, allocate it on the device, pack and upload weights, initialise the driver.
 * On the NPU: INT8 layers with weights (net_int8: convolutions of any kind, inner products), pooling, element-wise
 * operations, activations, scales, upsampling by 2, as far as the driver supports them; Concat, Split, Flatten and
 * Reshape are addresses where possible. All else runs in plain C, in FP32, or in INT8 for INT8 layers. Graph and device
 * must outlive it. options NULL: all false. Errors: NET_ERR_UNSUPPORTED (an INT8 output whose consumers have other
 * scales), NET_ERR_MEMORY, NET_ERR_DEVICE.
 */
net_status net_rt_new_with(const net_graph *graph, npu_dev *dev, const net_rt_options *options, net_rt **out,
                           net_error *err);
net_status net_rt_new(const net_graph *graph, npu_dev *dev, net_rt **out, net_error *err);
void net_rt_free(net_rt *rt);
/* Bytes of device memory that the graph takes on a mesh of n: before a device is opened. Errors: as net_rt_new_with().
 */
net_status net_rt_memory(const net_graph *graph, uint32_t n, const net_rt_options *options, uint64_t *bytes,
                         net_error *err);
/* The runtime as planned for a mesh of n, without a device: for net_rt_predict(), net_rt_search(),
 * net_rt_layer_where(). Errors: as net_rt_new_with(). */
net_status net_rt_plan(const net_graph *graph, uint32_t n, const net_rt_options *options, net_rt **out, net_error *err);
/*
 * One inference: input holds the elements of all input blobs, one blob after the other. In tandem both devices are
 * compared after every layer of the NPU. Errors: NET_ERR_DEVICE with the layer's name: driver status, or the device's
 * own failure (npu_dev_get_failure); NET_ERR_MEMORY.
 */
net_status net_rt_run(net_rt *rt, const float *input, net_error *err);
/*
 * The part of the network that the options name: its layers read their external inputs from `whole`, and their outputs
 * must equal those of `whole`, bit for bit. whole: the same graph on a device of the same mesh size, without reuse and
 * not a part, after net_rt_run(). Errors: NET_ERR_ARG; as net_rt_run(); NET_ERR_DEVICE with layer, element, value and
 * expected value of the first difference.
 */
net_status net_rt_run_part(net_rt *rt, const net_rt *whole, net_error *err);
/* Contents of a blob after net_rt_run(); of an INT8 blob q / scale. The input of a fused activation has the values
 * after it. With `reuse`: outputs of the network only. */
const float *net_rt_blob(const net_rt *rt, uint32_t blob);
/* true: on the device the blob is INT8. */
bool net_rt_blob_is_int8(const net_rt *rt, uint32_t blob);
/* Hash of the first output of a layer after net_rt_run(); 0 for the Input layer and with `reuse`. */
uint64_t net_rt_layer_hash(const net_rt *rt, uint32_t layer);
/* The first wrong element of a layer's outputs. */
typedef struct net_rt_difference {
    uint32_t output, element;
    float got, expected; /* of an INT8 blob before the quantiser */
} net_rt_difference;
/*
 * Compare the outputs of a layer in the last net_rt_run() with its definition in plain C over its actual inputs: bit
 * for bit, except averages (1e-5 of the map's largest element) and functions that the NPU fits (1e-3; of an INT8 output
 * also one step). Layers fused into another one, and Input layers, are equal. Not with `reuse`. Errors: NET_ERR_ARG,
 * NET_ERR_MEMORY.
 */
net_status net_rt_check(const net_rt *rt, uint32_t layer, bool *equal, net_rt_difference *first, net_error *err);
/* true: the layer ran on the NPU (including activations fused into the layer before). */
bool net_rt_layer_on_npu(const net_rt *rt, uint32_t layer);

typedef enum net_place { NET_ON_NPU, NET_ON_CPU, NET_NOWHERE /* nothing to compute */ } net_place;
typedef enum net_unit { NET_UNIT_NONE, NET_UNIT_GEMM, NET_UNIT_ALU, NET_UNIT_POOL } net_unit;
typedef struct net_rt_where {
    net_place place;
    net_unit unit;      /* NET_ON_NPU: the executing unit, also for copies */
    bool fused;         /* an activation fused into the layer before */
    const char *reason; /* NET_ON_CPU: why; the runtime's own */
    uint64_t cycles;    /* of the last run, on an RTL; the driver's register accesses included */
    /* With `stalls`: cycles in which the mesh worked, and in which a unit waited for its input, for weights, for space
     * for its results (docs/npu/npu.md section 5). */
    uint64_t mesh, wait_input, wait_weights, wait_room;
} net_rt_where;
net_rt_where net_rt_layer_where(const net_rt *rt, uint32_t layer);

/*
 * Clock cycles of a single layer on the NPU, from its shape and the driver's plan alone (docs/npu/performance.md). The
 * largest of mesh, read and write is the bound: the mesh with every PE active on full tiles, every byte that the plan
 * moves at 32 bytes a cycle each way. fill and drain: cycles before the first product and after the last one. All 0:
 * the layer does not run on the NPU.
 */
typedef struct net_rt_estimate {
    uint64_t mesh, read, write, fill, drain, tasks, bound, cycles;
} net_rt_estimate;
net_rt_estimate net_rt_predict(const net_rt *rt, uint32_t layer);

/* Counters 0 to 51 of the NPU (docs/npu/npu.md section 5) during the layer's last run, with `stalls` on an RTL; else
 * all 0. */
const uint64_t *net_rt_counters(const net_rt *rt, uint32_t layer);

/* Bytes of memory. device_blobs: size of the blobs on the device without reuse; the arena holds them. */
typedef struct net_rt_memory_use {
    uint64_t device_blobs, device_arena, device_all, host_arena;
} net_rt_memory_use;
net_rt_memory_use net_rt_memory_used(const net_rt *rt);

#endif
