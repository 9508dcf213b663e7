/* name.c - ports by the word that a protocol has for them, in the usual ways to spell it. */
#include <stdio.h>

#include "sim.h"

tb_sig tb_sim_find_word(const tb_sim *sim, const char *prefix, const char *word) {
    static const char *const suffix[] = {"", "_i", "_o"};
    const char *star = strchr(prefix, '*');
    const size_t head = star != NULL ? (size_t)(star - prefix) : strlen(prefix);
    char upper[32];
    snprintf(upper, sizeof upper, "%s", word);
    for (char *c = upper; *c != '\0'; c++) {
        *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    }
    for (unsigned i = 0; i < 6; i++) {
        char full[160];
        snprintf(full, sizeof full, "%.*s%s%s%s", (int)head, prefix, i < 3 ? word : upper, star != NULL ? star + 1 : "",
                 suffix[i % 3]);
        const tb_sig s = tb_sim_find(sim, full);
        if (s.ptr != NULL) {
            return s;
        }
    }
    return (tb_sig){.ptr = NULL, .width = 0};
}
