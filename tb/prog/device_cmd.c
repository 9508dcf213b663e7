/*
 * device_cmd.c - the command device: a bench of this program as a device that another program drives, request by
 * request over standard input and output (docs/python.md, "A device of any design").
 *
 * A request is a line of words; `load` is followed by its bytes. An answer is a line, STATUS BYTES TEXT, and so many
 * bytes: ok; bad (the request is wrong, nothing has happened); fail (the run has failed: TEXT is signature, tab, cycle,
 * tab, message, and the bytes are the report on a hang). What the design prints goes to standard error.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../case/store.h"
#include "device_priv.h"
#include "opt/opt.h"
#include "report/report.h"

/* ---- answers ---- */

void device_answer(device *d, const char *status, const char *text, const void *bytes, size_t size) {
    fprintf(d->out, "%s %zu %s\n", status, size, text);
    fwrite(bytes, 1, size, d->out);
    fflush(d->out);
}

void device_bad(device *d, const char *text) {
    device_answer(d, "bad", text, "", 0);
}

/* After something that took cycles. */
void device_done(device *d, const char *text) {
    if (!tb_run_failed(d->r)) {
        device_answer(d, "ok", text, "", 0);
        return;
    }
    char line[800];
    const char *hang = d->r->hang_text != NULL ? d->r->hang_text : "";
    snprintf(line, sizeof line, "%s\t%" PRIu64 "\t%s", d->r->failure.signature, d->r->failure.cycle,
             d->r->failure.message);
    device_answer(d, "fail", line, hang, strlen(hang));
}

void device_number(device *d, uint64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    device_done(d, text);
}

/* ---- requests ---- */

/* load SIDE ADDR BYTES: rtl, model or both. */
static void do_load(device *d) {
    const uint64_t size = d->number[2];
    uint8_t *data = size <= MAX_BYTES ? (uint8_t *)malloc(size + 1) : NULL;
    const bool both = strcmp(d->word[1], "both") == 0;
    if (data == NULL || fread(data, 1, size, d->in) != size) {
        device_bad(d, "too many bytes, or too few of them came");
        d->over = true; /* the next line cannot be found */
    } else if (d->pair == NULL) {
        device_bad(d, "the bench has no memory");
    } else {
        bool good = true;
        if (both || strcmp(d->word[1], "rtl") == 0) {
            good = tb_ddr_write(&d->pair->rtl, d->number[1], data, size);
        }
        if (both || strcmp(d->word[1], "model") == 0) {
            good = tb_ddr_write(&d->pair->model, d->number[1], data, size) && good;
        }
        if (good) {
            device_done(d, "");
        } else {
            device_bad(d, "outside the memory");
        }
    }
    free(data);
}

/* fetch SIDE ADDR BYTES */
static void do_fetch(device *d) {
    const uint64_t size = d->number[2];
    uint8_t *data = size <= MAX_BYTES ? (uint8_t *)malloc(size + 1) : NULL;
    if (data == NULL) {
        device_bad(d, "too many bytes");
    } else if (d->pair == NULL) {
        device_bad(d, "the bench has no memory");
    } else if (!tb_ddr_read(strcmp(d->word[1], "model") == 0 ? &d->pair->model : &d->pair->rtl, d->number[1], data,
                            size)) {
        device_bad(d, "outside the memory");
    } else {
        device_answer(d, "ok", "", data, size);
    }
    free(data);
}

static void do_step(device *d) {
    for (uint64_t i = 0; i < d->number[0] && tb_run_step(d->r); i++) {
    }
    device_number(d, d->r->sim.cycle);
}

/* get NAME: a port of the design, in hexadecimal. */
static void do_get(device *d) {
    const tb_sig s = tb_sim_find(&d->r->sim, d->word[1]);
    char *text = s.ptr != NULL ? (char *)malloc(tb_sig_bytes(s) * 2 + 1) : NULL;
    uint8_t *bytes = s.ptr != NULL ? (uint8_t *)malloc(tb_sig_bytes(s)) : NULL;
    if (text == NULL || bytes == NULL) {
        device_bad(d, s.ptr == NULL ? "there is no such port" : "out of memory");
    } else {
        tb_run_settle(d->r);
        tb_get_bytes(s, bytes);
        for (size_t i = 0, n = tb_sig_bytes(s); i < n; i++) {
            snprintf(text + 2 * i, 3, "%02x", bytes[n - 1 - i]);
        }
        device_answer(d, "ok", text, "", 0);
    }
    free(text);
    free(bytes);
}

