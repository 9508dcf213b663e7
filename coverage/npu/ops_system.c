/* ops_system.c - several tasks at a time, and faults among them: the tests jobs, sequence, chain and faults.
 */
#include "models.h"

#include <string.h>

static const char *const mixes[] = {"any", "units", "alu", "pool", "gemm", "vector"};
static const char *const units[] = {"any", "gemm", "alu", "pool"};
static const char *const started[] = {"alu", "pool", "gemm"};
#define TEST(name)
#define OPERATOR(name) #name,
static const char *const operators[] = {
#include "designs/npu/tests.def"
};
#define OPERATORS (sizeof operators / sizeof operators[0])
static const char *const faults[] = {"response", "hang", "slow", "reset", "soft_reset", "reads", "writes", "start"};
static const char *const beats[] = {"any", "first", "last", "all"};
static const char *const channels[] = {"aw", "w", "b", "ar", "r"};
static const char *const dirs[] = {"read", "write"};
static const char *const responses[] = {"slverr", "decerr"};
static const char *const mends[] = {"reset", "power"};

static const cov_bin mix_bins[] = {NPU_ENUM(mixes, 6, ":mix=%")};
static const cov_bin units_bins[] = {NPU_ENUM(units, 4, ":units=%")};
static const cov_bin op_bins[] = {NPU_ENUM(operators, OPERATORS, ":op=%")};
static const cov_bin kind_bins[] = {NPU_ENUM(faults, 8, ":kind=%")};
/* of a kind of fault that has them: see only_of() */
static const cov_bin axi_bins[] = {{COV_NAMES(channels, 5), .hint = ":kind=hang axi=%"}};
static const cov_bin dir_bins[] = {{COV_NAMES(dirs, 2), .hint = ":kind=response dir=%"}};
static const cov_bin resp_bins[] = {{COV_NAMES(responses, 2), .hint = ":kind=response resp=%"}};
static const cov_bin beat_bins[] = {{COV_NAMES(beats, 4), .hint = ":kind=response beat=%"}};
static const cov_bin mend_bins[] = {{COV_NAMES(mends, 2), .hint = ":kind=hang mend=%"}};
static const cov_bin unit_bins[] = {{COV_NAMES(started, 3), .hint = ":kind=start unit=%"}};
static const cov_bin channel_bins[] = {{COV_EACH(0, 1)}};
static const cov_bin jobs_bins[] = {{COV_EACH(1, 6)}};
static const cov_bin tasks_bins[] = {{COV_EACH(1, 4)}, {COV_RANGE("5..8", 5, 8)}, {COV_RANGE("9..", 9, COV_MAX)}};
static const cov_bin links_bins[] = {{COV_EACH(2, 4)}, {COV_RANGE("5..", 5, COV_MAX)}};
static const cov_bin errors_bins[] = {{COV_VALUE("none", 0)}, {COV_RANGE("some", 1, COV_MAX)}};
static const cov_bin side_bins[] = {{COV_EACH(1, 10)}};
static const cov_bin planes_bins[] = {{COV_POW2(1, 24)}};
static const cov_bin radius_bins[] = {{COV_EACH(0, 2)}};
static const cov_bin tiles_bins[] = {{COV_VALUE("driver", 0)}, {COV_POW2(1, 255)}};
static const cov_bin count_bins[] = {{COV_EACH(1, 4)}};
static const cov_bin when_bins[] = {{COV_RANGE("1st eighth", 0, 511)},     {COV_RANGE("2nd eighth", 512, 1023)},
                                    {COV_RANGE("3rd eighth", 1024, 1535)}, {COV_RANGE("4th eighth", 1536, 2047)},
                                    {COV_RANGE("5th eighth", 2048, 2559)}, {COV_RANGE("6th eighth", 2560, 3071)},
                                    {COV_RANGE("7th eighth", 3072, 3583)}, {COV_RANGE("8th eighth", 3584, 4095)}};

/* A knob that is not used for other kinds of faults. */
static int64_t only_of(const npu_case *c, const char *kind, const char *or_kind, const char *knob,
                       const char *const *names, uint32_t count) {
    const char *is = tb_knobs_get_name(c->knobs, "kind");
    if (strcmp(is, kind) != 0 && strcmp(is, or_kind) != 0) {
        return COV_NONE;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(tb_knobs_get_name(c->knobs, knob), names[i]) == 0) {
            return i;
        }
    }
    return COV_NONE;
}
NPU_VALUE(axi, only_of(c, "hang", "slow", "axi", channels, 5))
NPU_VALUE(dir, only_of(c, "response", "response", "dir", dirs, 2))
NPU_VALUE(resp, only_of(c, "response", "response", "resp", responses, 2))
NPU_VALUE(beat, only_of(c, "response", "response", "beat", beats, 4))
NPU_VALUE(mend, only_of(c, "hang", "hang", "mend", mends, 2))
NPU_VALUE(unit, only_of(c, "start", "start", "unit", started, 3))

