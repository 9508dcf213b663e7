/* Waits of the registers, the clocks, the ALU and the POOL (docs/npu/npu.md section 4). */
#include "hang_wait.h"

#include <inttypes.h>

#define POOL_RING 1024u /* words of a lane of pool_line */
#define POOL_SLOT 512u  /* words of the longest row */

enum { SLOT_FREE, SLOT_SNAP, SLOT_START, SLOT_CHECK, SLOT_VALID };
enum { ALU_IDLE, ALU_WALK, ALU_DRAIN, ALU_LAST };
enum { POOL_IDLE, POOL_SETUP, POOL_START, POOL_RUN, POOL_DRAIN };
enum { LD_IDLE, LD_WIN, LD_ROW, LD_JOB };
enum { SEQ_IDLE, SEQ_WIN, SEQ_TAB, SEQ_ROW, SEQ_TAP, SEQ_NEXT };
enum { OUT_IDLE, OUT_WAIT, OUT_SEND };

void npu_wait_regs(npu_wait *w) {
    hang_idles(w);
}

void npu_wait_slot(npu_wait *w) {
    static const int unit[3] = {HU_QUEUE, HU_ALU, HU_POOL};
    const int which = w->unit - HU_GEMM_SLOT;
    switch (hang_reg(w, "slot_q")) {
    case SLOT_FREE:
        hang_idles(w);
        return;
    case SLOT_VALID:
        hang_waits_for(w, unit[which], "its task is not accepted");
        return;
    case SLOT_CHECK:
        hang_stuck(w, "the check of the task does not finish");
        return;
    default:
        hang_stuck(w, "it stays in a state that takes one cycle");
        return;
    }
}

void npu_wait_clock(npu_wait *w) {
    hang_stuck(w, "the unit has work, but its clock is stopped");
}

void npu_wait_alu(npu_wait *w) {
    switch (hang_reg(w, "state_q")) {
    case ALU_IDLE:
        if (hang_reg(w, "task_valid_i") == 0) {
            hang_idles(w);
        } else {
            hang_stuck(w, "it does not begin its task");
        }
        return;
    case ALU_WALK:
        for (int c = 0; c < 2; c++) {
            if (hang_other(w, HU_WALK + c, "done_o") == 0) {
                hang_waits_for(w, HU_WALK + c, "the rest of its chunks");
            }
        }
        break;
    case ALU_DRAIN:
        for (int c = 0; c < 2; c++) {
            if (hang_other(w, HU_CHAN + c, "idle_o") == 0) {
                hang_waits_for(w, HU_CHAN + c, "the rest of its results");
            }
        }
        break;
    default:
        for (unsigned c = 0; c < 2; c++) {
            if (hang_bits(w, "wr_idle_i", c, 1) == 0) {
                hang_waits_for(w, HU_WR + (int)c, "write responses of its task");
            }
        }
        break;
    }
    if (w->waits == 0) {
        hang_stuck(w, "everything of this state is done, but it does not continue");
    }
}

void npu_wait_walk(npu_wait *w) {
    if (hang_reg(w, "done_o") != 0) {
        hang_idles(w);
    } else if (hang_offers(w, "chunk_valid_o", "chunk_ready_i")) {
        hang_waits_for(w, HU_CHAN + (int)w->ch, "a chunk is not accepted");
    } else {
        hang_stuck(w, "it has rows left, but offers no chunk");
    }
}

