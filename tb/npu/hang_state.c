/*
 * State of every unit: its state machine by name, levels, credits. tests/test_hang.py compares the names with the RTL,
 * and every register with those that scripts/gen_taps.py makes public.
 */
#include "hang_wait.h"
#include "report/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 78u /* of a line */
#define INDENT 17u

typedef struct state_row {
    int unit;
    const char *reg;    /* of its state machine, as the levels, or NULL */
    const char *states; /* their names, from 0 on */
    /* "name=register" or "name=part:register", each with [lsb+bits] for a part of a vector */
    const char *levels;
} state_row;

static const state_row state_rows[] = {
    {HU_REGS, NULL, NULL,
     "aw=u_axil:aw_have_q w=u_axil:w_have_q b=bvalid_o ar=u_axil:ar_have_q r=rvalid_o "
     "reset=srst_q"},
    {HU_GEMM_SLOT, "slot_q", "Free Snap Start Check Valid", ""},
    {HU_ALU_SLOT, "slot_q", "Free Snap Start Check Valid", ""},
    {HU_POOL_SLOT, "slot_q", "Free Snap Start Check Valid", ""},
    {HU_CREDIT, NULL, NULL, "room0=room0_q room1=room1_q"},
    {HU_QUEUE, NULL, NULL,
     "tail=wptr_q ifm_ld=ptr_o[0+3] wgt_ld0=ptr_o[3+3] wgt_ld1=ptr_o[6+3] par_ld=ptr_o[9+3] im2col=ptr_o[12+3] "
     "post=ptr_o[15+3]"},
    {HU_IFM_LD, "state_q", "Idle Prep Space Run",
     "pixel=pix_q of=npix_q words=used_q jobs=flight_q done0=done0_q done1=done1_q tasks=u_track:count_q "
     "chunks=head_done_q"},
    {HU_LAYOUT, NULL, NULL,
     "jobs=u_queue:count_q request=rq_busy_q held=held_q full=full_q fill=fill_bank_q drain=drain_bank_q out=out_v_q"},
    {HU_WGT_LD, "state_q", "Idle Prep Check Load Done",
     "full=full_o held=held_q blocks=blocks_o block=blk_q beats=flight_q more=rq_more_q"},
    {HU_PAR_LD, "state_q", "Idle Space Load", "words=used_q requests=req_q scales=left0_q biases=left1_q"},
    {HU_IM2COL, "state_q", "Idle PrepA PrepB PrepDiv PrepC PrepD Run Finish",
     "block=u_tiles:blk_q pixel=u_tiles:tl_pix_q of=u_prep:npix_q need=u_tiles:tl_need_q there=pix_ready_i "
     "known=u_tiles:tl_known_q done=u_tiles:tl_done_q weights=u_wgt:w_valid_q rows=u_act:a_valid_q"},
    {HU_ACC, NULL, NULL, "slot=slot_q"},
    {HU_POST, "u_groups:state_q", "Idle Prep Group Job Send NextJob Tiles Next Wait",
     "tiles=u_groups:avail_q group=free_tiles_o block=u_groups:blk_q pixel=u_groups:pix_q of=u_groups:npix_q "
     "channel=u_groups:chan_q sent=u_groups:sent_q jobs=u_stream.u_jobs:count_q flight=u_stream:in_flight_q "
     "tile=u_tiles:tile_q slots=u_tiles:slots_q"},
    {HU_REQUANT, NULL, NULL,
     "passes=used_q jobs=u_blk_job:count_q data=u_blk_data:count_q last=u_blk_last:count_q row=ch_q pixel=i_q"},
    {HU_TRANSPOSE, NULL, NULL, "row=cnt_q full=full_q flush=flush_q out=out_valid_o"},
    {HU_SEND, NULL, NULL, "gemm=level_q[0+11] pool=level_q[11+11] alu=level_q[22+11]"},
    {HU_RD, NULL, NULL,
     "jobs=u_split.u_job:count_q bursts=u_split:flight_q ar=u_split:ax_valid_q info=u_info:count_q "
     "beats=u_skid:count_q data=dat_valid_q "
     "id=dat_id_q drop=drop_q"},
    {HU_WR, NULL, NULL,
     "jobs=u_split.u_job:count_q bursts=u_split:flight_q aw=u_split:ax_valid_q info=u_info:count_q beats=u_out:count_q "
     "idle=idle_req_o "
     "drop=drop_q"},
    {HU_ALU, "state_q", "Idle Walk Drain Last", ""},
    {HU_WALK, NULL, NULL, "load=load_q busy=busy_q mine=mine_q left=left_q rows=rows_q planes=planes_q"},
    {HU_CHAN, NULL, NULL,
     "slot=slot_q data=data_q job=job_q owed=owed_q src=src_used_q word=word_q flight=flight_q ring=ring_count_q "
     "there=there_q"},
    {HU_MATH, NULL, NULL, "tree=tree_q step=step_q gap=gap_q"},
    {HU_POOL, "state_q", "Idle Setup Start Run Drain", ""},
    {HU_POOL_LD, "state_q", "Idle Win Row Job", "words=used_q rows=oleft_q y=y_q end=end_q job=sub_q"},
    {HU_POOL_LINE, NULL, NULL, "jobs=u_jobs:count_q words=words_q"},
    {HU_POOL_SEQ, "state_q", "Idle Win Tab Row Tap Next",
     "rows=oleft_q y=y_q end=end_q ahead=ahead_q there=avail_q halves=halves_q asked=asked_q"},
    {HU_POOL_OP, NULL, NULL, "division=div_left_q"},
    {HU_POOL_OUT, "state_q", "Idle Wait Send",
     "rows=oleft_q halves=full_q job=sub_q left=left_q word=o_valid_q jobs=u_jobs:count_q"},
};

