/*
 * log.h - the bursts of one AXI4 or AXI4-Lite port for reports: the last few thousand of them, with the cycles of their
 * handshakes.
 *
 * Like the monitor it works on samples only. It checks nothing: a response that belongs to no burst is counted and
 * dropped.
 */
#ifndef TB_AXI_LOG_H
#define TB_AXI_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "port.h"

#define TB_AXI_LOG_NEVER UINT64_MAX /* the handshake has not happened yet */

/* One burst. Cycles are those of the handshakes, TB_AXI_LOG_NEVER where there was none yet. */
typedef struct tb_axi_burst {
    bool write;
    bool has_addr; /* false: data came before the address */
    uint8_t len, size, type;
    uint8_t resp; /* the worst of its responses; TB_AXI_OKAY while there is none */
    uint64_t id;
    uint32_t beats; /* beats of data so far */
    uint64_t addr;
    uint64_t asked;       /* first cycle with the address valid */
    uint64_t taken;       /* the address was accepted */
    uint64_t first, last; /* cycles of the first and the last beat of data so far */
    uint64_t end;         /* response of a write; the last beat of a read */
    uint64_t data;        /* low 8 bytes of the first beat as on the bus, fewer on a narrow bus */
} tb_axi_burst;

typedef struct tb_axi_log {
    const char *name; /* name of the port */
    uint32_t bytes;   /* width of the data bus in bytes */
    tb_axi_burst *ring;
    uint64_t cap, count; /* count: all bursts so far; the youngest `cap` of them are kept */
    uint64_t open[2];    /* no burst before this one is unfinished: reads, writes */
    uint64_t fill;       /* the write that takes the next beat of data is not before this one */
    uint64_t asked[2];   /* since when the pending address is valid */
    uint64_t strays;     /* responses and read data that belong to no burst that is kept */
} tb_axi_log;

/* bytes: width of the data bus; cap: number of bursts that are kept. Returns 0 or -1 (out of memory). */
int tb_axi_log_init(tb_axi_log *log, const char *name, uint32_t bytes, uint64_t cap);
void tb_axi_log_free(tb_axi_log *log);
/* Log one rising edge; cycles without any valid may be left out. */
void tb_axi_log_step(tb_axi_log *log, const tb_axi_sample *s);

/* Number of the oldest burst that is kept; the youngest is number count - 1. */
static inline uint64_t tb_axi_log_first(const tb_axi_log *log) {
    return log->count > log->cap ? log->count - log->cap : 0;
}
/* The burst of this number, from tb_axi_log_first() to count - 1. */
static inline const tb_axi_burst *tb_axi_log_get(const tb_axi_log *log, uint64_t number) {
    return &log->ring[number % log->cap];
}
/* Was the burst active in these cycles (both included)? One that never ended is active for ever. */
bool tb_axi_burst_during(const tb_axi_burst *burst, uint64_t from, uint64_t to);
/* Number of bytes of the burst, from its address on. */
uint32_t tb_axi_burst_bytes(const tb_axi_log *log, const tb_axi_burst *burst);
/* One line: "write 0x10000040, 64 bytes in 4 beats, id 1: address 478, data 480..483, OKAY at 490". */
void tb_axi_burst_text(const tb_axi_log *log, const tb_axi_burst *burst, char *dst, size_t size);
/* The name of a response: "OKAY" ... */
const char *tb_axi_resp_name(unsigned resp);

#endif
