// A reader that delivers the sequences of another reader's minibatch: an encoder's sequences for its decoder's. The two
// readers may pack their sequences differently and, if both have sequence keys, read them in different order.
#pragma once

#include "Common/ReaderInterface.h"

#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace cntk
{

// Sequences of the leading reader's minibatch.
struct LeadingSequences
{
    const MBLayout* layout = nullptr; // null: single samples
    size_t columns = 0;
    const std::vector<std::string>* keys = nullptr;
};

template <class ElemType>
class FollowingReader final : public IDataReader<ElemType>
{
public:
    // name, leaderName: both reader blocks, for messages.
    FollowingReader(std::unique_ptr<IDataReader<ElemType>> reader, std::string name, std::string leaderName)
        : m_reader(std::move(reader)), m_name(std::move(name)), m_leaderName(std::move(leaderName))
    {
    }

    // The next GetMinibatch delivers sequences with the same keys, or as many as come next if there are no keys. Each
    // has a row of its own and the leader's id. Without a call, minibatches are the reader's own.
    void Follow(const LeadingSequences& leader) { m_leader = leader; }
    // At the end of the leader's epoch: names a sequence that the leader does not have; "" if there is none.
    std::string DescribeUnmatched();

    const std::vector<StreamInfo>& Streams() const override { return m_reader->Streams(); }
    void StartEpoch(const EpochRequest& request) override;
    bool GetMinibatch(HostMinibatch<ElemType>& minibatch) override;
    size_t TotalSamples() override { return m_reader->TotalSamples(); }
    std::vector<std::string> CreateLabelMaps() override { return m_reader->CreateLabelMaps(); }
    size_t ParallelSequences(size_t epoch) const override { return m_reader->ParallelSequences(epoch); }
    void VisitListedFiles(const ListedFileVisitor& visit) const override { m_reader->VisitListedFiles(visit); }

private:
    // A minibatch of the reader; its memory is reused after all of its sequences have been delivered.
    struct Held
    {
        HostMinibatch<ElemType> minibatch;
        MBLayout layout; // a copy, because the reader reuses its layout
        size_t open = 0; // sequences not delivered yet
    };
    struct Sequence
    {
        Held* held = nullptr;
        size_t row = 0;
        size_t begin = 0;
        size_t steps = 0;
    };

    bool ReadMore();
    void Register(Held& held);
    Sequence Take(const std::string* key);
    void Release(Held& held);
    // Fails (Config) if a sequence is cut, because it would be in another minibatch, too.
    static std::vector<SequenceInfo> WholeSequences(const MBLayout* layout, size_t columns, const std::string& name);
    void CopySequences(size_t stream, StreamBatch<ElemType>& target, const MBLayout& layout) const;

    std::unique_ptr<IDataReader<ElemType>> m_reader;
    std::string m_name;
    std::string m_leaderName;
    LeadingSequences m_leader;
    std::list<Held> m_held;
    std::vector<Held*> m_free;
    bool m_isAtEnd = false;
    size_t m_read = 0; // sequences of this epoch
    size_t m_delivered = 0;
    std::unordered_map<std::string, Sequence> m_waiting; // read sequences by key, without keys by number
    bool m_hasKeys = false;
    // Sequences of the minibatch in work, and their layout.
    std::vector<SequenceInfo> m_order;
    std::vector<Sequence> m_chosen;
    MBLayoutPtr m_layout = std::make_shared<MBLayout>();
};

} // namespace cntk
