// Files, the split of data, and the texts that all new configs have.
#include "ActionsLib/NewConfig/NewFiles.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "Common/LabelLine.h"
#include "Common/Text.h"
#include "Common/WrappedText.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <unordered_map>

namespace cntk
{

namespace
{

constexpr unsigned c_splitSeed = 1;
constexpr size_t c_smallDataSet = 1000;

// The same on every machine, unlike std::shuffle.
void Shuffle(std::vector<size_t>& values, std::mt19937& generator)
{
    for (size_t i = values.size(); i > 1; --i)
        std::swap(values[i - 1], values[generator() % i]);
}

// Breaks a text into comment lines of at most 100 characters.
std::string CommentLines(const std::string& text)
{
    constexpr size_t c_longestLine = 100;
    std::string lines, line = "#";
    for (const std::string_view word : Split(text, ' '))
    {
        if (line.size() + 1 + word.size() > c_longestLine)
        {
            lines += line + "\n";
            line = "#  ";
        }
        line += " " + std::string(word);
    }
    return lines + line + "\n";
}

} // namespace

NewFiles::NewFiles(std::string config, std::string ending) : m_config(std::move(config)), m_ending(std::move(ending))
{
    const std::string_view extension = ".cntk";
    std::string begin = m_config;
    if (ToLower(begin).ends_with(extension))
        begin.resize(begin.size() - extension.size());
    m_name = begin.substr(begin.rfind('/') + 1);
    m_folder = begin + "_files";
}

void NewFiles::Write() const
{
    for (const auto& [path, text] : m_files)
        if (FileExists(path))
            Fail(ErrorKind::Usage, "'", path,
                 "' exists, and --new overwrites nothing; give the config another name: cntk --new <data> other.cntk");
    // The config comes last, so that an interrupted run leaves no config without its data.
    std::vector<std::pair<std::string, std::string>> sorted = m_files;
    std::stable_partition(sorted.begin(), sorted.end(), [&](const auto& file) { return file.first != m_config; });
    for (const auto& [path, text] : sorted)
    {
        AtomicFile file(path);
        file.Write(text);
        file.Commit();
    }
}

std::string DataSplit::InWords(const char* noun) const
{
    std::string text = Concat(counts[TrainingPart], " ", noun, "s for training, ", counts[ValidationPart],
                              " for validation, ", counts[TestPart], " for the test (seed ", c_splitSeed, ")");
    if (repeated > 0)
        text += Concat("; ", Counted(repeated, noun), repeated == 1 ? " is" : " are",
                       " equal to others and stay in their part");
    return text;
}

std::string WithoutGzipEnding(const std::string& path)
{
    constexpr std::string_view c_ending = ".gz";
    return ToLower(path).ends_with(c_ending) ? path.substr(0, path.size() - c_ending.size()) : path;
}

DataSplit SplitRecords(const std::vector<std::string_view>& records, const std::vector<size_t>& classes)
{
    DataSplit split;
    split.parts.assign(records.size(), TrainingPart);
    std::unordered_map<std::string_view, size_t> firsts;
    std::map<size_t, std::vector<size_t>> distinct; // by class
    for (size_t i = 0; i < records.size(); ++i)
        if (firsts.emplace(records[i], i).second)
            distinct[classes.empty() ? 0 : classes[i]].push_back(i);
    split.repeated = records.size() - firsts.size();

    const double share = records.size() < c_smallDataSet ? 0.2 : 0.1;
    std::mt19937 generator(c_splitSeed);
    for (auto& [ignored, members] : distinct)
    {
        Shuffle(members, generator);
        const size_t part = std::min(std::max<size_t>(size_t(std::lround(share * double(members.size()))), 1),
                                     (members.size() - 1) / 2);
        for (size_t i = 0; i < 2 * part; ++i)
            split.parts[members[i]] = i < part ? TestPart : ValidationPart;
    }
    for (size_t i = 0; i < records.size(); ++i)
    {
        split.parts[i] = split.parts[firsts.at(records[i])];
        ++split.counts[split.parts[i]];
    }
    return split;
}

std::array<std::string, DataParts> TextsOfParts(const std::vector<std::string_view>& records, const DataSplit& split,
                                                std::string_view header)
{
    std::array<std::string, DataParts> texts;
    for (std::string& text : texts)
        text = header.empty() ? "" : std::string(header) + "\n";
    for (size_t i = 0; i < records.size(); ++i)
        texts[split.parts[i]].append(records[i]).append("\n");
    return texts;
}

std::string LabelMapText(const std::vector<std::string>& names)
{
    std::string text;
    for (const std::string& name : names)
    {
        const auto line = LineOfLabel(name);
        if (!line)
            Fail(ErrorKind::Data, "the class '", name,
                 "' cannot stand in a label map, which needs other characters; rename the class");
        text += *line + "\n";
    }
    return text;
}

TrainingSizes SizesOf(size_t records, double rate)
{
    constexpr double c_samplesToTrain = 600000;
    TrainingSizes sizes;
    sizes.epochs = size_t(std::clamp(c_samplesToTrain / double(std::max<size_t>(records, 1)), 8.0, 60.0));
    sizes.minibatch = records < 20000 ? 32 : records < 200000 ? 64 : 256;
    sizes.rates = Concat(rate, "*", sizes.epochs / 2, ":", rate * 0.3, "*", sizes.epochs / 4, ":", rate * 0.1);
    return sizes;
}

std::string NewDataText(const NewFiles& files, const std::string& data, const std::string& needs)
{
    return Concat("# From new data (", needs, "), with a report of its own:\n#   cntk ", files.Config(),
                  " command=Predict report=new.html \"Predict=[reader=[file=", data, "]; outputPath=new]\"\n");
}

std::string SgdText(const TrainingSizes& sizes)
{
    return Concat("  SGD=[\n"
                  "    maxEpochs=",
                  sizes.epochs,
                  "                  # an epoch is one pass over the training data\n"
                  "    minibatchSize=",
                  sizes.minibatch,
                  "\n"
                  "    gradUpdateType=adam\n"
                  "    learningRatesPerMB=",
                  sizes.rates,
                  "   # rate*epochs, then a smaller rate\n"
                  "    earlyStopPatience=15          # ends if the validation loss has not fallen for so many epochs\n"
                  "    keepModels=last:3             # models of earlier epochs are removed; the best one stays\n"
                  "  ]\n");
}

std::string HeadText(const NewFiles& files, const std::string& data, const std::vector<std::string>& assumptions,
                     const std::string& commands)
{
    std::string text = "# Made by: cntk --new " + data + "\n#\n";
    for (const std::string& assumption : assumptions)
        text += CommentLines("- " + assumption);
    return text + Concat("#\n"
                         "#   cntk ",
                         files.Config(),
                         " --check           finds mistakes, without training\n"
                         "#   cntk ",
                         files.Config(),
                         "                   trains, tests, writes predictions\n"
                         "#   cntk ",
                         files.Config(),
                         " makeMode=false    trains anew, after a change\n"
                         "#   cntk --help SGD                explains a block or a word of this file\n\n"
                         "command=",
                         commands,
                         "      # the blocks below to run, in this order\n"
                         "Folder=",
                         files.Folder(),
                         "\n"
                         "modelPath=$Folder$/model/",
                         files.Name(),
                         ".dnn\n"
                         "report=$Folder$/report.html   # curves, results and this config, for a browser\n"
                         "numMBsToShowResult=0          # no progress lines within an epoch\n\n");
}

std::string ReportText(const NewFiles& files, const std::string& data, const std::vector<std::string>& assumptions)
{
    std::string text = "Looked at " + data + " and assumed:\n";
    for (const std::string& assumption : assumptions)
        text += "  - " + Wrapped(assumption, 4, 4) + "\n";
    return text + Concat("\nWrote ", files.Config(), " and the folder ", files.Folder(),
                         ". Next:\n"
                         "  cntk ",
                         files.Config(),
                         " --check\n"
                         "  cntk ",
                         files.Config(), "\n");
}

} // namespace cntk
