/* sample.c - databases and their instances: what testbenches call. */
#include "priv.h"

#include <stdlib.h>
#include <string.h>

#define HISTORY COV_STEPS_MAX

/* A cross of an instance: of each coverpoint the distance between its bins in cells. */
typedef struct cross_map {
    uint32_t points[COV_CROSS_MAX];
    uint32_t stride[COV_CROSS_MAX];
    uint32_t point_count;
} cross_map;

typedef struct type {
    const cov_group *text;
    cov_lookup *lookups;
    cross_map *crosses;
    uint32_t group; /* of data, where instances share it */
} type;

struct cov_inst {
    cov_inst *next;
    cov_db *db;
    const type *type;
    const char *name;
    uint32_t group;
    uint32_t *which;              /* of each coverpoint: its index in crosses in this sample, or UINT32_MAX */
    uint16_t (*history)[HISTORY]; /* bin + 1, the newest first */
    /* the last illegal hit: a coverpoint or a cross, and its bin or cell */
    bool illegal, illegal_cross;
    uint32_t illegal_at, illegal_bin;
};

struct cov_db {
    cov_data data;
    type *types;
    uint32_t type_count;
    cov_inst *instances;
    cov_data notes; /* memory of instances and lookups */
};

static int map_crosses(cov_db *db, type *t, const cov_data_group *group, cov_error *err) {
    t->crosses = cov_alloc(&db->notes, group->cross_count, sizeof *t->crosses);
    if (t->crosses == NULL) {
        return cov_no_memory(err);
    }
    for (uint32_t c = 0; c < group->cross_count; c++) {
        const cov_data_cross *cross = &group->crosses[c];
        uint32_t stride = 1;
        t->crosses[c].point_count = cross->point_count;
        for (uint32_t p = cross->point_count; p-- > 0;) {
            t->crosses[c].points[p] = cross->points[p];
            t->crosses[c].stride[p] = stride;
            stride *= cross->dim[p];
        }
    }
    return COV_OK;
}

static int open_type(cov_db *db, type *t, const cov_group *text, cov_error *err) {
    if (text->name == NULL || !cov_is_word(text->name)) {
        return cov_fail(err, COV_BAD_MODEL, "group %u needs a name of letters, digits, _ and -", db->type_count + 1);
    }
    for (uint32_t i = 0; i < db->type_count; i++) {
        if (strcmp(db->types[i].text->name, text->name) == 0) {
            return cov_fail(err, COV_BAD_MODEL, "two groups have the name %s", text->name);
        }
    }
    t->text = text;
    t->group = db->data.group_count;
    cov_data_group *group = &db->data.groups[t->group];
    group->name = cov_text(&db->data, text->name, strlen(text->name));
    group->rank = db->type_count;
    t->lookups = cov_alloc(&db->notes, text->point_count, sizeof *t->lookups);
    if (group->name == NULL || t->lookups == NULL) {
        return cov_no_memory(err);
    }
    int rc = cov_describe(&db->data, group, text, t->lookups, err);
    rc = rc == COV_OK ? map_crosses(db, t, group, err) : rc;
    db->data.group_count++;
    db->type_count++;
    return rc;
}

int cov_open(cov_db **out, const cov_group *const *groups, uint32_t count, cov_error *err) {
    cov_db *db = calloc(1, sizeof *db);
    *out = NULL;
    if (db == NULL) {
        return cov_no_memory(err);
    }
    cov_data_init(&db->data);
    cov_data_init(&db->notes);
    db->data.files = 1;
    db->data.groups = cov_alloc(&db->data, count, sizeof *db->data.groups);
    db->types = cov_alloc(&db->notes, count, sizeof *db->types);
    int rc = db->data.groups == NULL || db->types == NULL ? cov_no_memory(err) : COV_OK;
    for (uint32_t g = 0; rc == COV_OK && g < count; g++) {
        rc = open_type(db, &db->types[g], groups[g], err);
    }
    rc = rc == COV_OK ? cov_place(&db->data, err) : rc;
    if (rc != COV_OK) {
        cov_close(db);
        return rc == COV_BAD_FILE ? COV_BAD_MODEL : rc;
    }
    *out = db;
    return COV_OK;
}

void cov_close(cov_db *db) {
    if (db != NULL) {
        cov_data_free(&db->data);
        cov_data_free(&db->notes);
        free(db);
    }
}

cov_data *cov_db_data(cov_db *db) {
    return &db->data;
}

/* Counters of its own: the group once more, under the name of the instance. The first instance takes the place of the
 * group. */
