// The order of samples at the border of the library (sequence after sequence, without padding) and of columns in a
// minibatch (time step after time step).
#pragma once

#include "Common/MBLayout.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cntk
{

// The sequences of one dynamic axis, from call to call. Allocates only if there are more sequences or steps than ever.
class AxisSequences
{
public:
    // How the sequences of a minibatch may be laid out.
    enum class Form
    {
        Frames,  // nodes see each sample alone
        Carried, // one row for each sequence, so that the next minibatch can continue it
        Packed   // several sequences a row; they end in the minibatch
    };

    // farthest: number of earlier steps that make a difference.
    AxisSequences(MBLayoutPtr layout, Form form, size_t farthest);

    // An empty list: independent samples.
    void SetLengths(std::span<const size_t> lengths) { m_lengths.assign(lengths.begin(), lengths.end()); }
    bool IsIndependent() const { return m_lengths.empty(); }
    size_t Sequences(size_t samples) const { return IsIndependent() ? samples : m_lengths.size(); }
    // The sum of the lengths. Independent samples have none.
    size_t Samples() const;

    void Restart() { m_stepsBefore.clear(); }
    // The number of sequences that the next minibatch continues; 0: it begins, or nothing depends on earlier samples.
    size_t Carried() const { return m_form == Form::Carried ? m_stepsBefore.size() : 0; }

    // Lays out a minibatch of so many samples.
    void Begin(size_t samples);
    // Counts the steps of the minibatch.
    void End();

    const MBLayoutPtr& Layout() const { return m_layout; }
    // True if the columns are the samples in their order. Otherwise ColumnOfSample lists the columns of the samples.
    bool IsInOrder() const { return m_isInOrder; }
    const std::vector<uint32_t>& ColumnOfSample() const { return m_columnOfSample; }

private:
    SequenceInfo SequenceOf(size_t row, size_t steps) const;
    void LayOutRows();
    void LayOutPacked();

    MBLayoutPtr m_layout;
    Form m_form;
    size_t m_farthest;
    std::vector<size_t> m_lengths;
    std::vector<size_t> m_stepsBefore;   // of each sequence, at most m_farthest; empty: they begin
    std::vector<uint32_t> m_current;     // lengths of the minibatch
    std::vector<SequenceInfo> m_laidOut; // the sequences of the current layout, if they are carried
    std::vector<uint32_t> m_packed;      // their lengths, if they are packed
    SequencePacking m_packing;
    std::vector<uint32_t> m_columnOfSample;
    bool m_isInOrder = true;
};

// Lists the columns of a layout in the order of its sequences and their steps. Returns true if the list has all columns
// in their order; in frame mode without listing them.
bool ListColumnsOf(const MBLayout& layout, std::vector<uint32_t>& columns);

} // namespace cntk
