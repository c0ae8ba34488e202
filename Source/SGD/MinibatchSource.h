// A reader of either element type behind one plain class: gives a network its minibatches one after another.
#pragma once

#include "Common/ReaderInterface.h"
#include "SGD/NetworkBinder.h"

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
    explicit MinibatchSource(std::unique_ptr<IDataReader<float>> reader) : m_typed(Typed<float>{std::move(reader), {}})
    {
    }
    explicit MinibatchSource(std::unique_ptr<IDataReader<double>> reader)
        : m_typed(Typed<double>{std::move(reader), {}})
    {
    }

    const std::vector<StreamInfo>& Streams() const;
    size_t TotalSamples();
    std::vector<std::string> CreateLabelMaps();
    size_t ParallelSequences() const; // of truncated minibatches

    // From now on minibatches go to the inputs below these roots; before the first StartEpoch, and again whenever other
    // roots are evaluated. The network must be validated.
    void BindTo(const std::vector<ComputationNodePtr>& roots);

    // request.wanted is filled in here.
    void StartEpoch(EpochRequest request);
    // False at the end of the epoch. Allocates nothing once the largest minibatch has been seen.
    bool Next();
    // The same, but the network does not see the minibatch.
    bool Skip();

    // Of the minibatch that the network holds now: columns with gaps and without; seconds that Next waited for it.
    size_t Columns() const { return m_binder->Columns(); }
    size_t Samples() const { return m_binder->Samples(); }
    double SecondsWaited() const { return m_secondsWaited; }
    const std::vector<std::string>& SequenceKeys() const;

private:
    template <class ElemType>
    struct Typed
    {
        std::unique_ptr<IDataReader<ElemType>> reader;
        HostMinibatch<ElemType> minibatch;
    };

    std::variant<Typed<float>, Typed<double>> m_typed;
    std::optional<NetworkBinder> m_binder;
    std::vector<std::string> m_wanted;
    double m_secondsWaited = 0;
};

} // namespace cntk
