/* Waits of the units of the GEMM, from the input to the mesh (docs/npu/npu.md section 4). */
#include "hang_wait.h"
#include "num.h"

#include <inttypes.h>

#define IFM_WORDS 16384u /* of ifm_buf */
#define OFM_WORDS 256u   /* of a bank of ofm_buf */

enum { IFM_IDLE, IFM_PREP, IFM_SPACE, IFM_RUN };
enum { WGT_IDLE, WGT_PREP, WGT_CHECK, WGT_LOAD, WGT_DONE };
enum { PAR_IDLE, PAR_SPACE, PAR_LOAD };
enum { IM_IDLE, IM_RUN = 6, IM_FINISH = 7 };
enum { ENGINE_IM2COL = 4, ENGINE_POST = 5 }; /* pointers into the queue */

static uint64_t task_ptr(npu_wait *w, unsigned engine) {
    return npu_look_field(&w->h->look, npu_hang_units[HU_QUEUE].path, "ptr_o", 3 * engine, 3);
}

void npu_wait_gemm(npu_wait *w) {
    bool written = true;
    if (hang_other(w, HU_QUEUE, "busy_o") == 0) {
        hang_idles(w);
        return;
    }
    for (unsigned c = 0; c < 2; c++) {
        if (hang_other(w, HU_POST + (int)c, "task_wait_o") == 0) {
            hang_waits_for(w, HU_POST + (int)c, "results of the oldest task");
            written = false;
        }
    }
    for (unsigned c = 0; c < 2 && written; c++) {
        if (hang_bits(w, "wr_idle_i", c, 1) == 0) {
            hang_waits_for(w, HU_WR + (int)c, "write responses of the oldest task");
            return;
        }
    }
    if (written && task_ptr(w, ENGINE_IM2COL) == task_ptr(w, ENGINE_POST)) {
        hang_waits_for(w, HU_IM2COL, "the end of the oldest task");
    } else if (written) {
        hang_stuck(w, "everything of the oldest task is done, but it does not end");
    }
}

void npu_wait_queue(npu_wait *w) {
    if (hang_reg(w, "task_valid_i") == 0) {
        hang_idles(w);
    } else if (hang_reg(w, "busy_o") != 0) {
        hang_waits_for(w, HU_GEMM, "the end of a task (the queue is full, or a fence)");
    } else {
        hang_stuck(w, "it is empty, but accepts no task");
    }
}

/* Tiles that im2col has begun and post has not released: by the credit counter, and by the counters of post. */
void npu_wait_credit(npu_wait *w) {
    for (unsigned c = 0; c < 2; c++) {
        const uint64_t all = 4 * OFM_WORDS / w->h->dev->cfg.n;
        const uint64_t room = hang_other(w, HU_CREDIT, c == 0 ? "room0_q" : "room1_q");
        const uint64_t avail = hang_other(w, HU_POST + (int)c, "u_groups:avail_q");
        if (hang_other(w, HU_CREDIT, "tile_cnt_q") != 0) {
            hang_waits_for(w, HU_ACC, "the rest of a tile");
            return;
        }
        if (all - room != avail) {
            hang_stuck(w, "space for %" PRIu64 " of %" PRIu64 " tiles, but post %u holds %" PRIu64, room, all, c,
                       avail);
            return;
        }
    }
    hang_idles(w);
}

void npu_wait_port(npu_wait *w) {
    hang_stuck(w, "words of the layout units are not accepted");
}

/* Jobs that are in the layout units. */
static void ifm_arrivals(npu_wait *w) {
    if (hang_reg(w, "flight_q") == 0) {
        return;
    }
    for (int u = 0; u < 2; u++) {
        hang_waits_for(w, HU_LAYOUT + u, "%" PRIu64 " jobs on the way", hang_reg(w, "flight_q"));
    }
}

