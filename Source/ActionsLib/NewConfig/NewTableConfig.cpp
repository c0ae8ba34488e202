// The choice of inputs and of the column to predict, and the config for them.
#include "ActionsLib/NewConfig/NewFiles.h"
#include "ActionsLib/NewConfig/NewTable.h"
#include "Common/Error.h"
#include "Common/TableText.h"
#include "Common/Text.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <optional>

namespace cntk
{

namespace
{

constexpr size_t c_mostWholeClasses = 100; // more distinct whole numbers are a quantity

// The column that the config predicts, and the columns of its inputs.
struct TablePlan
{
    size_t label = 0;
    bool isClass = false;             // else a number
    std::vector<std::string> classes; // sorted
    std::vector<size_t> inputs;       // columns
    std::vector<std::string> omitted; // "'city' (text)"
    double scale = 0;                 // 0: each column is normalised; else all values are multiplied by it
    bool hasEmptyCells = false;       // in an input
    std::vector<double> means;        // of each input, in the training data; for empty cells
};

std::string NameOf(const NewTable& table, size_t column)
{
    return table.columns[column].name.empty() ? Concat("column ", column) : table.columns[column].name;
}

bool IsClassColumn(const NewColumn& column, size_t records)
{
    if (column.values.size() < 2 || !column.HasAllValues())
        return false;
    const size_t fewestOfClass = column.isNumber ? 5 : 2; // records, on average; dates and names differ mostly
    return column.values.size() * fewestOfClass <= records &&
           (!column.isNumber || (column.isWhole && column.values.size() <= c_mostWholeClasses));
}

// Share of the greatest entropy that as many values can have: 1 if all values are equally frequent.
double BalanceOf(const NewColumn& column)
{
    double total = 0, entropy = 0;
    for (const size_t count : column.counts)
        total += double(count);
    for (const size_t count : column.counts)
        entropy -= double(count) / total * std::log(double(count) / total);
    return entropy / std::log(double(column.counts.size()));
}

std::optional<size_t> FindNamed(const NewTable& table, const std::string& name)
{
    for (size_t i = 0; i < table.columns.size(); ++i)
        if (EqualsIgnoreCase(table.columns[i].name, name))
            return i;
    const auto number = ParseSize(name);
    return number && *number < table.columns.size() ? std::optional<size_t>(*number) : std::nullopt;
}

// Returns the first column that has the first of these names, else of the second one, and so on.
std::optional<size_t> FindFirst(const std::vector<std::string>& names, std::initializer_list<const char*> wanted)
{
    for (const char* const name : wanted)
        for (size_t i = 0; i < names.size(); ++i)
            if (EqualsIgnoreCase(names[i], name))
                return i;
    return std::nullopt;
}

// Labels stand last in a line, in tables without a header also first. If both columns may be classes, the more balanced
// one is taken: a pixel at the border is mostly 0.
size_t ChooseLabel(const NewTable& table, const NewConfigRequest& request)
{
    std::vector<std::string> names;
    for (const NewColumn& column : table.columns)
        names.push_back(column.name);
    if (!request.label.empty())
    {
        if (const auto found = FindNamed(table, request.label))
            return *found;
        Fail(ErrorKind::Usage, "label=", request.label, ": '", request.data, "' has no such column; expected ",
             table.header.empty() ? Concat("a number below ", table.columns.size()) : "one of " + Join(names, ", "),
             DidYouMean(request.label, names));
    }
    if (const auto named = FindFirst(names, {"label", "class", "target", "species", "category"}))
        return *named;
    const size_t records = table.records.size();
    std::vector<size_t> texts;
    for (size_t i = 0; i < table.columns.size(); ++i)
        if (!table.columns[i].isNumber && IsClassColumn(table.columns[i], records))
            texts.push_back(i);
    if (texts.size() == 1)
        return texts[0];
    if (const auto named = FindFirst(names, {"y"}))
        return *named;
    const NewColumn &first = table.columns.front(), &last = table.columns.back();
    if (!table.header.empty())
        return table.columns.size() - 1;
    if (!IsClassColumn(last, records))
        return IsClassColumn(first, records) ? 0 : table.columns.size() - 1;
    return IsClassColumn(first, records) && BalanceOf(first) > BalanceOf(last) ? 0 : table.columns.size() - 1;
}

// True for the running number of the record.
bool IsIndex(const NewColumn& column, size_t records)
{
    return column.isWhole && column.empty == 0 && column.max - column.min + 1 == double(records) &&
           column.values.size() == std::min(records, NewColumn::c_mostValues) &&
           (column.name.empty() || ToLower(column.name).find("id") != std::string::npos ||
            EqualsIgnoreCase(column.name, "index"));
}

// Pixels have whole numbers from 0 to one limit. Scaling all alike keeps those that are nearly constant harmless.
double ScaleOfPixels(const NewTable& table, const std::vector<size_t>& inputs)
{
    constexpr size_t c_fewestPixels = 16;
    constexpr double c_largestPixel = 255;
    double max = 0;
    for (const size_t i : inputs)
    {
        const NewColumn& column = table.columns[i];
        if (!column.isNumber || !column.isWhole || column.min < 0 || column.max > c_largestPixel)
            return 0;
        max = std::max(max, column.max);
    }
    return inputs.size() < c_fewestPixels || max == 0 ? 0 : 1 / max;
}

// Returns why a column is no input; null if it is one. Normalising a constant column would divide by 0.
const char* WhyOmitted(const NewColumn& column, size_t records)
{
    if (!column.isNumber)
        return "text";
    if (IsIndex(column, records))
        return "numbers the records";
    return column.values.size() < 2 ? "constant" : nullptr;
}

template <class IsOmitted>
std::vector<size_t> ColumnsWithout(const NewTable& table, size_t label, const IsOmitted& isOmitted)
{
    std::vector<size_t> columns;
    for (size_t i = 0; i < table.columns.size(); ++i)
        if (i != label && !isOmitted(table.columns[i]))
            columns.push_back(i);
    return columns;
}

TablePlan PlanOf(const NewTable& table, const NewConfigRequest& request)
{
    TablePlan plan;
    plan.label = ChooseLabel(table, request);
    const NewColumn& label = table.columns[plan.label];
    plan.isClass = IsClassColumn(label, table.records.size());
    if (label.empty > 0)
        Fail(ErrorKind::Data, request.data, ": ", Counted(label.empty, "record"), " without a value in ",
             NameOf(table, plan.label),
             ", which is to be predicted; remove them, or choose another column with label=");
    if (label.values.size() < 2 || (!plan.isClass && !label.isNumber))
        Fail(ErrorKind::Data, request.data, ": ", NameOf(table, plan.label), " cannot be predicted: it has ",
             label.values.size() < 2 ? "one value only" : "too many different texts",
             "; choose another column with label=<name>");
    if (plan.isClass)
    {
        plan.classes = label.values;
        std::sort(plan.classes.begin(), plan.classes.end(),
                  [&](const std::string& a, const std::string& b) {
                      return label.isNumber ? *NumberOf(a, table.decimalPoint) < *NumberOf(b, table.decimalPoint)
                                            : a < b;
                  });
    }
    const std::vector<size_t> pixels = ColumnsWithout(table, plan.label, [](const NewColumn&) { return false; });
    plan.scale = ScaleOfPixels(table, pixels);
    plan.inputs = pixels;
    if (plan.scale == 0)
        plan.inputs = ColumnsWithout(table, plan.label,
                                     [&](const NewColumn& column)
                                     { return WhyOmitted(column, table.records.size()) != nullptr; });
    for (const size_t i : pixels)
        if (std::find(plan.inputs.begin(), plan.inputs.end(), i) == plan.inputs.end())
            plan.omitted.push_back(
                Concat(NameOf(table, i), " (", WhyOmitted(table.columns[i], table.records.size()), ")"));
    plan.hasEmptyCells =
        std::any_of(plan.inputs.begin(), plan.inputs.end(), [&](size_t i) { return table.columns[i].empty > 0; });
    if (plan.inputs.empty())
        Fail(ErrorKind::Data, request.data,
             ": no column of numbers is left as input of the network; left out: ", Join(plan.omitted, ", "));
    return plan;
}

// "start=0; dim=4", or the columns by name or number.
std::string ColumnsText(const NewTable& table, const std::vector<size_t>& columns, const char* key)
{
    constexpr size_t c_mostNames = 20;
    const auto isName = [&](size_t column)
    {
        const std::string& name = table.columns[column].name;
        return !name.empty() && !IsDigit(name[0]) && std::all_of(name.begin(), name.end(), IsNameChar);
    };
    std::vector<std::string> words;
    const bool hasNames = columns.size() <= c_mostNames && std::all_of(columns.begin(), columns.end(), isName);
    for (const size_t column : columns)
        words.push_back(hasNames ? table.columns[column].name : std::to_string(column));
    if (!hasNames && columns.back() - columns.front() + 1 == columns.size())
        return Concat("start=", columns.front(), "; dim=", columns.size());
    return Concat(key, "=", Join(words, ":"));
}

enum class WithLabels
{
    Yes,
    No // for predictions: new data have no column to predict
};

std::string ReaderText(const NewTable& table, const TablePlan& plan, const NewFiles& files, const char* block,
                       DataPart part, WithLabels withLabels = WithLabels::Yes)
{
    std::string format;
    const std::pair<char, const char*> words[] = {{',', "comma"}, {';', "semicolon"}, {'\t', "tab"}, {'|', "bar"}};
    for (const auto& [delimiter, word] : words)
        if (table.delimiter == delimiter)
            format += Concat("    customDelimiter=", word, "\n");
    if (table.decimalPoint == ',')
        format += "    customDecimalPoint=comma\n";
    if (!table.header.empty())
        format += "    header=true\n";
    const std::string missing = plan.hasEmptyCells ? "; missing=$Missing$" : "";
    const std::string label = ColumnsText(table, {plan.label}, "column");
    const std::string inputs = ColumnsText(table, plan.inputs, "columns");
    return Concat("  ", block, "=[\n    readerType=UCIFastReader\n    file=$Folder$/", c_partNames[part],
                  files.Ending(), "\n", format, "    features=[ ",
                  inputs.starts_with("columns=") ? std::string("columns=$Inputs$") : inputs, missing, " ]\n",
                  withLabels == WithLabels::No ? std::string()
                  : plan.isClass               ? Concat("    labels=[ ", label, "; labelDim=", plan.classes.size(),
                                                        "; labelMappingFile=$Folder$/labels.txt ]\n")
                                               : Concat("    labels=[ ", label, "; labelType=regression ]\n"),
                  "  ]\n");
}

std::string NetworkText(const TablePlan& plan, size_t hidden)
{
    const std::string input =
        plan.scale > 0
            ? Concat("      x = Scale(", plan.scale, ", features)            # values from 0 to 1\n")
            : std::string(
                  "      inputMean = Mean(features)              # of the training data, computed before the training\n"
                  "      inputScale = InvStdDev(features)\n"
                  "      x = PerDimMeanVarNormalization(features, inputMean, inputScale)\n");
    const std::string layers = "      h1 = Layer(x, Hidden, 7)\n"
                               "      s1 = RectifiedLinear(h1)\n"
                               "      h2 = Layer(s1, Hidden, 7)               # a further layer: copy two lines\n"
                               "      s2 = RectifiedLinear(h2)\n";
    const std::string outputs =
        plan.isClass
            ? std::string("      z = Layer(s2, Classes, 1)\n"
                          "      loss = CrossEntropyWithSoftmax(labels, z, tag=criterion)\n"
                          "      error = ErrorPrediction(labels, z, tag=eval)\n"
                          "      posteriors = Softmax(z, tag=output)     # a probability for each class\n")
            : std::string("      # The network predicts the normalised value.\n"
                          "      labelMean = Mean(labels)\n"
                          "      labelScale = InvStdDev(labels)\n"
                          "      target = PerDimMeanVarNormalization(labels, labelMean, labelScale)\n"
                          "      z = Layer(s2, 1, 1)\n"
                          "      loss = SquareError(target, z, tag=criterion)\n"
                          "      prediction = PerDimMeanVarDeNormalization(z, labelMean, labelScale, tag=output)\n"
                          "      valueError = SquareError(labels, prediction, tag=eval)    # in units of the data\n");
    return Concat("  NDLNetworkBuilder=[\n    run=network\n    macros=[\n"
                  "      Layer(x, units, scale)                  # weights * x + bias; scale: of the start values\n"
                  "      {\n"
                  "        W = Parameter(units, 0, init=gaussian, initValueScale=scale)\n"
                  "        b = Parameter(units, init=fixedValue, value=0)\n"
                  "        z = Plus(Times(W, x), b)\n"
                  "      }\n    ]\n    load=macros\n    network=[\n      Hidden = ",
                  hidden, "\n", plan.isClass ? Concat("      Classes = ", plan.classes.size(), "\n") : std::string(),
                  "      features = Input(", plan.inputs.size(), ", tag=feature)\n      labels = Input(",
                  plan.isClass ? plan.classes.size() : 1, ", tag=label)\n", input, layers, outputs, "    ]\n  ]\n");
}

// Means of columns over the training records that have a value.
std::vector<double> MeansOf(const NewTable& table, const std::vector<size_t>& columns, const DataSplit& split)
{
    std::vector<double> sums(columns.size()), counts(columns.size());
    for (size_t record = 0; record < table.records.size(); ++record)
    {
        if (split.parts[record] != TrainingPart)
            continue;
        const std::vector<std::string> cells = CellsOf(table.records[record], table.delimiter);
        for (size_t i = 0; i < columns.size(); ++i)
            if (const auto number = NumberOf(cells[columns[i]], table.decimalPoint))
            {
                sums[i] += *number;
                counts[i] += 1;
            }
    }
    for (size_t i = 0; i < sums.size(); ++i)
        sums[i] /= std::max(counts[i], 1.0);
    return sums;
}

std::vector<std::string> TextsOfMeans(const TablePlan& plan)
{
    std::vector<std::string> texts;
    for (const double mean : plan.means)
        texts.push_back(Concat(mean));
    return texts;
}

std::string ConfigText(const NewTable& table, const TablePlan& plan, const NewFiles& files, const std::string& data,
                       const std::vector<std::string>& assumptions, size_t trainingRecords)
{
    const size_t inputs = plan.inputs.size();
    const size_t hidden = inputs <= 64 ? 64 : inputs <= 256 ? 128 : 256;
    const double rate = inputs <= 64 ? 0.01 : inputs <= 256 ? 0.003 : 0.001;
    std::string head = HeadText(files, data, assumptions, "Train:Test:Predict");
    const std::string columns = ColumnsText(table, plan.inputs, "columns");
    if (columns.starts_with("columns="))
        head.insert(head.size() - 1, "Inputs=" + columns.substr(columns.find('=') + 1) + "\n");
    if (plan.hasEmptyCells)
        head.insert(head.size() - 1, "Missing=" + Join(TextsOfMeans(plan), ":") + "   # for empty cells: means\n");
    return head + "Train=[\n  action=train\n" + NetworkText(plan, hidden) + SgdText(SizesOf(trainingRecords, rate)) +
           ReaderText(table, plan, files, "reader", TrainingPart) + "  # Validation data choose the best model.\n" +
           ReaderText(table, plan, files, "cvReader", ValidationPart) +
           "]\n\n# Error on data that the training has not seen\nTest=[\n  action=test\n" +
           (plan.isClass ? c_classTest : "") + ReaderText(table, plan, files, "reader", TestPart) + "]\n\n# " +
           (plan.isClass ? "Probabilities of the classes, in the order of labels.txt" : "Predicted values") +
           ", a line for each line of the test data.\n" +
           NewDataText(files, "new" + files.Ending(), "which need no column to predict") +
           "Predict=[\n  action=write\n  outputPath=$Folder$/predictions\n" +
           ReaderText(table, plan, files, "reader", TestPart, WithLabels::No) + "]\n";
}

std::vector<std::string> AssumptionsOf(const NewTable& table, const TablePlan& plan, const DataSplit& split)
{
    constexpr size_t c_mostClasses = 10;
    std::vector<std::string> shown(plan.classes.begin(),
                                   plan.classes.begin() + ptrdiff_t(std::min(plan.classes.size(), c_mostClasses)));
    if (shown.size() < plan.classes.size())
        shown.emplace_back("...");
    std::vector<std::string> words = {
        Concat("a table of ", Counted(table.records.size(), "record"), " and ", table.columns.size(),
               " columns, separated by ", DelimiterInWords(table.delimiter),
               table.decimalPoint == ',' ? ", with decimal commas" : "",
               table.header.empty() ? ", without a header" : ", after a header"),
        Concat("to predict: ", NameOf(table, plan.label), ", ",
               plan.isClass ? Concat("one of ", plan.classes.size(), " classes (", Join(shown, ", "), ")")
                            : std::string("a number"),
               "; label=<column> after the data chooses another column"),
        Concat("inputs: ", Counted(plan.inputs.size(), "column"),
               plan.scale > 0 ? Concat(" of values such as pixels, scaled by ", plan.scale)
                              : std::string(", each normalised to mean 0 and deviation 1"))};
    if (!plan.omitted.empty())
        words.push_back("left out: " + Join(plan.omitted, ", "));
    if (plan.hasEmptyCells)
        words.emplace_back(
            "empty cells of inputs (also NA and ?) count as the mean of the column in the training data");
    words.push_back(split.InWords("record"));
    return words;
}

} // namespace

std::string WriteTableConfig(const NewConfigRequest& request, std::string_view text)
{
    const NewTable table = NewTable::Read(text, request.data);
    if (table.records.size() < 10)
        Fail(ErrorKind::Data, request.data, " has ", Counted(table.records.size(), "record"),
             "; expected 10 or more, to split them into training, validation and test data");
    TablePlan plan = PlanOf(table, request);
    std::map<std::string, size_t> ids;
    for (const std::string& name : plan.classes)
        ids.emplace(name, ids.size());
    std::vector<size_t> classes;
    if (plan.isClass)
        for (const std::string& label : table.TextsOf(plan.label))
            classes.push_back(ids.at(label));
    const DataSplit split = SplitRecords(table.records, classes);
    plan.means = MeansOf(table, plan.inputs, split);
    const std::string ending = std::filesystem::path(WithoutGzipEnding(request.data)).extension().string();
    NewFiles files(request.config, ending.empty() ? ".txt" : ending);
    const std::array<std::string, DataParts> parts = TextsOfParts(table.records, split, table.header);
    for (size_t part = 0; part < DataParts; ++part)
        files.Add(c_partNames[part] + files.Ending(), parts[part]);
    if (plan.isClass)
        files.Add("labels.txt", LabelMapText(plan.classes));
    const std::vector<std::string> assumptions = AssumptionsOf(table, plan, split);
    files.AddConfig(ConfigText(table, plan, files, request.data, assumptions, split.counts[TrainingPart]));
    files.Write();
    return ReportText(files, request.data, assumptions);
}

} // namespace cntk
