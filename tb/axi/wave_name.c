/*
 * Names of signals: which signal of a bus, of which port.
 *
 * A name is parsed from its end: index of an array, direction (_i, _o, _in, _out), field (valid, addr ...), filler
 * of generated code (bits, payload), channel, and what is left is the stem. What is before the channel must end there:
 * "m_axi_awvalid", "m0awvalid", "maxiawvalid", but not "gear_valid".
 */
#include "wave_name.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool is_separator(char c) {
    return c == '_' || c == '.';
}

bool axi_name_fold(const char *text, char *dst) {
    size_t n = 0;
    for (; text[n] != '\0'; n++) {
        if (n + 1 >= AXI_NAME_MAX) {
            return false;
        }
        dst[n] = (char)tolower((unsigned char)text[n]);
    }
    dst[n] = '\0';
    return true;
}

static bool ends_with(const char *text, size_t len, const char *end) {
    const size_t n = strlen(end);
    return len >= n && strncasecmp(text + len - n, end, n) == 0;
}

/* Cut a direction off the end. 'i', 'o' or 0. */
static char cut_direction(const char *text, size_t *len) {
    static const struct {
        const char *end;
        char direction;
        uint8_t keep; /* characters that are kept: the n of "rst_ni" */
    } ends[] = {{"_in", 'i', 0}, {"_out", 'o', 0}, {"_ni", 'i', 2}, {"_no", 'o', 2}, {"_i", 'i', 0}, {"_o", 'o', 0}};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (ends_with(text, *len, ends[i].end)) {
            *len -= strlen(ends[i].end) - ends[i].keep;
            return ends[i].direction;
        }
    }
    return '\0';
}

/* The same at the beginning: "i_axi_awvalid"; returns what follows. */
static const char *cut_front(const char *text, size_t *len, char *direction) {
    if (*len > 2 && *direction == '\0' && text[1] == '_' && strchr("iIoO", text[0]) != NULL) {
        *direction = (char)tolower((unsigned char)text[0]);
        *len -= 2;
        return text + 2;
    }
    return text;
}

/* Length of the stem if the name ends with this signal, -1: it does not. */
static long stem_of(const char *text, size_t len, const tb_axi_signal_info *info) {
    static const char *const fillers[] = {"", "_", ".", "_bits_", ".bits.", "_payload_", ".payload."};
    char channel[3];
    snprintf(channel, sizeof channel, "%s", tb_axi_channel_name(info->channel));
    const char *field = info->name + strlen(channel);
    if (!ends_with(text, len, field)) {
        return -1;
    }
    const size_t before = len - strlen(field);
    for (size_t i = 0; i < sizeof fillers / sizeof fillers[0]; i++) {
        if (!ends_with(text, before, fillers[i])) {
            continue;
        }
        const size_t at = before - strlen(fillers[i]);
        if (!ends_with(text, at, channel)) {
            continue;
        }
        const size_t n = at - strlen(channel);
        if (n == 0 || is_separator(text[n - 1]) || isdigit((unsigned char)text[n - 1]) || ends_with(text, n, "axi")) {
            return (long)n;
        }
    }
    return -1;
}

/* Does a master drive it? */
static bool of_master(tb_axi_signal signal) {
    const tb_axi_signal_info *info = tb_axi_signal_get(signal);
    const bool back = info->channel == TB_AXI_B || info->channel == TB_AXI_R;
    return ends_with(info->name, strlen(info->name), "READY") ? back : !back;
}

/* The length without indices of arrays at the end: "awvalid[1]", "m_req[1][0]". */
static size_t before_index(const char *text, size_t len) {
    for (size_t at = len; at > 0 && text[at - 1] == ']'; len = at) {
        size_t open = at - 1;
        while (open > 0 && isdigit((unsigned char)text[open - 1])) {
            open--;
        }
        if (open == 0 || open == at - 1 || text[open - 1] != '[') {
            return len;
        }
        at = open - 1;
    }
    return len;
}

/* Two structs, one for each direction, are one port: "slv_req_i.aw" and "slv_resp_o.b" have the stem "slv". */
static bool cut_struct(const char *text, size_t *len, char *direction) {
    static const char *const ends[] = {"_req", "_resp", "_rsp"};
    char own = cut_direction(text, len);
    *direction = *direction == '\0' ? own : *direction;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (ends_with(text, *len, ends[i])) {
            *len -= strlen(ends[i]);
            return true;
        }
    }
    return false;
}