static int own_group(cov_db *db, cov_inst *inst, bool first, cov_error *err) {
    cov_data *data = &db->data;
    const size_t size = strlen(inst->type->text->name) + strlen(inst->name) + 2;
    char *name = cov_alloc(data, size, 1);
    if (name == NULL) {
        return cov_no_memory(err);
    }
    (void)snprintf(name, size, "%s@%s", inst->type->text->name, inst->name);
    free(data->shape);
    data->shape = NULL;
    inst->group = inst->type->group;
    if (first) {
        data->groups[inst->group].name = name;
        return COV_OK;
    }
    cov_data_group *more = cov_alloc(data, (size_t)data->group_count + 1, sizeof *more);
    uint64_t *counts = NULL;
    const cov_data_group *old = &data->groups[inst->type->group];
    if (more == NULL) {
        return cov_no_memory(err);
    }
    memcpy(more, data->groups, data->group_count * sizeof *more);
    cov_data_group *group = &more[data->group_count];
    *group = *old;
    group->name = name;
    group->samples = 0;
    group->points = cov_alloc(data, old->point_count, sizeof *group->points);
    group->crosses = cov_alloc(data, old->cross_count, sizeof *group->crosses);
    if (group->points == NULL || group->crosses == NULL) {
        return cov_no_memory(err);
    }
    uint64_t total = data->count_count;
    for (uint32_t p = 0; p < old->point_count; p++) {
        group->points[p] = old->points[p];
        group->points[p].first = (uint32_t)total;
        total += old->points[p].bin_count;
    }
    for (uint32_t c = 0; c < old->cross_count; c++) {
        group->crosses[c] = old->crosses[c];
        group->crosses[c].first = (uint32_t)total;
        total += old->crosses[c].cell_count;
    }
    if (total > COV_COUNTS_MAX) {
        return cov_fail(err, COV_BAD_MODEL, "more than %u bins and cells", COV_COUNTS_MAX);
    }
    counts = realloc(data->counts, (size_t)total * sizeof *counts);
    if (counts == NULL) {
        return cov_no_memory(err);
    }
    memset(counts + data->count_count, 0, (size_t)(total - data->count_count) * sizeof *counts);
    data->counts = counts;
    data->count_count = (uint32_t)total;
    data->groups = more;
    inst->group = data->group_count++;
    return COV_OK;
}

int cov_instance(cov_db *db, const char *group, const char *name, cov_inst **out, cov_error *err) {
    const type *t = NULL;
    bool first = true;
    *out = NULL;
    name = name == NULL ? "0" : name;
    for (uint32_t i = 0; i < db->type_count; i++) {
        t = strcmp(db->types[i].text->name, group) == 0 ? &db->types[i] : t;
    }
    if (t == NULL || !cov_is_word(name)) {
        return cov_fail(err, COV_BAD_MODEL, "%s: %s", t == NULL ? group : name,
                        t == NULL ? "no such covergroup" : "no name of an instance");
    }
    for (cov_inst *i = db->instances; i != NULL; i = i->next) {
        if (i->type == t) {
            first = false;
            if (strcmp(i->name, name) == 0) {
                *out = i;
                return COV_OK;
            }
        }
    }
    cov_inst *inst = cov_alloc(&db->notes, 1, sizeof *inst);
    if (inst == NULL) {
        return cov_no_memory(err);
    }
    inst->db = db;
    inst->type = t;
    inst->group = t->group;
    inst->name = cov_text(&db->notes, name, strlen(name));
    inst->which = cov_alloc(&db->notes, t->text->point_count, sizeof *inst->which);
    inst->history = cov_alloc(&db->notes, t->text->point_count, sizeof *inst->history);
    if (inst->name == NULL || inst->which == NULL || inst->history == NULL) {
        return cov_no_memory(err);
    }
    const int rc = t->text->per_instance ? own_group(db, inst, first, err) : COV_OK;
    if (rc == COV_OK) {
        inst->next = db->instances;
        db->instances = inst;
        *out = inst;
    }
    return rc;
}

static inline void bump(uint64_t *count) {
    *count += *count != UINT64_MAX;
}

static uint32_t note(cov_inst *inst, bool cross, uint32_t at, uint32_t bin) {
    inst->illegal = true;
    inst->illegal_cross = cross;
    inst->illegal_at = at;
    inst->illegal_bin = bin;
    return 1;
}

/* Transitions that end in the newest bin of the history. */
static uint32_t step(cov_inst *inst, const cov_lookup *look, const cov_data_point *point, uint32_t p, uint32_t found) {
    uint16_t *history = inst->history[p];
    uint32_t illegal = 0;
    memmove(history + 1, history, (HISTORY - 1) * sizeof *history);
    history[0] = (uint16_t)found;
    if (found == 0) {
        return 0;
    }
    for (uint32_t s = look->seq_from[found - 1]; s < look->seq_from[found]; s++) {
        const cov_seq *seq = &look->seqs[s];
        uint32_t i = 1;
        while (i < seq->count && seq->step[i] == history[i]) {
            i++;
        }
        if (i == seq->count) {
            bump(&inst->db->data.counts[point->first + seq->bin]);
            illegal += point->bins[seq->bin].role == COV_ILLEGAL ? note(inst, false, p, seq->bin) : 0;
        }
    }
    return illegal;
}

