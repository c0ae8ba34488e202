// Central differences, one parameter element at a time.
#include "ComputationNetwork/GradientCheck.h"

#include "Common/Error.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "Math/Operations.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace cntk
{

namespace
{

// One element of a matrix, wherever it lives.
class Element
{
public:
    Element(const MatrixView& matrix, size_t row, size_t column)
        : m_element(matrix.Columns(column, 1).Rows(row, 1)), m_bytes(SizeOf(matrix.type))
    {
    }

    double Get() const
    {
        return VisitType(m_element.type,
                         [&](auto tag)
                         {
                             m_element.device->CopyToHost(&tag, m_element.data, m_bytes);
                             return double(tag);
                         });
    }
    void Set(double value) const
    {
        VisitType(m_element.type,
                  [&](auto tag)
                  {
                      tag = decltype(tag)(value);
                      m_element.device->CopyFromHost(m_element.data, &tag, m_bytes);
                  });
    }

private:
    MatrixView m_element;
    size_t m_bytes;
};

std::vector<size_t> ChooseElements(size_t count, size_t most, std::mt19937_64& random)
{
    std::vector<size_t> elements(count);
    std::iota(elements.begin(), elements.end(), size_t(0));
    if (count <= most)
        return elements;
    for (size_t i = 0; i < most; i++)
        std::swap(elements[i], elements[i + random() % (count - i)]);
    elements.resize(most);
    std::sort(elements.begin(), elements.end());
    return elements;
}

} // namespace

bool GradientComparison::AgreesTo(int digits) const
{
    const double smaller = std::min(std::abs(backpropagated), std::abs(numeric));
    const double magnitude = smaller > 0 ? std::max(0.0, std::ceil(std::log10(smaller))) : 0.0;
    return std::abs(backpropagated - numeric) < std::pow(10.0, magnitude - digits); // false for NaN
}

std::vector<GradientComparison> CompareGradients(Evaluator& evaluator, const ComputationNodePtr& criterion,
                                                 const GradientCheckOptions& options)
{
    evaluator.Forward();
    evaluator.Backward(criterion);

    std::mt19937_64 random(options.seed);
    std::vector<GradientComparison> comparisons;
    for (const auto& parameter : evaluator.Parameters())
    {
        const MatrixView gradient = parameter->Gradient();
        for (const size_t element : ChooseElements(gradient.Elements(), options.elementsPerParameter, random))
        {
            const size_t row = element % gradient.rows, column = element / gradient.rows;
            comparisons.push_back({parameter, row, column, Element(gradient, row, column).Get(), 0});
        }
    }
    for (GradientComparison& comparison : comparisons)
    {
        const Element element(comparison.parameter->Values(), comparison.row, comparison.column);
        const double value = element.Get();
        const auto criterionAt = [&](double moved)
        {
            element.Set(moved);
            evaluator.Forward();
            return Ops::ScalarOf(criterion->Value());
        };
        const double above = criterionAt(value + options.step);
        const double below = criterionAt(value - options.step);
        element.Set(value);
        comparison.numeric = (above - below) / (2 * options.step);
    }
    evaluator.Forward();
    evaluator.Backward(criterion);
    return comparisons;
}

void CheckGradients(Evaluator& evaluator, const ComputationNodePtr& criterion, int digits,
                    const GradientCheckOptions& options)
{
    for (const GradientComparison& comparison : CompareGradients(evaluator, criterion, options))
        if (!comparison.AgreesTo(digits))
            Fail(ErrorKind::Internal, "gradient check: the derivative of '", criterion->Name(), "' by element [",
                 comparison.row, ", ", comparison.column, "] of parameter '", comparison.parameter->Name(), "' is ",
                 comparison.backpropagated, " by back-propagation and ", comparison.numeric,
                 " by central differences; expected agreement to ", digits, " digits");
}

} // namespace cntk
