// Shared by all kinds of data: the files of a new config, and the split into training, validation and test data.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cntk
{

// The files of a new config. None of them is written if one of them exists.
class NewFiles
{
public:
    // config: "iris.cntk". ending: of the parts of the data, ".csv".
    NewFiles(std::string config, std::string ending);

    const std::string& Config() const { return m_config; }
    const std::string& Name() const { return m_name; }     // "iris"
    const std::string& Folder() const { return m_folder; } // "iris_files"
    const std::string& Ending() const { return m_ending; }

    void AddConfig(std::string text) { m_files.emplace_back(m_config, std::move(text)); }
    // Adds a file of the folder.
    void Add(const std::string& name, std::string text)
    {
        m_files.emplace_back(m_folder + "/" + name, std::move(text));
    }
    // Fails (Usage) if one of the files exists.
    void Write() const;

private:
    std::string m_config;
    std::string m_name;
    std::string m_folder;
    std::string m_ending;
    std::vector<std::pair<std::string, std::string>> m_files;
};

enum DataPart : size_t
{
    TrainingPart,
    ValidationPart,
    TestPart,
    DataParts
};
constexpr std::array<const char*, DataParts> c_partNames = {"train", "valid", "test"};

struct DataSplit
{
    std::vector<DataPart> parts; // of each record
    std::array<size_t, DataParts> counts{};
    size_t repeated = 0; // records that are equal to an earlier one, whose part they share

    // "800 records for training, 100 for validation, 100 for the test (seed 1)"
    std::string InWords(const char* noun) const;
};

// "iris.csv" for "iris.csv.gz": gzipped data are read as the text inside.
std::string WithoutGzipEnding(const std::string& path);

// Splits records at random, always in the same way. Equal records come into one part, so that no record is in two
// parts. Each class is split on its own. classes: of each record; empty: there are none. Small data sets have larger
// validation and test data: 20 % each, from 1000 records on 10 %.
DataSplit SplitRecords(const std::vector<std::string_view>& records, const std::vector<size_t>& classes);

// The texts of the parts, with the header line before each of them. records: lines without their ends.
std::array<std::string, DataParts> TextsOfParts(const std::vector<std::string_view>& records, const DataSplit& split,
                                                std::string_view header);

// The text of a label map; fails (Data) if a name cannot stand in one.
std::string LabelMapText(const std::vector<std::string>& names);

// Sizes of a training that depend on the number of training records.
struct TrainingSizes
{
    size_t epochs = 0;
    size_t minibatch = 0;
    std::string rates; // of learningRatesPerMB: "0.01*30:0.003*15:0.001"
};
TrainingSizes SizesOf(size_t records, double rate);

// Parameters of a test of classes: its predictions and its confusion matrix.
constexpr const char* c_classTest =
    "  predictions=$Folder$/predictions.csv   # label, predicted class, probability\n"
    "  confusion=$Folder$/confusion           # .csv and .svg: which classes are mixed up\n";

// Comment on predictions from new data. data: "new.csv". needs: a sentence about these data.
std::string NewDataText(const NewFiles& files, const std::string& data, const std::string& needs);

// The block SGD, with comments.
std::string SgdText(const TrainingSizes& sizes);
// The lines at the begin of a config: what it was made from, the commands to run, and the command list.
std::string HeadText(const NewFiles& files, const std::string& data, const std::vector<std::string>& assumptions,
                     const std::string& commands);
// "Looked at ...", the assumptions, the files and the next two commands, in lines of 80 columns.
std::string ReportText(const NewFiles& files, const std::string& data, const std::vector<std::string>& assumptions);

} // namespace cntk