static int digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* set NAME HEX: an input. Bits above its width must be 0. */
static void do_set(device *d) {
    const tb_sig s = tb_sim_find(&d->r->sim, d->word[1]);
    const char *text = d->word[2];
    const size_t digits = strlen(text);
    for (size_t i = 0; i < digits; i++) {
        const size_t bit = 4 * (digits - 1 - i);
        const int value = digit(text[i]);
        if (value < 0 || (s.ptr != NULL && value != 0 && bit + 1 > s.width) ||
            (s.ptr != NULL && bit < s.width && s.width - bit < 4 && value >> (s.width - bit) != 0)) {
            device_bad(d, value < 0 ? "expected hexadecimal digits" : "the value has more bits than the port");
            return;
        }
    }
    if (s.ptr == NULL) {
        device_bad(d, "there is no such port");
        return;
    }
    for (uint32_t bit = 0; bit < s.width; bit += 4) {
        const uint32_t bits = s.width - bit < 4 ? s.width - bit : 4;
        const uint64_t value = bit / 4 < digits ? (uint64_t)digit(text[digits - 1 - bit / 4]) : 0;
        tb_set_field(s, bit, bits, value);
    }
    device_done(d, "");
}

/* until NAME VALUE CYCLES: step until a port of up to 64 bits has this value; the answer is 1, or 0. */
static void do_until(device *d) {
    const tb_sig s = tb_sim_find(&d->r->sim, d->word[1]);
    if (s.ptr == NULL || s.width > 64) {
        device_bad(d, "there is no such port of at most 64 bits");
        return;
    }
    tb_run_settle(d->r);
    bool is = tb_get(s) == d->number[1];
    for (uint64_t i = 0; i < d->number[2] && !is && tb_run_step(d->r); i++) {
        tb_run_settle(d->r);
        is = tb_get(s) == d->number[1];
    }
    device_number(d, is);
}

static void do_reset(device *d) {
    tb_run_reset(d->r);
    tb_run_step(d->r);
    device_done(d, "");
}

static void do_compare(device *d) {
    if (d->pair != NULL) {
        (void)tb_pair_compare(d->pair, d->r);
    }
    device_done(d, "");
}

static void do_finish(device *d) {
    (void)tb_run_finish(d->r);
    device_number(d, tb_run_hash(d->r));
}

/* fault PORT DIRECTION NUMBER: an error response to the burst of this number, counted from the next one. */
static void do_fault(device *d) {
    for (unsigned i = 0; i < d->r->ports; i++) {
        tb_run_port *p = d->r->port[i];
        const bool write = strcmp(d->word[2], "write") == 0;
        if (p->cfg.mem != NULL && strcmp(p->cfg.name, d->word[1]) == 0) {
            if (tb_axi_slave_inject(&p->slave, write, d->number[2])) {
                device_done(d, "");
            } else {
                device_bad(d, "too many faults wait");
            }
            return;
        }
    }
    device_bad(d, "there is no such port in front of memory");
}

/* stop PORT CHANNEL NUMBER: after so many more handshakes of AW, W, B, AR or R the memory stands for ever. */
static void do_stop(device *d) {
    for (unsigned i = 0; i < d->r->ports; i++) {
        for (unsigned c = 0; c < TB_AXI_CHANNELS; c++) {
            tb_run_port *p = d->r->port[i];
            if (p->cfg.mem != NULL && strcmp(p->cfg.name, d->word[1]) == 0 &&
                strcmp(tb_axi_channel_name((tb_axi_channel)c), d->word[2]) == 0) {
                tb_axi_slave_hang(&p->slave, (tb_axi_channel)c, d->number[2]);
                device_done(d, "");
                return;
            }
        }
    }
    device_bad(d, "there is no such port in front of memory, or no such channel");
}

/* counters: traffic of each bus, a JSON object by its name. */
static void do_counters(device *d) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = rep_memory(&text, &size);
    if (out == NULL) {
        device_bad(d, "out of memory");
        return;
    }
    tb_run_counters(d->r, out);
    if (fclose(out) == 0) {
        device_answer(d, "ok", "", text, size);
    } else {
        device_bad(d, "out of memory");
    }
    free(text);
}

