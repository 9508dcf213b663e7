/* plan_hint.c - hints as pins: "test:knob=value knob2=value2", several tests one after the other. */
#include "plan.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

bool plan_number(const char *text, size_t length, int64_t *value) {
    char copy[24];
    char *end = NULL;
    if (length == 0 || length >= sizeof copy || text[0] == '+' || text[0] == ' ') {
        return false;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    *value = strtoll(copy, &end, 10);
    return *end == '\0' && end != copy;
}

uint32_t plan_word_of(plan *p, const char *text, size_t length) {
    for (uint32_t i = 0; i < p->word_count; i++) {
        if (strncmp(p->words[i].text, text, length) == 0 && p->words[i].text[length] == '\0') {
            return i;
        }
    }
    if (!rep_more(&p->words, p->word_count, sizeof *p->words)) {
        return PLAN_NONE;
    }
    plan_word *word = &p->words[p->word_count];
    memset(word, 0, sizeof *word);
    word->text = strndup(text, length);
    word->number = plan_number(text, length, &word->value);
    return word->text == NULL ? PLAN_NONE : p->word_count++;
}

static plan_alt *add_alt(plan *p) {
    if (!rep_more(&p->alts, p->alt_count, sizeof *p->alts)) {
        return NULL;
    }
    memset(&p->alts[p->alt_count], 0, sizeof p->alts[0]);
    return &p->alts[p->alt_count++];
}

/* Words of a hint that are not pins are for people: they make no alternative, or end the one before. False: out of
 * memory. */
static bool read_hint(plan *p, plan_bin *bin, const char *hint) {
    plan_alt *alt = NULL;
    bin->alt_first = p->alt_count;
    for (const char *at = hint; *at != '\0'; at += strspn(at, " ")) {
        const size_t length = strcspn(at, " ");
        const char *colon = memchr(at, ':', length);
        const char *equals = memchr(at, '=', length);
        const char *knob = colon != NULL && (equals == NULL || colon < equals) ? colon + 1 : at;
        if (knob != at) {
            alt = add_alt(p);
            const uint32_t test = plan_word_of(p, at, (size_t)(knob - 1 - at));
            if (alt == NULL || test == PLAN_NONE) {
                return false;
            }
            alt->test = test;
        }
        if (equals == NULL && at + length > knob) {
            alt = NULL;
        }
        if (alt != NULL && equals != NULL && alt->count < PLAN_HINT_PINS) {
            plan_pin *pin = &alt->pins[alt->count++];
            pin->knob = plan_word_of(p, knob, (size_t)(equals - knob));
            pin->value = plan_word_of(p, equals + 1, (size_t)(at + length - equals - 1));
            if (pin->knob == PLAN_NONE || pin->value == PLAN_NONE) {
                return false;
            }
        }
        at += length;
    }
    bin->alt_count = p->alt_count - bin->alt_first;
    return true;
}

/* "1..4", "7", "9..": a range; an open upper end equals the lower one. */
static void read_range(plan_bin *bin, const char *values) {
    const char *dots = strstr(values, "..");
    const size_t length = dots == NULL ? strlen(values) : (size_t)(dots - values);
    bin->range = plan_number(values, length, &bin->lo);
    bin->hi = bin->lo;
    if (bin->range && dots != NULL && dots[2] != '\0') {
        bin->range = plan_number(dots + 2, strlen(dots + 2), &bin->hi) && bin->hi >= bin->lo;
    }
}

static bool read_point(plan *p, uint32_t group, const cov_data_point *point) {
    const uint64_t samples = p->data->groups[group].samples;
    for (uint32_t b = 0; b < point->bin_count; b++) {
        plan_bin *bin = &p->bins[p->bin_count];
        p->bin_at[point->first + b] = p->bin_count++;
        bin->group = group;
        /* of a bin that was never hit: the chance falls with the number of samples; that of a group without samples is
         * unknown */
        bin->chance =
            ((double)p->data->counts[point->first + b] + 0.25) / (samples < 10 ? 10.25 : (double)samples + 0.25);
        bin->chance = bin->chance > 1.0 ? 1.0 : bin->chance;
        read_range(bin, point->bins[b].values);
        if (!read_hint(p, bin, point->bins[b].hint)) {
            return false;
        }
    }
    return true;
}

/* A group without hints belongs to the test whose name is a prefix of its own: "copy_layers" to "copy". */
static void adopt(plan *p) {
    const uint32_t groups = p->data->group_count;
    for (uint32_t g = 0; g < groups; g++) {
        uint32_t parent = PLAN_NONE;
        size_t longest = 0;
        for (uint32_t t = 0; t < p->test_count; t++) {
            const char *name = p->words[p->tests[t]].text;
            const size_t length = strlen(name);
            if (p->samples[(size_t)t * groups + g]) {
                parent = PLAN_NONE;
                break;
            }
            if (length > longest && strncmp(p->data->groups[g].name, name, length) == 0 &&
                p->data->groups[g].name[length] == '_') {
                parent = t;
                longest = length;
            }
        }
        if (parent != PLAN_NONE) {
            p->samples[(size_t)parent * groups + g] = true;
        }
    }
}

/* Which words are tests, and the groups that they may hit. */
static bool list_tests(plan *p) {
    const uint32_t groups = p->data->group_count;
    p->tests = calloc((size_t)p->word_count + 1, sizeof *p->tests);
    uint32_t *place = calloc((size_t)p->word_count + 1, sizeof *place);
    for (uint32_t a = 0; p->tests != NULL && place != NULL && a < p->alt_count; a++) {
        const uint32_t test = p->alts[a].test;
        if (place[test] == 0) {
            p->tests[p->test_count++] = test;
            place[test] = p->test_count;
        }
    }
    p->samples = calloc((size_t)p->test_count * groups + 1, sizeof *p->samples);
    const bool good = p->tests != NULL && place != NULL && p->samples != NULL;
    for (uint32_t b = 0; good && b < p->bin_count; b++) {
        const plan_bin *bin = &p->bins[b];
        for (uint32_t a = 0; a < bin->alt_count; a++) {
            p->samples[(size_t)(place[p->alts[bin->alt_first + a].test] - 1) * groups + bin->group] = true;
        }
    }
    free(place);
    if (good) {
        adopt(p);
    }
    return good;
}

int plan_read_bins(plan *p, cov_error *err) {
    uint32_t bins = 0;
    for (uint32_t g = 0; g < p->data->group_count; g++) {
        for (uint32_t i = 0; i < p->data->groups[g].point_count; i++) {
            bins += p->data->groups[g].points[i].bin_count;
        }
    }
    p->bins = calloc((size_t)bins + 1, sizeof *p->bins);
    p->bin_at = calloc((size_t)p->data->count_count + 1, sizeof *p->bin_at);
    bool good = p->bins != NULL && p->bin_at != NULL;
    for (uint32_t g = 0; good && g < p->data->group_count; g++) {
        for (uint32_t i = 0; good && i < p->data->groups[g].point_count; i++) {
            good = read_point(p, g, &p->data->groups[g].points[i]);
        }
    }
    good = good && list_tests(p);
    p->line_value = good ? malloc(((size_t)p->word_count + 1) * sizeof *p->line_value) : NULL;
    if (p->line_value == NULL) {
        return cov_fail(err, COV_NO_MEMORY, "out of memory");
    }
    memset(p->line_value, 0xff, ((size_t)p->word_count + 1) * sizeof *p->line_value);
    return COV_OK;
}
