// A reader whose minibatches hold the sequences that another reader's minibatch has: an encoder's beside its decoder's.
// The two may pack their sequences differently and, where both name them, read them in another order.
#pragma once

#include "Common/ReaderInterface.h"

#include <deque>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace cntk
{

// The sequences of a minibatch in the order of their ids. Of single samples each is one.
std::vector<SequenceInfo> SequencesById(const MBLayout& layout);

// The sequences of a minibatch, for a reader that follows.
struct WantedSequences
{
    const MBLayout* layout = nullptr; // null: single samples
    size_t columns = 0;
    const std::vector<std::string>* keys = nullptr;
};

template <class ElemType>
class FollowingReader final : public IDataReader<ElemType>
{
public:
    // names: of both reader blocks, for messages.
    FollowingReader(std::unique_ptr<IDataReader<ElemType>> reader, std::string name, std::string leaderName);

    // The next GetMinibatch gives these sequences, each in a row of its own, with the ids that they have there: those
    // of the same keys, else as many as come next. Without a call of Want minibatches are those of the reader.
    void Want(const WantedSequences& wanted) { m_wanted = wanted; }
    // The leader's epoch is over: says which sequence it did not ask for; "" if none is left.
    std::string Rest();

    const std::vector<StreamInfo>& Streams() const override { return m_reader->Streams(); }
    void StartEpoch(const EpochRequest& request) override;
    bool GetMinibatch(HostMinibatch<ElemType>& minibatch) override;
    size_t TotalSamples() override { return m_reader->TotalSamples(); }
    std::vector<std::string> CreateLabelMaps() override { return m_reader->CreateLabelMaps(); }
    size_t ParallelSequences(size_t epoch) const override { return m_reader->ParallelSequences(epoch); }
    void VisitListedFiles(const ListedFileVisitor& visit) const override { m_reader->VisitListedFiles(visit); }

private:
    // A minibatch as read; used again when all of its sequences have been given.
    struct Held
    {
        HostMinibatch<ElemType> minibatch;
        MBLayout layout; // of all streams; readers use theirs again for the next minibatch
        size_t open = 0;
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
    const StreamBatch<ElemType>& FirstStream(const HostMinibatch<ElemType>& minibatch) const;
    // Fails (Config) where one is cut: it would be another minibatch's, too.
    static std::vector<SequenceInfo> WholeSequences(const MBLayout& layout, const std::string& name);
    void CopySequences(size_t stream, StreamBatch<ElemType>& target, const MBLayout& layout) const;

    std::unique_ptr<IDataReader<ElemType>> m_reader;
    std::string m_name;
    std::string m_leaderName;
    WantedSequences m_wanted;
    std::list<Held> m_held;
    std::vector<Held*> m_free;
    bool m_isAtEnd = false;
    size_t m_read = 0; // sequences of this epoch
    size_t m_given = 0;
    std::deque<Sequence> m_inOrder;                    // without keys
    std::unordered_map<std::string, Sequence> m_byKey; // with keys
    bool m_hasKeys = false;
    // The minibatch that is put together.
    std::vector<SequenceInfo> m_order;
    std::vector<Sequence> m_chosen;
    MBLayoutPtr m_layout = std::make_shared<MBLayout>();
};

} // namespace cntk
