/* slurm_ask.c - arrays are submitted, queried and cancelled by the names of our jobs; Slurm's accounting is not
 * needed. */
#define _GNU_SOURCE
#include "slurm.h"
#include "opt/opt.h"
#include "report/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUBMIT_TIMEOUT_S 120.0
#define ASK_TIMEOUT_S 60.0
#define REFUSALS_MAX 20
#define CANCEL_AT_ONCE 32
#define STUCK_MAX 20 /* answers until the user is told */
#define BARREN_MAX 2 /* tasks without any record until a node gets no further attempts */

static bool add(reg_command *command, const char *name, const char *value) {
    char word[REG_PATH_MAX + 64];
    return value == NULL || (reg_format(word, sizeof word, "%s%s", name, value) && reg_command_add(command, word));
}

/* Words separated by blanks. */
static bool add_all(reg_command *command, const char *words) {
    char copy[REG_PATH_MAX];
    bool good = words == NULL || reg_format(copy, sizeof copy, "%s", words);
    char *rest = words == NULL || !good ? NULL : copy;
    while (good && rest != NULL) {
        const char *word = strsep(&rest, " \t");
        good = word[0] == '\0' || reg_command_add(command, word);
    }
    return good;
}

/* ---- nodes ---- */

/* A node that cannot do anything (it does not see the folder, say) is idle at once again, and would get all the
 * attempts of a job. Its name after a comma; false: none. */
static bool barren_nodes(const slurm_runner *r, char *out, size_t size) {
    size_t length = 0;
    for (size_t i = 0; i < r->node_count; i++) {
        const char *name = r->nodes[i].name;
        if (r->nodes[i].barren >= BARREN_MAX && length + strlen(name) + 2 < size) {
            (void)reg_format(out + length, size - length, "%s%s", length == 0 ? "" : ",", name);
            length += strlen(out + length);
        }
    }
    return length > 0;
}

static void forgive_nodes(slurm_runner *r) {
    for (size_t i = 0; i < r->node_count; i++) {
        r->nodes[i].barren = 0;
    }
}

static void set_node(slurm_runner *r, slurm_shard *shard, const char *name) {
    if (name[0] == '\0' || strlen(name) >= sizeof r->nodes->name ||
        (shard->node != 0 && strcmp(r->nodes[shard->node - 1].name, name) == 0)) {
        return;
    }
    size_t at = 0;
    while (at < r->node_count && strcmp(r->nodes[at].name, name) != 0) {
        at++;
    }
    if (at == r->node_count && rep_more(&r->nodes, r->node_count, sizeof *r->nodes)) {
        r->nodes[r->node_count] = (slurm_node){.barren = 0};
        (void)reg_format(r->nodes[r->node_count++].name, sizeof r->nodes->name, "%s", name);
    }
    shard->node = at < r->node_count ? (uint32_t)at + 1 : 0;
}

void slurm_shard_over(slurm_runner *r, slurm_shard *shard) {
    bool any = false;
    for (uint32_t i = 0; i < shard->count; i++) {
        any = any || r->entries[shard->first + i].seen;
    }
    if (shard->node != 0) {
        slurm_node *node = &r->nodes[shard->node - 1];
        node->barren = any ? 0 : node->barren + 1;
    }
    shard->state = SHARD_OVER;
}

/* ---- submitting ---- */

static bool submission(const slurm_runner *r, const slurm_array *array, const char *dir, reg_command *command) {
    char program[REG_PATH_MAX];
    char text[REG_PATH_MAX];
    if (slurm_find("sbatch", program, sizeof program) != REG_OK) {
        return false;
    }
    reg_command_begin(command);
    bool good = reg_command_add(command, program) && reg_command_add(command, "--parsable");
    (void)reg_format(text, sizeof text, "%s-%u", r->name, array->number);
    good = good && add(command, "--job-name=", text);
    (void)reg_format(text, sizeof text, "0-%u", array->count - 1);
    good = good && add(command, "--array=", text);
    /* A task that Slurm puts back into the queue would find its shard taken: the runner decides what runs again. */
    good = good && reg_command_add(command, "--no-requeue") && reg_command_add(command, "--ntasks=1");
    (void)reg_format(text, sizeof text, "%u", r->asked->cpus);
    good = good && add(command, "--cpus-per-task=", text);
    good = good && (!barren_nodes(r, text, sizeof text) || add(command, "--exclude=", text));
    /* task.sh opens its own log: sbatch reads patterns into a name */
    good = good && reg_command_add(command, "--output=/dev/null") &&
           add(command, "--partition=", r->asked->partition) && add(command, "--account=", r->asked->account) &&
           add_all(command, r->asked->args) && reg_format(text, sizeof text, "%s/task.sh", dir) &&
           reg_command_add(command, text);
    if (!good) {
        reg_error("sbatch: the command is too long");
    }
    return good;
}

