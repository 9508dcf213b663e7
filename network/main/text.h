/* text.h - private to tandem-net: files that are written atomically. */
#ifndef NETMAIN_TEXT_H
#define NETMAIN_TEXT_H

#include "report/report.h"

/* rep_write(); false after an error, which is printed to stderr. */
bool put_file(const char *path, void (*put)(FILE *out, const void *ctx), const void *ctx);

#endif
