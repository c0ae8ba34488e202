// Finds the script, runs its parts in order, and finishes the network.
#include "ActionsLib/Ndl/NdlNetworkBuilder.h"

#include "ActionsLib/Ndl/NdlParser.h"
#include "Common/Config/ConfigTree.h"
#include "Common/Config/Tokenizer.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Text.h"
#include "ComputationNetwork/Files/NetworkReport.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

namespace cntk
{

namespace
{

ScriptText ReadScriptFile(const std::string& path, const ConfigParameters& block, const SourcePos& namedAt)
{
    // The file is read once for its variables and again each time the network is built.
    std::error_code error;
    const auto status = std::filesystem::status(ResolveInputPath(path), error);
    if (path == "-" || std::filesystem::is_fifo(status) || std::filesystem::is_character_file(status))
        FailAt(namedAt, ErrorKind::Config, "NDL file '", path, "' can be read only once, expected a regular file");
    const auto raw = ReadScript(path, "NDL file", namedAt);
    return {raw, 0, raw->Text().size(), block};
}

// True if the texts differ only where comments of `theirs` are blanks in `ours`.
bool IsSameCode(std::string_view ours, std::string_view theirs)
{
    return ours.size() == theirs.size() && std::equal(ours.begin(), ours.end(), theirs.begin(),
                                                      [](char own, char other) { return own == other || own == ' '; });
}

// Parses a piece of a config at its place in the file, so that errors point there. If variables have other values in
// the block that uses the piece, parses a copy with the same line numbers.
NdlScript ParsePiece(const std::string& text, const SourcePos& where, const std::string& keyPath,
                     const ConfigParameters& block)
{
    if (where && where.offset + where.length <= where.text->Text().size())
    {
        if (IsSameCode(text, where.text->Text().substr(where.offset, where.length)))
            return ParseNdl(where.text, where.offset, where.offset + where.length);
        const ScriptText resolved(where.text, where.offset, where.length, block);
        if (resolved.Text() == text)
            return ParseNdl(resolved);
    }
    std::string name = keyPath;
    std::string copy;
    if (where)
    {
        name = where.text->Name();
        copy.assign(where.text->LineOf(where.offset) - 1, '\n');
    }
    return ParseNdl(std::make_shared<SourceText>(std::move(name), copy + text));
}

// Reads sections of one name as one section, like blocks of a config.
NdlScript ParseSection(const ConfigValue& section, const ConfigParameters& block)
{
    NdlScript script;
    for (const auto& [text, where] : ConfigTree::PiecesOf(section))
        script.Append(ParsePiece(text, where, section.KeyPath(), block));
    return script;
}

// Parts of a script file: sections, load=, run=, and the statements outside of sections.
struct ScriptFile
{
    std::vector<std::string> load;
    SourcePos loadWhere;
    std::optional<std::string> run;
    SourcePos runWhere;
    std::vector<NdlStatement> sections;
    NdlScript rest;

