/* Statistics of a port. */
#include "mon_priv.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- latency bins: 16 of one cycle, then four for each doubling ---- */

static uint32_t bin_of(uint64_t cycles) {
    if (cycles < 16) {
        return (uint32_t)cycles;
    }
    const uint32_t top = 63u - (uint32_t)__builtin_clzll(cycles); /* 4 or more */
    const uint32_t bin = 16 + (top - 4) * 4 + (uint32_t)(cycles >> (top - 2) & 3u);
    return bin < TB_AXI_LATENCY_BINS ? bin : TB_AXI_LATENCY_BINS - 1;
}

uint64_t tb_axi_latency_from(uint32_t bin) {
    return bin < 16 ? bin : (UINT64_C(4) + (bin - 16) % 4) << (2 + (bin - 16) / 4);
}

void axi_stat_done(tb_axi_monitor *mon, const tb_axi_open *b, bool write, uint64_t cycle) {
    tb_axi_dir_stats *d = &mon->stats.dir[write];
    const uint64_t took = cycle - b->since;
    d->first[bin_of(b->first > b->since ? b->first - b->since : 0)]++;
    d->latency[bin_of(took)]++;
    d->latency_sum += took;
    d->latency_max = took > d->latency_max ? took : d->latency_max;
    d->complete++;
}

/* ---- bursts by length and place ---- */

void axi_stat_burst(tb_axi_monitor *mon, const tb_axi_ax *ax, bool write) {
    tb_axi_dir_stats *d = &mon->stats.dir[write];
    const unsigned len = mon->cfg.lite ? 0 : ax->len;
    const unsigned length = len == 0 ? 0 : 32u - (unsigned)__builtin_clz(len);
    const uint64_t beat = mon->cfg.lite ? mon->cfg.bytes : UINT64_C(1) << (ax->size & 7u);
    d->bursts[len]++;
    d->start[length][__builtin_ctzll(ax->addr | 1u << (TB_AXI_ALIGNS - 1))]++;
    if (mon->cfg.lite || ax->burst == TB_AXI_INCR) {
        const uint64_t end = (ax->addr & ~(beat - 1)) + (len + UINT64_C(1)) * beat;
        const uint64_t beats = (0 - end) % 4096 / beat;
        d->room[length][beats < 2 ? beats : beats < 4 ? 2 : beats < 16 ? 3 : 4]++;
    }
}

/* Lowest and highest strobe of a bus of more than 64 lanes, too. */
static tb_axi_strobes strobes_of(const uint64_t strb[2], uint32_t bytes, uint32_t ones) {
    if (ones == bytes) {
        return TB_AXI_STROBES_ALL;
    }
    if (ones == 0) {
        return TB_AXI_STROBES_NONE;
    }
    const uint32_t lowest = (uint32_t)(strb[0] != 0 ? __builtin_ctzll(strb[0]) : 64 + __builtin_ctzll(strb[1]));
    const uint32_t highest = 63u - (uint32_t)(strb[1] != 0 ? __builtin_clzll(strb[1]) : __builtin_clzll(strb[0])) +
                             (strb[1] != 0 ? 64u : 0u);
    if (highest - lowest + 1 != ones) {
        return TB_AXI_STROBES_HOLES;
    }
    return lowest == 0 ? TB_AXI_STROBES_LOW : highest == bytes - 1 ? TB_AXI_STROBES_HIGH : TB_AXI_STROBES_INNER;
}

void axi_stat_strobes(tb_axi_monitor *mon, const uint64_t strb[2], bool last) {
    const uint32_t ones = (uint32_t)(__builtin_popcountll(strb[0]) + __builtin_popcountll(strb[1]));
    const tb_axi_beat_place place = mon->w_inside ? (last ? TB_AXI_BEAT_LAST : TB_AXI_BEAT_MIDDLE)
                                    : last        ? TB_AXI_BEAT_ONLY
                                                  : TB_AXI_BEAT_FIRST;
    mon->stats.write_bytes += ones;
    mon->stats.strobes[place][strobes_of(strb, mon->cfg.bytes, ones)]++;
}

/* ---- output ---- */

typedef struct summary {
    uint64_t cycles, busy; /* in all; with a burst in flight */
    uint64_t bursts, beats, bytes;
    double depth; /* mean while busy */
    uint32_t max;
} summary;

static summary summarise(const tb_axi_monitor *mon, bool write, uint64_t cycle) {
    const tb_axi_stats *st = &mon->stats;
    const tb_axi_dir_stats *d = &st->dir[write];
    summary s = {.cycles = mon->begun && cycle > mon->begin ? cycle - mon->begin : 0,
                 .beats = st->beats[write ? TB_AXI_W : TB_AXI_R],
                 .bytes = write ? st->write_bytes : st->read_bytes,
                 .max = write ? st->max_writes : st->max_reads};
    const uint32_t live = write ? mon->wr_live : mon->rd_live;
    const uint64_t rest = cycle > d->changed ? cycle - d->changed : 0;
    double sum = (double)live * (double)rest;
    s.busy = live > 0 ? rest : 0;
    for (uint32_t i = 1; i < TB_AXI_DEPTH_BINS; i++) {
        s.busy += d->depth[i];
        sum += (double)i * (double)d->depth[i];
    }
    for (uint32_t i = 0; i < 256; i++) {
        s.bursts += d->bursts[i];
    }
    s.depth = s.busy > 0 ? sum / (double)s.busy : 0;
    return s;
}

