/*
 * mon_priv.h - shared by the parts of the checker.
 *
 * One step: unknown.c removes X, reset and the first edge after it from the sample; addr.c, data.c and resp.c check
 * each channel against the last sample and the bursts in flight (check_); then the same files process the handshakes
 * (take_), which changes the bursts in flight. So no response can belong to a burst accepted at the same edge.
 */
#ifndef TB_AXI_MON_PRIV_H
#define TB_AXI_MON_PRIV_H

#include <string.h>

#include "monitor.h"

#define COLD __attribute__((cold, noinline))
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define BLIND_FOREVER UINT64_MAX /* tb_axi_monitor.blind: the number of bursts in flight is unknown */

/* tb_axi_open.unknown: of X, or of an address that its own rule has reported already */
enum { UNKNOWN_ID = 1, UNKNOWN_LANES = 2, UNKNOWN_LEN = 4, UNKNOWN_LOCK = 8 };

static inline bool held(const tb_axi_monitor *mon, tb_axi_channel ch) {
    return ((mon->stalled >> ch) & 1u) != 0;
}

static inline tb_axi_open *rd_at(const tb_axi_monitor *mon, uint32_t i) {
    return &mon->rd[(mon->rd_head + i) & (mon->rd_cap - 1)];
}

static inline tb_axi_open *wr_at(const tb_axi_monitor *mon, uint32_t i) {
    return &mon->wr[(mon->wr_head + i) & (mon->wr_cap - 1)];
}

/* The write that takes the next beat of data, NULL: its address is not known yet. */
static inline tb_axi_open *wr_filling(const tb_axi_monitor *mon) {
    return mon->wr_filled < mon->wr_count ? wr_at(mon, mon->wr_filled) : NULL;
}

/* Lanes lo..hi of a beat. */
static inline void burst_lanes(const tb_axi_monitor *mon, const tb_axi_open *b, uint32_t beat, unsigned *lo,
                               unsigned *hi) {
    if (b->full || mon->cfg.lite) {
        *lo = beat == 0 && !mon->cfg.lite ? (unsigned)b->addr & (mon->cfg.bytes - 1) : 0;
        *hi = mon->cfg.bytes - 1;
        return;
    }
    tb_axi_beat(b->addr, b->len, b->size > mon->size_max ? mon->size_max : b->size, b->burst, beat, mon->cfg.bytes,
                NULL, lo, hi);
}

/* Lanes lo..hi as a mask. */
static inline void lane_mask(unsigned lo, unsigned hi, uint64_t mask[2]) {
    mask[0] = lo > 63 ? 0 : (UINT64_MAX << lo) & (hi > 63 ? UINT64_MAX : UINT64_MAX >> (63 - hi));
    mask[1] = hi < 64 ? 0 : (lo > 63 ? UINT64_MAX << (lo - 64) : UINT64_MAX) & (UINT64_MAX >> (127 - hi));
}

/* 0xff in each byte whose lane is set; lanes i .. i + 7 of a mask. */
static inline uint64_t lane_bytes(const uint64_t mask[2], unsigned i) {
    const uint64_t lanes = (mask[i >> 6] >> (i & 63u)) & 0xffu;
    const uint64_t bit = (lanes * UINT64_C(0x0101010101010101)) & UINT64_C(0x8040201008040201);
    return ((bit + UINT64_C(0x7f7f7f7f7f7f7f7f)) & UINT64_C(0x8080808080808080)) / 0x80 * 0xff;
}

/* ---- report.c ---- */

/*
 * Note a violation. b: the burst that it is about, or NULL; beat: from 0, -1: not about one beat. False: it lies before
 * cfg.from, and what goes on until then has to be noted once more.
 */
__attribute__((format(printf, 7, 8))) COLD bool axi_bad(tb_axi_monitor *mon, tb_axi_rule rule, tb_axi_channel ch,
                                                        uint64_t cycle, const tb_axi_open *b, int beat,
                                                        const char *format, ...);
/* The user turned the rule off. */
bool axi_off(const tb_axi_monitor *mon, tb_axi_rule rule);
/* A burst that is only offered so far, for axi_bad(). */
tb_axi_open axi_offered(const tb_axi_monitor *mon, const tb_axi_ax *ax, bool write, uint64_t cycle);

