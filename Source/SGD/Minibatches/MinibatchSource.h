// Delivers a reader's minibatches to a network. Hides the reader's element type.
#pragma once

#include "Common/Error.h"
#include "Common/ReaderInterface.h"
#include "ComputationNetwork/ComputationNetwork.h"
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetwork/Nodes/RecurrentNodes.h"
#include "SGD/Minibatches/FollowingReader.h"
#include "SGD/Minibatches/MinibatchParts.h"
#include "SGD/Minibatches/NetworkBinder.h"
#include "SGD/TrainingOptions.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

namespace cntk
{

// True if a training mixes its labels with the outputs of a reference network (adaptationRegType=KL).
bool AdaptsByKL(const SgdOptions& options);

// Returns the node of that name. Fails (Config) with similar names if it does not exist.
ComputationNodePtr RequireReferenceNode(const ComputationNetwork& reference, const std::string& name);

// Mixes the labels of minibatches with the outputs of a reference network, so that the adapted network stays close to
// the reference (book 3.3.1.4). Labels are mixed in host memory, before they are bound.
class LabelMixer
{
public:
    // Computes label = weight * output of the reference's node + (1 - weight) * label for the trained network's first
    // label node. Fails (Config) if the node or the labels are missing, or if their dimensions differ.
    LabelMixer(std::unique_ptr<ComputationNetwork> reference, const std::string& node,
               const ComputationNetwork& trained, const std::vector<StreamInfo>& streams, double weight);

    // The inputs of the reference.
    std::vector<std::string> Wanted() const { return m_binder.Wanted(); }
    void BeginPass() { m_binder.BeginPass(); }
    // Evaluates the reference and replaces the minibatch's labels.
    template <class ElemType>
    void Mix(HostMinibatch<ElemType>& minibatch);
    // Restores the reader's labels.
    template <class ElemType>
    void Unmix(HostMinibatch<ElemType>& minibatch);

private:
    template <class ElemType>
    void FillLabels(const StreamBatch<ElemType>& labels, StreamBatch<ElemType>& mixed) const;

    std::unique_ptr<ComputationNetwork> m_reference;
    ComputationNodePtr m_node;
    size_t m_labelStream;
    double m_weight;
    Evaluator m_evaluator;
    NetworkBinder m_binder;
    Matrix m_outputs;
    std::vector<std::byte> m_hostOutputs;
    // The reader's labels while the minibatch has mixed ones, else memory for mixed labels.
    std::tuple<StreamBatch<float>, StreamBatch<double>> m_other;
    bool m_isMixed = false;
};

class MinibatchSource
{
    template <class ElemType>
    struct Typed
    {
        using Element = ElemType;
        explicit Typed(std::unique_ptr<IDataReader<ElemType>> dataReader) : reader(std::move(dataReader)) {}
        std::unique_ptr<IDataReader<ElemType>> reader;
        HostMinibatch<ElemType> minibatch;
        HostMinibatch<ElemType> share;                 // of the minibatch
        HostMinibatch<ElemType> part;                  // of the share
        FollowingReader<ElemType>* follower = nullptr; // the reader of a companion
    };
    template <class Body>
    decltype(auto) WithReader(const Body& body) const
    {
        return std::visit([&](const auto& typed) -> decltype(auto) { return body(*typed.reader); }, m_typed);
    }

public:
    explicit MinibatchSource(std::unique_ptr<IDataReader<float>> reader) : m_typed(Typed<float>(std::move(reader))) {}
    explicit MinibatchSource(std::unique_ptr<IDataReader<double>> reader) : m_typed(Typed<double>(std::move(reader))) {}

    // Functions of IDataReader.
    const std::vector<StreamInfo>& Streams() const
    {
        return WithReader([](auto& reader) -> const std::vector<StreamInfo>& { return reader.Streams(); });
    }
    size_t TotalSamples()
    {
        return WithReader([](auto& reader) { return reader.TotalSamples(); });
    }
    std::vector<std::string> CreateLabelMaps()
    {
        return WithReader([](auto& reader) { return reader.CreateLabelMaps(); });
    }
    size_t ParallelSequences(size_t epoch) const
    {
        return WithReader([epoch](auto& reader) { return reader.ParallelSequences(epoch); });
    }
    size_t SequencesToWrite() const
    {
        return WithReader([](auto& reader) { return reader.SequencesToWrite(); });
    }
    void VisitListedFiles(const ListedFileVisitor& visit) const; // also those of companions

