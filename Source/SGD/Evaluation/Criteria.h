// Selects the nodes of a network that are minimised and reported, and accumulates them over many minibatches.
#pragma once

#include "Common/Log.h"
#include "Common/ReaderInterface.h"
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

    // Returns the nodes in the order in which they are computed: evaluations, then the criterion.
    std::vector<ComputationNodePtr> Roots() const;
};

// Returns the network's first criterion and its evaluation nodes; a given name replaces each. Drops criteria from the
// evaluations. Fails (Config) for an unknown name, for a node that is not 1x1, and for a network without criterion; the
// message lists the candidates and how to tag one.
TrainingNodes SelectTrainingNodes(const ComputationNetwork& network, const std::string& criterionName,
                                  const std::string& evaluationName);

// Describes the criteria that are not trained, if the user named none and the network has several: only the first one
// is trained. Empty if the network has one criterion.
std::string DescribeUntrainedCriteria(const ComputationNetwork& network, const std::string& criterionName);

// Warning for a criterion whose inputs look swapped: it has the network's output where the labels belong. Empty if the
// labels come first, or if this cannot be decided.
std::string DescribeSwappedLabels(const ComputationNetwork& network, const ComputationNode& criterion);

// Logs both warnings above.
void WarnOfCriteria(const ComputationNetwork& network, const ComputationNode& criterion,
                    const std::string& criterionName, Log& log);

// Returns the nodes that test and cv report: the named nodes, or all evaluation nodes and then all criteria of the
// network.
std::vector<ComputationNodePtr> SelectEvaluationNodes(const ComputationNetwork& network,
                                                      const std::vector<std::string>& names);

// Returns the inputs to request from a reader: the inputs below the roots. A criterion may depend on parameters alone
// and have no inputs. The network's features and labels are then returned, so that the data define the number of
// samples.
std::vector<ComputationNodePtr> NodesToRead(const ComputationNetwork& network, std::vector<ComputationNodePtr> roots);

// Accumulates 1x1 nodes over minibatches, in double. On a device with its own memory the sums stay there and are
// fetched on request, so that no minibatch waits for the device.
class CriterionSums
{
public:
    CriterionSums(std::vector<ComputationNodePtr> nodes, Device& device);

    const std::vector<ComputationNodePtr>& Nodes() const { return m_nodes; }
    // Adds the nodes' values and samples after Forward, for a new minibatch or another part of the last one. Allocates
    // nothing.
    void Add(size_t samples, bool isNewMinibatch = true);
    void Reset();
    // Adds sums that were computed elsewhere.
    void AddSums(std::span<const double> sums, size_t samples);
    // Continues from earlier sums.
    void Restore(const std::vector<double>& sums, size_t samples);

    size_t Samples() const { return m_samples; }
    // Returns the sum of node i since Reset. May wait for the device.
    double Sum(size_t i);
    double Average(size_t i) { return m_samples == 0 ? 0 : Sum(i) / double(m_samples); }
    // Returns the value of node i in the minibatch added last; 0 if the device has its own memory.
    double LastValue(size_t i) const { return m_lastValues[i]; }
    bool SeesEveryValue() const { return m_onHost; }
    // Returns the first minibatch since Reset (from 1) in which node 0 was NaN or infinite; 0: none. Use only if
    // SeesEveryValue() is false; may wait for the device.
    size_t FirstNotFinite();
    // Device flag that becomes nonzero as soon as there is such a minibatch. Empty if SeesEveryValue().
    MatrixView NotFiniteFlag() const;

private:
    class Addition;
    void Fetch();

    std::vector<ComputationNodePtr> m_nodes;
    bool m_onHost;
    std::vector<double> m_sums; // on a device with its own memory: sums that m_totals does not contain
    std::vector<double> m_lastValues;
    Matrix m_totals; // layout as in Ops::AddNumbers
    std::vector<double> m_fetched;
    std::vector<MatrixView> m_numbers;
    bool m_isFetched = true;
    std::vector<uint64_t> m_key;
    std::optional<RepeatedWork> m_work; // only if sums are on the device
    size_t m_samples = 0;
};

// Returns, for example, "value of 'H1' (Sigmoid)": the first node, in order of evaluation, whose value or else gradient
// is NaN or infinite for the minibatch in the network; for an input also its file. Returns "" if there is none.
// Evaluates the network again without sharing memory.
std::string FindNotFinite(ComputationNetwork& network, const TrainingNodes& nodes,
                          const std::vector<StreamInfo>& streams = {});

} // namespace cntk
