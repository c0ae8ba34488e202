// Update rules with any shape, threads and touched columns.
#include "Math/UpdateRules.h"
#include "MathTests/KernelCases.h"

#include <vector>

namespace cntk
{

namespace
{

UpdateCall CallOf(UpdateFormula formula)
{
    UpdateCall call;
    call.formula = formula;
    call.constants = {.momentum = 0.9,
                      .gain = 0.1,
                      .keep = 0.7,
                      .squareGain = 0.3,
                      .floor = 1e-3,
                      .scale = 0.5,
                      .most = 1.5,
                      .least = 0.2,
                      .grow = 1.2,
                      .shrink = 0.75};
    call.rate = 0.05;
    return call;
}

// Mean squares and steps are not negative; a rule's other state may be.
void Update(KernelCaseRun& run, const UpdateCall& call, size_t rows, size_t columns, size_t pad = 0)
{
    std::vector<MatrixView> states;
    for (size_t i = 0; i < StatesOf(call.formula); ++i)
    {
        states.push_back(run.Output(rows, columns, pad));
        Ops::Elementwise(ElementwiseOp::Abs, TensorView(states.back()), TensorView(states.back()));
    }
    Ops::UpdateParameter(call, run.Output(rows, columns, pad), states, run.Output(rows, columns, pad));
}

} // namespace

std::vector<KernelCase> UpdateCases()
{
    std::vector<KernelCase> cases;
    for (size_t i = 0; i < c_updateFormulas; ++i)
    {
        const auto formula = UpdateFormula(i);
        const std::string name = NameOf(formula);
        cases.push_back({"Update" + name, [formula](KernelCaseRun& run)
                         {
                             UpdateCall call = CallOf(formula);
                             for (const bool extras : {false, true})
                             {
                                 if (extras)
                                 {
                                     call.extras = {
                                         .gradientScale = 0.5, .gradientLimit = 0.8, .decay = 0.1, .shrinkage = 0.01};
                                     call.noiseDeviation = 0.1;
                                     call.noise = {0x123456789abcdef, 0xfedcba987654321};
                                 }
                                 Update(run, call, 7, 5);
                                 Update(run, call, 50, 25, 3);
                                 Update(run, call, 301, 503);
                             }
                         }});
        cases.push_back({"Update" + name + "OfTouchedColumns", [formula](KernelCaseRun& run)
                         {
                             UpdateCall call = CallOf(formula);
                             TouchedColumns touched;
                             call.touched = &touched;
                             Update(run, call, 9, 20);
                             touched.columns = {0, 3, 4, 19};
                             Update(run, call, 9, 20);
                             call.normalizes = HasMultipliers(formula);
                             Update(run, call, 9, 20);
                             call.noiseDeviation = 0.1;
                             Update(run, call, 9, 20);
                             touched.all = true;
                             Update(run, call, 9, 20);
                         }});
        cases.push_back({"Update" + name + "OfLimitedNorm", [formula](KernelCaseRun& run)
                         {
                             UpdateCall call = CallOf(formula);
                             for (const double limit : {0.5, 5.0, 1e5})
                             {
                                 call.normLimit = limit;
                                 Update(run, call, 7, 5);
                                 Update(run, call, 50, 25, 3);
                                 call.normalizes = HasMultipliers(formula);
                                 Update(run, call, 301, 503);
                             }
                         }});
        cases.push_back({"Update" + name + "Stopped", [formula](KernelCaseRun& run)
                         {
                             UpdateCall call = CallOf(formula);
                             call.normLimit = 1;
                             for (const double stop : {0, 3})
                             {
                                 const Matrix flag(1, 1, DataType::Float64, run.GetDevice());
                                 Ops::Fill(flag, stop);
                                 call.stop = flag;
                                 Update(run, call, 50, 25);
                                 call.normalizes = HasMultipliers(formula);
                                 Update(run, call, 50, 25, 1);
                             }
                         }});
        if (!HasMultipliers(formula))
            continue;
        cases.push_back({"Update" + name + "Normalized", [formula](KernelCaseRun& run)
                         {
                             UpdateCall call = CallOf(formula);
                             call.normalizes = true;
                             Update(run, call, 7, 5);
                             Update(run, call, 50, 25, 3);
                             call.extras = {.gradientScale = 0.5, .gradientLimit = 0.8, .decay = 0.1, .shrinkage = 0};
                             Update(run, call, 301, 503);
                         }});
    }
    return cases;
}

} // namespace cntk
