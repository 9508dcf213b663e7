/* put.c - text into JSON and into pages. */
#include "tool.h"

#include <inttypes.h>
#include <string.h>

/* Bytes of the UTF-8 sequence at p; 0: it is none. */
static size_t sequence(const unsigned char *p) {
    const size_t length = p[0] < 0x80                   ? 1
                          : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
                          : p[0] >= 0xe0 && p[0] < 0xf0 ? 3
                          : p[0] >= 0xf0 && p[0] < 0xf5 ? 4
                                                        : 0;
    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    const bool odd = length >= 3 && ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0) || (p[0] == 0xf0 && p[1] < 0x90) ||
                                     (p[0] == 0xf4 && p[1] >= 0x90));
    return odd ? 0 : length;
}

/* Text with the ASCII characters of `special` replaced. */
static void put(FILE *out, const char *text, const char *special, const char *const *instead) {
    const unsigned char *p = (const unsigned char *)text;
    while (*p != '\0') {
        const size_t length = sequence(p);
        const char *at = length == 1 ? strchr(special, *p) : NULL;
        if (at != NULL) {
            fputs(instead[at - special], out);
        } else if (length == 0 || *p < 0x20) {
            fputc('?', out);
        } else {
            (void)fwrite(p, 1, length, out);
        }
        p += length == 0 ? 1 : length;
    }
}

void put_json(FILE *out, const char *text) {
    static const char *const instead[] = {"\\\"", "\\\\"};
    fputc('"', out);
    put(out, text, "\"\\", instead);
    fputc('"', out);
}

void put_html(FILE *out, const char *text) {
    static const char *const instead[] = {"&lt;", "&gt;", "&amp;", "&quot;"};
    put(out, text, "<>&\"", instead);
}

void put_score(FILE *out, const cov_score *s) {
    fprintf(out,
            "\"percent\": %.2f, \"total\": %" PRIu64 ", \"covered\": %" PRIu64 ", \"illegal_hits\": %" PRIu64 ", \"ignored\": %" PRIu64,
            s->percent, s->total, s->covered, s->illegal, s->ignored);
}
