/*
 * tandem.c - the command of an installation: tools for waveforms, buses and logs of any design, and projects around
 * designs. The design's own program (tb/prog/prog.h) has these tools, too.
 */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opt/opt.h"
#include "tb.h"

#define WHERE "--where"

/* Programs beside this one, and scripts of the installation. */
static const struct {
    const char *command, *program, *script;
} others[] = {{"new", NULL, "new.py"}, {"regress", "tandem-regress", NULL}, {"cov", "tandem-cov", NULL}};

static void usage(FILE *out) {
    fputs("usage: tandem COMMAND ...\n"
          "hardware/software co-verification around Verilator: tools for waveforms, logs\n"
          "and coverage of any design, and projects around designs\n\n"
          "commands:\n"
          "  new NAME --rtl FILE...      write a project around a design; it passes at once\n"
          "  axi-check FILE --prefix P   check a port in a waveform by the rules of AXI\n"
          "  wave FILE                   show a waveform file: table, picture, save file\n"
          "  diff DIR DIR                compare two folders of tensor logs, stream by stream\n"
          "  regress ...                 run suites of a project, keep and query results\n"
          "  cov ...                     merge, report, rank coverage files, compare with thresholds\n\n"
          "options:\n"
          "  --version   print the version, and the Verilator it was tried with\n"
          "  --where     print the folder of make fragment, templates, scripts\n"
          "  --help      print this text\n\n"
          "Each command answers --help. Exit status: 0 passed, 1 failed, 2 bad input,\n"
          "3 the machine refused memory, space or the like.\n",
          out);
}

/* Folder of this program. 0 or -1 with one line in err. */
static int own_folder(char *dst, size_t size, char *err, size_t err_size) {
    char path[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n < 0) {
        return opt_fail(err, err_size, "/proc/self/exe: %s", strerror(errno));
    }
    path[n] = '\0';
    return (size_t)snprintf(dst, size, "%s", dirname(path)) < size
               ? 0
               : opt_fail(err, err_size, "%s: the name is too long", path);
}

/* share/tandem of an installation, install/ of the source tree. */
static int share_folder(char *dst, size_t size, char *err, size_t err_size) {
    static const char *const places[] = {"../share/tandem", "../../install"};
    char own[PATH_MAX], probe[PATH_MAX + 64];
    if (own_folder(own, sizeof own, err, err_size) != 0) {
        return -1;
    }
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(probe, sizeof probe, "%s/%s/new.py", own, places[i]);
        if (access(probe, R_OK) == 0) {
            return (size_t)snprintf(dst, size, "%s/%s", own, places[i]) < size
                       ? 0
                       : opt_fail(err, err_size, "%s: the name is too long", own);
        }
    }
    return opt_fail(err, err_size, "%s: expected ../share/tandem/new.py beside it", own);
}

/* Become another program. Returns only if it cannot be started: -1 with one line in err. */
static int become(const char *program, const char *script, int argc, char **argv, char *err, size_t err_size) {
    char folder[PATH_MAX], path[PATH_MAX + 64];
    const char **args = (const char **)calloc((size_t)argc + 2, sizeof *args);
    size_t n = 0;
    if (args == NULL) {
        return opt_fail(err, err_size, "out of memory");
    }
    if ((script != NULL ? share_folder : own_folder)(folder, sizeof folder, err, err_size) != 0) {
        free(args);
        return -1;
    }
    snprintf(path, sizeof path, "%s/%s", folder, script != NULL ? script : program);
    if (script != NULL) {
        const char *python = getenv("PYTHON");
        program = python != NULL && python[0] != '\0' ? python : "/usr/bin/python3";
        args[n++] = program;
    } else {
        program = path;
    }
    args[n++] = path;
    for (int i = 2; i < argc; i++) {
        args[n++] = argv[i];
    }
    execvp(program, (char *const *)(uintptr_t)args);
    free(args);
    return opt_fail(err, err_size, "%s: %s", program, strerror(errno));
}

static int one_word(const char *word, char *err, size_t err_size) {
    char folder[PATH_MAX];
    if (strcmp(word, "--version") == 0) {
        printf("tandem %s (Verilator 5.006 and newer)\n", TANDEM_VERSION);
    } else if (strcmp(word, WHERE) == 0) {
        if (share_folder(folder, sizeof folder, err, err_size) != 0) {
            return -1;
        }
        char *real = realpath(folder, NULL);
        puts(real != NULL ? real : folder);
        free(real);
    } else {
        usage(stdout);
    }
    return 0;
}

int main(int argc, char **argv) {
    static const char *const words[] = {"--version", WHERE, "--help", "-h"};
    static const char *const tools[] = {"axi-check", "wave", "diff"};
    const tb_prog prog = {.about = "tools", .cfg = "any design"};
    char err[PATH_MAX + 256] = "";
    const char *word = argc > 1 ? argv[1] : "";
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(word, words[i]) == 0) {
            return one_word(word, err, sizeof err) == 0 ? 0 : opt_bad("tandem", "%s", err);
        }
    }
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
        if (strcmp(word, tools[i]) == 0) {
            return tb_prog_main(&prog, argc, argv);
        }
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strcmp(word, others[i].command) == 0) {
            (void)become(others[i].program, others[i].script, argc, argv, err, sizeof err);
            return opt_bad("tandem", "%s", err);
        }
    }
    return opt_bad("tandem",
                   word[0] == '\0' ? "expected a command: new, axi-check, wave, diff, regress or cov (--help)"
                                   : "unknown command %.60s, expected new, axi-check, wave, diff, regress or "
                                     "cov (--help)",
                   word);
}

/* This program simulates nothing. */
const tb_shim *tb_shim_get(void) {
    return NULL;
}
