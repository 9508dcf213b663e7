/* Waits of the write-back of the GEMM and of the two DMA channels (docs/npu/npu.md section 4). */
#include "hang_wait.h"

#include <inttypes.h>

#define OFM_WORDS 256u
#define CLIENTS 3u /* of a write channel: GEMM, POOL, ALU */

enum { POST_IDLE, POST_PREP, POST_GROUP, POST_JOB, POST_SEND, POST_NEXT_JOB, POST_TILES, POST_NEXT, POST_WAIT };
enum { WAITS_ROOM = 2, WAITS_PSUM = 4 }; /* event_o */

/* States of a stream of FP32 words, or of the walk over the tiles. */
static void post_stream(npu_wait *w) {
    const uint64_t event = hang_reg(w, "event_o");
    const bool tiles = hang_reg(w, "u_groups:state_q") == POST_TILES;
    if (hang_offers(w, "psum_req_valid_o", "psum_req_ready_i")) {
        hang_waits_for(w, HU_RD + (int)w->ch, "its request for partial sums is not accepted");
    }
    if ((event & WAITS_PSUM) != 0) {
        hang_waits_for(w, HU_RD + (int)w->ch, "partial sums");
    }
    if ((event & WAITS_ROOM) != 0 && tiles) {
        hang_waits_for(w, HU_REQUANT + (int)w->ch, "space in its gather buffer or for a block");
    } else if ((event & WAITS_ROOM) != 0) {
        hang_waits_for(w, HU_SEND + (int)w->ch, "space for results");
    }
    if (w->waits == 0) {
        hang_stuck(w, "sums and buffer space are available, but it sends nothing");
    }
}

static void post_tiles(npu_wait *w) {
    static const char *const room[2] = {"room0_q", "room1_q"};
    const uint64_t all = 4 * OFM_WORDS / w->h->dev->cfg.n;
    const uint64_t avail = hang_reg(w, "u_groups:avail_q");
    const uint64_t group = hang_reg(w, "free_tiles_o");
    if (avail >= group) {
        hang_stuck(w, "its group of %" PRIu64 " tiles is complete, but it does not begin", group);
    } else if (hang_other(w, HU_IM2COL, "u_wgt:w_valid_q") == 0 && hang_other(w, HU_IM2COL, "u_act:a_valid_q") == 0 &&
               all - hang_other(w, HU_CREDIT, room[w->ch]) > avail) {
        hang_waits_for(w, HU_CREDIT, "%" PRIu64 " of %" PRIu64 " tiles are there", avail, group);
    } else {
        hang_waits_for(w, HU_IM2COL, "%" PRIu64 " of %" PRIu64 " tiles are there", avail, group);
    }
}

static void post_send(npu_wait *w) {
    if (hang_offers(w, "wr_req_valid_o", "wr_req_ready_i")) {
        hang_waits_for(w, HU_WR + (int)w->ch, "its write job is not accepted");
    }
    if (hang_offers(w, "psum_req_valid_o", "psum_req_ready_i")) {
        hang_waits_for(w, HU_RD + (int)w->ch, "its request for partial sums is not accepted");
    }
    if (w->waits == 0) {
        if (hang_part(w, "u_stream.u_jobs", "count_q") == 4) {
            post_stream(w);
        } else {
            hang_stuck(w, "its requests are accepted, but it does not continue");
        }
    }
}

void npu_wait_post(npu_wait *w) {
    const uint64_t state = hang_reg(w, "u_groups:state_q");
    switch (state) {
    case POST_IDLE:
        if (hang_reg(w, "task_valid_i") == 0) {
            hang_idles(w);
        } else if (hang_reg(w, "par_ready_i") == 0) {
            hang_waits_for(w, HU_PAR_LD, "factors of the task");
        } else {
            hang_stuck(w, "it does not begin its task");
        }
        return;
    case POST_GROUP:
        post_tiles(w);
        return;
    case POST_SEND:
        post_send(w);
        return;
    case POST_NEXT_JOB:
        if (hang_part(w, "u_stream.u_jobs", "count_q") != 0) {
            post_stream(w);
        } else {
            hang_stuck(w, "its jobs are done, but it does not continue");
        }
        return;
    case POST_TILES:
        if (hang_reg(w, "u_tiles:tile_q") == hang_reg(w, "free_tiles_o")) {
            hang_stuck(w, "the group is done, but it does not continue");
        } else {
            post_stream(w);
        }
        return;
    case POST_WAIT:
        if (hang_reg(w, "task_wait_o") == 0) {
            hang_waits_for(w, HU_REQUANT + (int)w->ch, "blocks that have not been sent");
        } else {
            hang_idles(w);
        }
        return;
    default:
        hang_stuck(w, "it stays in a state that takes one cycle");
        return;
    }
}

