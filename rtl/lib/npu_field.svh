// NPU_FIELD(Reg, Field): a field of a task register. For modules with an input regs_i that holds the words from GEMM_IFM_ADDR up, one
// after the other.
`ifndef NPU_FIELD_SVH
`define NPU_FIELD_SVH
`define NPU_FIELD(Reg, Field) \
  regs_i[8*(32'(npu_regs_pkg::NPU_REG_``Reg``_OFFSET) - 32'(npu_regs_pkg::NPU_REG_GEMM_IFM_ADDR_OFFSET)) + \
         npu_regs_pkg::NPU_``Reg``_``Field``_LSB +: npu_regs_pkg::NPU_``Reg``_``Field``_WIDTH]
`endif
