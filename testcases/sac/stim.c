/* stim.c - a random task. */
#include "stim.h"

#include <stdlib.h>
#include <string.h>

#define MAX_CYCLES 2500u   /* of the array, so that a task takes milliseconds */
#define MAX_PIXELS 16384u  /* of a map that is pooled as a whole */
#define MAX_TENSOR 400000u /* bytes */
#define PLACE 0x400000u    /* bytes from one operand's place to the next one's */
#define MARGIN 0x600000u   /* before an operand in its place, at most; tensors with gaps have less than the rest */
#define BASE 0x40000000u

static const char *const data_names[] = {"ramp", "random", "extreme", "zeros"};
static const char *const code_names[] = {"one", "random", "sparse", "large", "unused"};
static const char *const d_names[] = {"zero", "random", "seven"};
static const char *const scale_names[] = {"fit", "any", "ends"};
static const char *const bias_names[] = {"zero", "fit", "any"};
static const char *const out_names[] = {"memory", "cache", "both"};
static const char *const full_names[] = {"none", "max", "average"};
static const char *const bus_names[] = {"ideal", "fast", "typical", "slow", "bursty", "hostile"};
static const char *const error_names[] = {"none", "read_f", "read_w", "write"};
static const uint32_t rare[] = {7, 1};
static const uint32_t half_of[] = {1, 1};
static const uint32_t span_weights[] = {2, 1};
/* clang-format off */
static const uint32_t rows_weights[65] = {400, [1 ... 16] = 4, [17 ... 64] = 1};
/* clang-format on */
static const uint32_t error_weights[] = {30, 1, 1, 1};
static const uint32_t tasks_weights[] = {5, 2, 1, 1};
static const uint32_t kernel_weights[] = {6, 1, 5, 1, 1, 1, 1, 1, 1, 1, 1};
static const uint32_t stride_weights[] = {6, 3, 1, 1};
static const uint32_t full_weights[] = {6, 1, 1};