#define JOBS(P, D)                                                                                                     \
    P(jobs, "a queue overflows with so many operators at a time", jobs_bins)                                           \
    P(mix, "two units request one channel of memory at once", mix_bins)                                                \
    P(alone, "the results of an operator depend on others in flight", flag_bins)                                       \
    P(chain, "a job reads what an earlier one has not written yet", flag_bins)                                         \
    P(writes, "back-pressure of the results reaches the mesh", flag_bins)
#define SEQUENCE(P, D)                                                                                                 \
    P(tasks, "state of a task affects the next one", tasks_bins)                                                       \
    P(units, "two tasks of one unit without a pause", units_bins)                                                      \
    P(serial, "tasks in flight use each other's buffers", flag_bins)                                                   \
    P(errors, "an error is reported for another task in flight", errors_bins)                                          \
    P(bus, "a unit loses data with slow or bursty memory", bus_bins)
#define CHAIN(P, D)                                                                                                    \
    P(tasks, "a fence delays one task, but not the next", links_bins)                                                  \
    P(side, "a map is read before its last rows are written", side_bins)                                               \
    P(channels, "a map is read before its last channels are written", planes_bins)                                     \
    P(radius, "a fence ignores rows that only the kernel reaches", radius_bins)                                        \
    P(group, "tiles that are written together are written after the fence", tiles_bins)                                \
    P(bus, "a read overtakes a write whose response is late", bus_bins)
#define FAULTS(P, D)                                                                                                   \
    P(op, "one operator's task does not end after a fault", op_bins)                                                   \
    P(kind, "one kind of fault is not reported, or hangs the device", kind_bins)                                       \
    P(when, "a fault in the first or last moments of a task is missed", when_bins)                                     \
    P(count, "a second fault before the first one is handled", count_bins)                                             \
    P(channel, "only one channel of memory reports its errors", channel_bins)                                          \
    D(axi, "one channel of the bus is not waited for", axi_bins, axi, NULL)                                            \
    D(dir, "errors of writes are lost", dir_bins, dir, NULL)                                                           \
    D(resp, "DECERR is treated as OKAY", resp_bins, resp, NULL)                                                        \
    D(beat, "an error is seen only in the last beat", beat_bins, beat, NULL)                                           \
    D(mend, "a soft reset waits for memory without end", mend_bins, mend, NULL)                                        \
    D(unit, "a start of a busy unit disturbs the running task", unit_bins, unit, NULL)                                 \
    P(frills, "a fault between two parts of a split operator", flag_bins)                                              \
    P(bus, "a fault while a unit waits for memory", bus_bins)                                                          \
    P(wait, "the driver waits for an interrupt that does not occur", wait_bins)

static const cov_cross jobs_crosses[] = {
    {COV_CROSS("jobs_mix", "so many operators for one unit", "jobs", "mix")},
    {COV_CROSS("mix_writes", "the results of one unit are not sent", "mix", "writes", "chain")}};

static const cov_cross sequence_crosses[] = {
    {COV_CROSS("units_bus", "one unit's tasks under one timing of memory", "units", "bus", "serial")},
    {COV_CROSS("units_errors", "an error of one unit ends the task of another", "units", "errors", "serial")}};

static const cov_cross chain_crosses[] = {
    {COV_CROSS("tasks_bus", "a fence under one timing of memory", "tasks", "bus")},
    {COV_CROSS("side_radius", "small maps whose kernel reaches all of them", "side", "radius")}};

static const cov_cross faults_crosses[] = {
    {COV_CROSS("kind_op", "one operator does not survive one kind of fault", "kind", "op")},
    {COV_CROSS("kind_when", "one kind of fault in one part of a task", "kind", "when")},
    {COV_CROSS("responses", "one kind of error response", "dir", "resp", "beat", "channel")},
    {COV_CROSS("hangs", "a channel of the bus that stops", "axi", "channel", "kind"),
     .rules =
         (const cov_rule[]){
             {COV_IGNORED, "only these two kinds have a channel of the bus", {NULL, NULL, "!hang|slow"}}},
     .rule_count = 1}};

const npu_model npu_models_system[] = {
    NPU_MODEL("jobs", JOBS, "operators at the same time", jobs_crosses),
    NPU_MODEL("sequence", SEQUENCE, "tasks on the registers, in any order", sequence_crosses),
    NPU_MODEL("chain", CHAIN, "tasks that read the output of the previous one", chain_crosses),
    NPU_MODEL("faults", FAULTS, "operators with faults injected", faults_crosses, .only_rtl = true),
    {0}};
