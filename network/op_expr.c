/*
 * op_expr.c - sizes by expression, as current ncnn has them in Reshape and Interp: a list of terms in prefix notation,
 * "//(0w,2),*(0h,2),0c". 0w, 1h, 2c are sizes of the layer's inputs (w, h, d, c; 1 where a blob has no such dimension),
 * brackets and commas only separate: "/ 0w 2" is the same as "/(0w,2)". Terms of integers are integers; / and functions
 * of floats give floats, and a float becomes a size by truncation.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op.h"

#define DEPTH 64u /* values that wait */

typedef struct term {
    bool real;
    int64_t i; /* within 32 bits */
    float f;
} term;

static float real_of(const term *t) {
    return t->real ? t->f : (float)t->i;
}

static bool whole(term *t, double value) {
    *t = (term){.i = value >= -2147483648.0 && value <= 2147483647.0 ? (int64_t)value : 0};
    return value >= -2147483648.0 && value <= 2147483647.0; /* false for NaN, too */
}

/* "0w": a size of an input. */
static bool size_word(const net_shape *const *in, uint32_t num_in, const char *word, term *t) {
    const char *which = strlen(word) == 2 ? strchr("wdhc", word[1]) : NULL;
    if (which == NULL || word[0] < '0' || word[0] > '9' || (uint32_t)(word[0] - '0') >= num_in) {
        return false;
    }
    const net_shape *s = in[word[0] - '0'];
    *t = (term){.i = *which == 'w' ? s->w : *which == 'h' ? s->h : *which == 'c' ? s->c : s->dims == 4 ? s->d : 1};
    return true;
}

static bool literal(const char *word, term *t) {
    char *end = NULL;
    const double value = strtod(word, &end);
    if (end == word || *end != '\0' || !isfinite(value)) {
        return false;
    }
    *t = (term){.real = value != trunc(value) || fabs(value) > 2147483647.0, .f = (float)value};
    t->i = t->real ? 0 : (int64_t)value;
    return true;
}

/* The number of a word, or `count`. */
static uint32_t number_of(const char *word, const char *const *words, uint32_t count) {
    uint32_t n = 0;
    while (n < count && strcmp(word, words[n]) != 0) {
        n++;
    }
    return n;
}

/* Functions of two values; *known: the word is one of them. */
static bool binary(const char *word, const term *a, const term *b, term *t, bool *known) {
    enum { ADD, SUB, MUL, DIV_WHOLE, MAX, MIN, DIV, COUNT };
    static const char *const words[COUNT] = {"+", "-", "*", "//", "max", "min", "/"};
    const uint32_t n = number_of(word, words, COUNT);
    *known = n < COUNT;
    if (!*known || (n == DIV_WHOLE && !a->real && !b->real && b->i == 0)) {
        return false;
    }
    if (n == DIV || a->real || b->real) {
        const float x = real_of(a);
        const float y = real_of(b);
        const float r[COUNT] = {x + y, x - y, x * y, floorf(x / y), x > y ? x : y, x < y ? x : y, x / y};
        *t = (term){.real = true, .f = r[n]};
        return isfinite(t->f);
    }
    const int64_t r[DIV] = {a->i + b->i,
                            a->i - b->i,
                            a->i * b->i,
                            n == DIV_WHOLE ? a->i / b->i : 0,
                            a->i > b->i ? a->i : b->i,
                            a->i < b->i ? a->i : b->i};
    return whole(t, (double)r[n]);
}