/* Operands, arithmetic and write jobs of the chunks in flight. */
static void chan_chunks(npu_wait *w) {
    const uint64_t flight = hang_reg(w, "flight_q");
    const uint64_t ring = hang_reg(w, "ring_count_q");
    const bool data = hang_reg(w, "slot_q") != hang_reg(w, "data_q");
    if (hang_offers(w, "wr_req_valid_o", "wr_req_ready_i")) {
        hang_waits_for(w, HU_WR + (int)w->ch, "its write job is not accepted");
    }
    if (hang_offers(w, "wr_valid_o", "wr_ready_i")) {
        hang_waits_for(w, HU_SEND + (int)w->ch, "space for a word of results");
    } else if (ring != 0) {
        hang_stuck(w, "%" PRIu64 " words of results are not sent", ring);
    } else if (flight != 0) {
        hang_waits_for(w, HU_MATH + (int)w->ch, "%" PRIu64 " words of results", flight);
    } else if (data && hang_reg(w, "rd_ready_o") == 0) {
        hang_waits_for(w, HU_MATH + (int)w->ch, "its arithmetic to accept a word");
    } else if (data && hang_reg(w, "rd_valid_i") != 0) {
        hang_stuck(w, "operands are available, but not accepted");
    } else if (data) {
        hang_waits_for(w, HU_RD + (int)w->ch, "operands of %" PRIu64 " chunks",
                       (hang_reg(w, "slot_q") - hang_reg(w, "data_q")) & 31u);
    } else if (hang_reg(w, "slot_q") != hang_reg(w, "job_q") && w->waits == 0) {
        hang_stuck(w, "every result of a chunk is available (%" PRIu64 " words), but there is no write job for them",
                   hang_reg(w, "there_q"));
    }
}

void npu_wait_chan(npu_wait *w) {
    const bool chunk = hang_reg(w, "chunk_valid_i") != 0;
    if (chunk && hang_offers(w, "rd_req_valid_o", "rd_req_ready_i")) {
        hang_waits_for(w, HU_RD + (int)w->ch, "its read request is not accepted");
    }
    chan_chunks(w);
    if (w->waits != 0 || w->stuck) {
        return;
    }
    if (!chunk) {
        hang_idles(w);
    } else if (npu_look_field(&w->h->look, npu_hang_units[HU_SEND + (int)w->ch].path, "level_q", 22, 11) != 0) {
        hang_waits_for(w, HU_SEND + (int)w->ch, "space for the results of a chunk");
    } else {
        hang_stuck(w, "a chunk is offered, but it has no space although nothing is in flight");
    }
}

void npu_wait_math(npu_wait *w) {
    if (hang_reg(w, "tree_q") != 0) {
        hang_stuck(w, "the adder tree of a reduction does not advance");
    } else if (hang_reg(w, "gap_q") != 0) {
        hang_stuck(w, "it accepts no words");
    } else {
        hang_idles(w);
    }
}

void npu_wait_pool(npu_wait *w) {
    switch (hang_reg(w, "state_q")) {
    case POOL_IDLE:
        if (hang_reg(w, "task_valid_i") == 0) {
            hang_idles(w);
        } else {
            hang_stuck(w, "it does not begin its task");
        }
        return;
    case POOL_RUN:
        for (int c = 0; c < 2; c++) {
            if (hang_other(w, HU_POOL_OUT + c, "busy_o") != 0) {
                hang_waits_for(w, HU_POOL_OUT + c, "the rest of its rows");
            }
        }
        break;
    case POOL_DRAIN:
        for (unsigned c = 0; c < 2; c++) {
            if (hang_bits(w, "wr_idle_i", c, 1) == 0) {
                hang_waits_for(w, HU_WR + (int)c, "write responses of its task");
            }
        }
        break;
    default:
        hang_stuck(w, "it stays in a state that takes one cycle");
        return;
    }
    if (w->waits == 0) {
        hang_stuck(w, "everything of this state is done, but it does not continue");
    }
}

