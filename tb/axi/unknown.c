/*
 * Reset, the first edge after it, and X.
 *
 * Later checks get known values only: a valid that is X counts as low, a ready that is X as low for now. The next edge
 * shows whether that was a handshake: a payload that is unchanged was probably not accepted, one that changed was.
 * Beats and responses that X may have hidden are excused once each.
 */
#include "mon_priv.h"

#include <string.h>

static const struct {
    tb_axi_rule reset;            /* valid in reset */
    tb_axi_signal valid, ready;   /* neighbours */
    tb_axi_signal first, last;    /* payload */
    tb_axi_rule valid_x, ready_x; /* valid X, ready X */
} channels[TB_AXI_CHANNELS] = {
    {AXI4_ERRM_AWVALID_RESET, TB_AXI_AWVALID, TB_AXI_AWREADY, TB_AXI_AWADDR, TB_AXI_AWUSER, AXI4_ERRM_AWVALID_X,
     AXI4_ERRS_AWREADY_X},
    {AXI4_ERRM_WVALID_RESET, TB_AXI_WVALID, TB_AXI_WREADY, TB_AXI_WDATA, TB_AXI_WUSER, AXI4_ERRM_WVALID_X,
     AXI4_ERRS_WREADY_X},
    {AXI4_ERRS_BVALID_RESET, TB_AXI_BVALID, TB_AXI_BREADY, TB_AXI_BID, TB_AXI_BUSER, AXI4_ERRS_BVALID_X,
     AXI4_ERRM_BREADY_X},
    {AXI4_ERRM_ARVALID_RESET, TB_AXI_ARVALID, TB_AXI_ARREADY, TB_AXI_ARADDR, TB_AXI_ARUSER, AXI4_ERRM_ARVALID_X,
     AXI4_ERRS_ARREADY_X},
    {AXI4_ERRS_RVALID_RESET, TB_AXI_RVALID, TB_AXI_RREADY, TB_AXI_RID, TB_AXI_RUSER, AXI4_ERRS_RVALID_X,
     AXI4_ERRM_RREADY_X},
};

/* Rule of X in each payload signal. */
static const tb_axi_rule payload[TB_AXI_SIGNALS] = {
    [TB_AXI_AWADDR] = AXI4_ERRM_AWADDR_X,   [TB_AXI_AWID] = AXI4_ERRM_AWID_X,
    [TB_AXI_AWLEN] = AXI4_ERRM_AWLEN_X,     [TB_AXI_AWSIZE] = AXI4_ERRM_AWSIZE_X,
    [TB_AXI_AWBURST] = AXI4_ERRM_AWBURST_X, [TB_AXI_AWLOCK] = AXI4_ERRM_AWLOCK_X,
    [TB_AXI_AWCACHE] = AXI4_ERRM_AWCACHE_X, [TB_AXI_AWPROT] = AXI4_ERRM_AWPROT_X,
    [TB_AXI_AWQOS] = AXI4_ERRM_AWQOS_X,     [TB_AXI_AWREGION] = AXI4_ERRM_AWREGION_X,
    [TB_AXI_AWUSER] = AXI4_ERRM_AWUSER_X,   [TB_AXI_WDATA] = AXI4_ERRM_WDATA_X,
    [TB_AXI_WSTRB] = AXI4_ERRM_WSTRB_X,     [TB_AXI_WLAST] = AXI4_ERRM_WLAST_X,
    [TB_AXI_WUSER] = AXI4_ERRM_WUSER_X,     [TB_AXI_BID] = AXI4_ERRS_BID_X,
    [TB_AXI_BRESP] = AXI4_ERRS_BRESP_X,     [TB_AXI_BUSER] = AXI4_ERRS_BUSER_X,
    [TB_AXI_ARADDR] = AXI4_ERRM_ARADDR_X,   [TB_AXI_ARID] = AXI4_ERRM_ARID_X,
    [TB_AXI_ARLEN] = AXI4_ERRM_ARLEN_X,     [TB_AXI_ARSIZE] = AXI4_ERRM_ARSIZE_X,
    [TB_AXI_ARBURST] = AXI4_ERRM_ARBURST_X, [TB_AXI_ARLOCK] = AXI4_ERRM_ARLOCK_X,
    [TB_AXI_ARCACHE] = AXI4_ERRM_ARCACHE_X, [TB_AXI_ARPROT] = AXI4_ERRM_ARPROT_X,
    [TB_AXI_ARQOS] = AXI4_ERRM_ARQOS_X,     [TB_AXI_ARREGION] = AXI4_ERRM_ARREGION_X,
    [TB_AXI_ARUSER] = AXI4_ERRM_ARUSER_X,   [TB_AXI_RID] = AXI4_ERRS_RID_X,
    [TB_AXI_RDATA] = AXI4_ERRS_RDATA_X,     [TB_AXI_RRESP] = AXI4_ERRS_RRESP_X,
    [TB_AXI_RLAST] = AXI4_ERRS_RLAST_X,     [TB_AXI_RUSER] = AXI4_ERRS_RUSER_X,
};

