#include "store.h"
#include "hash.h"
#include "opt/opt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int tb_case_to_kv(const char *test, const char *cfg, uint64_t seed, const tb_knobs *knobs, tb_kv *kv) {
    if (tb_kv_set(kv, "test", test) != 0 || tb_kv_set(kv, "cfg", cfg) != 0 || tb_kv_set_hex(kv, "seed", seed) != 0) {
        return -1;
    }
    return tb_knobs_to_kv(knobs, kv);
}

int tb_case_save(const char *path, const char *test, const char *cfg, uint64_t seed, const tb_knobs *knobs, char *err,
                 size_t err_size) {
    tb_kv kv;
    tb_kv_init(&kv);
    int rc = tb_case_to_kv(test, cfg, seed, knobs, &kv);
    if (rc != 0) {
        snprintf(err, err_size, "%s: out of memory", path);
    } else {
        rc = tb_kv_save(&kv, path, err, err_size);
    }
    tb_kv_free(&kv);
    return rc;
}

int tb_make_folder(const char *dir, char *err, size_t err_size) {
    char path[1024];
    struct stat st;
    if (strlen(dir) >= sizeof path) {
        return opt_fail(err, err_size, "%.80s...: longer than %zu characters", dir, sizeof path - 1);
    }
    for (size_t i = 1; i <= strlen(dir); i++) {
        if (dir[i] != '/' && dir[i] != '\0') {
            continue;
        }
        memcpy(path, dir, i);
        path[i] = '\0';
        int why = mkdir(path, 0777) == 0 ? 0 : errno;
        if (why == EEXIST && stat(path, &st) == 0) {
            why = S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
        }
        if (why != 0) {
            return opt_fail(err, err_size, "%s: cannot make the folder: %s", path, strerror(why));
        }
    }
    return 0;
}

/* 0: the seed alone gave the knobs. */
static uint32_t hash_pinned(const tb_knobs *knobs) {
    uint64_t hash = TB_HASH_INIT;
    bool any = false;
    for (size_t i = 0; i < knobs->count; i++) {
        any = any || knobs->pinned[i];
        hash = tb_hash_u64(hash, knobs->pinned[i] ? (uint64_t)knobs->value[i] : UINT64_MAX);
    }
    return any ? (uint32_t)tb_hash_final(hash) | 1u : 0;
}

int tb_case_store(const char *dir, const char *test, const char *cfg, uint64_t seed, const tb_knobs *knobs, char *path,
                  size_t path_size, char *err, size_t err_size) {
    int rc = tb_make_folder(dir, err, err_size);
    if (rc == 0) {
        char pins[16] = "";
        const uint32_t hash = hash_pinned(knobs);
        if (hash != 0) {
            snprintf(pins, sizeof pins, "-%08" PRIx32, hash);
        }
        const int length = snprintf(path, path_size, "%s/%s-%s-%016" PRIx64 "%s.case", dir, test, cfg, seed, pins);
        if (length < 0 || (size_t)length >= path_size) {
            snprintf(err, err_size, "%.80s...: path too long", dir);
            rc = -1;
        } else {
            rc = tb_case_save(path, test, cfg, seed, knobs, err, err_size);
        }
    }
    if (rc != 0) {
        path[0] = '\0';
    }
    return rc;
}

int tb_case_head(const tb_kv *kv, const char *path, const char *cfg, const char **test, uint64_t *seed, char *err,
                 size_t err_size) {
    const char *built = NULL;
    if (tb_kv_get_str(kv, "test", test, err, err_size) != 0 || tb_kv_get_str(kv, "cfg", &built, err, err_size) != 0 ||
        tb_kv_get_u64(kv, "seed", 0, UINT64_MAX, seed, err, err_size) != 0) {
        return -1;
    }
    if (strcmp(built, cfg) != 0) {
        return opt_fail(err, err_size, "%s: cfg=%.20s, but this program is built for %s: use the one in build/%.20s-*",
                        path, built, cfg, built);
    }
    return 0;
}

int tb_case_knobs(const tb_kv *kv, const char *path, tb_knobs *knobs, char *err, size_t err_size) {
    char text[512];
    for (size_t i = 0; i < kv->count; i++) {
        const char *key = kv->entry[i].key;
        if (strcmp(key, "test") != 0 && strcmp(key, "cfg") != 0 && strcmp(key, "seed") != 0 &&
            tb_knobs_find(knobs, key) < 0) {
            return opt_fail(err, err_size, "%s:%u: unknown key %.60s", path, kv->entry[i].line, key);
        }
    }
    if (tb_knobs_from_kv(knobs, kv, text, sizeof text) != 0) {
        return opt_fail(err, err_size, "%s: %s", path, text);
    }
    return 0;
}
