// Script files of HTKMLFReader and HTKMLFWriter as far as cntk --check must know what they list before a reader opens
// them: files that an earlier command of the run will have written by then.
#pragma once

#include <functional>
#include <string>

namespace cntk
{

class ConfigParameters;

// Is told a path and the line that names it, "train.scp:3"; true: that is enough.
using ScriptVisitor = std::function<bool(const std::string& path, const std::string& where)>;

// A reader may put paths behind a folder (prefixPathInSCP, ...), with which they are told; a writer takes them as they
// stand.
enum class ScriptsOf
{
    Reader,
    Writer
};
// The files in the script files that the block's streams name, those that are not there passed over.
void VisitScripts(const ConfigParameters& block, ScriptsOf whose, const ScriptVisitor& visit);

} // namespace cntk