bool axi_name_struct(const char *name) {
    char direction = '\0';
    size_t len = before_index(name, strlen(name));
    return cut_struct(name, &len, &direction);
}

/* What stands before the word, which begins at `n`, without separators at its end, and the indices of arrays. */
static void write_stem(const char *name, size_t n, const char *index, char *direction, char *stem) {
    const char *outer = index; /* of an array of structs */
    size_t outer_len = 0;
    const bool record = n > 0 && name[n - 1] == '.';
    while (n > 0 && is_separator(name[n - 1])) {
        n--;
    }
    if (record) {
        const size_t end = before_index(name, n);
        outer = name + end;
        outer_len = n - end;
        n = end;
        (void)cut_struct(name, &n, direction);
    }
    snprintf(stem, AXI_NAME_MAX, "%.*s%.*s%s", (int)n, name, (int)outer_len, outer, index);
}

/* Where "tdata", "t_data" or "t.data" begins at the end of a name of `len` letters; -1: it has another end. */
static long word_at(const char *name, size_t len, const char *word) {
    const size_t size = strlen(word) - 1; /* without the letter of the channel */
    size_t at = len;
    if (!ends_with(name, len, word + 1) || at <= size) {
        return -1;
    }
    at -= size;
    at -= at > 1 && is_separator(name[at - 1]) ? 1 : 0;
    if (tolower((unsigned char)name[at - 1]) != word[0]) {
        return -1;
    }
    at--;
    return at == 0 || is_separator(name[at - 1]) || isdigit((unsigned char)name[at - 1]) ||
                   ends_with(name, at, "axis") || ends_with(name, at, "apb")
               ? (long)at
               : -1;
}

size_t axi_name_word(const char *name, const char *const *words, size_t count, char *stem) {
    size_t len = strlen(name);
    if (len + 1 >= AXI_NAME_MAX) {
        return count;
    }
    const size_t index_len = len - before_index(name, len);
    const char *index = name + len - index_len;
    len -= index_len;
    char direction = cut_direction(name, &len);
    name = cut_front(name, &len, &direction);
    for (size_t i = 0; i < count; i++) {
        const long at = word_at(name, len, words[i]);
        if (at >= 0) {
            write_stem(name, (size_t)at, index, &direction, stem);
            return i;
        }
    }
    return count;
}

void axi_name_read(const char *name, axi_name *out) {
    size_t len = strlen(name);
    const size_t index_len = len - before_index(name, len);
    const char *index = name + len - index_len;
    char direction;
    long best = -1;
    out->signal = TB_AXI_SIGNALS;
    out->side = TB_AXI_SIDE_ANY;
    out->stem[0] = '\0';
    if (len + 1 >= AXI_NAME_MAX) {
        return;
    }
    len -= index_len;
    direction = cut_direction(name, &len);
    name = cut_front(name, &len, &direction);
    for (unsigned i = TB_AXI_AWVALID; i < TB_AXI_SIGNALS; i++) {
        const long n = stem_of(name, len, tb_axi_signal_get((tb_axi_signal)i));
        if (n >= 0 && (best < 0 || n < best)) {
            best = n;
            out->signal = (tb_axi_signal)i;
        }
    }
    if (best < 0) {
        return;
    }
    write_stem(name, (size_t)best, index, &direction, out->stem);
    if (direction != '\0') {
        out->side = (direction == 'o') == of_master(out->signal) ? TB_AXI_SIDE_MASTER : TB_AXI_SIDE_SLAVE;
    }
}

bool axi_name_is(const tb_wave_signal *s, const char *path) {
    char full[2 * AXI_NAME_MAX];
    snprintf(full, sizeof full, "%s%s%s", s->scope, s->scope[0] != '\0' ? "." : "", s->name);
    const char *dot = s->scope[0] != '\0' ? strchr(full, '.') : NULL;
    return strcasecmp(full, path) == 0 || (dot != NULL && strcasecmp(dot + 1, path) == 0);
}

/* ---- clock and reset ---- */

