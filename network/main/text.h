/* text.h - private to tandem-net: files that appear whole or not at all. */
#ifndef NETMAIN_TEXT_H
#define NETMAIN_TEXT_H

#include "report/report.h"

/* rep_write(); what goes wrong is told on stderr: false. */
bool put_file(const char *path, void (*put)(FILE *out, const void *ctx), const void *ctx);

#endif
