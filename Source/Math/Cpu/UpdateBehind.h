// The update of a parameter block by block behind the product that is its gradient.
#pragma once

#include "Math/Cpu/GemmFunctions.h"
#include "Math/Cpu/VectorKernels.h"
#include "Math/Products.h"

namespace cntk
{

// The factors of an update, as the kernels take them. The sparse form keeps the rate out of the smoothed gradient.
template <class T>
struct UpdateNumbers
{
    UpdateNumbers(double rate, double momentumOf, bool isSparse)
        : momentum(T(momentumOf)), factor(isSparse ? T(1 - momentumOf) : T((1 - momentumOf) * rate)),
          step(isSparse ? T(rate) : T(1))
    {
    }

    T momentum;
    T factor;
    T step;
};

template <class T>
class UpdateBehind : public GemmEpilogue<T>
{
public:
    // isSparse: the update of touched columns. An update without a parameter must not be applied.
    UpdateBehind(const VectorKernels<T>& kernels, const ProductUpdate& update, bool isSparse = false)
        : m_kernels(&kernels), m_numbers(update.rate, update.momentum, isSparse), m_parameter(update.parameter.As<T>()),
          m_smoothed(update.smoothed.As<T>())
    {
        this->apply = &Apply;
        this->beside[0] = m_parameter;
        this->beside[1] = m_smoothed != nullptr ? m_smoothed : m_parameter;
        this->besideStride = update.parameter.stride;
        this->replacesC = !update.keepsGradient;
    }

private:
    static void Apply(const GemmEpilogue<T>& self, T* gradient, size_t stride, size_t firstRow, size_t firstColumn,
                      size_t rows, size_t columns)
    {
        const auto& update = static_cast<const UpdateBehind&>(self);
        const size_t first = firstRow + firstColumn * self.besideStride;
        UpdateBlock<T> block;
        block.parameter = update.m_parameter + first;
        block.stride = self.besideStride;
        block.gradient = gradient;
        block.gradientStride = stride;
        block.rows = rows;
        block.columns = columns;
        if (rows == stride && rows == self.besideStride) // in one piece
        {
            block.rows = rows * columns;
            block.columns = 1;
        }
        const UpdateNumbers<T>& numbers = update.m_numbers;
        if (update.m_smoothed == nullptr)
            return update.m_kernels->descend(block, numbers.factor, numbers.step);
        block.smoothed = update.m_smoothed + first;
        update.m_kernels->momentumUpdate(block, numbers.momentum, numbers.factor, numbers.step);
    }

    const VectorKernels<T>* m_kernels;
    UpdateNumbers<T> m_numbers;
    T* m_parameter;
    T* m_smoothed; // null: none
};

} // namespace cntk
