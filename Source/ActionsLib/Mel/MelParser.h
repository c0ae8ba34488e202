// Text to syntax tree. Errors are of kind Config, with position and caret.
#pragma once

#include "ActionsLib/Mel/MelSyntax.h"

#include <functional>
#include <memory>
#include <string_view>

namespace cntk
{

// isModelCommand: whether a name is that of a command (possibly abbreviated) that may stand behind "model =".
MelScript ParseMel(ScriptText text, const std::function<bool(std::string_view)>& isModelCommand);

} // namespace cntk
