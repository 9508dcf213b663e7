/* test_slurm_files.c - the files that runner and nodes of a cluster exchange: what was written is read, what was cut or
 * changed is not. */
#define _GNU_SOURCE
#include "slurm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];

static int make_folder(void **state) {
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/test_slurm_XXXXXX");
    char done[80];
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    (void)snprintf(done, sizeof done, "%s/done", folder);
    return reg_make_dirs(done);
}

static int remove_folder(void **state) {
    (void)state;
    return reg_remove_tree(folder);
}

static reg_finished example(void) {
    reg_finished item;
    memset(&item, 0, sizeof item);
    item.job = 29999;
    item.attempt = 2;
    (void)reg_format(item.result.outcome, sizeof item.result.outcome, "timeout");
    (void)reg_format(item.result.signature, sizeof item.result.signature, "mesh data=3");
    (void)reg_format(item.result.message, sizeof item.result.message, "not done: check=0 \xc3\xa9");
    (void)reg_format(item.result.trace_hash, sizeof item.result.trace_hash, "0xffffffffffffffff");
    (void)reg_format(item.result.case_path, sizeof item.result.case_path, "o/a b/1.case");
    (void)reg_format(item.result.repro, sizeof item.result.repro, "make repro CASE='o/a b/1.case'");
    item.result.cycles = UINT64_MAX;
    item.result.has_cycles = true;
    item.result.exit_status = 255;
    item.result.wall_ms = 86400000;
    item.result.cpu_ms = 1;
    item.result.max_rss_kb = 123456;
    for (uint64_t i = 0; i < REG_WORK_COUNT; i++) {
        item.result.work[i] = INT64_MAX - i;
    }
    return item;
}

static size_t read_text(const char *path, char *text, size_t size) {
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t length = fread(text, 1, size, file);
    assert_int_equal(fclose(file), 0);
    return length;
}

static void write_text(const char *path, const char *text, size_t length) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static void test_record_is_read_as_written(void **state) {
    (void)state;
    const reg_finished item = example();
    reg_finished read = {.job = item.job, .attempt = item.attempt};
    assert_int_equal(slurm_record_write(folder, 7, &item), REG_OK);
    assert_null(slurm_record_load(folder, 7, &read));
    assert_memory_equal(&read.result, &item.result, sizeof item.result);
    assert_string_equal(slurm_record_load(folder, 8, &read), "record of another job");
    read.attempt = 3;
    assert_string_equal(slurm_record_load(folder, 7, &read), "no record");
}

static void test_record_without_cycles(void **state) {
    (void)state;
    reg_finished item = {.job = 0, .attempt = 1};
    reg_finished read = {.job = 0, .attempt = 1, .result = {.has_cycles = true, .wave_path = "old"}};
    (void)reg_format(item.result.outcome, sizeof item.result.outcome, "pass");
    assert_int_equal(slurm_record_write(folder, 1, &item), REG_OK);
    assert_null(slurm_record_load(folder, 1, &read));
    assert_false(read.result.has_cycles);
    assert_string_equal(read.result.wave_path, "");
}

/* Every prefix of a record, and every record with one bit changed, is none. */
static void test_record_that_is_cut_or_changed(void **state) {
    (void)state;
    char path[128];
    char text[4096];
    const reg_finished item = example();
    reg_finished read = {.job = item.job, .attempt = item.attempt};
    assert_int_equal(slurm_record_write(folder, 7, &item), REG_OK);
    (void)snprintf(path, sizeof path, "%s/done/29999.2.txt", folder);
    const size_t length = read_text(path, text, sizeof text);
    assert_in_range(length, 200, sizeof text - 1);
    for (size_t cut = 0; cut < length; cut++) {
        write_text(path, text, cut);
        assert_non_null(slurm_record_load(folder, 7, &read));
    }
    for (size_t at = 0; at < length; at++) {
        text[at] = (char)(text[at] ^ 1);
        write_text(path, text, length);
        assert_non_null(slurm_record_load(folder, 7, &read));
        text[at] = (char)(text[at] ^ 1);
    }
    write_text(path, text, length);
    assert_null(slurm_record_load(folder, 7, &read));
}

static void test_list_is_read_as_written(void **state) {
    (void)state;
    slurm_head head = {
        .run = 7, .seed = UINT64_MAX, .build_dir = "b u", .out_dir = "/o", .parallel = 2, .beat_s = 10, .tasks = 2};
    slurm_head read_head;
    slurm_line lines[3];
    slurm_line *read;
    size_t count;
    memset(lines, 0, sizeof lines);
    for (uint32_t i = 0; i < 3; i++) {
        lines[i] = (slurm_line){.task = i / 2, .idx = 10 - i, .attempt = i + 1};
        lines[i].job = (reg_job){
            .what = REG_UNIT, .name = "mesh", .cfg = "n8", .kind = "san", .index = UINT64_C(1) << 63, .cases = 5};
        lines[i].job.timeout_s = 9;
        lines[i].job.second_run = i == 2;
    }
    (void)reg_format(lines[1].job.args, sizeof lines[1].job.args, "k=3  --flag");
    assert_int_equal(slurm_list_read(folder, &read_head, &read, &count), REG_NONE);
    assert_int_equal(slurm_list_write(folder, &head, lines, 3), REG_OK);
    assert_int_equal(slurm_list_read(folder, &read_head, &read, &count), REG_OK);
    assert_int_equal(count, 3);
    assert_int_equal(read_head.run, 7);
    assert_true(read_head.seed == UINT64_MAX);
    assert_string_equal(read_head.build_dir, "b u");
    assert_string_equal(read_head.out_dir, "/o");
    assert_int_equal(read_head.parallel, 2);
    assert_int_equal(read_head.beat_s, 10);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(read[i].task, lines[i].task);
        assert_int_equal(read[i].idx, lines[i].idx);
        assert_int_equal(read[i].attempt, lines[i].attempt);
        assert_memory_equal(&read[i].job, &lines[i].job, sizeof lines[i].job);
    }
    free(read);
    (void)reg_format(head.out_dir, sizeof head.out_dir, "a\nb");
    assert_int_equal(slurm_list_write(folder, &head, lines, 3), REG_FAIL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_record_is_read_as_written, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_record_without_cycles, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_record_that_is_cut_or_changed, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_list_is_read_as_written, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