/* Is Slurm usable? */
static bool any_task(const slurm_runner *r) {
    bool listed = false;
    for (size_t i = 0; i < r->shard_count; i++) {
        listed = listed || r->shards[i].listed;
    }
    return listed;
}

int slurm_submit(slurm_runner *r, slurm_array *array) {
    reg_command command;
    char dir[REG_PATH_MAX];
    char line[REG_TEXT_MAX];
    char *text = NULL;
    if (!slurm_array_dir(r, array->number, dir, sizeof dir) || !submission(r, array, dir, &command)) {
        return REG_FAIL;
    }
    int status = slurm_call(&r->caller, &command, SUBMIT_TIMEOUT_S, &text);
    slurm_last_line(text, line, sizeof line);
    free(text);
    if (status == REG_OK) {
        array->submitted = true;
        for (uint32_t i = 0; i < array->count; i++) {
            r->shards[array->first + i].state = SHARD_SUBMITTED;
        }
        r->accepted = true;
        r->refused = 0;
        return REG_OK;
    }
    if (barren_nodes(r, dir, sizeof dir)) { /* there may be no other nodes */
        forgive_nodes(r);
        return REG_NONE;
    }
    /* A limit of submitted jobs, or a controller that restarts: retry as long as tasks run, else for a limited time. */
    reg_progress_clear(r->plan->progress);
    if (!r->accepted || r->refused >= REFUSALS_MAX) {
        return reg_error("sbatch rejects an array of %u tasks: %s", array->count, line);
    }
    if (r->refused == 0) {
        reg_error("sbatch rejects an array of %u tasks for now: %s", array->count, line);
    }
    r->refused = r->refused == 0 || !any_task(r) ? r->refused + 1 : r->refused;
    return REG_NONE;
}

/* ---- querying ---- */

/* States of tasks that Slurm remembers for a while. */
static bool is_over(const char *state) {
    static const char *const names[] = {"BOOT_FAIL", "CANCELLED",     "COMPLETED", "DEADLINE", "FAILED",
                                        "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED",  "TIMEOUT"};
    bool over = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        over = over || strcmp(state, names[i]) == 0;
    }
    return over;
}

/* NAME-ARRAY|TASK|STATE|ID|NODE|REASON; true: a task of ours that waits or runs. */
static bool take_line(slurm_runner *r, char *line) {
    const size_t length = strlen(r->name);
    uint64_t number = 0;
    uint64_t task = 0;
    if (strncmp(line, r->name, length) != 0 || line[length] != '-') {
        return false;
    }
    char *rest = line + length + 1;
    const char *array_text = strsep(&rest, "|");
    const char *task_text = strsep(&rest, "|");
    const char *state = strsep(&rest, "|");
    const char *id = strsep(&rest, "|");
    if (id == NULL || !opt_number(array_text, 1, UINT32_MAX, &number) || !opt_number(task_text, 0, UINT32_MAX, &task)) {
        return true;
    }
    const bool live = !is_over(state);
    for (size_t i = 0; i < r->array_count; i++) {
        slurm_array *array = &r->arrays[i];
        if (array->number == number && task < array->count) {
            slurm_shard *shard = &r->shards[array->first + task];
            shard->listed = shard->listed || live;
            shard->running =
                shard->running || (live && strcmp(state, "PENDING") != 0 && strcmp(state, "CONFIGURING") != 0);
            const char *node = strsep(&rest, "|");
            set_node(r, shard, node == NULL ? "" : node);
            if (live && !shard->running && rest != NULL) {
                (void)reg_format(r->reason, sizeof r->reason, "%s", rest);
            }
            array->submitted = true; /* also when sbatch was stopped before it reported success */
            shard->state = shard->state == SHARD_WRITTEN ? SHARD_SUBMITTED : shard->state;
            if (live) {
                (void)reg_format(array->slurm_id, sizeof array->slurm_id, "%s", id);
            }
            break;
        }
    }
    return live;
}

