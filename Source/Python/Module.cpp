// The module cntk._cntk.
#include "Python/State.h"

PYBIND11_MODULE(_cntk, module)
{
    using namespace cntk::Python;
    const auto state = std::make_shared<State>();
    module.attr("__version__") = CNTK_VERSION;
    BindErrors(module);
    BindAxis(module);
    BindFunction(module, state);
    BindLeaves(module, state);
    BindOperations(module, state);
    BindEvaluation(module, state);
    BindModel(module, state);
    BindReader(module, state);
    BindTrainer(module, state);
    BindContexts(module, state);
    BindUserFunctions(module, state);
    BindDevices(module, state);
}
