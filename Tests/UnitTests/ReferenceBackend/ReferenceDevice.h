// A second backend of naive loops. The kernel tests run on it and on the real backends, which shows that nothing above
// the backend interface depends on the backend.
#pragma once

#include "Math/Device.h"

#include <memory>

namespace cntk
{

std::shared_ptr<Device> MakeReferenceDevice();

} // namespace cntk
