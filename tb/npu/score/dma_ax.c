/* dma_ax.c - requests, bursts, pulses and levels of one side of a DMA channel. */
#include "dma_ax.h"

#include <inttypes.h>
#include <stdio.h>

const uint8_t npu_score_dma_masks[32] = {255, 255, 255, 255, 255, 255, 255, 255,
                                         255, 255, 255, 255, 255, 255, 255, 255};

/*
 * Where the attributes of an address are neighbours in memory, they are compared as one word. Elsewhere this comparison
 * always fails, and they are compared one by one.
 */
static void find_attributes(npu_score_dma_ax *ax) {
    static const uint8_t due[] = {0, 4, 1, 0, 3, 0, 0}; /* as NPU_SCORE_DMA_ATTRIBUTES */
    static const uint8_t none[8];
    const tb_sig *sig = &ax->id_o;
    const uint8_t *first = (const uint8_t *)sig->ptr;
    uint8_t mask[8] = {0}, value[8] = {0};
    for (size_t i = 0; i < sizeof due; i++) {
        const uint8_t *at = (const uint8_t *)sig[i].ptr;
        if (at < first || at >= first + 8 || sig[i].width > 8) {
            ax->attributes = none;
            ax->attributes_mask = ax->attributes_due = 1;
            return;
        }
        mask[at - first] = 0xff;
        value[at - first] = due[i];
    }
    ax->attributes = first;
    memcpy(&ax->attributes_mask, mask, 8);
    memcpy(&ax->attributes_due, value, 8);
}

int npu_score_dma_open(tb_check *c, npu_score_dma_ax *ax, const char *prefix, const char *wait_user,
                       const char *const *names, uint32_t requesters, char *err, size_t err_size) {
    ax->names = names;
    tb_ports channel = TB_PORTS_OF(ax->channel, NPU_SCORE_DMA_CHANNEL);
    channel.prefix = prefix;
    if (tb_tap_ports(c->tap, channel, err, err_size) != 0 ||
        tb_tap_ports(c->tap, TB_PORTS_OF(ax->ports, NPU_SCORE_DMA_PORTS), err, err_size) != 0 ||
        tb_check_sig(c, wait_user, 0, &ax->ev_wait_user, err, err_size) != 0) {
        return -1;
    }
    ax->requesters = ax->req_valid_i.width;
    if (ax->requesters > requesters || requesters > DMA_REQS_MAX || ax->addr_o.width != 32) {
        return opt_fail(err, err_size, "%s: not a channel of at most %u requesters with 32-bit addresses", c->tap->path,
                        requesters);
    }
    find_attributes(ax);
    npu_score_dma_reset(ax);
    return 0;
}

/* Jobs that have bursts left get none. */
static void forget_queue(npu_score_dma_ax *ax) {
    for (; ax->cut != ax->accepted; ax->cut++) {
        npu_score_dma_less(ax, ax->job[ax->cut % DMA_JOBS].id);
    }
    ax->rest = 0;
}

static void forget_jobs(npu_score_dma_ax *ax) {
    forget_queue(ax);
    ax->jobs_before += ax->accepted;
    ax->accepted = ax->cut = ax->known = 0;
}

void npu_score_dma_reset(npu_score_dma_ax *ax) {
    forget_jobs(ax);
    ax->bursts_before += npu_score_dma_shown(ax);
    ax->answered = 0;
    ax->flight = 0;
    memset(ax->working, 0, sizeof ax->working);
    ax->idle_req = ax->all_idle = (uint8_t)((1u << ax->requesters) - 1);
    ax->offered = ax->draining = false;
    ax->empty = 0;
    ax->err_due = ax->ev_due = 0;
}

void npu_score_dma_where(const npu_score_dma_ax *ax, uint64_t job, const char *what, uint64_t number, char *dst,
                         size_t size) {
    const npu_score_dma_job *j = &ax->job[job % DMA_JOBS];
    snprintf(dst, size, "%s job %" PRIu64 " (0x%08" PRIx32 ", %" PRIu32 " bytes), %s %" PRIu64, ax->names[j->id],
             ax->jobs_before + job, j->addr, j->bytes, what, number);
}

