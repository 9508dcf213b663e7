/* part.c - tandem-net run --only, --each: the golden model computes the network once, then layers run on the device,
 * each on the model's tensors: with enough processors a network is verified in the time of its longest layer. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "netopt.h"
#include "part.h"
#include "tb.h"
#include "report/report.h"

#define JOBS_MAX 256u

/* ---- one part ---- */

/* Cycles of the layers, without the start of the driver and reads of counters. */
static net_status run_part(part_job *j, const part *p, npu_dev **dev, part_outcome *out, net_error *err) {
    const net_rt_options options = {.stalls = j->opt->stalls,
                                    .part = true,
                                    .first = p->first,
                                    .last = p->last,
                                    .search = j->opt->search,
                                    .partition = j->opt->partition,
                                    .copy_concat = j->opt->copy_concat,
                                    .apart = j->opt->apart};
    net_rt *rt = NULL;
    net_status status = netrun_open(&j->run, j->opt, &options, dev, err);
    status = status == NET_OK ? net_rt_new_with(&j->run.graph, *dev, &options, &rt, err) : status;
    status = status == NET_OK ? net_rt_run_part(rt, j->run.rt, err) : status;
    for (uint32_t i = p->first; rt != NULL && i <= p->last; i++) {
        out->cycles += net_rt_layer_where(rt, i).cycles;
        for (uint32_t k = 0; j->opt->stalls && k < PART_COUNTERS; k++) {
            out->counter[k] += net_rt_counters(rt, i)[k];
        }
    }
    if (status == NET_OK && !npu_dev_finish(*dev)) {
        const npu_dev_failure *f = npu_dev_get_failure(*dev);
        (void)snprintf(err->text, sizeof err->text, "%.90s: %.280s", f->signature, f->message);
        status = NET_ERR_DEVICE;
    }
    net_rt_free(rt);
    return status;
}

static void measure(part_job *j, const part *p, part_outcome *out) {
    net_error err = {""};
    npu_dev *dev = NULL;
    const double before = rep_seconds(CLOCK_PROCESS_CPUTIME_ID);
    memset(out, 0, sizeof *out);
    out->status = run_part(j, p, &dev, out, &err);
    out->done = true;
    (void)snprintf(out->message, sizeof out->message, "%.390s", err.text);
    if (dev != NULL) {
        const npu_dev_failure *f = npu_dev_get_failure(dev);
        (void)snprintf(out->signature, sizeof out->signature, "%s", f == NULL ? "" : f->signature);
        if (out->status == NET_ERR_DEVICE && out->signature[0] == '\0') {
            (void)snprintf(out->signature, sizeof out->signature, "network/layer");
        }
        (void)npu_dev_finish(dev);
        out->trace_hash = npu_dev_trace_hash(dev);
        npu_dev_close(dev);
    }
    out->seconds = rep_seconds(CLOCK_PROCESS_CPUTIME_ID) - before;
}

/* ---- processes ---- */

static bool start_part(part_job *j, part *p) {
    int fd[2];
    if (pipe(fd) != 0) {
        return false;
    }
    (void)fflush(NULL);
    p->pid = fork();
    if (p->pid == 0) {
        part_outcome out;
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(fd[0]);
        measure(j, p, &out);
        _exit(write(fd[1], &out, sizeof out) == (ssize_t)sizeof out ? 0 : 1);
    }
    close(fd[1]);
    p->fd = fd[0];
    if (p->pid < 0) {
        close(fd[0]);
        p->pid = 0;
        return false;
    }
    j->running++;
    return true;
}

static void end_part(part_job *j, part *p) {
    int end = 0;
    size_t got = 0;
    ssize_t n;
    while (got < sizeof p->out && (n = read(p->fd, (char *)&p->out + got, sizeof p->out - got)) > 0) {
        got += (size_t)n;
    }
    while (waitpid(p->pid, &end, 0) < 0 && errno == EINTR) {
    }
    if (got != sizeof p->out) {
        memset(&p->out, 0, sizeof p->out);
        p->out.status = NET_ERR_DEVICE;
        (void)snprintf(p->out.signature, sizeof p->out.signature, "network/process");
        (void)snprintf(p->out.message, sizeof p->out.message, "its process ended by signal %d without a result",
                       WIFSIGNALED(end) ? WTERMSIG(end) : 0);
    }
    close(p->fd);
    p->pid = 0;
    j->running--;
    j->finished++;
    j->work_done += p->estimate.cycles;
}