/* The n-th word of a list, into dst. */
static bool word_of(const char *list, uint64_t n, char *dst, size_t size) {
    const char *p = list;
    for (; n > 0 && p != NULL; n--) {
        p = strchr(p, ' ');
        p = p != NULL ? p + 1 : NULL;
    }
    if (p == NULL || *p == '\0') {
        return false;
    }
    snprintf(dst, size, "%.*s", (int)strcspn(p, " "), p);
    return true;
}

/* Value of "register", "part:register", with [lsb+bits] behind it for a part of a vector. */
static uint64_t level_of(npu_hang *h, const char *path, const char *what) {
    char name[64];
    unsigned lsb = 0;
    unsigned bits = 64;
    const char *bracket = strchr(what, '[');
    if (bracket != NULL && sscanf(bracket, "[%u+%u]", &lsb, &bits) != 2) {
        return 0;
    }
    snprintf(name, sizeof name, "%.*s", (int)strcspn(what, "["), what);
    return npu_look_field(&h->look, path, name, lsb, bits);
}

/* Levels as text, those that are not 0. */
static void levels(npu_hang *h, const state_row *row, const char *path, char *dst, size_t size) {
    char one[128];
    size_t at = 0;
    dst[0] = '\0';
    for (uint64_t i = 0; word_of(row->levels, i, one, sizeof one); i++) {
        char *equals = strchr(one, '=');
        *equals = '\0';
        const uint64_t value = level_of(h, path, equals + 1);
        if (value != 0) {
            const int n = snprintf(dst + at, size - at, "%s%s %" PRIu64, at > 0 ? ", " : "", one, value);
            at += n > 0 && (size_t)n < size - at ? (size_t)n : 0;
        }
    }
}

/* "  label  state     levels", broken between levels. */
static void print_row(FILE *out, const char *label, const char *state, const char *text) {
    size_t at = (size_t)fprintf(out, "  %-14s %s%s", label, state, state[0] != '\0' && text[0] != '\0' ? ", " : "");
    for (const char *p = text; *p != '\0';) {
        const size_t length = strcspn(p, ",") + (p[strcspn(p, ",")] == ',' ? 1 : 0);
        if (at + length > WIDTH) {
            at = (size_t)fprintf(out, "\n%*s", (int)INDENT, "") - 1;
        }
        at += (size_t)fprintf(out, "%s%.*s", p > text && p[-1] == ' ' && at > INDENT - 1 ? " " : "", (int)length, p);
        p += length;
        p += *p == ' ' ? 1 : 0;
    }
    fputs("\n", out);
}

static void one_unit(npu_hang *h, const state_row *row, int unit, FILE *out, FILE *idle) {
    const npu_hang_unit *u = &npu_hang_units[unit];
    char state[24] = "";
    char text[400];
    uint64_t value = 0;
    if (!npu_look_unit(&h->look, u->path)) {
        return; /* not part of this build */
    }
    if (row->reg != NULL) {
        value = npu_look_get(&h->look, u->path, row->reg);
        if (!word_of(row->states, value, state, sizeof state)) {
            snprintf(state, sizeof state, "state %" PRIu64 "?", value);
        }
    }
    levels(h, row, u->path, text, sizeof text);
    if (row->reg != NULL ? value == 0 : text[0] == '\0') {
        fprintf(idle, "%s%s", u->label, ", ");
    } else {
        print_row(out, u->label, state, text);
    }
}

void npu_hang_states(npu_hang *h, FILE *out) {
    char *names = NULL;
    size_t size = 0;
    FILE *idle = rep_memory(&names, &size);
    if (idle == NULL) {
        return;
    }
    fputs("units (levels that are 0 are left out):\n", out);
    for (size_t i = 0; i < sizeof state_rows / sizeof state_rows[0]; i++) {
        const char *label = npu_hang_units[state_rows[i].unit].label;
        const bool two = strlen(label) > 2 && strcmp(label + strlen(label) - 2, " 0") == 0;
        one_unit(h, &state_rows[i], state_rows[i].unit, out, idle);
        if (two) {
            one_unit(h, &state_rows[i], state_rows[i].unit + 1, out, idle);
        }
    }
    if (fclose(idle) == 0 && size >= 2) {
        names[size - 2] = '\0';
        print_row(out, "idle", "", names);
    }
    free(names);
}
