// Compares back-propagated gradients with central differences: for tests, and for gradientCheck=true (book 3.3.1.6).
// For networks in double, without dropout.
#pragma once

#include "ComputationNetwork/Evaluation/Evaluator.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cntk
{

class LearnableParameterNode;

struct GradientCheckOptions
{
    size_t elementsPerParameter = 50; // chosen at random if a parameter has more
    double step = 1e-5;
    uint64_t seed = 1;
};

// One element of a parameter: its derivative by both methods.
struct GradientComparison
{
    std::shared_ptr<LearnableParameterNode> parameter;
    size_t row = 0, column = 0;
    double backpropagated = 0;
    double numeric = 0;

    // Same measure as CNTK v1.1: the difference is below 10^(max(0, ceil(log10(smaller magnitude))) - digits).
    bool AgreesTo(int digits) const { return !(Disagreement(digits) >= 1); }
    // Returns the difference as a multiple of the difference that agreement to this number of digits allows.
    double Disagreement(int digits) const;
    // "the derivative of 'ce' by element [0, 2] of parameter 'W' is 1.5 by back-propagation and 1.4 by central
    // differences"
    std::string Describe(const ComputationNode& criterion) const;
};

// Compares gradients on the inputs' current minibatch. Afterwards values and gradients are those of an ordinary Forward
// and Backward.
std::vector<GradientComparison> CompareGradients(Evaluator& evaluator, const ComputationNodePtr& criterion,
                                                 const GradientCheckOptions& options = {});
// Returns the comparison that disagrees most (an empty one if there is none). If it exceeds the limit, fails with
// parameter, place and both values. The error kind is Internal for a wrong gradient, Data if the labels violate the
// criterion's assumptions (UnsuitableData), Config if more digits are requested than central differences have, Model if
// the criterion has no derivative (a kink or a jump).
GradientComparison RequireAgreement(Evaluator& evaluator, const ComputationNodePtr& criterion,
                                    const std::vector<GradientComparison>& comparisons, int digits,
                                    const GradientCheckOptions& options = {});
// Runs CompareGradients, then RequireAgreement.
GradientComparison CheckGradients(Evaluator& evaluator, const ComputationNodePtr& criterion, int digits,
                                  const GradientCheckOptions& options = {});

} // namespace cntk
