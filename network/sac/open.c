/* open.c - the engine of net_target_sac: the golden model alone, or RTL and model in tandem. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net_sac.h"
#include "network/bench.h"
#include "network/internal.h"
#include "sac_alone.h"
#include "sac_device.h"

typedef struct opened {
    net_sac s; /* first: net_target_sac gets its address */
    sac_alone alone;
    sac_device *dev; /* RTL and model in tandem; NULL: the model alone */
    tb_tandem bench; /* of it */
} opened;

static bool alone_write(void *ctx, uint32_t addr, const void *data, size_t bytes) {
    return tb_ddr_write(&((sac_alone *)ctx)->mem, addr, data, bytes);
}

static bool alone_read(void *ctx, uint32_t addr, void *data, size_t bytes) {
    return tb_ddr_read(&((sac_alone *)ctx)->mem, addr, data, bytes);
}

static bool tandem_write(void *ctx, uint32_t addr, const void *data, size_t bytes) {
    tb_pair_fill(&((sac_device *)ctx)->pair, addr, data, bytes);
    return true;
}

static bool tandem_read(void *ctx, uint32_t addr, void *data, size_t bytes) {
    return tb_ddr_read(&((sac_device *)ctx)->pair.rtl, addr, data, bytes);
}

static bool tandem_done(void *ctx, char *text, size_t size) {
    sac_device *dev = (sac_device *)ctx;
    sac_device_end(dev);
    const bool equal = !tb_run_failed(&dev->run) && sac_device_compare(dev, false);
    if (!equal) {
        (void)snprintf(text, size, "%.40s: %.240s", dev->run.failure.signature, dev->run.failure.message);
    }
    return equal;
}

net_sac_port net_sac_tandem(sac_device *dev) {
    return (net_sac_port){.hal = &dev->hal,
                          .base = SAC_MEM_BASE,
                          .bytes = SAC_MEM_SIZE,
                          .ctx = dev,
                          .write = tandem_write,
                          .read = tandem_read,
                          .done = tandem_done};
}

static void net_sac_close(void *engine) {
    opened *o = (opened *)engine;
    char text[300];
    if (o->dev != NULL) {
        (void)tb_tandem_close(&o->bench, o->dev, text, sizeof text);
    }
    sac_alone_close(&o->alone);
    free(o);
}

/* The golden model of a device in tandem; run->more: the sizes of the build. */
static int open_build(void *bench, const tb_prog_run *run, char *err, size_t err_size) {
    const uint32_t *size = (const uint32_t *)run->more;
    const sac_build build = {size[0], size[1], size[2], size[3]};
    return sac_device_build((sac_device *)bench, &build, err, err_size);
}

static net_status open_device(opened *o, const net_target_options *options, net_sac_port *port, net_error *err) {
    static const uint32_t usual[] = {4, 8, 8, 25088}; /* configuration s */
    const uint32_t *size = options->sizes != NULL ? options->sizes : usual;
    const sac_build build = {size[0], size[1], size[2], size[3]};
    char text[300] = "";
    if (strcmp(options->device, "tandem") == 0) {
        o->bench = sac_bench;
        o->bench.open = open_build;
        o->dev = net_target_bench(&o->bench, options, text, sizeof text);
        if (o->dev == NULL) {
            return net_fail(err, NET_ERR_DEVICE, "device: %s", text);
        }
        *port = net_sac_tandem(o->dev);
        return NET_OK;
    }
    *port = (net_sac_port){.hal = &o->alone.hal,
                           .base = SAC_MEM_BASE,
                           .bytes = SAC_MEM_SIZE,
                           .ctx = &o->alone,
                           .write = alone_write,
                           .read = alone_read};
    return sac_alone_open(&o->alone, &build) == 0 ? NET_OK : net_fail(err, NET_ERR_MEMORY, "out of memory");
}

static net_status net_sac_open(const net_target_options *options, void **engine, net_error *err) {
    net_sac_port port;
    opened *o = calloc(1, sizeof *o);
    if (o == NULL) {
        return net_fail(err, NET_ERR_MEMORY, "out of memory");
    }
    net_status status = open_device(o, options, &port, err);
    status = status == NET_OK ? net_sac_init(&o->s, &port, options->scales, err) : status;
    if (status != NET_OK) {
        net_sac_close(o);
        return status;
    }
    *engine = o;
    return NET_OK;
}

const net_target net_target_sac = {.name = "sac",
                                   .open = net_sac_open,
                                   .close = net_sac_close,
                                   .map = net_sac_map,
                                   .run = net_sac_run,
                                   .fits = net_sac_fits};
