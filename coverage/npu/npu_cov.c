/* npu_cov.c - opens all models; turns cases into samples. */
#include "models.h"
#include "npu_regs.h"

#include <stdlib.h>
#include <string.h>

#define POINTS_MAX 64u
#define MODELS_MAX 32u

const char *const npu_act_names[NPU_GEMM_ACT_TYPE_COUNT] = NPU_GEMM_ACT_TYPE_NAMES;
const char *const npu_bus_names[6] = {"ideal", "fast", "typical", "slow", "bursty", "hostile"};
const char *const npu_wait_names[2] = {"irq", "poll"};

static const cov_group *const fp_groups[NPU_FP_GROUPS] = {&npu_fp_arith_group, &npu_fp_select_group,
                                                          &npu_fp_convert_group};

struct npu_cov {
    cov_db *db;
    cov_inst *fp[NPU_FP_GROUPS];
    npu_access access;
};

int64_t npu_pieces(int64_t cap, int64_t size) {
    if (cap == COV_NONE || size <= 0) {
        return COV_NONE;
    }
    return cap == 0 ? 0 : cap >= size ? 1 : size % cap != 0 ? 4 : size / cap == 2 ? 2 : 3;
}

int64_t npu_rest(int64_t size, uint32_t n) {
    const int64_t rest = size % (int64_t)n;
    return size == COV_NONE ? COV_NONE : rest == 0 ? 0 : rest == 1 ? 1 : rest == (int64_t)n - 1 ? 3 : 2;
}

static const npu_model *model_at(uint32_t i) {
    const npu_model *const tables[] = {npu_models_gemm, npu_models_vector, npu_models_system, npu_models_graph};
    for (uint32_t t = 0; t < COV_COUNT(tables); t++) {
        for (const npu_model *m = tables[t]; m->test != NULL; m++, i--) {
            if (i == 0) {
                return m;
            }
        }
    }
    return NULL;
}

int npu_cov_open(npu_cov **out, cov_error *err) {
    const cov_group *groups[MODELS_MAX];
    uint32_t count = 0;
    npu_cov *cov = calloc(1, sizeof *cov);
    *out = NULL;
    if (cov == NULL) {
        return cov_fail(err, COV_NO_MEMORY, "out of memory");
    }
    for (; model_at(count) != NULL && count + 4 + NPU_FP_GROUPS < MODELS_MAX; count++) {
        groups[count] = model_at(count)->group;
    }
    groups[count++] = &npu_layer_group;
    groups[count++] = &npu_bus_group;
    groups[count++] = &npu_regs_group;
    groups[count++] = &npu_tasks_group;
    for (int i = 0; i < NPU_FP_GROUPS; i++) {
        groups[count++] = fp_groups[i];
    }
    int rc = cov_open(&cov->db, groups, count, err);
    for (int i = 0; rc == COV_OK && i < 2; i++) { /* without RTL the ports are holes, too */
        cov_inst *inst = NULL;
        rc = cov_instance(cov->db, npu_bus_group.name, i == 0 ? "m0" : "m1", &inst, err);
    }
    for (int i = 0; rc == COV_OK && i < NPU_FP_GROUPS; i++) {
        rc = cov_instance(cov->db, fp_groups[i]->name, NULL, &cov->fp[i], err);
    }
    if (rc != COV_OK || (rc = cov_instance(cov->db, npu_regs_group.name, NULL, &cov->access.regs, err)) != COV_OK ||
        (rc = cov_instance(cov->db, npu_tasks_group.name, NULL, &cov->access.tasks, err)) != COV_OK) {
        npu_cov_close(cov);
        return rc;
    }
    npu_access_start(&cov->access);
    *out = cov;
    return COV_OK;
}

void npu_cov_close(npu_cov *cov) {
    if (cov != NULL) {
        cov_close(cov->db);
        free(cov);
    }
}

cov_db *npu_cov_db(npu_cov *cov) {
    return cov->db;
}

/* Describes an illegal hit; returns the number of illegal hits. */
static uint32_t told(const cov_inst *inst, uint32_t illegal, char *what, size_t size) {
    if (illegal > 0) {
        cov_illegal(inst, what, size);
    }
    return illegal;
}