    explicit ScriptFile(NdlScript script)
    {
        for (NdlStatement& statement : script.statements)
        {
            const bool isAssignment = statement.kind == NdlStatement::Kind::Assignment;
            if (statement.kind == NdlStatement::Kind::Section)
                AddSection(std::move(statement));
            else if (isAssignment && EqualsIgnoreCase(statement.name, "load"))
            {
                load = statement.value.Names();
                loadWhere = statement.where;
            }
            else if (isAssignment && EqualsIgnoreCase(statement.name, "run"))
            {
                runWhere = statement.where;
                if (statement.value.kind == NdlExpression::Kind::Call ||
                    statement.value.kind == NdlExpression::Kind::Array)
                    FailAt(statement.value.where, ErrorKind::Config, "run= names one section, found ",
                           statement.value.InWords());
                run = statement.value.text;
            }
            else
                rest.statements.push_back(std::move(statement));
        }
    }
    void AddSection(NdlStatement section)
    {
        for (NdlStatement& known : sections)
        {
            if (!EqualsIgnoreCase(known.name, section.name))
                continue;
            NdlScript both = *known.body;
            both.Append(*section.body);
            known.body = std::make_shared<NdlScript>(std::move(both));
            return;
        }
        sections.push_back(std::move(section));
    }
    const NdlStatement* FindSection(std::string_view name) const
    {
        for (const NdlStatement& section : sections)
            if (EqualsIgnoreCase(section.name, name))
                return &section;
        return nullptr;
    }
};

// Returns a section of the file or, searching outwards from the builder's block, of the config.
NdlScript RequireSection(const ConfigParameters& block, const ScriptFile* file, const std::string& name,
                         const SourcePos& where, const char* key)
{
    if (file)
    {
        if (const NdlStatement* section = file->FindSection(name))
            return *section->body;
        for (const NdlStatement& statement : file->rest.statements)
            if (EqualsIgnoreCase(statement.name, name))
                FailAt(statement.where, ErrorKind::Config, "'", name, "', which ", key,
                       "= names, is no section; expected ", name, "=[ ... ]");
    }
    if (const std::optional<ConfigValue> section = block.Find(name))
    {
        if (!section->Text().starts_with('['))
            FailAt(where, ErrorKind::Config, "'", name, "' (", section->Where().Location(), "), which ", key,
                   "= names, is no section; expected ", name, "=[ ... ]");
        return ParseSection(*section, block);
    }
    std::vector<std::string> names;
    for (const ConfigParameters* outer = &block; outer; outer = outer->Parent())
        for (std::string& blockName : outer->BlockNames())
            names.push_back(std::move(blockName));
    if (file)
        for (const NdlStatement& section : file->sections)
            names.push_back(section.name);
    FailAt(where, ErrorKind::Config, "there is no section '", name, "', which ", key, "= names",
           DidYouMean(name, names));
}

void RunFile(NdlBuilder& builder, const ConfigParameters& block, const NdlNetworkOptions& options, NdlContext& context)
{
    const ScriptText text = ReadScriptFile(options.networkDescription, block, block.WhereOf("networkDescription"));
    ScriptFile file(ParseNdl(text));
    // The builder's block overrides the file.
    if (block.ExistsHere("load"))
    {
        file.load = options.load;
        file.loadWhere = block.WhereOf("load");
    }
    if (block.ExistsHere("run"))
    {
        file.run = options.run;
        file.runWhere = block.WhereOf("run");
    }
    if (!file.run)
    {
        if (!file.sections.empty())
        {
            std::vector<std::string> names;
            for (const NdlStatement& section : file.sections)
                names.push_back(section.name);
            FailAt(file.sections[0].where, ErrorKind::Config,
                   "the file has sections, but no 'run=' that names one; its sections: '", Join(names, "', '"), "'");
        }
        for (const std::string& name : file.load)
            builder.Run(RequireSection(block, &file, name, file.loadWhere, "load"));
        builder.Run(std::move(file.rest));
        return;
    }
    for (const NdlStatement& statement : file.rest.statements)
        if (statement.kind != NdlStatement::Kind::Macro)
            context.warnings.push_back(Concat(statement.where.Location(), ": '",
                                              statement.name.empty() ? statement.value.AsWritten() : statement.name,
                                              "' is outside of the sections and is ignored; run= names '", *file.run,
                                              "'"));
    builder.DefineMacros(file.rest);
    for (const std::string& name : file.load)
        builder.Run(RequireSection(block, &file, name, file.loadWhere, "load"));
    builder.Run(RequireSection(block, &file, *file.run, file.runWhere, "run"));
}

} // namespace

const OptionTable<NdlNetworkOptions>& NdlNetworkOptions::Options()
{
    using S = NdlNetworkOptions;
    static const OptionTable<S> table = {
        Opt("networkDescription", &S::networkDescription, "file with the network description"),
        Opt("ndlMacros", &S::ndlMacros, "files with macros, separated by '+', read before everything else"),
        Opt("run", &S::run, "name of the section that holds the network"),
        Opt("load", &S::load, "names of sections with macros and constants"),
        Opt("dumpFileName", &S::dumpFileName, "the network is described in this file after it is built"),
        Opt("deviceId", &S::deviceId, "the command's counts").WithoutEffect(),
        Opt("randomSeedOffset", &S::randomSeedOffset, "added to the seed of every random parameter"),
    };
    return table;
}

std::unique_ptr<ComputationNetwork> BuildNetworkFromNdl(const ConfigParameters& builderBlock, DataType dataType,
                                                        std::shared_ptr<Device> device, NdlContext* context)
{
    const auto options = ReadOptions<NdlNetworkOptions>(builderBlock);
    NdlContext own;
    NdlContext& used = context ? *context : own;
    auto network = std::make_unique<ComputationNetwork>(dataType, std::move(device));
    NdlBuilder builder(*network, used, options.randomSeedOffset);

    for (const std::string_view path : Split(options.ndlMacros, '+'))
    {
        if (Trim(path).empty())
            continue;
        NdlScript script =
            ParseNdl(ReadScriptFile(std::string(Trim(path)), builderBlock, builderBlock.WhereOf("ndlMacros")));
        for (const NdlStatement& statement : script.statements)
            if (statement.kind != NdlStatement::Kind::Macro)
                used.warnings.push_back(Concat(statement.where.Location(), ": '",
                                               statement.name.empty() ? statement.value.AsWritten() : statement.name,
                                               "' is ignored: files of ndlMacros provide macros only"));
        builder.DefineMacros(std::move(script));
    }
    if (!options.networkDescription.empty())
        RunFile(builder, builderBlock, options, used);
    else
    {
        if (options.run.empty())
            FailAt(builderBlock.Where(), ErrorKind::Config, "'", builderBlock.Name(),
                   "' has neither networkDescription= (a file) nor run= (a section)");
        for (const std::string& name : options.load)
            builder.Run(RequireSection(builderBlock, nullptr, name, builderBlock.WhereOf("load"), "load"));
        builder.Run(RequireSection(builderBlock, nullptr, options.run, builderBlock.WhereOf("run"), "run"));
    }
    builder.Finish();
    builder.RequireFeatures(builderBlock.WhereOf(options.networkDescription.empty() ? "run" : "networkDescription"));
    builder.Validate();
    if (!options.dumpFileName.empty() && used.writesDumps)
        DumpNetwork(*network, {.printValues = false, .printMetadata = true}, options.dumpFileName);
    return network;
}

void LookUpVariablesOfScripts(const ConfigParameters& builderBlock)
{
    const auto options = ReadOptions<NdlNetworkOptions>(builderBlock);
    std::vector<std::string_view> paths = Split(options.ndlMacros, '+');
    paths.push_back(options.networkDescription);
    for (const std::string_view path : paths)
    {
        try
        {
            if (!Trim(path).empty())
                ReadScriptFile(std::string(Trim(path)), builderBlock, {});
        }
        catch (const Error&)
        {
            // An earlier command may still write the file.
        }
    }
}

std::unique_ptr<ComputationNetwork> BuildNetworkFromNdlText(std::string script, std::string sourceName,
                                                            DataType dataType, std::shared_ptr<Device> device,
                                                            NdlContext* context)
{
    NdlContext own;
    auto network = std::make_unique<ComputationNetwork>(dataType, std::move(device));
    NdlBuilder builder(*network, context ? *context : own);
    builder.Run(ParseNdl(std::make_shared<SourceText>(std::move(sourceName), std::move(script))));
    builder.Finish();
    builder.RequireFeatures({});
    builder.Validate();
    return network;
}

} // namespace cntk
