/* main.c - the test of the copy engine: knobs, one case, the program. */
#include <stdlib.h>
#include <string.h>

#include "copy_device.h"
#include "copy_driver.h"
#include "coverage/axi_copy/copy_cov.h"
#include "coverage/code/code.h"

#define MAX_LEN 12000u
#define MAX_COPIES 8u
#define DST_BASE (COPY_MEM_BASE + COPY_MEM_SIZE / 2)
#define STEP 0x4000u      /* from one copy's place to the next one's */
#define LONG_ENOUGH 2048u /* bytes of a copy that is still in flight when its START is written again */

static const char *const bus_names[] = {"ideal", "fast", "typical", "slow", "bursty", "hostile"};
static const char *const data_names[] = {"ramp", "random"};
static const char *const error_names[] = {"none", "read", "write"};
static const uint32_t error_weights[] = {8, 1, 1};
static const uint32_t rare[] = {15, 1};

/* The lowest value of a knob is its simplest. */
static const tb_knob knobs[] = {
    {"copies", 1, MAX_COPIES, TB_KNOB_SMALL, NULL, NULL, "copies one after the other"},
    {"len", 0, MAX_LEN, TB_KNOB_SMALL, NULL, NULL, "bytes of the first copy, at most of the others"},
    {"src", 0, 4095, TB_KNOB_UNIFORM, NULL, NULL, "offset of the source in its page, first copy"},
    {"dst", 0, 4095, TB_KNOB_UNIFORM, NULL, NULL, "offset of the destination, first copy"},
    {"data", 0, 1, TB_KNOB_ENUM, data_names, NULL, "what is copied"},
    {"irq", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "wait for the interrupt instead of polling"},
    {"early", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "write SRC, DST, LEN of the next copy while one is under way"},
    {"again", 0, 1, TB_KNOB_WEIGHTED, NULL, rare, "write START a second time while a long copy is under way"},
    {"range", 0, 1, TB_KNOB_WEIGHTED, NULL, rare, "the last copy runs past the end of the address space"},
    {"error", 0, 2, TB_KNOB_ENUM, error_names, error_weights, "one burst is answered with an error"},
    {"error_at", 0, 20, TB_KNOB_SMALL, NULL, NULL, "number of that burst"},
    {"bus", 0, 5, TB_KNOB_ENUM, bus_names, NULL, "timing of the buses"},
    {"range_src", 0, 1, TB_KNOB_WEIGHTED | TB_KNOB_LATER, NULL, rare,
     "the last copy begins before the end of the address space and ends behind it"},
    {"fresh", 0, 1, TB_KNOB_WEIGHTED | TB_KNOB_LATER, NULL, rare, "compare the registers before the first copy"},
    {"strobes", 0, 1, TB_KNOB_WEIGHTED | TB_KNOB_LATER, NULL, rare,
     "before that, write parts of registers, and read what is none"},
};

typedef struct job {
    uint32_t src, dst, len;
} job;

/* Copy number i of a case. */
static job make_job(const tb_prog_run *run, uint32_t i) {
    const uint32_t len = (uint32_t)tb_knobs_get(run->knobs, "len");
    tb_rng base = tb_rng_stream(run->seed, "copies");
    tb_rng rng = tb_rng_fork(&base, i);
    job j = {.src = COPY_MEM_BASE + STEP * i, .dst = DST_BASE + STEP * i, .len = len};
    if (i == 0) {
        j.src += (uint32_t)tb_knobs_get(run->knobs, "src");
        j.dst += (uint32_t)tb_knobs_get(run->knobs, "dst");
    } else {
        j.src += (uint32_t)tb_rng_range(&rng, 0, 4095);
        j.dst += (uint32_t)tb_rng_range(&rng, 0, 4095);
        j.len = (uint32_t)tb_rng_small(&rng, 0, len);
    }
    if (i > 0 && i + 1 == tb_knobs_get(run->knobs, "copies")) {
        j.dst = tb_knobs_get(run->knobs, "range") != 0 ? UINT32_MAX - j.len / 2 : j.dst;
        j.src = tb_knobs_get(run->knobs, "range_src") != 0 ? UINT32_MAX - j.len / 2 : j.src;
    }
    return j;
}

static void prepare(copy_device *dev, const tb_prog_run *run, const job *j) {
    uint8_t data[MAX_LEN];
    tb_rng rng = tb_rng_stream(run->seed ^ j->src, "data");
    tb_rng_fill(&rng, data, j->len);
    for (uint32_t i = 0; i < j->len && tb_knobs_get(run->knobs, "data") == 0; i++) {
        data[i] = (uint8_t)i;
    }
    tb_pair_fill(&dev->pair, j->src, data, j->len);
    copy_prepare(&dev->hal, j->src, j->dst, j->len);
}

