// Finds, opens and describes reader and writer libraries (ReaderInterface.h) at run time. A plugin of type T is the
// file T.so in ../lib or ../lib/cntk seen from the program, in LD_LIBRARY_PATH or in the system's library folders.
// A type with a slash is a path.
#pragma once

#include "Common/ReaderInterface.h"
#include "Common/SourceText.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

constexpr const char* c_defaultReaderType = "UCIFastReader";

// The folders that are searched for plugins, in this order, before the system's library folders.
struct PluginSearch
{
    std::vector<std::string> programFolders; // every plugin in these folders is listed
    std::vector<std::string> libraryPath;    // LD_LIBRARY_PATH

    // Derives the folders from the program's path and the environment. Code in a shared library, such as a Python
    // module, has its plugins in the folders `plugins` and `lib` beside the library instead.
    static PluginSearch Default();
    std::vector<std::string> Folders() const; // all of them
};

// Returns the path of the first library of that file name in the folders.
std::optional<std::string> FindLibrary(const std::vector<std::string>& folders, const std::string& name);

// A plugin of the search folders. A library that cannot be opened has a problem and an empty description.
struct PluginRecord
{
    std::string name;
    std::string path;
    bool reads = false;
    bool writes = false;
    PluginDescription description;
    std::string problem;
};

// One open plugin. Its code stays in memory until the program ends, because readers, writers and errors outlive the
// object.
class PluginLibrary
{
public:
    // Fails (Config) if there is no such plugin. Fails (Device) with the loader's reason if the plugin does not load or
    // was built for another interface. where: the value of readerType or writerType.
    static PluginLibrary Open(const std::string& type, const PluginSearch& search, const SourcePos& where = {});

    const std::string& Name() const { return m_name; }
    const std::string& Path() const { return m_path; }

    // Returns the plugin's description of itself, if it exports one.
    std::optional<PluginDescription> Describe() const;
    // Adds the files that its reader opens (FindInputFilesFunction), if the plugin exports that function.
    void AddInputFiles(const ReaderContext& context, std::vector<ConfigValue>& files) const;
    // Fails (Config) if the plugin has no writer of that type.
    template <class ElemType>
    void RequireWriter() const;
    // Creates a reader or a writer. Fails (Config) if the plugin has none.
    template <class ElemType>
    std::unique_ptr<IDataReader<ElemType>> MakeReader(const ReaderContext& context) const;
    template <class ElemType>
    std::unique_ptr<IDataWriter<ElemType>> MakeWriter(const ReaderContext& context) const;

private:
    PluginLibrary(std::string name, std::string path, void* handle, const SourcePos& where);
    void* FindSymbol(const char* symbol) const; // null if the plugin does not export it
    void* FindWriter(const char* symbol) const; // fails if there is none
    // task: "read".
    [[noreturn]] void FailForSymbol(const char* task, const char* symbol, const std::string& hint) const;

    std::string m_name;
    std::string m_path;
    void* m_handle = nullptr;
    SourcePos m_where;
};

// Opens the writer that the block asks for with writerType=. CompositeReader.h has LoadReader.
template <class ElemType>
std::unique_ptr<IDataWriter<ElemType>> LoadWriter(const std::string& writerType, const ReaderContext& context);

// Returns readerType= of the block or an enclosing block, or the default.
std::string ReaderTypeOf(const ConfigParameters& config);

// Opens and describes all plugins of the search folders, in alphabetical order.
std::vector<PluginRecord> ListPlugins(const PluginSearch& search = PluginSearch::Default());
// Returns the names of these plugins without opening them.
std::vector<std::string> PluginNames(const PluginSearch& search = PluginSearch::Default());
// Returns other names of a library in configs: "HTKMLFWriter" for "HTKMLFReader".
std::vector<std::string> PluginAliases(std::string_view name);

} // namespace cntk