/* ---- monitor.c ---- */

/* Nothing of this direction is in flight any more. */
void axi_forget(tb_axi_monitor *mon, bool write);
/* A burst that is not followed has ended. */
COLD void axi_blind_answer(tb_axi_monitor *mon, bool write, uint64_t cycle);

/* ---- addr.c ---- */

/* axi_check_: check a channel whose valid is or was high. True: the payload differs from the one that was stalled. */
bool axi_check_ax(tb_axi_monitor *mon, const tb_axi_sample *s, bool write);
/* x: of the whole sample */
void axi_take_aw(tb_axi_monitor *mon, const tb_axi_ax *ax, uint64_t cycle, uint64_t x);
void axi_take_ar(tb_axi_monitor *mon, const tb_axi_ax *ax, uint64_t cycle, uint64_t x);
/* Space for one more element of `size` bytes. False: out of memory. */
bool axi_ring_room(tb_axi_monitor *mon, void **ring, size_t size, uint32_t *cap, uint32_t *head, uint32_t count);

/* ---- data.c ---- */

bool axi_check_w(tb_axi_monitor *mon, const tb_axi_sample *s);
void axi_take_w(tb_axi_monitor *mon, const tb_axi_sample *s);
/* The strobes of a beat against the lanes of its burst (b->beat), or of another one that it may belong to as well
 * (NULL: none). */
COLD void axi_check_strobes(tb_axi_monitor *mon, const tb_axi_open *b, const tb_axi_open *other, const uint64_t strb[2],
                            uint64_t cycle);
/* Match data that came first with the addresses that have arrived. */
void axi_feed_early(tb_axi_monitor *mon, uint64_t cycle);
/* A burst of data, held in sync_strb, whose address is still to come. */
void axi_store_held(tb_axi_monitor *mon, uint32_t beats, uint64_t cycle);
/* Complete bursts of data whose address is still to come. */
uint32_t axi_early_bursts(const tb_axi_monitor *mon);
/* A response that came before its address belongs to such data only: the oldest beyond their number belong to none. */
void axi_drop_strays(tb_axi_monitor *mon);
/* Writes at the head that are complete leave the ring. */
void axi_drop_writes(tb_axi_monitor *mon);
/* The lowest of these lanes that differs, -1: none. */
int axi_data_differs(const uint8_t *a, const uint8_t *b, uint32_t bytes, const uint64_t lanes[2]);
static inline bool axi_data_same(const uint8_t *a, const uint8_t *b, uint32_t bytes) {
    uint64_t difference = 0;
    for (uint32_t i = 0; i < bytes && bytes < 8; i++) {
        difference |= (uint64_t)(a[i] ^ b[i]);
    }
    for (uint32_t i = 0; i + 8 <= bytes; i += 8) {
        uint64_t u;
        uint64_t v;
        memcpy(&u, a + i, 8);
        memcpy(&v, b + i, 8);
        difference |= u ^ v;
    }
    return difference == 0;
}

/* ---- resp.c ---- */

bool axi_check_b(tb_axi_monitor *mon, const tb_axi_sample *s);
bool axi_check_r(tb_axi_monitor *mon, const tb_axi_sample *s);
void axi_take_b(tb_axi_monitor *mon, const tb_axi_sample *s);
/* lanes: those that the beat uses, for the trace hash. */
void axi_take_r(tb_axi_monitor *mon, const tb_axi_sample *s, uint64_t lanes[2]);
/* The oldest burst of this ID without a response; NULL: none. id_x: the ID is not known. It is mostly the oldest of
 * all. */
tb_axi_open *axi_rd_search(const tb_axi_monitor *mon, uint64_t id, bool id_x);
tb_axi_open *axi_wr_search(const tb_axi_monitor *mon, uint64_t id, bool id_x);
static inline tb_axi_open *axi_rd_find(const tb_axi_monitor *mon, uint64_t id, bool id_x) {
    tb_axi_open *b = &mon->rd[mon->rd_head];
    return mon->rd_count > 0 && b->id == id && !id_x ? b : axi_rd_search(mon, id, id_x);
}
static inline tb_axi_open *axi_wr_find(const tb_axi_monitor *mon, uint64_t id, bool id_x) {
    tb_axi_open *b = &mon->wr[mon->wr_head];
    return mon->wr_count > 0 && b->id == id && !b->resp_done && !id_x ? b : axi_wr_search(mon, id, id_x);
}
/* Lanes that the next beat of a read uses. False: unknown. */
bool axi_r_lanes(const tb_axi_monitor *mon, const tb_axi_open *b, uint64_t lanes[2]);
/* The write has its response; the read has its last beat. */
void axi_answered(tb_axi_monitor *mon, tb_axi_open *b, uint64_t cycle);
void axi_read_done(tb_axi_monitor *mon, tb_axi_open *b, uint64_t cycle);

