// Text to syntax tree. Errors are of kind Config, with position and caret.
#pragma once

#include "ActionsLib/Ndl/NdlSyntax.h"
#include "ActionsLib/Ndl/ScriptText.h"

#include <cstddef>
#include <memory>

namespace cntk
{

// A stretch of a text, such as the section of a config file that holds a network. Outer brackets, also several groups
// in a row ("[...] [...]", merged blocks), are taken off.
NdlScript ParseNdl(const ScriptText& text, size_t begin, size_t end);
inline NdlScript ParseNdl(const ScriptText& text)
{
    return ParseNdl(text, 0, text.size());
}
inline NdlScript ParseNdl(std::shared_ptr<const SourceText> text)
{
    return ParseNdl(ScriptText(std::move(text)));
}

} // namespace cntk
