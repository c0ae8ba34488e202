// HTKMLFWriter: each minibatch (an utterance) becomes one HTK file for each output, named by a line of its script file.
#pragma once

#include "Common/Config/Options.h"
#include "Common/ReaderInterface.h"
#include "Common/SourceText.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cntk
{

class Log;

struct HtkOutputOptions
{
    size_t dim = 0;
    std::string file;
    std::string scpFile;
    std::string type = "real";

    static OptionTable<HtkOutputOptions> Options();
};

struct HtkWriterOptions
{
    std::vector<std::string> outputNodeNames;
    int verbosity = 2;

    static OptionTable<HtkWriterOptions> Options();
};

template <class ElemType>
class HtkWriter final : public IDataWriter<ElemType>
{
public:
    explicit HtkWriter(const ReaderContext& context);

    std::vector<std::string> OutputNames() const override;
    void RequireFit(const std::map<std::string, size_t>& rows, size_t sequences) const override;
    void SaveMinibatch(const std::map<std::string, StreamBatch<ElemType>>& outputs,
                       const std::vector<std::string>& sequenceKeys) override;
    void Finish() override;

private:
    struct Output
    {
        std::string name;
        size_t rows = 0;
        SourcePos rowsWhere;
        std::string scpPath;
        SourcePos scpWhere;
        std::vector<std::string> files;
    };

    static void RequireRows(const Output& output, size_t rows);
    void RequireNothingRead(const ReaderContext& context) const;
    void RequireDistinctFiles() const;
    void WriteFile(const Output& output, const StreamBatch<ElemType>& values);

    Log& m_log;
    int m_verbosity = 0;
    std::vector<Output> m_outputs;
    size_t m_written = 0; // minibatches
    std::vector<uint32_t> m_buffer;
};

template <class ElemType>
std::unique_ptr<IDataWriter<ElemType>> MakeHtkWriter(const ReaderContext& context);

} // namespace cntk