/* Nodes that are down or drained, a task that Slurm holds: only the user can help. */
static void tell_stuck(slurm_runner *r) {
    static const char *const turn[] = {"", "None", "Priority", "Resources"};
    bool stuck = true;
    for (size_t i = 0; i < sizeof turn / sizeof turn[0]; i++) {
        stuck = stuck && strcmp(r->reason, turn[i]) != 0;
    }
    for (size_t i = 0; i < r->shard_count; i++) {
        stuck = stuck && !r->shards[i].running;
    }
    r->stuck = stuck ? r->stuck + 1 : 0;
    if (r->stuck == STUCK_MAX) {
        reg_progress_clear(r->plan->progress);
        reg_error("Slurm starts no task of this run; the run waits: %s", r->reason);
    }
}

bool slurm_ask(slurm_runner *r, size_t *tasks) {
    char program[REG_PATH_MAX];
    char user[32];
    char line[REG_TEXT_MAX];
    char *text = NULL;
    reg_command command;
    *tasks = 0;
    (void)reg_format(user, sizeof user, "--user=%u", (unsigned)geteuid());
    reg_command_begin(&command);
    if (slurm_find("squeue", program, sizeof program) != REG_OK || !reg_command_add(&command, program) ||
        !reg_command_add(&command, user) || !reg_command_add(&command, "--noheader") ||
        !reg_command_add(&command, "--array") || !reg_command_add(&command, "--states=all") ||
        !reg_command_add(&command, "--format=%j|%K|%T|%F|%N|%r")) {
        return false;
    }
    if (slurm_call(&r->caller, &command, ASK_TIMEOUT_S, &text) != REG_OK) {
        slurm_last_line(text, line, sizeof line);
        free(text);
        if (!r->silent) {
            reg_progress_clear(r->plan->progress);
            reg_error("squeue does not answer, the run waits: %s", line);
        }
        r->silent = true;
        return false;
    }
    r->silent = false;
    r->reason[0] = '\0';
    for (size_t i = 0; i < r->shard_count; i++) {
        r->shards[i].listed = false;
        r->shards[i].running = false;
    }
    char *rest = text;
    for (char *row = strsep(&rest, "\n"); row != NULL; row = strsep(&rest, "\n")) {
        *tasks += take_line(r, row) ? 1 : 0;
    }
    free(text);
    tell_stuck(r);
    return true;
}

static bool any_listed(const slurm_runner *r, const slurm_array *array) {
    bool listed = false;
    for (uint32_t i = 0; i < array->count; i++) {
        listed = listed || r->shards[array->first + i].listed;
    }
    return listed && array->slurm_id[0] != '\0';
}

static bool cancel_ids(slurm_runner *r, const reg_command *command) {
    char *text = NULL;
    bool good = slurm_call(&r->caller, command, ASK_TIMEOUT_S, &text) == REG_OK;
    free(text);
    return good;
}

bool slurm_cancel(slurm_runner *r, const slurm_shard *only) {
    char program[REG_PATH_MAX];
    char id[48];
    reg_command command;
    bool good = slurm_find("scancel", program, sizeof program) == REG_OK;
    reg_command_begin(&command);
    (void)reg_command_add(&command, program);
    if (only != NULL) {
        (void)reg_format(id, sizeof id, "%s_%u", r->arrays[only->array].slurm_id, only->task);
        return good && reg_command_add(&command, id) && cancel_ids(r, &command);
    }
    for (size_t i = 0; i < r->array_count && good; i++) {
        if (any_listed(r, &r->arrays[i]) && !reg_command_add(&command, r->arrays[i].slurm_id)) {
            good = false;
        }
        if (command.argc > 1 && (command.argc > CANCEL_AT_ONCE || i + 1 == r->array_count)) {
            good = good && cancel_ids(r, &command);
            reg_command_begin(&command);
            (void)reg_command_add(&command, program);
        }
    }
    return good;
}
