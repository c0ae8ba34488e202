// The matrix section of models and checkpoints: 'd', "BMAT", element size, name, format, sizes, values, "EMAT".
#pragma once

#include "ComputationNetwork/Files/ByteStream.h"
#include "Math/Matrix.h"

namespace cntk
{

// Reads a matrix into the given precision, independent of the file's. Sparse matrices ('s') become dense. Sizes that
// exceed the remaining bytes are reported as damage (Model).
Matrix ReadMatrix(ByteReader& in, DataType dataType, Device& device);
void WriteMatrix(ByteWriter& out, const Matrix& matrix, DataType dataType);

} // namespace cntk
