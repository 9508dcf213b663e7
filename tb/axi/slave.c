#include "slave.h"

#include <stdlib.h>
#include <string.h>

#define MASK (TB_AXI_SLAVE_CAP - 1u)
#define BEATS 256u

int tb_axi_slave_init(tb_axi_slave *slave, tb_axi_port *port, tb_ddr *mem, const tb_axi_profile *profile, tb_rng rng) {
    memset(slave, 0, sizeof *slave);
    slave->port = port;
    slave->mem = mem;
    slave->profile = profile;
    slave->rng = rng;
    slave->wr_buf = (uint8_t *)malloc((size_t)TB_AXI_SLAVE_CAP * BEATS * port->bytes);
    slave->wr_strb = (uint64_t *)malloc((size_t)TB_AXI_SLAVE_CAP * BEATS * 2 * sizeof *slave->wr_strb);
    if (slave->wr_buf == NULL || slave->wr_strb == NULL) {
        tb_axi_slave_free(slave);
        return -1;
    }
    return 0;
}

void tb_axi_slave_free(tb_axi_slave *slave) {
    free(slave->wr_buf);
    free(slave->wr_strb);
    slave->wr_buf = NULL;
    slave->wr_strb = NULL;
}

void tb_axi_slave_reset(tb_axi_slave *slave) {
    tb_axi_port *p = slave->port;
    slave->rd_head = slave->rd_tail = slave->rd_now = 0;
    slave->wr_head = slave->wr_data = slave->wr_tail = slave->wr_now = 0;
    slave->r_live = slave->b_live = false;
    slave->stop_until = 0;
    memset(slave->wr, 0, sizeof slave->wr);
    *p->aw.ready = *p->w_ready = *p->ar.ready = 0;
    *p->b_valid = *p->r_valid = 0;
}

static uint64_t latency(tb_axi_slave *s, uint32_t lo, uint32_t hi) {
    return lo >= hi ? lo : tb_rng_range(&s->rng, lo, hi);
}

static bool stop_here(tb_axi_slave *s) {
    const tb_axi_profile *p = s->profile;
    if (p->stop != 0 && tb_rng_chance(&s->rng, p->stop, 256)) {
        s->stop_until = s->cycle + tb_rng_range(&s->rng, 1, p->stop_max);
        return true;
    }
    return false;
}

/* Data of an error response. */
static void fill_junk(const tb_axi_slave *s, uint64_t addr, uint8_t *data) {
    for (uint32_t i = 0; i < s->port->bytes; i += 4) {
        const uint32_t junk = (uint32_t)tb_rng_at(&s->rng, addr + i);
        memcpy(data + i, &junk, s->port->bytes < 4 ? s->port->bytes : 4);
    }
}

/* Is there an older burst with this ID that must be answered first? */
static bool behind(const tb_axi_slave *s, unsigned dir, uint32_t at) {
    for (uint32_t i = dir == 0 ? s->rd_head : s->wr_head; i != at; i++) {
        const bool done = dir == 0 ? s->rd[i & MASK].done : s->wr[i & MASK].done;
        const uint32_t id = dir == 0 ? s->rd[i & MASK].id : s->wr[i & MASK].id;
        if (!done && id == (dir == 0 ? s->rd[at & MASK].id : s->wr[at & MASK].id)) {
            return true;
        }
    }
    return false;
}

/* May this burst be answered in this cycle, as far as its latency goes? */
static bool ripe(const tb_axi_slave *s, unsigned dir, uint32_t at) {
    const tb_axi_read_slot *rd = &s->rd[at & MASK];
    const tb_axi_write_slot *wr = &s->wr[at & MASK];
    return dir == 0 ? !rd->done && s->cycle >= rd->at : !wr->done && wr->have_aw && wr->have_last && s->cycle >= wr->at;
}

/*
 * The burst whose beat or response comes next: the oldest one, unless the profile reorders. `now`: of which the last
 * one was.
 */
