// A folder of the user with one sub-folder of images a class.
#pragma once

#include "ActionsLib/NewConfig/NewConfig.h"

#include <string>

namespace cntk
{

std::string WriteImageConfig(const NewConfigRequest& request);

} // namespace cntk
