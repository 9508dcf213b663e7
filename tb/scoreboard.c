#include "scoreboard.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tb_sb_init(tb_scoreboard *sb, const tb_sb_cfg *cfg) {
    memset(sb, 0, sizeof *sb);
    sb->cfg = *cfg;
    if (cfg->elem_bytes == 0 || cfg->elem_bytes > TB_SB_ELEM_MAX) {
        return -1;
    }
    sb->cap = 1024;
    sb->ring = (uint8_t *)malloc(sb->cap * cfg->elem_bytes);
    sb->mark = (uint8_t *)calloc(sb->cap, 1);
    if (sb->ring == NULL || sb->mark == NULL) {
        tb_sb_free(sb);
        return -1;
    }
    return 0;
}

void tb_sb_free(tb_scoreboard *sb) {
    free(sb->ring);
    free(sb->mark);
    sb->ring = NULL;
    sb->mark = NULL;
}

static int grow(tb_scoreboard *sb, size_t need) {
    size_t cap = sb->cap;
    while (cap < need) {
        cap *= 2;
    }
    const size_t e = sb->cfg.elem_bytes;
    uint8_t *ring = (uint8_t *)malloc(cap * e);
    uint8_t *mark = (uint8_t *)calloc(cap, 1);
    if (ring == NULL || mark == NULL) {
        free(ring);
        free(mark);
        sb->oom = true;
        return -1;
    }
    for (size_t i = 0; i < sb->count; i++) {
        const size_t from = (sb->head + i) & (sb->cap - 1);
        memcpy(ring + i * e, sb->ring + from * e, e);
        mark[i] = sb->mark[from];
    }
    free(sb->ring);
    free(sb->mark);
    sb->ring = ring;
    sb->mark = mark;
    sb->cap = cap;
    sb->head = 0;
    return 0;
}

void tb_sb_begin(tb_scoreboard *sb) {
    sb->started = true;
}

int tb_sb_push(tb_scoreboard *sb, const void *expected, size_t count) {
    if (sb->count + count > sb->cap && grow(sb, sb->count + count) != 0) {
        return -1;
    }
    const uint8_t *src = (const uint8_t *)expected;
    const size_t e = sb->cfg.elem_bytes;
    for (size_t i = 0; i < count; i++) {
        const size_t at = (sb->head + sb->count) & (sb->cap - 1);
        memcpy(sb->ring + at * e, src + i * e, e);
        /* the very first element opens transaction 0, marked or not */
        sb->mark[at] = (uint8_t)(sb->started && sb->pushed > 0);
        sb->started = false;
        sb->count++;
        sb->pushed++;
    }
    return 0;
}

static void note(tb_scoreboard *sb, uint64_t cycle, const uint8_t *got, const uint8_t *expected) {
    if (sb->mismatches < TB_SB_KEEP) {
        tb_sb_mismatch *m = &sb->first[sb->mismatches];
        memset(m, 0, sizeof *m);
        m->transaction = sb->transaction;
        m->element = sb->element;
        m->cycle = cycle;
        memcpy(m->got, got, sb->cfg.elem_bytes);
        if (expected != NULL) {
            memcpy(m->expected, expected, sb->cfg.elem_bytes);
        }
        m->unexpected = expected == NULL;
    }
    sb->mismatches++;
}

bool tb_sb_pop(tb_scoreboard *sb, uint64_t cycle, const void *actual, size_t count) {
    const uint8_t *got = (const uint8_t *)actual;
    const size_t e = sb->cfg.elem_bytes;
    const uint64_t before = sb->mismatches;
    for (size_t i = 0; i < count; i++, got += e) {
        if (sb->count == 0) {
            note(sb, cycle, got, NULL);
            sb->element++;
            continue;
        }
        if (sb->mark[sb->head] != 0) {
            sb->transaction++;
            sb->element = 0;
        }
        const uint8_t *exp = sb->ring + sb->head * e;
        if (memcmp(exp, got, e) != 0) {
            note(sb, cycle, got, exp);
        }
        sb->head = (sb->head + 1) & (sb->cap - 1);
        sb->count--;
        sb->element++;
        sb->popped++;
    }
    return sb->mismatches == before;
}

bool tb_sb_done(const tb_scoreboard *sb) {
    return sb->mismatches == 0 && sb->count == 0 && !sb->oom;
}

/* An element as text: a number up to 8 bytes, else hexadecimal, highest byte first. */
static void elem_text(const tb_scoreboard *sb, const uint8_t *p, char *dst, size_t size) {
    const size_t e = sb->cfg.elem_bytes;
    if (sb->cfg.is_signed && (e == 1 || e == 2 || e == 4)) {
        int32_t v = 0;
        memcpy(&v, p, e);
        const unsigned shift = (unsigned)(32 - 8 * e);
        v = (int32_t)((uint32_t)v << shift) >> shift;
        snprintf(dst, size, "%" PRId32, v);
        return;
    }
    size_t at = (size_t)snprintf(dst, size, "0x");
    for (size_t i = e; i > 0 && at + 3 <= size; i--) {
        at += (size_t)snprintf(dst + at, size - at, "%02x", p[i - 1]);
    }
}

/* "row 3, column 5" of an element's number, or "element 29". */
static void place_text(const tb_scoreboard *sb, uint64_t element, char *dst, size_t size) {
    unsigned dims = 0;
    while (dims < TB_SB_DIMS && sb->cfg.dim_name[dims] != NULL) {
        dims++;
    }
    uint64_t at[TB_SB_DIMS] = {0};
    for (unsigned d = dims; d > 0; d--) {
        const uint32_t n = sb->cfg.dim[d - 1];
        at[d - 1] = n != 0 && d > 1 ? element % n : element;
        element = n != 0 ? element / n : 0;
    }
    if (dims == 0) {
        snprintf(dst, size, "element %" PRIu64, element);
        return;
    }
    size_t pos = 0;
    for (unsigned d = 0; d < dims && pos < size; d++) {
        const int n = snprintf(dst + pos, size - pos, "%s%s %" PRIu64, d == 0 ? "" : ", ", sb->cfg.dim_name[d], at[d]);
        pos += n > 0 ? (size_t)n : 0;
    }
}

void tb_sb_report(const tb_scoreboard *sb, char *dst, size_t size) {
    if (sb->mismatches > 0) {
        const tb_sb_mismatch *m = &sb->first[0];
        char got[2 * TB_SB_ELEM_MAX + 4];
        char exp[2 * TB_SB_ELEM_MAX + 4];
        char where[160];
        elem_text(sb, m->got, got, sizeof got);
        elem_text(sb, m->expected, exp, sizeof exp);
        place_text(sb, m->element, where, sizeof where);
        snprintf(dst, size, "%s: transaction %" PRIu64 ", %s, cycle %" PRIu64 ": got %s, expected %s", sb->cfg.unit,
                 m->transaction, where, m->cycle, got, m->unexpected ? "nothing" : exp);
    } else if (sb->oom) {
        snprintf(dst, size, "%s: scoreboard out of memory", sb->cfg.unit);
    } else if (sb->count > 0) {
        snprintf(dst, size, "%s: %zu expected elements are missing", sb->cfg.unit, sb->count);
    } else {
        snprintf(dst, size, "%s: ok", sb->cfg.unit);
    }
}