static double percent(double part, double whole) {
    return whole > 0 ? 100.0 * part / whole : 0.0;
}

/* Cycles that so many bursts need at most, rounded up to the end of a bin. */
static uint64_t quantile(const tb_axi_dir_stats *d, double share) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < TB_AXI_LATENCY_BINS; i++) {
        sum += d->latency[i];
        if (d->complete > 0 && (double)sum >= share * (double)d->complete) {
            const uint64_t end = tb_axi_latency_from(i + 1) - 1;
            return end < d->latency_max ? end : d->latency_max;
        }
    }
    return 0;
}

static void print_lengths(const tb_axi_dir_stats *d, FILE *out) {
    const char *separator = "";
    fputs("    bursts by beats        ", out);
    for (uint32_t i = 0; i < 256; i++) {
        if (d->bursts[i] > 0) {
            fprintf(out, "%s%u: %" PRIu64, separator, i + 1u, d->bursts[i]);
            separator = ", ";
        }
    }
    fputs("\n", out);
}

static void print_direction(const tb_axi_monitor *mon, bool write, uint64_t cycle, FILE *out) {
    const tb_axi_dir_stats *d = &mon->stats.dir[write];
    const summary s = summarise(mon, write, cycle);
    const unsigned ax = write ? TB_AXI_AW : TB_AXI_AR;
    const unsigned data = write ? TB_AXI_W : TB_AXI_R;
    if (s.bursts == 0) {
        return;
    }
    fprintf(out,
            "  %s %s: %" PRIu64 " bursts, %" PRIu64 " beats, %" PRIu64 " bytes, %.1f %% of the lanes of these beats\n",
            mon->cfg.name != NULL ? mon->cfg.name : "port", write ? "writes" : "reads", s.bursts, s.beats, s.bytes,
            percent((double)s.bytes, (double)s.beats * mon->cfg.bytes));
    if (!mon->cfg.lite) {
        print_lengths(d, out);
    }
    fprintf(out, "    latency in cycles      mean %.1f, median %" PRIu64 ", 99 %% %" PRIu64 ", most %" PRIu64 "\n",
            d->complete > 0 ? (double)d->latency_sum / (double)d->complete : 0.0, quantile(d, 0.5), quantile(d, 0.99),
            d->latency_max);
    fprintf(out, "    in flight              mean %.1f while any is, most %u, none in %.1f %% of the cycles\n", s.depth,
            s.max, percent((double)(s.cycles - (s.busy < s.cycles ? s.busy : s.cycles)), (double)s.cycles));
    fprintf(out, "    data moved in          %.1f %% of the cycles with a burst in flight, %.1f %% of all\n",
            percent((double)s.beats, (double)s.busy), percent((double)s.beats, (double)s.cycles));
    fprintf(out, "    cycles without ready   address %" PRIu64 ", data %" PRIu64, mon->stats.stall[ax],
            mon->stats.stall[data]);
    if (write) {
        fprintf(out, ", response %" PRIu64, mon->stats.stall[TB_AXI_B]);
    }
    fprintf(out, "\n");
}

void tb_axi_stats_print(const tb_axi_monitor *mon, uint64_t cycle, FILE *out) {
    print_direction(mon, false, cycle, out);
    print_direction(mon, true, cycle, out);
    if (mon->violations + mon->notes > 0) {
        fprintf(out, "  %s rules:\n", mon->cfg.name != NULL ? mon->cfg.name : "port");
    }
    for (unsigned i = 0; i < TB_AXI_RULES; i++) {
        if (mon->per_rule[i] > 0) {
            fprintf(out, "    %-32s %" PRIu64 "\n", tb_axi_rule_name((tb_axi_rule)i), mon->per_rule[i]);
        }
    }
}

/* ---- JSON ---- */

static void json_bins(const char *name, const uint64_t *bins, uint32_t count, uint64_t (*key)(uint32_t bin),
                      FILE *out) {
    const char *separator = "";
    fprintf(out, ", \"%s\": [", name);
    for (uint32_t i = 0; i < count; i++) {
        if (bins[i] > 0) {
            fprintf(out, "%s[%" PRIu64 ", %" PRIu64 "]", separator, key(i), bins[i]);
            separator = ", ";
        }
    }
    fputs("]", out);
}

static uint64_t from_one(uint32_t bin) {
    return bin + UINT64_C(1);
}

static uint64_t from_zero(uint32_t bin) {
    return bin;
}

static uint64_t power(uint32_t bin) {
    return UINT64_C(1) << bin;
}

