// Slot sizes are maxima over their buffers, so the minibatch size that fits is searched for, not solved for.
#include "ComputationNetwork/Evaluation/MemoryShortage.h"

#include "Common/Error.h"

#include <algorithm>
#include <array>
#include <cstdio>
namespace cntk
{

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
