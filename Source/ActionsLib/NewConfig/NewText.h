// A text of the user, from which a language model learns.
#pragma once

#include "ActionsLib/NewConfig/NewConfig.h"

#include <string>
#include <string_view>

namespace cntk
{

std::string WriteTextConfig(const NewConfigRequest& request, std::string_view text);

} // namespace cntk