/* ---- excl.c ---- */

/* Rules of an exclusive address when it appears; x: with the bits of AR in the place of AW's. */
COLD void axi_check_exclusive(tb_axi_monitor *mon, const tb_axi_ax *ax, bool write, uint64_t cycle, uint64_t x);
/* It was accepted. */
COLD void axi_take_exclusive(tb_axi_monitor *mon, const tb_axi_ax *ax, bool write, uint64_t cycle, uint64_t x);

/* ---- project.c ---- */

/* Rules of the project: of an address that appears (x as above), of the number of bursts after one was accepted, of
 * valids at the first edge of a reset (a bit per channel). axi_project_wrote() remembers which bytes a beat has
 * written. */
void axi_project_ax(tb_axi_monitor *mon, const tb_axi_ax *ax, bool write, uint64_t cycle, uint64_t x);
void axi_project_flight(tb_axi_monitor *mon, bool write, uint64_t cycle);
void axi_project_wrote(const tb_axi_monitor *mon, tb_axi_open *b, const uint64_t strb[2]);
void axi_project_reset(tb_axi_monitor *mon, const tb_axi_sample *s, unsigned valids);

/* ---- resync.c ---- */

/* The read burst of an ID whose number of beats was wrong; NULL: none. */
const tb_axi_resync *axi_r_broken(const tb_axi_monitor *mon, uint64_t id);
tb_axi_resync *axi_r_sync(tb_axi_monitor *mon, uint64_t id);
/* A burst ended in the wrong place: without its last beat mark, or too early. */
COLD void axi_sync_begin(tb_axi_monitor *mon, bool write, const tb_axi_open *b, bool missing);
/* Can a beat of write data be read? One behind a burst without a last beat cannot before the next burst has its
 * address. */
bool axi_sync_can(const tb_axi_monitor *mon);
/* A beat after that. next: the oldest read of the ID that is open, or NULL. */
/* b: the oldest open read of the ID. Leaves the lanes that the next beat uses, whosever it is. False: unknown. */
bool axi_sync_lanes(const tb_axi_monitor *mon, const tb_axi_resync *y, const tb_axi_open *b, uint64_t lanes[2]);
COLD void axi_sync_w(tb_axi_monitor *mon, const tb_axi_early *e, uint64_t cycle);
COLD void axi_sync_r(tb_axi_monitor *mon, tb_axi_resync *y, tb_axi_open *next, bool last, uint64_t cycle);

/* ---- unknown.c ---- */

/* A sample in reset, at the first edge after it, or with X. True: `clean` is to be checked, with all valids and readies
 * known. */
COLD bool axi_unknown(tb_axi_monitor *mon, const tb_axi_sample *s, tb_axi_sample *clean);

/* ---- stats.c ---- */

/* The number of bursts in flight is about to change. */
static inline void axi_stat_depth(tb_axi_monitor *mon, bool write, uint64_t cycle) {
    tb_axi_dir_stats *d = &mon->stats.dir[write];
    const uint32_t live = write ? mon->wr_live : mon->rd_live;
    d->depth[live < TB_AXI_DEPTH_BINS ? live : TB_AXI_DEPTH_BINS - 1] += cycle - d->changed;
    d->changed = cycle;
}
/* A burst is complete. */
void axi_stat_done(tb_axi_monitor *mon, const tb_axi_open *b, bool write, uint64_t cycle);
/* A burst that was accepted, and a beat of data; w_inside is still that of the beat before. */
void axi_stat_burst(tb_axi_monitor *mon, const tb_axi_ax *ax, bool write);
void axi_stat_strobes(tb_axi_monitor *mon, const uint64_t strb[2], bool last);

#endif
