// The text files of the write action (book 3.5.5; format=[...] of v1.1): one file per output node, one line per sample.
#pragma once

#include "Common/Config/Options.h"
#include "Common/File.h"
#include "Common/Log.h"
#include "Common/MBLayout.h"
#include "Math/TensorView.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cntk
{

// The format block of the write action.
struct OutputFormat
{
    enum class Type
    {
        Real,
        Category,
        Sparse
    };
    Type type = Type::Real;
    std::string labelMappingFile;
    SourcePos labelMappingWhere;
    bool transpose = true;
    std::string prologue;
    std::string epilogue;
    std::string sequenceSeparator;
    std::string sequencePrologue;
    std::string sequenceEpilogue = "\\n";
    std::string elementSeparator = " ";
    std::string sampleSeparator = "\\n";
    std::string precisionFormat;

    static const OptionTable<OutputFormat>& Options();
};

// Fails (Config) for a malformed precisionFormat.
OutputFormat ReadOutputFormat(const ConfigParameters& block);
// The labels of the mapping file, one per line; empty without such a file. Fails (Data) for a file that is missing,
// empty, or no text.
std::vector<std::string> ReadOutputLabels(const OutputFormat& format);

// Writes the values of one node, minibatch after minibatch. Commit() replaces an older file; an error before keeps it.
class TextOutput
{
public:
    // path "-": standard output.
    TextOutput(const std::string& path, std::string nodeName, const OutputFormat& format, Log& log);

    // values: sampleShape.Elements() x columns, column-major. Without a layout (a parameter, a mean) the matrix is one
    // sample. Gaps are skipped; samples of a sequence are on consecutive lines.
    void Write(std::span<const double> values, const TensorShape& sampleShape, const MBLayout* layout);
    // Writes the buffered text and then `text`: outputs that share standard output take turns.
    void PutThrough(std::string_view text = {});
    // Completes the text on the disk under a temporary name.
    void Stage();
    void Commit() { m_file.Commit(); }

private:
    void WriteSequence(std::span<const double> values, const TensorShape& sampleShape,
                       const std::vector<size_t>& columns, size_t sequenceId);
    void WriteSparseSequence(std::span<const double> values, const TensorShape& sampleShape,
                             const std::vector<size_t>& columns, size_t sequenceId);
    void AppendNumber(double value);
    void AppendCategory(std::span<const double> column);
    void AppendSeparator(const std::string& separator, const TensorShape& sampleShape, size_t timeSteps,
                         size_t sequenceId);
    bool UseLabels(size_t dimension);
    void Flush();

    AtomicFile m_file;
    std::string m_nodeName;
    OutputFormat m_format;
    Log& m_log;
    std::vector<std::string> m_labels;
    std::string m_numberFormat; // "%f", "%.2f"
    std::string m_indexFormat;  // "%zu", "%3zu"
    std::string m_labelFormat;  // "%s", "%-8s"
    std::string m_text;         // not yet written
    size_t m_minibatch = 0;
    size_t m_labelWarnings = 0;
};

} // namespace cntk
