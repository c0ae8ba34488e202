// Chains of element-wise operations that networks are known to have, as tables of which kernels are compiled: all links
// in one loop, where what they hand on stays in registers.
#pragma once

#include "Math/ElementwiseOps.h"

#include <cstddef>
#include <cstdint>

namespace cntk
{

struct ElementwiseChain;

// Operands by numbers, from 0 on; a number is one place.
struct KnownChain
{
    static constexpr size_t c_mostLinks = 20;
    static constexpr size_t c_mostOperands = 33;

    // output = op(first, second), or output += that; operations of one operand have it twice. Stages are loops one
    // after another, so that what a loop computes of an element is no long chain of instructions, each of which waits
    // for the one before: sigmoids and tangents begin in their stage and end in the next one, which the links that read
    // them are in.
    struct Link
    {
        ElementwiseOp op = ElementwiseOp::Copy;
        uint8_t first = 0;
        uint8_t second = 0;
        uint8_t output = 0;
        bool adds = false;
        uint8_t stage = 0;
    };

    Link links[c_mostLinks];
    size_t linkCount = 0;
    size_t stageCount = 1;
    size_t operandCount = 0;
    // Operands from this number on are temporaries: no memory of theirs is read or written.
    size_t firstTemporary = 0;

    constexpr bool IsTemporary(size_t operand) const { return operand >= firstTemporary; }
};

namespace KnownChains
{

constexpr size_t c_count = 2;

// A time step of the LSTM with peepholes, whose biases are a part of what the input gives, but the cell input's.
constexpr KnownChain MakeLstmForward()
{
    using Op = ElementwiseOp;
    enum : uint8_t
    {
        OutputOfInput, // what the input gives for the output gate, and what the cells before do
        OutputOfCells,
        ForgetOfInput,
        ForgetOfCells,
        ForgetPeephole,
        StateBefore,
        Forget,
        InputOfInput,
        InputOfCells,
        InputPeephole,
        Input,
        NewOfCells,
        NewBias,
        NewOfInput,
        New,
        State,
        OutputPeephole,
        Output,
        Squashed,
        Cells,
        FirstTemporary
    };
    constexpr auto t = [](int number) { return uint8_t(FirstTemporary + number); };
    return {.links = {{Op::Sum, OutputOfInput, OutputOfCells, t(0)},
                      {Op::Sum, ForgetOfInput, ForgetOfCells, t(1)},
                      {Op::Product, ForgetPeephole, StateBefore, t(2)},
                      {Op::Sum, t(1), t(2), t(3)},
                      {Op::Sigmoid, t(3), t(3), Forget},
                      {Op::Product, Forget, StateBefore, t(4), false, 1},
                      {Op::Sum, InputOfInput, InputOfCells, t(5)},
                      {Op::Product, InputPeephole, StateBefore, t(6)},
                      {Op::Sum, t(5), t(6), t(7)},
                      {Op::Sigmoid, t(7), t(7), Input},
                      {Op::Sum, NewOfCells, NewBias, t(8)},
                      {Op::Sum, NewOfInput, t(8), t(9)},
                      {Op::Tanh, t(9), t(9), New},
                      {Op::Product, Input, New, t(10), false, 1},
                      {Op::Sum, t(4), t(10), State, false, 1},
                      {Op::Product, OutputPeephole, State, t(11), false, 1},
                      {Op::Sum, t(0), t(11), t(12), false, 1},
                      {Op::Sigmoid, t(12), t(12), Output, false, 1},
                      {Op::Tanh, State, State, Squashed, false, 1},
                      {Op::Product, Output, Squashed, Cells, false, 2}},
            .linkCount = 20,
            .stageCount = 3,
            .operandCount = size_t(FirstTemporary) + 13,
            .firstTemporary = FirstTemporary};
}

// Its way back: from the gradient of the cells to those of the gates' arguments.
constexpr KnownChain MakeLstmBackward()
{
    using Op = ElementwiseOp;
    enum : uint8_t
    {
        Cells, // gradients
        State,
        OutputSum,
        NewSum,
        InputSum,
        ForgetSum,
        StateBefore,
        SquashedValue, // values
        OutputValue,
        NewValue,
        InputValue,
        ForgetValue,
        StateBeforeValue,
        OutputPeephole,
        InputPeephole,
        ForgetPeephole,
        FirstTemporary
    };
    constexpr auto t = [](int number) { return uint8_t(FirstTemporary + number); };
    return {.links = {{Op::Product, Cells, SquashedValue, t(0)},
                      {Op::Product, Cells, OutputValue, t(1)},
                      {Op::TanhGradient, t(1), SquashedValue, State, true},
                      {Op::SigmoidGradient, t(0), OutputValue, OutputSum},
                      {Op::Product, OutputSum, OutputPeephole, State, true},
                      {Op::Product, State, NewValue, t(2)},
                      {Op::Product, State, InputValue, t(3)},
                      {Op::TanhGradient, t(3), NewValue, NewSum},
                      {Op::SigmoidGradient, t(2), InputValue, InputSum},
                      {Op::Product, InputSum, InputPeephole, StateBefore},
                      {Op::Product, State, StateBeforeValue, t(4)},
                      {Op::Product, State, ForgetValue, StateBefore, true},
                      {Op::SigmoidGradient, t(4), ForgetValue, ForgetSum},
                      {Op::Product, ForgetSum, ForgetPeephole, StateBefore, true}},
            .linkCount = 14,
            .stageCount = 1,
            .operandCount = size_t(FirstTemporary) + 5,
            .firstTemporary = FirstTemporary};
}

inline constexpr KnownChain c_all[c_count] = {MakeLstmForward(), MakeLstmBackward()};

// The number of the known chain that this one is, or c_none. Its operands must lie apart where they are not the same.
constexpr int c_none = -1;
int Find(const ElementwiseChain& chain);

} // namespace KnownChains

} // namespace cntk
