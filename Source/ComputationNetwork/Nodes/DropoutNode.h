// Dropout: zeroes elements at random while training. The learner sets rate and seed.
#pragma once

#include "Common/SeedStream.h"
#include "ComputationNetwork/ComputationNode.h"

#include <bit>
#include <cstdint>
#include <vector>

namespace cntk
{

class DropoutNode final : public ComputationNode
{
public:
    void InferShape(ShapeInference& inference) override;
    void ForwardProp(const FrameRange& range) override;
    void BackpropTo(size_t input, const FrameRange& range) override;
    std::vector<TemporarySpec> Temporaries() const override;

    void AppendStepKey(std::vector<uint64_t>& key) const override { key.push_back(std::bit_cast<uint64_t>(m_rate)); }
    uint64_t* StepCounter() override { return &m_seed; }

    // 0 <= rate < 1. At 0, the value after loading a model, the node passes everything through.
    void SetRate(double rate);
    double Rate() const { return m_rate; }
    // Which seed each mask has: by default its number.
    void SetSeeds(const SeedStream& seeds) { m_seeds = seeds; }
    // Workers that share minibatches each draw masks of their own; 0: as one process does.
    void SetWorker(size_t rank) { m_worker = rank; }
    // The number of the next forward call's mask; each call adds 1073807359.
    void SetSeed(uint64_t seed) { m_seed = seed; }
    uint64_t Seed() const { return m_seed; }

private:
    double m_rate = 0;
    SeedStream m_seeds;
    uint64_t m_seed = 1; // number of the next mask's
    size_t m_worker = 0;
};

} // namespace cntk
