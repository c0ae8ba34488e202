// Computes central differences, one parameter element at a time.
#include "ComputationNetwork/Evaluation/GradientCheck.h"

#include "Common/Error.h"
#include "ComputationNetwork/ComputationNetwork.h"
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

// One element of a matrix in host or device memory.
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

// The criterion with one element moved by the same distance in both directions.
struct Moved
{
    double above = 0, below = 0;
    double by = 0;

    double Difference() const { return (above - below) / (2 * by); }
    // Returns the difference of the slopes above and below. at: the criterion with nothing moved.
    double Bend(double at) const { return (above - 2 * at + below) / by; }
};

Moved Move(Evaluator& evaluator, const ComputationNodePtr& criterion, const GradientComparison& comparison, double by)
{
    const Element element(comparison.parameter->Values(), comparison.row, comparison.column);
    const double value = element.Get();
    const auto criterionAt = [&](double moved)
    {
        element.Set(moved);
        evaluator.Forward();
        return Ops::ScalarOf(criterion->Value());
    };
    Moved moved;
    moved.by = by;
    moved.above = criterionAt(value + by);
    moved.below = criterionAt(value - by);
    element.Set(value);
    return moved;
}

// Returns the possible error of the central difference, a sum of three parts. The first is the third derivative, which
// a larger step shows. The second is the criterion's rounding. The third is half of a kink: the part of the bend that a
// smaller step does not reduce. At a kink, back-propagation gives one of the two slopes or one between them; the
// difference gives the middle.
double DoubtOf(Evaluator& evaluator, const ComputationNodePtr& criterion, const GradientComparison& comparison,
               double step)
{
    constexpr double roundings = 8; // roundings of the criterion, which is a sum
    const Moved near = Move(evaluator, criterion, comparison, step);
    const Moved far = Move(evaluator, criterion, comparison, 2 * step);
    evaluator.Forward();
    const double at = Ops::ScalarOf(criterion->Value());
    const double kink = std::abs(2 * near.Bend(at) - far.Bend(at));
    const double rounding =
        roundings * std::numeric_limits<double>::epsilon() * std::max(std::abs(far.above), std::abs(far.below)) / step;
    const double doubt = std::abs(far.Difference() - comparison.numeric) + kink / 2 + rounding;
    return std::isfinite(doubt) ? doubt : std::numeric_limits<double>::infinity();
}

// Fails for infinite values. A sigmoid hides an infinite input from the criterion, but not from the gradient of the
// weights.
void RequireFiniteLeaves(const ComputationNodePtr& criterion, const std::string& description)
{
    for (const ComputationNodePtr& node : ComputationNetwork::Below({criterion}))
        if (node->Type().traits.isLeaf && !node->HasSparseForm() && node->Value().data != nullptr &&
            Ops::HasNotFinite(node->Value()))
            Fail(ErrorKind::Model, description, ", but '", node->Name(), "' (", node->TypeName(),
                 ") has a value that is no finite number");
}

// Fails for unsuitable labels. The gradients of some criteria are formulas that hold for usual labels only.
void RequireSuitableData(const ComputationNodePtr& criterion, const std::string& description)
{
    for (const ComputationNodePtr& node : ComputationNetwork::Below({criterion}))
        if (const std::string what = node->UnsuitableData(); !what.empty())
            Fail(ErrorKind::Data, description, ", but ", what);
}

// Returns the decimal exponent in the measure of CNTK v1.1.
double MagnitudeOf(const GradientComparison& comparison)
{
    const double smaller = std::min(std::abs(comparison.backpropagated), std::abs(comparison.numeric));
    return smaller > 0 ? std::max(0.0, std::ceil(std::log10(smaller))) : 0.0;
}

} // namespace

double GradientComparison::Disagreement(int digits) const
{
    const double difference = std::abs(backpropagated - numeric) / std::pow(10.0, MagnitudeOf(*this) - digits);
    return std::isfinite(difference) ? difference : std::numeric_limits<double>::infinity();
}

std::string GradientComparison::Describe(const ComputationNode& criterion) const
{
    // Prints enough digits for two values that disagree to look different.
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
        comparison.numeric = Move(evaluator, criterion, comparison, options.step).Difference();
    evaluator.Forward();
    evaluator.Backward(criterion);
    return comparisons;
}

GradientComparison RequireAgreement(Evaluator& evaluator, const ComputationNodePtr& criterion,
                                    const std::vector<GradientComparison>& comparisons, int digits,
                                    const GradientCheckOptions& options)
{
    std::vector<GradientComparison> sorted = comparisons;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [digits](const GradientComparison& a, const GradientComparison& b)
                     { return a.Disagreement(digits) > b.Disagreement(digits); });
    if (sorted.empty() || sorted.front().AgreesTo(digits))
        return sorted.empty() ? GradientComparison() : sorted.front();

    const auto describe = [&](const GradientComparison& comparison)
    {
        return Concat("gradient check: ", comparison.Describe(*criterion), "; expected agreement to ", digits, " digit",
                      digits == 1 ? "" : "s");
    };
    int leastDigits = digits - 1;
    const GradientComparison* leastExact = &sorted.front();
    for (const GradientComparison& comparison : sorted)
    {
        if (comparison.AgreesTo(digits))
            break;
        const double doubt = DoubtOf(evaluator, criterion, comparison, options.step);
        if (!std::isfinite(comparison.backpropagated))
            RequireFiniteLeaves(criterion, describe(comparison));
        if (std::isfinite(comparison.numeric) && !(std::abs(comparison.backpropagated - comparison.numeric) <= doubt))
        {
            RequireSuitableData(criterion, describe(comparison));
            Fail(ErrorKind::Internal, describe(comparison));
        }
        const double exact = std::floor(MagnitudeOf(comparison) - std::log10(doubt));
        if (exact < leastDigits)
        {
            leastDigits = int(std::max(exact, 0.0));
            leastExact = &comparison;
        }
    }
    if (leastDigits < 1)
        Fail(ErrorKind::Model, describe(*leastExact),
             ", but here differences say nothing: the criterion has a kink or "
             "a jump within steps of ",
             2 * options.step, ", or is too large");
    Fail(ErrorKind::Config, describe(*leastExact), ", but here differences are exact to some ", leastDigits,
         leastDigits == 1 ? " digit" : " digits", " only; ask for no more (sigFigs)");
}

GradientComparison CheckGradients(Evaluator& evaluator, const ComputationNodePtr& criterion, int digits,
                                  const GradientCheckOptions& options)
{
    return RequireAgreement(evaluator, criterion, CompareGradients(evaluator, criterion, options), digits, options);
}

} // namespace cntk
