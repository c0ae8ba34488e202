// Minibatch layouts made of others: a Reshape that changes the number of rows puts several frames of a sequence
// together into one, or one apart into several. The network owns them, so that nodes that do the same share one.
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
    // A layout of multiply / divide times as many steps as the source, which may be derived itself. Undoing what was
    // done gives the layout from which it all came.
    MBLayoutPtr Get(const MBLayoutPtr& source, size_t multiply, size_t divide);
    // Once a minibatch, for each layout in use: brings it up to date if it is derived and its source has changed. Fails
    // (Data) where frames do not go into groups of the size asked for.
    void Update(const MBLayout& layout);
    // Forgets those that nobody uses.
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
