// Which models a script names, as far as that can be seen without executing it.
#pragma once

#include "ActionsLib/Mel/MelSyntax.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace cntk
{

// The place of the first statement from `first` on that names the model, or that works on the default one while it is
// that; nothing if there is none before the model is unloaded or another one takes its name. names: of all models that
// there are so far.
std::optional<SourcePos> NextUseOfModel(const MelScript& script, size_t first, const std::string& model, bool isDefault,
                                        std::vector<std::string> names);

// Follows the models that the statements make and unload. Fails (Config) at a command for a model that is not there
// then, and at in-line NDL where there is none at all. names: of the models in front of the script, and afterwards
// behind it.
void CheckModelNames(const MelScript& script, std::vector<std::string>& names);
[[noreturn]] void FailNoModel(const MelArgument& argument, const std::vector<std::string>& names);
// function: what in-line NDL calls there; the command that makes a model may be meant.
[[noreturn]] void FailNoDefaultModel(const SourcePos& where, const std::string& function);

// The model that the name of a node or model, or a pattern, begins with: the shortest beginning in front of a '.', a
// '*', or the end, that is one of the names, in any case. Empty: none, so it is of the default model.
std::string ModelNamedBy(const std::string& text, const std::vector<std::string>& names);

} // namespace cntk
