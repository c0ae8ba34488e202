// Known chains of element-wise operations, each as one loop; a part of VectorKernelTemplates.h.
#pragma once

#include "Math/Cpu/Kernels/VectorElementwise.h"
#include "Math/Cpu/Kernels/VectorLanes.h"
#include "Math/Cpu/VectorKernels.h"
#include "Math/KnownChains.h"

#include <utility>

namespace cntk::simd
{
namespace
{

template <ElementwiseOp Op>
struct FormulaOf;
#define CNTK_FORMULA_OF_ROW(name, arity, expression)                                                                   \
    template <>                                                                                                        \
    struct FormulaOf<ElementwiseOp::name>                                                                              \
    {                                                                                                                  \
        using Type = name##Formula;                                                                                    \
    };
CNTK_ELEMENTWISE_OPS(CNTK_FORMULA_OF_ROW)
#undef CNTK_FORMULA_OF_ROW

template <class T>
struct BitsOf;
template <>
struct BitsOf<float>
{
    using Type = uint32_t;
};
template <>
struct BitsOf<double>
{
    using Type = uint64_t;
};

// A product as if it had been in memory: compilers would add it to something in one fused operation, which rounds once
// instead of twice. none: zero, where they cannot know it.
template <class T, class Bits>
[[gnu::always_inline]] inline T Rounded(T value, Bits none)
{
    return __builtin_bit_cast(T, __builtin_bit_cast(Bits, value) ^ none);
}

// The loops of a chain, planned at compile time.
struct ChainPlan
{
    using Link = KnownChain::Link;

    static constexpr bool IsInSteps(ElementwiseOp op)
    {
        return op == ElementwiseOp::Sigmoid || op == ElementwiseOp::Tanh;
    }
    static constexpr size_t StageOfResult(const Link& link) { return link.stage + size_t(IsInSteps(link.op)); }

    // True if the link reads (or writes) the operand in a stage.
    static constexpr bool Reads(const Link& link, size_t operand, size_t stage)
    {
        const bool isOperand = link.first == operand || link.second == operand;
        return (link.stage == stage && (isOperand || (link.adds && link.output == operand))) ||
               (StageOfResult(link) == stage && isOperand);
    }
    static constexpr bool Writes(const Link& link, size_t operand, size_t stage)
    {
        return StageOfResult(link) == stage && link.output == operand;
    }
    // True if a stage starts with the operand's value in memory: its links read it, or add to it, before they write it.
    // Operations that the previous stage began are finished first.
    static constexpr bool Loads(const KnownChain& chain, size_t operand, size_t stage)
    {
        for (const bool ends : {true, false})
            for (size_t i = 0; i < chain.linkCount; ++i)
            {
                const Link& link = chain.links[i];
                if ((link.stage < stage) != ends)
                    continue;
                if (Reads(link, operand, stage))
                    return true;
                if (Writes(link, operand, stage))
                    return false;
            }
        return false;
    }
    static constexpr bool Stores(const KnownChain& chain, size_t operand, size_t stage)
    {
        bool isWritten = false, isReadLater = false;
        for (size_t i = 0; i < chain.linkCount; ++i)
        {
            isWritten = isWritten || Writes(chain.links[i], operand, stage);
            for (size_t later = stage + 1; later < chain.stageCount; ++later)
                isReadLater = isReadLater || Reads(chain.links[i], operand, later);
        }
        return isWritten && (!chain.IsTemporary(operand) || isReadLater);
    }
    static constexpr bool LoadsAny(const KnownChain& chain, size_t operand)
    {
        for (size_t stage = 0; stage < chain.stageCount; ++stage)
            if (Loads(chain, operand, stage))
                return true;
        return false;
    }
    static constexpr bool StoresAny(const KnownChain& chain, size_t operand)
    {
        for (size_t stage = 0; stage < chain.stageCount; ++stage)
            if (Stores(chain, operand, stage))
                return true;
        return false;
    }
    // True if the link's result is an operand of an addition, which could skip its rounding.
    static constexpr bool IsAdded(const KnownChain& chain, const Link& link)
    {
        bool isAdded = link.adds;
        for (size_t i = 0; i < chain.linkCount; ++i)
        {
            const Link& other = chain.links[i];
            isAdded = isAdded || (other.adds && other.output == link.output) ||
                      (other.op == ElementwiseOp::Sum && (other.first == link.output || other.second == link.output));
        }
        return isAdded;
    }
};

template <class T, size_t Number>
class ChainLoop
{
public:
    static void Run(const ChainBlock<T>& block)
    {
        const size_t rest = block.rows % c_vectorLength<T>, whole = block.rows - rest;
        const size_t together = rest == 0 ? block.columns : c_longest / rest; // columns
        for (size_t first = 0; first < block.columns; first += together)
        {
            const size_t columns = block.columns - first < together ? block.columns - first : together;
            for (size_t column = first; column < first + columns; ++column)
                RunColumn(block, column, whole);
            if (rest > 0)
                RunRests(block, first, columns, whole, rest, Kept());
        }
    }

private:
    static constexpr KnownChain c_chain = KnownChains::c_all[Number];
    static constexpr size_t c_kept = c_chain.firstTemporary;
    // Rows at a time: what stages hand on stays in the first-level cache.
    static constexpr size_t c_longest = 1024 / sizeof(T);
    using Kept = std::make_index_sequence<c_kept>;
    using Operands = std::make_index_sequence<c_chain.operandCount>;
    using Links = std::make_index_sequence<c_chain.linkCount>;
    using Stages = std::make_index_sequence<c_chain.stageCount>;
    using Bits = typename BitsOf<T>::Type;

