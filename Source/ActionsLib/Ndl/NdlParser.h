// Text to syntax tree. Errors are of kind Config, with position and caret.
#pragma once

#include "ActionsLib/Ndl/NdlSyntax.h"
#include "Common/SourceText.h"

#include <cstddef>
#include <memory>

namespace cntk
{

// A stretch of a text, such as the section of a config file that holds a network. Outer brackets, also several groups
// in a row ("[...] [...]", merged blocks), are taken off.
NdlScript ParseNdl(std::shared_ptr<const SourceText> text, size_t begin, size_t end);
inline NdlScript ParseNdl(std::shared_ptr<const SourceText> text)
{
    const size_t end = text->Text().size();
    return ParseNdl(std::move(text), 0, end);
}

} // namespace cntk
