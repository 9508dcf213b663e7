/*
 * axi_trace_priv.h - what the reader of rows (axi_trace.c) and the reader of headers (axi_trace_head.c) share.
 */
#ifndef TESTS_AXI_TRACE_PRIV_H
#define TESTS_AXI_TRACE_PRIV_H

#include "axi_trace.h"

#define WORD 320u /* longest word and its end */

typedef struct reader {
    tb_axi_trace *t;
    const char *path;
    uint32_t line;
    char *err;
    size_t err_size;
    bool failed;
} reader;

/* Note the first mistake. */
__attribute__((format(printf, 2, 3))) void axi_trace_complain(reader *r, const char *format, ...);
/* The next word of a line into dst; false: the line is over. */
bool axi_trace_word(const char **at, char dst[WORD]);
/* Decimal or hexadecimal. */
bool axi_trace_number(const char *text, uint64_t *out);
/* A line of the header whose first word is `name`. */
void axi_trace_directive(reader *r, const char *name, const char **p);

#endif
