#include "ready.h"

/* states of a ready */
enum { RDY_HIGH, RDY_LOW, RDY_WAIT, RDY_COUNT, RDY_FLAP };

void tb_axi_ready_next(tb_axi_ready *r, const tb_axi_ready_profile *p, tb_rng *rng, uint64_t cycle) {
    r->state = RDY_HIGH;
    if ((p->pause | p->wait | p->flap) == 0) {
        return;
    }
    const uint64_t x = tb_rng_u64(rng);
    const uint32_t draw = (uint32_t)(x & 255u);
    const uint32_t n = 1u + (uint32_t)(((x >> 32) * p->pause_max) >> 32);
    if (draw < p->pause) {
        r->state = RDY_LOW;
        r->at = cycle + n + 1;
    } else if (draw < (uint32_t)p->pause + p->wait) {
        r->state = RDY_WAIT;
    } else if (draw < (uint32_t)p->pause + p->wait + p->flap) {
        r->state = RDY_FLAP;
        r->at = cycle + n + 1;
        r->until = n;
    }
}

bool tb_axi_ready_now(tb_axi_ready *r, const tb_axi_ready_profile *p, tb_rng *rng, uint64_t cycle, bool valid) {
    switch (r->state) {
    case RDY_LOW:
    case RDY_COUNT:
        if (cycle < r->at) {
            return false;
        }
        r->state = RDY_HIGH;
        return true;
    case RDY_WAIT:
        if (!valid) {
            return false;
        }
        r->state = RDY_COUNT;
        r->at = cycle + tb_rng_range(rng, 0, p->pause_max);
        return cycle >= r->at;
    case RDY_FLAP:
        if (cycle >= r->at) {
            r->state = RDY_LOW;
            r->at = cycle + r->until;
            return false;
        }
        return true;
    default:
        return true;
    }
}