void npu_score_dma_bytes(tb_check *c, const npu_score_dma_ax *ax, const char *stream, uint64_t job, uint32_t number,
                         const uint8_t *got, const uint8_t *expected, uint32_t mask) {
    for (uint32_t i = 0; i < 16; i++) {
        if (((mask >> i) & 1u) != 0 && got[i] != expected[i]) {
            char where[96], what[32];
            snprintf(what, sizeof what, "byte %" PRIu32 " of beat", i);
            npu_score_dma_where(ax, job, what, number, where, sizeof where);
            tb_check_failf(c, stream, number, "%s|0x%02x|0x%02x", where, got[i], expected[i]);
            return;
        }
    }
}

/* Bursts since the device was opened. */
static uint64_t bursts(const npu_score_dma_ax *ax) {
    return ax->bursts_before + npu_score_dma_shown(ax);
}

uint32_t npu_score_dma_too_many(tb_check *c, const npu_score_dma_ax *ax) {
    if (ax->cut == ax->accepted) {
        tb_check_failf(c, "burst", bursts(ax), "0x%08" PRIx64 "|none: no job needs one", tb_get(ax->addr_o));
    } else {
        tb_check_fail(c, "burst", bursts(ax) + 1, NULL, "17 in flight", "at most 16");
    }
    return 0;
}

/* Address, length and attributes one by one; returns `event`. */
uint32_t npu_score_dma_compare_address(tb_check *c, const npu_score_dma_ax *ax, uint32_t event) {
    const uint32_t addr = *(const uint32_t *)ax->addr_o.ptr, beats = npu_score_b(ax->len_o) + 1;
    if (addr != ax->now.addr || beats != ax->now.beats) {
        char where[96];
        /* the burst is the last one of its job, or there are bytes left */
        npu_score_dma_where(ax, ax->rest == 0 ? ax->cut - 1 : ax->cut, "burst", bursts(ax), where, sizeof where);
        tb_check_failf(c, "burst", bursts(ax),
                       "%s|0x%08" PRIx32 ", %" PRIu32 " beats|0x%08" PRIx32 ", %" PRIu32 " beats", where, addr, beats,
                       ax->now.addr, ax->now.beats);
    }
    if (npu_score_b(ax->id_o) != 0 || npu_score_b(ax->size_o) != 4 || npu_score_b(ax->burst_o) != 1 ||
        npu_score_b(ax->lock_o) != 0 || npu_score_b(ax->cache_o) != 3 || npu_score_b(ax->prot_o) != 0 ||
        npu_score_b(ax->qos_o) != 0) {
        tb_check_fail(c, "burst attributes", bursts(ax), NULL, "others",
                      "id 0, 16 bytes a beat, INCR, cache 3, the rest 0");
    }
    return event;
}

/*
 * The next burst of a job of several bursts: the first one of the bytes that are left, which does not depend on those
 * beyond the longest burst.
 */
uint32_t npu_score_dma_part(tb_check *c, npu_score_dma_ax *ax, const npu_score_dma_job *j) {
    if (ax->rest == 0) {
        ax->rest_addr = j->addr;
        ax->rest = j->bytes;
    }
    cm_dma_burst b;
    cm_dma_split(ax->rest_addr, ax->rest < DMA_LINE ? ax->rest : DMA_LINE, &b, 1);
    npu_score_dma_add_burst(ax, b.addr, b.beats, j->id);
    ax->rest_addr += b.bytes;
    ax->rest -= b.bytes;
    if (ax->rest == 0) { /* the burst takes the place of the job among those of the requester */
        ax->cut++;
    } else {
        ax->working[j->id]++;
    }
    return npu_score_dma_compare_now(c, ax);
}

