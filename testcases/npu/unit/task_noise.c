/* task_noise.c - random tasks without meaning. */
#include "task_noise.h"

static bool any_bit(tb_rng *rng) {
    return tb_rng_chance(rng, 1, 2);
}

void task_noise_fields(tb_rng *rng, cm_gemm_task *task) {
    uint32_t *const bytes[] = {&task->kw,    &task->kh,    &task->sw,    &task->sh,  &task->dw,  &task->dh,
                               &task->pad_l, &task->pad_t, &task->group, &task->zin, &task->zout};
    uint32_t *const halves[] = {&task->iw, &task->ih, &task->ic, &task->ow, &task->oh, &task->oc};
    uint32_t *const words[] = {&task->ifm_addr,  &task->ifm_cstep,  &task->wgt_addr,  &task->oscale_addr,
                               &task->bias_addr, &task->ofm_addr,   &task->ofm_cstep, &task->psum_addr,
                               &task->in_scale,  &task->psum_cstep, &task->out_scale, &task->act_p[0],
                               &task->act_p[1],  &task->act_p[2],   &task->act_p[3]};
    bool *const bits[] = {&task->fence,   &task->bias_en, &task->oscale_en, &task->raw_out, &task->psum_add,
                          &task->nhwc_in, &task->requant, &task->ibias,     &task->rne,     &task->full};
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        *bytes[i] = tb_rng_u32(rng) >> 24;
    }
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
        *halves[i] = tb_rng_u32(rng) >> 16;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        *words[i] = tb_rng_u32(rng);
    }
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
        *bits[i] = any_bit(rng);
    }
    task->act = (uint32_t)tb_rng_range(rng, 0, CM_ACT_COUNT - 1);
}

void task_noise_port(tb_rng *rng, tb_sig port) {
    for (uint32_t lsb = 0; lsb < port.width; lsb += 32) {
        const uint32_t bits = port.width - lsb < 32 ? port.width - lsb : 32;
        tb_set_field(port, lsb, bits, tb_rng_u32(rng));
    }
}