    // Feeds the inputs below these roots from now on. Called before the first StartEpoch and whenever other roots are
    // evaluated. The network must be validated.
    void BindTo(const std::vector<ComputationNodePtr>& roots);
    // Warnings of the last BindTo.
    const std::vector<NodeWarning>& Warnings() const { return m_binder->Warnings(); }

    // The following four take effect from the next minibatch or epoch on.
    void MixLabels(std::unique_ptr<LabelMixer> mixer) { m_mixer = std::move(mixer); }
    // Seeds everything that the reader draws at random; 0: the random streams of CNTK v1.1.
    void SetTrainingSeed(uint64_t seed) { m_trainingSeed = seed; }
    // Delivers a share of each minibatch: of its S parallel sequences those from S rank / workers on. A minibatch with
    // an empty share has no columns.
    void TakeShare(size_t rank, size_t workers) { m_share = {rank, workers}; }
    void CutMinibatches(const PartSettings& settings) { m_partSettings = settings; }

    // Makes another source (an encoder's) deliver the same sequences with each minibatch, for the inputs below those
    // roots. From the first BindTo on, the other source is read through this one only. name, leaderName: of the other
    // source and this one, for messages.
    void AddCompanion(std::unique_ptr<MinibatchSource> other, const std::vector<ComputationNodePtr>& roots,
                      const std::string& name, const std::string& leaderName);
    bool HasCompanions() const { return !m_companions.empty(); }
    // At the end of an epoch: names a companion's sequence that this source does not have; "" if there is none.
    std::string DescribeUnmatched();

    // Fills in request.wanted, withLattices and trainingSeed.
    void StartEpoch(EpochRequest request);
    // Reads the next minibatch into the network; of a cut minibatch the first part. False at the end of the epoch.
    // Allocates nothing once the largest minibatch has been read.
    bool Next();
    size_t Parts() const { return m_parts; }
    void BindPart(size_t part);
    // Returns the window of the part for recurrent nodes. Empty if no sequence is cut: then no node keeps a state, and
    // the sequences of other axes have rows of their own.
    SequenceWindow WindowOf(size_t part) const
    {
        return m_parts > 1 && m_hasCutSequences
                   ? SequenceWindow{RowsOfPart(m_sequences, part, m_parts).first, m_sequences}
                   : SequenceWindow{};
    }
    // Reads a minibatch without binding it. Returns its samples, or nothing at the end of the epoch.
    std::optional<size_t> Skip();
    bool HasSeveralAxes() const { return m_binder->HasSeveralAxes(); }

    // Columns of the minibatch, gaps and all parts included.
    size_t Columns() const { return m_columns; }
    // Columns without gaps that the network holds now.
    size_t Samples() const { return m_binder->Samples(); }
    // Seconds that Next waited for the reader.
    double SecondsWaited() const { return m_secondsWaited; }
    const std::vector<std::string>& SequenceKeys() const
    {
        return std::visit(
            [](const auto& typed) -> const auto& { return typed.minibatch.sequenceKeys; }, m_typed);
    }
    // True if a sequence of the minibatch began in an earlier one.
    bool ContinuesSequences() const;
    // Runs body. If it fails with an Error about a sequence number of the minibatch, adds the reader's key of the
    // sequence.
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
    struct Share
    {
        size_t rank = 0;
        size_t workers = 1;
    };
    // Returns this worker's share of the minibatch.
    template <class ElemType>
    const HostMinibatch<ElemType>& Delivered(const Typed<ElemType>& typed) const
    {
        return m_share.workers > 1 ? typed.share : typed.minibatch;
    }
    template <class ElemType>
    bool Read(Typed<ElemType>& typed);
    template <class ElemType>
    void BindMinibatch(Typed<ElemType>& typed);

    Axes AxesOfMinibatches() const { return HasSeveralAxes() ? Axes::Several : Axes::One; }
    void NameSequence(Error& error) const;
    void ReadCompanions(bool bind);

    std::variant<Typed<float>, Typed<double>> m_typed;
    std::vector<std::unique_ptr<MinibatchSource>> m_companions;
    std::optional<NetworkBinder> m_binder;
    std::vector<std::string> m_wanted;
    std::unique_ptr<LabelMixer> m_mixer; // null: labels are not mixed
    uint64_t m_trainingSeed = 0;
    Share m_share;
    PartSettings m_partSettings;
    size_t m_parts = 1;
    size_t m_sequences = 0; // parallel sequences of the minibatch; set if minibatches are cut
    bool m_hasCutSequences = false;
    size_t m_columns = 0;
    double m_secondsWaited = 0;
};

} // namespace cntk