static uint32_t choose(tb_axi_slave *s, unsigned dir, uint32_t now) {
    const uint32_t head = dir == 0 ? s->rd_head : s->wr_head, tail = dir == 0 ? s->rd_tail : s->wr_tail;
    const uint32_t waiting = tail - head;
    if (s->profile->reorder == 0 || waiting < 2) {
        return head;
    }
    if (tb_rng_chance(&s->rng, s->profile->reorder, 256)) {
        const uint32_t from = (uint32_t)tb_rng_range(&s->rng, 0, waiting - 1);
        for (uint32_t i = 0; i < waiting; i++) {
            const uint32_t at = head + (from + i) % waiting;
            if (ripe(s, dir, at) && !behind(s, dir, at)) {
                return at;
            }
        }
    }
    return now - head < waiting && ripe(s, dir, now) && !behind(s, dir, now) ? now : head;
}

/* Put a beat of a read on the bus. */
static void load_r(tb_axi_slave *s) {
    tb_axi_port *p = s->port;
    const tb_axi_read_slot *slot = &s->rd[s->rd_now & MASK];
    uint64_t addr;
    unsigned lo;
    unsigned hi;
    tb_axi_beat(slot->addr, slot->len, slot->size, slot->burst, slot->beat, p->bytes, &addr, &lo, &hi);
    const bool outside = !tb_ddr_inside(s->mem, addr, p->bytes);
    const bool error = slot->err_beat == slot->beat || slot->err_beat == TB_AXI_ALL_BEATS;
    if (outside || error) {
        fill_junk(s, addr, p->r_data);
    } else {
        s->mem->agent = s->agent;
        tb_ddr_beat_read(s->mem, addr, p->r_data, p->bytes, lo, hi);
    }
    if (s->flip_in > 0 && --s->flip_in == 0) {
        for (uint32_t i = 0; i < p->bytes; i++) {
            p->r_data[i] ^= 0x40;
        }
    }
    *p->r_resp = outside ? TB_AXI_DECERR : error ? slot->err_resp : TB_AXI_OKAY;
    if (p->r_last != &p->const_one) {
        *p->r_last = slot->beat == slot->len;
    }
    if (p->r_id.ptr != &p->none) {
        tb_set(p->r_id, slot->id);
    }
    *p->r_valid = 1;
    s->r_live = true;
}

/* Written data of a complete burst into memory. */
static void commit(tb_axi_slave *s, tb_axi_write_slot *slot, uint32_t index) {
    const uint32_t bytes = s->port->bytes;
    if (slot->committed) {
        return;
    }
    slot->committed = true;
    s->mem->agent = s->agent;
    for (uint32_t i = 0; i < slot->beats && i <= slot->len; i++) {
        uint64_t addr;
        unsigned lo;
        unsigned hi;
        tb_axi_beat(slot->addr, slot->len, slot->size, slot->burst, i, bytes, &addr, &lo, &hi);
        uint8_t *data = s->wr_buf + (size_t)(index * BEATS + i) * bytes;
        if (!tb_ddr_inside(s->mem, addr, bytes)) {
            slot->decerr = true;
            continue;
        }
        if (slot->err_resp != TB_AXI_OKAY && i >= slot->err_beat) {
            fill_junk(s, addr, data);
        }
        tb_ddr_beat_write(s->mem, addr, data, s->wr_strb + (size_t)(index * BEATS + i) * 2, bytes);
    }
}

static void load_b(tb_axi_slave *s) {
    tb_axi_port *p = s->port;
    const uint32_t index = s->wr_now & MASK;
    tb_axi_write_slot *slot = &s->wr[index];
    commit(s, slot, index);
    *p->b_resp = slot->decerr ? TB_AXI_DECERR : slot->err_resp;
    if (p->b_id.ptr != &p->none) {
        tb_set(p->b_id, slot->id);
    }
    *p->b_valid = 1;
    s->b_live = true;
}

