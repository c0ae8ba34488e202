// Back-propagated gradients against central differences: for tests, and for gradientCheck=true (book
// 3.3.1.6). For networks in double, without dropout.
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
    size_t elementsPerParameter = 50; // chosen at random where a parameter has more
    double step = 1e-5;
    uint64_t seed = 1;
};

// One element of a parameter, both ways.
struct GradientComparison
{
    std::shared_ptr<LearnableParameterNode> parameter;
    size_t row = 0, column = 0;
    double backpropagated = 0;
    double numeric = 0;

    // The original's measure: the difference is below 10^(max(0, ceil(log10(smaller magnitude))) - digits).
    bool AgreesTo(int digits) const { return !(Disagreement(digits) >= 1); }
    // The difference as a multiple of what agreement to so many digits allows.
    double Disagreement(int digits) const;
    // "the derivative of 'ce' by element [0, 2] of parameter 'W' is 1.5 by back-propagation and 1.4 by central
    // differences"
    std::string Describe(const ComputationNode& criterion) const;
};

// On the minibatch that the inputs hold. Afterwards values and gradients are those of an ordinary Forward and Backward.
std::vector<GradientComparison> CompareGradients(Evaluator& evaluator, const ComputationNodePtr& criterion,
                                                 const GradientCheckOptions& options = {});
// Returns the comparison that disagrees most (an empty one where there is none); fails when it does not agree, naming
// parameter, place and both numbers: Internal where a gradient is wrong, Data where the criterion's formula is not for
// such labels (UnsuitableData), Config where more digits are asked for than central differences have, Model where they
// have none (a kink or a jump of the criterion).
GradientComparison RequireAgreement(Evaluator& evaluator, const ComputationNodePtr& criterion,
                                    const std::vector<GradientComparison>& comparisons, int digits,
                                    const GradientCheckOptions& options = {});
// Both.
GradientComparison CheckGradients(Evaluator& evaluator, const ComputationNodePtr& criterion, int digits,
                                  const GradientCheckOptions& options = {});

} // namespace cntk
