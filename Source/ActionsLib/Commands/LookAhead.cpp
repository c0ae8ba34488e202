// Careful: a file that might still come is not asked for.
#include "ActionsLib/Commands/LookAhead.h"

#include "ActionsLib/Commands/CommandKeys.h"
#include "ActionsLib/Commands/ReaderSource.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/FileClashes.h"
#include "Common/Log.h"
#include "Common/PluginLoader.h"
#include "Common/Text.h"

#include <algorithm>

namespace cntk
{

namespace
{

// Lists, patterns, archives, pipes: what they mean is the reader's business.
constexpr std::string_view c_notOneFile = "+:,;()|*?@{}$";

std::string_view LastName(std::string_view keyPath)
{
    return keyPath.substr(keyPath.rfind(':') + 1);
}

// outputPath, outputFile; file of a writer's node; wfile of a binary writer.
bool NamesOutput(const std::string& keyPath)
{
    const std::string path = ToLower(keyPath);
    return LastName(path).find("output") != std::string_view::npos || path.find("writer:") != std::string::npos ||
           LastName(path) == "wfile";
}

// "out/values" for "out/values.z".
bool BeginsWithName(const std::string& path, const std::string& name)
{
    return path.starts_with(name) && (path.size() == name.size() || path[name.size()] == '.');
}

// The map of labels of a reader that makes it where it is missing.
bool NamesMapToMake(const std::vector<ConfigValue>& values, const ConfigValue& map)
{
    if (!EqualsIgnoreCase(LastName(map.KeyPath()), "labelMappingFile"))
        return false;
    const auto allows = [&](const ConfigValue& value)
    {
        const std::string path = value.KeyPath();
        const std::string_view name = LastName(path);
        return EqualsIgnoreCase(name, "allowMapCreation") && ParseBool(value.Text()).value_or(false) &&
               map.KeyPath().starts_with(path.substr(0, path.size() - name.size()));
    };
    return std::any_of(values.begin(), values.end(), allows);
}

// By a command whose outputs have names that only its run will show: one for each node, say.
bool MayBeWritten(const ConfigParameters& root, const std::string& path)
{
    const std::vector<ConfigValue> values = root.Values();
    return std::any_of(values.begin(), values.end(),
                       [&](const ConfigValue& value)
                       {
                           return !value.Text().empty() && BeginsWithName(path, CanonicalPath(value.Text())) &&
                                  (NamesOutput(value.KeyPath()) || NamesMapToMake(values, value));
                       });
}

} // namespace

void FilesToCome::Add(const std::vector<std::string>& made)
{
    for (const std::string& path : made)
        m_made.push_back(CanonicalPath(path));
}

bool FilesToCome::WillBeMade(const std::string& path) const
{
    const std::string canonical = CanonicalPath(path);
    return std::any_of(m_made.begin(), m_made.end(),
                       [&](const std::string& made) { return BeginsWithName(canonical, made); });
}

bool FilesToCome::WillExist(const std::string& path) const
{
    return path == "-" || FileExists(ResolveInputPath(path)) || WillBeMade(path);
}

bool MayBeOver(const TrainingFiles& training, bool makeMode, const FilesToCome& files)
{
    return makeMode && (training.FindResumePoint() == training.MaxEpochs() || files.WillBeMade(training.FinalModel()));
}

void RequireModelToCome(const CommandContext& command, const std::string& path, const FilesToCome& files,
                        std::string_view key)
{
    RequireModelToCome(PlaceOf(command, key), path, files);
}

void RequireModelToCome(const SourcePos& where, const std::string& path, const FilesToCome& files)
{
    if (!files.WillExist(path))
        FailAt(where, ErrorKind::Model, "model file '", path, "' does not exist, and no command before makes it",
               NearFilesHint(path));
}

void RequireDataToCome(const CommandContext& command, const Action& action, const FilesToCome& files)
{
    for (const std::string& name : action.blocks)
    {
        const ConfigParameters* const reader = IsReaderBlock(name) ? command.block.FindBlock(name) : nullptr;
        if (reader == nullptr)
            continue;
        std::optional<Error> fault;
        for (const ConfigValue& value : InputFilesOf(*reader, action.name == "write", command.program.log, &fault))
        {
            const std::string& path = value.Text();
            if (path.empty() || path.find_first_of(c_notOneFile) != std::string::npos || files.WillExist(path) ||
                MayBeWritten(*command.block.Parent(), CanonicalPath(path)))
                continue;
            FailAt(value.Where(), ErrorKind::Data, "data file '", path,
                   "' does not exist, and no command before makes it", NearFilesHint(path));
        }
        // The reader would say so when its turn comes. What is no matter of the config may be another one then.
        if (fault && fault->Kind() == ErrorKind::Config)
            throw Error(*fault);
    }
}

// Writers open nothing before they get data. What they print belongs to their turn.
void RequireWriterToCome(const CommandContext& command, const ConfigParameters& writer, const std::string& type,
                         const FilesToCome& files)
{
    for (const ConfigValue& value : writer.Values())
        if (!value.Text().empty() && files.WillBeMade(value.Text()))
            return; // a list that may be another one then
    Log silent;
    silent.RedirectTo("/dev/null");
    const ListedFiles nothing;
    const ReaderContext own = WriterContextOf(command, writer, nothing);
    const ReaderContext context{.config = own.config,
                                .log = silent,
                                .traceLevel = own.traceLevel,
                                .forWriting = own.forWriting,
                                .listed = own.listed};
    try
    {
        VisitType(command.program.dataType, [&](auto element) { LoadWriter<decltype(element)>(type, context); });
    }
    catch (const Error& error)
    {
        if (error.Kind() == ErrorKind::Config)
            throw;
    }
}

} // namespace cntk
