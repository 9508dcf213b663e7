/* text.h - text into JSON and pages, files that appear whole or not at all. */
#ifndef NETTEXT_H
#define NETTEXT_H

#include <stdbool.h>
#include <stdio.h>

/* A JSON string, quotes included. */
void put_json_text(FILE *out, const char *text);
/* Escaped for a page. */
void put_html_text(FILE *out, const char *text);
/* Write a file under a temporary name and rename it; "-": standard output. false: the line is printed. */
bool put_file(const char *path, void (*put)(FILE *out, const void *ctx), const void *ctx);

#endif
