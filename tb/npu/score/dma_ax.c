/* dma_ax.c - requests, bursts, pulses and levels of one side of a DMA channel. */
#include "dma_ax.h"

#include <inttypes.h>
#include <stdio.h>

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
    tb_ports channel = TB_PORTS_OF(ax->channel, NPU_SCORE_DMA_CHANNEL),
             ports = TB_PORTS_OF(ax->ports, NPU_SCORE_DMA_PORTS);
    channel.prefix = prefix;
    if (tb_tap_ports(c->tap, channel, err, err_size) != 0 || tb_tap_ports(c->tap, ports, err, err_size) != 0 ||
        tb_check_sig(c, wait_user, 0, &ax->ev_wait_user, err, err_size) != 0) {
        return -1;
    }
    ax->requesters = ax->req_valid_i.width;
    if (ax->requesters > requesters || requesters > DMA_REQS_MAX || ax->addr_o.width != 32) {
        return opt_fail(err, err_size, "%s: not a channel of at most %u requesters with 32-bit addresses", c->tap->path,
                        requesters);
    }
    ax->base = (const uint8_t *)ax->flush_i.ptr;
    if (npu_score_places(c, &ax->at.flush_i, ax->base, ports.sig, ports.count, err, err_size) != 0 ||
        npu_score_places(c, &ax->at.valid_o, ax->base, channel.sig, 4, err, err_size) != 0 ||
        npu_score_places(c, &ax->at.ev_wait_user, ax->base, &ax->ev_wait_user, 1, err, err_size) != 0) {
        return -1;
    }
    find_attributes(ax);
    npu_score_dma_reset(ax);
    return 0;
}

/* The next burst is one of this job, or the first one of the next. */
static uint64_t oldest(const npu_score_dma_ax *ax) {
    return ax->accepted - ax->queue;
}

/* The requester has one job less in the queue, or one burst less in flight. */
static void less(npu_score_dma_ax *ax, uint32_t id) {
    if (--ax->working[id] == 0) {
        ax->idle_req |= (uint8_t)(1u << id);
    }
}

/* Jobs that have bursts left get none. */
static void forget_queue(npu_score_dma_ax *ax) {
    for (; ax->queue > 0; ax->queue--) {
        less(ax, ax->job[oldest(ax) % DMA_JOBS].id);
    }
    ax->late = 0;
    ax->rest = 0;
}

static void forget_jobs(npu_score_dma_ax *ax) {
    forget_queue(ax);
    ax->jobs_before += ax->accepted;
    ax->accepted = 0;
}

void npu_score_dma_reset(npu_score_dma_ax *ax) {
    forget_jobs(ax);
    ax->bursts_before += npu_score_dma_shown(ax);
    ax->answered = 0;
    ax->works = 0;
    ax->due = ax->addressed = 0;
    ax->empty = 0;
    memset(ax->working, 0, sizeof ax->working);
    ax->idle_req = ax->all_idle = (uint8_t)((1u << ax->requesters) - 1);
}