/* Slow channels that are stalled in this cycle. */
static unsigned slow_now(const tb_axi_slave *s) {
    unsigned mask = 0;
    for (unsigned c = 0; c < TB_AXI_CHANNELS; c++) {
        mask |= s->slow[c] != 0 && s->cycle < s->slow_at[c] ? 1u << c : 0;
    }
    return mask;
}

void tb_axi_slave_drive(tb_axi_slave *s, uint64_t cycle) {
    tb_axi_port *p = s->port;
    const tb_axi_profile *prof = s->profile;
    s->cycle = cycle;
    const bool stopped = cycle < s->stop_until;
    const unsigned hung = s->slow_on ? s->hung | slow_now(s) : s->hung;
    *p->ar.ready = !stopped && (hung >> TB_AXI_AR & 1u) == 0 && s->rd_tail - s->rd_head < prof->outstanding &&
                   tb_axi_ready_now(&s->ar_rdy, &prof->ar, &s->rng, cycle, *p->ar.valid != 0);
    *p->aw.ready = !stopped && (hung >> TB_AXI_AW & 1u) == 0 && s->wr_tail - s->wr_head < prof->outstanding &&
                   tb_axi_ready_now(&s->aw_rdy, &prof->aw, &s->rng, cycle, *p->aw.valid != 0);
    /* data waits for its address, unless the profile accepts it first */
    const bool w_open =
        (int32_t)(s->wr_tail - s->wr_data) > 0 || (prof->data_first && s->wr_data - s->wr_head < prof->outstanding);
    *p->w_ready = !stopped && (hung >> TB_AXI_W & 1u) == 0 && w_open &&
                  tb_axi_ready_now(&s->w_rdy, &prof->w, &s->rng, cycle, *p->w_valid != 0);
    if (!s->r_live) {
        const bool may = s->rd_head != s->rd_tail && !stopped && (hung >> TB_AXI_R & 1u) == 0 && cycle >= s->r_at;
        s->rd_now = may ? choose(s, 0, s->rd_now) : s->rd_now;
        if (may && ripe(s, 0, s->rd_now)) {
            load_r(s);
        } else {
            *p->r_valid = 0;
        }
    }
    if (!s->b_live) {
        const bool may = !stopped && (hung >> TB_AXI_B & 1u) == 0;
        s->wr_now = may ? choose(s, 1, s->wr_now) : s->wr_now;
        if (may && ripe(s, 1, s->wr_now)) {
            load_b(s);
        } else {
            *p->b_valid = 0;
        }
    }
}

/* The accepted burst, if an error is to be injected: its response, and the beat (TB_AXI_ANY_BEAT drawn). */
static void injected(tb_axi_slave *s, unsigned dir, uint8_t len, uint8_t *resp, uint16_t *beat) {
    const uint64_t number = s->bursts[dir]++;
    for (uint32_t i = 0; i < s->injects[dir]; i++) {
        const tb_axi_inject in = s->inject[dir][i];
        if (in.number == number) {
            const uint16_t last = dir == 0 ? len : (uint16_t)(len + 1);
            s->inject[dir][i] = s->inject[dir][--s->injects[dir]];
            *resp = in.resp;
            *beat = in.beat == TB_AXI_ANY_BEAT                      ? (uint16_t)tb_rng_range(&s->rng, 0, last)
                    : in.beat == TB_AXI_ALL_BEATS || in.beat < last ? in.beat
                                                                    : last;
            return;
        }
    }
}

