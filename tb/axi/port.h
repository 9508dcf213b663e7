/*
 * port.h - the signals of one AXI4 or AXI4-Lite port of a design under simulation.
 */
#ifndef TB_AXI_PORT_H
#define TB_AXI_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../sim/sim.h"
#include "sample.h"

/* Signals of an address channel. Signals that the design lacks point to constants. */
typedef struct tb_axi_ax_sig {
    uint8_t *valid, *ready;
    tb_sig addr, id, user;
    uint8_t *len, *size, *burst, *lock, *cache, *prot, *qos, *region;
} tb_axi_ax_sig;

typedef struct tb_axi_port {
    bool lite;
    uint32_t bytes;    /* of the data bus, a power of two 1..128 */
    uint32_t size_max; /* log2(bytes) */
    tb_axi_widths widths;
    tb_axi_ax_sig aw, ar;
    uint8_t *w_valid, *w_ready, *w_last, *w_data;
    tb_sig w_strb, w_user;
    uint8_t *b_valid, *b_ready, *b_resp;
    tb_sig b_id, b_user;
    uint8_t *r_valid, *r_ready, *r_resp, *r_last, *r_data;
    tb_sig r_id, r_user;
    /* constants for missing signals */
    uint64_t none;
    uint8_t sink; /* what is driven into a channel that is not there */
    uint8_t const_size, const_burst, const_one;
} tb_axi_port;

/*
 * Bind the signals of a port. `prefix` stands before "awvalid" ...; a star in it is the place of that word, where
 * something stands behind it, too: "s_axi_" is s_axi_awvalid, "*_s0" is awvalid_s0, "saxi_*_p" is saxi_awvalid_p. The
 * word may be "awvalid", "aw_valid", "AWVALID" or "AW_VALID"; "_i" or "_o" may follow. Of ports that are packed structs
 * the prefixes of both directions are named, "axi_req_i.,axi_resp_o."; the word is a field, "aw_valid" or "aw.addr".
 * Missing
 * optional signals (id, len, size, burst, lock, cache, prot, qos, region, user; AXI4-Lite: last) get their AXI default.
 * IDs and user signals of any width. An AXI4 port without wdata and awvalid is one of a master that only reads. The
 * port must not be moved afterwards: it holds pointers into itself. 0 or -1 (a required signal is missing or has an
 * illegal width).
 */
int tb_axi_bind(tb_axi_port *port, const tb_sim *sim, const char *prefix, bool lite, char *err, size_t err_size);
/*
 * The same for number `index` of `count` ports whose signals are slices of vectors, `[count*W-1:0]`, port 0 in the low
 * bits (tb_sim_slice).
 */
int tb_axi_bind_slice(tb_axi_port *port, const tb_sim *sim, const char *prefix, bool lite, unsigned index,
                      unsigned count, char *err, size_t err_size);
/* Fill a port with the constant stand-ins and bytes, for ports that a program binds by hand; it sets `widths` for IDs
 * and user signals that it has. */
void tb_axi_port_init(tb_axi_port *port, bool lite, uint32_t bytes);

/* Read the signals. An ID or user signal of more than 64 bits becomes a 64-bit hash of its value, 0 for 0. */
void tb_axi_sample_port(const tb_axi_port *port, uint64_t cycle, bool reset_n, tb_axi_sample *out);

#endif
