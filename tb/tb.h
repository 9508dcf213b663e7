/*
 * tb.h - the testbench framework: random cases, simulation of a Verilated design, memory, AXI, scoreboards, results.
 *
 * Nothing here depends on the design under test. Every object is a struct that its caller owns.
 * Functions that can fail return 0 or a negative number and write one line (no newline) into the caller's err buffer.
 */
#ifndef TB_H
#define TB_H

#include "apb/apb.h"
#include "axi/lite_master.h"
#include "axi/log.h"
#include "axi/master.h"
#include "axi/monitor.h"
#include "axi/port.h"
#include "axi/project_set.h"
#include "axi/slave.h"
#include "axi/wave_port.h"
#include "case/hash.h"
#include "case/knob.h"
#include "case/kv.h"
#include "case/result.h"
#include "case/rng.h"
#include "case/shrink.h"
#include "case/store.h"
#include "heat.h"
#include "mem/buffers.h"
#include "mem/ddr.h"
#include "mem/shadow.h"
#include "num.h"
#include "prog/prog.h"
#include "prog/report.h"
#include "prog/tandem.h"
#include "run/replay.h"
#include "run/run.h"
#include "run/snap.h"
#include "run/story.h"
#include "run/watchdog.h"
#include "scoreboard.h"
#include "sim/sim.h"
#include "stream/board.h"
#include "stream/fair.h"
#include "stream/stream.h"
#include "tap/check.h"
#include "tap/hands.h"
#include "tap/tap.h"
#include "tlog/tlog.h"
#include "wave/wave.h"

#endif