static void take_ar(tb_axi_slave *s) {
    const tb_axi_port *p = s->port;
    const tb_axi_profile *prof = s->profile;
    tb_axi_read_slot *slot = &s->rd[s->rd_tail++ & MASK];
    slot->addr = tb_get(p->ar.addr);
    slot->id = (uint32_t)tb_get(p->ar.id);
    slot->len = *p->ar.len;
    slot->size = *p->ar.size & 7u;
    slot->burst = *p->ar.burst;
    slot->beat = 0;
    slot->done = false;
    slot->err_beat = TB_AXI_NO_BEAT;
    injected(s, 0, slot->len, &slot->err_resp, &slot->err_beat);
    stop_here(s);
    slot->at = s->cycle + latency(s, prof->read_lat_min, prof->read_lat_max);
    tb_axi_ready_next(&s->ar_rdy, &prof->ar, &s->rng, s->cycle);
}

/* Address and data of a write are both here: the response may follow. */
static void write_complete(tb_axi_slave *s, uint32_t index) {
    tb_axi_write_slot *slot = &s->wr[index];
    slot->at = s->cycle + latency(s, s->profile->write_lat_min, s->profile->write_lat_max);
    if (!s->profile->late_commit) {
        commit(s, slot, index);
    }
}

static void take_aw(tb_axi_slave *s) {
    const tb_axi_port *p = s->port;
    const uint32_t index = s->wr_tail++ & MASK;
    tb_axi_write_slot *slot = &s->wr[index];
    slot->addr = tb_get(p->aw.addr);
    slot->id = (uint32_t)tb_get(p->aw.id);
    slot->len = *p->aw.len;
    slot->size = *p->aw.size & 7u;
    slot->burst = *p->aw.burst;
    slot->have_aw = true;
    slot->err_resp = TB_AXI_OKAY;
    injected(s, 1, slot->len, &slot->err_resp, &slot->err_beat);
    stop_here(s);
    tb_axi_ready_next(&s->aw_rdy, &s->profile->aw, &s->rng, s->cycle);
    if (slot->have_last) {
        write_complete(s, index);
    }
}

static void take_w(tb_axi_slave *s) {
    const tb_axi_port *p = s->port;
    const uint32_t index = s->wr_data & MASK;
    tb_axi_write_slot *slot = &s->wr[index];
    if (slot->beats < BEATS) {
        const size_t beat = (size_t)index * BEATS + slot->beats;
        memcpy(s->wr_buf + beat * p->bytes, p->w_data, p->bytes);
        s->wr_strb[beat * 2] = tb_get(p->w_strb);
        s->wr_strb[beat * 2 + 1] = p->w_strb.width > 64 ? tb_get_field(p->w_strb, 64, 64) : 0;
        slot->beats++;
    }
    tb_axi_ready_next(&s->w_rdy, &s->profile->w, &s->rng, s->cycle);
    if (*p->w_last != 0) {
        slot->have_last = true;
        s->wr_data++;
        if (slot->have_aw) {
            write_complete(s, index);
        }
    }
}

static void note_error(tb_axi_slave *s, unsigned dir, uint64_t addr) {
    s->error_addr[dir][s->errors[dir]++ % TB_AXI_SLAVE_ERRORS] = addr;
}

static void r_taken(tb_axi_slave *s) {
    const tb_axi_profile *prof = s->profile;
    tb_axi_read_slot *slot = &s->rd[s->rd_now & MASK];
    if (*s->port->r_resp >= TB_AXI_SLVERR) {
        note_error(s, 0, slot->addr / s->port->bytes * s->port->bytes + (uint64_t)slot->beat * s->port->bytes);
    }
    s->r_live = false;
    slot->done = slot->beat++ == slot->len;
    while (s->rd_head != s->rd_tail && s->rd[s->rd_head & MASK].done) {
        s->rd_head++;
    }
    if (prof->gap != 0 && tb_rng_chance(&s->rng, prof->gap, 256)) {
        s->r_at = s->cycle + 1 + tb_rng_range(&s->rng, 1, prof->gap_max);
    }
}

