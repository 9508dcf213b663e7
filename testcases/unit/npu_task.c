/* npu_task.c - the fields of npu_pkg::gemm_task_t, lowest first. */
#include "npu_task.h"

#include <stdio.h>

#define FIELDS 41u

typedef struct field {
    const char *name;
    uint32_t bits;
    uint64_t value;
} field;

static void list_fields(const cm_gemm_task *t, field *f) {
    const field all[FIELDS] = {{"act_p3", 32, t->act_p[3]},
                               {"act_p2", 32, t->act_p[2]},
                               {"act_p1", 32, t->act_p[1]},
                               {"act_p0", 32, t->act_p[0]},
                               {"out_scale", 32, t->out_scale},
                               {"in_scale", 32, t->in_scale},
                               {"psum_cstep", 32, t->psum_cstep},
                               {"psum_addr", 32, t->psum_addr},
                               {"ofm_cstep", 32, t->ofm_cstep},
                               {"ofm_addr", 32, t->ofm_addr},
                               {"bias_addr", 32, t->bias_addr},
                               {"oscale_addr", 32, t->oscale_addr},
                               {"wgt_addr", 32, t->wgt_addr},
                               {"ifm_cstep", 32, t->ifm_cstep},
                               {"ifm_addr", 32, t->ifm_addr},
                               {"group", 8, t->group},
                               {"oc", 16, t->oc},
                               {"oh", 16, t->oh},
                               {"ow", 16, t->ow},
                               {"ic", 16, t->ic},
                               {"ih", 16, t->ih},
                               {"iw", 16, t->iw},
                               {"pad_t", 8, t->pad_t},
                               {"pad_l", 8, t->pad_l},
                               {"dh", 8, t->dh},
                               {"dw", 8, t->dw},
                               {"sh", 8, t->sh},
                               {"sw", 8, t->sw},
                               {"kh", 8, t->kh},
                               {"kw", 8, t->kw},
                               {"act", 4, t->act},
                               {"wgt_keep", 1, t->wgt_keep},
                               {"wgt_res", 1, t->wgt_res},
                               {"requant", 1, t->requant},
                               {"nhwc_in", 1, t->nhwc_in},
                               {"psum_add", 1, t->psum_add},
                               {"raw_out", 1, t->raw_out},
                               {"oscale_en", 1, t->oscale_en},
                               {"bias_en", 1, t->bias_en},
                               {"fence", 1, t->fence},
                               {"op", 2, t->op}};
    for (size_t i = 0; i < FIELDS; i++) {
        f[i] = all[i];
    }
}

void npu_task_set(tb_sig port, const cm_gemm_task *task) {
    field f[FIELDS];
    uint32_t lsb = 0;
    list_fields(task, f);
    for (size_t i = 0; i < FIELDS; i++) {
        tb_set_field(port, lsb, f[i].bits, f[i].value);
        lsb += f[i].bits;
    }
}

void npu_task_expect(unit *u, tb_sig port, const cm_gemm_task *task) {
    field f[FIELDS];
    uint32_t lsb = 0;
    list_fields(task, f);
    for (size_t i = 0; i < FIELDS; i++) {
        char name[32];
        snprintf(name, sizeof name, "task.%s", f[i].name);
        unit_expect_value(u, name, tb_get_field(port, lsb, f[i].bits), f[i].value);
        lsb += f[i].bits;
    }
    unit_expect_value(u, "bits of a task", lsb, port.width);
}