void npu_wait_ifm_ld(npu_wait *w) {
    const uint64_t state = hang_reg(w, "state_q");
    const uint64_t tasks = hang_part(w, "u_track", "count_q");
    const uint64_t left = hang_reg(w, "npix_q") - hang_reg(w, "pix_q");
    const uint64_t n = w->h->dev->cfg.n;
    const uint64_t chunk = left <= 64 ? hang_reg(w, "last_words_q") : 64 * (tb_div_up_u64(hang_reg(w, "task_ic_i"), n));
    const uint64_t jobs = hang_reg(w, "job_valid_o");
    ifm_arrivals(w);
    switch (state) {
    case IFM_IDLE:
        if (hang_reg(w, "task_valid_i") != 0) {
            hang_stuck(w, "it does not begin its task");
        }
        break;
    case IFM_PREP:
        if (tasks < 4) {
            hang_stuck(w, "it does not begin its task");
        }
        break;
    case IFM_SPACE:
        if (hang_reg(w, "used_q") + chunk <= IFM_WORDS) {
            hang_stuck(w, "ifm_buf has space for its %" PRIu64 " words (%" PRIu64 " in use)", chunk,
                       hang_reg(w, "used_q"));
        } else {
            hang_waits_for(w, HU_IM2COL, "space in ifm_buf: %" PRIu64 " words, %" PRIu64 " of %u in use", chunk,
                           hang_reg(w, "used_q"), IFM_WORDS);
        }
        break;
    default:
        if ((hang_reg(w, "job_ready_i") & jobs) != 0) {
            hang_stuck(w, "its job is accepted, but it does not continue");
        } else {
            hang_waits_for(w, HU_LAYOUT + (jobs == 2 ? 1 : 0), "its job is not accepted");
        }
        break;
    }
    if (w->waits == 0 && !w->stuck) {
        if (tasks > 0) {
            hang_stuck(w, "every job is done, but a task is not complete");
        } else {
            hang_idles(w);
        }
    }
}

void npu_wait_layout(npu_wait *w) {
    const uint64_t held = hang_reg(w, "held_q");
    const uint64_t full = hang_reg(w, "full_q");
    const uint64_t fill = hang_reg(w, "fill_bank_q");
    const uint64_t jobs = hang_part(w, "u_queue", "count_q");
    if (hang_offers(w, "req_valid_o", "req_ready_i")) {
        hang_waits_for(w, HU_RD + (int)w->ch, "its read request is not accepted");
    }
    if (hang_offers(w, "wr_valid_o", "wr_ready_i")) {
        hang_waits_for(w, HU_PORT, "a word for ifm_buf is not accepted");
        return;
    }
    if (full != 0) {
        hang_stuck(w, "full banks (mask %" PRIx64 ") are not output", full);
    } else if (held != 0 && (jobs == 0 || (held >> fill & 1u) != 0)) {
        hang_stuck(w, "banks (mask %" PRIx64 ") have their data, but do not become full", held);
    } else if (jobs != 0 && hang_offers(w, "dat_valid_i", "dat_ready_o")) {
        hang_stuck(w, "its data are not accepted");
    } else if (jobs != 0) {
        hang_waits_for(w, HU_RD + (int)w->ch, "data of %" PRIu64 " jobs", jobs);
    } else if (w->waits == 0) {
        hang_idles(w);
    }
}

void npu_wait_wgt_ld(npu_wait *w) {
    const bool used = hang_reg(w, "full_o") != 0 || hang_reg(w, "held_q") != 0;
    switch (hang_reg(w, "state_q")) {
    case WGT_IDLE:
        if (hang_reg(w, "task_valid_i") == 0) {
            hang_idles(w);
        } else if (hang_reg(w, "task_wgt_res_i") != 0 && hang_reg(w, "task_wgt_keep_i") != 0 && used) {
            hang_waits_for(w, HU_IM2COL, "the task before to release the bank");
        } else {
            hang_stuck(w, "it does not begin its task");
        }
        return;
    case WGT_CHECK:
        if (used) {
            hang_waits_for(w, HU_IM2COL, "its bank to be released");
        } else {
            hang_stuck(w, "its bank is free, but it does not load");
        }
        return;
    case WGT_LOAD:
        if (hang_offers(w, "req_valid_o", "req_ready_i")) {
            hang_waits_for(w, HU_RD + (int)w->ch, "its read request is not accepted");
        } else if (hang_offers(w, "dat_valid_i", "dat_ready_o")) {
            hang_stuck(w, "its data are not accepted");
        } else if (hang_reg(w, "flight_q") != 0) {
            hang_waits_for(w, HU_RD + (int)w->ch, "%" PRIu64 " beats of weights", hang_reg(w, "flight_q"));
        } else {
            hang_stuck(w, "a block is not complete, but it requests nothing");
        }
        return;
    default:
        hang_stuck(w, "it stays in a state that takes one cycle");
        return;
    }
}

