// A reader of either element type behind one plain class: gives a network its minibatches one after another.
#pragma once

#include "Common/Error.h"
#include "Common/ReaderInterface.h"
#include "ComputationNetwork/Nodes/RecurrentNodes.h"
#include "SGD/Minibatches/FollowingReader.h"
#include "SGD/Minibatches/LabelMixer.h"
#include "SGD/Minibatches/MinibatchParts.h"
#include "SGD/Minibatches/NetworkBinder.h"

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace cntk
{

class MinibatchSource
{
public:
    explicit MinibatchSource(std::unique_ptr<IDataReader<float>> reader) : m_typed(Typed<float>(std::move(reader))) {}
    explicit MinibatchSource(std::unique_ptr<IDataReader<double>> reader) : m_typed(Typed<double>(std::move(reader))) {}

    const std::vector<StreamInfo>& Streams() const;
    size_t TotalSamples();
    std::vector<std::string> CreateLabelMaps();
    size_t ParallelSequences(size_t epoch) const; // of truncated minibatches
    size_t SequencesToWrite() const;
    // IDataReader's, of this source and of those that accompany it.
    void VisitListedFiles(const ListedFileVisitor& visit) const;

    // From now on minibatches go to the inputs below these roots; before the first StartEpoch, and again whenever other
    // roots are evaluated. The network must be validated.
    void BindTo(const std::vector<ComputationNodePtr>& roots);
    // NetworkBinder's, of what was bound last.
    const std::vector<NodeWarning>& Warnings() const { return m_binder->Warnings(); }

    // From now on each minibatch's labels are mixed with a reference network's outputs.
    void MixLabels(std::unique_ptr<LabelMixer> mixer) { m_mixer = std::move(mixer); }
    // Of all that the reader draws at random; 0: as the original draws it.
    void SetTrainingSeed(uint64_t seed) { m_trainingSeed = seed; }
    // From now on only a share of each minibatch is delivered: of its parallel sequences S those from S rank / workers
    // on. Minibatches of which the share is empty have no columns.
    void TakeShare(size_t rank, size_t workers) { m_share = {rank, workers}; }
    // From now on minibatches are cut.
    void CutMinibatches(const PartSettings& settings) { m_partSettings = settings; }

    // From now on each minibatch comes with the same sequences of another source, for the inputs below those roots: an
    // encoder's. The names are those of the two sources, for messages. After this one's first BindTo the other one is
    // read through this one alone.
    void Accompany(std::unique_ptr<MinibatchSource> other, const std::vector<ComputationNodePtr>& roots,
                   const std::string& name, const std::string& leaderName);
    bool IsAccompanied() const { return !m_companions.empty(); }
    // At the end of an epoch: says which sequence another source has beyond those of this one; "" if there is none.
    std::string RestOfCompanions();

    // request.wanted, withLattices and trainingSeed are filled in here.
    void StartEpoch(EpochRequest request);
    // False at the end of the epoch. Allocates nothing once the largest minibatch has been seen.
    // Of a minibatch that is cut the network then holds the first part.
    bool Next();
    size_t Parts() const { return m_parts; }
    void BindPart(size_t part);
    // What recurrent nodes must know of the part: nothing where all sequences are whole, so that none of them keeps a
    // state. Sequences of other axes, which these nodes may have, then stand in rows of their own.
    SequenceWindow WindowOf(size_t part) const
    {
        return m_parts > 1 && m_goesOn ? SequenceWindow{RowsOfPart(m_sequences, part, m_parts).first, m_sequences}
                                       : SequenceWindow{};
    }
    // The same, but the network does not see the minibatch: the samples that it would have held, or nothing at the end.
    std::optional<size_t> Skip();
    bool HasSeveralAxes() const { return m_binder->HasSeveralAxes(); }

    // Columns, gaps included, of the minibatch, all parts together.
    size_t Columns() const { return m_columns; }
    // Of what the network holds now: columns without gaps; seconds that Next waited for the minibatch.
    size_t Samples() const { return m_binder->Samples(); }
    double SecondsWaited() const { return m_secondsWaited; }
    const std::vector<std::string>& SequenceKeys() const;
    // Whether a sequence of the minibatch began in one before it.
    bool GoesOnFromBefore() const;
    // Where an error of the network's tells of data in the minibatch by a number, the name that the reader has for the
    // sequence, too.
    template <class Body>
    void NameSequenceWhereFails(Body&& body) const
    {
        try
        {
            body();
        }
        catch (Error& error)
        {
            NameSequence(error);
            throw;
        }
    }

private:
    template <class ElemType>
    struct Typed
    {
        using Element = ElemType;
        explicit Typed(std::unique_ptr<IDataReader<ElemType>> dataReader) : reader(std::move(dataReader)) {}
        std::unique_ptr<IDataReader<ElemType>> reader;
        HostMinibatch<ElemType> minibatch;
        HostMinibatch<ElemType> share; // of the minibatch
        HostMinibatch<ElemType> part;
        FollowingReader<ElemType>* follower = nullptr; // the reader, where it follows another source
    };
    struct Share
    {
        size_t rank = 0;
        size_t workers = 1;
    };
    // Of what was read, what this process is to see.
    template <class ElemType>
    const HostMinibatch<ElemType>& Delivered(const Typed<ElemType>& typed) const
    {
        return m_share.workers > 1 ? typed.share : typed.minibatch;
    }
    template <class ElemType>
    bool Read(Typed<ElemType>& typed);
    template <class ElemType>
    void BindMinibatch(Typed<ElemType>& typed);

    Axes AxesOfMinibatches() const;
    void NameSequence(Error& error) const;
    void ReadCompanions(bool bind);
    WantedSequences Sequences() const;

    std::variant<Typed<float>, Typed<double>> m_typed;
    std::vector<std::unique_ptr<MinibatchSource>> m_companions;
    std::optional<NetworkBinder> m_binder;
    std::vector<std::string> m_wanted;
    std::unique_ptr<LabelMixer> m_mixer; // null: none
    uint64_t m_trainingSeed = 0;
    Share m_share;
    PartSettings m_partSettings;
    size_t m_parts = 1;
    size_t m_sequences = 0; // of a minibatch that may be cut
    bool m_goesOn = false;  // of a minibatch that is cut: some of its sequences are, too
    size_t m_columns = 0;
    double m_secondsWaited = 0;
};

} // namespace cntk
