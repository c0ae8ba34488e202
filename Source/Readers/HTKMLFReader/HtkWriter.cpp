// Writes files of kind USER, big-endian, 10 ms a vector.
#include "Readers/HTKMLFReader/HtkWriter.h"

#include "Common/DataFile.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/FileClashes.h"
#include "Common/Htk/HtkFile.h"
#include "Common/Htk/ScpFile.h"
#include "Common/Log.h"
#include "Common/Text.h"
#include "Readers/ReaderLib/OutputColumns.h"
#include "Readers/ReaderLib/ReaderOptions.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <sys/stat.h>
#include <unordered_map>

namespace cntk
{
namespace
{

constexpr size_t c_mostDimension = INT16_MAX / sizeof(float); // 16 bits count the bytes of a vector

std::vector<std::string> ReadOutputList(const std::string& path)
{
    std::vector<std::string> files;
    LineReader lines(path, "output script file");
    std::string_view line;
    while (lines.Next(line))
        files.emplace_back(Trim(line));
    while (!files.empty() && files.back().empty())
        files.pop_back();
    for (size_t i = 0; i < files.size(); ++i)
        if (files[i].empty())
            Fail(ErrorKind::Data, path, ":", i + 1, ": the line is blank, expected the name of an output file");
    return files;
}

} // namespace

OptionTable<HtkOutputOptions> HtkOutputOptions::Options()
{
    using S = HtkOutputOptions;
    return {
        Opt("dim", &S::dim, "Required. Elements of a vector", Range{1, double(c_mostDimension)}).Required(),
        Opt("scpFile", &S::scpFile,
            "Script file with the name of one output file a line, as many as inputs. A file appears under its name "
            "when it is complete")
            .Here(),
        Opt("file", &S::file, "Same as scpFile").Here(),
        Opt("type", &S::type, "real"),
    };
}

OptionTable<HtkWriterOptions> HtkWriterOptions::Options()
{
    using S = HtkWriterOptions;
    return {
        Opt("outputNodeNames", &S::outputNodeNames, "Required. The nodes to write; each has a block of its name")
            .Required(),
        Opt("verbosity", &S::verbosity, "Amount of printing; 0 prints nothing"),
    };
}

template <class ElemType>
HtkWriter<ElemType>::HtkWriter(const ReaderContext& context) : m_log(context.log)
{
    const ConfigParameters& config = context.config;
    const auto options = ReadOptions<HtkWriterOptions>(config);
    m_verbosity = options.verbosity;
    for (const std::string& name : options.outputNodeNames)
    {
        const ConfigParameters& block = RequireOutputBlock(config, name);
        const auto output = ReadOptions<HtkOutputOptions>(block);
        const std::string& list = output.file.empty() ? output.scpFile : output.file;
        if (list.empty())
            FailAt(block.Where(), ErrorKind::Config, "the writer's block '", name,
                   "' needs scpFile, a file with the name of one output file a line");
        if (!EqualsIgnoreCase(output.type, "real"))
            FailAt(block.WhereOf("type"), ErrorKind::Config, "the type of output '", name, "' is '", output.type,
                   "', expected Real");
        const SourcePos listWhere = block.WhereOf(output.file.empty() ? "scpFile" : "file");
        m_outputs.push_back({name, output.dim, block.WhereOf("dim"), list, listWhere,
                             WithPosition(listWhere, [&] { return ReadOutputList(list); })});
        const Output& first = m_outputs.front();
        const Output& last = m_outputs.back();
        if (first.files.size() != last.files.size())
            FailAt(listWhere, ErrorKind::Data, "output script file '", last.scpPath, "' of '", name, "' has ",
                   Counted(last.files.size(), "entry"), ", but '", first.scpPath, "' of '", first.name, "' has ",
                   first.files.size());
        if (m_verbosity > 0)
            m_log.Print("HTKMLFWriter::Init: reading output script file %s ... %zu entries\n", list.c_str(),
                        last.files.size());
    }
    RequireDistinctFiles();
    RequireNothingRead(context);
}

// Refuses to overwrite files that the command reads. A copy of the features' script file whose paths were not changed
// would overwrite the features. Files that the command itself names, such as its model and these script files, are
// refused too.
template <class ElemType>
void HtkWriter<ElemType>::RequireNothingRead(const ReaderContext& context) const
{
    ListedFiles read = context.listed != nullptr ? *context.listed : ListedFiles();
    if (const ConfigParameters* const command = context.config.Parent())
        read.Add(
            [command](const ListedFileVisitor& visit)
            {
                for (const NamedFile& file : FilesNamedIn(*command))
                    visit(file.path, file.key);
            });
    for (const Output& output : m_outputs)
        for (size_t i = 0; i < output.files.size(); ++i)
            if (const std::string why = read.WhyRead(output.files[i]); !why.empty())
                Fail(ErrorKind::Config, output.scpPath, ":", i + 1, ": the output would overwrite '", output.files[i],
                     "', which is ", why, "; expected another file");
}

// Refuses a file that is listed for two utterances: only the last one would remain. Compares resolved folders.
template <class ElemType>
void HtkWriter<ElemType>::RequireDistinctFiles() const
{
    std::unordered_map<std::string, std::string> folders; // listed folder -> resolved folder
    const auto pathOf = [&folders](const std::string& written)
    {
        const std::filesystem::path path(ResolveOutputPath(written));
        const auto [folder, isNew] = folders.try_emplace(path.parent_path().string());
        std::error_code error;
        if (isNew)
            folder->second =
                std::filesystem::weakly_canonical(std::filesystem::absolute(path).parent_path() / "file", error)
                    .parent_path()
                    .string();
        return folder->second + "/" + path.filename().string();
    };
    std::unordered_map<std::string, std::pair<const Output*, size_t>> places;
    for (const Output& output : m_outputs)
        for (size_t i = 0; i < output.files.size(); ++i)
        {
            const auto [place, isNew] = places.try_emplace(pathOf(output.files[i]), &output, i);
            if (!isNew)
                Fail(ErrorKind::Data, output.scpPath, ":", i + 1, ": file '", output.files[i], "' is the output of ",
                     place->second.first->scpPath, ":", place->second.second + 1, " already");
        }
}

template <class ElemType>
std::vector<std::string> HtkWriter<ElemType>::OutputNames() const
{
    std::vector<std::string> names;
    for (const Output& output : m_outputs)
        names.push_back(output.name);
    return names;
}

template <class ElemType>
void HtkWriter<ElemType>::RequireRows(const Output& output, size_t rows)
{
    if (rows != output.rows)
        FailAt(output.rowsWhere, ErrorKind::Config, "node '", output.name, "' has ", Counted(rows, "element"),
               ", but its block in the writer says dim=", output.rows);
}

template <class ElemType>
void HtkWriter<ElemType>::RequireFit(const std::map<std::string, size_t>& rows, size_t sequences) const
{
    for (const Output& output : m_outputs)
    {
        if (const size_t* const rowsOfNode = FindOutput(rows, output.name))
            RequireRows(output, *rowsOfNode);
        if (output.files.size() < sequences)
            FailAt(output.scpWhere, ErrorKind::Data, "output script file '", output.scpPath, "' has ",
                   Counted(output.files.size(), "entry"), ", but there are ", sequences,
                   " utterances; expected a file for each");
    }
}

template <class ElemType>
void HtkWriter<ElemType>::SaveMinibatch(const std::map<std::string, StreamBatch<ElemType>>& outputs,
                                        const std::vector<std::string>& sequenceKeys)
{
    for (const Output& output : m_outputs)
    {
        const StreamBatch<ElemType>* const values = FindOutput(outputs, output.name);
        if (values == nullptr)
            Fail(ErrorKind::Config, "the writer has a block for '", output.name,
                 "', but that node is not written; add it to the outputNodeNames of the command");
        RequireRows(output, values->rows);
        if (values->layout && values->layout->ParallelSequences() > 1)
            Fail(ErrorKind::Config, "HTKMLFWriter writes one utterance a minibatch, but this one has ",
                 values->layout->ParallelSequences(), "; the reader must be an HTKMLFReader");
        if (m_written >= output.files.size())
            Fail(ErrorKind::Data, "output script file '", output.scpPath, "' has ",
                 Counted(output.files.size(), "entry"), ", but there are more utterances",
                 sequenceKeys.empty() ? "" : "; the first without a name is '" + sequenceKeys[0] + "'");
        try
        {
            WriteFile(output, *values);
        }
        catch (const Error& error)
        {
            const std::string utterance = sequenceKeys.empty() ? "" : "utterance '" + sequenceKeys[0] + "': ";
            Fail(error.Kind(), output.scpPath, ":", m_written + 1, ": ", utterance, error.Message());
        }
    }
    ++m_written;
}

template <class ElemType>
void HtkWriter<ElemType>::WriteFile(const Output& output, const StreamBatch<ElemType>& values)
{
    const std::string path = ResolveOutputPath(output.files[m_written]);
    if (m_verbosity > 0)
        m_log.Print("evaluate: writing %zu frames of %s\n", values.columns, path.c_str());
    const size_t elements = values.rows * values.columns;
    m_buffer.resize(elements);
    size_t bad = 0;
    for (size_t i = 0; i < elements; ++i)
    {
        const float value = float(values.values[i]);
        bad += std::isfinite(value) ? 0 : 1;
        m_buffer[i] = __builtin_bswap32(std::bit_cast<uint32_t>(value));
    }
    if (bad > 0)
        m_log.Print("chunkeval: %zu NaNs or INF detected in '%s' (%zu frames)\n", bad, path.c_str(), values.columns);
    const auto header = MakeHtkHeader(values.columns, values.rows);
    AtomicFile file(path);
    file.Write(header.data(), header.size());
    file.Write(m_buffer.data(), elements * sizeof(uint32_t));
    file.Commit();
}

template <class ElemType>
void HtkWriter<ElemType>::Finish()
{
    for (const Output& output : m_outputs)
        if (m_written < output.files.size())
            m_log.Warn(Concat("HTKMLFWriter: output script file '", output.scpPath, "' has ",
                              Counted(output.files.size(), "entry"), ", but only ", Counted(m_written, "utterance"),
                              m_written == 1 ? " was written" : " were written"));
}

template <class ElemType>
std::unique_ptr<IDataWriter<ElemType>> MakeHtkWriter(const ReaderContext& context)
{
    return std::make_unique<HtkWriter<ElemType>>(context);
}

template class HtkWriter<float>;
template class HtkWriter<double>;
template std::unique_ptr<IDataWriter<float>> MakeHtkWriter<float>(const ReaderContext&);
template std::unique_ptr<IDataWriter<double>> MakeHtkWriter<double>(const ReaderContext&);

} // namespace cntk