void npu_wait_par_ld(npu_wait *w) {
    switch (hang_reg(w, "state_q")) {
    case PAR_IDLE:
        if (hang_reg(w, "task_valid_i") == 0) {
            hang_idles(w);
        } else {
            hang_stuck(w, "it does not begin its task");
        }
        return;
    case PAR_SPACE:
        if (hang_reg(w, "used_q") == 0) {
            hang_stuck(w, "par_buf is empty, but it does not load");
        } else {
            hang_waits_for(w, HU_GEMM, "space in par_buf: the end of a task");
        }
        return;
    default:
        break;
    }
    const uint64_t req = hang_reg(w, "req_valid_o") & ~hang_reg(w, "req_ready_i");
    for (unsigned c = 0; c < 2; c++) {
        const uint64_t left = hang_reg(w, c == 0 ? "left0_q" : "left1_q");
        if ((req >> c & 1u) != 0) {
            hang_waits_for(w, HU_RD + (int)c, "its read request is not accepted");
        } else if (left != 0) {
            hang_waits_for(w, HU_RD + (int)c, "%" PRIu64 " beats of %s", left, c == 0 ? "output scales" : "biases");
        }
    }
    if (w->waits == 0) {
        hang_stuck(w, "everything has arrived, but the task does not end");
    }
}

/* Why the next tile does not begin. */
static void im2col_tile(npu_wait *w) {
    static const char *const room[2] = {"room0_q", "room1_q"};
    bool none = false;
    for (unsigned c = 0; c < 2; c++) {
        if (hang_other(w, HU_CREDIT, room[c]) == 0) {
            none = true;
            if (hang_other(w, HU_POST + (int)c, "u_groups:avail_q") == 0) {
                hang_waits_for(w, HU_CREDIT, "space in ofm_buf");
            } else {
                hang_waits_for(w, HU_POST + (int)c, "space in ofm_buf (credit)");
            }
        }
    }
    if (none) {
        return;
    }
    if (hang_reg(w, "u_tiles:tl_known_q") == 0) {
        const uint64_t need = hang_reg(w, "u_tiles:tl_need_q");
        const uint64_t there = hang_reg(w, "pix_ready_i");
        if (hang_reg(w, "ifm_all_i") == 0 && need > there) {
            hang_waits_for(w, HU_IFM_LD, "input rows: %" PRIu64 " of %" PRIu64 " pixels are there", there, need);
        } else {
            hang_stuck(w, "its input rows have arrived, but it does not begin");
        }
    } else if (hang_reg(w, "wait_wgt_o") != 0) {
        const uint64_t blk = hang_reg(w, "u_tiles:blk_q");
        const bool res = hang_reg(w, "task_wgt_res_i") != 0;
        hang_waits_for(w, HU_WGT_LD + (int)(res ? blk & 1u : hang_reg(w, "u_wgt:pp_q")), "weights of block %" PRIu64,
                       blk);
    } else {
        hang_stuck(w, "input, weights and space are available, but no tile begins");
    }
}

void npu_wait_im2col(npu_wait *w) {
    const uint64_t state = hang_reg(w, "state_q");
    if (hang_reg(w, "u_wgt:w_valid_q") != 0 || hang_reg(w, "u_act:a_valid_q") != 0) {
        hang_stuck(w, "it stops in the middle of a tile");
    } else if (state == IM_IDLE && hang_reg(w, "task_valid_i") == 0) {
        hang_idles(w);
    } else if (state < IM_RUN) {
        hang_stuck(w, "it does not begin its task");
    } else if (state == IM_FINISH && hang_reg(w, "ifm_all_i") == 0) {
        hang_waits_for(w, HU_IFM_LD, "the rest of the task's input");
    } else if (state == IM_FINISH || hang_reg(w, "u_tiles:tl_done_q") != 0) {
        hang_stuck(w, "every tile is done, but the task does not end");
    } else {
        im2col_tile(w);
    }
}

void npu_wait_acc(npu_wait *w) {
    hang_stuck(w, "a tile went into the mesh, but only a part of it came out");
}
