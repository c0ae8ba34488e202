// Minibatch layouts derived from others: a Reshape that changes the number of rows joins several frames of a sequence
// into one, or splits one into several. The network owns them, so that nodes with the same change share one layout.
#pragma once

#include "Common/MBLayout.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cntk
{

class DerivedLayouts
{
public:
    // Returns a layout with multiply / divide times as many steps as the source, which may be derived itself. Reversing
    // a change returns the original layout.
    MBLayoutPtr Get(const MBLayoutPtr& source, size_t multiply, size_t divide);
    // Updates a derived layout if its source has changed. Call once a minibatch for each layout in use. Fails (Data) if
    // the frames of a sequence cannot be divided into groups of the requested size.
    void Update(const MBLayout& layout);
    // Deletes layouts without users.
    void RemoveUnused();

private:
    struct Entry
    {
        MBLayoutPtr source;
        size_t multiply = 1;
        size_t divide = 1;
        MBLayoutPtr layout;
        uint64_t sourceVersion = UINT64_MAX;
        uint64_t sourcePass = 0;
        uint64_t sourceMinibatch = 0;
    };
    std::vector<Entry> m_entries;
};

} // namespace cntk
