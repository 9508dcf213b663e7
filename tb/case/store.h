/*
 * store.h - cases as files: `test`, `cfg` and `seed`, then every knob (docs/architecture.md section 2).
 */
#ifndef TB_CASE_STORE_H
#define TB_CASE_STORE_H

#include "knob.h"

/* A resolved case as text. 0 or -1 (out of memory). */
int tb_case_to_kv(const char *test, const char *cfg, uint64_t seed, const tb_knobs *knobs, tb_kv *kv);
/* Write it to a file. 0 or -1 with one line in err. */
int tb_case_save(const char *path, const char *test, const char *cfg, uint64_t seed, const tb_knobs *knobs, char *err,
                 size_t err_size);
/* Write it to dir/test-cfg-seed.case, with pinned knobs to dir/test-cfg-seed-<hash of them>.case; the folder is made
 * when it does not exist. The path goes into path, empty on failure. 0 or -1. */
int tb_case_store(const char *dir, const char *test, const char *cfg, uint64_t seed, const tb_knobs *knobs, char *path,
                  size_t path_size, char *err, size_t err_size);

/* Make every folder of a path of at most 1023 characters; those that exist are fine. 0 or -1 with one line in err. */
int tb_make_folder(const char *dir, char *err, size_t err_size);

/* The three keys that every case has; cfg must be the one given. *test is the text's own. 0 or -1. */
int tb_case_head(const tb_kv *kv, const char *path, const char *cfg, const char **test, uint64_t *seed, char *err,
                 size_t err_size);
/* The knobs of the table; any other key is an error. 0 or -1. */
int tb_case_knobs(const tb_kv *kv, const char *path, tb_knobs *knobs, char *err, size_t err_size);

#endif
