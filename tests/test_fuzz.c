/* The corpus of the fuzz targets (tests/fuzz), file by file: what once crashed or hung a reader never does again. `make
 * fuzz T=name` makes new inputs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "fuzz/fuzz.h"

#define CORPUS "tests/fuzz/corpus/"
#define MOST_BYTES (1u << 20) /* of the whole corpus */

static size_t corpus_bytes;

/* One input in an allocation of its size, so that the sanitizer sees a read past its end. */
static void replay(const char *path, void (*target)(const uint8_t *data, size_t size)) {
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    assert_int_equal(fseek(in, 0, SEEK_END), 0);
    const size_t bytes = (size_t)ftell(in);
    rewind(in);
    uint8_t *data = malloc(bytes == 0 ? 1 : bytes);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, bytes, in), bytes);
    fclose(in);
    target(data, bytes);
    free(data);
    corpus_bytes += bytes;
}

static void replay_all(const char *name, void (*target)(const uint8_t *data, size_t size)) {
    char folder[200];
    char path[600];
    struct dirent **entry;
    (void)snprintf(folder, sizeof folder, CORPUS "%s", name);
    const int count = scandir(folder, &entry, NULL, alphasort);
    int files = 0;
    for (int i = 0; i < count; i++) {
        if (entry[i]->d_name[0] != '.') {
            (void)snprintf(path, sizeof path, "%s/%s", folder, entry[i]->d_name);
            printf("%s\n", path); /* the last one that is printed is the one that crashes */
            (void)fflush(stdout);
            replay(path, target);
            files++;
        }
        free(entry[i]);
    }
    if (count >= 0) {
        free(entry);
    }
    assert_true(files > 0);
}

#define REPLAY(name)                                                                                                   \
    static void test_##name(void **state) {                                                                            \
        (void)state;                                                                                                   \
        replay_all(#name, fuzz_##name);                                                                                \
    }

REPLAY(param)
REPLAY(bin)
REPLAY(net)
REPLAY(npy)
REPLAY(runtime)
REPLAY(pow2)
REPLAY(table)
REPLAY(case)
REPLAY(vcd)
REPLAY(fst)
REPLAY(cov)
REPLAY(code)

static void test_size(void **state) {
    (void)state;
    assert_in_range(corpus_bytes, 1, MOST_BYTES);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_param),   cmocka_unit_test(test_bin),  cmocka_unit_test(test_net),
        cmocka_unit_test(test_npy),     cmocka_unit_test(test_pow2), cmocka_unit_test(test_table),
        cmocka_unit_test(test_runtime), cmocka_unit_test(test_case), cmocka_unit_test(test_vcd),
        cmocka_unit_test(test_fst),     cmocka_unit_test(test_cov),  cmocka_unit_test(test_code),
        cmocka_unit_test(test_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