/* ports: "name width in|out" a line; then "bus NAME registers|memory|slave", "stream NAME in|out". */
static void do_ports(device *d) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = rep_memory(&text, &size);
    for (size_t i = 0; out != NULL && i < d->r->sim.cfg.shim->nports; i++) {
        const tb_shim_port *p = &d->r->sim.ports[i];
        fprintf(out, "port %s %u %s\n", p->name, p->width, p->input ? "in" : "out");
    }
    for (unsigned i = 0; out != NULL && i < d->r->ports; i++) {
        const char *name = d->r->port[i]->cfg.name;
        fprintf(out, "bus %s %s\n", name,
                d->r->port[i]->cfg.shadow != NULL ? "slave"
                : d->r->port[i]->cfg.mem != NULL  ? "memory"
                                                  : "registers");
    }
    for (unsigned i = 0; out != NULL && i < d->r->apbs; i++) {
        fprintf(out, "bus %s %s\n", d->r->apb[i]->cfg.name, d->r->apb[i]->cfg.requester ? "memory" : "registers");
    }
    for (unsigned i = 0; out != NULL && i < d->r->streams; i++) {
        fprintf(out, "stream %s %s\n", d->r->stream[i]->cfg.name, d->r->stream[i]->cfg.source ? "out" : "in");
    }
    if (d->pair != NULL && out != NULL) {
        fprintf(out, "memory %" PRIu64 " %" PRIu64 "\n", d->bench->mem_base, d->bench->mem_size);
    }
    if (out != NULL && fclose(out) == 0) {
        device_answer(d, "ok", "", text, size);
    } else {
        device_bad(d, "out of memory");
    }
    free(text);
}

static void do_irq(device *d) {
    device_number(d, d->r->irq);
}

static const struct {
    const char *name;
    unsigned texts, numbers; /* arguments: first names, then numbers */
    void (*call)(device *d);
} requests[] = {{"read", 1, 1, device_read},
                {"write", 1, 3, device_write},
                {"send", 1, 1, device_send},
                {"take", 1, 0, device_take},
                {"stall", 1, 1, device_stall},
                {"store", 1, 2, device_store},
                {"retrieve", 1, 2, device_retrieve},
                {"load", 1, 2, do_load},
                {"fetch", 1, 2, do_fetch},
                {"step", 0, 1, do_step},
                {"get", 1, 0, do_get},
                {"set", 2, 0, do_set},
                {"until", 1, 2, do_until},
                {"irq", 0, 0, do_irq},
                {"reset", 0, 0, do_reset},
                {"ports", 0, 0, do_ports},
                {"counters", 0, 0, do_counters},
                {"compare", 0, 0, do_compare},
                {"fault", 2, 1, do_fault},
                {"stop", 2, 1, do_stop},
                {"finish", 0, 0, do_finish}};
#define REQUESTS (sizeof requests / sizeof *requests)

/* number[i] is argument i, counted from 0, where it is a number. */
static void serve(device *d, char *line) {
    char *rest = NULL;
    size_t n = 0, i = 0;
    for (char *w = strtok_r(line, " \n", &rest); w != NULL && n <= WORDS; w = strtok_r(NULL, " \n", &rest)) {
        d->word[n++] = w;
    }
    while (i < REQUESTS && (n == 0 || strcmp(requests[i].name, d->word[0]) != 0)) {
        i++;
    }
    if (i == REQUESTS || n != 1 + requests[i].texts + requests[i].numbers) {
        device_bad(d, i == REQUESTS ? "unknown request" : "wrong number of arguments");
        return;
    }
    for (size_t a = requests[i].texts; a + 1 < n; a++) {
        if (!opt_number(d->word[a + 1], 0, UINT64_MAX, &d->number[a])) {
            device_bad(d, "expected a number");
            return;
        }
    }
    requests[i].call(d);
}

/* ---- the command ---- */

static int take_knob(void *ctx, const char *word, char *err, size_t err_size) {
    device *d = (device *)ctx;
    return tb_knobs_pin(&d->o.knobs, word, err, err_size);
}

