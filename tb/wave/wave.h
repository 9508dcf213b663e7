/*
 * wave.h - waveform files after the run: reading FST and VCD, save files for GTKWave, timing diagrams as SVG.
 *
 * Values have four states. A damaged file can crash the FST library, so files that may be damaged are read through
 * tb_wave_guard().
 */
#ifndef TB_WAVE_H
#define TB_WAVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct tb_wave tb_wave;

typedef struct tb_wave_signal {
    const char *scope; /* instance path: "TOP.chip.u_dma"; empty at the top */
    const char *name;  /* without the range: "wdata_i"; an element of an array with its index: "mem[3]" */
    const char *range; /* "[31:0]"; empty when the file gives none */
    uint32_t width;    /* bits */
    uint32_t handle;   /* storage; aliases share it */
    bool parameter;    /* a constant of the design */
} tb_wave_signal;

/*
 * Open an FST or VCD file, told apart by its contents; either may be packed with gzip, and "-" is standard input. NULL
 * with one line in err: "F: damaged FST", "F: no such file" ...
 */
tb_wave *tb_wave_open(const char *path, char *err, size_t err_size);
void tb_wave_close(tb_wave *wave);
/* Copy standard input into a file without a name, unless it is a file, so that "-" can be opened several times, also in
 * child processes. 0 or -1 with one line in err. */
int tb_wave_stdin(char *err, size_t err_size);
/* Bytes of a file, about; of a packed one when it is unpacked. 0: it cannot be read. */
uint64_t tb_wave_size(const char *path);
/* All signals, in the order of the file. Reals and strings are left out. */
const tb_wave_signal *tb_wave_signals(const tb_wave *wave, size_t *count);
/* First and last time in the file, in its own units; the unit is 10^exponent seconds. */
void tb_wave_times(const tb_wave *wave, uint64_t *first, uint64_t *last, int *exponent);
/* Number of handles; they start at 0. */
uint32_t tb_wave_handles(const tb_wave *wave);
/* A signal by its full path "scope.name", with or without the file's outermost scope. NULL when there is none. */
const tb_wave_signal *tb_wave_find(const tb_wave *wave, const char *path);

/* bits: `width` characters '0' '1' 'x' 'z', highest bit first, not terminated. Nonzero stops the reading and is
 * returned. */
typedef int tb_wave_change(void *ctx, uint64_t time, uint32_t handle, const char *bits, uint32_t width);
/*
 * Changes of the handles with want[handle] != 0, ordered by time, from `from` to `to`; the values that hold at `from`
 * come first (a handle that has none yet is not given). 0, what the callback returned, or -1 with one line in err.
 */
int tb_wave_read(tb_wave *wave, const uint8_t *want, uint64_t from, uint64_t to, tb_wave_change *change, void *ctx,
                 char *err, size_t err_size);

/*
 * Hexadecimal digits of a value, without leading zeros; a digit with an unknown bit is x or z. text has room for width
 * / 4 + 2 characters; returns how many were written before the terminator.
 */
size_t tb_wave_hex(const char *bits, uint32_t width, char *text);

/*
 * Run `work` in a child process with limits of CPU time (seconds) and memory (MiB); its output goes where the caller's
 * goes, pipes and sockets that the caller has open are closed in it. Returns what `work` returned (0..125), or -1 when
 * the child crashed or took four times as long: "path: damaged FST" in err, or "path: damaged VCD" when the file begins
 * as one.
 */
int tb_wave_guard(const char *path, int (*work)(void *ctx), void *ctx, unsigned seconds, unsigned mib, char *err,
                  size_t err_size);

/* ---- signals to show ---- */
typedef struct tb_wave_group {
    const char *title;         /* "layout 1: handshakes" */
    const char *const *signal; /* full paths as in the file, "scope.name" */
    size_t count;
} tb_wave_group;

