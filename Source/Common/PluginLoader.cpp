// Plugin search, the interface check, and what to say when a plugin is not there or does not load.
#include "Common/PluginLoader.h"

#include "Common/CompositeOrder.h"
#include "Common/CompositeReader.h"
#include "Common/Config/ConfigParameters.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Log.h"
#include "Common/TemporaryFiles.h"
#include "Common/Text.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <optional>
#include <type_traits>

namespace cntk
{
namespace
{

namespace fs = std::filesystem;

constexpr const char* c_suffix = ".so";

// Writers live in the library of their reader; what the later one of two readers could do the other can.
struct Alias
{
    const char* name;
    const char* library;
};
constexpr Alias c_aliases[] = {{"HTKMLFWriter", "HTKMLFReader"},         {"BinaryWriter", "BinaryReader"},
                               {"LMSequenceWriter", "LMSequenceReader"}, {"LUSequenceWriter", "LUSequenceReader"},
                               {"KaldiWriter", "KaldiReader"},           {"ExperimentalHTKMLFReader", "HTKMLFReader"}};

std::string ResolveAlias(const std::string& type)
{
    for (const Alias& alias : c_aliases)
    {
        if (EqualsIgnoreCase(type, alias.name))
            return alias.library;
    }
    return type;
}

std::string ProgramFolder()
{
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    return error ? std::string(".") : program.parent_path().string();
}

// Names of the plugin files of a folder. Folders of LD_LIBRARY_PATH hold any library, so there a name must look like
// ours.
std::vector<std::string> PluginFilesIn(const std::string& folder, bool anyName)
{
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    {
        const fs::path& path = entry->path();
        std::string name = path.stem().string();
        const bool looksLikeOurs = name.find("Reader") != std::string::npos || name.find("Writer") != std::string::npos;
        if (path.extension() == c_suffix && name.rfind("lib", 0) != 0 && (anyName || looksLikeOurs))
            names.push_back(std::move(name));
    }
    std::sort(names.begin(), names.end(), LessIgnoreCase);
    return names;
}

struct PluginFile
{
    std::string name;
    std::string path;
};

std::vector<PluginFile> PluginFiles(const PluginSearch& search)
{
    std::vector<PluginFile> files;
    const auto addFolder = [&](const std::string& folder, bool anyName)
    {
        for (std::string& name : PluginFilesIn(folder, anyName))
        {
            const auto same = [&](const PluginFile& file) { return file.name == name; };
            if (std::none_of(files.begin(), files.end(), same))
                files.push_back({name, folder + "/" + name + c_suffix});
        }
    };
    for (const std::string& folder : search.programFolders)
        addFolder(folder, true);
    for (const std::string& folder : search.libraryPath)
        addFolder(folder, false);
    std::sort(files.begin(), files.end(),
              [](const PluginFile& a, const PluginFile& b) { return LessIgnoreCase(a.name, b.name); });
    return files;
}

// The file of a type: exactly spelled, else in any case (as on Windows).
std::optional<PluginFile> FindPluginFile(const std::string& type, const PluginSearch& search)
{
    if (const auto path = FindLibrary(search.Folders(), type + c_suffix))
        return PluginFile{type, *path};
    for (PluginFile& file : PluginFiles(search))
    {
        if (EqualsIgnoreCase(file.name, type))
            return std::move(file);
    }
    return std::nullopt;
}

std::string FoldersText(const PluginSearch& search)
{
    std::vector<std::string> folders = search.Folders();
    folders.emplace_back("the system's library folders");
    return Join(folders, ", ");
}

std::string ExistingText(const PluginSearch& search)
{
    const std::vector<std::string> names = PluginNames(search);
    return names.empty() ? std::string("there are no readers in these folders")
                         : "readers that exist: " + Join(names, ", ");
}

std::string LoaderReason()
{
    const char* reason = dlerror();
    return reason != nullptr ? reason : "no reason given";
}

void* OpenLibrary(const std::string& path)
{
    // RTLD_NOW: a missing symbol is reported here and not in the middle of a training.
    return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

// Why an open library is no plugin for this program; empty if it is one.
std::string InterfaceProblem(void* handle)
{
    const auto abi = reinterpret_cast<PluginAbiFunction>(dlsym(handle, "CntkPluginAbi"));
    if (abi == nullptr)
        return "it is no plugin of this program: it does not export 'CntkPluginAbi'";
    const uint32_t version = abi();
    if (version != c_pluginAbi)
        return Concat("it was built for version ", version, " of the plugin interface, this program has version ",
                      c_pluginAbi, "; build both from the same sources");
    return {};
}

// Keeps the library beside the object, so that whoever holds the object need not.
template <class ElemType>
class LoadedReader final : public IDataReader<ElemType>
{
public:
    LoadedReader(PluginLibrary library, const ReaderContext& context)
        : m_library(std::move(library)), m_reader(m_library.MakeReader<ElemType>(context))
    {
    }
    const std::vector<StreamInfo>& Streams() const override { return m_reader->Streams(); }
    void StartEpoch(const EpochRequest& request) override { m_reader->StartEpoch(request); }
    bool GetMinibatch(HostMinibatch<ElemType>& minibatch) override { return m_reader->GetMinibatch(minibatch); }
    size_t TotalSamples() override { return m_reader->TotalSamples(); }
    std::vector<std::string> CreateLabelMaps() override { return m_reader->CreateLabelMaps(); }
    bool HasLattices() const override { return m_reader->HasLattices(); }
    size_t ParallelSequences(size_t epoch) const override { return m_reader->ParallelSequences(epoch); }
    void VisitListedFiles(const ListedFileVisitor& visit) const override { m_reader->VisitListedFiles(visit); }
    size_t SequencesToWrite() const override { return m_reader->SequencesToWrite(); }

private:
    PluginLibrary m_library;
    std::unique_ptr<IDataReader<ElemType>> m_reader;
};

template <class ElemType>
class LoadedWriter final : public IDataWriter<ElemType>
{
public:
    LoadedWriter(PluginLibrary library, const ReaderContext& context)
        : m_library(std::move(library)), m_writer(m_library.MakeWriter<ElemType>(context))
    {
    }
    std::vector<std::string> OutputNames() const override { return m_writer->OutputNames(); }
    void RequireFit(const std::map<std::string, size_t>& rows, size_t sequences) const override
    {
        m_writer->RequireFit(rows, sequences);
    }
    void SaveMinibatch(const std::map<std::string, StreamBatch<ElemType>>& outputs,
                       const std::vector<std::string>& sequenceKeys) override
    {
        m_writer->SaveMinibatch(outputs, sequenceKeys);
    }
    void Finish() override { m_writer->Finish(); }

private:
    PluginLibrary m_library;
    std::unique_ptr<IDataWriter<ElemType>> m_writer;
};

} // namespace

PluginSearch PluginSearch::Default()
{
    PluginSearch search;
    const fs::path program = ProgramFolder();
    for (const char* folder : {"lib", "lib/cntk"})
        search.programFolders.push_back((program.parent_path() / folder).string());
    if (const char* path = std::getenv("LD_LIBRARY_PATH"))
    {
        for (const std::string_view folder : Split(path, ':'))
        {
            if (!folder.empty())
                search.libraryPath.emplace_back(folder);
        }
    }
    return search;
}

std::vector<std::string> PluginSearch::Folders() const
{
    std::vector<std::string> folders = programFolders;
    folders.insert(folders.end(), libraryPath.begin(), libraryPath.end());
    return folders;
}

std::optional<std::string> FindLibrary(const std::vector<std::string>& folders, const std::string& name)
{
    for (const std::string& folder : folders)
        if (std::string path = folder + "/" + name; FileExists(path))
            return path;
    return std::nullopt;
}

PluginLibrary::PluginLibrary(std::string name, std::string path, void* handle, const SourcePos& where)
    : m_name(std::move(name)), m_path(std::move(path)), m_handle(handle), m_where(where)
{
}

PluginLibrary PluginLibrary::Open(const std::string& type, const PluginSearch& search, const SourcePos& where)
{
    if (Trim(type).empty())
        FailAt(where, ErrorKind::Config, "the reader type is empty; ", ExistingText(search));

    std::string name = ResolveAlias(type);
    std::string path;
    if (name.find_first_of("/\\") != std::string::npos)
    {
        path = ResolveInputPath(name);
        if (!FileExists(path) && FileExists(path + c_suffix))
            path += c_suffix;
        if (!FileExists(path))
            FailAt(where, ErrorKind::Config, "plugin file '", path, "' does not exist", NearFilesHint(path));
        name = fs::path(path).stem().string();
    }
    else if (std::optional<PluginFile> file = FindPluginFile(name, search))
    {
        name = file->name;
        path = file->path;
    }
    else
    {
        path = name + c_suffix; // the system's own search
    }

    void* handle = OpenLibrary(path);
    if (handle == nullptr)
    {
        const std::string reason = LoaderReason();
        if (path.find('/') == std::string::npos && reason.rfind(path + ": cannot open", 0) == 0)
            FailAt(where, ErrorKind::Config, "there is no reader or writer '", type, "'; folders searched for '", path,
                   "': ", FoldersText(search), "; ", ExistingText(search), DidYouMean(type, PluginNames(search)));
        FailAt(where, ErrorKind::Device, "plugin '", name, "' is there, but it does not load: ", reason,
               "; its file: ", path, "; folders searched: ", FoldersText(search), "; ", ExistingText(search));
    }
    const std::string problem = InterfaceProblem(handle);
    if (!problem.empty())
    {
        dlclose(handle);
        FailAt(where, ErrorKind::Device, "'", path, "' cannot be used as a reader or writer: ", problem);
    }
    // A library without it leaves its temporary files behind when a signal ends the program.
    if (const auto share = reinterpret_cast<ShareTemporaryFilesFunction>(dlsym(handle, "ShareTemporaryFiles")))
        share(TemporaryFilesInUse());
    return PluginLibrary(std::move(name), std::move(path), handle, where);
}

void* PluginLibrary::FindSymbol(const char* symbol) const
{
    return dlsym(m_handle, symbol);
}

std::optional<PluginDescription> PluginLibrary::Describe() const
{
    const auto describe = reinterpret_cast<DescribePluginFunction>(FindSymbol("DescribePlugin"));
    if (describe == nullptr)
        return std::nullopt;
    PluginDescription description;
    describe(description);
    return description;
}

void PluginLibrary::AddInputFiles(const ReaderContext& context, std::vector<ConfigValue>& files) const
{
    if (const auto find = reinterpret_cast<FindInputFilesFunction>(FindSymbol("FindInputFiles")))
        find(context, files);
}

void PluginLibrary::FailForSymbol(const char* task, const char* symbol, const std::string& hint) const
{
    FailAt(m_where, ErrorKind::Config, "plugin '", m_name, "' does not ", task, ": '", m_path, "' does not export '",
           symbol, "'", hint);
}

template <class ElemType>
std::unique_ptr<IDataReader<ElemType>> PluginLibrary::MakeReader(const ReaderContext& context) const
{
    constexpr bool isFloat = std::is_same_v<ElemType, float>;
    const char* symbol = isFloat ? "GetReaderF" : "GetReaderD";
    using Function = std::conditional_t<isFloat, GetReaderFunctionF, GetReaderFunctionD>;
    const auto function = reinterpret_cast<Function>(FindSymbol(symbol));
    if (function == nullptr)
        FailForSymbol("read", symbol, "");
    std::unique_ptr<IDataReader<ElemType>> reader;
    function(reader, context);
    return reader;
}

namespace
{

// "; writers that exist: BinaryWriter, HTKMLFWriter", by the names that configs ask for; empty if there are none.
std::string ExistingWritersText(const std::string& folder)
{
    PluginSearch search;
    search.programFolders = {folder};
    std::vector<std::string> names;
    for (const PluginRecord& record : ListPlugins(search))
    {
        if (!record.writes)
            continue;
        const std::vector<std::string> aliases = PluginAliases(record.name);
        const auto writer =
            std::find_if(aliases.begin(), aliases.end(), [](const auto& alias) { return alias.ends_with("Writer"); });
        names.push_back(writer == aliases.end() ? record.name : *writer);
    }
    return names.empty() ? "" : "; writers that exist: " + Join(names, ", ");
}

template <class ElemType>
constexpr const char* c_writerSymbol = std::is_same_v<ElemType, float> ? "GetWriterF" : "GetWriterD";

} // namespace

void* PluginLibrary::FindWriter(const char* symbol) const
{
    void* const function = FindSymbol(symbol);
    if (function == nullptr)
        FailForSymbol("write", symbol, ExistingWritersText(std::filesystem::path(m_path).parent_path().string()));
    return function;
}

template <class ElemType>
void PluginLibrary::RequireWriter() const
{
    FindWriter(c_writerSymbol<ElemType>);
}

template <class ElemType>
std::unique_ptr<IDataWriter<ElemType>> PluginLibrary::MakeWriter(const ReaderContext& context) const
{
    constexpr bool isFloat = std::is_same_v<ElemType, float>;
    using Function = std::conditional_t<isFloat, GetWriterFunctionF, GetWriterFunctionD>;
    const auto function = reinterpret_cast<Function>(FindWriter(c_writerSymbol<ElemType>));
    std::unique_ptr<IDataWriter<ElemType>> writer;
    function(writer, context);
    return writer;
}

template <class ElemType>
std::unique_ptr<IDataReader<ElemType>> LoadReader(const std::string& readerType, const ReaderContext& context)
{
    if (const std::optional<ConfigValue> readers = context.config.FindHere("readers"))
    {
        constexpr const char* parallelKey = "nbruttsineachrecurrentiter";
        constexpr const char* parallelAlias = "nbruttineachrecurrentiter"; // as the book's examples have it
        std::string parallel; // what the first part says holds for those that say nothing
        std::vector<typename CompositeReader<ElemType>::Part> parts;
        const ConfigParameters* first = nullptr;
        for (const ConfigValue& name : readers->AsArray())
        {
            // A block found further out could be the one that holds this list.
            const ConfigParameters* block = context.config.FindBlockHere(name.Text());
            if (block == nullptr)
                FailAt(readers->Where(), ErrorKind::Config, "readers: there is no block '", name.Text(), "' in '",
                       context.config.Path(), "'", DidYouMean(name.Text(), context.config.BlockNames()));
            if (const std::optional<ConfigValue> inner = block->FindHere("readers"))
                FailAt(inner->Where(), ErrorKind::Config, "readers: '", name.Text(),
                       "' is one of several readers and has readers of its own, '", inner->Text(),
                       "'; expected a single reader with its blocks");
            if (parts.empty() && (block->ExistsHere(parallelKey) || block->ExistsHere(parallelAlias)))
                parallel = block->Require(block->ExistsHere(parallelKey) ? parallelKey : parallelAlias).Text();
            else if (!parallel.empty() && !block->Exists(parallelKey) && !block->Exists(parallelAlias))
                block->Set(parallelKey, parallel);
            first = first == nullptr ? block : first;
            WarnOfOtherOrder(*block, *first, context.forWriting, context.log);
            const std::string type = ReaderTypeOf(*block);
            parts.push_back({name.Text(), LoadReader<ElemType>(type, context.For(*block)), ToLower(type)});
        }
        if (parts.empty())
            FailAt(readers->Where(), ErrorKind::Config, "readers is empty; it needs names of blocks, such as a:b");
        return std::make_unique<CompositeReader<ElemType>>(std::move(parts), readers->Where(), &context.log);
    }
    const SourcePos where = context.config.WhereOf("readerType");
    return std::make_unique<LoadedReader<ElemType>>(PluginLibrary::Open(readerType, PluginSearch::Default(), where),
                                                    context);
}

template <class ElemType>
std::unique_ptr<IDataWriter<ElemType>> LoadWriter(const std::string& writerType, const ReaderContext& context)
{
    const SourcePos where = context.config.WhereOf("writerType");
    return std::make_unique<LoadedWriter<ElemType>>(PluginLibrary::Open(writerType, PluginSearch::Default(), where),
                                                    context);
}

template std::unique_ptr<IDataReader<float>> PluginLibrary::MakeReader<float>(const ReaderContext&) const;
template std::unique_ptr<IDataReader<double>> PluginLibrary::MakeReader<double>(const ReaderContext&) const;
template void PluginLibrary::RequireWriter<float>() const;
template void PluginLibrary::RequireWriter<double>() const;
template std::unique_ptr<IDataWriter<float>> PluginLibrary::MakeWriter<float>(const ReaderContext&) const;
template std::unique_ptr<IDataWriter<double>> PluginLibrary::MakeWriter<double>(const ReaderContext&) const;
template std::unique_ptr<IDataReader<float>> LoadReader<float>(const std::string&, const ReaderContext&);
template std::unique_ptr<IDataReader<double>> LoadReader<double>(const std::string&, const ReaderContext&);
template std::unique_ptr<IDataWriter<float>> LoadWriter<float>(const std::string&, const ReaderContext&);
template std::unique_ptr<IDataWriter<double>> LoadWriter<double>(const std::string&, const ReaderContext&);

std::string ReaderTypeOf(const ConfigParameters& config)
{
    const std::optional<ConfigValue> value = config.Find("readerType");
    return value ? value->Text() : std::string(c_defaultReaderType);
}

std::vector<PluginRecord> ListPlugins(const PluginSearch& search)
{
    std::vector<PluginRecord> records;
    for (PluginFile& file : PluginFiles(search))
    {
        PluginRecord record;
        record.name = std::move(file.name);
        record.path = std::move(file.path);
        if (void* handle = OpenLibrary(record.path))
        {
            record.problem = InterfaceProblem(handle);
            if (record.problem.empty())
            {
                record.reads = dlsym(handle, "GetReaderF") != nullptr;
                record.writes = dlsym(handle, "GetWriterF") != nullptr;
                if (const auto describe = reinterpret_cast<DescribePluginFunction>(dlsym(handle, "DescribePlugin")))
                    describe(record.description);
            }
            dlclose(handle);
        }
        else
        {
            record.problem = LoaderReason();
        }
        records.push_back(std::move(record));
    }
    return records;
}

std::vector<std::string> PluginNames(const PluginSearch& search)
{
    std::vector<std::string> names;
    for (PluginFile& file : PluginFiles(search))
        names.push_back(std::move(file.name));
    return names;
}

std::vector<std::string> PluginAliases(std::string_view name)
{
    std::vector<std::string> names;
    for (const Alias& alias : c_aliases)
        if (EqualsIgnoreCase(alias.library, name))
            names.emplace_back(alias.name);
    return names;
}

} // namespace cntk