/* On a terminal: progress and remaining time at this speed, measured in predicted cycles. */
static void show_progress(const part_job *j) {
    const double elapsed = rep_seconds(CLOCK_MONOTONIC) - j->start;
    const double share = j->work == 0 ? 0.0 : (double)j->work_done / (double)j->work;
    char left[40] = "";
    if (!j->terminal) {
        return;
    }
    if (share > 0.0) {
        (void)snprintf(left, sizeof left, ", about %.0f s left", elapsed * (1.0 - share) / share);
    }
    fprintf(stderr, "\r\033[Klayers %u/%u, %.1f %% of %.1f million cycles, %.0f s%s", j->finished, j->count,
            100.0 * share, (double)j->work / 1e6, elapsed, left);
}

/* Waits for one result of any process. */
static void wait_part(part_job *j) {
    struct pollfd fd[JOBS_MAX];
    uint32_t of[JOBS_MAX];
    nfds_t n = 0;
    int ready;
    for (uint32_t i = 0; i < j->count; i++) {
        if (j->part[i].pid > 0) {
            of[n] = i;
            fd[n++] = (struct pollfd){.fd = j->part[i].fd, .events = POLLIN};
        }
    }
    while ((ready = poll(fd, n, j->terminal ? 1000 : -1)) < 0 && errno == EINTR) {
    }
    for (nfds_t i = 0; ready > 0 && i < n; i++) {
        if (fd[i].revents != 0) {
            end_part(j, &j->part[of[i]]);
        }
    }
}

static bool run_all(part_job *j, uint32_t at_once) {
    bool good = true;
    while (good && j->finished < j->count) {
        while (good && j->started < j->count && j->running < at_once) {
            good = start_part(j, &j->part[j->order[j->started++]]);
        }
        show_progress(j);
        if (j->running > 0) {
            wait_part(j);
        }
    }
    if (j->terminal) {
        fputs("\r\033[K", stderr);
    }
    if (!good) {
        fprintf(stderr, "tandem-net: cannot start a process for a layer: %s\n", strerror(errno));
    }
    return good;
}

/* ---- which layers ---- */

static const part_job *sorted; /* for qsort(), which takes no context */

