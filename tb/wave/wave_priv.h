/*
 * wave_priv.h - private to tb/wave: how a reader of a format fills a tb_wave and delivers changes.
 */
#ifndef TB_WAVE_PRIV_H
#define TB_WAVE_PRIV_H

#include "wave/wave.h"

/* A file with wider signals or deeper scopes is damaged, not big: the limits keep memory in bounds. */
#define WAVE_MAX_WIDTH (1u << 20)
#define WAVE_MAX_DEPTH 256u
#define WAVE_MAX_HANDLES (1u << 26)

/* Text that lives as long as the file is open. */
typedef struct wave_block wave_block;

/* Where changes go. */
typedef struct wave_sink {
    const tb_wave *wave;
    const uint8_t *want;
    uint64_t from, to;
    tb_wave_change *change;
    void *ctx;
    char *value;    /* the last value of every handle that is wanted */
    size_t *offset; /* of a handle in value */
    uint8_t *known; /* the handle has a value */
    uint64_t time;  /* of the last change: times never fall */
    bool begun;     /* the values that hold at `from` have been given */
    int stop;       /* what the caller's function returned */
} wave_sink;

struct tb_wave {
    char *path;       /* as lines name it */
    const char *file; /* as it is opened: path, or copy */
    char copy[32];
    int fd; /* of the copy; -1: there is none */
    tb_wave_signal *signal;
    size_t signals;
    uint32_t *width; /* by handle; 0: not read (a real, a string) */
    uint32_t handles, width_room;
    wave_block *text;
    const char *scope[WAVE_MAX_DEPTH]; /* while the header is read: full paths */
    unsigned depth, records;           /* nested scopes; how many of the innermost are structs */
    uint64_t first, last;
    int exponent;
    /* 0 or -1; stops early when wave_put() says so */
    int (*read)(tb_wave *wave, wave_sink *sink, char *err, size_t err_size);
    void (*close)(tb_wave *wave);
    void *lib; /* of the format */
};

/* Copy `len` bytes of text. NULL: out of memory. */
const char *wave_text(tb_wave *wave, const char *text, size_t len);
/* "scope.name", to be freed. NULL: out of memory. */
char *wave_path(const tb_wave_signal *signal);
/* Enter or leave a scope. The members of a struct (record) are signals of the instance: "task_i.rows". -1: too deep,
 * not in a scope, or out of memory. */
int wave_scope(tb_wave *wave, const char *name, size_t len, bool record);
int wave_upscope(tb_wave *wave);
/* A signal in the current scope; `name` may end with a range. -1: out of memory or limits. */
int wave_add(tb_wave *wave, const char *name, size_t len, uint32_t width, uint32_t handle, bool parameter);
/* Handles up to `handle` exist; its width (0: not read). -1: out of memory or limits. */
int wave_handle(tb_wave *wave, uint32_t handle, uint32_t width);

/* One change, in order of time; len characters, fewer than the width are extended as the VCD standard says. Nonzero:
 * stop reading. */
int wave_put(wave_sink *sink, uint64_t time, uint32_t handle, const char *bits, size_t len);

/* The readers: fill an empty tb_wave whose path is set. 0 or -1 with one line in err. */
int wave_open_vcd(tb_wave *wave, char *err, size_t err_size);
/* Through the program fst2vcd. */
int wave_open_pipe(tb_wave *wave, char *err, size_t err_size);
/* Through the FST library; wave_fst_library() is false when this build has none. */
int wave_open_fst(tb_wave *wave, char *err, size_t err_size);
bool wave_fst_library(void);

/* The bytes of a path: see tb_wave_open(). */
typedef struct wave_bytes {
    int fd;   /* of a copy that has no name; -1: the file itself is read */
    bool vcd; /* else an FST */
} wave_bytes;
/* 0 or -1 with one line in err. */
int wave_bytes_open(const char *path, wave_bytes *b, char *err, size_t err_size);
/* A path as lines name it. */
const char *wave_shown(const char *path);
/* The file can be read and begins as a VCD does. */
bool wave_is_vcd(const char *path);

/* A new tb_wave that one given function fills; tb_wave_open() chooses the function. */
tb_wave *wave_open_with(const char *path, int (*open)(tb_wave *wave, char *err, size_t err_size), char *err,
                        size_t err_size);

#endif