void npu_wait_pool_ld(npu_wait *w) {
    if (hang_offers(w, "req_valid_o", "req_ready_i")) {
        hang_waits_for(w, HU_RD + (int)w->ch, "its read request is not accepted");
        return;
    }
    switch (hang_reg(w, "state_q")) {
    case LD_IDLE:
        hang_idles(w);
        return;
    case LD_ROW:
        if (hang_reg(w, "used_q") + POOL_SLOT <= POOL_RING) {
            hang_stuck(w, "the ring has space, but it requests no row");
        } else {
            hang_waits_for(w, HU_POOL_SEQ + (int)w->ch, "a row to be freed, %" PRIu64 " words are in use",
                           hang_reg(w, "used_q"));
        }
        return;
    case LD_JOB:
        if (hang_other(w, HU_POOL_LINE + (int)w->ch, "job_ready_o") == 0) {
            hang_waits_for(w, HU_POOL_LINE + (int)w->ch, "space for a read job");
        } else {
            hang_stuck(w, "it has a job, but makes no request");
        }
        return;
    default:
        hang_stuck(w, "it stays in a state that takes one cycle");
        return;
    }
}

void npu_wait_pool_line(npu_wait *w) {
    const uint64_t jobs = hang_part(w, "u_jobs", "count_q");
    if (jobs != 0) {
        hang_waits_for(w, HU_RD + (int)w->ch, "data of %" PRIu64 " jobs", jobs);
    } else if (hang_other(w, HU_POOL_LD + (int)w->ch, "state_q") != LD_IDLE) {
        hang_waits_for(w, HU_POOL_LD + (int)w->ch, "the next job");
    } else {
        hang_idles(w);
    }
}

void npu_wait_pool_seq(npu_wait *w) {
    const int ch = (int)w->ch;
    switch (hang_reg(w, "state_q")) {
    case SEQ_IDLE:
        hang_idles(w);
        return;
    case SEQ_TAB:
        if (hang_reg(w, "asked_q") == 0) {
            hang_waits_for(w, HU_POOL_LD + ch, "its request for the table to be accepted");
        } else {
            hang_waits_for(w, HU_POOL_LINE + ch, "the table");
        }
        return;
    case SEQ_ROW:
        if (hang_reg(w, "ahead_q") >= hang_reg(w, "avail_q")) {
            hang_waits_for(w, HU_POOL_LINE + ch, "an input row, %" PRIu64 " have arrived", hang_reg(w, "avail_q"));
        } else if (hang_reg(w, "halves_q") < 2) {
            hang_stuck(w, "its row has arrived, but it does not begin");
        } else if (hang_other(w, HU_POOL_OUT + ch, "full_q") != 0) {
            hang_waits_for(w, HU_POOL_OUT + ch, "a half of the output memory");
        } else if (hang_owes(w, HU_POOL_OP + ch)) {
            hang_blames(w, HU_POOL_OP + ch, "a half of the output memory: results are missing");
        } else {
            hang_stuck(w, "both halves of the output memory are empty, but it counts them as in use");
        }
        return;
    default:
        hang_stuck(w, "a row does not advance");
        return;
    }
}

void npu_wait_pool_op(npu_wait *w) {
    if (hang_reg(w, "div_left_q") != 0) {
        hang_stuck(w, "a division does not finish");
    } else if (hang_other(w, HU_POOL_SEQ + (int)w->ch, "state_q") != SEQ_IDLE) {
        hang_waits_for(w, HU_POOL_SEQ + (int)w->ch, "taps");
    } else {
        hang_idles(w);
    }
}

void npu_wait_pool_out(npu_wait *w) {
    if (hang_offers(w, "req_valid_o", "req_ready_i")) {
        hang_waits_for(w, HU_WR + (int)w->ch, "its write job is not accepted");
        return;
    }
    if (hang_offers(w, "wr_valid_o", "wr_ready_i")) {
        hang_waits_for(w, HU_SEND + (int)w->ch, "space for a word");
    } else if (hang_reg(w, "o_valid_q") != 0) {
        hang_stuck(w, "a word is not sent");
    } else if (hang_reg(w, "state_q") == OUT_WAIT && hang_reg(w, "full_q") == 0) {
        hang_waits_for(w, HU_POOL_OP + (int)w->ch, "results, %" PRIu64 " rows of the group are left",
                       hang_reg(w, "oleft_q"));
    } else if (hang_reg(w, "busy_o") == 0) {
        hang_idles(w);
    } else {
        hang_stuck(w, "results are available, but not sent");
    }
}
