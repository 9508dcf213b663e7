/*
 * heat.h - which elements of a tensor are wrong, as small pictures: one panel for each channel, or for a block of
 * channels when there are many.
 */
#ifndef TB_HEAT_H
#define TB_HEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TB_HEAT_PANELS 48u /* at most */
#define TB_HEAT_CELLS 48u  /* along an edge of a panel */
#define TB_HEAT_LEVELS 5u

typedef enum tb_heat_kind { TB_HEAT_WRONG, TB_HEAT_MISSING, TB_HEAT_KINDS } tb_heat_kind;

typedef struct tb_heat {
    uint32_t size[3];   /* of the tensor: c, h, w */
    uint32_t per_panel; /* channels of a panel */
    uint32_t panels;
    /* rows and columns of a cell; a tensor of one pixel has its channels side by side in one panel */
    uint32_t cell[2];
    uint32_t cells[2]; /* rows and columns of cells in a panel */
    bool flat;         /* of one pixel */
    uint32_t *count;   /* [panels][rows][columns][kind] */
} tb_heat;

/* Sizes of 1 and more. 0 or -1 (out of memory). */
int tb_heat_init(tb_heat *heat, uint32_t c, uint32_t h, uint32_t w);
void tb_heat_free(tb_heat *heat);
/* Mark an element; ignored outside the tensor. */
void tb_heat_add(tb_heat *heat, const uint32_t at[3], tb_heat_kind kind);
/* Marked elements of a panel. */
uint64_t tb_heat_panel_count(const tb_heat *heat, uint32_t panel);
/* 0: nothing of this kind in the cell; 1..TB_HEAT_LEVELS by how much of it is marked. */
unsigned tb_heat_level(const tb_heat *heat, uint32_t panel, uint32_t row, uint32_t column, tb_heat_kind kind);
/* "c 3" or "c 8..15" */
void tb_heat_panel_name(const tb_heat *heat, uint32_t panel, char *dst, size_t size);
/* One panel as an <svg> element. Colours are the page's: classes heat0 (background), heat1 .. heat5 (wrong), heatm
 * (missing). */
void tb_heat_svg(const tb_heat *heat, uint32_t panel, FILE *out);

#endif
