// The matrix section of models and checkpoints: 'd', "BMAT", element size, name, format, sizes, values, "EMAT".
#pragma once

#include "ComputationNetwork/Files/ByteStream.h"
#include "Math/Matrix.h"

namespace cntk
{

// Made in this precision, whatever the file's; sparse matrices ('s') become dense. Sizes that do not fit into the bytes
// left are damage (Model).
Matrix ReadMatrix(ByteReader& in, DataType dataType, Device& device);
void WriteMatrix(ByteWriter& out, const Matrix& matrix, DataType dataType);

} // namespace cntk