    // Values that stages pass on: temporaries and, for each link, the first half of an operation in two steps.
    struct Between
    {
        alignas(64) T temporaries[c_chain.operandCount - c_kept][c_longest];
        alignas(64) T begun[c_chain.linkCount][c_longest];
    };
    // The same, and operands, of one element.
    struct Element
    {
        T values[c_chain.operandCount];
        T begun[c_chain.linkCount];
    };

    template <size_t Stage, size_t Link>
    [[gnu::always_inline]] static void End(Element& element)
    {
        constexpr KnownChain::Link link = c_chain.links[Link];
        if constexpr (ChainPlan::IsInSteps(link.op) && link.stage + 1 == Stage)
            element.values[link.output] = Steps<typename FormulaOf<link.op>::Type>::Second(
                element.values[link.first], element.values[link.second], element.begun[Link]);
    }
    template <size_t Stage, size_t Link>
    [[gnu::always_inline]] static void Compute(Element& element, Bits none)
    {
        constexpr KnownChain::Link link = c_chain.links[Link];
        using Formula = typename FormulaOf<link.op>::Type;
        const T first = element.values[link.first], second = element.values[link.second];
        if constexpr (link.stage != Stage)
            return;
        else if constexpr (ChainPlan::IsInSteps(link.op))
            element.begun[Link] = Steps<Formula>::First(first, second);
        else
        {
            T value = Formula::template Of<T>(first, second, T(0));
            if constexpr (ChainPlan::IsAdded(c_chain, link))
                value = Rounded(value, none);
            element.values[link.output] = link.adds ? value + element.values[link.output] : value;
        }
    }
    template <size_t Stage, size_t Operand>
    [[gnu::always_inline]] static void Load(Element& element, T* const* kept, const Between& between, size_t i)
    {
        if constexpr (ChainPlan::Loads(c_chain, Operand, Stage))
        {
            if constexpr (Operand < c_kept)
                element.values[Operand] = kept[Operand][i];
            else
                element.values[Operand] = between.temporaries[Operand - c_kept][i];
        }
    }
    template <size_t Stage, size_t Operand>
    [[gnu::always_inline]] static void Store(const Element& element, T* const* kept, Between& between, size_t i)
    {
        if constexpr (ChainPlan::Stores(c_chain, Operand, Stage))
        {
            if constexpr (Operand < c_kept)
                kept[Operand][i] = element.values[Operand];
            else
                between.temporaries[Operand - c_kept][i] = element.values[Operand];
        }
    }
    template <size_t Stage, size_t Link>
    [[gnu::always_inline]] static void LoadBegun(Element& element, const Between& between, size_t i)
    {
        constexpr KnownChain::Link link = c_chain.links[Link];
        if constexpr (ChainPlan::IsInSteps(link.op) && link.stage + 1 == Stage)
            element.begun[Link] = between.begun[Link][i];
    }
    template <size_t Stage, size_t Link>
    [[gnu::always_inline]] static void StoreBegun(const Element& element, Between& between, size_t i)
    {
        constexpr KnownChain::Link link = c_chain.links[Link];
        if constexpr (ChainPlan::IsInSteps(link.op) && link.stage == Stage)
            between.begun[Link][i] = element.begun[Link];
    }

