/*
 * lite_master.h - register accesses through an AXI4-Lite port of 32 or 64 data bits, one at a time, with random channel
 * order and gaps.
 *
 * A register has 32 bits. On a port of 64 bits such an access uses the lanes of one half of a beat, which address bit 2
 * chooses; tb_lite_write64() and tb_lite_read64() access a whole beat.
 */
#ifndef TB_LITE_MASTER_H
#define TB_LITE_MASTER_H

#include <stdbool.h>
#include <stdint.h>

#include "../case/rng.h"
#include "port.h"

typedef enum tb_lite_status {
    TB_LITE_OK = 0,
    TB_LITE_TIMEOUT = 1,
    TB_LITE_ERROR = 2 /* error response */,
    TB_LITE_STOPPED = 3
} tb_lite_status;

typedef struct tb_lite_master {
    tb_axi_port *port;
    tb_rng rng;
    uint16_t gap_max;
    bool busy, write;
    uint64_t value; /* of a beat: data that were read, or that are to be written */
    uint8_t resp;
    uint64_t addr;
    uint8_t strb;
    /* cycles until each channel becomes active; counted down in each cycle */
    uint16_t ax_wait, w_wait, resp_wait;
    bool ax_done, w_done;
} tb_lite_master;

/* gap_max: longest random delay of each channel in cycles (0: none). */
void tb_lite_init(tb_lite_master *m, tb_axi_port *port, uint16_t gap_max, tb_rng rng);
/* Drop the access in flight, if there is one (reset of the design). */
void tb_lite_reset(tb_lite_master *m);
/*
 * Begin an access; not while another one is busy. tb_lite_start64(): value and strb are those of a beat. What was read
 * is m->value, of which tb_lite_half() is the register.
 */
void tb_lite_start(tb_lite_master *m, bool write, uint64_t addr, uint32_t value, uint8_t strb);
void tb_lite_start64(tb_lite_master *m, bool write, uint64_t addr, uint64_t value, uint8_t strb);
uint32_t tb_lite_half(const tb_lite_master *m);
/*
 * Drive before the design settles, sample before the edge, as for the slave (slave.h). m->busy becomes false after the
 * handshake of the response.
 */
void tb_lite_drive(tb_lite_master *m);
void tb_lite_sample(tb_lite_master *m);

/* One whole cycle of the bench: drive, settle, sample, edge. It returns false to stop. */
typedef bool tb_step_fn(void *ctx);
/* Blocking accesses: step the bench until the response, at most `timeout` cycles. */
tb_lite_status tb_lite_write(tb_lite_master *m, uint64_t addr, uint32_t value, uint8_t strb, tb_step_fn *step,
                             void *ctx, uint64_t timeout);
tb_lite_status tb_lite_read(tb_lite_master *m, uint64_t addr, uint32_t *value, tb_step_fn *step, void *ctx,
                            uint64_t timeout);
tb_lite_status tb_lite_write64(tb_lite_master *m, uint64_t addr, uint64_t value, uint8_t strb, tb_step_fn *step,
                               void *ctx, uint64_t timeout);
tb_lite_status tb_lite_read64(tb_lite_master *m, uint64_t addr, uint64_t *value, tb_step_fn *step, void *ctx,
                              uint64_t timeout);

#endif