void npu_wait_requant(npu_wait *w) {
    const uint64_t blocks = hang_part(w, "u_blk_data", "count_q");
    if (hang_offers(w, "wr_req_valid_o", "wr_req_ready_i")) {
        hang_waits_for(w, HU_WR + (int)w->ch, "its write job is not accepted");
    }
    if (hang_offers(w, "wr_valid_o", "wr_ready_i")) {
        hang_waits_for(w, HU_SEND + (int)w->ch, "a beat is not accepted");
        return;
    }
    if (hang_other(w, HU_TRANSPOSE + (int)w->ch, "out_valid_o") != 0) {
        hang_stuck(w, "pixels of the transposer are not accepted");
    } else if (hang_other(w, HU_TRANSPOSE + (int)w->ch, "flush_q") != 0 ||
               (hang_other(w, HU_TRANSPOSE + (int)w->ch, "in_valid_i") != 0 &&
                hang_other(w, HU_TRANSPOSE + (int)w->ch, "in_ready_o") == 0)) {
        hang_waits_for(w, HU_TRANSPOSE + (int)w->ch, "the block inside");
    } else if (hang_other(w, HU_TRANSPOSE + (int)w->ch, "in_valid_i") != 0) {
        hang_stuck(w, "rows are complete and the transposer is ready");
    } else if (hang_reg(w, "used_q") != 0) {
        hang_stuck(w, "complete rows do not enter the transposer");
    } else if (hang_other(w, HU_POST + (int)w->ch, "u_groups:state_q") == POST_WAIT && blocks != 0) {
        if (hang_part(w, "u_blk_last", "count_q") != 0) {
            hang_stuck(w, "every row of the task has arrived, but a block is not complete");
        } else {
            hang_waits_for(w, HU_TRANSPOSE + (int)w->ch, "the last block");
        }
    } else if (blocks != 0) {
        hang_waits_for(w, HU_POST + (int)w->ch, "rows (a block is output while the next one enters)");
    } else if (w->waits == 0) {
        hang_idles(w);
    }
}

void npu_wait_transpose(npu_wait *w) {
    hang_stuck(w, hang_reg(w, "flush_q") != 0 ? "the last block is not pushed out"
                                              : "it accepts no row, and waits for no unit");
}

/* Unit that produces the words of a client. */
static int maker(npu_wait *w, unsigned client) {
    if (client == 0) {
        const bool wide = npu_look_get(&w->h->look, "u_units.u_gemm.u_mac.u_ofm_buf", "wide_i") != 0;
        return (wide ? HU_REQUANT : HU_POST) + (int)w->ch;
    }
    return (client == 1 ? HU_POOL_OUT : HU_CHAN) + (int)w->ch;
}

void npu_wait_send(npu_wait *w) {
    uint64_t words = 0;
    for (unsigned i = 0; i < CLIENTS; i++) {
        const uint64_t level = hang_bits(w, "level_q", 11 * i, 11);
        words += level;
        if (level != 0 && hang_bits(w, "ready_q", 3 * i, 3) == 0) {
            hang_stuck(w, "%" PRIu64 " words of client %u are stored, but none is offered", level, i);
        }
    }
    if ((hang_reg(w, "wvalid_i") & hang_reg(w, "wready_o")) != 0) {
        hang_stuck(w, "a word was accepted, but is offered again");
    } else if (words == 0 && hang_reg(w, "wvalid_i") != 0) {
        hang_stuck(w, "it is empty, but accepts no word");
    } else if (words != 0) {
        hang_waits_for(w, HU_WR + (int)w->ch, "%" PRIu64 " words to be accepted", words);
    } else {
        hang_idles(w);
    }
}

/* The bus. True: a response or a handshake is missing. */
static bool bus_missing(npu_wait *w, const tb_axi_channel *axi, size_t count) {
    static const char *const what[TB_AXI_CHANNELS] = {[TB_AXI_AW] = "an address to be accepted",
                                                      [TB_AXI_W] = "data to be accepted",
                                                      [TB_AXI_B] = "a response",
                                                      [TB_AXI_AR] = "an address to be accepted",
                                                      [TB_AXI_R] = "data"};
    char text[160];
    for (size_t i = 0; i < count; i++) {
        if (tb_run_owes(&w->h->dev->run, PORT_M0 + w->ch, axi[i], text, sizeof text)) {
            hang_waits_for(w, HU_MEMORY + (int)(w->ch * TB_AXI_CHANNELS + (unsigned)axi[i]), "%s", what[axi[i]]);
        }
    }
    return w->waits > 0;
}