void npu_score_dma_where(const npu_score_dma_ax *ax, uint64_t job, const char *what, uint64_t number, char *dst,
                         size_t size) {
    const npu_score_dma_job *j = &ax->job[job % DMA_JOBS];
    snprintf(dst, size, "%s job %" PRIu64 " (0x%08" PRIx32 ", %" PRIu32 " bytes), %s %" PRIu64, ax->names[j->id],
             ax->jobs_before + job, j->addr, (uint32_t)j->bytes, what, number);
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

__attribute__((cold, noinline)) static void too_many(tb_check *c, const npu_score_dma_ax *ax) {
    if (ax->queue == 0) {
        tb_check_failf(c, "burst", bursts(ax), "0x%08" PRIx64 "|none: no job needs one", tb_get(ax->addr_o));
    } else {
        tb_check_fail(c, "burst", bursts(ax) + 1, NULL, "17 in flight", "at most 16");
    }
}

void npu_score_dma_no_address(tb_check *c, const npu_score_dma_ax *ax) {
    tb_check_fail(c, "burst", bursts(ax), NULL, ax->offered ? "withdrawn" : "a gap",
                  ax->offered ? "waiting for ready" : "one: a job has bursts left, and few are in flight");
}

/* Address, length and attributes one by one. */
__attribute__((noinline)) static void compare_address(tb_check *c, const npu_score_dma_ax *ax) {
    const uint32_t addr = *(const uint32_t *)ax->addr_o.ptr, beats = npu_score_b(ax->len_o) + 1;
    if (addr != ax->now.addr || beats != ax->now.beats) {
        char where[96];
        /* the burst is the last one of its job, or there are bytes left */
        npu_score_dma_where(ax, oldest(ax) - (ax->rest == 0), "burst", bursts(ax), where, sizeof where);
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
}

/* The next burst, of the oldest job in the queue, is on the channel. */
static inline void begin_burst(npu_score_dma_ax *ax, uint32_t slot, uint32_t addr, uint32_t beats) {
    npu_score_dma_burst *b = &ax->burst[npu_score_dma_shown(ax) % DMA_BURSTS];
    b->beats = (uint16_t)beats;
    b->id = ax->job[slot].id;
    b->job = (uint8_t)slot;
    ax->now.addr = addr;
    ax->now.beats = beats;
    ax->flight++;
}

/* Compare the burst on the channel. */
static inline void compare_burst(tb_check *c, npu_score_dma_ax *ax) {
    uint32_t addr;
    uint64_t attributes;
    memcpy(&addr, ax->base + ax->at.addr_o, sizeof addr);
    memcpy(&attributes, ax->attributes, sizeof attributes);
    ax->offered = npu_score_dma_b(ax, ax->at.ready_i) == 0;
    ax->addressed = ax->offered ? DMA_EV_WAIT_BUS : DMA_EV_BURST;
    if (((addr ^ ax->now.addr) | ((npu_score_dma_b(ax, ax->at.len_o) + 1) ^ ax->now.beats) |
         ((attributes ^ ax->attributes_due) & ax->attributes_mask)) != 0) {
        compare_address(c, ax);
    }
}

/*
 * The next burst of a job of several bursts: the first one of the bytes that are left, which does not depend on those
 * beyond the longest burst.
 */
__attribute__((noinline)) static void next_part(tb_check *c, npu_score_dma_ax *ax, uint32_t slot) {
    const npu_score_dma_job *j = &ax->job[slot];
    if (ax->rest == 0) {
        ax->rest_addr = j->addr;
        ax->rest = j->bytes;
    }
    cm_dma_burst b;
    cm_dma_split(ax->rest_addr, ax->rest < DMA_LINE ? ax->rest : DMA_LINE, &b, 1);
    begin_burst(ax, slot, b.addr, b.beats);
    ax->rest_addr += b.bytes;
    ax->rest -= b.bytes;
    if (ax->rest == 0) { /* the burst takes the place of the job among those of the requester */
        ax->queue--;
    } else {
        ax->working[j->id]++;
    }
    compare_burst(c, ax);
}

__attribute__((hot)) void npu_score_dma_address(tb_check *c, npu_score_dma_ax *ax) {
    ax->fresh = !ax->offered;
    if (ax->fresh) {
        const uint32_t slot = oldest(ax) % DMA_JOBS;
        const npu_score_dma_job *j = &ax->job[slot];
        if (ax->queue == 0 || ax->flight == DMA_OUTSTANDING) {
            too_many(c, ax);
            return;
        }
        if (ax->rest != 0 || j->addr % DMA_LINE + j->bytes > DMA_LINE) {
            next_part(c, ax, slot);
            return;
        }
        begin_burst(ax, slot, j->addr, npu_score_dma_beats(j)); /* a job that crosses no line is one burst */
        ax->queue--;
    }
    compare_burst(c, ax);
}

__attribute__((hot)) void npu_score_dma_answer(npu_score_dma_ax *ax, uint32_t resp, bool complete) {
    if (ax->flight == 0) {
        return;
    }
    const uint32_t id = ax->burst[ax->answered % DMA_BURSTS].id;
    ax->due |= (resp / 2 % 2 * DMA_ERR) << id;
    if (complete) {
        ax->answered++;
        ax->flight--;
        less(ax, id);
    }
}

void npu_score_dma_empty(tb_check *c, npu_score_dma_ax *ax) {
    tb_check_fail(c, "request", npu_score_dma_jobs(ax), ax->names[ax->empty - 1], "one of 0 bytes", "at least 1");
    ax->empty = 0;
}

void npu_score_dma_wrong(tb_check *c, npu_score_dma_ax *ax) {
    if (ax->empty != 0) {
        npu_score_dma_empty(c, ax);
    }
    const uint32_t events = npu_score_dma_events(ax) % DMA_ERR, due = ax->due % DMA_ERR;
    if (events != due) {
        tb_check_failf(c, "events", c->all->sim->cycle, "beat %u, burst %u, waits %u %u|beat %u, burst %u, waits %u %u",
                       events & 1u, (events >> 1) & 1u, (events >> 2) & 1u, events >> 3, due & 1u, (due >> 1) & 1u,
                       (due >> 2) & 1u, due >> 3);
    }
    tb_check_value(c, "errors of requesters", ax->answered, npu_score_b(ax->err_o), ax->due / DMA_ERR);
    tb_check_value(c, "bursts in flight", bursts(ax), npu_score_b(ax->inflight_o), ax->flight);
}

/* A requester is told that its request is accepted, though it has not the highest priority, or there is no space. */
__attribute__((cold, noinline)) static void wrong_request(tb_check *c, const npu_score_dma_ax *ax, uint32_t ready,
                                                          uint32_t first) {
    const bool dropping = npu_score_dma_dropping(ax);
    if (ready != first || dropping) {
        tb_check_failf(c, "request", npu_score_dma_jobs(ax), "ready 0x%02" PRIx32 "|0x%02" PRIx32 "%s", ready,
                       dropping ? 0u : first, dropping ? ": flushed" : ": priority");
    } else {
        tb_check_fail(c, "request", npu_score_dma_jobs(ax), ax->names[__builtin_ctz(first)], "one more taken",
                      "at most two that wait for their bursts");
    }
}

void npu_score_dma_not_accepted(tb_check *c, const npu_score_dma_ax *ax) {
    tb_check_fail(c, "request", npu_score_dma_jobs(ax), NULL, "one that waits", "it is accepted: there is space");
}

__attribute__((hot)) void npu_score_dma_accept(tb_check *c, npu_score_dma_ax *ax, uint32_t valid, uint32_t ready) {
    const uint32_t first = valid & (~valid + 1);
    if (ready != first || npu_score_dma_dropping(ax)) {
        wrong_request(c, ax, ready, first);
        return;
    }
    const uint32_t id = (uint32_t)__builtin_ctz(ready);
    uint32_t addr, bytes; /* the latter of 24 bits, of as many requests as fill whole words */
    memcpy(&addr, ax->base + ax->at.req_addr_i + 4 * id, sizeof addr);
    memcpy(&bytes, ax->base + ax->at.req_bytes_i + 3 * id, sizeof bytes);
    if (bytes << 8 == 0) {
        ax->empty = (uint8_t)(1 + id);
        ax->due |= DMA_EMPTY;
        return;
    }
    if (ax->queue == DMA_QUEUE) {
        wrong_request(c, ax, ready, first);
        return;
    }
    ax->job[ax->accepted++ % DMA_JOBS] =
        (npu_score_dma_job){.addr = addr, .bytes = bytes & 0xffffff, .id = (uint8_t)id};
    ax->queue++;
    ax->late = 1;
    ax->working[id]++;
    ax->idle_req &= (uint8_t)~ready;
}

bool npu_score_dma_drop(npu_score_dma_ax *ax) {
    const bool bus_idle = npu_score_b(ax->inflight_o) == 0;
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
