// What backends of host memory have in common.
#include "Math/Kernels.h"

#include <cmath>

namespace cntk
{

void Kernels::ClearNotFinite(const MatrixView& output, std::span<const uint8_t> mask)
{
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  for (size_t column = 0; column < output.columns; ++column)
                  {
                      if (mask[column] != 0)
                          continue;
                      T* const values = output.As<T>() + column * output.stride;
                      for (size_t row = 0; row < output.rows; ++row)
                          if (!std::isfinite(values[row]))
                              values[row] = 0;
                  }
              });
}

void Kernels::AddNumbers(std::span<const MatrixView> numbers, bool isNew, const MatrixView& totals)
{
    const auto number = [&](size_t i)
    { return VisitType(numbers[i].type, [&](auto tag) { return double(*numbers[i].As<decltype(tag)>()); }); };
    double* const all = totals.As<double>();
    for (size_t i = 0; i < numbers.size(); ++i)
        all[i] += number(i);
    double& count = all[numbers.size()];
    double& firstNotFinite = all[numbers.size() + 1];
    count += isNew ? 1 : 0;
    if (firstNotFinite == 0 && !std::isfinite(number(0)))
        firstNotFinite = count;
}

} // namespace cntk
