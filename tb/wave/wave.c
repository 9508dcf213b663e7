/* Waveform files: what is common to the formats. */
#include "wave/wave_priv.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_BYTES 65536u

struct wave_block {
    wave_block *next;
    size_t used, size;
    char text[];
};

/* ---- filling ---- */

const char *wave_text(tb_wave *wave, const char *text, size_t len) {
    wave_block *b = wave->text;
    if (b == NULL || b->size - b->used < len + 1) {
        const size_t size = len + 1 > BLOCK_BYTES ? len + 1 : BLOCK_BYTES;
        b = malloc(sizeof *b + size);
        if (b == NULL) {
            return NULL;
        }
        *b = (wave_block){.next = wave->text, .size = size};
        wave->text = b;
    }
    char *at = b->text + b->used;
    memcpy(at, text, len);
    at[len] = '\0';
    b->used += len + 1;
    return at;
}

int wave_scope(tb_wave *wave, const char *name, size_t len, bool record) {
    if (wave->depth >= WAVE_MAX_DEPTH) {
        return -1;
    }
    const char *outer = wave->depth > 0 ? wave->scope[wave->depth - 1] : "";
    const size_t n = strlen(outer);
    char *full = malloc(n + len + 2);
    if (full == NULL) {
        return -1;
    }
    memcpy(full, outer, n);
    full[n] = '.';
    memcpy(full + n + 1, name, len);
    const size_t skip = n == 0 ? 1 : 0;
    const char *kept = wave_text(wave, full + skip, n + 1 + len - skip);
    free(full);
    wave->scope[wave->depth] = kept;
    if (kept == NULL) {
        return -1;
    }
    wave->depth++;
    /* an instance within a struct does not exist; should a file have one, it counts as an instance */
    wave->records = record && wave->depth > 1 ? wave->records + 1 : 0;
    return 0;
}

int wave_upscope(tb_wave *wave) {
    if (wave->depth == 0) {
        return -1;
    }
    wave->depth--;
    wave->records -= wave->records > 0 ? 1 : 0;
    return 0;
}

int wave_handle(tb_wave *wave, uint32_t handle, uint32_t width) {
    if (handle >= WAVE_MAX_HANDLES || width > WAVE_MAX_WIDTH) {
        return -1;
    }
    if (handle >= wave->width_room) {
        const uint32_t room = handle < 512 ? 1024 : 2 * handle;
        uint32_t *more = realloc(wave->width, room * sizeof *more);
        if (more == NULL) {
            return -1;
        }
        memset(more + wave->width_room, 0, (room - wave->width_room) * sizeof *more);
        wave->width = more;
        wave->width_room = room;
    }
    if (handle >= wave->handles) {
        wave->handles = handle + 1;
    }
    wave->width[handle] = width;
    return 0;
}

/* Where the range begins in "name[7:0]" or "name [7:0]": a last bracket with a colon, or one behind a space. len when
 * there is none. */
static size_t range_of(const char *name, size_t len) {
    if (len < 3 || name[len - 1] != ']') {
        return len;
    }
    size_t at = len - 1;
    bool colon = false;
    while (at > 0 && name[at] != '[') {
        colon |= name[at] == ':';
        at--;
    }
    return at > 0 && name[at] == '[' && colon ? at : len;
}

/* The name of a member of a struct: what the scope has behind its instance, and its own. */
static const char *member_name(tb_wave *wave, size_t skip, const char *name, size_t len) {
    const char *record = wave->scope[wave->depth - 1] + skip;
    const size_t n = strlen(record);
    char *full = malloc(n + len + 1);
    if (full == NULL) {
        return NULL;
    }
    memcpy(full, record, n);
    full[n] = '.';
    memcpy(full + n + 1, name, len);
    const char *kept = wave_text(wave, full, n + 1 + len);
    free(full);
    return kept;
}

