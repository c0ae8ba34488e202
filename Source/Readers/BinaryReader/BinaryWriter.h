// BinaryWriter: values of nodes as sections of one file in the binary format of CNTK v1.1.
#pragma once

#include "Common/ReaderInterface.h"
#include "Readers/BinaryReader/BinaryFormat.h"

#include <cstddef>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

// Figures over all numbers of a section of data, for a section of statistics.
class BinaryStatistics
{
public:
    static constexpr size_t c_nameBytes = 24;
    static constexpr size_t c_recordBytes = c_nameBytes + sizeof(double);

    // Returns the known names: "sum", "count", "mean", "max", "min", "range", "rootmeansquare", "variance", "stddev".
    static const std::vector<std::string>& Names();

    void Add(double value);
    double ValueOf(std::string_view name) const; // name: one of Names(), in any case
    // Returns the records of a section of statistics: a name of 24 bytes and a double each.
    std::string Encode(const std::vector<std::string>& names) const;

private:
    size_t m_count = 0;
    double m_sum = 0;
    double m_squares = 0;
    double m_max = 0;
    double m_min = 0;
    double m_mean = 0; // running mean, updated with m_differences, the sum of squared differences
    double m_differences = 0;
};

template <class ElemType>
class BinaryWriter final : public IDataWriter<ElemType>
{
public:
    explicit BinaryWriter(const ReaderContext& context);

    std::vector<std::string> OutputNames() const override;
    void RequireFit(const std::map<std::string, size_t>& rows, size_t sequences) const override;
    void SaveMinibatch(const std::map<std::string, StreamBatch<ElemType>>& outputs,
                       const std::vector<std::string>& sequenceKeys) override;
    void Finish() override;

private:
    struct CloseFile
    {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    struct Section
    {
        std::string name;
        bool isCategory = false; // the row of the largest value is stored
        bool isLabel = false;
        size_t rows = 0;
        size_t records = 0;
        std::unique_ptr<std::FILE, CloseFile> data; // temporary, until the number of records is known
        // From an inner block with sectionType=stats.
        std::vector<std::string> statisticNames;
        std::string statisticsBlock;
        BinaryStatistics statistics;
        // From an inner block with sectionType=labelMapping.
        std::vector<std::string> labelNames;
        std::string labelMapSource;
        std::string labelMapBlock;
        std::string categoryBlock; // name of an inner block with sectionType=categoryLabels
    };
    // A complete section within a section.
    struct InnerSection
    {
        BinaryHeader header;
        std::string data;
    };

    static void RequireRows(const Section& section, size_t rows);
    static void AddInnerSection(Section& section, const ConfigParameters& block);
    static void AddLabelNames(Section& section, const ConfigParameters& block);
    static void AddCategoryLabels(Section& section, const ConfigParameters& block);
    static void AddStatistics(Section& section, const ConfigParameters& block);
    static std::vector<InnerSection> InnerSectionsOf(const Section& section);
    static InnerSection LabelMapOf(const Section& section);
    static InnerSection CategoryLabelsOf(const Section& section);
    static InnerSection StatisticsOf(const Section& section);
    static BinaryHeader HeaderOf(const Section& section, size_t position);
    static void WritePadded(AtomicFile& target, const BinaryHeader& header, const std::string& data);

    void Append(Section& section, const ElemType* column);
    void Write(Section& section, const void* data, size_t bytes) const;
    void WriteSection(AtomicFile& target, const Section& section, const BinaryHeader& header) const;

    std::string m_path;
    std::vector<Section> m_sections;
};

void DescribeBinaryWriterOptions(PluginDescription& description);

} // namespace cntk
