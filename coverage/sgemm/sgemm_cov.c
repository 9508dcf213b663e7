#include "sgemm_cov.h"

static const char *const bus_names[] = {"ideal", "fast", "typical", "slow", "bursty", "hostile"};
static const char *const data_names[] = {"small",  "normal", "random",  "hard",     "zeros",
                                         "cancel", "large",  "special", "half_ties"};
static const char *const factor_names[] = {"one",       "zero",     "minus_zero", "minus_one", "random",
                                           "subnormal", "infinite", "nan",        "large",     "two"};
static const char *const half_names[] = {"fp32", "half", "a",      "b",      "c",      "ab",      "abc",     "all",
                                         "ac",   "bc",   "half_a", "half_b", "half_c", "half_ab", "half_ac", "half_bc"};
static const char *const ld_names[] = {"least", "plus_one", "some", "large"};
static const char *const split_names[] = {"none", "one", "block", "odd", "k_only"};
static const char *const error_names[] = {"none", "read0", "read1", "write"};
static const char *const cpu_names[] = {"engine", "some", "cpu"};
static const char *const no_yes[] = {"no", "yes"};
static const char *const size_names[] = {"nothing",   "one",        "in a block",   "block - 1", "block",
                                         "block + 1", "two blocks", "2 blocks + 1", "more"};

static const char *const slice_names[] = {"nothing", "1", "2", "3", "4", "more", "all lanes"};
static const char *const chain_names[] = {"all", "some"};

static const cov_bin slice_bins[] = {{COV_NAMES(slice_names, 7)}};
static const cov_bin chain_bins[] = {{COV_NAMES(chain_names, 2)}};
static const cov_bin gemms_bins[] = {{COV_EACH(1, 4)}};
static const cov_bin size_bins[] = {{COV_NAMES(size_names, 9)}};
static const cov_bin lane_bins[] = {{COV_EACH(0, 15)}};
static const cov_bin flag_bins[] = {{COV_NAMES(no_yes, 2)}};
static const cov_bin ld_bins[] = {{COV_NAMES(ld_names, 4)}};
static const cov_bin factor_bins[] = {{COV_NAMES(factor_names, 10)}};
static const cov_bin data_bins[] = {{COV_NAMES(data_names, 9)}};
static const cov_bin half_bins[] = {{COV_NAMES(half_names, 16)}};
static const cov_bin split_bins[] = {{COV_NAMES(split_names, 5)}};
static const cov_bin error_bins[] = {{COV_NAMES(error_names, 4)}};
static const cov_bin cpu_bins[] = {{COV_NAMES(cpu_names, 3)}};
static const cov_bin bus_bins[] = {{COV_NAMES(bus_names, 6)}};