static uint64_t room_from(uint32_t bin) {
    return bin < 3 ? bin : bin == 3 ? 4 : 16;
}

/* What is counted for each class of lengths, of all lengths. */
static void sum_lengths(const uint64_t *rows, uint32_t columns, uint64_t *sum) {
    for (uint32_t i = 0; i < TB_AXI_LENGTHS * columns; i++) {
        sum[i % columns] += rows[i];
    }
}

static void json_strobes(const tb_axi_monitor *mon, FILE *out) {
    static const char *const kinds[TB_AXI_STROBES_KINDS] = {"all", "low", "high", "inner", "holes", "none"};
    fputs(", \"strobes\": {", out);
    for (unsigned k = 0; k < TB_AXI_STROBES_KINDS; k++) {
        fprintf(out, "%s\"%s\": [", k > 0 ? ", " : "", kinds[k]);
        for (unsigned p = 0; p < TB_AXI_BEAT_PLACES; p++) {
            fprintf(out, "%s%" PRIu64, p > 0 ? ", " : "", mon->stats.strobes[p][k]);
        }
        fputs("]", out);
    }
    fputs("}", out);
}

static void json_direction(const tb_axi_monitor *mon, bool write, uint64_t cycle, FILE *out) {
    const tb_axi_dir_stats *d = &mon->stats.dir[write];
    const summary s = summarise(mon, write, cycle);
    uint64_t depth[TB_AXI_DEPTH_BINS];
    const uint32_t live = write ? mon->wr_live : mon->rd_live;
    for (uint32_t i = 0; i < TB_AXI_DEPTH_BINS; i++) {
        depth[i] = d->depth[i];
    }
    depth[live < TB_AXI_DEPTH_BINS ? live : TB_AXI_DEPTH_BINS - 1] += cycle > d->changed ? cycle - d->changed : 0;
    fprintf(out,
            "\"%s\": {\"bursts\": %" PRIu64 ", \"beats\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"errors\": %" PRIu64,
            write ? "writes" : "reads", s.bursts, s.beats, s.bytes, mon->stats.error_resp[write]);
    fprintf(out,
            ", \"busy\": %" PRIu64 ", \"max_in_flight\": %u, \"latency_sum\": %" PRIu64 ", \"latency_max\": %" PRIu64,
            s.busy, s.max, d->latency_sum, d->latency_max);
    json_bins("bursts_by_beats", d->bursts, 256, from_one, out);
    json_bins("first_data_from", d->first, TB_AXI_LATENCY_BINS, tb_axi_latency_from, out);
    json_bins("latency_from", d->latency, TB_AXI_LATENCY_BINS, tb_axi_latency_from, out);
    json_bins("cycles_in_flight", depth, TB_AXI_DEPTH_BINS, from_zero, out);
    uint64_t starts[TB_AXI_ALIGNS] = {0};
    uint64_t rooms[TB_AXI_ROOMS] = {0};
    sum_lengths(d->start[0], TB_AXI_ALIGNS, starts);
    sum_lengths(d->room[0], TB_AXI_ROOMS, rooms);
    json_bins("bursts_by_alignment", starts, TB_AXI_ALIGNS, power, out);
    json_bins("beats_to_4k_from", rooms, TB_AXI_ROOMS, room_from, out);
    if (write) {
        json_strobes(mon, out);
    }
    fputs("}", out);
}

void tb_axi_stats_json(const tb_axi_monitor *mon, uint64_t cycle, FILE *out) {
    const uint64_t cycles = mon->begun && cycle > mon->begin ? cycle - mon->begin : 0;
    const char *separator = "";
    fprintf(out, "{\"port\": \"%s\", \"lite\": %s, \"bytes\": %u, \"cycles\": %" PRIu64 ", ",
            mon->cfg.name != NULL ? mon->cfg.name : "", mon->cfg.lite ? "true" : "false", mon->cfg.bytes, cycles);
    json_direction(mon, false, cycle, out);
    fputs(", ", out);
    json_direction(mon, true, cycle, out);
    for (unsigned waits = 0; waits < 2; waits++) {
        const uint64_t *all = waits != 0 ? mon->stats.stall : mon->stats.beats;
        fprintf(out, ", \"%s\": {", waits != 0 ? "cycles_without_ready" : "handshakes");
        for (unsigned c = 0; c < TB_AXI_CHANNELS; c++) {
            fprintf(out, "%s\"%s\": %" PRIu64, c > 0 ? ", " : "", tb_axi_channel_name((tb_axi_channel)c), all[c]);
        }
        fputs("}", out);
    }
    fprintf(out, ", \"errors\": %" PRIu64 ", \"notes\": %" PRIu64 ", \"rules\": {", mon->violations, mon->notes);
    for (unsigned i = 0; i < TB_AXI_RULES; i++) {
        if (mon->per_rule[i] > 0) {
            fprintf(out, "%s\"%s\": %" PRIu64, separator, tb_axi_rule_name((tb_axi_rule)i), mon->per_rule[i]);
            separator = ", ";
        }
    }
    fputs("}}", out);
}
