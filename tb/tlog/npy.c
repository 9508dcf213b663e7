/* npy.c - headers of .npy files: written in one form, read in all that the format allows. */
#include "tlog/npy.h"
#include "opt/opt.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#define MAGIC "\x93NUMPY\x01\x00"
#define PREFIX 10u    /* bytes: magic, version, length of the dictionary */
#define LONGEST 4096u /* bytes of a dictionary that is read */
#define ALIGN 64u

static const struct {
    const char *descr;
    size_t bytes;
} types[] = {[TB_TLOG_I8] = {"|i1", 1},  [TB_TLOG_U8] = {"|u1", 1},  [TB_TLOG_I32] = {"<i4", 4},
             [TB_TLOG_U32] = {"<u4", 4}, [TB_TLOG_F32] = {"<f4", 4}, [TB_TLOG_U64] = {"<u8", 8}};
#define TYPES (sizeof types / sizeof *types)

size_t tb_npy_bytes(tb_tlog_type type) {
    return types[type].bytes;
}

int tb_npy_elements(const tb_npy *npy, uint64_t *out) {
    uint64_t n = 1;
    if (npy->axes == 0 || npy->axes > TB_TLOG_AXES) {
        return -1;
    }
    for (unsigned i = 0; i < npy->axes; i++) {
        if (__builtin_mul_overflow(n, (uint64_t)npy->size[i], &n) || n > (uint64_t)INT64_MAX / 8) {
            return -1;
        }
    }
    *out = n;
    return 0;
}

size_t tb_npy_header(const tb_npy *npy, size_t least, uint8_t dst[TB_NPY_HEADER]) {
    char *text = (char *)dst + PREFIX;
    const size_t room = TB_NPY_HEADER - PREFIX;
    size_t at =
        (size_t)snprintf(text, room, "{'descr': '%s', 'fortran_order': False, 'shape': (", types[npy->type].descr);
    for (unsigned i = 0; i < npy->axes; i++) {
        at += (size_t)snprintf(text + at, room - at, i == 0 ? "%zu" : " %zu", npy->size[i]);
        if (i + 1 < npy->axes || npy->axes == 1) {
            text[at++] = ',';
        }
    }
    at += (size_t)snprintf(text + at, room - at, "), }");
    const size_t fits = (PREFIX + at + 1 + ALIGN - 1) / ALIGN * ALIGN, whole = fits < least ? least : fits;
    memset(text + at, ' ', whole - PREFIX - at);
    dst[whole - 1] = '\n';
    memcpy(dst, MAGIC, sizeof MAGIC - 1);
    dst[8] = (uint8_t)((whole - PREFIX) & 255u);
    dst[9] = (uint8_t)((whole - PREFIX) >> 8);
    return whole;
}

/* ---- the dictionary: literals of Python, with blanks anywhere ---- */

static void blanks(const char **p) {
    *p += strspn(*p, " \t\n");
}

/* The character `c`, with blanks around it. */
static bool sign(const char **p, char c) {
    blanks(p);
    if (**p != c) {
        return false;
    }
    (*p)++;
    blanks(p);
    return true;
}

/* A text in quotes of either kind, without escapes. */
static bool quoted(const char **p, char *dst, size_t size) {
    blanks(p);
    const char quote = **p;
    if (quote != '\'' && quote != '"') {
        return false;
    }
    const char *end = strchr(*p + 1, quote);
    if (end == NULL || (size_t)(end - *p - 1) >= size) {
        return false;
    }
    memcpy(dst, *p + 1, (size_t)(end - *p - 1));
    dst[end - *p - 1] = '\0';
    *p = end + 1;
    return true;
}

static bool word(const char **p, const char *w) {
    blanks(p);
    const size_t n = strlen(w);
    if (strncmp(*p, w, n) != 0) {
        return false;
    }
    *p += n;
    return true;
}

