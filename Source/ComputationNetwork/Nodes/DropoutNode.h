// Dropout: zeroes elements at random while training. The learner sets rate and seed.
#pragma once

#include "Common/Random.h"
#include "ComputationNetwork/Nodes/NodeInterfaces.h"

#include <bit>
#include <cstdint>
#include <vector>

namespace cntk
{

class DropoutNode final : public ComputationNode, public StepState
{
public:
    void InferShape(ShapeInference& inference) override;
    void ForwardProp(const FrameRange& range) override;
    void BackpropTo(size_t input, const FrameRange& range) override;
    std::vector<TemporarySpec> Temporaries() const override;

    void AppendStepKey(std::vector<uint64_t>& key) const override { key.push_back(std::bit_cast<uint64_t>(m_rate)); }
    uint64_t* StepCounter() override { return &m_seed; }

    // Sets the rate, 0 <= rate < 1. At 0, the value after loading a model, the node passes everything through.
    void SetRate(double rate);
    double Rate() const { return m_rate; }
    // Maps the number of each mask to its seed; by default they are equal.
    void SetSeeds(const SeedStream& seeds) { m_seeds = seeds; }
    // Gives workers that share minibatches independent masks; 0: the masks of a single process.
    void SetWorker(size_t rank) { m_worker = rank; }
    // Sets the number of the next forward call's mask. Each call adds 1073807359.
    void SetSeed(uint64_t seed) { m_seed = seed; }
    uint64_t Seed() const { return m_seed; }

private:
    double m_rate = 0;
    SeedStream m_seeds;
    uint64_t m_seed = 1; // number of the next mask
    size_t m_worker = 0;
};

} // namespace cntk