/*
 * Rank of a name in a list of usual ones, with the stem of the port before it, a part of the stem, or nothing: the
 * longer the better. 0: not in the list. The name is folded and has no direction.
 */
static unsigned usual(const char *name, const char *stem, const char *const *list, size_t count) {
    char folded[AXI_NAME_MAX];
    unsigned lost = 0; /* parts of the stem that the name does not have */
    if (!axi_name_fold(stem, folded)) {
        return 0;
    }
    for (size_t n = strlen(folded);; lost++) {
        const bool fits = n == 0 || (strncmp(name, folded, n) == 0 && is_separator(name[n]));
        for (size_t i = 0; fits && i < count; i++) {
            if (strcmp(name + n + (n > 0 ? 1 : 0), list[i]) == 0) {
                return 1 + lost * (unsigned)count + (unsigned)i;
            }
        }
        if (n == 0) {
            return 0;
        }
        while (n > 0 && !is_separator(folded[n - 1])) {
            n--;
        }
        n -= n > 0 ? 1 : 0;
    }
}

/* Folded, without direction. False: too long. */
static bool plain(const char *name, char *dst) {
    char direction;
    if (!axi_name_fold(name, dst)) {
        return false;
    }
    size_t len = strlen(dst);
    direction = cut_direction(dst, &len);
    dst[len] = '\0';
    const char *rest = cut_front(dst, &len, &direction);
    memmove(dst, rest, len + 1);
    return true;
}

unsigned axi_name_clock(const char *name, const char *stem) {
    static const char *const list[] = {"aclk", "clk", "clock", "axi_aclk", "axi_clk", "axi_clock", "aclock", "ck"};
    char text[AXI_NAME_MAX];
    if (!plain(name, text)) {
        return 0;
    }
    const unsigned place = usual(text, stem, list, sizeof list / sizeof list[0]);
    const size_t len = strlen(text);
    const bool vague = ends_with(text, len, "clk") || ends_with(text, len, "clock");
    return place != 0 ? place : vague ? AXI_NAME_VAGUE : 0;
}

int axi_name_level(const char *name) {
    char text[AXI_NAME_MAX];
    if (!plain(name, text)) {
        return 1;
    }
    const size_t len = strlen(text);
    const bool low = ends_with(text, len, "n") || ends_with(text, len, "rstb") || ends_with(text, len, "resetb") ||
                     ends_with(text, len, "_b") || strncmp(text, "nrst", 4) == 0 || strncmp(text, "nreset", 6) == 0 ||
                     strncmp(text, "n_r", 3) == 0 || strstr(text, "_nrst") != NULL || strstr(text, "_nreset") != NULL;
    return low ? 0 : 1;
}

/* Is the end of a name from `at` on a word, with at most one more letter ("prst_n")? "first" and "burst" are no
 * resets. */
static bool begins_word(const char *text, size_t at, const char *end) {
    return strncmp(end, "reset", 5) == 0 || at == 0 || is_separator(text[at - 1]) || at == 1 ||
           is_separator(text[at - 2]);
}

unsigned axi_name_reset(const char *name, const char *stem, int *level) {
    static const char *const list[] = {
        "aresetn", "areset_n", "arstn",       "arst_n",     "resetn",   "reset_n",   "rstn",      "rst_n",  "nreset",
        "nrst",    "n_reset",  "n_rst",       "resetb",     "reset_b",  "rstb",      "rst_b",     "areset", "arst",
        "reset",   "rst",      "axi_aresetn", "axi_resetn", "axi_rstn", "axi_rst_n", "axi_areset"};
    static const char *const ends[] = {"resetn",  "reset_n", "rstn",  "rst_n", "resetb",
                                       "reset_b", "rstb",    "rst_b", "reset", "rst"};
    char text[AXI_NAME_MAX];
    bool vague = false;
    if (!plain(name, text)) {
        return 0;
    }
    const unsigned place = usual(text, stem, list, sizeof list / sizeof list[0]);
    const size_t len = strlen(text);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        vague |= ends_with(text, len, ends[i]) && begins_word(text, len - strlen(ends[i]), ends[i]);
    }
    *level = axi_name_level(name);
    return place != 0 ? place : vague ? AXI_NAME_VAGUE : 0;
}
