// Changes of model files and checkpoints that keep the structure: 16-bit marks, counts and sizes of matrices.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cntk
{

// Applies one change to the file in data and returns its new size, at most maxSize: another size of a matrix with as
// many values as it promises, a mark or a name instead of another one, a section twice or not at all, another number
// after a mark.
size_t MutateMarkedFile(uint8_t* data, size_t size, size_t maxSize, unsigned seed);

} // namespace cntk
