/*
 * stream_log.h - private to tb/prog: tensor logs of the streams of a bench, and of other handshakes of the design
 * beside its buses (tb/run/waits.h), where there is one clock.
 */
#ifndef TB_PROG_STREAM_LOG_H
#define TB_PROG_STREAM_LOG_H

#include "../run/run.h"
#include "../tlog/tlog.h"

typedef struct tb_stream_log tb_stream_log;

/*
 * From now on each transfer goes into the folder `streams` of dir: a stream of bytes for each handshake that has other
 * ports. After tb_run_follow(). NULL with one line in err.
 */
tb_stream_log *tb_stream_log_open(tb_run *run, const char *dir, char *err, size_t err_size);
/* Write the index, release; s may be NULL. 0, or -1 with one line in err. */
int tb_stream_log_close(tb_stream_log *s, char *err, size_t err_size);

#endif