const tb_knob stim_knobs[] = {
    {"tasks", 1, STIM_TASKS, TB_KNOB_WEIGHTED, NULL, tasks_weights, "tasks one after the other"},
    {"c", 1, 4096, TB_KNOB_SMALL, NULL, NULL, "channels of the input"},
    {"n", 1, 4096, TB_KNOB_SMALL, NULL, NULL, "filters"},
    {"w", 1, 1023, TB_KNOB_SMALL, NULL, NULL, "columns of the input"},
    {"h", 1, 1023, TB_KNOB_SMALL, NULL, NULL, "rows of the input"},
    {"kw", 1, 11, TB_KNOB_WEIGHTED, NULL, kernel_weights, "columns of the kernel"},
    {"kh", 0, 11, TB_KNOB_UNIFORM, NULL, NULL, "rows of the kernel; 0: as its columns"},
    {"square", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: the kernel is square, whatever kh says"},
    {"stride", 1, 4, TB_KNOB_WEIGHTED, NULL, stride_weights, "stride of the convolution"},
    {"pl", 0, 7, TB_KNOB_SMALL, NULL, NULL, "padding left of the map"},
    {"pr", 0, 7, TB_KNOB_SMALL, NULL, NULL, "right"},
    {"pt", 0, 7, TB_KNOB_SMALL, NULL, NULL, "above"},
    {"pb", 0, 7, TB_KNOB_SMALL, NULL, NULL, "below"},
    {"relu", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "max(0, x) after the convolution"},
    {"pool", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "max pooling"},
    {"win", 2, 3, TB_KNOB_UNIFORM, NULL, NULL, "its window"},
    {"ps", 1, 3, TB_KNOB_UNIFORM, NULL, NULL, "its stride"},
    {"ppl", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "its padding on the left"},
    {"ppt", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "above"},
    {"cut", 0, 2, TB_KNOB_UNIFORM, NULL, NULL, "windows left out behind the map, both ways"},
    {"add", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "residual"},
    {"post_relu", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "max(0, x) after it"},
    {"full", 0, 2, TB_KNOB_ENUM, full_names, full_weights, "pooling over the whole map"},
    {"to", 0, 2, TB_KNOB_ENUM, out_names, NULL, "where the output goes; the last task always writes to memory"},
    {"from_cache", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "the tasks after the first one take their input from the cache"},
    {"half", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "half of the cache for the first input"},
    {"gap", 0, 3, TB_KNOB_SMALL, NULL, NULL, "16 bytes between channel groups in memory"},
    {"data", 0, 3, TB_KNOB_ENUM, data_names, NULL, "activations"},
    {"codes", 0, 4, TB_KNOB_ENUM, code_names, NULL, "weights"},
    {"d", 0, 2, TB_KNOB_ENUM, d_names, NULL, "shifts of the input channels"},
    {"scale", 0, 2, TB_KNOB_ENUM, scale_names, NULL, "shifts of the outputs"},
    {"bias", 0, 2, TB_KNOB_ENUM, bias_names, NULL, "B"},
    {"nonsense", 0, 1, TB_KNOB_WEIGHTED, NULL, rare, "before that, sizes out of range, which the engine must refuse"},
    {"irq", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "wait for the interrupt instead of polling"},
    {"early", 0, 1, TB_KNOB_WEIGHTED, NULL, half_of, "write registers of another task while one is under way"},
    {"again", 0, 1, TB_KNOB_WEIGHTED, NULL, rare, "write START a second time while a task is under way"},
    {"abort", 0, 1, TB_KNOB_WEIGHTED, NULL, rare, "end the first task early"},
    {"abort_at", 1, 20000, TB_KNOB_SMALL, NULL, NULL, "cycles after its start"},
    {"error", 0, 3, TB_KNOB_ENUM, error_names, error_weights, "one burst is answered with an error"},
    {"error_at", 0, 60, TB_KNOB_SMALL, NULL, NULL, "number of that burst"},
    {"bus", 0, 5, TB_KNOB_ENUM, bus_names, NULL, "timing of the buses"},
    {"span", 0, 1, (tb_knob_kind)(TB_KNOB_WEIGHTED | TB_KNOB_LATER), NULL, span_weights, "operands anywhere in 4 GB"},
    {"rows", 0, 64, (tb_knob_kind)(TB_KNOB_WEIGHTED | TB_KNOB_LATER), NULL, rows_weights,
     "layers up to four times as large as the cache, in tiles of at most so many rows; 0: a task each"},
};
const size_t stim_knob_count = sizeof stim_knobs / sizeof *stim_knobs;

/* Where operand number `which` of a case is. */
static uint32_t place(const tb_knobs *k, uint64_t seed, uint32_t which) {
    if (tb_knobs_get(k, "span") == 0) {
        return BASE + which * PLACE;
    }
    /* one of the 512 places of 8 MB, by a permutation that the seed chooses; some way into it */
    const tb_rng all = tb_rng_stream(seed, "span");
    tb_rng way = tb_rng_fork(&all, 0), rest = tb_rng_fork(&all, which + 1);
    const uint32_t factor = 2 * (uint32_t)tb_rng_range(&way, 0, 255) + 1, first = (uint32_t)tb_rng_range(&way, 0, 511);
    return ((which / 8 * 7 + which % 8) * factor + first) % 512 * (2 * PLACE) +
           16 * (uint32_t)tb_rng_range(&rest, 0, MARGIN / 16 - 1);
}

static uint32_t up(uint32_t a, uint32_t b) {
    return (a + b - 1) / b;
}

static uint32_t min(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

uint64_t stim_work(const sac_task *t) {
    return (uint64_t)t->n * t->c * t->kh * t->kw * t->oh * t->ow;
}

/* Output sizes from the map. */
static void derive(sac_task *t, uint32_t pr, uint32_t pb, uint32_t cut) {
    const uint32_t wide = t->w + t->pl + pr, tall = t->h + t->pt + pb;
    t->ow = wide >= t->kw ? min((wide - t->kw) / t->stride + 1, 1023) : 1;
    t->oh = tall >= t->kh ? min((tall - t->kh) / t->stride + 1, 1023) : 1;
    if (t->pool) {
        const uint32_t pw = (t->ow + t->pool_pl - 1) / t->pool_stride + 1;
        const uint32_t ph = (t->oh + t->pool_pt - 1) / t->pool_stride + 1;
        t->pw = pw > cut ? min(pw - cut, 1023) : 1;
        t->ph = ph > cut ? min(ph - cut, 1023) : 1;
    }
}

/* Too large for the engine, or for the time of a test? */
static bool too_large(const sac_dev *dev, const sac_task *t) {
    const uint32_t mh = t->pool ? t->ph : t->oh, mw = t->pool ? t->pw : t->ow;
    return sac_conv_cycles(dev, t) > MAX_CYCLES || sac_tensor_bytes(dev, t->c, t->h, t->w) > MAX_TENSOR ||
           sac_tensor_bytes(dev, t->n, t->oh, t->ow) > MAX_TENSOR ||
           up(t->c, dev->cv) * t->h * up(t->w, dev->wv) > dev->cache_pages ||
           up(t->n, dev->cv) * mh * up(mw, dev->wv) > dev->cache_pages ||
           (t->full != SAC_FULL_NONE && mh * mw > MAX_PIXELS);
}

static bool too_many_words(const sac_dev *dev, const sac_task *t) {
    return up(t->c, t->kw == 1 ? 3 * dev->cv : dev->cv) * t->kh * up(t->kw, 3) > 1024;
}

/*
 * Make a task legal and small: the kernel must find its map; then the largest side shrinks until the work fits. A map
 * that comes from the cache keeps its size.
 */
static void fit(const sac_dev *dev, sac_task *t, uint32_t pr, uint32_t pb, uint32_t cut) {
    if (!t->from_cache) {
        t->w = t->w + t->pl + pr < t->kw ? t->kw - t->pl - pr : t->w;
        t->h = t->h + t->pt + pb < t->kh ? t->kh - t->pt - pb : t->h;
    } else {
        t->kw = min(t->kw, t->w + t->pl + pr);
        t->kh = min(t->kh, t->h + t->pt + pb);
    }
    while (too_many_words(dev, t)) {
        *(t->from_cache ? &t->kh : &t->c) = t->from_cache ? 1 : t->c - t->c / 4;
        t->kw = t->from_cache && t->kh == 1 ? min(t->kw, 3) : t->kw;
    }
    derive(t, pr, pb, cut);
    while (too_large(dev, t)) {
        uint32_t *const side = t->h > t->w ? &t->h : &t->w;
        if (!t->from_cache && *side > 1 && *side * 4 > t->c && *side * 4 > t->n) {
            const uint32_t least = side == &t->h ? (t->kh > t->pt + pb ? t->kh - t->pt - pb : 1)
                                                 : (t->kw > t->pl + pr ? t->kw - t->pl - pr : 1);
            *side = *side / 2 > least ? *side / 2 : least;
            derive(t, pr, pb, cut);
            if (*side > least) {
                continue;
            }
        }
        if (!t->from_cache && t->c > t->n) {
            t->c = up(t->c, 2);
        } else if (t->n > 1) {
            t->n = up(t->n, 2);
        } else if (!t->from_cache && t->c > 1) {
            t->c = up(t->c, 2);
        } else {
            t->full = SAC_FULL_NONE;
            t->kh = t->kw = t->stride = 1;
            t->pl = t->pt = 0;
            derive(t, 0, 0, cut);
            break;
        }
        derive(t, pr, pb, cut);
    }
}

/* A size of a task after the first one: at most that of the first one. */
static uint32_t draw(tb_rng *rng, const tb_knobs *k, const char *name, uint32_t i) {
    const uint32_t value = (uint32_t)tb_knobs_get(k, name);
    const uint32_t drawn = (uint32_t)tb_rng_range(rng, 0, UINT32_MAX);
    return i == 0 ? value : drawn % (value + 1);
}

void stim_task(const sac_dev *dev, const tb_knobs *k, uint64_t seed, uint32_t i, const sac_task *before, sac_task *t) {
    tb_rng base = tb_rng_stream(seed, "tasks");
    tb_rng rng = tb_rng_fork(&base, i);
    const bool last = i + 1 == (uint32_t)tb_knobs_get(k, "tasks");
    const uint32_t to = draw(&rng, k, "to", 0), gap = 16 * draw(&rng, k, "gap", i);
    *t = (sac_task){0};
    uint32_t *const operands[] = {&t->in, &t->out, &t->res, &t->filters, &t->params, &t->dtab};
    for (uint32_t which = 0; which < 6; which++) {
        *operands[which] = place(k, seed, 8 * i + which);
    }
    t->c = draw(&rng, k, "c", i);
    t->n = draw(&rng, k, "n", i);
    t->w = draw(&rng, k, "w", i);
    t->h = draw(&rng, k, "h", i);
    t->from_cache = before != NULL && before->to_cache && tb_knobs_get(k, "from_cache") != 0;
    t->half = before != NULL && before->to_cache ? !before->half : (uint32_t)tb_knobs_get(k, "half");
    if (t->from_cache) {
        t->c = before->n;
        t->w = before->full != SAC_FULL_NONE ? 1 : before->pool ? before->pw : before->ow;
        t->h = before->full != SAC_FULL_NONE ? 1 : before->pool ? before->ph : before->oh;
    }
    t->c += t->c == 0;
    t->n += t->n == 0;
    t->w += t->w == 0;
    t->h += t->h == 0;
    t->kw = draw(&rng, k, "kw", i);
    t->kw += t->kw == 0;
    t->kh = draw(&rng, k, "kh", i);
    t->kh = t->kh == 0 || tb_knobs_get(k, "square") != 0 ? t->kw : t->kh;
    t->stride = draw(&rng, k, "stride", i);
    t->stride += t->stride == 0;
    t->pl = draw(&rng, k, "pl", i);
    t->pt = draw(&rng, k, "pt", i);
    t->relu = draw(&rng, k, "relu", i) != 0;
    t->pool = draw(&rng, k, "pool", i) != 0;
    t->win = t->pool ? (uint32_t)tb_knobs_get(k, "win") : 0;
    t->pool_stride = t->pool ? (uint32_t)tb_knobs_get(k, "ps") : 0;
    t->pool_pl = t->pool ? draw(&rng, k, "ppl", i) : 0;
    t->pool_pt = t->pool ? draw(&rng, k, "ppt", i) : 0;
    t->add = draw(&rng, k, "add", i) != 0;
    t->post_relu = draw(&rng, k, "post_relu", i) != 0;
    t->full = (sac_full)draw(&rng, k, "full", i);
    t->to_cache = to != 0;
    t->to_memory = to != 1 || last;
    if (tb_knobs_get(k, "rows") != 0) { /* what a tile can be cut from */
        t->from_cache = t->to_cache = false;
        t->to_memory = true;
        t->full = SAC_FULL_NONE;
    }
    fit(dev, t, draw(&rng, k, "pr", i), draw(&rng, k, "pb", i), draw(&rng, k, "cut", i));
    t->in_step = gap == 0 ? 0 : sac_tensor_bytes(dev, 1, t->h, t->w) + gap;
    t->out_step = gap == 0 ? 0 : sac_tensor_bytes(dev, 1, t->pool ? t->ph : t->oh, t->pool ? t->pw : t->ow) + gap;
}

/* ---- operands ---- */

static void make_activations(tb_rng *rng, int64_t kind, uint8_t *data, uint32_t bytes) {
    static const uint8_t ends[] = {0x80, 0x81, 0xFF, 0, 1, 0x7F, 0x7F, 0x80};
    tb_rng_fill(rng, data, bytes);
    for (uint32_t i = 0; i < bytes && kind != 1; i++) {
        data[i] = kind == 0 ? (uint8_t)i : kind == 2 ? ends[data[i] & 7] : 0;
    }
}

/* A filter stream of any bytes is legal; void nibbles are not 7 here, and 15 counts as 0. */
static void make_codes(tb_rng *rng, int64_t kind, uint8_t *stream, uint32_t bytes) {
    tb_rng_fill(rng, stream, bytes);
    for (uint32_t i = 0; i < bytes; i++) {
        const uint8_t r = stream[i];
        stream[i] = (uint8_t)(kind == 0   ? 0xEE
                              : kind == 2 ? ((r & 0x33) == 0 ? r : 0x77)
                              : kind == 3 ? 0x66 | (r & 0x88)
                              : kind == 4 ? ((r & 1) != 0 ? 0xFF : r)
                                          : r);
    }
}

/* Absent taps of the last tap group of a kernel row must be 7; absent channels and filters need not. */
static void void_taps(const sac_dev *dev, const sac_task *t, uint8_t *stream) {
    const uint32_t groups = up(t->kw, 3), left = t->kw % 3, words = up(t->c, dev->cv) * t->kh * groups;
    const uint32_t batch = sac_filter_bytes(dev, 1, t->c, t->kh, t->kw), bits = 4 * dev->cv;
    for (uint32_t i = 0; t->kw > 1 && left != 0 && i < up(t->n, dev->nv) * dev->nv * words; i++) {
        const uint32_t word = i % (dev->nv * words);
        uint8_t *at = stream + (size_t)(i / (dev->nv * words)) * batch + (size_t)word * 3 * bits / 8;
        if (i % groups == groups - 1) {
            memset(at + left * bits / 8, 0x77, (3 - left) * bits / 8);
        }
    }
}

/* About how many bits the sums of a filter have: for shifts that leave something. */
static int32_t sum_bits(const sac_task *t, int64_t d_kind) {
    uint32_t terms = t->c * t->kh * t->kw;
    int32_t bits = d_kind == 0 ? 2 : d_kind == 1 ? 7 : 9;
    for (; terms > 1; terms /= 4) {
        bits++;
    }
    return bits;
}

static int32_t clip(int32_t v, int32_t lowest, int32_t highest) {
    return v < lowest ? lowest : v > highest ? highest : v;
}

static sac_filter make_filter(tb_rng *rng, const tb_knobs *k, int32_t bits) {
    const int64_t scale = tb_knobs_get(k, "scale"), bias = tb_knobs_get(k, "bias");
    const uint32_t r = tb_rng_u32(rng), s = tb_rng_u32(rng);
    sac_filter f = {.bias = bias == 0 ? 0 : (int32_t)tb_rng_u32(rng)};
    if (bias == 1) {
        f.bias >>= clip(30 - bits - 4, 0, 30);
    }
    if (scale == 0) { /* around what keeps the values in range */
        f.sh = clip(bits - 2 + (int32_t)(r % 5) - 2, -8, 31);
        f.la = (int32_t)(r >> 8 & 3);
        f.lb = (int32_t)(r >> 12 & 3);
        f.r = (int32_t)(s % 4);
        f.g = (int32_t)(s >> 8 & 3) - 1;
    } else if (scale == 1) {
        f.sh = (int32_t)(r % 40) - 8;
        f.la = (int32_t)(r >> 8 & 7);
        f.lb = (int32_t)(r >> 12 & 7);
        f.r = (int32_t)(s % 24) - 8;
        f.g = (int32_t)(s >> 8) % 15 - 7;
    } else {
        f.sh = (int32_t[]){-8, 0, 1, 31}[r % 4];
        f.la = (r & 16) != 0 ? 7 : 0;
        f.lb = (r & 32) != 0 ? 7 : 0;
        f.r = (int32_t[]){-8, 0, 1, 15}[s % 4];
        f.g = (int32_t[]){-7, 0, 1, 7}[s / 4 % 4];
    }
    return f;
}

static uint8_t *allocate(uint32_t bytes, bool *ok) {
    uint8_t *p = malloc(bytes);
    *ok = *ok && p != NULL;
    return p;
}

int stim_data_make(const sac_dev *dev, const tb_knobs *k, uint64_t seed, uint32_t i, const sac_task *t,
                   stim_data *data) {
    const uint32_t mh = t->pool ? t->ph : t->oh, mw = t->pool ? t->pw : t->ow;
    const int64_t kind = tb_knobs_get(k, "data"), d_kind = tb_knobs_get(k, "d");
    tb_rng base = tb_rng_stream(seed, "operands");
    tb_rng rng = tb_rng_fork(&base, i);
    bool ok = true;
    const uint32_t in_step = t->in_step != 0 ? t->in_step : sac_tensor_bytes(dev, 1, t->h, t->w);
    const uint32_t out_step = t->out_step != 0 ? t->out_step : sac_tensor_bytes(dev, 1, mh, mw);
    *data = (stim_data){.input_bytes = t->from_cache ? 0 : up(t->c, dev->cv) * in_step,
                        .residual_bytes = t->add ? up(t->n, dev->cv) * out_step : 0,
                        .filter_bytes = sac_filter_bytes(dev, t->n, t->c, t->kh, t->kw),
                        .param_bytes = sac_param_bytes(dev, t->n),
                        .dtab_bytes = t->c};
    data->input = data->input_bytes > 0 ? allocate(data->input_bytes, &ok) : NULL;
    data->residual = data->residual_bytes > 0 ? allocate(data->residual_bytes, &ok) : NULL;
    data->filters = allocate(data->filter_bytes, &ok);
    data->params = allocate(data->param_bytes, &ok);
    data->dtab = allocate(data->dtab_bytes, &ok);
    sac_filter *filter = calloc(up(t->n, dev->nv) * dev->nv, sizeof *filter);
    if (ok && filter != NULL) {
        make_activations(&rng, kind, data->input, data->input_bytes);
        make_activations(&rng, kind, data->residual, data->residual_bytes);
        make_codes(&rng, tb_knobs_get(k, "codes"), data->filters, data->filter_bytes);
        void_taps(dev, t, data->filters);
        tb_rng_fill(&rng, data->dtab, data->dtab_bytes);
        for (uint32_t c = 0; c < t->c && d_kind != 1; c++) {
            data->dtab[c] = d_kind == 0 ? 0 : 7;
        }
        for (uint32_t n = 0; n < up(t->n, dev->nv) * dev->nv; n++) { /* those beyond N must not matter */
            filter[n] = make_filter(&rng, k, sum_bits(t, d_kind));
        }
        ok = sac_pack_params(dev, up(t->n, dev->nv) * dev->nv, filter, data->params) == SAC_OK;
    }
    ok = ok && filter != NULL;
    free(filter);
    return ok ? 0 : -1;
}

void stim_free(stim_data *data) {
    free(data->input);
    free(data->residual);
    free(data->filters);
    free(data->params);
    free(data->dtab);
    *data = (stim_data){0};
}
