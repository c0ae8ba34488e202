// Which nodes of a network are minimised and reported, and their sums over many minibatches.
#pragma once

#include "Common/Log.h"
#include "ComputationNetwork/ComputationNetwork.h"
#include "Math/Matrix.h"
#include "Math/RepeatedWork.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cntk
{

struct TrainingNodes
{
    ComputationNodePtr criterion;
    std::vector<ComputationNodePtr> evaluations; // without the criterion

    // In the order in which they are computed: evaluations, then the criterion.
    std::vector<ComputationNodePtr> Roots() const;
};

// The network's first criterion and its evaluation nodes; a name given replaces each. Nodes that are criteria are
// dropped from the evaluations. Fails (Config) for an unknown name, a node that is no 1x1 number, or a network without
// criterion: the candidates and how to tag one.
TrainingNodes SelectTrainingNodes(const ComputationNetwork& network, const std::string& criterionName,
                                  const std::string& evaluationName);

// What to tell a user who named no criterion while the network has several, of which the first is trained alone; empty
// where it has one.
std::string DescribeUntrainedCriteria(const ComputationNetwork& network, const std::string& criterionName);

// What to tell a user whose criterion compares with the network's output what the labels should be compared with; empty
// where the labels stand first, or nobody knows.
std::string DescribeSwappedLabels(const ComputationNetwork& network, const ComputationNode& criterion);

// Warns of either.
void WarnOfCriteria(const ComputationNetwork& network, const ComputationNode& criterion,
                    const std::string& criterionName, Log& log);

// What test and cv report: the named nodes, or all evaluation nodes and then all criteria of the network.
std::vector<ComputationNodePtr> SelectEvaluationNodes(const ComputationNetwork& network,
                                                      const std::vector<std::string>& names);

// What a reader is asked for: the inputs below the roots. Where there are none, of a criterion that only depends on
// parameters, the network's features and labels, so that the data say how many samples there are.
std::vector<ComputationNodePtr> NodesToRead(const ComputationNetwork& network, std::vector<ComputationNodePtr> roots);

// Sums of 1x1 nodes over minibatches, in double. On a device with memory of its own they are added up there and fetched
// when they are asked for, so that no minibatch waits for the device.
class CriterionSums
{
public:
    CriterionSums(std::vector<ComputationNodePtr> nodes, Device& device);

    const std::vector<ComputationNodePtr>& Nodes() const { return m_nodes; }
    // After Forward: adds the nodes' values and the samples of a minibatch, or of another part of the last one.
    // Allocates nothing.
    void Add(size_t samples, bool isNewMinibatch = true);
    void Reset();
    // Adds sums that were made elsewhere.
    void AddSums(std::span<const double> sums, size_t samples);
    // Goes on from sums of before.
    void Restore(const std::vector<double>& sums, size_t samples);

    size_t Samples() const { return m_samples; }
    // Sum of node i since Reset. May wait for the device.
    double Sum(size_t i);
    double Average(size_t i) { return m_samples == 0 ? 0 : Sum(i) / double(m_samples); }
    // The value of node i in the minibatch added last; only where the device's memory is the host's, else 0.
    double LastValue(size_t i) const { return m_lastValues[i]; }
    bool SeesEveryValue() const { return m_onHost; }
    // The minibatch since Reset, from 1, in which node 0 was first not finite; 0: none. Only where not every value is
    // seen; may wait for the device.
    size_t FirstNotFinite();
    // On the device: not 0 as soon as there is such a minibatch. Nothing where every value is seen.
    MatrixView NotFiniteFlag() const;

private:
    class Addition;
    void Fetch();

    std::vector<ComputationNodePtr> m_nodes;
    bool m_onHost;
    std::vector<double> m_sums; // on a device with memory of its own: what is not in its totals
    std::vector<double> m_lastValues;
    Matrix m_totals; // as Ops::AddNumbers has them
    std::vector<double> m_fetched;
    std::vector<MatrixView> m_numbers;
    bool m_isFetched = true;
    std::vector<uint64_t> m_key;
    std::optional<RepeatedWork> m_work; // where sums are on the device
    size_t m_samples = 0;
};

} // namespace cntk
