/* task.c - packed tasks, lowest field first. */
#include "task.h"

typedef struct reader {
    const uint32_t *word;
    uint32_t at; /* bit */
} reader;

static uint32_t take(reader *r, uint32_t bits) {
    const uint32_t shift = r->at % 32;
    uint64_t v = r->word[r->at / 32];
    if (shift + bits > 32) {
        v |= (uint64_t)r->word[r->at / 32 + 1] << 32;
    }
    r->at += bits;
    return (uint32_t)(v >> shift) & (uint32_t)((UINT64_C(1) << bits) - 1);
}

static void read_numbers(reader *r, cm_gemm_task *t) {
    for (uint32_t i = 4; i > 0; i--) {
        t->act_p[i - 1] = take(r, 32);
    }
    uint32_t *const words[] = {&t->out_scale, &t->in_scale,    &t->psum_cstep, &t->psum_addr, &t->ofm_cstep, &t->ofm_addr,
                               &t->bias_addr, &t->oscale_addr, &t->wgt_addr,   &t->ifm_cstep, &t->ifm_addr};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        *words[i] = take(r, 32);
    }
    t->group = take(r, 8);
    uint32_t *const halves[] = {&t->oc, &t->oh, &t->ow, &t->ic, &t->ih, &t->iw};
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
        *halves[i] = take(r, 16);
    }
    uint32_t *const bytes[] = {&t->pad_t, &t->pad_l, &t->dh, &t->dw, &t->sh, &t->sw, &t->kh, &t->kw};
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        *bytes[i] = take(r, 8);
    }
    t->act = take(r, 4);
}

void npu_score_gemm_task(tb_sig port, cm_gemm_task *t) {
    reader r = {.word = (const uint32_t *)port.ptr, .at = 0};
    read_numbers(&r, t);
    bool *const flags[] = {&t->wgt_keep, &t->wgt_res,   &t->requant, &t->nhwc_in, &t->psum_add,
                           &t->raw_out,  &t->oscale_en, &t->bias_en, &t->fence};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        *flags[i] = take(&r, 1) != 0;
    }
    t->op = take(&r, 2);
}
