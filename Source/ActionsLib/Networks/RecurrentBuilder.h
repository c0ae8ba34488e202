// Recurrent networks of SimpleNetworkBuilder. Nodes have the original's names, which scripts use, and its order of
// creation, which gives each parameter its seed.
#pragma once

#include "ActionsLib/Networks/NetworkParts.h"
#include "Common/Error.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cntk
{

// A builder builds one network.
class RecurrentBuilder
{
public:
    explicit RecurrentBuilder(NetworkParts& parts)
        : m_parts(parts), m_options(parts.Options()), m_sizes(m_options.layerSizes),
          m_hiddenLayers(m_options.layerSizes.size() - 2)
    {
    }

    void BuildSimpleRnn();
    void BuildClassLm();
    void BuildLstm();
    void BuildClassLstm() { BuildClassNetwork(SecondInput::None); }
    void BuildConditionalLstm() { BuildClassNetwork(SecondInput::Auxiliary); }
    void BuildNceLstm();
    void BuildLogBilinear();
    void BuildNplm();
    void BuildCrf();
    void BuildLstmEncoder();
    void BuildAlignmentGenerator() { BuildAligned(Ending::Criteria); }
    void BuildAlignmentDecoder() { BuildAligned(Ending::Posterior); }
    void BuildTransducer();
    void BuildBidirectionalStreams();

private:
    using Output = NetworkParts::Output;

    enum class SecondInput
    {
        None,
        Auxiliary // binaryFeature
    };
    enum class Ending
    {
        Criteria,
        Posterior // no criteria
    };
    // The hidden layers after the first that are LSTM blocks.
    enum class LstmLayers
    {
        All,
        Listed // in recurrentLayer
    };
    struct Streams
    {
        ComputationNodePtr both;
        ComputationNodePtr letters;
        size_t rows = 0; // of both
        size_t letterRows = 0;
    };

    ComputationNodePtr Add(std::string_view type, std::vector<ComputationNodePtr> inputs, std::string name = "")
    {
        return m_parts.Add(type, std::move(name), std::move(inputs));
    }
    size_t Size(size_t layer) const { return m_sizes[layer]; }
    InputForm FormOfFeatures() const { return m_options.sparseinput ? InputForm::Sparse : InputForm::Dense; }
    static std::string Numbered(const char* name, size_t number) { return name + std::to_string(number); }

    // Compares with the next entry of recurrentLayer; the entries are used in their order.
    bool IsNextRecurrent(size_t number)
    {
        const std::vector<size_t>& layers = m_options.recurrentLayer;
        if (m_nextRecurrent >= layers.size() || layers[m_nextRecurrent] != number)
            return false;
        m_nextRecurrent++;
        return true;
    }

    void RequireHiddenLayer(const char* kind) const
    {
        if (m_hiddenLayers == 0)
            Fail(ErrorKind::Config, "rnnType ", kind,
                 " needs at least one hidden layer in layerSizes, as in 1000:200:1000");
    }

    void BuildClassNetwork(SecondInput second);
    void BuildAligned(Ending ending);
    ComputationNodePtr AddNormalized(const ComputationNodePtr& features);
    ComputationNodePtr AddLookupTable(const ComputationNodePtr& features, const char* name,
                                      const char* embeddingName = "E0");
    ComputationNodePtr AddPairNetwork(const char* kind);
    ComputationNodePtr AddAlignedLayer(const ComputationNodePtr& input, const ComputationNodePtr& encoded);
    ComputationNodePtr AddRecurrentLayer(size_t layer, const ComputationNodePtr& product);
    ComputationNodePtr AddRnnLayers(ComputationNodePtr hidden, size_t first);
    ComputationNodePtr AddGate(const char* gate, const std::string& number, const ComputationNodePtr& input,
                               const ComputationNodePtr& pastHidden, const ComputationNodePtr& cell);
    ComputationNodePtr AddLstm(size_t block, const ComputationNodePtr& input, size_t inputSize, size_t size);
    ComputationNodePtr AddLstmNode(size_t block, const ComputationNodePtr& input, size_t inputSize, size_t size);
    Streams AddStreams(const char* kind);
    void AddStreamOutput(const ComputationNodePtr& hidden);
    ComputationNodePtr AddLstmStack(size_t firstBlock, ComputationNodePtr hidden, size_t rows);
    ComputationNodePtr AddLstmLayers(ComputationNodePtr hidden, size_t offset, LstmLayers blocks,
                                     std::vector<ComputationNodePtr>* layers = nullptr);
    void AddClassOutput(const ComputationNodePtr& hidden, Output& output, ComputationNodePtr& evaluation);
    void RequireClasses() const;
    ComputationNodePtr AddClassCriteria(Output& output);
    void AddUnusedPrior(const ComputationNodePtr& labels)
    {
        if (m_options.needPrior)
            Add("Mean", {labels});
    }
    void AddPosterior(const ComputationNodePtr& outputs) { Add("Softmax", {outputs}, "PosteriorProb"); }
    void SetOutput(const ComputationNodePtr& node) { m_parts.Network().AddToGroup(NodeGroup::Output, node); }

    NetworkParts& m_parts;
    const SimpleNetworkOptions& m_options;
    const std::vector<size_t>& m_sizes;
    size_t m_hiddenLayers;
    size_t m_nextRecurrent = 0;
};

} // namespace cntk
