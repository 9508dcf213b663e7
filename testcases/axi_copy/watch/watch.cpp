// The AXI checker in a Verilator bench of one's own, without any other part of the framework. `axi_watch break` breaks
// a rule.
#include "Vaxi_copy.h"
#include <cstdio>
extern "C" {
#include "axi/monitor.h"
}

int main(int argc, char **) {
    Vaxi_copy dut;
    // 1. Where the signals are; what is left out counts as tied off.
    tb_axi_port port;
    tb_axi_port_init(&port, true, 4);
    port.aw.valid = &dut.s_axil_awvalid_i, port.aw.ready = &dut.s_axil_awready_o;
    port.ar.valid = &dut.s_axil_arvalid_i, port.ar.ready = &dut.s_axil_arready_o;
    port.aw.addr = {&dut.s_axil_awaddr_i, 8}, port.ar.addr = {&dut.s_axil_araddr_i, 8};
    port.w_valid = &dut.s_axil_wvalid_i, port.w_ready = &dut.s_axil_wready_o;
    port.w_data = reinterpret_cast<uint8_t *>(&dut.s_axil_wdata_i), port.w_strb = {&dut.s_axil_wstrb_i, 4};
    port.b_valid = &dut.s_axil_bvalid_o, port.b_ready = &dut.s_axil_bready_i, port.b_resp = &dut.s_axil_bresp_o;
    port.r_valid = &dut.s_axil_rvalid_o, port.r_ready = &dut.s_axil_rready_i, port.r_resp = &dut.s_axil_rresp_o;
    port.r_data = reinterpret_cast<uint8_t *>(&dut.s_axil_rdata_o);
    // 2. A monitor for the port.
    tb_axi_monitor mon;
    tb_axi_mon_cfg cfg = {};
    cfg.name = "regs", cfg.lite = true, cfg.bytes = 4;
    if (tb_axi_mon_init(&mon, &cfg) != 0) {
        return 2;
    }
    for (uint64_t cycle = 0; cycle < 20; cycle++) {
        dut.clk_i = 0, dut.rst_ni = cycle >= 4, dut.s_axil_bready_i = 1;
        dut.s_axil_awvalid_i =
            cycle == 8 || (cycle > 8 && cycle <= 10 && argc == 1); // an address has to wait for the data
        dut.s_axil_wvalid_i = cycle == 10, dut.s_axil_wstrb_i = 15;
        dut.eval();
        // 3. Just before each rising edge outside reset.
        if (dut.rst_ni) {
            tb_axi_mon_port(&mon, &port, cycle);
        }
        dut.clk_i = 1, dut.eval();
    }
    // 4. What was found, and what went over the port.
    for (uint64_t i = 0; i < mon.violations && i < TB_AXI_KEEP; i++) {
        char text[256];
        tb_axi_violation_text(&mon, &mon.first[i], text, sizeof text);
        std::puts(text);
    }
    std::printf("writes: %u, violations: %u\n", unsigned(mon.stats.beats[TB_AXI_B]), unsigned(mon.violations));
    tb_axi_mon_free(&mon);
    return mon.violations != 0;
}
