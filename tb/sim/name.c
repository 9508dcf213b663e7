/* name.c - ports by the word that a protocol has for them, in the usual ways to spell it. */
#include <stdio.h>

#include "sim.h"

/* `prefix` as it is, of `length` letters. */
static tb_sig find_in(const tb_sim *sim, const char *prefix, size_t length, const char *word) {
    static const char *const suffix[] = {"", "_i", "_o"};
    const char *star = (const char *)memchr(prefix, '*', length);
    const size_t head = star != NULL ? (size_t)(star - prefix) : length;
    char upper[32];
    snprintf(upper, sizeof upper, "%s", word);
    for (char *c = upper; *c != '\0'; c++) {
        *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    }
    for (unsigned i = 0; i < 6; i++) {
        char full[160];
        snprintf(full, sizeof full, "%.*s%s%.*s%s", (int)head, prefix, i < 3 ? word : upper,
                 star != NULL ? (int)(length - head - 1) : 0, star != NULL ? star + 1 : "", suffix[i % 3]);
        const tb_sig s = tb_sim_find(sim, full);
        if (s.ptr != NULL) {
            return s;
        }
    }
    return (tb_sig){.ptr = NULL, .width = 0};
}

tb_sig tb_sim_find_word(const tb_sim *sim, const char *prefix, const char *word) {
    for (;;) {
        const size_t length = strcspn(prefix, ",");
        const tb_sig s = find_in(sim, prefix, length, word);
        if (s.ptr != NULL || prefix[length] == '\0') {
            return s;
        }
        prefix += length + 1;
    }
}

tb_sig tb_sim_find_split(const tb_sim *sim, const char *prefix, const char *word, unsigned channel) {
    static const char joint[] = {'_', '.'};
    tb_sig s = tb_sim_find_word(sim, prefix, word);
    for (size_t i = 0; i < sizeof joint && s.ptr == NULL; i++) {
        char split[32];
        snprintf(split, sizeof split, "%.*s%c%s", (int)channel, word, joint[i], word + channel);
        s = tb_sim_find_word(sim, prefix, split);
    }
    return s;
}