/* The test that is named, or the first one with a bench that is a table. */
static const tb_test *test_of(const tb_prog *prog, const char *name) {
    for (size_t i = 0; i < prog->test_count; i++) {
        const tb_test *t = &prog->tests[i];
        if (t->bench != NULL && t->execute == NULL && (name == NULL || strcmp(t->name, name) == 0)) {
            return t;
        }
    }
    return NULL;
}

/* Knobs belong to a test, so its name is looked for first. */
static const char *named(int argc, char **argv) {
    for (int i = 2; i + 1 < argc; i++) {
        if (strcmp(argv[i], "--test") == 0) {
            return argv[i + 1];
        }
    }
    return NULL;
}

/* 0; 2 after a line on stderr; -1: the help was printed. */
static int parse(device *d, int argc, char **argv) {
    char err[400];
    const opt_row rows[] = {
        OPT(TEXT, "--test", "T", "the bench of this test (the first one that has one)", &d->name),
        OPT(U64, "--seed", "S", "of bus timing and of initial values (1)", &d->seed),
        OPT(TEXT, "--wave", "F", "FST waveform of the run (needs a build with tracing)", &d->wave),
    };
    const opt_group group = OPT_GROUP(NULL, rows);
    opt_line line = {.group = &group, .groups = 1, .command = "device", .word = take_knob, .ctx = d};
    d->run.test = test_of(d->prog, named(argc, argv));
    if (d->run.test == NULL) {
        return opt_bad(argv[0], "device: there is no such test with a bench that is a table");
    }
    tb_knobs_init(&d->o.knobs, d->run.test->knobs, d->run.test->knob_count);
    if (opt_parse(&line, argc - 2, argv + 2, err, sizeof err) != 0) {
        return opt_bad(argv[0], "%s", err);
    }
    if (line.help) {
        printf("usage: %s device [options] [knob=value ...]\n\nThe bench of a test as a device that another program "
               "drives over standard\ninput and output: tandem.design.Device of Python.\n\noptions:\n",
               argv[0]);
        opt_help(stdout, &line);
        return -1;
    }
    return 0;
}

/* The answers go where standard output went; what the design prints goes to standard error. */
static FILE *own_output(void) {
    const int fd = dup(STDOUT_FILENO);
    return fd >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 ? fdopen(fd, "w") : NULL;
}

static int open_device(device *d, char *err, size_t err_size) {
    d->o.prog = d->prog;
    tb_result_init(&d->result);
    d->run.o = &d->o;
    d->run.seed = d->seed;
    d->run.knobs = &d->o.knobs;
    d->run.wave = d->wave;
    d->run.result = &d->result;
    d->bench = d->run.test->bench;
    d->self = tb_tandem_open(d->bench, &d->run, err, err_size);
    if (d->self == NULL) {
        return -1;
    }
    d->r = (tb_run *)(void *)((char *)d->self + d->bench->run_at);
    d->pair = d->bench->mem_size != 0 ? (tb_pair *)(void *)((char *)d->self + d->bench->pair_at) : NULL;
    device_listen(d);
    if (d->pair != NULL) { /* who drives it does not say what a task reads and writes */
        d->pair->rtl.watch = d->pair->rtl.check_reads = false;
    }
    return 0;
}

int tb_prog_device(const tb_prog *prog, int argc, char **argv) {
    char err[512], *line = NULL;
    size_t size = 0;
    device d = {.prog = prog, .seed = 1, .in = stdin};
    int status = parse(&d, argc, argv);
    if (status != 0) {
        return status < 0 ? 0 : status;
    }
    if (tb_shim_get() == NULL) {
        return opt_bad(argv[0], "device: this program simulates nothing");
    }
    d.out = own_output();
    if (d.out == NULL || open_device(&d, err, sizeof err) != 0) {
        return opt_bad(argv[0], "%s", d.out == NULL ? strerror(errno) : err);
    }
    device_done(&d, prog->cfg);
    while (!d.over && getline(&line, &size, d.in) > 0) {
        serve(&d, line);
    }
    status = tb_run_failed(d.r) ? 1 : 0;
    free(line);
    fclose(d.out);
    if (tb_tandem_close(d.bench, d.self, err, sizeof err) != 0) {
        status = opt_bad(argv[0], "%s", err);
    }
    device_free(&d);
    tb_result_free(&d.result);
    return status;
}
