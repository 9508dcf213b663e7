/* dma_ax.c - requests, bursts, pulses and levels of one side of a DMA channel. */
#include "dma_ax.h"

#include <inttypes.h>
#include <stdio.h>

#define LINE 4096u
#define QUEUE 2u /* jobs accepted that have bursts left */

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
    return 0;
}

bool npu_score_dma_quiet(const npu_score_dma_ax *ax) {
    return ax->cut == ax->accepted && ax->shown == ax->answered && (ax->ev_due | ax->err_due) == 0 && !ax->offered &&
           !ax->draining && ax->empty == 0 && ax->bus_idle && npu_score_b(ax->flush_i) == 0;
}

static void forget_jobs(npu_score_dma_ax *ax) {
    ax->accepted = ax->cut = 0;
    ax->rest_addr = ax->rest = 0;
    ax->words = ax->beats = 0;
    memset(ax->queued, 0, sizeof ax->queued);
}

void npu_score_dma_reset(npu_score_dma_ax *ax) {
    forget_jobs(ax);
    ax->shown = ax->answered = 0;
    memset(ax->flying, 0, sizeof ax->flying);
    ax->offered = ax->due = ax->draining = false;
    ax->err_due = ax->ev_due = ax->empty = 0;
}

void npu_score_dma_where(const npu_score_dma_ax *ax, uint64_t job, const char *what, uint64_t number, char *dst,
                         size_t size) {
    const npu_score_dma_job *j = &ax->job[job % DMA_JOBS];
    snprintf(dst, size, "%s job %" PRIu64 " (0x%08" PRIx32 ", %" PRIu32 " bytes), %s %" PRIu64, ax->names[j->id],
             ax->requests - ax->accepted + job, j->addr, j->bytes, what, number);
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

/* A new burst: it must be the next one of the oldest job that has bursts left. */
static void new_burst(tb_check *c, npu_score_dma_ax *ax) {
    if (ax->cut == ax->accepted) {
        tb_check_failf(c, "burst", ax->bursts, "0x%08" PRIx64 "|none: no job needs one", tb_get(ax->addr_o));
        return;
    }
    const npu_score_dma_job *j = &ax->job[ax->cut % DMA_JOBS];
    if (ax->rest == 0) {
        ax->rest_addr = j->addr;
        ax->rest = j->bytes;
    }
    /* the first burst does not depend on the bytes beyond the longest burst */
    cm_dma_split(ax->rest_addr, ax->rest < LINE ? ax->rest : LINE, &ax->now, 1);
    ax->burst[ax->shown++ % DMA_BURSTS] =
        (npu_score_dma_burst){.beats = ax->now.beats, .lane = ax->now.addr % 16, .id = j->id, .job = ax->cut};
    ax->flying[j->id]++;
    ax->rest_addr += ax->now.bytes;
    ax->rest -= ax->now.bytes;
    if (ax->rest == 0) {
        ax->queued[j->id]--;
        ax->cut++;
    }
    ax->bursts++;
    if (ax->shown - ax->answered > DMA_OUTSTANDING) {
        tb_check_fail(c, "burst", ax->bursts, NULL, "17 in flight", "at most 16");
    }
}

static void address(tb_check *c, npu_score_dma_ax *ax) {
    if (npu_score_b(ax->valid_o) == 0) {
        if (ax->offered || ax->due) {
            tb_check_fail(c, "burst", ax->bursts, NULL, ax->offered ? "withdrawn" : "a gap",
                          ax->offered ? "waiting for ready" : "one: a job has bursts left, and few are in flight");
        }
        return;
    }
    if (!ax->offered) {
        new_burst(c, ax);
    }
    const uint32_t addr = *(const uint32_t *)ax->addr_o.ptr;
    if (addr != ax->now.addr || npu_score_b(ax->len_o) + 1 != ax->now.beats) {
        char where[96];
        npu_score_dma_where(ax, ax->burst[(ax->shown - 1) % DMA_BURSTS].job, "burst", ax->bursts, where, sizeof where);
        tb_check_failf(c, "burst", ax->bursts,
                       "%s|0x%08" PRIx32 ", %" PRIu32 " beats|0x%08" PRIx32 ", %" PRIu32 " beats", where, addr,
                       npu_score_b(ax->len_o) + 1, ax->now.addr, ax->now.beats);
    }
    ax->offered = npu_score_b(ax->ready_i) == 0;
    if (npu_score_b(ax->id_o) != 0 || npu_score_b(ax->size_o) != 4 || npu_score_b(ax->burst_o) != 1 ||
        npu_score_b(ax->lock_o) != 0 || npu_score_b(ax->cache_o) != 3 || npu_score_b(ax->prot_o) != 0 ||
        npu_score_b(ax->qos_o) != 0) {
        tb_check_fail(c, "burst attributes", ax->bursts, NULL, "others",
                      "id 0, 16 bytes a beat, INCR, cache 3, the rest 0");
    }
}

bool npu_score_dma_empty(tb_check *c, npu_score_dma_ax *ax) {
    if (ax->empty == 0) {
        return false;
    }
    tb_check_fail(c, "request", ax->requests, ax->names[ax->empty - 1], "one of 0 bytes", "at least 1");
    ax->empty = 0;
    return true;
}

void npu_score_dma_outputs(tb_check *c, npu_score_dma_ax *ax) {
    address(c, ax);
    const uint32_t events = npu_score_b(ax->ev_beat_o) * DMA_EV_BEAT + npu_score_b(ax->ev_burst_o) * DMA_EV_BURST +
                            npu_score_b(ax->ev_wait_bus_o) * DMA_EV_WAIT_BUS +
                            npu_score_b(ax->ev_wait_user) * DMA_EV_WAIT_USER;
    if (events != ax->ev_due) {
        tb_check_failf(c, "events", c->all->sim->cycle, "beat %u, burst %u, waits %u %u|beat %u, burst %u, waits %u %u",
                       events & 1u, (events >> 1) & 1u, (events >> 2) & 1u, events >> 3, ax->ev_due & 1u,
                       (ax->ev_due >> 1) & 1u, (ax->ev_due >> 2) & 1u, ax->ev_due >> 3);
    }
    const uint32_t err = npu_score_b(ax->err_o);
    if (err != ax->err_due) {
        tb_check_value(c, "errors of requesters", ax->answered, err, ax->err_due);
    }
    ax->ev_due = 0;
    ax->err_due = 0;
    const uint64_t flight = ax->shown - ax->answered;
    ax->bus_idle = flight == 0;
    if (npu_score_b(ax->inflight_o) != flight) {
        tb_check_value(c, "bursts in flight", ax->bursts, npu_score_b(ax->inflight_o), flight);
    }
    if (npu_score_b(ax->valid_o) != 0) {
        ax->ev_due = ax->offered ? DMA_EV_WAIT_BUS : DMA_EV_BURST;
    }
}

static void accept(tb_check *c, npu_score_dma_ax *ax, uint32_t id) {
    uint32_t bytes = 0;
    memcpy(&bytes, (const uint8_t *)ax->req_bytes_i.ptr + 3 * id, 3);
    const uint32_t addr = ((const uint32_t *)ax->req_addr_i.ptr)[id];
    if (bytes == 0) {
        ax->empty = 1 + id;
        return;
    }
    if (ax->accepted - ax->cut >= QUEUE) {
        tb_check_fail(c, "request", ax->requests, ax->names[id], "one more taken",
                      "at most two that wait for their bursts");
        return;
    }
    npu_score_dma_job *j = &ax->job[ax->accepted++ % DMA_JOBS];
    *j = (npu_score_dma_job){.addr = addr, .bytes = bytes, .id = id, .first_word = ax->words, .first_beat = ax->beats};
    j->words = (bytes + 15) / 16;
    j->beats = (addr % 16 + bytes + 15) / 16;
    ax->words += j->words;
    ax->beats += j->beats;
    ax->queued[id]++;
    ax->requests++;
}

void npu_score_dma_requests(tb_check *c, npu_score_dma_ax *ax) {
    ax->due =
        ax->cut < ax->accepted && !ax->offered && !npu_score_dma_dropping(ax) && ax->shown - ax->answered < DMA_EASY;
    const uint32_t ready = npu_score_b(ax->req_ready_o), valid = npu_score_b(ax->req_valid_i);
    if (ready == 0) {
        if (valid != 0 && ax->accepted - ax->cut < QUEUE && !npu_score_dma_dropping(ax)) {
            tb_check_fail(c, "request", ax->requests, NULL, "one that waits", "it is accepted: there is space");
        }
        return;
    }
    const uint32_t first = valid & (~valid + 1);
    if (ready != first || npu_score_dma_dropping(ax)) {
        tb_check_failf(c, "request", ax->requests, "ready 0x%02" PRIx32 "|0x%02" PRIx32 "%s", ready,
                       npu_score_dma_dropping(ax) ? 0u : first,
                       npu_score_dma_dropping(ax) ? ": flushed" : ": priority");
        return;
    }
    accept(c, ax, (uint32_t)__builtin_ctz(first));
}

void npu_score_dma_answer(npu_score_dma_ax *ax, uint32_t resp, bool complete) {
    if (ax->answered == ax->shown) {
        return;
    }
    const uint32_t id = ax->burst[ax->answered % DMA_BURSTS].id;
    if ((resp & 2u) != 0) {
        ax->err_due = 1u << id;
    }
    if (complete) {
        ax->answered++;
        ax->flying[id]--;
    }
}

npu_score_dma_flush npu_score_dma_end(npu_score_dma_ax *ax) {
    if (!npu_score_dma_dropping(ax)) {
        return DMA_GO;
    }
    ax->draining = !ax->bus_idle;
    if (ax->bus_idle) {
        forget_jobs(ax);
        return DMA_EMPTY;
    }
    ax->cut = ax->accepted;
    ax->rest = 0;
    memset(ax->queued, 0, sizeof ax->queued);
    return DMA_DROP;
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
        for (uint64_t b = ax->answered > 0 ? ax->answered - 1 : 0; b < ax->shown; b++) {
            const npu_score_dma_burst *burst = &ax->burst[b % DMA_BURSTS];
            const npu_score_dma_job *j = &ax->job[burst->job % DMA_JOBS];
            const char *unit = unit_of(ax, burst->id);
            if (addr >= j->addr / 16 * 16 && addr < ((uint64_t)j->addr + j->bytes + 15) / 16 * 16) {
                return unit;
            }
            only = only == NULL || strcmp(only, unit) == 0 ? unit : "";
        }
    }
    return only == NULL || *only == '\0' ? NULL : only;
}