static bool *valid_of(tb_axi_sample *s, unsigned c) {
    bool *const all[TB_AXI_CHANNELS] = {&s->aw.valid, &s->w.valid, &s->b.valid, &s->ar.valid, &s->r.valid};
    return all[c];
}

static bool *ready_of(tb_axi_sample *s, unsigned c) {
    bool *const all[TB_AXI_CHANNELS] = {&s->aw.ready, &s->w.ready, &s->b.ready, &s->ar.ready, &s->r.ready};
    return all[c];
}

static bool is_x(const tb_axi_sample *s, tb_axi_signal signal) {
    return (s->x & TB_AXI_X(signal)) != 0;
}

static uint64_t payload_bits(unsigned c) {
    return (TB_AXI_X(channels[c].last) << 1) - TB_AXI_X(channels[c].first);
}

/* ---- reset ---- */

static void reset_rules(tb_axi_monitor *mon, const tb_axi_sample *s, unsigned valids, const char *when) {
    for (unsigned c = 0; c < TB_AXI_CHANNELS; c++) {
        if ((valids & ~(unsigned)mon->reset_said) >> c & 1u) {
            const bool said = axi_bad(mon, channels[c].reset, (tb_axi_channel)c, s->cycle, NULL, -1, "%s is high %s",
                                      tb_axi_signal_get(channels[c].valid)->name, when);
            mon->reset_said |= (uint8_t)((said ? 1u : 0u) << c);
        }
    }
}

static unsigned known_valids(const tb_axi_sample *s) {
    tb_axi_sample copy = *s;
    unsigned valids = 0;
    for (unsigned c = 0; c < TB_AXI_CHANNELS; c++) {
        valids |= *valid_of(&copy, c) && !is_x(s, channels[c].valid) ? 1u << c : 0;
    }
    return valids;
}

static void in_reset(tb_axi_monitor *mon, const tb_axi_sample *s) {
    const bool known = !is_x(s, TB_AXI_ARESETN);
    if (known && mon->low) {
        reset_rules(mon, s, known_valids(s), "in reset");
    } else if (known && !mon->in_reset) { /* a synchronous reset acts at this edge, not before it */
        axi_project_reset(mon, s, known_valids(s));
    }
    const uint8_t said = mon->in_reset ? mon->reset_said : 0;
    axi_stat_depth(mon, false, s->cycle);
    axi_stat_depth(mon, true, s->cycle);
    tb_axi_mon_reset(mon);
    mon->reset_said = said;
    mon->low = known;
}

/* ---- handshakes that this edge clarifies ---- */

static bool same_ax(const tb_axi_ax *a, const tb_axi_ax *b) {
    return a->addr == b->addr && a->id == b->id && a->user == b->user && memcmp(&a->len, &b->len, 8) == 0;
}

