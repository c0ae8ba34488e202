// Models that other commands make for a training to begin with: modelPath.0 of an edit that adds a layer, as the book's
// discriminative pre-training has it (7.1.5). The builder is there since a training needs one, and nobody expects what
// it describes.
#pragma once

#include "ActionsLib/Action.h"

#include <string>

namespace cntk
{

// Whether a command of this run makes the model that the training of modelPath begins with.
bool IsModelMade(const CommandContext& training, const std::string& modelPath);

// Whether one seems to have made it that is not run now, since somebody runs the commands of a config one by one: the
// block of an edit, SVD or convertdbn command names modelPath.0, or the script of an edit does.
bool WasModelMade(const CommandContext& training, const std::string& modelPath);

} // namespace cntk