void npu_score_dma_no_address(tb_check *c, const npu_score_dma_ax *ax) {
    tb_check_fail(c, "burst", bursts(ax), NULL, ax->offered ? "withdrawn" : "a gap",
                  ax->offered ? "waiting for ready" : "one: a job has bursts left, and few are in flight");
}

void npu_score_dma_empty(tb_check *c, npu_score_dma_ax *ax) {
    tb_check_fail(c, "request", npu_score_dma_jobs(ax), ax->names[ax->empty - 1], "one of 0 bytes", "at least 1");
    ax->empty = 0;
}

void npu_score_dma_wrong(tb_check *c, const npu_score_dma_ax *ax) {
    const uint32_t events = npu_score_dma_events(ax);
    if (events != ax->ev_due) {
        tb_check_failf(c, "events", c->all->sim->cycle, "beat %u, burst %u, waits %u %u|beat %u, burst %u, waits %u %u",
                       events & 1u, (events >> 1) & 1u, (events >> 2) & 1u, events >> 3, ax->ev_due & 1u,
                       (ax->ev_due >> 1) & 1u, (ax->ev_due >> 2) & 1u, ax->ev_due >> 3);
    }
    tb_check_value(c, "errors of requesters", ax->answered, npu_score_b(ax->err_o), ax->err_due);
    tb_check_value(c, "bursts in flight", bursts(ax), npu_score_b(ax->inflight_o), ax->flight);
}

void npu_score_dma_not_accepted(tb_check *c, const npu_score_dma_ax *ax) {
    tb_check_fail(c, "request", npu_score_dma_jobs(ax), NULL, "one that waits", "it is accepted: there is space");
}

void npu_score_dma_wrong_request(tb_check *c, const npu_score_dma_ax *ax, uint32_t ready, uint32_t first,
                                 bool dropping) {
    if (ready != first || dropping) {
        tb_check_failf(c, "request", npu_score_dma_jobs(ax), "ready 0x%02" PRIx32 "|0x%02" PRIx32 "%s", ready,
                       dropping ? 0u : first, dropping ? ": flushed" : ": priority");
    } else {
        tb_check_fail(c, "request", npu_score_dma_jobs(ax), ax->names[__builtin_ctz(first)], "one more taken",
                      "at most two that wait for their bursts");
    }
}

bool npu_score_dma_drop(npu_score_dma_ax *ax, bool bus_idle) {
    ax->draining = !bus_idle;
    if (bus_idle) {
        forget_jobs(ax);
    } else {
        forget_queue(ax);
    }
    return bus_idle;
}

/* The unit that a requester belongs to. */
static const char *unit_of(const npu_score_dma_ax *ax, uint32_t id) {
    const char *name = ax->names[id];
    return strcmp(name, "ALU") == 0 ? "alu" : strcmp(name, "POOL") == 0 ? "pool" : "gemm";
}

const char *npu_score_dma_client(const tb_checks *checks, unsigned channel, bool write, uint64_t addr) {
    const char *only = NULL;
    for (size_t i = 0; i < checks->count; i++) {
        const tb_check *c = &checks->check[i];
        if (c->index != channel || strcmp(c->ops->unit, write ? "dma_wr" : "dma_rd") != 0 || c->failed) {
            continue;
        }
        const npu_score_dma_ax *ax = (const npu_score_dma_ax *)c->state; /* the first member of both states */
        for (uint64_t b = ax->answered > 0 ? ax->answered - 1 : 0; b < npu_score_dma_shown(ax); b++) {
            const npu_score_dma_burst *burst = &ax->burst[b % DMA_BURSTS];
            const npu_score_dma_job *j = &ax->job[burst->job];
            const char *unit = unit_of(ax, burst->id);
            if (addr >= j->addr / 16 * 16 && addr < ((uint64_t)j->addr + j->bytes + 15) / 16 * 16) {
                return unit;
            }
            only = only == NULL || strcmp(only, unit) == 0 ? unit : "";
        }
    }
    return only == NULL || *only == '\0' ? NULL : only;
}
