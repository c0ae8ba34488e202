// How a gradient changes a parameter (book 2.3; gradUpdateType of 3.3.1.3). One rule a training; the state of each
// parameter is a matrix that checkpoints store.
#pragma once

#include "Math/Matrix.h"
#include "Math/UpdateFormulas.h"
#include "SGD/TrainingOptions.h"

#include <limits>
#include <memory>
#include <string_view>

namespace cntk
{

constexpr double c_noLimit = std::numeric_limits<double>::infinity();

// One update of one parameter.
struct UpdateStep
{
    double rate = 0;     // per sample, the parameter's multiplier included
    double momentum = 0; // for the columns of this minibatch
    size_t columns = 0;  // of the minibatch, gaps included
    // What happens to the gradient before and to the parameter after, in the same pass.
    UpdateExtras<double> extras = {};
    double normLimit = c_noLimit; // of the gradient
    double noiseDeviation = 0;    // noise, as UpdateCall has it
    NoiseDraw noise = {};
    MatrixView stop = {}; // as UpdateCall has it

    bool HasExtras() const;
};

inline constexpr std::string_view c_fsAdagradName = "fsAdagrad"; // of the rule, in checkpoints

class UpdateRule
{
public:
    virtual ~UpdateRule() = default;

    // parameter -= ...; state is what this rule remembers of the parameter: parameter-sized zeros at first, taken as
    // they are from a checkpoint later. touched: only these columns of the gradient are not zero; null: all count. The
    // gradient is spent: its memory may be used for other values.
    virtual void Step(const MatrixView& parameter, Matrix& state, const MatrixView& gradient,
                      const TouchedColumns* touched, const UpdateStep& step) = 0;

    // The value of gradUpdateType: checkpoints say whose states they hold.
    virtual const char* Name() const = 0;

    // Columns of the state for a parameter of so many columns, once updates have begun.
    virtual size_t StateColumns(size_t parameterColumns) const { return parameterColumns; }

    // Whether steps of touched columns are AdaGrad's, with its state.
    virtual bool LeavesSparseToAdaGrad() const { return false; }

    // Before the steps of a minibatch.
    virtual void BeginUpdate(double /*momentum*/) {}

    // What the rule remembers besides the matrices (a running count); checkpoints keep it.
    virtual double FirstCounter() const { return 0; }
    virtual double Counter() const { return 0; }
    virtual void SetCounter(double) {}
    virtual double SecondCounter() const { return 0; }
    virtual void SetSecondCounter(double) {}
};

// fsAdagradColumns: the mean size of a minibatch with which FSAdaGrad begins.
std::unique_ptr<UpdateRule> MakeUpdateRule(const SgdOptions& options, double fsAdagradColumns = 0);

} // namespace cntk
