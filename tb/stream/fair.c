#include "fair.h"

#include <inttypes.h>
#include <stdio.h>

#include "opt/opt.h"

int tb_fair_open(tb_fair *f, const tb_sim *sim, const tb_fair_cfg *cfg, char *err, size_t err_size) {
    memset(f, 0, sizeof *f);
    f->cfg = *cfg;
    f->request = tb_sim_find(sim, cfg->request);
    f->grant = tb_sim_find(sim, cfg->grant);
    if (f->request.ptr == NULL || f->grant.ptr == NULL) {
        return opt_fail(err, err_size, "arbiter %s: there is no port %s", cfg->name,
                        f->request.ptr == NULL ? cfg->request : cfg->grant);
    }
    if (f->request.width != f->grant.width || f->request.width < 2 || f->request.width > TB_FAIR_MOST) {
        return opt_fail(err, err_size, "arbiter %s: %s and %s: expected the same width, from 2 to %u bits", cfg->name,
                        cfg->request, cfg->grant, TB_FAIR_MOST);
    }
    if (cfg->accept != NULL && tb_sim_port(sim, cfg->accept, 1, true, &f->accept, err, err_size) != 0 &&
        tb_sim_port(sim, cfg->accept, 1, false, &f->accept, err, err_size) != 0) {
        return -1;
    }
    if (cfg->drive && !tb_sim_is_input(sim, f->request)) {
        return opt_fail(err, err_size, "arbiter %s: %s is not an input, so the bench cannot request", cfg->name,
                        cfg->request);
    }
    f->cfg.limit = cfg->limit != 0 ? cfg->limit : f->request.width - 1;
    return 0;
}

void tb_fair_reset(tb_fair *f) {
    f->waiting = f->live = 0;
    f->driven = false;
    tb_fair_ask(f, 0);
    if (f->cfg.drive) {
        tb_set(f->request, 0);
    }
}

void tb_fair_ask(tb_fair *f, uint64_t count) {
    for (unsigned i = 0; i < f->request.width; i++) {
        f->asks[i] = f->cfg.drive ? count : 0;
    }
}

bool tb_fair_busy(const tb_fair *f) {
    bool busy = f->live != 0;
    for (unsigned i = 0; i < f->request.width; i++) {
        busy = busy || f->asks[i] > 0;
    }
    return busy;
}

void tb_fair_drive(tb_fair *f) {
    if (!f->cfg.drive || f->driven) {
        return;
    }
    f->driven = true;
    for (unsigned i = 0; i < f->request.width; i++) {
        const uint64_t bit = UINT64_C(1) << i;
        if ((f->live & bit) == 0 && f->asks[i] > 0 && !tb_rng_chance(&f->rng, f->stall, 100)) {
            f->live |= bit;
            f->asks[i]--;
        }
    }
    tb_set(f->request, f->live);
}

bool tb_fair_owes(const tb_fair *f, char *text, size_t size) {
    unsigned first = TB_FAIR_MOST;
    for (unsigned i = 0; i < f->request.width; i++) {
        const bool older = first == TB_FAIR_MOST || f->since[i] < f->since[first];
        first = (f->waiting >> i & 1u) != 0 && older ? i : first;
    }
    if (first != TB_FAIR_MOST) {
        snprintf(text, size, "%s has not granted requester %u, which waits since cycle %" PRIu64, f->cfg.name, first,
                 f->since[first]);
    }
    return first != TB_FAIR_MOST;
}

static void complain(tb_fair *f, const char *wrong, const char *text) {
    if (f->wrong[0] == '\0') {
        snprintf(f->wrong, sizeof f->wrong, "fair:%s", wrong);
        snprintf(f->text, sizeof f->text, "%s: %s", f->cfg.name, text);
    }
}

/* Requester i still waits while another one was granted. */
static void passed_over(tb_fair *f, unsigned i, unsigned other) {
    char text[160];
    f->passed[i]++;
    f->worst = f->passed[i] > f->worst ? f->passed[i] : f->worst;
    if (f->passed[i] > f->cfg.limit) {
        snprintf(text, sizeof text,
                 "requester %u waits since cycle %" PRIu64 ", and others were granted %u times, at last %u; at most %u",
                 i, f->since[i], f->passed[i], other, f->cfg.limit);
        complain(f, "starved", text);
    }
}

void tb_fair_sample(tb_fair *f, uint64_t cycle) {
    const uint64_t request = tb_get(f->request), grant = tb_get(f->grant);
    const bool counts = f->accept.ptr == NULL || tb_get(f->accept) != 0;
    char text[100];
    snprintf(text, sizeof text, "grants 0x%" PRIx64 " for requests 0x%" PRIx64, grant, request);
    if ((grant & (grant - 1)) != 0) {
        complain(f, "onehot", text);
    }
    if ((grant & ~request) != 0) {
        complain(f, "grant", text);
    }
    for (unsigned i = 0; i < f->request.width; i++) {
        const bool asks = (request >> i & 1u) != 0, has = counts && (grant >> i & 1u) != 0;
        if (asks && (f->waiting >> i & 1u) == 0) {
            f->since[i] = cycle;
            f->passed[i] = 0;
        }
        f->waiting = asks && !has ? f->waiting | UINT64_C(1) << i : f->waiting & ~(UINT64_C(1) << i);
        if (asks && !has && counts && grant != 0) {
            passed_over(f, i, (unsigned)__builtin_ctzll(grant));
        }
    }
    f->grants += counts && grant != 0;
    f->live &= counts ? ~grant : UINT64_MAX;
}
