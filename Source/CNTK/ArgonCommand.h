// The command line of the decoder (book 6.1.3): cntk argon -graph word.dg -lm word.arpa ..., or a program named argon.
#pragma once

#include <string>
#include <vector>

namespace cntk
{

// True for "cntk argon ..." and for a program whose file is named argon. arguments: with the program's name.
bool IsArgonCommand(const std::vector<std::string>& arguments);

// Returns the arguments for the program without argon: options of the program itself (--help, --check, ...), and a
// config with one command of action=decode. Names compare without case, '-' and '_'; "-name=value" and "--name" are
// taken as well; a Boolean without a value is true. Fails (Usage) for unknown options, with the nearest name, and for
// missing values.
std::vector<std::string> ConfigArgumentsOf(const std::vector<std::string>& arguments);

} // namespace cntk
