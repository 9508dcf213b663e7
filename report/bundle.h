/*
 * bundle.h - files in the folder of a failure's report (--report DIR), shared by the program that writes it and the
 * runner that shows it.
 */
#ifndef REPORT_BUNDLE_H
#define REPORT_BUNDLE_H

#define REP_BUNDLE_PAGE "report.html"
#define REP_BUNDLE_TEXT "report.txt"
#define REP_BUNDLE_WAVE "wave.fst"
#define REP_BUNDLE_GTKW "wave.gtkw"
#define REP_BUNDLE_TIMING "timing.svg"
#define REP_BUNDLE_TIMING_WIDE "timing-wide.svg"
#define REP_BUNDLE_REGISTERS "registers.txt"
#define REP_BUNDLE_BUS "axi.txt"
#define REP_BUNDLE_WRONG "wrong.txt"
#define REP_BUNDLE_VERSIONS "versions.txt"
#define REP_BUNDLE_CASE "case.case"
#define REP_BUNDLE_TENSORS "tensors" /* a folder */

/* Those that a page links, with a description, in reading order (docs/debugging.md). */
#define REP_BUNDLE_LINKS                                                                                               \
    {REP_BUNDLE_PAGE, "divergence report"}, {REP_BUNDLE_TEXT, "as text"}, {REP_BUNDLE_WAVE, "waveform"},               \
        {REP_BUNDLE_GTKW, "GTKWave save file"}, {REP_BUNDLE_TIMING, "timing diagram"},                                 \
        {REP_BUNDLE_REGISTERS, "registers"}, {REP_BUNDLE_BUS, "bus"}, {REP_BUNDLE_WRONG, "wrong elements"}, {          \
        REP_BUNDLE_VERSIONS, "versions"                                                                                \
    }

#endif
