// action=createLabelMap (book 3.5.10): writes the labels of a reader's data to its label mapping files.
#include "ActionsLib/ActionTable.h"
#include "ActionsLib/JobParts/ReaderSource.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/FileClashes.h"
#include "Common/Text.h"

namespace cntk
{

namespace
{

struct CreateLabelMapOptions
{
    std::string section;
    size_t minibatchSize = 2048;
    int traceLevel = 0;

    static OptionTable<CreateLabelMapOptions> Options()
    {
        using S = CreateLabelMapOptions;
        return {Opt("section", &S::section, "name of the block (usually a train command) whose reader block is used")
                    .Required(),
                Opt("minibatchSize", &S::minibatchSize, "samples read at a time"),
                Opt("traceLevel", &S::traceLevel, "above 0: print the written files and the number of labels read")};
    }
};

// The label mapping files that the label blocks of the reader name.
std::vector<std::string> MappingFiles(const ConfigParameters& reader)
{
    std::vector<std::string> files;
    for (const std::string& name : reader.BlockNames())
    {
        const ConfigParameters& block = reader.RequireBlock(name);
        const bool isLabel =
            block.ExistsHere("labelMappingFile") || block.ExistsHere("labelDim") || block.ExistsHere("labelType");
        if (!isLabel)
            continue;
        if (const auto file = block.Find("labelMappingFile"))
            files.push_back(ResolveOutputPath(file->Text()));
    }
    if (const auto parts = reader.FindHere("readers")) // several readers as one
        for (const ConfigValue& part : parts->AsArray())
            if (const ConfigParameters* const block = reader.FindBlockHere(part.Text()))
                for (std::string& file : MappingFiles(*block))
                    files.push_back(std::move(file));
    return files;
}

const ConfigParameters& RootOf(const ConfigParameters& block)
{
    const ConfigParameters* root = &block;
    while (root->Parent() != nullptr)
        root = root->Parent();
    return *root;
}

class CreateLabelMapJob final : public Job
{
public:
    explicit CreateLabelMapJob(const CommandContext& command) : m_command(command)
    {
        const CreateLabelMapOptions options = ReadOptions<CreateLabelMapOptions>(command.block);
        m_traceLevel = options.traceLevel;
        const ConfigParameters* const section = command.block.FindBlock(options.section);
        if (section == nullptr)
            FailAt(command.block.WhereOf("section"), ErrorKind::Config, "section names '", options.section,
                   "', but the config has no block of that name; expected one with a reader, such as the block of a "
                   "train command",
                   DidYouMean(options.section, RootOf(command.block).BlockNames()));
        m_reader = RequireReader({command.program, options.section, *section}, "reader");
        m_reader.createLabelMaps = true;
        m_files = MappingFiles(*m_reader.block);
        if (m_files.empty())
            FailAt(m_reader.block->Where(), ErrorKind::Config,
                   "CreateLabelMap: No labelMappingFile defined in the label block of the reader");
        RequireNoData();
    }

    std::vector<std::string> Outputs() const override { return m_files; }

    void Run() override
    {
        Log& log = m_command.program.log;
        bool allThere = true;
        for (const std::string& file : m_files)
        {
            if (FileExists(file))
                log.Print("CreateLabelMap: the label mapping file '%s' already exists, no work to do.\n", file.c_str());
            else
            {
                log.Print("CreateLabelMap: Creating the mapping file '%s' \n", file.c_str());
                allThere = false;
            }
        }
        if (allThere)
            return;
        const std::unique_ptr<MinibatchSource> source = m_reader.Open();
        const ListedFiles listed = ListedFilesOf(*source);
        for (const std::string& file : m_files)
            listed.RequireNone({"labelMappingFile", file}, m_reader.block->Where());
        const std::vector<std::string> written = source->CreateLabelMaps();
        if (m_traceLevel <= 0 || written.empty())
            return;
        const size_t labels = source->TotalSamples();
        for (const std::string& file : written)
            log.Print("read %zu labels and produced %s\n", labels, file.c_str());
    }

    void Check() override
    {
        if (m_reader.CanBeChecked())
            m_reader.Open();
    }

private:
    // Fails if a map is the data file, which would count as an existing map.
    void RequireNoData() const
    {
        std::vector<NamedFile> data = FilesNamedIn(*m_reader.block);
        std::erase_if(data, [](const NamedFile& file) { return EndsWithKey(file.key, "labelMappingFile"); });
        for (const std::string& file : m_files)
            RequireNotRead({"labelMappingFile", file}, data, m_reader.block->Where());
    }
    static bool EndsWithKey(std::string_view path, std::string_view key)
    {
        return EqualsIgnoreCase(path.substr(path.rfind(':') + 1), key);
    }

    CommandContext m_command;
    int m_traceLevel = 0;
    ReaderSource m_reader;
    std::vector<std::string> m_files;
};

} // namespace

Action MakeCreateLabelMapAction()
{
    return {"createLabelMap",
            {},
            "Reads the data once and writes the label mapping files, one label a line in order of first appearance.",
            "3.5.10",
            DescribeOptions<CreateLabelMapOptions>(),
            {},
            PrepareJob<CreateLabelMapJob>};
}

} // namespace cntk
