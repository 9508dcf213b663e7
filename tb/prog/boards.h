/* boards.h - private to this folder: scoreboards that the description of a design declares. */
#ifndef TB_PROG_BOARDS_H
#define TB_PROG_BOARDS_H

#include "tandem.h"

/* A stream of the bench with what the boards say of it. */
tb_stream_cfg boards_stream(const tb_tandem *b, const tb_stream_cfg *cfg);
/* After all ports were opened: arbiters; do all names exist? 0, or -1 with one line in err. */
int boards_open(const tb_tandem *b, tb_run *run, char *err, size_t err_size);
/* The end of a complete run: memories. */
void boards_finish(const tb_tandem *b, tb_run *run, const tb_pair *pair);

#endif