static inline uint32_t hit(cov_inst *inst, const cov_data_group *group, uint32_t p, int64_t value) {
    const cov_lookup *look = &inst->type->lookups[p];
    const cov_data_point *point = &group->points[p];
    const uint64_t near = (uint64_t)value - (uint64_t)look->base;
    const uint32_t found = near < look->width ? look->dense[near] : cov_find_slow(look, value);
    uint32_t illegal = 0;
    inst->which[p] = UINT32_MAX;
    if (found != 0) {
        bump(&inst->db->data.counts[point->first + found - 1]);
        inst->which[p] = look->crossed[found - 1];
        illegal = point->bins[found - 1].role == COV_ILLEGAL ? note(inst, false, p, found - 1) : 0;
    }
    return look->seq_count == 0 ? illegal : illegal + step(inst, look, point, p, found);
}

uint32_t cov_hit(cov_inst *inst, uint32_t point, int64_t value) {
    const cov_data_group *group = &inst->db->data.groups[inst->group];
    return value == COV_NONE || point >= group->point_count ? 0 : hit(inst, group, point, value);
}

uint32_t cov_sample(cov_inst *inst, const int64_t *values) {
    cov_data_group *group = &inst->db->data.groups[inst->group];
    uint32_t illegal = 0;
    for (uint32_t p = 0; p < group->point_count; p++) {
        if (values[p] == COV_NONE) {
            inst->which[p] = UINT32_MAX;
        } else {
            illegal += hit(inst, group, p, values[p]);
        }
    }
    for (uint32_t c = 0; c < group->cross_count; c++) {
        const cov_data_cross *cross = &group->crosses[c];
        const cross_map *map = &inst->type->crosses[c];
        uint32_t cell = 0;
        bool whole = true;
        for (uint32_t p = 0; p < map->point_count; p++) {
            const uint32_t which = inst->which[map->points[p]];
            whole = whole && which != UINT32_MAX;
            cell += which * map->stride[p];
        }
        if (whole) {
            bump(&inst->db->data.counts[cross->first + cell]);
            const uint8_t rule = cross->cells[cell];
            illegal += rule != 0 && cross->rules[rule - 1].role == COV_ILLEGAL ? note(inst, true, c, cell) : 0;
        }
    }
    bump(&group->samples);
    return illegal;
}

void cov_restart(cov_inst *inst) {
    memset(inst->history, 0, inst->type->text->point_count * sizeof *inst->history);
}

void cov_illegal(const cov_inst *inst, char *dst, size_t size) {
    const cov_data_group *group = &inst->db->data.groups[inst->group];
    char cell[300];
    dst[0] = '\0';
    if (inst->illegal && inst->illegal_cross) {
        const cov_data_cross *cross = &group->crosses[inst->illegal_at];
        const cov_data_rule *rule = NULL;
        cov_cell_name(group, cross, inst->illegal_bin, cell, sizeof cell);
        (void)cov_cell_role(cross, inst->illegal_bin, &rule);
        (void)snprintf(dst, size, "%s.%s.(%s): %s", group->name, cross->name, cell, rule == NULL ? "" : rule->why);
    } else if (inst->illegal) {
        const cov_data_point *point = &group->points[inst->illegal_at];
        const cov_data_bin *bin = &point->bins[inst->illegal_bin];
        (void)snprintf(dst, size, "%s.%s.%s: %s", group->name, point->name, bin->name,
                       bin->why[0] != '\0' ? bin->why : "illegal");
    }
}

int cov_set_job(cov_db *db, const char *job, cov_error *err) {
    if (!cov_is_line(job, 200)) {
        return cov_fail(err, COV_BAD_MODEL, "a job is one line of at most 200 bytes");
    }
    char *copy = cov_text(&db->data, job, strlen(job));
    if (copy == NULL) {
        return cov_no_memory(err);
    }
    db->data.job = copy;
    return COV_OK;
}

int cov_open_group(const cov_group *group, cov_db **db, cov_inst **inst, char *err, size_t err_size) {
    cov_error why;
    int rc = cov_open(db, &group, 1, &why);
    if (rc == COV_OK) {
        rc = cov_instance(*db, group->name, NULL, inst, &why);
    }
    if (rc != COV_OK) {
        cov_close(*db);
        *db = NULL;
        (void)snprintf(err, err_size, "%s", why.text);
    }
    return rc == COV_OK ? 0 : -1;
}

int cov_write_job(cov_db *db, const char *path, const char *job, char *err, size_t err_size) {
    cov_error why;
    int rc = cov_set_job(db, job, &why);
    if (rc == COV_OK) {
        rc = cov_write(cov_db_data(db), path, &why);
    }
    if (rc != COV_OK) {
        (void)snprintf(err, err_size, "%s", why.text);
    }
    return rc == COV_OK ? 0 : -1;
}
