// A confusion matrix as a table (CSV) and as a picture, and the file of predictions.
#pragma once

#include "Common/File.h"
#include "Report/Svg.h"
#include "SGD/Evaluation/Classification.h"

#include <string>

namespace cntk
{

// Tables of more classes list the most frequent errors instead of all counts.
constexpr size_t c_mostClassesInMatrix = 256;

// One line for each label: the label, the number of its samples by predicted class, then samples, precision, recall and
// F1 of the class. Undefined values are empty. Above 256 classes: a line for each of the 1000 most frequent errors with
// label, predicted, samples.
std::string ConfusionCsv(const ConfusionCounts& counts);

// To 50 classes a heat map, to 12 of them with numbers; above, the 20 most frequent errors and the 20 worst classes.
Svg ConfusionPicture(const ConfusionCounts& counts);

// Lines "record,label,predicted,probability" and, if the reader has keys of sequences, "sequence". Records count from 1
// in the order of the data. Replaces the file when all lines are written.
class PredictionsFile
{
public:
    // counts: names the classes; must outlive the file.
    PredictionsFile(const std::string& path, const ConfusionCounts& counts);

    void Add(const ClassifiedSample& sample);
    void Commit();

private:
    void Flush();

    AtomicFile m_file;
    const ConfusionCounts& m_counts;
    std::string m_text; // not yet written
    size_t m_records = 0;
    bool m_hasSequences = false;
};

} // namespace cntk
