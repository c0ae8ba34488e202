// Sorts the sub-blocks into features and labels, and checks their parameters against each other.
#include "Readers/UCIFastReader/UciOptions.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "Common/FileClashes.h"
#include "Common/Text.h"

#include <algorithm>

namespace cntk
{
namespace
{

constexpr size_t c_mostColumns = size_t(1) << 31;

bool IsLabels(const ConfigParameters& block)
{
    return IsLabelBlock(block, {"labelMappingFile", "labelDim", "labelType"});
}

bool IsFeatureBlock(const ConfigParameters& block)
{
    return block.ExistsHere("dim") || block.ExistsHere("columns") || EqualsIgnoreCase(block.Name(), "features");
}

// Keys of the original's binary cache: known, so that nobody is told that they are misspelt.
bool ReadCacheKeys(const ConfigParameters& block)
{
    bool any = false;
    for (const char* key : {"writerType", "wfile", "wsize", "wrecords", "windowSize", "wref"})
        any = block.FindHere(key).has_value() || any;
    return any;
}

// Columns by name also say how many there are.
void ReadColumnNames(const std::vector<std::string>& names, size_t dim, UciBlock& block)
{
    if (names.empty())
        return;
    const ConfigParameters& config = *block.config;
    if (config.ExistsHere("start"))
        FailAt(config.WhereOf("start"), ErrorKind::Config, "'", block.name,
               "' has both start and columns; expected one of them");
    if (dim != 0 && dim != names.size())
        FailAt(config.WhereOf("dim"), ErrorKind::Config, "'", block.name, "' has dim=", dim, ", but columns lists ",
               names.size());
    block.columnNames = names;
    block.columns = names.size();
}

// Values for empty cells of numbers: one, or one for each column.
void RequireNumbers(const UciBlock& block, const SourcePos& where)
{
    if (block.missing.size() > 1 && block.missing.size() != block.columns)
        FailAt(where, ErrorKind::Config, "missing of '", block.name, "' lists ", block.missing.size(),
               " values; expected one, or one for each of the ", block.columns, " columns");
    for (const std::string& value : block.missing)
        if (!ParseDouble(value))
            FailAt(where, ErrorKind::Config, "missing=", value, " of '", block.name, "' is no number");
}

UciBlock ReadFeatureBlock(const ConfigParameters& config, std::string& file)
{
    const auto options = ReadOptions<UciFeatureOptions>(config);
    file = options.file;
    UciBlock block;
    block.name = config.Name();
    block.config = &config;
    block.start = options.start;
    block.columns = options.dim;
    block.missing = options.missing;
    ReadColumnNames(options.columns, options.dim, block);
    if (block.columns == 0)
        FailAt(config.Where(), ErrorKind::Config, "'", block.name,
               "': required parameter missing: dim, the number of columns, or columns, their names");
    RequireNumbers(block, config.WhereOf("missing"));
    return block;
}

// False for labelType=none.
bool ReadLabelBlock(const ConfigParameters& config, std::string& file, UciBlock& block)
{
    const auto options = ReadOptions<UciLabelOptions>(config);
    if (options.labelType == LabelType::None)
        return false;
    file = options.file;
    block.name = config.Name();
    block.config = &config;
    block.isLabel = true;
    block.start = options.start;
    block.isCategory = options.labelType == LabelType::Category;
    if (!options.missing.empty())
        block.missing = {options.missing};
    ReadColumnNames(options.columns, options.dim, block);
    if (block.isCategory)
    {
        if (block.columnNames.size() > 1)
            FailAt(config.WhereOf("columns"), ErrorKind::Config, "'", block.name,
                   "': a category label is one column; columns lists ", block.columnNames.size());
        if (options.dim > 1)
            FailAt(config.WhereOf("dim"), ErrorKind::Config, "'", block.name,
                   "': a category label is one column, dim=", options.dim,
                   " asks for more; numbers in several columns are labelType=regression");
        if (options.labelMappingFile.empty())
            FailAt(config.Where(), ErrorKind::Config, "'", block.name,
                   "': a category label needs labelMappingFile, a file with one label a line; the createLabelMap "
                   "action makes "
                   "one; numbers as labels are labelType=regression");
        block.columns = 1;
        block.labelDim = options.labelDim;
        block.labelMappingFile = options.labelMappingFile;
    }
    else
    {
        if (options.dim == 0 && block.columnNames.empty())
            FailAt(config.Where(), ErrorKind::Config, "'", block.name,
                   "': labelType=regression needs dim, the number of label columns");
        RequireNumbers(block, config.WhereOf("missing"));
        block.columns = block.columnNames.empty() ? options.dim : block.columnNames.size();
    }
    return true;
}

void CheckCharacter(const ConfigParameters& config, const char* key, const std::string& text, const char* words)
{
    const bool forbidden = text.size() == 1 && (text[0] == '\n' || (text[0] >= '0' && text[0] <= '9'));
    if (text.size() > 1 || forbidden)
        FailAt(config.WhereOf(key), ErrorKind::Config, "'", key, "' is '", text,
               "', expected one character that is no digit", words);
}

template <class S>
Option<S> ColumnNames(std::vector<std::string> S::*names)
{
    return Opt("columns", names,
               "Columns by their names in the header, in place of start: sepal_length:petal_length. A number that is "
               "no "
               "name counts columns from 0",
               {"column"})
        .Here();
}

void ReadSeparators(const ConfigParameters& config, UciConfig& uci)
{
    constexpr std::pair<const char*, char> words[] = {
        {"comma", ','}, {"semicolon", ';'}, {"tab", '\t'}, {"bar", '|'}, {"space", ' '}};
    std::string delimiter = uci.reader.customDelimiter;
    std::string point = uci.reader.customDecimalPoint;
    uci.findsDelimiter = EqualsIgnoreCase(delimiter, "auto");
    for (const auto& [word, character] : words)
    {
        if (EqualsIgnoreCase(delimiter, word))
        {
            uci.isSpreadsheet = true;
            delimiter = character;
        }
        if (EqualsIgnoreCase(point, word) && character == ',')
            point = character;
    }
    if (uci.findsDelimiter)
    {
        uci.isSpreadsheet = true;
        delimiter.clear();
    }
    CheckCharacter(config, "customDelimiter", delimiter, ", or one of auto, comma, semicolon, tab, bar, space");
    CheckCharacter(config, "customDecimalPoint", point, ", or comma");
    if (!delimiter.empty())
        uci.delimiter = delimiter[0];
    if (!point.empty())
        uci.decimalPoint = point[0];
    if (!point.empty() && (point == delimiter || point == " " || point == "\t"))
        FailAt(config.WhereOf("customDecimalPoint"), ErrorKind::Config, "customDecimalPoint '", point,
               "' is a column separator as well");
}

} // namespace

PrefetchMode OptionType<PrefetchMode>::Read(const ConfigValue& value, const Range&)
{
    if (EqualsIgnoreCase(value.Text(), "auto"))
        return PrefetchMode::Auto;
    return value.AsBool() ? PrefetchMode::Always : PrefetchMode::Never;
}

std::string OptionType<PrefetchMode>::Print(const PrefetchMode& value)
{
    return value == PrefetchMode::Auto ? "auto" : value == PrefetchMode::Always ? "true" : "false";
}

OptionTable<UciFeatureOptions> UciFeatureOptions::Options()
{
    using S = UciFeatureOptions;
    return {
        Opt("file", &S::file,
            "Required. The data file; mostly written in the reader block, since all blocks read the same file")
            .Required()
            .InputFile(),
        Opt("dim", &S::dim, "Number of columns, one for each element of the feature; required unless columns is given",
            Range{1, double(c_mostColumns)}),
        Opt("start", &S::start, "First column, counted from 0", Range{0, double(c_mostColumns)}),
        ColumnNames(&S::columns),
        Opt("missing", &S::missing,
            "Number that stands for an empty cell, or for NA or ? as statistics programs write it; a list has one "
            "number for each column. Default: such a cell is an error"),
    };
}

OptionTable<UciLabelOptions> UciLabelOptions::Options()
{
    using S = UciLabelOptions;
    return {
        Opt("file", &S::file,
            "Required. The data file; mostly written in the reader block, since all blocks read the same file")
            .Required()
            .InputFile(),
        Opt("dim", &S::dim, "Number of label columns: 1 for a category", Range{0, double(c_mostColumns)}),
        Opt("start", &S::start, "First label column, counted from 0", Range{0, double(c_mostColumns)}),
        Opt("labelDim", &S::labelDim, "Number of classes; 0: as many as the mapping file has",
            Range{0, double(INT32_MAX)}),
        Choice("labelType", &S::labelType,
               {{"category", LabelType::Category}, {"regression", LabelType::Regression}, {"none", LabelType::None}},
               "category: text that the mapping file turns into a class; regression: numbers; none: no labels"),
        Opt("labelMappingFile", &S::labelMappingFile,
            "File with one label a line; the line number from 0 is the class id"),
        ColumnNames(&S::columns),
        Opt("missing", &S::missing,
            "Label that stands for an empty cell, a number for labelType=regression; default: an empty cell is an "
            "error"),
    };
}

OptionTable<UciReaderOptions> UciReaderOptions::Options()
{
    using S = UciReaderOptions;
    return {
        Opt("randomize", &S::randomize,
            "Order of the records: shuffled over the epoch (auto), as they stand (none), or shuffled in blocks of that "
            "many. Memory beside cacheMB: one byte a record for its place in the file, and four a record of the epoch "
            "or block that is shuffled"),
        MinibatchMode(&S::fullMinibatches),
        Opt("customDelimiter", &S::customDelimiter,
            "A character that separates columns, beside blank and tab. By word, as spreadsheets write: comma, "
            "semicolon, "
            "tab, bar or space, or auto, which finds the delimiter. Then only the delimiter separates columns, so that "
            "cells may hold blanks, and cells may be \"quoted\". An empty cell is an error, or missing gives its "
            "value"),
        Opt("customDecimalPoint", &S::customDecimalPoint,
            "The character used as decimal point, or comma; default: the point, and with customDelimiter=auto the "
            "comma "
            "where numbers have commas"),
        Choice("header", &S::header,
               {{"auto", HeaderMode::Auto}, {"true", HeaderMode::Present}, {"false", HeaderMode::Absent}},
               "The first line names the columns; auto: if it has no number where numbers belong. The log names the "
               "header"),
        Opt("prefetch", &S::prefetch, "Read ahead in a thread; auto: where that pays"),
        Opt("oneLinePerFile", &S::oneLinePerFile,
            "For files with one observation each: the minibatch size is nbruttsineachrecurrentiter"),
        Opt("nbruttsineachrecurrentiter", &S::parallelSequences,
            "The minibatch size if oneLinePerFile; not used otherwise: each record is a sequence of its own", Range{1},
            {"nbruttineachrecurrentiter"}),
        Opt("allowMapCreation", &S::allowMapCreation,
            "A missing mapping file is made from the labels in the order of the data; set by the createLabelMap "
            "action"),
        Opt("traceLevel", &S::traceLevel, "Amount of printing: 1 names the file, 2 shows progress marks"),
        Opt("verbosity", &S::verbosity, "").WithoutEffect(),
        Opt("cacheMB", &S::cacheMB,
            "Parsed data are kept in memory up to this many megabytes; larger ones are parsed anew from a piece of the "
            "file at a time"),
    };
}

UciConfig ReadUciConfig(const ReaderContext& context)
{
    const ConfigParameters& config = context.config;
    UciConfig uci;
    uci.reader = ReadReaderOptions<UciReaderOptions>(context);
    if (context.forWriting)
        uci.reader.randomize.range = 0;
    if (context.createLabelMaps)
        uci.reader.allowMapCreation = true;
    ReadSeparators(config, uci);
    uci.hasCacheKeys = ReadCacheKeys(config);

    std::vector<std::string> names = config.BlockNames();
    std::sort(names.begin(), names.end(), LessIgnoreCase);
    for (const std::string& name : names)
    {
        const ConfigParameters& inner = config.RequireBlock(name);
        UciBlock block;
        std::string file;
        if (IsLabels(inner))
        {
            if (!ReadLabelBlock(inner, file, block))
                continue;
            uci.hasLabels = true;
        }
        else if (IsFeatureBlock(inner))
        {
            block = ReadFeatureBlock(inner, file);
        }
        else
        {
            continue;
        }
        uci.hasCacheKeys = ReadCacheKeys(inner) || uci.hasCacheKeys;
        block.name = name;
        file = ResolveInputPath(file);
        if (!uci.file.empty() && file != uci.file && !IsSameFile(file, uci.file))
            FailAt(inner.WhereOf("file"), ErrorKind::Config, "'", name, "' reads '", file, "', but '",
                   uci.blocks[0].name, "' reads '", uci.file, "': features and labels must be in the same file");
        uci.file = file;
        uci.isSpreadsheet = uci.isSpreadsheet || !block.columnNames.empty() || !block.missing.empty();
        uci.fileWhere = inner.WhereOf("file");
        uci.blocks.push_back(std::move(block));
    }
    if (uci.blocks.empty())
        FailAt(
            config.Where(), ErrorKind::Config,
            "the reader has no feature block; it needs one such as features=[dim=2; start=0], named as the network's "
            "input",
            names.empty() ? "" : "; its blocks are ", Join(names, ", "));
    return uci;
}

void DescribeUciOptions(PluginDescription& description)
{
    AddOptions<UciReaderOptions>(description, "");
    AddOptions<UciFeatureOptions>(description, "features");
    AddOptions<UciLabelOptions>(description, "labels");
}

void AddUciInputFiles(const ReaderContext& context, std::vector<ConfigValue>& files)
{
    const bool makesMaps = ReadOptions<UciReaderOptions>(context.config).allowMapCreation;
    for (const std::string& name : context.config.BlockNames())
    {
        const ConfigParameters& block = context.config.RequireBlock(name);
        if (!IsLabels(block) && IsFeatureBlock(block))
            AddInputFiles<UciFeatureOptions>(block, files);
        if (!IsLabels(block))
            continue;
        const LabelType type = ReadOptions<UciLabelOptions>(block).labelType;
        if (type != LabelType::None)
            AddInputFiles<UciLabelOptions>(block, files);
        const std::optional<ConfigValue> map = block.Find("labelMappingFile");
        if (type == LabelType::Category && map && !makesMaps)
            files.push_back(*map);
    }
    ReadUciConfig(context);
}

} // namespace cntk