int wave_add(tb_wave *wave, const char *name, size_t len, uint32_t width, uint32_t handle, bool parameter) {
    if (!rep_more(&wave->signal, wave->signals, sizeof *wave->signal)) {
        return -1;
    }
    const size_t at = range_of(name, len);
    size_t end = at;
    while (end > 0 && name[end - 1] == ' ') {
        end--;
    }
    const char *scope = wave->depth > 0 ? wave->scope[wave->depth - wave->records - 1] : "";
    const char *n = wave->records == 0 ? wave_text(wave, name, end) : member_name(wave, strlen(scope) + 1, name, end);
    const char *r = wave_text(wave, name + at, len - at);
    if (n == NULL || r == NULL) {
        return -1;
    }
    /* "word [3]" is one bit of a vector: its index belongs to the name, without the space */
    char *space = strchr(n, ' ');
    if (space != NULL && space[1] == '[') {
        memmove(space, space + 1, strlen(space));
    }
    wave->signal[wave->signals++] = (tb_wave_signal){
        .scope = scope, .name = n, .range = r, .width = width, .handle = handle, .parameter = parameter};
    return 0;
}

/* ---- delivering ---- */

/* The VCD standard's four states; other codes (VHDL, strengths) become the nearest of them. */
static char state_of(char c) {
    switch (c) {
    case '0':
    case 'l':
    case 'L':
        return '0';
    case '1':
    case 'h':
    case 'H':
        return '1';
    case 'z':
    case 'Z':
        return 'z';
    default:
        return 'x';
    }
}

/* Give the values that hold at `from`. */
static int sink_begin(wave_sink *s) {
    s->begun = true;
    for (uint32_t h = 0; h < s->wave->handles && s->stop == 0; h++) {
        if (s->known[h]) {
            s->stop = s->change(s->ctx, s->from, h, s->value + s->offset[h], s->wave->width[h]);
        }
    }
    return s->stop;
}

int wave_put(wave_sink *s, uint64_t time, uint32_t handle, const char *bits, size_t len) {
    if (s->stop != 0 || time > s->to) {
        return 1;
    }
    if (handle >= s->wave->handles || !s->want[handle] || s->wave->width[handle] == 0 || len == 0) {
        return 0;
    }
    s->time = time > s->time ? time : s->time;
    if (!s->begun && s->time > s->from && sink_begin(s) != 0) {
        return 1;
    }
    const size_t width = s->wave->width[handle];
    char *value = s->value + s->offset[handle];
    bool same = s->known[handle] != 0;
    /* short values: a leading x or z is repeated, anything else is filled with 0 */
    const char first = state_of(bits[0]);
    const char fill = first == '1' ? '0' : first;
    for (size_t i = 0; i < width; i++) {
        const char c = width - i > len ? fill : state_of(bits[len - (width - i)]);
        same &= value[i] == c;
        value[i] = c;
    }
    s->known[handle] = 1;
    if (s->begun && !same) {
        s->stop = s->change(s->ctx, s->time, handle, value, (uint32_t)width);
    }
    return s->stop;
}

int tb_wave_read(tb_wave *wave, const uint8_t *want, uint64_t from, uint64_t to, tb_wave_change *change, void *ctx,
                 char *err, size_t err_size) {
    wave_sink s = {.wave = wave, .want = want, .from = from, .to = to, .change = change, .ctx = ctx};
    size_t total = 0;
    s.offset = calloc((size_t)wave->handles + 1, sizeof *s.offset);
    s.known = calloc((size_t)wave->handles + 1, 1);
    for (uint32_t h = 0; s.offset != NULL && h < wave->handles; h++) {
        s.offset[h] = total;
        total += want[h] ? wave->width[h] : 0;
    }
    s.value = malloc(total + 1);
    int status = -1;
    if (s.offset == NULL || s.known == NULL || s.value == NULL) {
        snprintf(err, err_size, "%s: out of memory", wave->path);
    } else {
        status = wave->read(wave, &s, err, err_size);
        if (status == 0 && !s.begun) {
            sink_begin(&s);
        }
    }
    free(s.offset);
    free(s.known);
    free(s.value);
    return status == 0 ? s.stop : status;
}

