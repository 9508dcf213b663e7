/*
 * scoreboard.h - expected against actual, one per unit.
 *
 * push() the predictions of the golden unit, in transactions of elements; pop() the outputs of the unit under test, in
 * the same order. The first mismatches are kept.
 */
#ifndef TB_SCOREBOARD_H
#define TB_SCOREBOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TB_SB_KEEP 8u      /* mismatches kept */
#define TB_SB_ELEM_MAX 64u /* bytes of an element */
#define TB_SB_DIMS 4u

typedef struct tb_sb_cfg {
    const char *unit;  /* name in reports */
    size_t elem_bytes; /* 1..TB_SB_ELEM_MAX */
    /* names of the dimensions in reports, outermost first; NULL ends the list */
    const char *dim_name[TB_SB_DIMS];
    uint32_t dim[TB_SB_DIMS]; /* sizes of the dimensions; the outermost may be 0 (open) */
    bool is_signed;           /* print elements of 1, 2, 4 bytes as signed numbers */
} tb_sb_cfg;

typedef struct tb_sb_mismatch {
    uint64_t transaction, element, cycle;
    uint8_t got[TB_SB_ELEM_MAX], expected[TB_SB_ELEM_MAX];
    bool unexpected; /* no further element was expected */
} tb_sb_mismatch;

typedef struct tb_scoreboard {
    tb_sb_cfg cfg;
    uint8_t *ring; /* expected elements, and a mark at each start of a transaction */
    uint8_t *mark;
    size_t cap, head, count;
    uint64_t transaction, element; /* of the next element to pop */
    bool started;
    uint64_t pushed, popped, mismatches;
    tb_sb_mismatch first[TB_SB_KEEP];
    bool oom;
} tb_scoreboard;

/* 0 or -1 (element size, out of memory). Release with tb_sb_free(). */
int tb_sb_init(tb_scoreboard *sb, const tb_sb_cfg *cfg);
void tb_sb_free(tb_scoreboard *sb);
/* A transaction begins with the next pushed element. */
void tb_sb_begin(tb_scoreboard *sb);
/* Expect `count` elements. 0 or -1 (out of memory; also noted in the scoreboard). */
int tb_sb_push(tb_scoreboard *sb, const void *expected, size_t count);
/* Compare `count` actual elements seen in a cycle. True when all are as expected. */
bool tb_sb_pop(tb_scoreboard *sb, uint64_t cycle, const void *actual, size_t count);
/* End of test: no mismatch and nothing pending. */
bool tb_sb_done(const tb_scoreboard *sb);
/* One line: the first mismatch, or how many elements are missing, or "ok". "adder: transaction 0, lane 5, cycle 20481:
 * got -312, expected -310" */
void tb_sb_report(const tb_scoreboard *sb, char *dst, size_t size);

#endif