typedef struct tb_wave_view {
    const char *wave; /* file */
    const char *link; /* what a save file calls it, NULL: its full path */
    const char *title;
    const tb_wave_group *group;
    size_t groups;
    const char *clock; /* full path, for the scale in cycles; NULL: times of the file */
    uint64_t marker;   /* time of the first mismatch; 0: none */
    uint64_t from, to; /* times that are shown; 0, 0: all */
    unsigned cycles;   /* at most so many cycles are shown at first, three quarters of them before the marker; 0: 40 in
                        * GTKWave, 12 in a diagram, which is then no wider than a page */
} tb_wave_view;

/*
 * The signals of an instance (full path of its scope, with or without the file's outermost scope), as a view would show
 * them: clock and reset, handshakes (valid, ready, enable), state, data; ports before internal signals. Returns the
 * number of paths written into `path` (each allocated; the caller frees; NULL: out of memory, which a view reports).
 */
size_t tb_wave_instance(const tb_wave *wave, const char *scope, const char **path, size_t max);
/*
 * The same for the innermost instance of a path that has signals: a path of the simulator may end with the names of
 * blocks, which are cut off the end of `scope`.
 */
size_t tb_wave_instance_of(const tb_wave *wave, char *scope, const char **path, size_t max);
/* The clock of the design: the first 1-bit signal outermost in the file whose name says so (clk, clock, clk_i, aclk
 * ...). NULL: none. */
const tb_wave_signal *tb_wave_clock(const tb_wave *wave);
/*
 * Time between two rising edges of a clock (full path), the shortest of the first 64: cycle c begins at c times the
 * period. 0 in *period: it has no two edges. 0 or -1 with one line in err.
 */
int tb_wave_period(tb_wave *wave, const char *clock, uint64_t *period, char *err, size_t err_size);

/* GTKWave save file (temporary name, rename). Signals that the file does not have are left out. 0 or -1 with one line
 * in err. */
int tb_wave_gtkw(const tb_wave_view *view, const char *output, char *err, size_t err_size);
/*
 * Timing diagram of the window, drawn from the file: one <svg> element that may stand in an HTML page (temporary name,
 * rename). Needs no script, follows the light or dark colour scheme. 0 or -1 with one line in err.
 */
int tb_wave_svg(const tb_wave_view *view, const char *output, char *err, size_t err_size);

/* ---- pictures of a failure: signals are added group by group, then drawn ---- */
#define TB_WAVE_SIGNALS 160u /* of a group */
#define TB_WAVE_GROUPS 12u   /* the caller must leave space for one more */

typedef struct tb_wave_pictures {
    tb_wave *wave;
    tb_wave_view view; /* for tb_wave_gtkw() and tb_wave_svg(); the caller may change it before it draws */
    tb_wave_group group[TB_WAVE_GROUPS];
    const char *path[TB_WAVE_GROUPS][TB_WAVE_SIGNALS]; /* of each group's signals */
    char name[TB_WAVE_GROUPS][128];                    /* titles */
    char clock[512];
} tb_wave_pictures;

/* Open the file; the marker stands in the middle of the cycle that begins at `time`. 0 or -1 with one line in err. */
int tb_wave_pictures_open(tb_wave_pictures *p, const char *file, const char *title, uint64_t time, char *err,
                          size_t err_size);
/* A group of the signals of an instance, as tb_wave_instance() has them. */
void tb_wave_pictures_instance(tb_wave_pictures *p, const char *scope, const char *title);
/* The same as tb_wave_instance_of() has them, with what is left of `scope` as title. False: there are none. */
bool tb_wave_pictures_inner(tb_wave_pictures *p, char *scope);
/*
 * A group of the signals of a port: those of the outermost scope that has any with this prefix; `few`: only handshakes,
 * addresses and the marks of last beats.
 */
void tb_wave_pictures_port(tb_wave_pictures *p, const char *prefix, bool few, const char *title);
void tb_wave_pictures_close(tb_wave_pictures *p);

#endif