static void b_taken(tb_axi_slave *s) {
    if (*s->port->b_resp >= TB_AXI_SLVERR) {
        note_error(s, 1, s->wr[s->wr_now & MASK].addr);
    }
    s->b_live = false;
    s->wr[s->wr_now & MASK].done = true;
    while (s->wr[s->wr_head & MASK].done) {
        memset(&s->wr[s->wr_head++ & MASK], 0, sizeof s->wr[0]);
    }
}

/* Count the handshakes of this cycle for channels that are to hang, and for slow ones. */
static void count_moves(tb_axi_slave *s) {
    const tb_axi_port *p = s->port;
    const bool moved[TB_AXI_CHANNELS] = {[TB_AXI_AW] = (*p->aw.valid & *p->aw.ready) != 0,
                                         [TB_AXI_W] = (*p->w_valid & *p->w_ready) != 0,
                                         [TB_AXI_B] = s->b_live && *p->b_ready != 0,
                                         [TB_AXI_AR] = (*p->ar.valid & *p->ar.ready) != 0,
                                         [TB_AXI_R] = s->r_live && *p->r_ready != 0};
    for (unsigned c = 0; c < TB_AXI_CHANNELS; c++) {
        if ((s->hang >> c & 1u) != 0 && moved[c] && s->hang_left[c] > 0 && --s->hang_left[c] == 0) {
            s->hung |= (uint8_t)(1u << c);
        }
        if (s->slow[c] != 0 && moved[c]) {
            s->slow_at[c] = s->cycle + 1 + tb_rng_range(&s->rng, 0, s->slow[c]);
        }
    }
}

void tb_axi_slave_hang(tb_axi_slave *slave, tb_axi_channel channel, uint64_t k) {
    slave->hang |= (uint8_t)(1u << channel);
    slave->hang_left[channel] = k;
    slave->hung = (uint8_t)((slave->hung & ~(1u << channel)) | (k == 0 ? 1u << channel : 0u));
}

void tb_axi_slave_slow(tb_axi_slave *slave, tb_axi_channel channel, uint16_t most) {
    slave->slow[channel] = most;
    slave->slow_at[channel] = slave->cycle;
    slave->slow_on = slave->slow_on || most != 0;
}

void tb_axi_slave_mend(tb_axi_slave *slave) {
    slave->hang = slave->hung = 0;
    slave->slow_on = false;
    memset(slave->slow, 0, sizeof slave->slow);
    slave->injects[0] = slave->injects[1] = 0;
}

void tb_axi_slave_flip(tb_axi_slave *slave, uint64_t k) {
    slave->flip_in = k;
}

void tb_axi_slave_sample(tb_axi_slave *s) {
    const tb_axi_port *p = s->port;
    if (s->hang != 0 || s->slow_on) {
        count_moves(s);
    }
    if ((*p->aw.valid & *p->aw.ready) != 0) {
        take_aw(s);
    }
    if ((*p->w_valid & *p->w_ready) != 0) {
        take_w(s);
    }
    if ((*p->ar.valid & *p->ar.ready) != 0) {
        take_ar(s);
    }
    if (s->r_live && *p->r_ready != 0) {
        r_taken(s);
    }
    if (s->b_live && *p->b_ready != 0) {
        b_taken(s);
    }
}

bool tb_axi_slave_inject_as(tb_axi_slave *slave, unsigned dir, uint64_t k, uint8_t resp, uint16_t beat) {
    if (dir > 1 || slave->injects[dir] >= TB_AXI_SLAVE_INJECT) {
        return false;
    }
    slave->inject[dir][slave->injects[dir]++] =
        (tb_axi_inject){.number = slave->bursts[dir] + k, .beat = beat, .resp = resp};
    return true;
}

bool tb_axi_slave_inject(tb_axi_slave *slave, unsigned dir, uint64_t k) {
    return tb_axi_slave_inject_as(slave, dir, k, TB_AXI_SLVERR, dir == 0 ? TB_AXI_ANY_BEAT : 0);
}
