/*
 * kv.h - case text: one key=value a line, '#' starts a comment line, keys [a-z][a-z0-9_]*, values without newline.
 * Order is kept.
 */
#ifndef TB_KV_H
#define TB_KV_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TB_KV_MAX_TEXT (1u << 20) /* bytes of a file */
#define TB_KV_MAX_ENTRIES 4096u
#define TB_KV_MAX_KEY 63u     /* characters */
#define TB_KV_MAX_VALUE 4095u /* characters */

typedef struct tb_kv_entry {
    char *key;
    char *value;
    unsigned line; /* line of the text, 0 when it was set by a program */
} tb_kv_entry;

typedef struct tb_kv {
    tb_kv_entry *entry;
    size_t count;
    char name[256]; /* file name for error lines */
} tb_kv;

/* Empty text. Release with tb_kv_free(). */
void tb_kv_init(tb_kv *kv);
void tb_kv_free(tb_kv *kv);

/* Parse `len` bytes; `name` is used in error lines ("name:line: ..."). 0 or -1 (bad line, duplicate key, limit); on
 * error kv is empty. kv must be initialised. */
int tb_kv_parse(tb_kv *kv, const char *text, size_t len, const char *name, char *err, size_t err_size);
/* Read and parse a file. 0 or -1. */
int tb_kv_load(tb_kv *kv, const char *path, char *err, size_t err_size);

/* Value of a key or NULL. */
const char *tb_kv_find(const tb_kv *kv, const char *key);
/* Value that must exist. 0 or -1. */
int tb_kv_get_str(const tb_kv *kv, const char *key, const char **out, char *err, size_t err_size);
/* Whole number (decimal or 0x...) in [lo, hi]. 0 or -1; *out is untouched on error. */
int tb_kv_get_u64(const tb_kv *kv, const char *key, uint64_t lo, uint64_t hi, uint64_t *out, char *err,
                  size_t err_size);

/* Set or replace. -1: illegal key or value (newline, too long), too many entries or out of memory. */
int tb_kv_set(tb_kv *kv, const char *key, const char *value);
int tb_kv_set_i64(tb_kv *kv, const char *key, int64_t value);
int tb_kv_set_u64(tb_kv *kv, const char *key, uint64_t value);
int tb_kv_set_hex(tb_kv *kv, const char *key, uint64_t value); /* 0x%016x */

/* Write all entries in order. 0 or -1 (stream error). */
int tb_kv_write(const tb_kv *kv, FILE *file);
/* Write to path.tmp.<pid> and rename; on a full disk no file is left. A path that is not a regular file
 * (/dev/stdout) is written directly. 0 or -1. */
int tb_kv_save(const tb_kv *kv, const char *path, char *err, size_t err_size);

/* Whole text as a number, like opt_number() and with a sign: 0 or -1 (not a number, out of 64 bits). */
int tb_parse_i64(const char *text, int64_t *out);

#endif
