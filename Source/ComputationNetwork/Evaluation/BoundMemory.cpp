// Creates views from the sizes of nodes and temporaries. Slots only grow.
#include "ComputationNetwork/Evaluation/BoundMemory.h"

#include "Common/Error.h"
#include "ComputationNetwork/NodeError.h"
#include "Math/Device.h"
#include "Math/Operations.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <unordered_map>

namespace cntk
{

using Life = MemoryPlan::Life;

BoundMemory::BoundMemory(const std::vector<ComputationNodePtr>& nodes, const MemoryPlan& plan,
                         const Elsewhere& elsewhere, Device& device)
    : m_nodes(nodes), m_plan(plan)
{
    std::unordered_map<const ComputationNode*, ComputationNode*> mutableNodes;
    for (const ComputationNodePtr& node : m_nodes)
    {
        mutableNodes[node.get()] = node.get();
        const MBLayout* layout = node->GetMBLayout().get();
        if (layout != nullptr && std::none_of(m_layouts.begin(), m_layouts.end(),
                                              [&](const LayoutSize& known) { return known.layout == layout; }))
            m_layouts.push_back({.layout = layout, .first = node.get()});
    }
    for (const Life& life : m_plan.Lives())
    {
        Binding binding{mutableNodes.at(life.node), life.what, life.index, life.slot, {}};
        if (life.what == Life::What::Temporary)
            binding.temporary = life.node->Temporaries()[life.index];
        binding.isElsewhere = elsewhere.contains({life.node, life.what});
        m_bindings.push_back(binding);
    }
    for (size_t i = 0; i < m_plan.SlotCount(); i++)
        m_slots.emplace_back(device);
    m_slotBytes.resize(m_slots.size());
}

std::string BoundMemory::NameOf(const Binding& binding)
{
    const char* what = binding.what == Life::What::Value      ? "the value of '"
                       : binding.what == Life::What::Gradient ? "the gradient of '"
                                                              : "a temporary of '";
    return what + binding.node->Name() + "'";
}

// Returns the layout that determines a temporary's columns; null if their number is fixed.
const MBLayout* BoundMemory::LayoutOf(const Binding& binding)
{
    if (binding.what != Life::What::Temporary || binding.temporary.fixedColumns > 0)
        return nullptr;
    const int input = binding.temporary.layoutOfInput;
    return (input < 0 ? *binding.node : *binding.node->Input(size_t(input))).GetMBLayout().get();
}

MatrixView BoundMemory::ViewOf(const Binding& binding)
{
    const ComputationNode& node = *binding.node;
    MatrixView view;
    view.type = node.GetDataType();
    view.device = &node.GetDevice();
    view.rows = node.ValueRows();
    view.columns = node.ValueColumns();
    if (binding.what == Life::What::Temporary)
    {
        const TemporarySpec& spec = binding.temporary;
        view.rows = spec.rows;
        if (spec.fixedColumns > 0)
            view.columns = spec.fixedColumns;
        else if (spec.layoutOfInput >= 0)
            view.columns = node.Input(size_t(spec.layoutOfInput))->ValueColumns();
    }
    view.stride = view.rows;
    return view;
}

// Sets the size of a value that is fused away and has no memory.
void BoundMemory::BindSize(ComputationNode& node)
{
    NodeBinder::Bind(node, Life::What::Value, 0, ViewOf({&node, Life::What::Value, 0, 0, {}}));
}

void BoundMemory::BindMemory(const Binding& binding)
{
    if (binding.isElsewhere)
        return;
    MatrixView view = ViewOf(binding);
    view.data = m_slots[binding.slot].Data();
    NodeBinder::Bind(*binding.node, binding.what, binding.index, view, LayoutOf(binding));
}

void BoundMemory::UpdateLayouts(ComputationNetwork& network)
{
    for (const LayoutSize& known : m_layouts)
        TellDataErrorsOf(
            *known.first, [&] { network.UpdateLayout(*known.layout); },
            [&] { return "while computing " + network.Describe(*known.first); });
}

void BoundMemory::ExpectMasks(Device& device) const
{
    for (const LayoutSize& known : m_layouts)
        if (known.layout->HasGaps())
            device.ExpectMask(known.layout->ColumnMask());
}

bool BoundMemory::LayoutSize::Take()
{
    const bool isOther = columns != layout->Columns() || sequences != layout->ParallelSequences();
    columns = layout->Columns();
    sequences = layout->ParallelSequences();
    return isOther;
}

bool BoundMemory::TakeForms()
{
    bool hasChanged = false;
    for (LayoutSize& known : m_layouts)
        hasChanged = known.Take() || hasChanged;
    return hasChanged;
}

void BoundMemory::Bind()
{
    for (const ComputationNodePtr& node : m_nodes)
        if (!node->OwnsValue())
            BindSize(*node);
    std::fill(m_slotBytes.begin(), m_slotBytes.end(), 0);
    for (const Binding& binding : m_bindings)
    {
        if (binding.isElsewhere)
            continue;
        const MatrixView view = ViewOf(binding);
        m_slotBytes[binding.slot] = std::max(m_slotBytes[binding.slot], view.Elements() * SizeOf(view.type));
    }
    for (size_t i = 0; i < m_slots.size(); i++)
        ReserveSlot(i);
    for (const Binding& binding : m_bindings)
        BindMemory(binding);
}

void BoundMemory::Unbind()
{
    for (const Binding& binding : m_bindings)
        NodeBinder::Bind(*binding.node, binding.what, binding.index, {});
}

void BoundMemory::ReserveSlot(size_t slot)
{
    try
    {
        m_slots[slot].Reserve(m_slotBytes[slot]);
    }
    catch (OutOfMemory& error)
    {
        size_t available = error.FreeBytes();
        for (const Buffer& held : m_slots)
            available += held.Bytes();
        std::vector<PlannedBuffer> buffers;
        for (const Binding& binding : m_bindings)
        {
            const MatrixView view = ViewOf(binding);
            const bool grows =
                binding.what == Life::What::Temporary ? LayoutOf(binding) != nullptr : binding.node->HasMBLayout();
            buffers.push_back({NameOf(binding), binding.slot, view.Elements() * SizeOf(view.type), grows});
        }
        size_t columns = 0;
        for (const LayoutSize& known : m_layouts)
            columns = std::max(columns, known.columns);
        for (std::string& note : DescribeShortage(buffers, slot, columns, available))
            error.AddNote(std::move(note));
        throw;
    }
}

const std::vector<const MBLayout*>& BoundMemory::MakeLayout(ComputationNode& maker, ComputationNetwork& network)
{
    for (LayoutSize& known : m_layouts)
        known.version = known.layout->Version();
    maker.MakeLayout();
    UpdateLayouts(network);
    m_made.clear();
    for (LayoutSize& known : m_layouts)
    {
        if (known.version == known.layout->Version())
            continue;
        if (known.layout->Columns() > known.columns)
            Fail(ErrorKind::Internal, "node '", maker.Name(), "' reserved ", known.columns, " columns and made ",
                 known.layout->Columns());
        known.Take();
        m_made.push_back(known.layout);
    }
    const auto isMade = [&](const MBLayout* layout)
    { return layout != nullptr && std::find(m_made.begin(), m_made.end(), layout) != m_made.end(); };
    for (const ComputationNodePtr& node : m_nodes)
        if (isMade(node->GetMBLayout().get()) && !node->OwnsValue())
            BindSize(*node);
    for (const Binding& binding : m_bindings)
        if (isMade(binding.what == Life::What::Temporary ? LayoutOf(binding) : binding.node->GetMBLayout().get()))
            BindMemory(binding);
    return m_made;
}

void BoundMemory::Poison(size_t time, Moment moment)
{
    const bool atStart = moment == Moment::BeforeStep;
    const std::vector<Life>& lives = m_plan.Lives();
    for (size_t i = 0; i < lives.size(); i++)
    {
        // Gradients are excluded: the first contribution zeroes or replaces them. So is memory that one buffer hands
        // over to the next, because its content is still needed.
        const bool isTemporary = lives[i].what == Life::What::Temporary;
        const bool isHandedOver = lives[i].inPlaceWith != nullptr && isTemporary == atStart;
        if ((atStart ? lives[i].first : lives[i].last) != time || lives[i].what == Life::What::Gradient ||
            isHandedOver || (!atStart && lives[i].aliasOf != nullptr))
            continue;
        const Binding& binding = m_bindings[i];
        const MatrixView view = binding.what == Life::What::Value
                                    ? binding.node->Value()
                                    : NodeBinder::TemporaryOf(*binding.node, binding.index);
        // Merged nodes of a loop have memory that lives as long as the loop.
        if (view.Elements() > 0 && view.data == m_slots[binding.slot].Data())
            Ops::Fill(view, std::numeric_limits<double>::quiet_NaN());
    }
}

size_t BoundMemory::Bytes() const
{
    size_t bytes = 0;
    for (const Buffer& slot : m_slots)
        bytes += slot.Bytes();
    return bytes;
}

// ---- advice for out-of-memory errors ----
// Slot sizes are maxima over their buffers, so the minibatch size that fits is searched for, not solved for.

namespace
{

constexpr size_t c_listed = 5; // number of slots in the message, largest first
// Usable share of the available memory, because devices allocate in units of their own.
constexpr double c_usable = 0.88;

struct Slot
{
    size_t bytes = 0;
    const PlannedBuffer* largest = nullptr;
    size_t others = 0; // buffers that share the memory of the largest
};

size_t SlotCount(const std::vector<PlannedBuffer>& buffers)
{
    size_t count = 0;
    for (const PlannedBuffer& buffer : buffers)
        count = std::max(count, buffer.slot + 1);
    return count;
}

std::vector<Slot> SlotsOf(const std::vector<PlannedBuffer>& buffers)
{
    std::vector<Slot> slots(SlotCount(buffers));
    for (const PlannedBuffer& buffer : buffers)
    {
        Slot& slot = slots[buffer.slot];
        slot.others += slot.largest != nullptr;
        if (slot.largest == nullptr || buffer.bytes > slot.bytes)
        {
            slot.bytes = buffer.bytes;
            slot.largest = &buffer;
        }
    }
    return slots;
}

std::string InWords(const Slot& slot)
{
    std::string text = slot.largest->name;
    if (slot.others > 0)
        text += Concat(" (its memory serves ", slot.others, slot.others == 1 ? " other in turn)" : " others in turn)");
    return text;
}

// Returns the bytes for this share of the minibatch's columns, rounded up to whole columns.
double BytesFor(const std::vector<PlannedBuffer>& buffers, double share)
{
    std::vector<double> slots(SlotCount(buffers));
    for (const PlannedBuffer& buffer : buffers)
        slots[buffer.slot] =
            std::max(slots[buffer.slot], double(buffer.bytes) * (buffer.growsWithMinibatch ? share : 1));
    double sum = 0;
    for (const double bytes : slots)
        sum += bytes;
    return sum;
}

// Returns 0 if not even one column fits.
size_t ColumnsThatFit(const std::vector<PlannedBuffer>& buffers, size_t columns, size_t availableBytes)
{
    size_t fits = 0;
    size_t tooMany = columns;
    while (tooMany - fits > 1)
    {
        const size_t middle = fits + (tooMany - fits) / 2;
        const bool isEnough = BytesFor(buffers, double(middle) / double(columns)) <= c_usable * double(availableBytes);
        (isEnough ? fits : tooMany) = middle;
    }
    return fits;
}

} // namespace

std::string BytesInWords(size_t bytes)
{
    static constexpr std::array<const char*, 5> c_units = {"bytes", "kB", "MB", "GB", "TB"};
    double value = double(bytes);
    size_t unit = 0;
    while (unit + 1 < c_units.size() && value >= 999.5)
    {
        value /= 1000;
        ++unit;
    }
    char text[32];
    std::snprintf(text, sizeof text, "%.3g %s", value, c_units[unit]);
    return text;
}

std::vector<std::string> DescribeShortage(const std::vector<PlannedBuffer>& buffers, size_t slot, size_t columns,
                                          size_t availableBytes)
{
    std::vector<Slot> slots = SlotsOf(buffers);
    size_t total = 0;
    for (const Slot& each : slots)
        total += each.bytes;
    std::vector<std::string> notes;
    notes.push_back("the memory was for " + InWords(slots[slot]));

    std::sort(slots.begin(), slots.end(), [](const Slot& a, const Slot& b) { return a.bytes > b.bytes; });
    slots.resize(std::min(slots.size(), c_listed));
    std::string largest;
    for (const Slot& each : slots)
        largest += Concat(largest.empty() ? "" : ", ", InWords(each), " ", BytesInWords(each.bytes));
    notes.push_back(Concat("values, gradients and temporaries of this network take ", BytesInWords(total),
                           " for a minibatch of ", columns, " columns, and ", BytesInWords(availableBytes),
                           " can be had; the largest: ", largest));

    const size_t fits = ColumnsThatFit(buffers, columns, availableBytes);
    if (fits > 0)
        notes.push_back(Concat("minibatches of ", fits, " columns (samples, all sequences together) would fit: lower ",
                               "minibatchSize, or cut the minibatch with maxSamplesInRAM=", fits,
                               " or numSubminibatches=", (columns + fits - 1) / fits));
    else
        notes.push_back("not even one column would fit: the network is too large for this device");
    return notes;
}

} // namespace cntk
