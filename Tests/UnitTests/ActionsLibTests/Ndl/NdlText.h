// Networks from NDL that a test has written, and what is said of faulty ones.
#pragma once

#include "ActionsLib/Ndl/NdlNetworkBuilder.h"
#include "CommonTests/ThrownErrors.h"

#include <memory>
#include <string>

namespace cntk
{

inline std::unique_ptr<ComputationNetwork> BuildFromNdl(const std::string& script, NdlContext* context = nullptr)
{
    return BuildNetworkFromNdlText(script, "net.ndl", DataType::Float64, MakeCpuDevice(), context);
}

inline std::string NdlErrorOf(const std::string& script)
{
    return ReportOf(ErrorKind::Config, [&] { BuildFromNdl(script); });
}

} // namespace cntk
