#include "boards.h"

#include <inttypes.h>
#include <string.h>

#include "opt/opt.h"

static bool of_streams(const tb_board_row *row) {
    return row->kind == TB_BOARD_STREAM || row->kind == TB_BOARD_KEYED || row->kind == TB_BOARD_FIFO;
}

tb_stream_cfg boards_stream(const tb_tandem *b, const tb_stream_cfg *cfg) {
    tb_stream_cfg own = *cfg;
    for (unsigned i = 0; i < b->boards; i++) {
        const tb_board_row *row = &b->board[i];
        if (of_streams(row) && strcmp(row->b, cfg->name) == 0) {
            own.from = row->a;
            own.by_key = row->kind == TB_BOARD_KEYED;
            own.depth = row->kind == TB_BOARD_FIFO ? row->number : 0;
        }
    }
    return own;
}

static bool has_stream(const tb_tandem *b, const char *name, bool source) {
    bool found = false;
    for (unsigned i = 0; i < b->streams; i++) {
        found = found || (strcmp(b->stream[i].name, name) == 0 && b->stream[i].source == source);
    }
    return found;
}

/* A port with a shadow, or one in front of memory; NULL: there is none of this name. */
static const tb_run_port *port_of(const tb_run *run, const char *name, bool memory) {
    for (unsigned i = 0; i < run->ports; i++) {
        const tb_run_port_cfg *c = &run->port[i]->cfg;
        if (strcmp(c->name, name) == 0 && (memory ? c->mem != NULL : c->shadow != NULL)) {
            return run->port[i];
        }
    }
    return NULL;
}

static int open_one(const tb_tandem *b, tb_run *run, const tb_board_row *row, char *err, size_t err_size) {
    if (of_streams(row)) {
        const bool in = has_stream(b, row->a, false);
        if (!in || !has_stream(b, row->b, true)) {
            return opt_fail(err, err_size, "description: board: there is no stream %s the design with the name %s",
                            in ? "out of" : "into", in ? row->b : row->a);
        }
    } else if (row->kind == TB_BOARD_MEMORY) {
        const bool slave = port_of(run, row->a, false) != NULL;
        if (!slave || port_of(run, row->b, true) == NULL) {
            return opt_fail(err, err_size, "description: board memory: there is no AXI %s with the name %s",
                            slave ? "master" : "slave with a shadow", slave ? row->b : row->a);
        }
    } else if (row->kind == TB_BOARD_FAIR) {
        const tb_fair_cfg cfg = {.name = row->b, .request = row->a, .grant = row->b, .limit = row->number};
        return tb_run_fair_open(run, &cfg, err, err_size) < 0 ? -1 : 0;
    }
    return 0;
}

int boards_open(const tb_tandem *b, tb_run *run, char *err, size_t err_size) {
    for (unsigned i = 0; i < b->boards; i++) {
        if (open_one(b, run, &b->board[i], err, err_size) != 0) {
            return -1;
        }
    }
    return 0;
}

void boards_finish(const tb_tandem *b, tb_run *run, const tb_pair *pair) {
    for (unsigned i = 0; i < b->boards && !tb_run_failed(run); i++) {
        const tb_board_row *row = &b->board[i];
        tb_ddr_diff d;
        if (row->kind == TB_BOARD_MEMORY && pair != NULL &&
            !tb_shadow_within(port_of(run, row->a, false)->cfg.shadow, &pair->rtl, &d)) {
            char signature[96];
            snprintf(signature, sizeof signature, "board:memory:%.40s", row->b);
            tb_run_fail(run, signature,
                        "memory behind %s, address 0x%08" PRIx64 ": got 0x%02x, expected 0x%02x, which was written to "
                        "%s; %" PRIu64 " bytes differ",
                        row->b, d.addr, d.a, d.b, row->a, d.count);
        }
    }
}

/* ---- registers ---- */

/* Read register `reg`, and hold the bits of mask against `want`. */
static bool expect(tb_run *run, const tb_board_reg *reg, tb_board_access *read, void *ctx, uint32_t mask, uint32_t want,
                   const char *when) {
    uint32_t got = 0;
    if (!read(ctx, reg->offset, false, &got)) {
        return false;
    }
    if ((got & mask) != (want & mask)) {
        char signature[64];
        snprintf(signature, sizeof signature, "reg:%.40s", reg->name);
        tb_run_fail(run, signature, "register %s %s: got 0x%x, expected 0x%x (bits 0x%x)", reg->name, when, got & mask,
                    want & mask, mask);
    }
    return !tb_run_failed(run);
}

bool tb_board_registers(const tb_tandem *b, tb_run *run, tb_rng *rng, tb_board_access *access, void *ctx) {
    for (unsigned i = 0; i < b->boards; i++) {
        const tb_board_row *row = &b->board[i];
        for (size_t k = 0; row->kind == TB_BOARD_REGISTERS && k < row->regs; k++) {
            const tb_board_reg *reg = &row->reg[k];
            if (reg->exact != 0 && !expect(run, reg, access, ctx, reg->exact, reg->reset, "after reset")) {
                return false;
            }
        }
        for (size_t k = 0; row->kind == TB_BOARD_REGISTERS && k < row->regs; k++) {
            const tb_board_reg *reg = &row->reg[k];
            uint32_t value = (uint32_t)tb_rng_u64(rng) & reg->hold, back = value;
            if (reg->hold != 0 && (!access(ctx, reg->offset, true, &back) ||
                                   !expect(run, reg, access, ctx, reg->hold, value, "after a write"))) {
                return false;
            }
        }
    }
    return true;
}
