// The boundary between the program and a writer library (book 3.4): GetWriterF and GetWriterD.
#pragma once

#include "Common/ReaderInterface.h"

#include <map>
#include <string>
#include <vector>

namespace cntk
{

// Making one reads and checks what it needs, and writes nothing: --check does that, too.
template <class ElemType>
class IDataWriter
{
public:
    virtual ~IDataWriter() = default;

    // Names of the output nodes that the writer's block asks for.
    virtual std::vector<std::string> OutputNames() const = 0;

    // Before anything is computed, and by --check: fails where outputs of so many rows (by name; those not listed are
    // known when they come) or so many sequences (0: not known) cannot be written.
    virtual void RequireFit(const std::map<std::string, size_t>& /*rows*/, size_t /*sequences*/) const {}

    // Saves the values of one minibatch, by output name. Labels of category outputs come through labelNames.
    virtual void SaveMinibatch(const std::map<std::string, StreamBatch<ElemType>>& outputs,
                               const std::vector<std::string>& sequenceKeys) = 0;

    // All data were given: puts the files under their final names.
    virtual void Finish() = 0;
};

using GetWriterFunctionF = void (*)(std::unique_ptr<IDataWriter<float>>& writer, const ReaderContext& context);
using GetWriterFunctionD = void (*)(std::unique_ptr<IDataWriter<double>>& writer, const ReaderContext& context);

} // namespace cntk