/* Of an ENUM knob: the index of its name among those of the coverpoint, -1: it has no such name. */
static int64_t name_of(const cov_point *point, const char *name) {
    for (uint32_t b = 0; b < point->bin_count; b++) {
        const cov_bin *bin = &point->bins[b];
        /* a name with its own bin and role */
        if (bin->kind == COV_KIND_RANGE && strcmp(bin->name, name) == 0) {
            return bin->lo;
        }
        for (uint32_t i = 0; bin->kind == COV_KIND_NAMES && i < bin->count; i++) {
            if (strcmp(bin->names[i], name) == 0) {
                return i;
            }
        }
    }
    return -1;
}

static int64_t value_of(const npu_case *c, const npu_model *m, uint32_t p) {
    const cov_point *point = &m->group->points[p];
    if (m->values[p] != NULL) {
        return m->values[p](c);
    }
    static const char *const of_bus[] = {"bus", "writes", "errors"}; /* the golden model has no bus: it ignores them */
    for (uint32_t i = 0; !c->rtl && i < COV_COUNT(of_bus); i++) {
        if (strcmp(point->name, of_bus[i]) == 0) {
            return COV_NONE;
        }
    }
    const int knob = tb_knobs_find(c->knobs, point->name);
    if (knob < 0) {
        return COV_NONE;
    }
    return tb_knob_kind_of(&c->knobs->table[knob]) == TB_KNOB_ENUM
               ? name_of(point, tb_knobs_get_name(c->knobs, point->name))
               : tb_knobs_get(c->knobs, point->name);
}

uint32_t npu_cov_case(npu_cov *cov, const char *test, uint32_t n, bool rtl, const tb_knobs *knobs, char *what,
                      size_t size) {
    const npu_case c = {n, rtl, knobs};
    int64_t values[POINTS_MAX];
    uint32_t illegal = 0;
    cov_error err;
    for (uint32_t i = 0; model_at(i) != NULL; i++) {
        const npu_model *m = model_at(i);
        cov_inst *inst = NULL;
        if (strcmp(m->test, test) != 0 || (m->only_rtl && !rtl) || m->group->point_count > POINTS_MAX ||
            cov_instance(cov->db, m->group->name, NULL, &inst, &err) != COV_OK) {
            continue;
        }
        for (uint32_t p = 0; p < m->group->point_count; p++) {
            values[p] = value_of(&c, m, p);
        }
        illegal += told(inst, cov_sample(inst, values), what, size);
    }
    return illegal;
}

uint32_t npu_cov_port(npu_cov *cov, const char *port, const tb_axi_monitor *mon, char *what, size_t size) {
    cov_inst *inst = NULL;
    cov_error err;
    return cov_instance(cov->db, npu_bus_group.name, port, &inst, &err) != COV_OK
               ? 0
               : told(inst, npu_bus_sample(inst, &mon->stats), what, size);
}

uint32_t npu_cov_fp(npu_cov *cov, int op, uint32_t a, uint32_t b, char *what, size_t size) {
    cov_inst *used = NULL;
    const uint32_t illegal = npu_fp_sample(cov->fp, op, a, b, &used);
    return told(used, illegal, what, size);
}

void npu_cov_power_up(npu_cov *cov) {
    npu_access_start(&cov->access);
}

uint32_t npu_cov_access(npu_cov *cov, bool write, uint32_t offset, uint32_t value, unsigned busy, char *what,
                        size_t size) {
    cov_inst *used = NULL;
    const uint32_t illegal = npu_access_sample(&cov->access, write, offset, value, busy, &used);
    return told(used, illegal, what, size);
}

int npu_cov_begin(npu_cov **cov, char *err, size_t err_size) {
    cov_error why;
    if (npu_cov_open(cov, &why) == COV_OK) {
        return 0;
    }
    snprintf(err, err_size, "%s", why.text);
    return -1;
}

int npu_cov_save(npu_cov *cov, const char *path, const char *job, char *err, size_t err_size) {
    return cov_write_job(npu_cov_db(cov), path, job, err, err_size);
}
