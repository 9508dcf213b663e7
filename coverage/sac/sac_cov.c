#include "sac_cov.h"

static const char *const bus_names[] = {"ideal", "fast", "typical", "slow", "bursty", "hostile"};
static const char *const no_yes[] = {"no", "yes"};
static const char *const full_names[] = {"none", "max", "average"};
static const char *const to_names[] = {"memory", "cache", "both"};
static const char *const end_names[] = {"done", "aborted", "read_error", "write_error"};
static const char *const edge_names[] = {"one", "less", "multiple", "more"};
static const char *const pad_names[] = {"none", "within", "vector"};
static const char *const shape_names[] = {"square", "wide", "tall"};
static const char *const state_names[] = {"sizes", "input_reading", "filter_preloading", "conving", "drain"};
static const char *const operand_names[] = {"input", "residual", "shifts", "parameters", "filters", "output"};
static const char *const data_names[] = {"ramp", "random", "extreme", "zeros"};
static const char *const code_names[] = {"one", "random", "sparse", "large", "unused"};
static const char *const d_names[] = {"zero", "random", "seven"};
static const char *const scale_names[] = {"fit", "any", "ends"};
static const char *const bias_names[] = {"zero", "fit", "any"};

static const cov_bin kernel_bins[] = {{COV_EACH(1, 11)}};
static const cov_bin stride_bins[] = {{COV_EACH(1, 4)}};
static const cov_bin win_bins[] = {{COV_VALUE("none", 0)}, {COV_EACH(2, 3)}};
static const cov_bin pool_stride_bins[] = {{COV_VALUE("none", 0)}, {COV_EACH(1, 3)}};
static const cov_bin flag_bins[] = {{COV_NAMES(no_yes, 2)}};
static const cov_bin full_bins[] = {{COV_NAMES(full_names, 3)}};
static const cov_bin to_bins[] = {{COV_NAMES(to_names, 3)}};
static const cov_bin end_bins[] = {{COV_NAMES(end_names, 4)}};
static const cov_bin bus_bins[] = {{COV_NAMES(bus_names, 6)}};
static const cov_bin edge_bins[] = {{COV_NAMES(edge_names, 4)}};
static const cov_bin pad_bins[] = {{COV_NAMES(pad_names, 3)}};
static const cov_bin third_bins[] = {{COV_EACH(1, 3)}};
static const cov_bin shape_bins[] = {{COV_NAMES(shape_names, 3)}};
static const cov_bin state_bins[] = {{COV_NAMES(state_names, 5)}};
static const cov_bin operand_bins[] = {{COV_NAMES(operand_names, 6)}};
static const cov_bin data_bins[] = {{COV_NAMES(data_names, 4)}};
static const cov_bin code_bins[] = {{COV_NAMES(code_names, 5)}};
static const cov_bin d_bins[] = {{COV_NAMES(d_names, 3)}};
static const cov_bin scale_bins[] = {{COV_NAMES(scale_names, 3)}};
static const cov_bin bias_bins[] = {{COV_NAMES(bias_names, 3)}};
static const cov_bin batch_bins[] = {{COV_VALUE("single", 1)},
                                     {COV_VALUE("two", 2)},
                                     {COV_VALUE("three", 3)},
                                     {COV_RANGE("four", 4, 4)},
                                     {COV_RANGE("more than places", 5, 2048)}};

