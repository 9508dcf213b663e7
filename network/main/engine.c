/* engine.c - tandem-net classify and detect: the CPU or a device. */
#include <stdio.h>
#include <string.h>

#include "photos.h"

#define SPARE_BYTES (UINT64_C(1) << 20)

static net_status device_failed(const photos_engine *engine, const char *text, net_error *err) {
    const npu_dev_failure *f = engine->dev == NULL ? NULL : npu_dev_get_failure(engine->dev);
    if (f != NULL && f->signature[0] != '\0') {
        (void)snprintf(err->text, sizeof err->text, "%.80s: %.300s", f->signature, f->message);
    } else {
        (void)snprintf(err->text, sizeof err->text, "device: %.300s", text);
    }
    return NET_ERR_DEVICE;
}

static net_status open_device(photos_engine *engine, const photos_options *o, net_graph *graph, net_error *err) {
    const net_rt_options options = {.reuse = true};
    char text[400] = "";
    uint64_t bytes = 0;
    net_status status = net_optimize(graph, NULL, NULL, NULL, err); /* chains of INT8 layers */
    status = status == NET_OK ? net_rt_memory(graph, o->n, &options, &bytes, err) : status;
    if (status != NET_OK) {
        return status;
    }
    npu_dev_kind kind = strcmp(o->device, "model") == 0 ? NPU_DEV_MODEL
                        : strcmp(o->device, "rtl") == 0 ? NPU_DEV_RTL
                                                        : NPU_DEV_TANDEM;
    const npu_dev_cfg cfg = {
        .kind = kind, .n = o->n, .seed = 1, .ddr_bytes = bytes + SPARE_BYTES, .poison_reads = true};
    engine->dev = npu_dev_open(&cfg, text, sizeof text);
    return engine->dev == NULL ? device_failed(engine, text, err)
                               : net_rt_new_with(graph, engine->dev, &options, &engine->rt, err);
}

net_status photos_engine_open(photos_engine *engine, const photos_options *o, net_graph *graph, net_error *err) {
    *engine = (photos_engine){0};
    return o->device != NULL ? open_device(engine, o, graph, err)
                             : net_int8_new(graph, o->scalar ? NET_INT8_SCALAR : NET_INT8_FAST, &engine->cpu, err);
}

net_status photos_engine_infer(photos_engine *engine, const float *input, net_error *err) {
    if (engine->cpu != NULL) {
        net_int8_run(engine->cpu, input);
        return NET_OK;
    }
    return net_rt_run(engine->rt, input, err);
}

const float *photos_engine_blob(const photos_engine *engine, uint32_t blob) {
    return engine->cpu != NULL ? net_int8_blob(engine->cpu, blob) : net_rt_blob(engine->rt, blob);
}

net_status photos_engine_run(photos_engine *engine, const net_graph *graph, const float *input, const float **output,
                             net_error *err) {
    net_status status = photos_engine_infer(engine, input, err);
    *output = photos_engine_blob(engine, graph->output);
    return status;
}

net_status photos_engine_finish(photos_engine *engine, net_error *err) {
    return engine->dev == NULL || npu_dev_finish(engine->dev) ? NET_OK : device_failed(engine, "failed", err);
}

void photos_engine_free(photos_engine *engine) {
    net_int8_free(engine->cpu);
    net_rt_free(engine->rt);
    if (engine->dev != NULL) {
        npu_dev_close(engine->dev);
    }
}
