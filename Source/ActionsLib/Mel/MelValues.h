// Values of arguments that no model is needed for: flags, numbers, words. They are read before the first command of a
// run begins, so that a slip in a script behind a long training is told at once, and again where they take effect.
#pragma once

#include "ActionsLib/Mel/MelCommands.h"

#include <cstddef>
#include <vector>

namespace cntk
{

std::vector<const MelArgument*> PositionalArguments(const MelStatement& statement);
// Those that name nodes or models by a name or a pattern.
std::vector<const MelArgument*> NodeArguments(const MelCommandInfo& info, const MelStatement& statement);

// All of the statement, whose arguments are as many as they should be (CheckMelArguments). Each of these functions
// fails (Config) at the argument.
void CheckMelValues(const MelCommandInfo& info, const MelStatement& statement);

void RequireModelFormat(const MelStatement& statement); // format=
bool CopiesValuesOnly(const MelStatement& statement);   // copy=
bool DumpsValues(const MelStatement& statement);        // includeData=
void RequirePattern(const MelArgument& name);           // of nodes: not empty, one star at most
size_t ParseInputNumber(const MelArgument& argument);   // from 0
bool ParseMelFlag(const MelArgument& argument);         // the value of a property
double ParseMultiplier(const MelArgument& argument);    // likewise
bool IsOfParameters(MelProperty property);
// Of a sub-tree there are only properties of parameters.
void RequirePropertyOfSubTree(const MelArgument& property);

} // namespace cntk
