# Tables of the fitted activations for RTL and model (docs/npu/activations.md).
$(eval $(call generated,npu,tools/gen_act.py,--table regs/act_fit.txt,regs/act_fit.txt,npu_act_pkg.sv))
# Tables of the ALU's functions.
$(eval $(call generated,npu,tools/gen_func.py,--table regs/func_fit.txt,regs/func_fit.txt,npu_func_pkg.sv))
