/* Channels and signals by name, lanes of beats. */
#include "sample.h"

const char *tb_axi_channel_name(tb_axi_channel channel) {
    static const char *const names[TB_AXI_CHANNELS] = {"AW", "W", "B", "AR", "R"};
    return (unsigned)channel < TB_AXI_CHANNELS ? names[channel] : "?";
}

#define AX(ch)                                                                                                         \
    {#ch "VALID", TB_AXI_##ch, 1, true, true}, {#ch "READY", TB_AXI_##ch, 1, true, true},                              \
        {#ch "ADDR", TB_AXI_##ch, 0, true, true}, {#ch "ID", TB_AXI_##ch, 0, false, false},                            \
        {#ch "LEN", TB_AXI_##ch, 8, false, false}, {#ch "SIZE", TB_AXI_##ch, 3, false, false},                         \
        {#ch "BURST", TB_AXI_##ch, 2, false, false}, {#ch "LOCK", TB_AXI_##ch, 1, false, false},                       \
        {#ch "CACHE", TB_AXI_##ch, 4, false, false}, {#ch "PROT", TB_AXI_##ch, 3, true, false},                        \
        {#ch "QOS", TB_AXI_##ch, 4, false, false}, {#ch "REGION", TB_AXI_##ch, 4, false, false}, {                     \
#ch "USER", TB_AXI_##ch, 0, false, false                                                                       \
    }

/* In the order of tb_axi_signal. */
static const tb_axi_signal_info signals[TB_AXI_SIGNALS] = {
    {"ARESETN", TB_AXI_CHANNELS, 1, true, false}, AX(AW),
    {"WVALID", TB_AXI_W, 1, true, true},          {"WREADY", TB_AXI_W, 1, true, true},
    {"WDATA", TB_AXI_W, 0, true, true},           {"WSTRB", TB_AXI_W, 0, true, true},
    {"WLAST", TB_AXI_W, 1, false, true},          {"WUSER", TB_AXI_W, 0, false, false},
    {"BVALID", TB_AXI_B, 1, true, true},          {"BREADY", TB_AXI_B, 1, true, true},
    {"BID", TB_AXI_B, 0, false, false},           {"BRESP", TB_AXI_B, 2, true, true},
    {"BUSER", TB_AXI_B, 0, false, false},         AX(AR),
    {"RVALID", TB_AXI_R, 1, true, true},          {"RREADY", TB_AXI_R, 1, true, true},
    {"RID", TB_AXI_R, 0, false, false},           {"RDATA", TB_AXI_R, 0, true, true},
    {"RRESP", TB_AXI_R, 2, true, true},           {"RLAST", TB_AXI_R, 1, false, true},
    {"RUSER", TB_AXI_R, 0, false, false},
};

const tb_axi_signal_info *tb_axi_signal_get(tb_axi_signal signal) {
    return (unsigned)signal < TB_AXI_SIGNALS ? &signals[signal] : NULL;
}

void tb_axi_beat(uint64_t addr, unsigned len, unsigned size, unsigned burst, unsigned beat, unsigned bytes,
                 uint64_t *beat_addr, unsigned *lo, unsigned *hi) {
    const uint64_t step = UINT64_C(1) << size;
    uint64_t a = addr;
    if (beat > 0 && burst != TB_AXI_FIXED) {
        a = (addr & ~(step - 1)) + (uint64_t)beat * step;
        if (burst == TB_AXI_WRAP) {
            const uint64_t total = step * (len + 1u);
            const uint64_t low = addr & ~(total - 1);
            a = low + ((a - low) & (total - 1));
        }
    }
    const uint64_t top = (a & ~(step - 1)) + step - 1; /* last byte of the container */
    const uint64_t bus = bytes - 1u;
    if (beat_addr != NULL) {
        *beat_addr = a & ~bus;
    }
    *lo = (unsigned)(a & bus);
    *hi = step > bytes ? (unsigned)bus : (unsigned)(top & bus);
}
