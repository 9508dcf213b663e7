/* case_file.c - cases as files. */
#include "cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int cli_case_to_kv(const tc_test *test, uint64_t seed, const tb_knobs *knobs, tb_kv *kv) {
    if (tb_kv_set(kv, "test", test->name) != 0 || tb_kv_set(kv, "cfg", NPU_CFG_NAME) != 0 || tb_kv_set_hex(kv, "seed", seed) != 0) {
        return -1;
    }
    return tb_knobs_to_kv(knobs, kv);
}

static int from_kv(const tb_kv *kv, const char *path, const tc_test **test, uint64_t *seed, tb_knobs *knobs, char *err, size_t err_size) {
    const char *name = NULL;
    const char *cfg = NULL;
    if (tb_kv_get_str(kv, "test", &name, err, err_size) != 0 || tb_kv_get_str(kv, "cfg", &cfg, err, err_size) != 0 ||
        tb_kv_get_u64(kv, "seed", 0, UINT64_MAX, seed, err, err_size) != 0) {
        return -1;
    }
    *test = tc_test_find(name);
    if (*test == NULL) {
        snprintf(err, err_size, "%s: unknown test %.60s (`list` shows them)", path, name);
        return -1;
    }
    if (strcmp(cfg, NPU_CFG_NAME) != 0) {
        snprintf(err, err_size, "%s: cfg=%.20s, but this program is built for %s: use the one in build/%.20s-*", path, cfg, NPU_CFG_NAME,
                 cfg);
        return -1;
    }
    tb_knobs_init(knobs, (*test)->knobs, (*test)->knob_count);
    for (size_t i = 0; i < kv->count; i++) {
        const char *key = kv->entry[i].key;
        if (strcmp(key, "test") != 0 && strcmp(key, "cfg") != 0 && strcmp(key, "seed") != 0 && tb_knobs_find(knobs, key) < 0) {
            snprintf(err, err_size, "%s:%u: unknown key %.60s", path, kv->entry[i].line, key);
            return -1;
        }
    }
    char text[512];
    if (tb_knobs_from_kv(knobs, kv, text, sizeof text) != 0 || (*test)->check(NPU_CFG_N, knobs, text, sizeof text) != 0) {
        snprintf(err, err_size, "%s: %s", path, text);
        return -1;
    }
    return 0;
}

int cli_case_load(const char *path, const tc_test **test, uint64_t *seed, tb_knobs *knobs, char *err, size_t err_size) {
    tb_kv kv;
    tb_kv_init(&kv);
    int rc = tb_kv_load(&kv, path, err, err_size);
    if (rc == 0) {
        rc = from_kv(&kv, path, test, seed, knobs, err, err_size);
    }
    tb_kv_free(&kv);
    return rc;
}

int cli_case_store(const char *dir, const tc_test *test, uint64_t seed, const tb_knobs *knobs, char *path, size_t path_size, char *err,
                   size_t err_size) {
    tb_kv kv;
    tb_kv_init(&kv);
    int rc = tc_make_folder(dir, err, err_size);
    if (rc == 0) {
        const int length = snprintf(path, path_size, "%s/%s-%s-%016" PRIx64 ".case", dir, test->name, NPU_CFG_NAME, seed);
        if (length < 0 || (size_t)length >= path_size) {
            snprintf(err, err_size, "%.80s...: path too long", dir);
            rc = -1;
        } else if (cli_case_to_kv(test, seed, knobs, &kv) != 0) {
            snprintf(err, err_size, "%s: out of memory", path);
            rc = -1;
        } else {
            rc = tb_kv_save(&kv, path, err, err_size);
        }
    }
    if (rc != 0) {
        path[0] = '\0';
    }
    tb_kv_free(&kv);
    return rc;
}
