/* design.c - the descriptions of the designs (docs/architecture.md, section 15). scripts/design.py checks them; this is
 * the part that the runner needs. */
#define _GNU_SOURCE
#include "design.h"
#include "job.h"
#include "report/report.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char blanks[] = " \t\r\n";

static int bad(const char *path, unsigned line, const char *what) {
    return reg_refuse("%s:%u: %s", path, line, what);
}

/* One line: a keyword and its words. Keywords for other programs are skipped. */
static int take_line(reg_design *d, const char *path, unsigned number, char *text) {
    char *rest = NULL;
    text[strcspn(text, "#")] = '\0';
    const char *key = strtok_r(text, blanks, &rest);
    if (key == NULL) {
        return REG_OK;
    }
    d->is_default = d->is_default || strcmp(key, "default") == 0;
    if (strcmp(key, "cfg") == 0) {
        const char *name = strtok_r(NULL, blanks, &rest);
        if (name == NULL || d->cfgs == REG_CFG_MAX || !reg_format(d->cfg[d->cfgs], sizeof d->cfg[0], "%s", name)) {
            return bad(path, number, "cfg: expected a name of at most 7 characters, in at most 16 lines");
        }
        d->cfgs++;
    }
    if (strcmp(key, "metric") == 0) {
        const char *name = strtok_r(NULL, blanks, &rest);
        rest += strspn(rest, blanks);
        rest[strcspn(rest, "\r\n")] = '\0';
        if (name == NULL || d->metrics == REG_METRIC_MAX ||
            !reg_format(d->metric[d->metrics].name, sizeof d->metric[0].name, "%s", name) ||
            !reg_format(d->metric[d->metrics].about, sizeof d->metric[0].about, "%s", rest)) {
            return bad(
                path, number,
                "metric: expected a name of at most 31 characters and a text of at most 95, in at most 16 lines");
        }
        d->metrics++;
    }
    return REG_OK;
}

static int load(reg_design *d, const char *root, const char *name) {
    char path[REG_PATH_MAX + 64];
    char text[REG_TEXT_MAX];
    int status = REG_OK;
    memset(d, 0, sizeof *d);
    if (!reg_format(d->root, sizeof d->root, "%s", root) || !reg_format(d->name, sizeof d->name, "%s", name)) {
        return reg_refuse("designs/%s: the name is too long", name);
    }
    (void)reg_format(path, sizeof path, "%sdesigns/%s/design", root, name);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return errno == ENOENT || errno == ENOTDIR ? REG_NONE : bad(path, 1, reg_why());
    }
    for (unsigned line = 1; status == REG_OK && fgets(text, sizeof text, file) != NULL; line++) {
        status = take_line(d, path, line, text);
    }
    if (status == REG_OK && !feof(file)) {
        status = bad(path, 1, reg_why());
    }
    (void)fclose(file);
    return status == REG_OK && d->cfgs == 0 ? bad(path, 1, "no line \"cfg\"") : status;
}

static int add(reg_designs *designs, const reg_design *d) {
    const bool known = reg_design_find(designs, d->name) != NULL;
    if (known || !rep_more(&designs->list, designs->count, sizeof *designs->list)) {
        return reg_refuse("%sdesigns/%s: %s", d->root, d->name, known ? "two designs have this name" : "out of memory");
    }
    reg_design *more = designs->list;
    if (d->is_default && designs->count > 0) { /* to the front; the former first one goes to the end */
        more[designs->count] = more[0];
        more[0] = *d;
    } else {
        more[designs->count] = *d;
    }
    designs->count++;
    return REG_OK;
}

/* All descriptions below a folder; root is empty or ends with a slash. */
static int load_folder(reg_designs *designs, const char *root) {
    char path[REG_PATH_MAX];
    struct dirent **entries = NULL;
    if (!reg_format(path, sizeof path, "%sdesigns", root)) {
        return reg_refuse("DESIGNS: %s: too long", root);
    }
    const int count = scandir(path, &entries, NULL, alphasort);
    int status = count >= 0 || errno == ENOENT ? REG_OK : reg_error("%s: cannot list: %s", path, reg_why());
    for (int i = 0; i < count; i++) {
        reg_design d;
        const int got =
            status != REG_OK || entries[i]->d_name[0] == '.' ? REG_NONE : load(&d, root, entries[i]->d_name);
        status = got == REG_OK ? add(designs, &d) : got == REG_NONE ? status : got;
        free(entries[i]);
    }
    free(entries);
    return status;
}

int reg_designs_load(reg_designs *designs) {
    char copy[REG_PATH_MAX];
    char root[REG_PATH_MAX + 1];
    const char *more = getenv("DESIGNS");
    memset(designs, 0, sizeof *designs);
    int status = load_folder(designs, "");
    if (!reg_format(copy, sizeof copy, "%s", more == NULL ? "" : more)) {
        status = reg_refuse("DESIGNS: longer than %d characters", REG_PATH_MAX - 1);
    }
    char *rest = NULL;
    for (char *word = strtok_r(copy, blanks, &rest); status == REG_OK && word != NULL;
         word = strtok_r(NULL, blanks, &rest)) {
        (void)reg_format(root, sizeof root, "%s/", word);
        status = load_folder(designs, root);
    }
    return status;
}

void reg_designs_free(reg_designs *designs) {
    free(designs->list);
    memset(designs, 0, sizeof *designs);
}

const reg_design *reg_design_find(const reg_designs *designs, const char *name) {
    for (size_t i = 0; i < designs->count; i++) {
        if (strcmp(designs->list[i].name, name) == 0) {
            return &designs->list[i];
        }
    }
    return NULL;
}

const reg_design *reg_design_of_suite(const reg_designs *designs, const char *path) {
    for (size_t i = 0; i < designs->count; i++) {
        char folder[64];
        (void)reg_format(folder, sizeof folder, "designs/%s/suites/", designs->list[i].name);
        if (strstr(path, folder) != NULL) {
            return &designs->list[i];
        }
    }
    return designs->count > 0 ? &designs->list[0] : NULL;
}

size_t reg_design_cfg(const reg_design *design, const char *name) {
    size_t i = 0;
    while (i < design->cfgs && strcmp(design->cfg[i], name) != 0) {
        i++;
    }
    return i;
}

void reg_design_cfg_list(const reg_design *design, char *out, size_t size) {
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < design->cfgs && used < size; i++) {
        (void)reg_format(out + used, size - used, "%s%s",
                         i == 0                  ? ""
                         : i + 1 == design->cfgs ? " or "
                                                 : ", ",
                         design->cfg[i]);
        used = strlen(out);
    }
}

void reg_design_label(const reg_design *design, size_t cfg, char *out, size_t size) {
    (void)reg_format(out, size, "%s%s%s", design->is_default ? "" : design->name, design->is_default ? "" : "/",
                     design->cfg[cfg]);
}

bool reg_design_room(const reg_design *design, const char *room, const char *below, char *out, size_t size) {
    return reg_format(out, size, "%s%s/%s%s", design->root, room, design->name, below);
}

bool reg_cfg_wanted(const char *list, const char *label) {
    const char *const names[] = {label, strrchr(label, '/') != NULL ? strrchr(label, '/') + 1 : label};
    bool wanted = list == NULL;
    for (size_t i = 0; i < 2 && !wanted; i++) {
        char name[REG_LABEL_MAX + 2];
        (void)reg_format(name, sizeof name, ",%s,", names[i]);
        wanted = strstr(list, name) != NULL;
    }
    return wanted;
}