    // Rows of one column, at most c_longest. An array in an `omp simd` loop would stay in memory.
    template <size_t Stage, size_t... Operand, size_t... Link>
    [[gnu::noinline]] static void RunStage(T* const* kept, Between& between, size_t rows,
                                           std::index_sequence<Operand...>, std::index_sequence<Link...>)
    {
        Bits none = 0;
        asm("" : "+r"(none));
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
        for (size_t i = 0; i < rows; ++i)
        {
            Element element;
            (Load<Stage, Operand>(element, kept, between, i), ...);
            (LoadBegun<Stage, Link>(element, between, i), ...);
            (End<Stage, Link>(element), ...);
            (Compute<Stage, Link>(element, none), ...);
            (Store<Stage, Operand>(element, kept, between, i), ...);
            (StoreBegun<Stage, Link>(element, between, i), ...);
        }
    }
    template <size_t... Stage>
    static void RunStages(T* const* kept, size_t rows, std::index_sequence<Stage...>)
    {
        Between between;
        (RunStage<Stage>(kept, between, rows, Operands(), Links()), ...);
    }

    static T* At(const ChainBlock<T>& block, size_t operand, size_t column, size_t row)
    {
        return block.operands[operand] + ptrdiff_t(column) * block.strides[operand] + row;
    }
    static void RunColumn(const ChainBlock<T>& block, size_t column, size_t rows)
    {
        T* kept[c_kept];
        for (size_t row = 0; row < rows; row += c_longest)
        {
            for (size_t i = 0; i < c_kept; ++i)
                kept[i] = At(block, i, column, row);
            RunStages(kept, rows - row < c_longest ? rows - row : c_longest, Stages());
        }
    }

    // The last rows of columns, fewer than a vector each, one behind another in memory of their own.
    using Rests = T[c_longest];
    template <size_t Operand>
    [[gnu::always_inline]] static void LoadRests(Rests* rests, const ChainBlock<T>& block, size_t first, size_t columns,
                                                 size_t row, size_t rest)
    {
        if constexpr (ChainPlan::LoadsAny(c_chain, Operand))
            for (size_t i = 0; i < columns; ++i)
                CopyRest(rests[Operand] + i * rest, At(block, Operand, first + i, row), rest);
    }
    template <size_t Operand>
    [[gnu::always_inline]] static void StoreRests(const Rests* rests, const ChainBlock<T>& block, size_t first,
                                                  size_t columns, size_t row, size_t rest)
    {
        if constexpr (ChainPlan::StoresAny(c_chain, Operand))
            for (size_t i = 0; i < columns; ++i)
                CopyRest(At(block, Operand, first + i, row), rests[Operand] + i * rest, rest);
    }
    static void CopyRest(T* to, const T* from, size_t count)
    {
        alignas(64) T part[c_vectorLength<T>];
        LoadFirst(part, from, count);
        StoreFirst(to, part, count);
    }
    template <size_t... Operand>
    static void RunRests(const ChainBlock<T>& block, size_t first, size_t columns, size_t row, size_t rest,
                         std::index_sequence<Operand...>)
    {
        alignas(64) Rests rests[c_kept];
        T* const places[c_kept] = {rests[Operand]...};
        (LoadRests<Operand>(rests, block, first, columns, row, rest), ...);
        const size_t count = columns * rest;
        const size_t padded = (count + c_vectorLength<T> - 1) / c_vectorLength<T> * c_vectorLength<T>;
        for (size_t i = 0; i < c_kept; ++i)
            for (size_t j = count; j < padded; ++j)
                rests[i][j] = T(0);
        RunStages(places, padded, Stages());
        (StoreRests<Operand>(rests, block, first, columns, row, rest), ...);
    }
};

} // namespace
} // namespace cntk::simd