size_t tb_wave_hex(const char *bits, uint32_t width, char *text) {
    size_t n = 0;
    for (uint32_t i = 0; i < width;) {
        const uint32_t len = (width - i) % 4 == 0 ? 4 : (width - i) % 4;
        unsigned v = 0;
        char odd = '\0';
        for (uint32_t k = 0; k < len; k++) {
            const char b = bits[i + k];
            v = 2 * v + (b == '1' ? 1u : 0u);
            odd = b == 'x' || (b == 'z' && odd == '\0') ? b : odd;
        }
        i += len;
        if (n > 0 || v != 0 || odd != '\0' || i == width) {
            text[n++] = odd != '\0' ? odd : "0123456789abcdef"[v];
        }
    }
    text[n] = '\0';
    return n;
}

/* ---- opening ---- */

/* fd: of a copy that has no name, or -1. */
static tb_wave *open_bytes(const char *path, int fd, int (*open)(tb_wave *wave, char *err, size_t err_size), char *err,
                           size_t err_size) {
    tb_wave *wave = calloc(1, sizeof *wave);
    char *copy = strdup(wave_shown(path));
    if (wave == NULL || copy == NULL) {
        snprintf(err, err_size, "%s: out of memory", path);
        free(wave);
        free(copy);
        if (fd >= 0) {
            close(fd);
        }
        return NULL;
    }
    wave->path = copy;
    wave->fd = fd;
    wave->file = copy;
    if (fd >= 0) {
        snprintf(wave->copy, sizeof wave->copy, "/proc/self/fd/%d", fd);
        wave->file = wave->copy;
    }
    if (open(wave, err, err_size) != 0) {
        tb_wave_close(wave);
        return NULL;
    }
    return wave;
}

tb_wave *wave_open_with(const char *path, int (*open)(tb_wave *wave, char *err, size_t err_size), char *err,
                        size_t err_size) {
    return open_bytes(path, -1, open, err, err_size);
}

tb_wave *tb_wave_open(const char *path, char *err, size_t err_size) {
    wave_bytes bytes;
    if (wave_bytes_open(path, &bytes, err, err_size) != 0) {
        return NULL;
    }
    return open_bytes(path, bytes.fd,
                      bytes.vcd            ? wave_open_vcd
                      : wave_fst_library() ? wave_open_fst
                                           : wave_open_pipe,
                      err, err_size);
}

void tb_wave_close(tb_wave *wave) {
    if (wave == NULL) {
        return;
    }
    if (wave->close != NULL) {
        wave->close(wave);
    }
    while (wave->text != NULL) {
        wave_block *next = wave->text->next;
        free(wave->text);
        wave->text = next;
    }
    if (wave->fd >= 0) {
        close(wave->fd);
    }
    free(wave->signal);
    free(wave->width);
    free(wave->path);
    free(wave);
}

const tb_wave_signal *tb_wave_signals(const tb_wave *wave, size_t *count) {
    *count = wave->signals;
    return wave->signal;
}

void tb_wave_times(const tb_wave *wave, uint64_t *first, uint64_t *last, int *exponent) {
    *first = wave->first;
    *last = wave->last;
    *exponent = wave->exponent;
}

uint32_t tb_wave_handles(const tb_wave *wave) {
    return wave->handles;
}

/* path is scope + "." + name */
static bool path_is(const char *path, const char *scope, const char *name) {
    const size_t n = strlen(scope);
    if (n == 0) {
        return strcmp(path, name) == 0;
    }
    return strncmp(path, scope, n) == 0 && path[n] == '.' && strcmp(path + n + 1, name) == 0;
}

const tb_wave_signal *tb_wave_find(const tb_wave *wave, const char *path) {
    const tb_wave_signal *inner = NULL;
    for (size_t i = 0; i < wave->signals; i++) {
        const tb_wave_signal *s = &wave->signal[i];
        if (path_is(path, s->scope, s->name)) {
            return s;
        }
        const char *dot = strchr(s->scope, '.');
        if (inner == NULL && path_is(path, dot != NULL ? dot + 1 : "", s->name)) {
            inner = s;
        }
    }
    return inner;
}