/* Is the stalled payload unchanged? Unused lanes may change meanwhile. */
static bool still_there(const tb_axi_monitor *mon, const tb_axi_sample *s, unsigned c) {
    const tb_axi_sample *was = &mon->prev;
    uint64_t lanes[2];
    switch (c) {
    case TB_AXI_AW:
        return same_ax(&s->aw, &was->aw);
    case TB_AXI_AR:
        return same_ax(&s->ar, &was->ar);
    case TB_AXI_W:
        return s->w.last == was->w.last && memcmp(s->w.strb, was->w.strb, sizeof s->w.strb) == 0 &&
               axi_data_differs(s->w.data, mon->prev_w, mon->cfg.bytes, was->w.strb) < 0;
    case TB_AXI_B:
        return s->b.id == was->b.id && s->b.resp == was->b.resp;
    default:
        axi_r_lanes(mon, axi_rd_find(mon, was->r.id, false), lanes);
        return s->r.id == was->r.id && s->r.last == was->r.last && s->r.resp == was->r.resp &&
               axi_data_differs(s->r.data, mon->prev_r, mon->cfg.bytes, lanes) < 0;
    }
}

/* There may have been a handshake on this channel. */
static void allow(tb_axi_monitor *mon, unsigned c, const tb_axi_sample *s) {
    tb_axi_open *b = NULL;
    switch (c) {
    case TB_AXI_AW:
    case TB_AXI_AR:
        mon->excuse[c == TB_AXI_AW]++;
        return;
    case TB_AXI_B: /* a write may have its response */
        mon->unsure[1] += mon->unsure[1] < mon->wr_live;
        return;
    case TB_AXI_W:
        b = wr_filling(mon);
        break;
    default:
        b = axi_rd_find(mon, s->r.id, true);
        break;
    }
    if (b != NULL && b->slack < UINT16_MAX) {
        b->slack++;
    }
    if (c == TB_AXI_R) {
        mon->unsure[0] += mon->unsure[0] < mon->rd_live;
    }
}

static void was_taken(tb_axi_monitor *mon, unsigned c) {
    tb_axi_sample was = mon->prev;
    uint64_t lanes[2];
    was.w.data = mon->prev_w;
    was.r.data = mon->prev_r;
    switch (c) {
    case TB_AXI_AW:
        axi_take_aw(mon, &was.aw, was.cycle, was.x);
        break;
    case TB_AXI_AR:
        axi_take_ar(mon, &was.ar, was.cycle, was.x);
        break;
    case TB_AXI_W:
        axi_take_w(mon, &was);
        break;
    case TB_AXI_B:
        axi_take_b(mon, &was);
        break;
    default:
        axi_take_r(mon, &was, lanes);
        break;
    }
}

static void resolve(tb_axi_monitor *mon, tb_axi_sample *s) {
    static const uint8_t order[TB_AXI_CHANNELS] = {TB_AXI_AW, TB_AXI_W, TB_AXI_B, TB_AXI_AR, TB_AXI_R};
    for (unsigned i = 0; i < TB_AXI_CHANNELS; i++) {
        const unsigned c = order[i];
        if ((mon->maybe >> c & 1u) == 0) {
            continue;
        }
        if (is_x(s, channels[c].valid) || (*valid_of(s, c) && still_there(mon, s, c))) {
            allow(mon, c, &mon->prev);
        } else {
            was_taken(mon, c);
            mon->stalled &= (uint8_t) ~(1u << c);
        }
    }
    mon->maybe = 0;
}

/* ---- X ---- */

static void report(tb_axi_monitor *mon, tb_axi_signal signal, tb_axi_rule rule, unsigned c, const tb_axi_sample *s,
                   const tb_axi_open *b) {
    if ((mon->x_said & TB_AXI_X(signal)) == 0) {
        const bool said = axi_bad(mon, rule, (tb_axi_channel)c, s->cycle, b,
                                  b != NULL && (c == TB_AXI_W || c == TB_AXI_R) ? (int)b->beat : -1,
                                  "%s has bits that are X or Z", tb_axi_signal_get(signal)->name);
        mon->x_said |= said ? TB_AXI_X(signal) : 0;
    }
}

