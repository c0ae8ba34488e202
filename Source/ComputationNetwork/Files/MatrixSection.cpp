// Dense and sparse matrices of files. Values are read and written in slices.
#include "ComputationNetwork/Files/MatrixSection.h"

#include "Common/Error.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace cntk
{

namespace
{

constexpr uint32_t c_rowMajor = 1; // bits of the format word of a sparse matrix
// Limit for sparse matrices, which become dense: their dense size is not bounded by the bytes of the file.
constexpr uint64_t c_largestFromSparse = uint64_t(1) << 30;

// Slices avoid a second copy of a large matrix between file and device.
constexpr size_t c_sliceElements = size_t(1) << 18;

// Calls visit(first, count) for consecutive slices of the elements.
template <class Visit>
void VisitSlices(size_t elements, Visit visit)
{
    for (size_t first = 0; first < elements; first += c_sliceElements)
        visit(first, std::min(c_sliceElements, elements - first));
}

// Fills a matrix from unaligned values of the file's type, converting them if the types differ.
template <class From, class To>
void FillMatrix(Matrix& matrix, std::string_view bytes)
{
    const size_t sliceElements = std::min(c_sliceElements, matrix.Elements());
    std::vector<From> aligned(sliceElements); // aligned for the transfer to the device
    std::vector<To> converted(std::is_same_v<From, To> ? 0 : sliceElements);
    const auto fill = [&](size_t first, size_t count)
    {
        std::memcpy(aligned.data(), bytes.data() + first * sizeof(From), count * sizeof(From));
        if constexpr (std::is_same_v<From, To>)
        {
            matrix.CopyFromHost(aligned.data(), first, count);
        }
        else
        {
            std::transform(aligned.begin(), aligned.begin() + ptrdiff_t(count), converted.begin(),
                           [](From value) { return To(value); });
            matrix.CopyFromHost(converted.data(), first, count);
        }
    };
    VisitSlices(matrix.Elements(), fill);
}

size_t ReadElementSize(ByteReader& in)
{
    const size_t position = in.Position();
    const auto size = in.Read<uint64_t>("the element size of a matrix");
    if (size != sizeof(float) && size != sizeof(double))
        in.Damaged(position, "the element size of a matrix (4 or 8)", std::to_string(size));
    return size_t(size);
}

Matrix ReadDense(ByteReader& in, DataType dataType, Device& device)
{
    in.Expect("BMAT");
    const size_t elementSize = ReadElementSize(in);
    in.WideText("the name of a matrix");
    in.Read<int32_t>("the format of a matrix");
    const size_t position = in.Position();
    const auto rows = in.Read<uint64_t>("the rows of a matrix");
    const auto columns = in.Read<uint64_t>("the columns of a matrix");
    const uint64_t mostElements = in.Left() / elementSize;
    if ((rows != 0 && columns > mostElements / rows) || rows > std::numeric_limits<uint32_t>::max() ||
        columns > std::numeric_limits<uint32_t>::max())
        in.Damaged(position, Concat("the size of a matrix (its values must fit into the ", in.Left(), " bytes left)"),
                   Concat(rows, " x ", columns));
    const std::string_view values = in.Bytes(rows * columns * elementSize, "the values of a matrix");
    Matrix matrix(0, 0, dataType, device);
    matrix.Resize(size_t(rows), size_t(columns));
    VisitType(dataType,
              [&](auto tag)
              {
                  if (elementSize == sizeof(float))
                      FillMatrix<float, decltype(tag)>(matrix, values);
                  else
                      FillMatrix<double, decltype(tag)>(matrix, values);
              });
    in.Expect("EMAT");
    return matrix;
}

// Elements after the header of a sparse matrix. The major index counts columns, or rows if the matrix is row-major.
struct SparseElements
{
    uint64_t count = 0; // above 0
    size_t elementSize = 0;
    uint64_t majorCount = 0;
    uint64_t minorCount = 0;
};

// Returns the element of a list of 64-bit numbers.
uint64_t WordAt(std::string_view bytes, uint64_t index)
{
    uint64_t value;
    std::memcpy(&value, bytes.data() + 8 * index, 8);
    return value;
}

// Calls store(major, minor, value) for each element.
template <class Store>
void ReadElements(ByteReader& in, const SparseElements& elements, Store&& store)
{
    const std::string_view values = in.Bytes(elements.count * elements.elementSize, "the values of a sparse matrix");
    const size_t indexPosition = in.Position();
    const std::string_view indices = in.Bytes(elements.count * 8, "the indices of a sparse matrix");
    const size_t startPosition = in.Position();
    const std::string_view starts = in.Bytes((elements.majorCount + 1) * 8, "the offsets of a sparse matrix");
    const auto valueAt = [&](uint64_t i)
    {
        if (elements.elementSize == sizeof(double))
            return std::bit_cast<double>(WordAt(values, i));
        float single;
        std::memcpy(&single, values.data() + 4 * i, 4);
        return double(single);
    };
    for (uint64_t major = 0; major < elements.majorCount; major++)
    {
        const uint64_t begin = WordAt(starts, major);
        const uint64_t end = WordAt(starts, major + 1);
        if (begin > end || end > elements.count)
            in.Damaged(startPosition + size_t(8 * major),
                       Concat("ascending offsets of a sparse matrix, at most ", elements.count),
                       Concat(begin, " and ", end));
        for (uint64_t i = begin; i < end; i++)
        {
            const uint64_t minor = WordAt(indices, i);
            if (minor >= elements.minorCount)
                in.Damaged(indexPosition + size_t(8 * i),
                           Concat("an index of a sparse matrix below ", elements.minorCount), std::to_string(minor));
            store(major, minor, valueAt(i));
        }
    }
}

// Reads a sparse matrix. Only GPU builds of CNTK v1.1 wrote these. Their header has the columns before the rows.
Matrix ReadSparse(ByteReader& in, DataType dataType, Device& device)
{
    in.Expect("BMAT");
    const size_t elementSize = ReadElementSize(in);
    in.WideText("the name of a matrix");
    const bool isRowMajor = (uint32_t(in.Read<int32_t>("the format of a matrix")) & c_rowMajor) != 0;
    const size_t position = in.Position();
    const auto nonZeros = in.Read<uint64_t>("the number of non-zero elements of a sparse matrix");
    const auto columns = in.Read<uint64_t>("the columns of a sparse matrix");
    const auto rows = in.Read<uint64_t>("the rows of a sparse matrix");
    const uint64_t most = c_largestFromSparse / sizeof(double);
    if (rows > most || columns > most || (rows != 0 && columns > most / rows) ||
        nonZeros > in.Left() / (elementSize + sizeof(uint64_t)))
        in.Damaged(position, "the size of a sparse matrix (its elements must fit into the bytes left)",
                   Concat(rows, " x ", columns, " with ", nonZeros, " elements"));

    std::vector<double> dense(size_t(rows * columns));
    const SparseElements elements{nonZeros, elementSize, isRowMajor ? rows : columns, isRowMajor ? columns : rows};
    if (nonZeros > 0)
        ReadElements(in, elements,
                     [&](uint64_t major, uint64_t minor, double value)
                     { dense[size_t(isRowMajor ? minor * rows + major : major * rows + minor)] = value; });
    Matrix matrix(size_t(rows), size_t(columns), dataType, device);
    matrix.FromHost(std::span<const double>(dense));
    in.Expect("EMAT");
    return matrix;
}

} // namespace

Matrix ReadMatrix(ByteReader& in, DataType dataType, Device& device)
{
    const size_t position = in.Position();
    const char kind = char(in.Read<uint8_t>("the kind of a matrix"));
    if (kind == 'd')
        return ReadDense(in, dataType, device);
    if (kind == 's')
        return ReadSparse(in, dataType, device);
    in.Damaged(position, "the kind of a matrix ('d' or 's')", in.Describe(position));
}

void WriteMatrix(ByteWriter& out, const Matrix& matrix, DataType dataType)
{
    out.Write(uint8_t('d'));
    out.WideText("BMAT");
    out.Write(uint64_t(SizeOf(dataType)));
    out.WideText("unnamed");
    out.Write(int32_t(0));
    out.Write(uint64_t(matrix.Rows()));
    out.Write(uint64_t(matrix.Columns()));
    CNTK_ASSERT(matrix.Elements() == 0 || matrix.Type() == dataType);
    VisitType(dataType,
              [&](auto tag)
              {
                  std::vector<decltype(tag)> slice(std::min(c_sliceElements, matrix.Elements()));
                  const auto write = [&](size_t first, size_t count)
                  {
                      matrix.CopyToHost(slice.data(), first, count);
                      out.Bytes(slice.data(), count * sizeof(tag));
                  };
                  VisitSlices(matrix.Elements(), write);
              });
    out.WideText("EMAT");
}

} // namespace cntk