static bool number(const char **p, size_t *out) {
    size_t v = 0;
    if (**p < '0' || **p > '9') {
        return false;
    }
    for (; **p >= '0' && **p <= '9'; (*p)++) {
        if (__builtin_mul_overflow(v, (size_t)10, &v) || __builtin_add_overflow(v, (size_t)(**p - '0'), &v)) {
            return false;
        }
    }
    *out = v;
    return true;
}

/* "(2, 3)", "(7,)"; NULL or what is wrong. */
static const char *shape(const char **p, tb_npy *npy) {
    npy->axes = 0;
    if (!sign(p, '(')) {
        return "a damaged shape";
    }
    while (**p != ')') {
        if (npy->axes == TB_TLOG_AXES) {
            return "a shape of more than four axes";
        }
        if (!number(p, &npy->size[npy->axes++])) {
            return "a damaged shape";
        }
        if (!sign(p, ',') && **p != ')') {
            return "a damaged shape";
        }
    }
    (*p)++;
    return npy->axes == 0 ? "a shape without axes" : NULL;
}

static const char *value(const char **p, const char *key, unsigned *seen, tb_npy *npy) {
    char text[16];
    if (strcmp(key, "shape") == 0) {
        *seen |= 1u;
        return shape(p, npy);
    }
    if (strcmp(key, "fortran_order") == 0) {
        *seen |= 2u;
        return word(p, "False") ? NULL : "an order of elements other than C's";
    }
    if (strcmp(key, "descr") != 0 || !quoted(p, text, sizeof text)) {
        return "a damaged header";
    }
    *seen |= 4u;
    for (unsigned i = 0; i < TYPES; i++) {
        if (strcmp(text, types[i].descr) == 0) {
            npy->type = (tb_tlog_type)i;
            return NULL;
        }
    }
    return "a type other than |i1, |u1, <i4, <u4, <f4, <u8";
}

static const char *dictionary(const char *p, tb_npy *npy) {
    unsigned seen = 0;
    char key[16];
    if (!sign(&p, '{')) {
        return "a damaged header";
    }
    while (*p != '}') {
        if (!quoted(&p, key, sizeof key) || !sign(&p, ':')) {
            return "a damaged header";
        }
        const char *wrong = value(&p, key, &seen, npy);
        if (wrong != NULL) {
            return wrong;
        }
        if (!sign(&p, ',') && *p != '}') {
            return "a damaged header";
        }
    }
    return seen == 7u ? NULL : "a header without descr, fortran_order or shape";
}

static const char *header(FILE *f, tb_npy *npy, uint64_t *bytes) {
    uint8_t prefix[PREFIX];
    char text[LONGEST + 1];
    if (fread(prefix, 1, PREFIX, f) != PREFIX || memcmp(prefix, MAGIC, 6) != 0) {
        return "no .npy file";
    }
    if (prefix[6] != 1 || prefix[7] != 0) {
        return "a version other than 1.0";
    }
    const size_t length = prefix[8] | (size_t)prefix[9] << 8;
    if (length > LONGEST || fread(text, 1, length, f) != length || memchr(text, '\0', length) != NULL) {
        return "a damaged header";
    }
    text[length] = '\0';
    *bytes = PREFIX + length;
    return dictionary(text, npy);
}

int tb_npy_read(FILE *f, const char *path, tb_npy *npy, char *err, size_t err_size) {
    struct stat st;
    uint64_t begin = 0;
    memset(npy, 0, sizeof *npy);
    const char *wrong = header(f, npy, &begin);
    if (wrong == NULL && tb_npy_elements(npy, &npy->elements) != 0) {
        wrong = "a shape that is too large";
    }
    if (wrong != NULL) {
        return opt_fail(err, err_size, "%s: %s, expected a .npy file of version 1.0, little endian", path, wrong);
    }
    const uint64_t need = npy->elements * tb_npy_bytes(npy->type);
    if (fstat(fileno(f), &st) != 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size != begin + need) {
        return opt_fail(err, err_size, "%s: expected %" PRIu64 " bytes of data after the header, as the shape says",
                        path, need);
    }
    return 0;
}
