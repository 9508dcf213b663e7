/* VCD text, IEEE 1364-2005 section 18.2: four states; reals and strings are skipped. */
#include "wave/vcd.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "opt/opt.h"
#include "report/report.h"

#define MAX_TOKEN (WAVE_MAX_WIDTH + 16u)
#define MAX_NAME 4096u

__attribute__((format(printf, 2, 3))) static int fail(vcd_stream *in, const char *format, ...) {
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    /* the file's own words are in it: no byte of them may do anything to a terminal */
    for (char *p = text; *p != '\0'; p++) {
        *p = (unsigned char)*p < ' ' || *p == 0x7f ? '?' : *p;
    }
    snprintf(in->err, in->err_size, "%s:%llu: %s", in->name, (unsigned long long)in->line, text);
    return -1;
}

void vcd_stream_free(vcd_stream *in) {
    free(in->token);
    in->token = NULL;
    in->room = 0;
}

/* ---- tokens ---- */

static bool is_space(int c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

static int token_grow(vcd_stream *in) {
    const size_t room = in->room == 0 ? 256 : 2 * in->room;
    char *more = in->len >= MAX_TOKEN ? NULL : realloc(in->token, room);
    if (more == NULL) {
        return fail(
            in, in->len >= MAX_TOKEN ? "a word of more than %u characters" : "out of memory at a word of %u characters",
            MAX_TOKEN);
    }
    in->token = more;
    in->room = room;
    return 0;
}

/* Next word. 1: there is one; 0: end of the file; -1. */
static int token(vcd_stream *in) {
    int c = getc_unlocked(in->file);
    while (is_space(c)) {
        in->line += c == '\n' ? 1 : 0;
        c = getc_unlocked(in->file);
    }
    in->len = 0;
    while (c != EOF && !is_space(c)) {
        if (in->len + 1 >= in->room && token_grow(in) != 0) {
            return -1;
        }
        in->token[in->len++] = (char)c;
        c = getc_unlocked(in->file);
    }
    if (c != EOF) {
        ungetc(c, in->file);
    } else if (ferror(in->file)) {
        (void)rep_host(errno);
        return fail(in, "cannot be read further");
    }
    if (in->len == 0) {
        return 0;
    }
    in->token[in->len] = '\0';
    return strlen(in->token) == in->len ? 1 : fail(in, "a byte 0 in the text");
}

/* A word that has to be there. */
static int need(vcd_stream *in, const char *what) {
    const int got = token(in);
    return got > 0 ? 0 : got < 0 ? -1 : fail(in, "end of the file, expected %s", what);
}

static int skip_to_end(vcd_stream *in) {
    do {
        if (need(in, "$end") != 0) {
            return -1;
        }
    } while (strcmp(in->token, "$end") != 0);
    return 0;
}

/* ---- header ---- */

/* "1ns", "10 us": into a power of ten */
static int read_timescale(vcd_stream *in, tb_wave *wave) {
    static const char *const unit[] = {"s", "ms", "us", "ns", "ps", "fs"};
    char text[32] = "";
    for (;;) {
        if (need(in, "$end") != 0) {
            return -1;
        }
        if (strcmp(in->token, "$end") == 0) {
            break;
        }
        if (strlen(text) + in->len >= sizeof text) {
            return fail(in, "a time scale such as 10ns expected");
        }
        strcat(text, in->token);
    }
    const size_t digits = strspn(text, "0123456789");
    const bool known = digits > 0 && digits <= 3 && strncmp(text, "100", digits) == 0;
    for (int u = 0; known && u < 6; u++) {
        if (strcmp(text + digits, unit[u]) == 0) {
            wave->exponent = (int)digits - 1 - 3 * u;
            return 0;
        }
    }
    return fail(in, "time scale '%s', expected 1, 10 or 100 and a unit from s to fs", text);
}

static int read_scope(vcd_stream *in, tb_wave *wave) {
    if (need(in, "the type of a scope") != 0) {
        return -1;
    }
    const bool record = strcmp(in->token, "struct") == 0 || strcmp(in->token, "union") == 0;
    if (need(in, "the name of a scope") != 0) {
        return -1;
    }
    if (in->len > MAX_NAME || wave_scope(wave, in->token, in->len, record) != 0) {
        return fail(in, "more than %u nested scopes, a name of more than %u characters, or no memory", WAVE_MAX_DEPTH,
                    MAX_NAME);
    }
    return skip_to_end(in);
}

/* The reference and its range, up to $end: "data [7:0]". */
static int read_reference(vcd_stream *in, char *name, size_t size) {
    size_t len = 0;
    for (;;) {
        if (need(in, "$end") != 0) {
            return -1;
        }
        if (strcmp(in->token, "$end") == 0) {
            return len > 0 ? 0 : fail(in, "a variable without a name");
        }
        if (len + in->len + 2 > size) {
            return fail(in, "a name of more than %u characters", MAX_NAME);
        }
        name[len] = ' ';
        len += len > 0 ? 1 : 0;
        memcpy(name + len, in->token, in->len + 1);
        len += in->len;
    }
}

static int handle_of(vcd_stream *in, tb_wave *wave, vcd_ids *ids, const char *id, uint32_t width, uint32_t *handle) {
    if (vcd_ids_find(ids, id, handle)) {
        return wave->width[*handle] == width
                   ? 0
                   : fail(in, "identifier '%.32s' of %u bits had %u bits before", id, width, wave->width[*handle]);
    }
    *handle = wave->handles;
    if (wave_handle(wave, *handle, width) != 0 || vcd_ids_add(ids, id, *handle) != 0) {
        return fail(in, "out of memory");
    }
    return 0;
}

static int read_var(vcd_stream *in, tb_wave *wave, vcd_ids *ids) {
    char type[32];
    char id[64];
    char name[MAX_NAME];
    uint64_t width = 0;
    uint32_t handle = 0;
    if (need(in, "the type of a variable") != 0) {
        return -1;
    }
    snprintf(type, sizeof type, "%s", in->token);
    if (need(in, "a width") != 0) {
        return -1;
    }
    if (!opt_number(in->token, 0, UINT64_MAX, &width) || width > WAVE_MAX_WIDTH) {
        return fail(in, "width '%.32s', expected 1 to %u", in->token, WAVE_MAX_WIDTH);
    }
    if (need(in, "an identifier") != 0) {
        return -1;
    }
    if (in->len >= sizeof id) {
        return fail(in, "an identifier of more than %zu characters", sizeof id - 1);
    }
    snprintf(id, sizeof id, "%s", in->token);
    const bool bits = width > 0 && strncmp(type, "real", 4) != 0 && strcmp(type, "string") != 0;
    if (read_reference(in, name, sizeof name) != 0 ||
        handle_of(in, wave, ids, id, bits ? (uint32_t)width : 0, &handle) != 0) {
        return -1;
    }
    if (bits && wave_add(wave, name, strlen(name), (uint32_t)width, handle, strcmp(type, "parameter") == 0) != 0) {
        return fail(in, "out of memory");
    }
    return 0;
}

int vcd_header(vcd_stream *in, tb_wave *wave, vcd_ids *ids) {
    for (;;) {
        if (need(in, "$enddefinitions") != 0) {
            return -1;
        }
        int status = 0;
        if (in->token[0] != '$') {
            return fail(in, "'%.32s' in the header, expected a keyword", in->token);
        }
        if (strcmp(in->token, "$enddefinitions") == 0) {
            return skip_to_end(in);
        }
        if (strcmp(in->token, "$end") == 0) {
            continue; /* some writers end a section twice */
        }
        if (wave == NULL) {
            status = skip_to_end(in);
        } else if (strcmp(in->token, "$var") == 0) {
            status = read_var(in, wave, ids);
        } else if (strcmp(in->token, "$scope") == 0) {
            status = read_scope(in, wave);
        } else if (strcmp(in->token, "$upscope") == 0) {
            status = wave_upscope(wave) == 0 ? skip_to_end(in) : fail(in, "$upscope outside of every scope");
        } else if (strcmp(in->token, "$timescale") == 0) {
            status = read_timescale(in, wave);
        } else {
            status = skip_to_end(in);
        }
        if (status != 0) {
            return -1;
        }
    }
}

/* ---- values ---- */

/* Called for each change, so without a call of the C library. */
static bool is_state(char c) {
    return c == '0' || c == '1' || c == 'x' || c == 'X' || c == 'z' || c == 'Z';
}

static bool is_vector(char c) {
    return c == 'b' || c == 'B' || c == 'r' || c == 'R' || c == 's' || c == 'S';
}

/* What does not fit into its variable, whatever the sink wants: other digits than zeros before it, a real, a text. */
static int misfit(vcd_stream *in, const char *bits, size_t len, const char *id, uint32_t width) {
    const size_t digits = len - strspn(bits, "0");
    return len == 0         ? fail(in, "a real or text, but '%.32s' has %u bits", id, width)
           : digits > width ? fail(in, "value of %zu digits, but '%.32s' has %u bits", digits, id, width)
                            : 0;
}

/* A change is in in->token; the identifier of a vector follows. 0, 1 when the sink has enough, -1. */
static int read_change(vcd_stream *in, const tb_wave *wave, const vcd_ids *ids, uint64_t time, wave_sink *sink) {
    const char kind = in->token[0];
    char scalar[2] = {kind, '\0'};
    const char *bits = scalar;
    const char *id = in->token + 1;
    char *vector = NULL;
    size_t len = 1;
    if (is_vector(kind)) {
        len = in->len - 1;
        const bool used = (kind == 'b' || kind == 'B') && sink != NULL;
        if ((kind == 'b' || kind == 'B') && (len == 0 || strspn(in->token + 1, "01xXzZ") != len)) {
            return fail(in, "value '%.32s', expected digits 0, 1, x, z", in->token);
        }
        vector = used ? malloc(len + 1) : NULL;
        if (used && vector == NULL) {
            return fail(in, "out of memory");
        }
        if (used) {
            memcpy(vector, in->token + 1, len + 1);
        }
        bits = used ? vector : "";
        len = used ? len : 0;
        if (need(in, "an identifier") != 0) {
            free(vector);
            return -1;
        }
        id = in->token;
    } else if (!is_state(kind)) {
        return fail(in, "'%.32s', expected a value, a time or a keyword", in->token);
    }
    uint32_t handle = 0;
    int status = 0;
    if (!vcd_ids_find(ids, id, &handle)) {
        status = fail(in, "value of the unknown identifier '%.32s'", id);
    } else if (sink != NULL && wave->width[handle] > 0 && (len == 0 || len > wave->width[handle])) {
        status = misfit(in, bits, len, id, wave->width[handle]);
        status = status == 0 && wave_put(sink, time, handle, bits, len) != 0 ? 1 : status;
    } else if (sink != NULL) {
        status = wave_put(sink, time, handle, bits, len) != 0 ? 1 : 0;
    }
    free(vector);
    return status;
}

static int read_time(vcd_stream *in, uint64_t *time) {
    uint64_t t = 0;
    if (in->token[1] == '\0' || strspn(in->token + 1, "0123456789") != in->len - 1 ||
        !opt_number(in->token + 1, 0, UINT64_MAX, &t)) {
        return fail(in, "'%.32s', expected a time", in->token);
    }
    if (t < *time) {
        return fail(in, "time %llu after time %llu", (unsigned long long)t, (unsigned long long)*time);
    }
    *time = t;
    return 0;
}

int vcd_values(vcd_stream *in, tb_wave *wave, const vcd_ids *ids, wave_sink *sink) {
    static const char *const dump[] = {"$dumpvars", "$dumpall", "$dumpon", "$dumpoff", "$end"};
    uint64_t time = 0;
    bool begun = false;
    int got;
    while ((got = token(in)) > 0) {
        int status = 0;
        if (in->token[0] == '#') {
            status = read_time(in, &time);
            wave->first = !begun && sink == NULL ? time : wave->first;
            begun = true;
            if (status == 0 && sink != NULL && time > sink->to) {
                return 0;
            }
        } else if (in->token[0] == '$') {
            bool values = false;
            for (size_t i = 0; i < sizeof dump / sizeof dump[0]; i++) {
                values |= strcmp(in->token, dump[i]) == 0;
            }
            status = values ? 0 : skip_to_end(in);
        } else {
            begun = true;
            status = read_change(in, wave, ids, time, sink);
        }
        if (status != 0) {
            return status > 0 ? 0 : -1;
        }
    }
    wave->last = sink == NULL ? time : wave->last;
    return got;
}
