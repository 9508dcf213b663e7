/*
 * design.h - the runner's view of the designs: their names, configurations and metrics, read from
 * designs/NAME/design.
 */
#ifndef REG_DESIGN_H
#define REG_DESIGN_H

#include "reg.h"

#define REG_CFG_MAX 16
#define REG_METRIC_MAX 16

typedef struct reg_metric {
    char name[32];
    char about[96]; /* one line for the pages */
} reg_metric;

typedef struct reg_design {
    char name[24];
    char root[REG_PATH_MAX]; /* prefix of the paths of its folders: empty, or a folder with a slash at its end */
    bool is_default;         /* its builds have no folder of their own */
    char cfg[REG_CFG_MAX][REG_CFG_NAME_MAX];
    size_t cfgs;
    reg_metric metric[REG_METRIC_MAX];
    size_t metrics;
} reg_design;

typedef struct reg_designs {
    reg_design *list; /* the default first */
    size_t count;
} reg_designs;

/* The designs of the current folder and of those that DESIGNS (environment) names. None at all is no error: a database
 * can be queried anywhere. */
int reg_designs_load(reg_designs *designs);
void reg_designs_free(reg_designs *designs);

/* NULL: there is none of this name. */
const reg_design *reg_design_find(const reg_designs *designs, const char *name);
/* The design in whose folder of suites a file lies; else the default, NULL without designs. */
const reg_design *reg_design_of_suite(const reg_designs *designs, const char *path);
/* Number of its configuration; its cfgs: there is none of this name. */
size_t reg_design_cfg(const reg_design *design, const char *name);
/* "n4, n8, n16 or n32" */
void reg_design_cfg_list(const reg_design *design, char *out, size_t size);
/* What jobs call a configuration: "n4", of another design than the default "dsp/w16"; the folder of a build begins
 * with it. */
void reg_design_label(const reg_design *design, size_t cfg, char *out, size_t size);
/* A folder of a design: "testcases", "/unit" give ROOT/testcases/NAME/unit. False: it does not fit. */
bool reg_design_room(const reg_design *design, const char *room, const char *below, char *out, size_t size);

#endif
