// Data of an input as the user gives them: samples, or sequences of samples (sheet 8.2). Memory belongs to the caller.
#pragma once

#include "Common/MBLayout.h"
#include "Math/DataType.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cntk
{
class InputValueNode;
}

namespace cntk::Api
{

// Rows of a sparse matrix (CSR), one row a sample.
struct SparseRows
{
    const void* values = nullptr; // of InputData's type
    const int32_t* columns = nullptr;
    const int32_t* starts = nullptr; // one more than rows
};

// A dense block in another form: element k of step t is at [t * step + k * element].
struct BlockForm
{
    DataType type = DataType::Float32;
    ptrdiff_t step = 0;
    ptrdiff_t element = 1;
};

struct InputData
{
    enum class Form
    {
        Frames,    // one sample a sequence
        Sequences, // a block for each sequence
        Packed     // a reader's minibatch: a single block with a layout
    };
    Form form = Form::Frames;
    DataType type = DataType::Float32;
    size_t count = 0;              // samples or sequences
    std::vector<uint32_t> lengths; // of sequences, also of packed ones
    MBLayoutPtr layout;            // of packed data
    size_t rows = 0;               // elements of a sample; 0: as many as the input has
    bool continuesPass = false;    // packed: sequences may continue those of the minibatch before
    // Dense: a block of samples one after another, in C order. Frames have one block, sequences one each.
    std::vector<const void*> blocks;
    // Forms of the blocks, which the feeder converts while it packs. Empty: blocks of `type`, in C order.
    std::vector<BlockForm> forms;
    // Sparse, in place of blocks.
    std::vector<SparseRows> sparse;
    std::shared_ptr<void> owner; // keeps the memory

    bool IsFrames() const { return form == Form::Frames; }
    uint32_t LengthOf(size_t sequence) const { return IsFrames() ? 1 : lengths[sequence]; }
    size_t Samples() const;
};

// Puts data into an input node. Dense frames of the node's type in host memory are referred to, not copied.
class InputFeeder
{
public:
    void Feed(InputValueNode& node, const InputData& data, const SequencePacking& packing);

private:
    void FeedColumns(InputValueNode& node, const InputData& data, size_t columns);
    void FeedSparse(InputValueNode& node, const InputData& data, const SequencePacking& packing);
    template <class ElemType>
    void FeedDense(InputValueNode& node, const InputData& data, const SequencePacking& packing);
    template <class ElemType>
    ElemType* Buffer(size_t elements);

    std::vector<std::byte> m_values; // the packed form, kept to avoid allocations
    std::vector<int32_t> m_rows, m_starts;
};

// Describes the sequences of a layout for results: places in the order of the sequences.
struct SequencePlaces
{
    struct Place
    {
        size_t firstColumn = 0;
        size_t length = 0;
    };
    std::vector<Place> places;
    size_t stride = 1; // columns from one step to the next

    explicit SequencePlaces(const MBLayout& layout);
};

} // namespace cntk::Api
