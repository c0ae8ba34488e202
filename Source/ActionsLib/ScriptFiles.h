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

// The files in the script files that the block's streams name, those that are not there passed over. A path that the
// reader would put behind a folder (prefixPathInSCP, ...) is told with it; a writer takes it as it stands.
void VisitScripts(const ConfigParameters& block, const ScriptVisitor& visit);

} // namespace cntk
