// Plugin search, the interface check, and the messages for plugins that are missing or do not load.
#include "Common/PluginLoader.h"

#include "Common/Config/ConfigParameters.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Interruption.h"
#include "Common/Text.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <optional>
#include <sys/auxv.h>
#include <type_traits>

namespace cntk
{
namespace
{

namespace fs = std::filesystem;

constexpr const char* c_suffix = ".so";

// Other names of a library: a writer is part of its reader's library, and a later reader replaced an earlier one.
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

// Adds the folders of plugins, by the path of the program.
void AddFoldersOf(const fs::path& program, std::vector<std::string>& folders)
{
    const fs::path prefix = program.parent_path().parent_path();
    for (const char* folder : {"lib", "lib/cntk"})
        folders.push_back((prefix / folder).string());
    std::error_code error;
    if (fs::is_directory(prefix / "plugins", error)) // the package of the Python module
        folders.push_back((prefix / "plugins").string());
}

// Finds the program by /proc. Where that is missing, tries the path that started the program, and the folder where it
// was to be installed.
std::vector<std::string> FoldersOfProgram()
{
    std::vector<std::string> folders;
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    if (!error)
    {
        AddFoldersOf(program, folders);
        return folders;
    }
    const auto* const started = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
    const fs::path path = started != nullptr ? fs::canonical(started, error) : fs::path();
    if (started != nullptr && !error)
        AddFoldersOf(path, folders);
    folders.emplace_back(CNTK_PREFIX "/lib/cntk");
    return folders;
}

// Returns the folders of plugins if this code is part of libcntk or of the Python module; empty in the program and in
// plugins.
std::vector<std::string> FoldersOfLibrary()
{
    Dl_info info = {};
    if (dladdr(reinterpret_cast<const void*>(&FoldersOfLibrary), &info) == 0 || info.dli_fname == nullptr)
        return {};
    std::error_code error;
    const fs::path path = fs::weakly_canonical(info.dli_fname, error);
    const std::string name = path.filename().string(), folder = path.parent_path().string();
    if (name.starts_with("libcntk.so"))
        return {folder, folder + "/cntk", folder + "/../cntk"}; // libraries may stand in a folder of the architecture
    if (name.starts_with("_cntk."))
        return {folder + "/plugins", folder + "/lib"};
    return {};
}

// Lists the plugin files of a folder. Without anyName (folders of LD_LIBRARY_PATH, which hold other libraries, too)
// only names with Reader or Writer count.
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

// Finds the file of a reader type: first as spelled, then in any case (as on Windows).
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
    // RTLD_NOW reports a missing symbol here and not during training. RTLD_NODELETE keeps the code of open readers and
    // of their errors in memory.
    return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

// Explains why an open library is no plugin for this program. Empty if it is one.
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

} // namespace

PluginSearch PluginSearch::Default()
{
    PluginSearch search;
    search.programFolders = FoldersOfLibrary();
    if (search.programFolders.empty())
        search.programFolders = FoldersOfProgram();
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
        FailAt(where, ErrorKind::Device, "plugin '", name, "' exists, but it does not load: ", reason, "; file: ", path,
               "; folders searched: ", FoldersText(search), "; ", ExistingText(search));
    }
    const std::string problem = InterfaceProblem(handle);
    if (!problem.empty())
    {
        dlclose(handle);
        FailAt(where, ErrorKind::Device, "'", path, "' cannot be used as a reader or writer: ", problem);
    }
    // A library without this function leaves its temporary files behind when a signal ends the program.
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

// "; writers that exist: BinaryWriter, HTKMLFWriter", with the names that configs use. Empty if there are none.
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
std::unique_ptr<IDataWriter<ElemType>> LoadWriter(const std::string& writerType, const ReaderContext& context)
{
    const SourcePos where = context.config.WhereOf("writerType");
    return PluginLibrary::Open(writerType, PluginSearch::Default(), where).MakeWriter<ElemType>(context);
}

template std::unique_ptr<IDataReader<float>> PluginLibrary::MakeReader<float>(const ReaderContext&) const;
template std::unique_ptr<IDataReader<double>> PluginLibrary::MakeReader<double>(const ReaderContext&) const;
template void PluginLibrary::RequireWriter<float>() const;
template void PluginLibrary::RequireWriter<double>() const;
template std::unique_ptr<IDataWriter<float>> PluginLibrary::MakeWriter<float>(const ReaderContext&) const;
template std::unique_ptr<IDataWriter<double>> PluginLibrary::MakeWriter<double>(const ReaderContext&) const;
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