enum {
    KW,
    KH,
    STRIDE,
    PAD_L,
    PAD_T,
    C,
    N,
    W,
    OW,
    WIN,
    POOL_STRIDE,
    POOL_PT,
    POOL_PL,
    RELU,
    ADD,
    POST_RELU,
    FULL,
    CACHED,
    TO,
    BATCHES,
    LOAD_STALL,
    WRITE_STALL,
    END,
    BUS,
    SHAPE,
    THIRD,
    ABORTED_IN,
    ERROR_AT,
    DATA,
    CODES,
    D,
    SCALE,
    BIAS,
    POINTS
};
static const cov_point points[POINTS] = {
    [KW] = {COV_POINT("kw", "a tap group of a kernel row", kernel_bins), .hint = ":kw=%"},
    [KH] = {COV_POINT("kh", "a row of a kernel", kernel_bins), .hint = ":kh=%"},
    [STRIDE] = {COV_POINT("stride", "a column or row that the stride keeps", stride_bins), .hint = ":stride=%"},
    [PAD_L] = {COV_POINT("pad_left", "zeros left of the map, wider than a vector", pad_bins), .hint = ":pl=7"},
    [PAD_T] = {COV_POINT("pad_top", "rows of zeros", pad_bins), .hint = ":pt=7"},
    [C] = {COV_POINT("channels", "channels beyond C in the last group", edge_bins), .hint = ":c=17"},
    [N] = {COV_POINT("filters", "filters beyond N in the last batch", edge_bins), .hint = ":n=17"},
    [W] = {COV_POINT("columns", "columns beyond the map in the last page", edge_bins), .hint = ":w=13"},
    [OW] = {COV_POINT("out_columns", "columns beyond the map in the last vector", edge_bins), .hint = ":w=13"},
    [WIN] = {COV_POINT("window", "an element of a pooling window", win_bins), .hint = ":pool=1"},
    [POOL_STRIDE] = {COV_POINT("pool_stride", "a column that pooling keeps", pool_stride_bins), .hint = ":pool=1"},
    [POOL_PT] = {COV_POINT("pool_pad_top", "a window cut above", flag_bins), .hint = ":pool=1"},
    [POOL_PL] = {COV_POINT("pool_pad_left", "a window cut on the left", flag_bins), .hint = ":pool=1"},
    [RELU] = {COV_POINT("relu", "max(0, x)", flag_bins)},
    [ADD] = {COV_POINT("residual", "a residual sum", flag_bins)},
    [POST_RELU] = {COV_POINT("post_relu", "max(0, x) after it", flag_bins)},
    [FULL] = {COV_POINT("full", "pooling over the map", full_bins)},
    [CACHED] = {COV_POINT("from_cache", "an input that stays on the chip", flag_bins), .hint = ":tasks=4:from_cache=1"},
    [TO] = {COV_POINT("to", "where the output goes", to_bins), .hint = ":tasks=4"},
    [BATCHES] = {COV_POINT("batches", "a half of the filter cache, a place of PARAM", batch_bins)},
    [LOAD_STALL] = {COV_POINT("load_stall", "the array waits for filters", flag_bins)},
    [WRITE_STALL] = {COV_POINT("write_stall", "the array waits for space behind it", flag_bins)},
    [END] = {COV_POINT("end", "an error that is lost", end_bins), .hint = ":error=write"},
    [BUS] = {COV_POINT("bus", "a handshake that only works without stalls", bus_bins), .hint = ":bus=%"},
    [SHAPE] = {COV_POINT("kernel_shape", "columns and rows of a kernel exchanged", shape_bins), .hint = ":square=0"},
    [THIRD] = {COV_POINT("third", "the last part of a filter word that kernel width 1 uses", third_bins),
               .hint = ":kw=1"},
    [ABORTED_IN] = {COV_POINT("aborted_in", "a unit that goes on after an abort", state_bins), .hint = ":abort=1"},
    [ERROR_AT] = {COV_POINT("error_at", "an error of this operand that is lost", operand_bins),
                  .hint = ":error=read_f:error_at=0"},
    [DATA] = {COV_POINT("data", "the ends of an activation", data_bins), .hint = ":data=%"},
    [CODES] = {COV_POINT("codes", "a code of a weight", code_bins), .hint = ":codes=%"},
    [D] = {COV_POINT("d", "a shift of an input channel", d_bins), .hint = ":d=%"},
    [SCALE] = {COV_POINT("scale", "a shift at the end of its range, rounding, saturation", scale_bins),
               .hint = ":scale=%"},
    [BIAS] = {COV_POINT("bias", "sums that wrap", bias_bins), .hint = ":bias=%"},
};
static const cov_cross crosses[] = {
    {COV_CROSS("kernel_stride", "columns of a strided kernel of this width", "kw", "stride")},
    {COV_CROSS("stride_window", "columns that the stride drops before the pooling sees them", "stride", "window")},
    {COV_CROSS("pooling", "both poolings in one task", "window", "full")},
    {COV_CROSS("post", "stages behind the array together", "residual", "post_relu", "full")},
    {COV_CROSS("bus_stalls", "a wait for filters at this timing", "bus", "load_stall")},
    {COV_CROSS("scale_full", "saturation and rounding of each stage behind the array", "scale", "residual", "full")},
    {COV_CROSS("terms", "a product at the ends of its factors", "data", "codes", "d")},
};
static const cov_group group = {COV_GROUP("sac_task", "tasks that have ended", points), COV_CROSSES(crosses)};

int sac_cov_open(sac_cov *cov, char *err, size_t err_size) {
    return cov_open_group(&group, &cov->db, &cov->inst, err, err_size);
}

void sac_cov_close(sac_cov *cov) {
    cov_close(cov->db);
    *cov = (sac_cov){0};
}

/* 1; less than a vector; a multiple of it; more. */
static int64_t edge(uint32_t value, uint32_t vector) {
    return value == 1 ? 0 : value % vector == 0 ? 2 : value < vector ? 1 : 3;
}

static int64_t pad(uint32_t value, uint32_t vector) {
    return value == 0 ? 0 : value < vector ? 1 : 2;
}

void sac_cov_sample(sac_cov *cov, const sac_cov_task *t) {
    const int64_t values[POINTS] = {
        [KW] = t->kw,
        [KH] = t->kh,
        [STRIDE] = t->stride,
        [PAD_L] = pad(t->pl, t->wv),
        [PAD_T] = pad(t->pt, 3),
        [C] = edge(t->c, t->cv),
        [N] = edge(t->n, t->nv),
        [W] = edge(t->w, t->wv),
        [OW] = edge(t->ow, t->wow == 1 ? t->wv : t->wow),
        [WIN] = t->win,
        [POOL_STRIDE] = t->pool_stride,
        [POOL_PT] = t->pool_pt,
        [POOL_PL] = t->pool_pl,
        [RELU] = t->relu,
        [ADD] = t->add,
        [POST_RELU] = t->post_relu,
        [FULL] = t->full,
        [CACHED] = t->from_cache,
        [TO] = t->to,
        [BATCHES] = t->batches,
        [LOAD_STALL] = t->load_stall,
        [WRITE_STALL] = t->write_stall,
        [END] = t->end,
        [BUS] = t->bus,
        [SHAPE] = t->kw == t->kh  ? 0
                  : t->kw > t->kh ? 1
                                  : 2,
        [THIRD] = t->kw == 1 ? ((t->c + t->cv - 1) / t->cv - 1) % 3 + 1 : COV_NONE,
        [ABORTED_IN] = t->aborted_in,
        [ERROR_AT] = t->error_at,
        [DATA] = t->data,
        [CODES] = t->codes,
        [D] = t->d,
        [SCALE] = t->scale,
        [BIAS] = t->bias,
    };
    (void)cov_sample(cov->inst, values);
}

int sac_cov_save(sac_cov *cov, const char *path, const char *job, char *err, size_t err_size) {
    return cov_write_job(cov->db, path, job, err, err_size);
}