static int larger_first(const void *a, const void *b) {
    const uint64_t x = sorted->part[*(const uint32_t *)a].estimate.cycles;
    const uint64_t y = sorted->part[*(const uint32_t *)b].estimate.cycles;
    return x != y ? (x < y ? 1 : -1) : *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

static void add_estimate(net_rt_estimate *sum, net_rt_estimate e) {
    sum->mesh += e.mesh;
    sum->read += e.read;
    sum->write += e.write;
    sum->fill += e.fill;
    sum->drain += e.drain;
    sum->tasks += e.tasks;
    sum->bound += e.bound;
    sum->cycles += e.cycles;
}

static void add_part(part_job *j, uint32_t first, uint32_t last) {
    part *p = &j->part[j->count];
    *p = (part){.first = first, .last = last};
    for (uint32_t i = first; i <= last; i++) {
        p->macs += net_layer_macs(&j->run.graph, i);
        add_estimate(&p->estimate, net_rt_predict(j->run.rt, i));
    }
    j->work += p->estimate.cycles;
    j->order[j->count] = j->count;
    j->macs += p->macs;
    j->count++;
}

/* "K" or "K-L". */
bool netrun_range(const char *text, uint32_t layers, uint32_t *first, uint32_t *last) {
    char *end;
    if (*text < '0' || *text > '9') {
        return false;
    }
    unsigned long k = strtoul(text, &end, 10);
    unsigned long l = k;
    if (*end == '-' && end[1] >= '0' && end[1] <= '9') {
        l = strtoul(end + 1, &end, 10);
    }
    *first = (uint32_t)k;
    *last = (uint32_t)l;
    return *end == '\0' && k <= l && l < layers;
}

static int choose(part_job *j) {
    const net_graph *g = &j->run.graph;
    uint32_t first = 0;
    uint32_t last = 0;
    j->part = calloc(g->num_layers, sizeof *j->part);
    j->order = calloc(g->num_layers, sizeof *j->order);
    if (j->part == NULL || j->order == NULL) {
        fputs("tandem-net: out of memory\n", stderr);
        return 1;
    }
    if (j->opt->only != NULL) {
        if (!netrun_range(j->opt->only, g->num_layers, &first, &last)) {
            char expected[80];
            (void)snprintf(expected, sizeof expected, ": expected a layer of 0..%u, or two as in 3-7",
                           g->num_layers - 1);
            return netopt_usage("--only", j->opt->only, expected);
        }
        add_part(j, first, last);
        return 0;
    }
    for (uint32_t i = 0; i < g->num_layers; i++) {
        const net_rt_where where = net_rt_layer_where(j->run.rt, i);
        if (where.place == NET_ON_NPU && !where.fused) {
            add_part(j, i, i);
        }
    }
    sorted = j;
    qsort(j->order, j->count, sizeof *j->order, larger_first);
    return 0;
}

/* ---- the job ---- */

static net_status compute(part_job *j, net_error *err) {
    netrun_options model = *j->opt;
    const net_rt_options options = {.reuse = false,
                                    .search = j->opt->search,
                                    .partition = j->opt->partition,
                                    .copy_concat = j->opt->copy_concat,
                                    .apart = j->opt->apart};
    model.device = "model";
    net_status status = netrun_prepare(&j->run, &model, err);
    status = status == NET_OK ? netrun_input(&j->run, &model, err) : status;
    status = status == NET_OK ? netrun_open(&j->run, &model, &options, &j->run.dev, err) : status;
    status = status == NET_OK ? net_rt_new_with(&j->run.graph, j->run.dev, &options, &j->run.rt, err) : status;
    return status == NET_OK ? net_rt_run(j->run.rt, j->run.input, err) : status;
}

double part_off(uint64_t prediction, uint64_t cycles) {
    return cycles == 0 ? 0.0 : 100.0 * ((double)prediction - (double)cycles) / (double)cycles;
}

double part_share(const part *p, uint64_t cycles) {
    return p->out.cycles == 0 ? 0.0 : 100.0 * (double)cycles / (double)p->out.cycles;
}

/* Beats of 16 bytes on both channels. */
uint64_t part_bytes(const part *p, bool written) {
    const uint64_t *c = p->out.counter;
    return 16 * (written ? c[4] + c[5] : c[2] + c[3]);
}

static int save(const part_job *j, const part *bad, uint64_t cycles, uint64_t hash) {
    char text[400] = "";
    tb_result result;
    tb_result_init(&result);
    if (bad != NULL) {
        tb_result_fail(&result, TB_FAIL, bad->out.signature, "layer %u: %s", bad->first, bad->out.message);
    }
    result.cycles = cycles;
    result.trace_hash = tb_hash_final(hash);
    int failed = tb_result_save(&result, j->opt->result, text, sizeof text);
    tb_result_free(&result);
    if (failed != 0) {
        fprintf(stderr, "tandem-net: %s\n", text);
    }
    return failed != 0 ? 1 : 0;
}

int netrun_parts(const netrun_options *opt) {
    part_job j = {.opt = opt, .terminal = isatty(STDERR_FILENO) != 0};
    net_error err = {""};
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const uint32_t at_once = opt->jobs != 0                            ? opt->jobs
                             : processors > 0 && processors < JOBS_MAX ? (uint32_t)processors
                                                                       : 1;
    net_status status = compute(&j, &err);
    int exit_status = status == NET_OK ? 0 : status == NET_ERR_DEVICE || status == NET_ERR_MEMORY ? 1 : 2;
    if (status != NET_OK) {
        fprintf(stderr, "tandem-net: %s\n", err.text);
    } else {
        exit_status = choose(&j);
    }
    if (exit_status == 0) {
        j.start = rep_seconds(CLOCK_MONOTONIC);
        exit_status = run_all(&j, at_once) ? 0 : 1;
    }
    if (exit_status == 0) {
        uint64_t cycles = 0;
        uint64_t hash = 0;
        const part *bad = part_table(&j, &cycles, &hash);
        exit_status = bad != NULL ? 1 : 0;
        if (opt->result != NULL) {
            int failed = save(&j, bad, cycles, hash);
            exit_status = exit_status == 0 ? failed : exit_status;
        }
        if ((opt->json != NULL && !part_json(&j, opt->json)) || (opt->html != NULL && !part_page(&j, opt->html))) {
            exit_status = 1;
        }
    }
    free(j.part);
    free(j.order);
    netrun_free(&j.run);
    return exit_status;
}
