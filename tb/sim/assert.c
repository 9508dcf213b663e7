/* assert.c - the simulator's message of a failed assertion as text for people and as a signature. */
#include "sim.h"

#include <stdio.h>

/* Character of a file name or path. */
static bool name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '-';
}

void tb_sim_assert_signature(const char *message, char *dst, size_t size) {
    /* the first "<file>.<ext>:<digits>" */
    for (const char *colon = strchr(message, ':'); colon != NULL; colon = strchr(colon + 1, ':')) {
        if (colon[1] < '0' || colon[1] > '9') {
            continue;
        }
        const char *start = colon;
        while (start > message && name_char(start[-1])) {
            start--;
        }
        if (memchr(start, '.', (size_t)(colon - start)) == NULL) {
            continue;
        }
        const char *end = colon + 1;
        while (*end >= '0' && *end <= '9') {
            end++;
        }
        snprintf(dst, size, "assert:%.*s", (int)(end - start), start);
        return;
    }
    char text[48];
    size_t n = 0;
    for (const char *p = message; *p != '\0' && n + 1 < sizeof text; p++) {
        if (!(*p >= '0' && *p <= '9')) {
            text[n++] = *p == ' ' ? '_' : *p;
        }
    }
    text[n] = '\0';
    snprintf(dst, size, "assert:%s", text);
}

/* The model and its top module have one name: "top.top.u_fifo" is "top.u_fifo" in the design. */
static const char *inside(const char *path, size_t *len) {
    const char *dot = memchr(path, '.', *len);
    const size_t top = dot != NULL ? (size_t)(dot - path) : 0;
    if (dot != NULL && *len > 2 * top + 1 && strncmp(dot + 1, path, top) == 0 && dot[1 + top] == '.') {
        *len -= top + 1;
        return dot + 1;
    }
    return path;
}

void tb_sim_assert_text(const char *message, char *dst, size_t size, char *path, size_t path_size) {
    static const char head[] = "%Error: ", failed[] = ": Assertion failed in ";
    const char *file = strstr(message, head);
    const char *scope = file != NULL ? strstr(file, failed) : NULL;
    path[0] = '\0';
    if (scope == NULL) {
        snprintf(dst, size, "%s", message);
        return;
    }
    file += sizeof head - 1;
    const int file_len = (int)(scope - file);
    scope += sizeof failed - 1;
    /* "<scope>: <text>", where the text may begin with the scope again, because $error("%m: ...") says so */
    size_t scope_len = strcspn(scope, ": ");
    const char *text = scope + scope_len + strspn(scope + scope_len, ": ");
    if (strncmp(text, scope, scope_len) == 0 && text[scope_len] == ':') {
        text += scope_len + 1 + strspn(text + scope_len + 1, " ");
    }
    scope = inside(scope, &scope_len);
    snprintf(path, path_size, "%.*s", (int)scope_len, scope);
    snprintf(dst, size, "%.*s: %s (%.*s)", (int)scope_len, scope, text[0] != '\0' ? text : "assertion failed", file_len,
             file);
}