enum {
    GEMMS,
    M,
    N,
    K,
    TA,
    TB,
    COL,
    A_AT,
    B_AT,
    C_AT,
    LDA,
    LDB,
    LDC,
    ALPHA,
    BETA,
    DATA,
    HALF,
    FED,
    QUEUED,
    IRQ,
    SPLIT,
    CPU,
    ERROR,
    BUS,
    BESIDE,
    LAST_SLICE,
    CHAINS,
    SHORT_PASS,
    POINTS
};
static const cov_point points[POINTS] = {
    [GEMMS] = {COV_POINT("gemms", "state of one task affects the next", gemms_bins), .hint = ":gemms=%"},
    [M] = {COV_POINT("m", "rows at the end of a block", size_bins)},
    [N] = {COV_POINT("n", "columns at the end of a block", size_bins)},
    [K] = {COV_POINT("k", "lanes without an operand, and slices", size_bins)},
    [TA] = {COV_POINT("ta", "A transposed", flag_bins), .hint = ":ta=%"},
    [TB] = {COV_POINT("tb", "B transposed", flag_bins), .hint = ":tb=%"},
    [COL] = {COV_POINT("col", "column-major order", flag_bins), .hint = ":col=%"},
    [A_AT] = {COV_POINT("a_at", "a lane of the bus in which a row of A begins", lane_bins), .hint = ":a_at=%"},
    [B_AT] = {COV_POINT("b_at", "a lane of the bus in which a row of B begins", lane_bins), .hint = ":b_at=%"},
    [C_AT] = {COV_POINT("c_at", "a lane of the bus in which a row of C begins", lane_bins), .hint = ":c_at=%"},
    [LDA] = {COV_POINT("lda", "gaps between rows of A are read", ld_bins), .hint = ":lda=%"},
    [LDB] = {COV_POINT("ldb", "gaps between rows of B are read", ld_bins), .hint = ":ldb=%"},
    [LDC] = {COV_POINT("ldc", "gaps between rows of C are written", ld_bins), .hint = ":ldc=%"},
    [ALPHA] = {COV_POINT("alpha", "the factor of the product", factor_bins), .hint = ":alpha=%"},
    [BETA] = {COV_POINT("beta", "the factor of C; zeros do not read it", factor_bins), .hint = ":beta=%"},
    [DATA] = {COV_POINT("data", "rounding, overflow, signs of zero, NaN", data_bins), .hint = ":data=%"},
    [HALF] = {COV_POINT("half", "binary16 modes", half_bins), .hint = ":half=%"},
    [FED] = {COV_POINT("fed", "a task reads what the one before writes", flag_bins), .hint = ":fed=%"},
    [QUEUED] = {COV_POINT("queued", "a task waits while another one runs", flag_bins), .hint = ":queued=%"},
    [IRQ] = {COV_POINT("irq", "an interrupt before the task is done", flag_bins), .hint = ":irq=%"},
    [SPLIT] = {COV_POINT("split", "sums across tasks", split_bins), .hint = ":split=%"},
    [CPU] = {COV_POINT("cpu", "the processor computes other bits", cpu_bins), .hint = ":cpu=%"},
    [ERROR] = {COV_POINT("error", "an error response that is lost", error_bins), .hint = ":error=%"},
    [BUS] = {COV_POINT("bus", "a handshake that only works without stalls", bus_bins), .hint = ":bus=%"},
    [BESIDE] = {COV_POINT("beside", "bytes of a neighbour in a beat of C", flag_bins), .hint = ":beside=%"},
    [LAST_SLICE] = {COV_POINT("last_slice", "lanes without an operand", slice_bins)},
    [CHAINS] = {COV_POINT("chains", "a last group of rows with idle chains", chain_bins)},
    [SHORT_PASS] = {COV_POINT("short_pass", "a slice begins before the sums of the one before are there", flag_bins)},
};
static const cov_cross crosses[] = {
    {COV_CROSS("sizes", "ends of blocks in both directions of C", "m", "n")},
    {COV_CROSS("rows_and_slices", "ends of blocks in the direction of the sums", "m", "k")},
    {COV_CROSS("place_a", "each alignment of A in either direction", "ta", "a_at", "lda")},
    {COV_CROSS("place_b", "each alignment of B in either direction", "tb", "b_at", "ldb")},
    {COV_CROSS("place_c", "each alignment of C, read and written", "c_at", "ldc")},
    {COV_CROSS("transposes", "each way through the loaders", "ta", "tb")},
    {COV_CROSS("factors", "the rules of BLAS for zeros of alpha and beta", "alpha", "beta")},
    {COV_CROSS("error_bus", "an error response after stalls is lost", "error", "bus")},
};
static const cov_group group = {COV_GROUP("sgemm", "GEMMs of the cases", points), COV_CROSSES(crosses)};

int sgemm_cov_open(sgemm_cov *cov, int64_t dim, int64_t vec, int64_t chains, char *err, size_t err_size) {
    cov->dim = dim;
    cov->vec = vec;
    cov->chains = chains;
    return cov_open_group(&group, &cov->db, &cov->inst, err, err_size);
}

void sgemm_cov_close(sgemm_cov *cov) {
    cov_close(cov->db);
    *cov = (sgemm_cov){0};
}

/* Index into size_names. */
static int64_t size_bin(int64_t size, int64_t block) {
    return size == 0               ? 0
           : size == 1             ? 1
           : size < block - 1      ? 2
           : size <= block + 1     ? 3 + (size - block + 1)
           : size <= 2 * block     ? 6
           : size == 2 * block + 1 ? 7
                                   : 8;
}

void sgemm_cov_case(sgemm_cov *cov, const tb_knobs *k) {
    int64_t values[POINTS];
    for (int i = 0; i < LAST_SLICE; i++) {
        values[i] = tb_knobs_get(k, points[i].name);
    }
    const int64_t rows = values[COL] != 0 ? values[N] : values[M], cols = values[COL] != 0 ? values[M] : values[N];
    const int64_t mb = rows < cov->dim ? rows : cov->dim, nb = cols < cov->dim ? cols : cov->dim;
    const int64_t last = values[K] % cov->vec;
    values[LAST_SLICE] = values[K] == 0 ? 0 : last == 0 ? 6 : last < 5 ? last : 5;
    values[CHAINS] = cov->chains == 1 ? COV_NONE : rows % cov->chains != 0;
    values[SHORT_PASS] = values[K] > cov->vec && mb > 0 && (mb + cov->chains - 1) / cov->chains * nb < cov->vec + 2;
    values[M] = size_bin(values[M], cov->dim);
    values[N] = size_bin(values[N], cov->dim);
    values[K] = size_bin(values[K], cov->vec);
    (void)cov_sample(cov->inst, values);
}

int sgemm_cov_save(sgemm_cov *cov, const char *path, const char *job, char *err, size_t err_size) {
    return cov_write_job(cov->db, path, job, err, err_size);
}
