/*
 * report.h - shared by all pages, pictures and machine-readable files of the project: escaped text, the frame and the
 * style of a page, atomic files. Needs the C library only.
 */
#ifndef REPORT_H
#define REPORT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

/* ---- text.c: text of any origin. NULL is written as the empty text. ---- */

/*
 * Bytes of the UTF-8 character that `text` begins with, 1..4, at most `length`; 0 when it begins with none, or with one
 * that XML 1.0 does not allow: control characters other than tab, line feed and carriage return, surrogates, U+FFFE and
 * U+FFFF.
 */
size_t rep_utf8(const char *text, size_t length);
/* Text in XML, HTML or SVG, between tags or in an attribute in double quotes. What rep_utf8() refuses becomes '?'. */
void rep_xml(FILE *out, const char *text);
/* printf, escaped as by rep_xml(); at most REP_TEXT_MAX - 1 bytes before it is escaped. */
void rep_xmlf(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define REP_TEXT_MAX 4096u
/* A JSON string with its quotes. Control characters become \u00XX, bytes that are not UTF-8 '?'. */
void rep_json(FILE *out, const char *text);
/*
 * A whole number with a thin space before each group of three digits, from five digits on; a text that is not one as it
 * is, an empty one as a dash.
 */
void rep_number(FILE *out, const char *text);

/* ---- page.c: HTML pages without scripts or external fonts, styles and images ---- */

/* The style that all pages share, report/page.css: its variables are the colours, in a light and a dark set. */
extern const char rep_page_style[];
/*
 * Everything up to <body>. title: plain text. generator: who wrote the page, or NULL. style: rules of this page after
 * the shared ones, or NULL.
 */
void rep_page_begin(FILE *out, const char *title, const char *generator, const char *style);
/* Close <main>, <body> and the page. */
void rep_page_end(FILE *out);
/* A figure and what it is, both already escaped; class: of the figure, or NULL. Stands in a <div class="tiles">. */
void rep_tile(FILE *out, const char *class, const char *figure, const char *what);

/* ---- svg.c: charts inside a page ---- */

/* An <svg> as wide as its box allows, with these units inside. class: or NULL. label: what it shows, for readers. */
void rep_svg_begin(FILE *out, const char *class, double width, double height, const char *label);
/* A label whose `anchor` (start, middle or end) stands at (x, y). printf, escaped. */
void rep_svg_text(FILE *out, double x, double y, const char *anchor, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* ---- list.c ---- */

/*
 * Space for one more element after `count` of a growing list; list: address of the pointer to it, NULL
 * while it is empty. The capacity follows from the count and is not stored. False: out of memory, the list is
 * unchanged.
 */
bool rep_more(void *list, size_t count, size_t size);

/* ---- memory.c ---- */

/* A stream whose text grows in memory, like that of open_memstream(), which loses text without an error when there is
 * no memory (glibc 2.36). Text and its length, without the final zero, are valid after fclose() and then the
 * caller's; after a fclose() that fails there is no text. NULL: out of memory. */
FILE *rep_memory(char **text, size_t *bytes);

/* ---- clock.c ---- */

/* Seconds of a clock of clock_gettime(). For people and for limits of time: no result may depend on them. */
double rep_seconds(clockid_t clock);

/* ---- host.c: what the machine refused: space, memory, processes, descriptors ---- */

/* Is this number of errno about the machine, and not about what the program was asked to do? */
bool rep_host_is(int error);
/* Note a failed call with its errno, if it is about the machine. Returns the number. Files of file.c and what
 * programs that are linked with $(REFUSALS_NOTED) are noted already. Any thread may call it. */
int rep_host(int error);
/* The same for a call that writes, where a file that is not the user's own, read-only or too large is noted, too. */
int rep_host_write(int error);
/* The first number that was noted; 0: none. A program whose work was disturbed ends with REP_HOST_EXIT. */
int rep_host_error(void);
void rep_host_forget(void);
#define REP_HOST_EXIT 3
/* Write what is left for stdout. False: that cannot be done, which is noted and said in a line. */
bool rep_flush(void);
/* Exit status of a program at its end: the given one, after rep_flush(), or that of the machine's faults, said in a
 * line where the given one is 0. */
int rep_end(int status);

/* ---- file.c: a file is written under a temporary name beside its own and renamed when it is whole. Functions return 0
 * or a number of errno. ---- */

typedef struct rep_file {
    FILE *file; /* to write to */
    char path[PATH_MAX], temporary[PATH_MAX];
} rep_file;

/*
 * An existing path that is no regular file (a terminal, /dev/stdout) is written directly: renaming would replace the
 * device.
 */
int rep_file_open(rep_file *f, const char *path);
/*
 * Finish the file: rename it, or remove it when anything could not be written. sync: flush it to the disk before the
 * rename, so that it is complete even after a loss of power.
 */
int rep_file_close(rep_file *f, bool sync);
/* Remove the temporary file. Also after a failed rep_file_open(). */
void rep_file_drop(rep_file *f);
/* The whole file at once. */
int rep_save(const char *path, const void *data, size_t size);
/* The whole file from a function; "-": to stdout. */
int rep_write(const char *path, void (*write)(FILE *out, const void *ctx), const void *ctx);

#endif