/* Is the X on a used lane? */
static bool used_lanes(const tb_axi_monitor *mon, const tb_axi_sample *s, tb_axi_signal signal, const tb_axi_open *b) {
    uint64_t lanes[2];
    if (signal == TB_AXI_WDATA) {
        return ((s->w_x[0] & s->w.strb[0]) | (s->w_x[1] & s->w.strb[1])) != 0;
    }
    if (signal == TB_AXI_RDATA) {
        const bool error = mon->cfg.error_data_x && s->r.resp >= TB_AXI_SLVERR;
        return !error && axi_r_lanes(mon, b, lanes) && ((s->r_x[0] & lanes[0]) | (s->r_x[1] & lanes[1])) != 0;
    }
    return true;
}

static void payload_x(tb_axi_monitor *mon, const tb_axi_sample *s, unsigned c) {
    tb_axi_open offered;
    const tb_axi_open *b = NULL;
    if (c == TB_AXI_AW || c == TB_AXI_AR) {
        offered = axi_offered(mon, c == TB_AXI_AW ? &s->aw : &s->ar, c == TB_AXI_AW, s->cycle);
        b = &offered;
    } else if (c == TB_AXI_W) {
        b = wr_filling(mon);
    } else if (c == TB_AXI_B) {
        b = axi_wr_find(mon, s->b.id, is_x(s, TB_AXI_BID));
    } else {
        b = axi_rd_find(mon, s->r.id, is_x(s, TB_AXI_RID));
    }
    for (tb_axi_signal signal = channels[c].first; signal <= channels[c].last; signal = (tb_axi_signal)(signal + 1)) {
        if (is_x(s, signal) && used_lanes(mon, s, signal, b)) {
            report(mon, signal, payload[signal], c, s, b);
        }
    }
}

static void channel_x(tb_axi_monitor *mon, tb_axi_sample *s, unsigned c) {
    const bool ready = *ready_of(s, c) || is_x(s, channels[c].ready);
    if (is_x(s, channels[c].ready)) {
        report(mon, channels[c].ready, channels[c].ready_x, c, s, NULL);
        *ready_of(s, c) = false;
    }
    if (is_x(s, channels[c].valid)) {
        report(mon, channels[c].valid, channels[c].valid_x, c, s, NULL);
        *valid_of(s, c) = false;
        mon->stalled &= (uint8_t) ~(1u << c);
        if (ready) {
            allow(mon, c, s);
        }
    } else if (*valid_of(s, c)) {
        if (!held(mon, (tb_axi_channel)c)) { /* another beat */
            mon->x_said &= ~payload_bits(c);
        }
        payload_x(mon, s, c);
        mon->maybe |= is_x(s, channels[c].ready) ? (uint8_t)(1u << c) : 0;
        return;
    }
    s->x &= ~payload_bits(c);
}

static uint64_t lite_bits(void) {
    uint64_t bits = 0;
    for (unsigned i = 0; i < TB_AXI_SIGNALS; i++) {
        bits |= tb_axi_signal_get((tb_axi_signal)i)->lite ? TB_AXI_X(i) : 0;
    }
    return bits;
}

bool axi_unknown(tb_axi_monitor *mon, const tb_axi_sample *s, tb_axi_sample *clean) {
    if (!mon->begun) {
        mon->begun = true;
        mon->begin = mon->stats.dir[0].changed = mon->stats.dir[1].changed = s->cycle;
        mon->in_reset = !mon->cfg.running;
        mon->blind[0] = mon->blind[1] = mon->cfg.running ? BLIND_FOREVER : 0;
        mon->active[0] = mon->active[1] = s->cycle;
    }
    if (!s->reset_n || is_x(s, TB_AXI_ARESETN)) {
        in_reset(mon, s);
        return false;
    }
    *clean = *s;
    clean->x &= mon->cfg.lite ? lite_bits() : UINT64_MAX;
    if (mon->in_reset && mon->reset_known) {
        mon->first_edge = true;
        reset_rules(mon, s, known_valids(s), "at the first edge after reset");
        mon->reset_said = 0;
    }
    if (mon->maybe != 0) {
        resolve(mon, clean);
    }
    mon->x_said &= mon->prev.x == 0 ? 0 : clean->x;
    for (unsigned c = 0; clean->x != 0 && c < TB_AXI_CHANNELS; c++) {
        channel_x(mon, clean, c);
    }
    return true;
}
