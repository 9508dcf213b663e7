/* text.c - text into XML, HTML, SVG and JSON. */
#include "report.h"

#include <stdarg.h>
#include <string.h>

size_t rep_utf8(const char *text, size_t length) {
    const unsigned char *p = (const unsigned char *)text;
    if (length == 0) {
        return 0;
    }
    if (p[0] < 0x80) {
        return p[0] >= 0x20 || p[0] == '\t' || p[0] == '\n' || p[0] == '\r' ? 1 : 0;
    }
    const size_t bytes = p[0] >= 0xc2 && p[0] < 0xe0   ? 2
                         : p[0] >= 0xe0 && p[0] < 0xf0 ? 3
                         : p[0] >= 0xf0 && p[0] < 0xf5 ? 4
                                                       : 0;
    if (bytes > length) {
        return 0;
    }
    for (size_t i = 1; i < bytes; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    const bool overlong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
    const bool forbidden = (p[0] == 0xed && p[1] >= 0xa0) || (p[0] == 0xf4 && p[1] >= 0x90) ||
                           (p[0] == 0xef && p[1] == 0xbf && p[2] >= 0xbe);
    return overlong || forbidden ? 0 : bytes;
}

void rep_xml(FILE *out, const char *text) {
    const size_t length = text == NULL ? 0 : strlen(text);
    for (size_t i = 0, bytes; i < length; i += bytes) {
        const char c = text[i];
        const char *entity = c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '"' ? "&quot;" : NULL;
        bytes = rep_utf8(text + i, length - i);
        if (bytes == 0) {
            fputc('?', out);
            bytes = 1;
        } else if (entity != NULL) {
            fputs(entity, out);
        } else if ((unsigned char)c < 0x20) {
            fprintf(out, "&#%d;", c); /* a reader would turn the line feed of an attribute into a space */
        } else {
            (void)fwrite(text + i, 1, bytes, out);
        }
    }
}

void rep_xmlf(FILE *out, const char *format, ...) {
    char text[REP_TEXT_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    rep_xml(out, text);
}

void rep_json(FILE *out, const char *text) {
    const size_t length = text == NULL ? 0 : strlen(text);
    fputc('"', out);
    for (size_t i = 0, bytes; i < length; i += bytes) {
        const unsigned char c = (unsigned char)text[i];
        bytes = rep_utf8(text + i, length - i);
        if (c < 0x20) {
            fprintf(out, "\\u%04x", c);
            bytes = 1;
        } else if (bytes == 0) {
            fputc('?', out);
            bytes = 1;
        } else {
            fputs(c == '"' || c == '\\' ? "\\" : "", out);
            (void)fwrite(text + i, 1, bytes, out);
        }
    }
    fputc('"', out);
}

void rep_number(FILE *out, const char *text) {
    const size_t length = text == NULL ? 0 : strlen(text);
    if (length == 0) {
        fputs("&#8211;", out);
    } else if (length < 5 || strspn(text, "0123456789") != length) {
        rep_xml(out, text);
    } else {
        for (size_t i = 0; i < length; i++) {
            fprintf(out, "%s%c", i != 0 && (length - i) % 3 == 0 ? "&#8239;" : "", text[i]);
        }
    }
}