/* Functions of one value. Of a real one the first three and the sign are real, too; a root always is. */
static bool unary(const char *word, const term *a, term *t, bool *known) {
    enum { ABS, NEG, SQUARE, TRUNC, FLOOR, CEIL, ROUND, ROOT, SIGN, COUNT };
    static const char *const words[COUNT] = {"abs", "neg", "square", "trunc", "floor", "ceil", "round", "sqrt", "sign"};
    const double x = a->real ? (double)a->f : (double)a->i;
    const double r[COUNT] = {fabs(x), -x, x * x, trunc(x), floor(x), ceil(x), round(x), 0, x > 0 ? 1 : x < 0 ? -1 : 0};
    const uint32_t n = number_of(word, words, COUNT);
    *known = n < COUNT;
    if (!*known) {
        return false;
    }
    if (n == ROOT || (a->real && (n < TRUNC || n == SIGN))) {
        *t = (term){.real = true, .f = n == ROOT ? sqrtf(real_of(a)) : n == SQUARE ? a->f * a->f : (float)r[n]};
        return isfinite(t->f);
    }
    return whole(t, r[n]);
}

/* The word that ends at text[*end - 1], separators before it skipped; *end: where it begins. "": none is left. */
static bool last_word(const char *text, size_t *end, char word[NET_WORD]) {
    while (*end > 0 && strchr("(), ", text[*end - 1]) != NULL) {
        (*end)--;
    }
    size_t first = *end;
    while (first > 0 && strchr("(), ", text[first - 1]) == NULL) {
        first--;
    }
    const size_t len = *end - first;
    if (len >= NET_WORD) {
        return false;
    }
    memcpy(word, text + first, len);
    word[len] = '\0';
    *end = first;
    return true;
}

/* One word, from the right to the left: values wait on the stack, functions take theirs from it. */
static bool step(const net_shape *const *in, uint32_t num_in, const char *word, term *stack, uint32_t *count) {
    term t = {0};
    bool known = false;
    if (size_word(in, num_in, word, &t) || literal(word, &t)) {
        if (*count == DEPTH) {
            return false;
        }
        stack[(*count)++] = t;
        return true;
    }
    if (*count >= 1 && unary(word, &stack[*count - 1], &t, &known)) {
        stack[*count - 1] = t;
        return true;
    }
    if (!known && *count >= 2 && binary(word, &stack[*count - 1], &stack[*count - 2], &t, &known)) {
        stack[--*count - 1] = t;
        return true;
    }
    return false;
}

const char *net_expression(const char *text, const net_shape *const *in, uint32_t num_in, int32_t *value, uint32_t most,
                           uint32_t *count, char word[NET_WORD]) {
    term stack[DEPTH];
    uint32_t waiting = 0;
    word[0] = '\0';
    for (size_t end = strlen(text); end > 0;) {
        if (!last_word(text, &end, word)) {
            memcpy(word, "...", 4);
            return "is too long";
        }
        if (word[0] != '\0' && !step(in, num_in, word, stack, &waiting)) {
            return "cannot be computed";
        }
    }
    word[0] = '\0';
    if (waiting == 0 || waiting > most) {
        return "has no sizes, or too many";
    }
    for (uint32_t i = 0; i < waiting; i++) {
        term t = stack[waiting - 1 - i];
        if (t.real && !whole(&t, (double)t.f)) {
            return "gives no size";
        }
        value[i] = (int32_t)t.i;
    }
    *count = waiting;
    return NULL;
}

net_status net_plan_expression(net_plan *p, uint32_t key, int32_t *value, uint32_t most, uint32_t *count) {
    const net_param *param = net_layer_param(p->layer, key);
    const net_shape *in[10]; /* those that a digit names */
    const uint32_t num_in = p->layer->num_in < 10 ? p->layer->num_in : 10;
    char word[NET_WORD];
    if (param == NULL || param->text == NULL) {
        return NET_BAD(p, "key %u is no text", key);
    }
    for (uint32_t i = 0; i < num_in; i++) {
        in[i] = net_plan_in(p, i);
    }
    const char *wrong = net_expression(param->text, in, num_in, value, most, count, word);
    return wrong == NULL     ? NET_OK
           : word[0] == '\0' ? NET_BAD(p, "the expression of key %u %s", key, wrong)
                             : NET_BAD(p, "the expression of key %u: '%s' %s", key, word, wrong);
}
