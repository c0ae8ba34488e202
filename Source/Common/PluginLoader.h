// Finds, opens and describes reader and writer libraries (ReaderInterface.h, WriterInterface.h) at run time.
// A plugin of type T is the file T.so in ../lib or ../lib/cntk seen from the program, in LD_LIBRARY_PATH or where the
// system looks; a type with a slash in it is a path.
#pragma once

#include "Common/ReaderInterface.h"
#include "Common/SourceText.h"
#include "Common/WriterInterface.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

constexpr const char* c_defaultReaderType = "UCIFastReader";

// Where plugins are looked for, in this order, before the system's own search.
struct PluginSearch
{
    std::vector<std::string> programFolders; // every plugin in there is listed
    std::vector<std::string> libraryPath;    // LD_LIBRARY_PATH

    // From the program's own place and the environment.
    static PluginSearch Default();
    std::vector<std::string> Folders() const; // all of them
};

// The path of the first library of that file name in the folders; none where there is none.
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

// One open plugin. The code stays in memory until the program ends: an error thrown by a plugin outlives its reader.
class PluginLibrary
{
public:
    // Fails (Config) if there is no such plugin, and (Device) with the loader's own reason if there is one that does
    // not load or was built for another interface. where: the value of readerType or writerType.
    static PluginLibrary Open(const std::string& type, const PluginSearch& search, const SourcePos& where = {});

    const std::string& Name() const { return m_name; }
    const std::string& Path() const { return m_path; }

    // What it says of itself; none where it says nothing.
    std::optional<PluginDescription> Describe() const;
    // Adds the files that its reader surely opens (FindInputFilesFunction), where it says which.
    void AddInputFiles(const ReaderContext& context, std::vector<ConfigValue>& files) const;
    // Fails (Config) if the plugin has no writer of that type.
    template <class ElemType>
    void RequireWriter() const;
    // Fails if the plugin has no reader (writer).
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

// The reader (writer) that the block asks for with readerType= (writerType=). A block with readers=a:b gives the
// readers of the blocks a and b as one (CompositeReader.h).
template <class ElemType>
std::unique_ptr<IDataReader<ElemType>> LoadReader(const std::string& readerType, const ReaderContext& context);
template <class ElemType>
std::unique_ptr<IDataWriter<ElemType>> LoadWriter(const std::string& writerType, const ReaderContext& context);

// readerType= of a block (outwards look-up), or the default.
std::string ReaderTypeOf(const ConfigParameters& config);

// All plugins of the search folders in alphabetical order; opens every one.
std::vector<PluginRecord> ListPlugins(const PluginSearch& search = PluginSearch::Default());
// Their names alone; opens none.
std::vector<std::string> PluginNames(const PluginSearch& search = PluginSearch::Default());
// Other names by which configs ask for the same library: "HTKMLFWriter" of "HTKMLFReader".
std::vector<std::string> PluginAliases(std::string_view name);

} // namespace cntk
