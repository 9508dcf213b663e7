/* npu_task.c - the fields of npu_pkg::gemm_task_t, alu_task_t and pool_task_t, lowest first. */
#include "npu_task.h"

#define FIELDS_MAX 48u

typedef struct field {
    const char *name;
    uint32_t bits;
    uint64_t value;
} field;

/* A task as a list of fields. */
typedef struct fields {
    field f[FIELDS_MAX];
    size_t count;
} fields;

static fields make_list(const field *f, size_t count) {
    fields list = {.count = count};
    for (size_t i = 0; i < count && i < FIELDS_MAX; i++) {
        list.f[i] = f[i];
    }
    return list;
}

static fields list_gemm(const cm_gemm_task *t) {
    const field all[] = {{"act_p3", 32, t->act_p[3]},
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
    return make_list(all, sizeof all / sizeof all[0]);
}

static fields list_alu(const cm_alu_task *t) {
    const field all[] = {{"act_p3", 32, t->act_p[3]},
                         {"act_p2", 32, t->act_p[2]},
                         {"act_p1", 32, t->act_p[1]},
                         {"act_p0", 32, t->act_p[0]},
                         {"q_addr", 32, t->q_addr},
                         {"p_addr", 32, t->p_addr},
                         {"q", 32, t->q},
                         {"p", 32, t->p},
                         {"o_pstep", 32, t->o_pstep},
                         {"o_rstep", 32, t->o_rstep},
                         {"o_addr", 32, t->o_addr},
                         {"b_pstep", 32, t->b_pstep},
                         {"b_rstep", 32, t->b_rstep},
                         {"b_addr", 32, t->b_addr},
                         {"a_pstep", 32, t->a_pstep},
                         {"a_rstep", 32, t->a_rstep},
                         {"a_addr", 32, t->a_addr},
                         {"planes", 16, t->planes},
                         {"rows", 16, t->rows},
                         {"count", 24, t->count},
                         {"act", 4, t->act},
                         {"dup", 1, t->dup},
                         {"q_kind", 2, t->q_kind},
                         {"p_kind", 2, t->p_kind},
                         {"op", 5, t->op}};
    return make_list(all, sizeof all / sizeof all[0]);
}

static fields list_pool(const cm_pool_task *t) {
    const field all[] = {{"tab_addr", 32, t->tab_addr},
                         {"recip", 32, t->recip},
                         {"ofm_rstep", 32, t->ofm_rstep},
                         {"ofm_cstep", 32, t->ofm_cstep},
                         {"ofm_addr", 32, t->ofm_addr},
                         {"ifm_rstep", 32, t->ifm_rstep},
                         {"ifm_cstep", 32, t->ifm_cstep},
                         {"ifm_addr", 32, t->ifm_addr},
                         {"c", 16, t->c},
                         {"oh", 16, t->oh},
                         {"ow", 16, t->ow},
                         {"ih", 16, t->ih},
                         {"iw", 16, t->iw},
                         {"pad_t", 8, t->pad_t},
                         {"pad_l", 8, t->pad_l},
                         {"sh", 8, t->sh},
                         {"sw", 8, t->sw},
                         {"kh", 8, t->kh},
                         {"kw", 8, t->kw},
                         {"exclude", 1, t->exclude},
                         {"int8", 1, t->int8},
                         {"avg", 1, t->avg}};
    return make_list(all, sizeof all / sizeof all[0]);
}

static void set_list(tb_sig port, const fields *list) {
    uint32_t lsb = 0;
    for (size_t i = 0; i < list->count; i++) {
        tb_set_field(port, lsb, list->f[i].bits, list->f[i].value);
        lsb += list->f[i].bits;
    }
}

void npu_task_set(tb_sig port, const cm_gemm_task *task) {
    const fields list = list_gemm(task);
    set_list(port, &list);
}

void npu_alu_task_set(tb_sig port, const cm_alu_task *task) {
    const fields list = list_alu(task);
    set_list(port, &list);
}

void npu_pool_task_set(tb_sig port, const cm_pool_task *task) {
    const fields list = list_pool(task);
    set_list(port, &list);
}
