/*
 * port.h - the signals of one AXI4 or AXI4-Lite port, and a sample of them at one clock edge.
 */
#ifndef TB_AXI_PORT_H
#define TB_AXI_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../sim/sim.h"

#define TB_AXI_MAX_BYTES 128u /* data width 1024 bits */

enum { TB_AXI_FIXED = 0, TB_AXI_INCR = 1, TB_AXI_WRAP = 2 };
enum { TB_AXI_OKAY = 0, TB_AXI_EXOKAY = 1, TB_AXI_SLVERR = 2, TB_AXI_DECERR = 3 };
typedef enum tb_axi_channel { TB_AXI_AW, TB_AXI_W, TB_AXI_B, TB_AXI_AR, TB_AXI_R, TB_AXI_CHANNELS } tb_axi_channel;

/* "AW" ... */
const char *tb_axi_channel_name(tb_axi_channel channel);

/* Signals of an address channel. Signals that the design lacks point to constants. */
typedef struct tb_axi_ax_sig {
    uint8_t *valid, *ready;
    tb_sig addr, id;
    uint8_t *len, *size, *burst, *lock, *cache, *prot, *qos, *region;
} tb_axi_ax_sig;

typedef struct tb_axi_port {
    bool lite;
    uint32_t bytes;    /* of the data bus, a power of two 4..128 */
    uint32_t size_max; /* log2(bytes) */
    tb_axi_ax_sig aw, ar;
    uint8_t *w_valid, *w_ready, *w_last, *w_data;
    tb_sig w_strb;
    uint8_t *b_valid, *b_ready, *b_resp;
    tb_sig b_id;
    uint8_t *r_valid, *r_ready, *r_resp, *r_last, *r_data;
    tb_sig r_id;
    /* stand-ins for signals that are not there */
    uint64_t none;
    uint8_t const_size, const_burst, const_one;
} tb_axi_port;

/*
 * Bind the signals `prefix` + "awvalid" ... of a design, + "_i" or "_o" where the port has that suffix. Missing optional signals (id, len, size, burst, lock, cache, prot, qos, region, last)
 * get their AXI default. The port must not be moved afterwards: it holds pointers into itself. 0 or -1 (a required signal is missing or has an illegal width).
 */
int tb_axi_bind(tb_axi_port *port, const tb_sim *sim, const char *prefix, bool lite, char *err, size_t err_size);
/* Fill a port with the constant stand-ins and bytes, for ports that a program binds by hand. */
void tb_axi_port_init(tb_axi_port *port, bool lite, uint32_t bytes);

typedef struct tb_axi_ax {
    uint64_t addr;
    uint32_t id;
    uint8_t len, size, burst, lock, cache, prot, qos, region;
    bool valid, ready;
} tb_axi_ax;

/* All signals of a port just before a rising edge. Payload of a channel counts only while its valid is true. */
typedef struct tb_axi_sample {
    uint64_t cycle;
    bool reset_n;
    tb_axi_ax aw, ar;
    struct {
        bool valid, ready, last;
        uint64_t strb[2];
        const uint8_t *data; /* port.bytes of them, valid during the call */
    } w;
    struct {
        bool valid, ready;
        uint8_t resp;
        uint32_t id;
    } b;
    struct {
        bool valid, ready, last;
        uint8_t resp;
        uint32_t id;
        const uint8_t *data;
    } r;
} tb_axi_sample;

/* Read the signals. */
void tb_axi_sample_port(const tb_axi_port *port, uint64_t cycle, bool reset_n, tb_axi_sample *out);

/* Byte lanes lo..hi of a bus of `bytes` that beat number `beat` of a burst may use, and the bus-aligned address of that beat (NULL: not wanted). */
void tb_axi_beat(uint64_t addr, unsigned len, unsigned size, unsigned burst, unsigned beat, unsigned bytes, uint64_t *beat_addr,
                 unsigned *lo, unsigned *hi);

#endif
