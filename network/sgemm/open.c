/* open.c - the engine of net_target_sgemm: the golden model alone, or RTL and model in tandem. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net_sgemm.h"
#include "network/bench.h"
#include "network/internal.h"
#include "sgemm_alone.h"
#include "sgemm_device.h"

typedef struct opened {
    net_sgemm s; /* first: net_target_sgemm gets its address */
    sgemm_alone alone;
    sgemm_device *dev; /* RTL and model in tandem; NULL: the model alone */
} opened;

/* After a layer. False: the line of the failure. */
static bool compare(void *ctx, char *text, size_t size) {
    sgemm_device *dev = (sgemm_device *)ctx;
    const bool equal = !tb_run_failed(&dev->run) && sgemm_device_compare(dev);
    if (!equal) {
        (void)snprintf(text, size, "%.40s: %.240s", dev->run.failure.signature, dev->run.failure.message);
    }
    return equal;
}

net_sgemm_port net_sgemm_tandem(sgemm_device *dev) {
    return (net_sgemm_port){
        .hal = &dev->hal, .base = SGEMM_MEM_BASE, .bytes = SGEMM_MEM_SIZE, .ctx = dev, .done = compare};
}

static net_status open_tandem(opened *o, const net_target_options *options, net_sgemm_port *port, net_error *err) {
    char text[300] = "";
    o->dev = net_target_bench(&sgemm_bench, options, text, sizeof text);
    if (o->dev == NULL) {
        return net_fail(err, NET_ERR_DEVICE, "device: %s", text);
    }
    *port = net_sgemm_tandem(o->dev);
    return NET_OK;
}

static net_status open_alone(opened *o, const net_target_options *options, net_sgemm_port *port, net_error *err) {
    static const uint32_t usual[] = {64, 56, 1}; /* configuration doc */
    const uint32_t *size = options->sizes != NULL ? options->sizes : usual;
    const uint32_t config = size[0] << SGEMM_CONFIG_DIM_LSB | size[1] << SGEMM_CONFIG_VEC_LSB |
                            size[2] << SGEMM_CONFIG_CHAINS_LSB | SGEMM_CONFIG_EN_HALF_MASK;
    port->hal = &o->alone.hal;
    return sgemm_alone_open(&o->alone, config) == 0 ? NET_OK : net_fail(err, NET_ERR_MEMORY, "out of memory");
}

static void net_sgemm_close(void *engine) {
    opened *o = (opened *)engine;
    char text[300];
    if (o->dev != NULL) {
        (void)tb_tandem_close(&sgemm_bench, o->dev, text, sizeof text);
    }
    sgemm_alone_close(&o->alone);
    free(o);
}

static net_status net_sgemm_open(const net_target_options *options, void **engine, net_error *err) {
    net_sgemm_port port = {.base = SGEMM_MEM_BASE, .bytes = SGEMM_MEM_SIZE};
    opened *o = calloc(1, sizeof *o);
    if (o == NULL) {
        return net_fail(err, NET_ERR_MEMORY, "out of memory");
    }
    const bool tandem = strcmp(options->device, "tandem") == 0;
    net_status status = tandem ? open_tandem(o, options, &port, err) : open_alone(o, options, &port, err);
    status = status == NET_OK ? net_sgemm_init(&o->s, &port, options->half, err) : status;
    if (status != NET_OK) {
        net_sgemm_close(o);
        return status;
    }
    *engine = o;
    return NET_OK;
}

const net_target net_target_sgemm = {
    .name = "sgemm", .open = net_sgemm_open, .close = net_sgemm_close, .map = net_sgemm_map, .run = net_sgemm_run};
