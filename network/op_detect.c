/* op_detect.c - ends of networks: softmax, anchor boxes, detections. */
#include <math.h>

#include "op.h"

static net_status softmax_shape(net_plan *p) {
    uint32_t axis;
    net_status status = net_plan_axis(p, 0, 0, &axis);
    if (status != NET_OK) {
        return status;
    }
    if (net_layer_int(p->layer, 0, 0) != 0 && net_layer_int(p->layer, 1, 0) != 1) {
        return NET_BAD(p, "axis %d without key 1 set to 1", net_layer_int(p->layer, 0, 0));
    }
    return net_plan_same(p);
}

static void softmax_run(const net_work *work) {
    const net_shape *shape = net_work_in(work, 0);
    int32_t axis = net_layer_int(work->layer, 0, 0);
    net_axis a = net_shape_axis(shape, (uint32_t)(axis < 0 ? axis + (int32_t)shape->dims : axis));
    for (uint32_t block = 0; block < a.outer; block++) {
        for (uint32_t k = 0; k < a.step; k++) {
            const float *x = work->in[0] + (size_t)block * a.n * a.step + k;
            float *y = work->out[0] + (size_t)block * a.n * a.step + k;
            float largest = x[0];
            float sum = 0.0f;
            for (uint32_t i = 1; i < a.n; i++) {
                largest = x[(size_t)i * a.step] > largest ? x[(size_t)i * a.step] : largest;
            }
            for (uint32_t i = 0; i < a.n; i++) {
                y[(size_t)i * a.step] = expf(x[(size_t)i * a.step] - largest);
                sum += y[(size_t)i * a.step];
            }
            for (uint32_t i = 0; i < a.n; i++) {
                y[(size_t)i * a.step] /= sum;
            }
        }
    }
}

const net_op net_ops_detect[] = {
    {"Softmax", 1, 1, 1, 1, NULL, softmax_shape, softmax_run, NULL},
    {"PriorBox", 1, 2, 1, 1, NULL, NULL, NULL, NULL},
    {"DetectionOutput", 3, 3, 1, 1, NULL, NULL, NULL, NULL},
    {"YoloDetectionOutput", 1, NET_ANY, 1, 1, NULL, NULL, NULL, NULL},
    {"Yolov3DetectionOutput", 1, NET_ANY, 1, 1, NULL, NULL, NULL, NULL},
    {0},
};
