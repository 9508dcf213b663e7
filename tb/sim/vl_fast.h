/*
 * vl_fast.h - force-included when Verilated code is compiled (scripts/rtl.mk): two things of Verilator's runtime that
 * take much of the time of a cycle, with the same results. Both are macros for names that the runtime has defined
 * before.
 */
#ifndef TB_SIM_VL_FAST_H
#define TB_SIM_VL_FAST_H

#include <verilated.h>

#include <type_traits>

/*
 * Sign extension as compilers know it. The runtime writes it as -(x & sign) | x, for which g++ has no vector
 * instruction and which it does not drop where nothing is left to extend: 40 % of the time of a large array of
 * multipliers. The bits of x above its width are zero.
 */
static inline IData tb_vl_extend(int width, IData x) {
    switch (width) {
    case 8:
        return static_cast<IData>(static_cast<int8_t>(x));
    case 16:
        return static_cast<IData>(static_cast<int16_t>(x));
    default:
        return static_cast<IData>(static_cast<int32_t>(x << (32 - width)) >> (32 - width));
    }
}
#define VL_EXTENDS_II(width_to, width, x) tb_vl_extend(width, x)
#define VL_MULS_III(width, a, b) (tb_vl_extend(width, a) * tb_vl_extend(width, b))

/*
 * Triggers as bits of one word. The runtime of 5.006 has an array of bool, looks at all of them to know whether any is
 * set, five times a cycle, and the processes of the design begin with tests of up to twenty. Later versions have other
 * vectors, and keep them.
 */
#if VERILATOR_VERSION_INTEGER + 0 > 0 && VERILATOR_VERSION_INTEGER + 0 < 5007000 /* some packages leave it empty */
class tb_vl_trigger { /* one, or any of several, of a vector */
    uint64_t &bits_;
    uint64_t mask_;

  public:
    tb_vl_trigger(uint64_t &bits, uint64_t mask) : bits_(bits), mask_(mask) {
    }
    operator bool() const {
        return (bits_ & mask_) != 0;
    }
    void operator=(bool set) {
        bits_ = (bits_ & ~mask_) | (-static_cast<uint64_t>(set) & mask_);
    }
    friend tb_vl_trigger operator|(const tb_vl_trigger &a, const tb_vl_trigger &b) {
        return tb_vl_trigger(a.bits_, a.mask_ | b.mask_);
    }
};

class tb_vl_few_triggers { /* at most 64; the interface of VlTriggerVec */
    uint64_t bits_ = 0;

  public:
    void clear() {
        bits_ = 0;
    }
    tb_vl_trigger at(size_t index) {
        return tb_vl_trigger(bits_, static_cast<uint64_t>(1) << index);
    }
    bool any() const {
        return bits_ != 0;
    }
    void set(const tb_vl_few_triggers &other) {
        bits_ |= other.bits_;
    }
    void andNot(const tb_vl_few_triggers &a, const tb_vl_few_triggers &b) {
        bits_ = a.bits_ & ~b.bits_;
    }
};

template <std::size_t Size>
using tb_vl_triggers = std::conditional_t<(Size <= 64), tb_vl_few_triggers, VlTriggerVec<Size>>;
#define VlTriggerVec tb_vl_triggers
#endif

#endif
