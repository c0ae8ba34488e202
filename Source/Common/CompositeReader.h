// Several readers as one (book 5.1, readers=a:b): each is a block of its own with its own readerType. All are asked for
// every minibatch, and each fills the streams it has.
#pragma once

#include "Common/ReaderInterface.h"
#include "Common/SourceText.h"

#include <memory>
#include <string>
#include <vector>

namespace cntk
{

template <class ElemType>
class CompositeReader final : public IDataReader<ElemType>
{
public:
    struct Part
    {
        std::string name; // of its block
        std::unique_ptr<IDataReader<ElemType>> reader;
        std::string kind = {}; // parts of one kind name sequences alike
    };

    // Fails (Config) if two parts have a stream of the same name. where: the value of readers=. log: gets a warning
    // where sequences of other names stand side by side; null: nobody is told.
    explicit CompositeReader(std::vector<Part> parts, const SourcePos& where = {}, Log* log = nullptr);

    const std::vector<StreamInfo>& Streams() const override { return m_streams; }
    // A part none of whose streams is wanted is left out.
    void StartEpoch(const EpochRequest& request) override;
    // Fails (Data) if the parts deliver different numbers of samples or minibatches.
    bool GetMinibatch(HostMinibatch<ElemType>& minibatch) override;
    size_t TotalSamples() override;
    std::vector<std::string> CreateLabelMaps() override;
    size_t ParallelSequences(size_t epoch) const override { return m_parts.front().reader->ParallelSequences(epoch); }
    bool HasLattices() const override
    {
        return std::any_of(m_parts.begin(), m_parts.end(), [](const Part& part) { return part.reader->HasLattices(); });
    }
    size_t SequencesToWrite() const override { return m_parts.front().reader->SequencesToWrite(); }
    void VisitListedFiles(const ListedFileVisitor& visit) const override
    {
        for (const Part& part : m_parts)
            part.reader->VisitListedFiles(visit);
    }

private:
    void RequireOneWithLattices() const;
    void CheckSamples(size_t part, size_t first, const MBLayout& layout, const MBLayout& expected);
    void CompareNames(size_t part, size_t first, const std::vector<std::string>& expected);
    std::string WhyTheyDiffer(size_t first, size_t part);

    std::vector<Part> m_parts;
    std::vector<StreamInfo> m_streams; // of all parts, part after part
    std::vector<bool> m_used;          // by part, in this epoch
    std::vector<HostMinibatch<ElemType>> m_minibatches;
    SourcePos m_where;
    Log* m_log; // null: nobody is told, or has been
};

} // namespace cntk
