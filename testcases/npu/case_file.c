/* case_file.c - cases as files. */
#include "cli.h"

#include <stdio.h>

int cli_case_to_kv(const tc_test *test, uint64_t seed, const tb_knobs *knobs, tb_kv *kv) {
    return tb_case_to_kv(test->name, NPU_CFG_NAME, seed, knobs, kv);
}

static int from_kv(const tb_kv *kv, const char *path, const tc_test **test, uint64_t *seed, tb_knobs *knobs, char *err, size_t err_size) {
    const char *name = NULL;
    char text[512];
    if (tb_kv_get_str(kv, "test", &name, err, err_size) != 0) {
        return -1;
    }
    *test = tc_test_find(name);
    if (*test == NULL) {
        snprintf(err, err_size, "%s: unknown test %.60s (`list` shows them)", path, name);
        return -1;
    }
    tb_knobs_init(knobs, (*test)->knobs, (*test)->knob_count);
    if (tb_case_head(kv, path, NPU_CFG_NAME, &name, seed, err, err_size) != 0 || tb_case_knobs(kv, path, knobs, err, err_size) != 0) {
        return -1;
    }
    if ((*test)->check(NPU_CFG_N, knobs, text, sizeof text) != 0) {
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
    return tb_case_store(dir, test->name, NPU_CFG_NAME, seed, knobs, path, path_size, err, err_size);
}