void npu_wait_rd(npu_wait *w) {
    static const int gemm[4] = {HU_PAR_LD, HU_POST, HU_WGT_LD, HU_LAYOUT};
    static const tb_axi_channel axi[] = {TB_AXI_R, TB_AXI_AR};
    const uint64_t flight = hang_part(w, "u_split", "flight_q");
    if (hang_reg(w, "dat_valid_q") != 0) {
        const uint64_t id = hang_reg(w, "dat_id_q");
        const int ch = (int)w->ch;
        const int to = id == 0 ? HU_PAR_LD : id < 4 ? gemm[id] + ch : (id == 4 ? HU_CHAN : HU_POOL_LINE) + ch;
        if (hang_reg(w, "dat_ready_i") == 0) {
            hang_waits_for(w, to, "its data are not accepted, and block all data behind them");
        } else {
            hang_stuck(w, "data were accepted, but are offered again");
        }
    } else if (hang_part(w, "u_skid", "count_q") != 0 || hang_reg(w, "tail_q") != 0) {
        hang_stuck(w, "beats have arrived from the bus, but it does not output them");
    } else if (flight != 0) {
        if (!bus_missing(w, axi, 2)) {
            hang_stuck(w, "it counts %" PRIu64 " bursts in flight, the bus has none", flight);
        }
    } else if (hang_part(w, "u_info", "count_q") != 0) {
        hang_stuck(w, "nothing is in flight, but it waits for %" PRIu64 " bursts", hang_part(w, "u_info", "count_q"));
    } else if (hang_part(w, "u_split.u_job", "count_q") != 0 || hang_reg(w, "req_valid_i") != 0) {
        hang_stuck(w, "it has work, but nothing is in flight");
    } else {
        hang_idles(w);
    }
}

/* A burst still needs data, and there is space for a beat. */
static void wr_data(npu_wait *w) {
    const uint64_t ready = hang_reg(w, "wdat_ready_o");
    for (unsigned i = 0; i < CLIENTS; i++) {
        if ((ready >> i & 1u) == 0) {
            continue;
        }
        if (hang_bits(w, "wdat_valid_i", i, 1) != 0) {
            hang_stuck(w, "it does not forward data that it has");
        } else if (npu_look_field(&w->h->look, npu_hang_units[HU_SEND + (int)w->ch].path, "level_q", 11 * i, 11) != 0) {
            hang_waits_for(w, HU_SEND + (int)w->ch, "data of its job");
        } else {
            hang_waits_for(w, maker(w, i), "data of its job, which blocks all jobs behind it");
        }
        return;
    }
    hang_stuck(w, "a burst still needs data, but it accepts none");
}

void npu_wait_wr(npu_wait *w) {
    static const tb_axi_channel axi[] = {TB_AXI_AW, TB_AXI_W, TB_AXI_B};
    const uint64_t flight = hang_part(w, "u_split", "flight_q");
    if (bus_missing(w, axi, 3)) {
        return;
    }
    if (hang_part(w, "u_info", "count_q") != 0) {
        if (hang_part(w, "u_out", "count_q") == 2) {
            hang_stuck(w, "beats are ready, but not on the bus");
        } else {
            wr_data(w);
        }
    } else if (hang_part(w, "u_out", "count_q") != 0) {
        hang_stuck(w, "beats are ready, but not on the bus");
    } else if (flight != 0) {
        hang_stuck(w, "it counts %" PRIu64 " bursts in flight, the bus has none", flight);
    } else if (hang_part(w, "u_split.u_job", "count_q") != 0 || hang_reg(w, "req_valid_i") != 0) {
        hang_stuck(w, "it has work, but nothing is in flight");
    } else if (hang_reg(w, "idle_req_o") != 7) {
        hang_stuck(w, "nothing is in flight, but idle_req_o is 0x%" PRIx64, hang_reg(w, "idle_req_o"));
    } else {
        hang_idles(w);
    }
}

void npu_wait_memory(npu_wait *w) {
    const unsigned at = (unsigned)(w->unit - HU_MEMORY);
    char text[160];
    tb_run_owes(&w->h->dev->run, PORT_M0 + at / TB_AXI_CHANNELS, (tb_axi_channel)(at % TB_AXI_CHANNELS), text,
                sizeof text);
    hang_stuck(w, "%s", text);
}
