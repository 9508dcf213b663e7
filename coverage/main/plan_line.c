/*
 * plan_line.c - the pins with the largest expected gain.
 *
 * The gain of a line is the sum over all holes of weight * chance that one of its cases hits the hole. Pins are added
 * as long as that grows: two holes whose pins do not contradict each other share a line, and where one pin makes a
 * whole row of cells likely, the other knob stays random.
 */
#include "plan.h"

#include <string.h>

/* Every pin that a hole does not need reduces the chance that the test can hit it at all; more so after attempts in
 * vain. */
#define STRANGER_NEW 0.97
#define STRANGER_TRIED 0.75
/* Hits that were only likely tell less about a hole than pins that should have selected it: knobs are not
 * independent. */
#define BY_CHANCE 0.25
/* Several large sizes at a time may take minutes: the product of a line's numbers stays below 2^17, unless it has one
 * alone. */
#define BITS_MOST 16
/* From here on one case is enough, if pins select the bins. */
#define BITS_LONG 12

uint64_t plan_draw(const plan *p, uint64_t stream, uint64_t draw) {
    uint64_t x = p->seed * UINT64_C(0x9e3779b97f4a7c15) + stream * UINT64_C(0xd1b54a32d192ed03) +
                 (draw + 1) * UINT64_C(0x8cb92ba72f3d8dd7);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static double power(double base, uint32_t exponent) {
    double value = 1.0;
    for (uint32_t i = 0; i < exponent; i++) {
        value *= base;
    }
    return value;
}

static double stranger(const plan_hole *hole) {
    return hole->tries < 0.5 ? STRANGER_NEW : STRANGER_TRIED;
}

/* Expected gain for one hole of a line of so many pins, which are in line_value. */
static double promise(const plan *p, const plan_hole *hole, uint32_t test, uint32_t pins, uint32_t cases) {
    uint32_t own = 0;
    const double tries = plan_tries(p, hole);
    if (hole->left <= 0.0 || tries >= p->give_up) {
        return 0.0;
    }
    const double chance = plan_chance(p, hole, test, &own);
    if (chance <= 0.0) {
        return 0.0;
    }
    return hole->left * plan_once(chance, cases) / (1.0 + tries) * power(stranger(hole), pins > own ? pins - own : 0);
}

/* Expected gain so far: by hole, and sums over new holes and those that were tried. */
typedef struct sums {
    double fresh, tried;
} sums;

/* May the test hit bins of the group? */
static bool concerns(const plan *p, uint32_t test, uint32_t group) {
    for (uint32_t t = 0; t < p->test_count; t++) {
        if (p->tests[t] == test) {
            return p->samples[(size_t)t * p->data->group_count + group];
        }
    }
    return false;
}

static void add_to(sums *s, const plan_hole *hole, double value) {
    if (hole->tries < 0.5) {
        s->fresh += value;
    } else {
        s->tried += value;
    }
}

static sums sum_all(const plan *p, uint32_t test, uint32_t pins) {
    sums s = {0.0, 0.0};
    for (uint32_t h = 0; h < p->hole_count; h++) {
        if (concerns(p, test, p->holes[h].group)) {
            p->holds[h] = promise(p, &p->holes[h], test, pins, p->cases);
            add_to(&s, &p->holes[h], p->holds[h]);
        }
    }
    return s;
}

/* The pins that a line would get from a hint. */
typedef struct offer {
    plan_pin pins[PLAN_HINT_PINS];
    uint32_t count;
} offer;

/* The value of the last pin: any that hits the bin, small ones first, since large ones take long. */
static uint32_t draw_value(plan *p, const plan_bin *bin, const plan_pin *last, uint64_t number) {
    char text[24];
    const plan_word *hint = &p->words[last->value];
    if (!bin->range || !hint->number || hint->value != bin->lo || bin->hi == bin->lo) {
        return last->value;
    }
    const uint64_t span = (uint64_t)bin->hi - (uint64_t)bin->lo;
    const uint64_t reach = bin->lo > 0 && span > (uint64_t)bin->lo ? (uint64_t)bin->lo : span;
    const uint64_t draw = plan_draw(p, number, (uint64_t)(bin - p->bins)) % (reach + 1);
    const int length = snprintf(text, sizeof text, "%lld", (long long)bin->lo + (long long)draw);
    const uint32_t word = plan_word_of(p, text, (size_t)length);
    return word == PLAN_NONE ? last->value : word;
}

/* False: the line has these pins already, or another value for the last one. Needs that the line pins otherwise are
 * left out. */
static bool make_offer(plan *p, const plan_bin *bin, const plan_alt *alt, uint64_t number, offer *o) {
    o->count = 0;
    if (alt->count == 0 || p->line_value[alt->pins[alt->count - 1].knob] != PLAN_NONE) {
        return false;
    }
    for (uint32_t i = 0; i < alt->count; i++) {
        plan_pin pin = alt->pins[i];
        if (p->line_value[pin.knob] == PLAN_NONE) {
            pin.value = i + 1 == alt->count ? draw_value(p, bin, &pin, number) : pin.value;
            o->pins[o->count++] = pin;
        }
    }
    return true;
}

static void set_pins(plan *p, const offer *o, bool on) {
    for (uint32_t i = 0; i < o->count; i++) {
        p->line_value[o->pins[i].knob] = on ? o->pins[i].value : PLAN_NONE;
    }
}

static bool names_any(const plan *p, const plan_bin *bin, uint32_t test, const offer *o) {
    for (uint32_t a = 0; a < bin->alt_count; a++) {
        const plan_alt *alt = &p->alts[bin->alt_first + a];
        for (uint32_t i = 0; alt->test == test && i < alt->count; i++) {
            for (uint32_t k = 0; k < o->count; k++) {
                if (alt->pins[i].knob == o->pins[k].knob) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* Expected gain of the line with the offer; `now`: without it, p->holds: of each hole. Only holes with a bin
   that names one of the knobs change in another way than by the number of pins. */
static double with_offer(plan *p, uint32_t test, uint32_t pins, const offer *o, const sums *now) {
    sums changed = {0.0, 0.0};
    double after = 0.0;
    p->stamp_now++;
    set_pins(p, o, true);
    for (uint32_t b = 0; b < p->near_count; b++) {
        const plan_bin *bin = &p->bins[p->near[b]];
        if (!names_any(p, bin, test, o)) {
            continue;
        }
        for (uint32_t i = 0; i < bin->hole_count; i++) {
            const uint32_t h = p->of_bin[bin->hole_first + i];
            if (p->stamp[h] != p->stamp_now) {
                p->stamp[h] = p->stamp_now;
                add_to(&changed, &p->holes[h], p->holds[h]);
                after += promise(p, &p->holes[h], test, pins + o->count, p->cases);
            }
        }
    }
    set_pins(p, o, false);
    return after + (now->fresh - changed.fresh) * power(STRANGER_NEW, o->count) +
           (now->tried - changed.tried) * power(STRANGER_TRIED, o->count);
}

/* log2 of the product of the larger numbers among pins: sizes, mostly. */
static uint32_t bits_of(const plan *p, const plan_pin *pins, uint32_t count) {
    uint32_t bits = 0;
    for (uint32_t i = 0; i < count; i++) {
        const plan_word *word = &p->words[pins[i].value];
        uint32_t log = 0;
        while (word->number && word->value >> log > 1) {
            log++;
        }
        bits += log >= 4 ? log : 0;
    }
    return bits;
}

static size_t text_of(const plan *p, const offer *o) {
    size_t length = 0;
    for (uint32_t i = 0; i < o->count; i++) {
        length += strlen(p->words[o->pins[i].knob].text) + strlen(p->words[o->pins[i].value].text) + 2;
    }
    return length;
}

static void list_near(plan *p, uint32_t test) {
    p->near_count = 0;
    for (uint32_t b = 0; b < p->bin_count; b++) {
        if (p->bins[b].hole_count > 0 && p->bins[b].alt_count > 0 && concerns(p, test, p->bins[b].group)) {
            p->near[p->near_count++] = b;
        }
    }
}

/* The best offer for a line of gain `now`; its additional gain, or 0: none improves the line. */
static double best_offer(plan *p, const plan_line *line, size_t room, const sums *now, uint64_t number, offer *best) {
    const uint32_t had = bits_of(p, line->pins, line->pin_count);
    double most = 1.005 * (now->fresh + now->tried);
    bool found = false;
    for (uint32_t b = 0; b < p->near_count; b++) {
        const plan_bin *bin = &p->bins[p->near[b]];
        for (uint32_t a = 0; a < bin->alt_count; a++) {
            offer o;
            const plan_alt *alt = &p->alts[bin->alt_first + a];
            if (alt->test != line->test || !make_offer(p, bin, alt, number, &o) ||
                line->pin_count + o.count > PLAN_LINE_PINS || text_of(p, &o) > room ||
                (had > 0 && bits_of(p, o.pins, o.count) > 0 && bits_of(p, o.pins, o.count) + had > BITS_MOST)) {
                continue;
            }
            const double gain = with_offer(p, line->test, line->pin_count, &o, now);
            if (gain > most) {
                most = gain;
                *best = o;
                found = true;
            }
        }
    }
    return found ? most : 0.0;
}

void plan_best_line(plan *p, uint32_t test, uint64_t number, plan_line *line) {
    size_t room = PLAN_LINE_BYTES;
    offer best;
    line->test = test;
    line->pin_count = 0;
    list_near(p, test);
    for (;;) {
        const sums now = sum_all(p, test, line->pin_count);
        line->gain = now.fresh + now.tried;
        if (best_offer(p, line, room, &now, number, &best) <= 0.0) {
            break;
        }
        set_pins(p, &best, true);
        room -= text_of(p, &best);
        memcpy(&line->pins[line->pin_count], best.pins, best.count * sizeof best.pins[0]);
        line->pin_count += best.count;
    }
    line->cases = bits_of(p, line->pins, line->pin_count) >= BITS_LONG ? 1 : p->cases;
    for (uint32_t i = 0; i < line->pin_count; i++) {
        p->line_value[line->pins[i].knob] = PLAN_NONE;
    }
}

void plan_take(plan *p, const plan_line *line) {
    for (uint32_t i = 0; i < line->pin_count; i++) {
        p->line_value[line->pins[i].knob] = line->pins[i].value;
    }
    for (uint32_t h = 0; h < p->hole_count; h++) {
        plan_hole *hole = &p->holes[h];
        if (concerns(p, line->test, hole->group)) {
            uint32_t own = 0;
            const double promised = promise(p, hole, line->test, line->pin_count, line->cases);
            const double chance = plan_chance(p, hole, line->test, &own);
            hole->tries += (chance >= 1.0 ? 1.0 : BY_CHANCE) * plan_once(chance, line->cases);
            hole->left -= promised < hole->left ? promised : hole->left;
        }
    }
    for (uint32_t i = 0; i < line->pin_count; i++) {
        p->line_value[line->pins[i].knob] = PLAN_NONE;
    }
}

double plan_stake(const plan *p, uint32_t test) {
    double sum = 0.0;
    for (uint32_t h = 0; h < p->hole_count; h++) {
        const plan_hole *hole = &p->holes[h];
        sum += !concerns(p, test, hole->group)     ? 0.0
               : plan_tries(p, hole) >= p->give_up ? 0.02 * hole->weight
                                                   : hole->left;
    }
    return sum;
}
