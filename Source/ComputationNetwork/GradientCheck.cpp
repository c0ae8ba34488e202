// Central differences, one parameter element at a time.
#include "ComputationNetwork/GradientCheck.h"

#include "Common/Error.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "Math/Operations.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
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

double GradientComparison::Disagreement(int digits) const
{
    const double smaller = std::min(std::abs(backpropagated), std::abs(numeric));
    const double magnitude = smaller > 0 ? std::max(0.0, std::ceil(std::log10(smaller))) : 0.0;
    const double difference = std::abs(backpropagated - numeric) / std::pow(10.0, magnitude - digits);
    return std::isfinite(difference) ? difference : std::numeric_limits<double>::infinity();
}

std::string GradientComparison::Describe(const ComputationNode& criterion) const
{
    // All digits that a difference can have: two numbers that disagree should look different.
    char numbers[128];
    std::snprintf(numbers, sizeof numbers, "%.10g by back-propagation and %.10g by central differences", backpropagated,
                  numeric);
    return Concat("the derivative of '", criterion.Name(), "' by element [", row, ", ", column, "] of parameter '",
                  parameter->Name(), "' is ", numbers);
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

void RequireAgreement(const GradientComparison& worst, const ComputationNode& criterion, int digits)
{
    if (!worst.AgreesTo(digits))
        Fail(ErrorKind::Internal, "gradient check: ", worst.Describe(criterion), "; expected agreement to ", digits,
             " digits");
}

GradientComparison CheckGradients(Evaluator& evaluator, const ComputationNodePtr& criterion, int digits,
                                  const GradientCheckOptions& options)
{
    const std::vector<GradientComparison> comparisons = CompareGradients(evaluator, criterion, options);
    const auto worst = std::max_element(comparisons.begin(), comparisons.end(),
                                        [&](const GradientComparison& a, const GradientComparison& b)
                                        { return a.Disagreement(digits) < b.Disagreement(digits); });
    if (worst == comparisons.end())
        return {};
    RequireAgreement(*worst, *criterion, digits);
    return *worst;
}

} // namespace cntk