/* What the driver must answer: the slave knows what it answered with an error. */
static copy_status expected_status(const copy_device *dev, const tb_axi_slave *s, const uint64_t before[2]) {
    return (dev->model.err & AXI_COPY_ERR_RANGE_MASK) != 0 ? COPY_FAIL_RANGE
           : s->errors[0] != before[0]                     ? COPY_FAIL_READ
           : s->errors[1] != before[1]                     ? COPY_FAIL_WRITE
                                                           : COPY_OK;
}

static bool in_memory(uint32_t addr, uint32_t bytes) {
    return addr >= COPY_MEM_BASE && addr - COPY_MEM_BASE <= COPY_MEM_SIZE - bytes;
}

/*
 * Memory answers with an error where the case says so, and where there is none: a copy of memory into memory must see
 * no other errors, or it went to a wrong address.
 */
static void check_errors(copy_device *dev, const tb_prog_run *run, const job *j, const uint64_t before[2]) {
    const tb_axi_slave *s = &dev->run.port[COPY_PORT_MEM]->slave;
    const bool expected =
        tb_knobs_get(run->knobs, "error") != 0 || !in_memory(j->src, j->len) || !in_memory(j->dst, j->len);
    if (!expected && (s->errors[0] != before[0] || s->errors[1] != before[1])) {
        tb_run_fail(&dev->run, "mem:error",
                    "copy of %u bytes from 0x%08x to 0x%08x: memory answered with an error, although all of the range "
                    "is memory",
                    j->len, j->src, j->dst);
    }
}

/* One copy; the next one is prepared while it is in flight, if there is one and the case requires it. */
static bool copy_one(copy_device *dev, const tb_prog_run *run, uint32_t number, const job *j, const job *next) {
    const tb_axi_slave *slave = &dev->run.port[COPY_PORT_MEM]->slave;
    const uint64_t before[2] = {slave->errors[0], slave->errors[1]};
    const bool irq = tb_knobs_get(run->knobs, "irq") != 0;
    copy_device_begin(dev, number, j->src, j->dst, j->len);
    copy_start(&dev->hal, irq);
    if (tb_knobs_get(run->knobs, "again") != 0 && j->len >= LONG_ENOUGH && dev->model.err == 0) {
        tb_run_write(&dev->run, COPY_PORT_REGS, AXI_COPY_REG_CTRL,
                     AXI_COPY_CTRL_START_MASK | (irq ? AXI_COPY_CTRL_IRQ_EN_MASK : 0));
    }
    if (next != NULL) {
        prepare(dev, run, next);
    }
    const copy_status got = copy_wait(&dev->hal, irq);
    copy_device_end(dev);
    copy_device_log(dev, number, j->dst, j->len);
    check_errors(dev, run, j, before);
    const copy_status expected = expected_status(dev, slave, before);
    if (got != expected) {
        tb_run_fail(&dev->run, "driver:status", "the driver answered %d, expected %d", (int)got, (int)expected);
    }
    if (got == COPY_FAIL_READ || got == COPY_FAIL_WRITE) {
        copy_device_take(dev, j->dst, j->len);
    }
    return copy_device_compare(dev);
}

/* A write of the bytes that strb names. */
static void write_part(copy_device *dev, uint32_t reg, uint32_t value, uint8_t strb) {
    const bool command = reg == AXI_COPY_REG_CTRL || reg == AXI_COPY_REG_STATUS; /* all of it is in byte 0 */
    uint32_t mask = 0;
    for (unsigned i = 0; i < 4; i++) {
        mask |= (strb >> i & 1u) * (UINT32_C(0xff) << (8 * i));
    }
    if (!command || (strb & 1u) != 0) {
        const uint32_t kept = command ? 0 : copy_model_read(&dev->model, reg) & ~mask;
        copy_model_write(&dev->model, reg, kept | (value & mask));
    }
    (void)tb_run_write_part(&dev->run, COPY_PORT_REGS, reg, value, strb);
}

static void expect(copy_device *dev, uint32_t reg, uint32_t value) {
    uint32_t got = 0;
    if (tb_run_read(&dev->run, COPY_PORT_REGS, reg, &got) && got != value) {
        tb_run_fail(&dev->run, "reg:fixed", "register 0x%02x is 0x%08x, expected 0x%08x", reg, got, value);
    }
}

/*
 * Write parts of registers: START is left out, or its byte is not strobed; also CONFIG, and the address after it, where
 * there is no register.
 */
