/* The memory planner of the runtime: random lifetimes, and the arenas of random graphs (those: test_net_runtime.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../network/rt.h"
#include "../tb/case/rng.h"

#define MOST 60u

/* What is alive at the same time does not overlap, places are aligned, the arena holds all and is no larger than the
 * sum. Returns the bytes that some layer needs at once. */
static uint64_t check_plan(const net_mem_item *item, uint32_t count, uint64_t align, uint64_t total) {
    uint64_t sum = 0;
    uint64_t peak = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t alive = 0;
        sum += (item[i].bytes + align - 1) / align * align;
        assert_true(item[i].bytes == 0 || (item[i].at % align == 0 && item[i].at + item[i].bytes <= total));
        for (uint32_t k = 0; k < count; k++) {
            bool together = item[k].first <= item[i].last && item[i].first <= item[k].last;
            bool apart = item[k].at + item[k].bytes <= item[i].at || item[i].at + item[i].bytes <= item[k].at;
            assert_true(i == k || item[i].bytes == 0 || item[k].bytes == 0 || !together || apart);
            alive += item[k].first <= item[i].first && item[i].first <= item[k].last ? item[k].bytes : 0;
        }
        peak = alive > peak ? alive : peak;
    }
    assert_true(total <= sum && total >= peak);
    return peak;
}

static void test_random(void **state) {
    (void)state;
    uint64_t totals = 0;
    uint64_t sums = 0;
    uint64_t peaks = 0;
    for (uint32_t seed = 1; seed <= 2000; seed++) {
        tb_rng rng = tb_rng_stream(seed, "test_net_rt_memory");
        net_mem_item item[MOST];
        uint32_t count = (uint32_t)tb_rng_range(&rng, 0, MOST);
        uint32_t layers = (uint32_t)tb_rng_range(&rng, 1, 100);
        uint64_t align = UINT64_C(1) << tb_rng_range(&rng, 0, 6);
        uint64_t total = 1;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t first = (uint32_t)tb_rng_range(&rng, 0, layers);
            item[i] = (net_mem_item){.bytes = tb_rng_chance(&rng, 1, 10) ? 0 : tb_rng_small(&rng, 1, 1u << 20),
                                     .first = first,
                                     .last = first + (uint32_t)tb_rng_small(&rng, 0, layers)};
            sums += item[i].bytes;
        }
        assert_int_equal(net_mem_plan(item, count, align, &total, NULL), NET_OK);
        peaks += check_plan(item, count, align, total);
        totals += total;
    }
    assert_true(totals * 5 < sums * 4 && totals * 10 < peaks * 11); /* memory is shared, and little of it lost */
}

/* Chains: two blobs are alive at any time, so the arena is as large as the largest pair. */
static void test_chain(void **state) {
    (void)state;
    net_mem_item item[50];
    uint64_t total = 0;
    for (uint32_t i = 0; i < 50; i++) {
        item[i] = (net_mem_item){.bytes = 1024, .first = i, .last = i + 1};
    }
    assert_int_equal(net_mem_plan(item, 50, 64, &total, NULL), NET_OK);
    assert_int_equal(check_plan(item, 50, 64, total), 2048);
    assert_int_equal(total, 2048);
}

static void test_refused(void **state) {
    (void)state;
    net_error err = {""};
    uint64_t total = 0;
    net_mem_item item = {.bytes = 4, .first = 2, .last = 1};
    assert_int_equal(net_mem_plan(&item, 1, 64, &total, &err), NET_ERR_ARG);
    assert_non_null(strstr(err.text, "item 0 ends before it begins"));
    item = (net_mem_item){.bytes = UINT64_MAX};
    assert_int_equal(net_mem_plan(&item, 1, 64, &total, &err), NET_ERR_ARG);
    item.bytes = 4;
    assert_int_equal(net_mem_plan(&item, 1, 48, &total, &err), NET_ERR_ARG);
    assert_int_equal(net_mem_plan(NULL, 1, 64, &total, &err), NET_ERR_ARG);
    assert_int_equal(net_mem_plan(&item, 1, 64, NULL, &err), NET_ERR_ARG);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_chain),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
