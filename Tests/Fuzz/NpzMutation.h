// Changes of npz files that keep the archive readable, so that the fuzzer gets behind its checksums.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cntk
{

// Changes an entry of the zip archive in place (its npy header, elements, text or name), or copies or removes an entry,
// and writes sizes, checksums and the directory anew. Entries are stored, except the compressed entries that stay
// unchanged. Returns the new size.
size_t MutateNpz(uint8_t* data, size_t size, size_t maxSize, unsigned seed);

} // namespace cntk