static bool write_parts(copy_device *dev, const tb_prog_run *run) {
    static const uint32_t regs[] = {AXI_COPY_REG_SRC,    AXI_COPY_REG_DST,    AXI_COPY_REG_LEN,       AXI_COPY_REG_CTRL,
                                    AXI_COPY_REG_STATUS, AXI_COPY_REG_CONFIG, AXI_COPY_REG_CONFIG + 4};
    tb_rng rng = tb_rng_stream(run->seed, "strobes");
    for (int i = 0; i < 24; i++) {
        const uint32_t reg = regs[tb_rng_range(&rng, 0, sizeof regs / sizeof *regs - 1)];
        const uint8_t strb = (uint8_t)tb_rng_range(&rng, 0, 15);
        const uint32_t value = (uint32_t)tb_rng_range(&rng, 0, UINT32_MAX);
        const bool starts = reg == AXI_COPY_REG_CTRL && (strb & 1u) != 0;
        write_part(dev, reg, starts ? value & ~AXI_COPY_CTRL_START_MASK : value, strb);
    }
    expect(dev, AXI_COPY_REG_CONFIG, dev->run.port[COPY_PORT_MEM]->axi.bytes);
    expect(dev, AXI_COPY_REG_CONFIG + 4, 0);
    return copy_device_compare(dev);
}

static int run_case(void *bench, tb_prog_run *run) {
    copy_device *dev = (copy_device *)bench;
    const uint32_t copies = (uint32_t)tb_knobs_get(run->knobs, "copies");
    const bool early = tb_knobs_get(run->knobs, "early") != 0;
    const int64_t error = tb_knobs_get(run->knobs, "error");
    bool ok = true;
    if (error != 0) {
        tb_axi_slave_inject(&dev->run.port[COPY_PORT_MEM]->slave, (unsigned)error - 1,
                            (uint64_t)tb_knobs_get(run->knobs, "error_at"));
    }
    if (tb_knobs_get(run->knobs, "fresh") != 0) {
        ok = copy_device_compare(dev);
    }
    if (ok && tb_knobs_get(run->knobs, "strobes") != 0) {
        ok = write_parts(dev, run);
    }
    for (uint32_t i = 0; i < copies && ok; i++) {
        const job j = make_job(run, i), next = make_job(run, i + 1);
        if (i == 0 || !early) {
            prepare(dev, run, &j);
        }
        ok = copy_one(dev, run, i, &j, early && i + 1 < copies ? &next : NULL);
    }
    return 0;
}

/* At most so much is copied; a slow bus takes longer. */
static tb_shrink_size size(const tb_test *test, const tb_knobs *k) {
    (void)test;
    const uint64_t bytes = (uint64_t)(tb_knobs_get(k, "copies") * tb_knobs_get(k, "len"));
    return (tb_shrink_size){.cycles = bytes * (1 + (uint64_t)tb_knobs_get(k, "bus")), .work = bytes};
}

/* ---- coverage files ---- */

static copy_cov *cov_of(const tb_prog *prog) {
    return (copy_cov *)prog->ctx;
}

static int cov_begin(const tb_prog *prog, char *err, size_t err_size) {
    return copy_cov_open(cov_of(prog), err, err_size);
}

static int cov_end(const tb_prog *prog, const char *path, const char *again, char *err, size_t err_size) {
    return copy_cov_save(cov_of(prog), path, again, err, err_size);
}

static void cov_drop(const tb_prog *prog) {
    copy_cov_close(cov_of(prog));
}

/* A case that has passed is covered. */
static int passed(tb_prog_run *run) {
    if (cov_of(run->o->prog)->db != NULL) {
        copy_cov_case(cov_of(run->o->prog), run->knobs);
    }
    return 0;
}

int main(int argc, char **argv) {
    const tb_test test = {.name = "axi_copy",
                          .about = "random copies on the engine and its golden model",
                          .is_operator = true,
                          TB_KNOBS_OF(knobs),
                          .size = size,
                          .bench = &copy_bench,
                          .body = run_case};
    copy_cov cov = {0};
    const tb_prog prog = {.about = test.about,
                          .cfg = AXI_COPY_CFG_NAME,
                          .kind = AXI_COPY_BUILD_KIND,
                          .tests = &test,
                          .test_count = 1,
                          .case_dir = "build/cases",
                          .work_name = "bytes",
                          .ctx = &cov,
                          .passed = passed,
                          .cov_open = cov_begin,
                          .cov_save = cov_end,
                          .cov_close = cov_drop,
                          .code_save = code_save_text,
                          .dumps = true,
                          .judges = true};
    return tb_prog_main(&prog, argc, argv);
}
