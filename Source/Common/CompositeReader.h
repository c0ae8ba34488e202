// Several readers that act as one (book 5.1, readers=a:b). Each part is a block of its own with its own readerType.
// Every minibatch takes the streams of all parts.
#pragma once

#include "Common/ReaderInterface.h"
#include "Common/SourceText.h"

#include <algorithm>
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
    // if parallel sequences of the parts have different names; may be null.
    explicit CompositeReader(std::vector<Part> parts, const SourcePos& where = {}, Log* log = nullptr);

    const std::vector<StreamInfo>& Streams() const override { return m_streams; }
    // Leaves out a part if the request wants none of its streams.
    void StartEpoch(const EpochRequest& request) override;
    // Fails (Data) if the parts deliver different numbers of samples or minibatches.
    bool GetMinibatch(HostMinibatch<ElemType>& minibatch) override;
    size_t TotalSamples() override { return m_parts.front().reader->TotalSamples(); }
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
    Log* m_log; // null after the first warning
};

// Opens the reader that the block asks for: the plugin readerType, or the readers of the blocks a and b for
// readers=a:b.
template <class ElemType>
std::unique_ptr<IDataReader<ElemType>> LoadReader(const std::string& readerType, const ReaderContext& context);

} // namespace cntk
