/*
 * master.h - drives an AXI4 or AXI4-Lite slave of the design: bursts of every kind, several in flight, with a shadow of
 * the memory behind it.
 *
 * Bursts are drawn at random (tb_axi_master_traffic()) or given by a bench (tb_axi_master_start()). Addresses, data and
 * responses of all channels move independently, with pauses as in a profile of slave.h: its `outstanding` bursts in
 * flight each way; AW, W and AR pause as there; RREADY behaves as that profile's WREADY, BREADY as its AWREADY; with
 * data_first, write data may come before their address. Responses may come in any order that AXI allows (AMBA AXI,
 * section A5.3).
 *
 * Read data are compared with the shadow (mem/shadow.h). The monitor of the port checks the protocol.
 */
#ifndef TB_AXI_MASTER_H
#define TB_AXI_MASTER_H

#include <stdbool.h>
#include <stdint.h>

#include "../case/rng.h"
#include "../mem/shadow.h"
#include "port.h"
#include "slave.h"

#define TB_AXI_MASTER_CAP 32u /* bursts in flight each way, a power of two */

/* A burst, as its address channel describes it. */
typedef struct tb_axi_request {
    bool write, lock;
    uint8_t len, size, burst; /* beats - 1; log2 of the bytes of a beat; TB_AXI_INCR ... */
    uint8_t cache, prot, qos;
    uint64_t addr;
    uint32_t id;
} tb_axi_request;

/* Random bursts. Properties for which the port has no signals are not used (length, size, kind, ID, exclusive). */
typedef struct tb_axi_traffic {
    uint64_t count;       /* number of bursts */
    uint64_t base, bytes; /* range of addresses; multiples of the width of the bus in bytes */
    uint32_t ids;         /* IDs are 0 .. ids - 1 (0: one ID) */
    uint32_t max_beats;   /* 1 .. 256 (0: 256; FIXED, WRAP and exclusive accesses have at most 16) */
    uint8_t writes;       /* share of writes in percent */
    uint8_t exclusive;    /* share of exclusive pairs (a read, then a write) in percent */
    bool fixed, wrap;     /* also bursts of these kinds, beside INCR */
    bool narrow;          /* beats of fewer bytes than the bus has */
    bool unaligned;       /* first addresses that are no multiple of the beat (never of WRAP and exclusive ones) */
    bool sparse;          /* strobes with holes, and beats without any */
} tb_axi_traffic;

/* Called when a burst is answered. data: the beats of a read as they were on the bus. resp: the worst response. */
typedef void (*tb_axi_done_fn)(void *ctx, const tb_axi_request *burst, const uint8_t *data, uint8_t resp);

/* A burst in flight. */
typedef struct tb_axi_flight {
    tb_axi_request b;
    uint64_t number; /* number of the burst on this port, from 1 */
    unsigned access; /* its number in the shadow */
    uint16_t beat;   /* of a read: the next beat */
    uint8_t resp;
    bool drawn, done;
} tb_axi_flight;

typedef struct tb_axi_master_cfg {
    const char *name;  /* name of the port in reports; must outlive the master */
    tb_shadow *shadow; /* must outlive the master, too; several masters may share one */
    unsigned number;   /* of the port; different from those of other masters that share the shadow */
    const tb_axi_profile *profile;
    tb_rng rng;
    /* an error response is not a failure; the bytes that the burst should have written are unknown afterwards */
    bool errors_ok;
    tb_axi_done_fn done; /* or NULL */
    void *done_ctx;
} tb_axi_master_cfg;

typedef struct tb_axi_master {
    tb_axi_master_cfg cfg;
    tb_axi_port *port;
    tb_rng rng;
    uint64_t cycle;
    tb_axi_traffic traffic; /* count: bursts that have not been drawn yet */
    tb_axi_request next;    /* the next burst, drawn or given, that has not begun */
    bool has_next, next_drawn;
    /* an exclusive pair: the read was drawn; its write follows when the read was answered with EXOKAY */
    bool pair, pair_write;
    tb_axi_request pair_of;
    uint64_t pair_number;                                       /* of the read */
    tb_axi_flight rd[TB_AXI_MASTER_CAP], wr[TB_AXI_MASTER_CAP]; /* rings */
    /* positions in the rings: the oldest burst; the next one whose address, whose data (beat) is sent; the end */
    uint32_t rd_head, rd_addr, rd_tail, wr_head, wr_addr, wr_data, wr_beat, wr_tail;
    bool ar_live, aw_live, w_live; /* valid is high */
    uint64_t ar_at, aw_at, w_at;   /* earliest cycle of the next valid */
    tb_axi_ready r_rdy, b_rdy;
    uint8_t *data[2];                        /* reads, writes: TB_AXI_MASTER_CAP x 256 beats */
    uint64_t *strb;                          /* of writes, two words a beat */
    uint64_t number;                         /* number of bursts that have begun */
    uint64_t answered[2], exclusive, errors; /* reads, writes; exclusive writes that succeeded; error responses */
    /* first failure: what kind ("data", "response", "exclusive"), and one line; empty: none */
    const char *wrong;
    char text[320];
} tb_axi_master;

/* Returns 0 or -1 (out of memory). The port must outlive the master. */
int tb_axi_master_init(tb_axi_master *m, tb_axi_port *port, const tb_axi_master_cfg *cfg);
void tb_axi_master_free(tb_axi_master *m);
/* Drop the bursts in flight and all further ones (reset of the design); the shadow keeps its contents. */
void tb_axi_master_reset(tb_axi_master *m);
/* Begin to send random bursts; the rest of earlier ones is dropped. */
void tb_axi_master_traffic(tb_axi_master *m, const tb_axi_traffic *traffic);
/*
 * Send one burst. data, strb: of a write, beats as on the bus, the strobes two words a beat (NULL: all lanes that the
 * burst uses); copied. False: the burst before it has not begun yet; step the design and try again. The burst must
 * be legal, else the monitor reports a violation.
 */
bool tb_axi_master_start(tb_axi_master *m, const tb_axi_request *burst, const uint8_t *data, const uint64_t *strb);
/* Is anything in flight or still to be sent? */
bool tb_axi_master_busy(const tb_axi_master *m);
/* Before settle: set valid, payload and ready for this cycle. */
void tb_axi_master_drive(tb_axi_master *m, uint64_t cycle);
/* After settle, before the edge: process the handshakes of this cycle. */
void tb_axi_master_sample(tb_axi_master *m);

#endif
