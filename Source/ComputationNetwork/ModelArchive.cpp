// Reads and writes little-endian binary files. Every size is checked before it is used.
#include "ComputationNetwork/ModelArchive.h"

#include "Common/Error.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <sys/mman.h>
#include <type_traits>
#include <unistd.h>
#include <vector>

namespace cntk
{

static_assert(std::endian::native == std::endian::little, "the files are little-endian and are copied as they are");

namespace
{

constexpr char32_t c_replacement = 0xFFFD;

void AppendUtf8(std::string& text, char32_t code)
{
    if (code < 0x80)
        text += char(code);
    else if (code < 0x800)
    {
        text += char(0xC0 | (code >> 6));
        text += char(0x80 | (code & 0x3F));
    }
    else if (code < 0x10000)
    {
        text += char(0xE0 | (code >> 12));
        text += char(0x80 | ((code >> 6) & 0x3F));
        text += char(0x80 | (code & 0x3F));
    }
    else
    {
        text += char(0xF0 | (code >> 18));
        text += char(0x80 | ((code >> 12) & 0x3F));
        text += char(0x80 | ((code >> 6) & 0x3F));
        text += char(0x80 | (code & 0x3F));
    }
}

// Returns the character that begins at position and moves position past it.
char32_t NextUtf8(std::string_view text, size_t& position)
{
    const auto byteAt = [&](size_t index) { return uint8_t(text[index]); };
    const uint8_t first = byteAt(position++);
    if (first < 0x80)
        return first;
    const size_t more = first >= 0xF0 && first < 0xF8 ? 3 : first >= 0xE0 ? 2 : first >= 0xC0 ? 1 : 0;
    if (more == 0 || first >= 0xF8)
        return c_replacement;
    char32_t code = first & (0x3F >> more);
    for (size_t i = 0; i < more; i++)
    {
        if (position >= text.size() || (byteAt(position) & 0xC0) != 0x80)
            return c_replacement;
        code = (code << 6) | (byteAt(position++) & 0x3F);
    }
    return code;
}

char16_t UnitAt(std::string_view data, size_t position)
{
    char16_t unit;
    std::memcpy(&unit, data.data() + position, sizeof(unit));
    return unit;
}

} // namespace

std::u16string ToWide(std::string_view text)
{
    std::u16string wide;
    wide.reserve(text.size());
    for (size_t position = 0; position < text.size();)
    {
        const char32_t code = NextUtf8(text, position);
        if (code < 0x10000)
            wide += char16_t(code);
        else
        {
            wide += char16_t(0xD800 + ((code - 0x10000) >> 10));
            wide += char16_t(0xDC00 + ((code - 0x10000) & 0x3FF));
        }
    }
    return wide;
}

std::string FromWide(std::u16string_view wide)
{
    std::string text;
    text.reserve(wide.size());
    for (size_t i = 0; i < wide.size(); i++)
    {
        const char32_t unit = wide[i];
        const bool isHigh = unit >= 0xD800 && unit < 0xDC00;
        if (isHigh && i + 1 < wide.size() && wide[i + 1] >= 0xDC00 && wide[i + 1] < 0xE000)
            AppendUtf8(text, 0x10000 + ((unit - 0xD800) << 10) + (wide[++i] - 0xDC00));
        else if (unit >= 0xD800 && unit < 0xE000)
            AppendUtf8(text, c_replacement);
        else
            AppendUtf8(text, unit);
    }
    return text;
}

std::string_view ByteReader::Bytes(uint64_t count, std::string_view what)
{
    if (count > Left())
        Fail(ErrorKind::Model, m_kind, " '", m_path, "' ends at byte ", m_data.size(), ": expected ", what, " (", count,
             count == 1 ? " byte" : " bytes", ") at byte ", m_position);
    const std::string_view bytes = m_data.substr(m_position, size_t(count));
    m_position += size_t(count);
    return bytes;
}

// Whole pages only: their neighbours may be in use.
void ByteReader::ReleaseBytes(std::string_view bytes) const
{
    if (!m_isMappedFile)
        return;
    const auto page = uintptr_t(::sysconf(_SC_PAGESIZE)), address = reinterpret_cast<uintptr_t>(bytes.data());
    const uintptr_t begin = (address + page - 1) / page * page, end = (address + bytes.size()) / page * page;
    if (begin < end)
        ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

bool ByteReader::ReadBool(std::string_view what)
{
    const size_t position = m_position;
    const auto value = Read<uint8_t>(what);
    if (value > 1)
        Damaged(position, Concat(what, " (0 or 1)"), std::to_string(value));
    return value == 1;
}

std::string ByteReader::WideText(std::string_view what)
{
    const size_t start = m_position;
    for (size_t position = start; position + 2 <= m_data.size(); position += 2)
        if (UnitAt(m_data, position) == 0)
        {
            std::u16string units((position - start) / 2, u'\0');
            std::memcpy(units.data(), m_data.data() + start, position - start);
            m_position = position + 2;
            return FromWide(units);
        }
    Fail(ErrorKind::Model, m_kind, " '", m_path, "' ends at byte ", m_data.size(), ": expected ", what,
         " (a 16-bit text) at byte ", start);
}

std::string ByteReader::NarrowText(std::string_view what)
{
    const size_t end = m_data.find('\0', m_position);
    if (end == std::string_view::npos)
        Fail(ErrorKind::Model, m_kind, " '", m_path, "' ends at byte ", m_data.size(), ": expected ", what,
             " (a text ended by a zero byte) at byte ", m_position);
    std::string text(m_data.substr(m_position, end - m_position));
    m_position = end + 1;
    return text;
}

size_t ByteReader::Count(std::string_view what, size_t bytesEach)
{
    const size_t position = m_position;
    const auto count = Read<uint64_t>(what);
    if (count > Left() / bytesEach)
        Damaged(position, Concat(what, " (at most ", Left() / bytesEach, " fit into the ", Left(), " bytes left)"),
                std::to_string(count));
    return size_t(count);
}

bool ByteReader::Reserve(uint64_t bytes)
{
    const uint64_t most = uint64_t(m_data.size()) * 64 + (uint64_t(64) << 20);
    if (bytes > most - m_reserved)
        return false;
    m_reserved += bytes;
    return true;
}

bool ByteReader::Peek(std::string_view mark) const
{
    if (Left() < 2 * (mark.size() + 1))
        return false;
    for (size_t i = 0; i < mark.size(); i++)
        if (UnitAt(m_data, m_position + 2 * i) != char16_t(uint8_t(mark[i])))
            return false;
    return UnitAt(m_data, m_position + 2 * mark.size()) == 0;
}

bool ByteReader::Mark(std::string_view mark)
{
    if (!Peek(mark))
        return false;
    m_position += 2 * (mark.size() + 1);
    return true;
}

void ByteReader::Expect(std::string_view mark)
{
    if (!Mark(mark))
        Damaged(m_position, Concat("the mark '", mark, "'"), Describe(m_position));
}

void ByteReader::Damaged(size_t position, std::string_view expected, std::string_view found) const
{
    Fail(ErrorKind::Model, m_kind, " '", m_path, "' is damaged at byte ", position, ": expected ", expected, ", found ",
         found);
}

std::string ByteReader::Describe(size_t position) const
{
    if (position >= m_data.size())
        return "the end of the file";
    constexpr size_t longest = 32;
    std::string text;
    bool isText = false;
    for (size_t at = position; at + 2 <= m_data.size() && text.size() <= longest; at += 2)
    {
        const char16_t unit = UnitAt(m_data, at);
        if (unit < 0x20 || unit > 0x7E)
        {
            isText = unit == 0;
            break;
        }
        text += char(unit);
    }
    if (isText && !text.empty())
        return Concat("'", text, "'");
    std::string hex = "the bytes";
    for (size_t at = position; at < m_data.size() && at < position + 8; at++)
    {
        char digits[4];
        std::snprintf(digits, sizeof(digits), " %02x", unsigned(uint8_t(m_data[at])));
        hex += digits;
    }
    return hex;
}

void ByteWriter::WideText(std::string_view text)
{
    const std::u16string wide = ToWide(text);
    Bytes(wide.c_str(), 2 * (wide.size() + 1));
}

void ByteWriter::NarrowText(std::string_view text)
{
    Bytes(text.data(), text.size());
    Bytes("", 1);
}

namespace
{

constexpr uint32_t c_rowMajor = 1; // bits of the format word of a sparse matrix

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
void FillMatrix(Matrix& matrix, const ByteReader& in, std::string_view bytes)
{
    const size_t sliceElements = std::min(c_sliceElements, matrix.Elements());
    std::vector<From> aligned(sliceElements); // aligned for the transfer to the device
    std::vector<To> converted(std::is_same_v<From, To> ? 0 : sliceElements);
    const auto fill = [&](size_t first, size_t count)
    {
        std::memcpy(aligned.data(), bytes.data() + first * sizeof(From), count * sizeof(From));
        in.ReleaseBytes(bytes.substr(first * sizeof(From), count * sizeof(From)));
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
                      FillMatrix<float, decltype(tag)>(matrix, in, values);
                  else
                      FillMatrix<double, decltype(tag)>(matrix, in, values);
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
    constexpr uint64_t most = std::numeric_limits<uint32_t>::max();
    if (rows > most || columns > most || nonZeros > in.Left() / (elementSize + sizeof(uint64_t)) ||
        (rows != 0 && columns > std::numeric_limits<uint64_t>::max() / sizeof(double) / rows) ||
        !in.Reserve(rows * columns * sizeof(double))) // the matrix becomes dense
        in.Damaged(position,
                   "the size of a sparse matrix (its elements must fit into the bytes left, and its dense form into 64 "
                   "times the size of the file and 64 MiB)",
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

// ---- fields of nodes ----

void ModelArchive::Field(bool& value)
{
    if (m_in != nullptr)
        value = m_in->ReadBool("a boolean field");
    else
        m_out->Write(uint8_t(value));
}

void ModelArchive::ElementField(double& value)
{
    constexpr std::string_view what = "a number in the node's precision";
    if (m_elementType == DataType::Float64)
        return Number(value, what);
    auto single = float(value);
    Number(single, what);
    value = m_in != nullptr ? double(single) : value;
}

void ModelArchive::WideText(std::string& value)
{
    if (m_in != nullptr)
        value = m_in->WideText("a text field");
    else
        m_out->WideText(value);
}

void ModelArchive::NarrowText(std::string& value)
{
    if (m_in != nullptr)
        value = m_in->NarrowText("a text field");
    else
        m_out->NarrowText(value);
}

void ModelArchive::Shape(TensorShape& shape, bool legacyAllowed)
{
    if (m_in != nullptr)
        ReadShape(shape, legacyAllowed);
    else
        WriteShape(shape);
}

void ModelArchive::ReadShape(TensorShape& shape, bool legacyAllowed)
{
    const size_t position = m_in->Position();
    std::vector<size_t> dims;
    const auto rank = m_in->Read<uint32_t>("the rank of a shape");
    const auto first = m_in->Read<uint32_t>("the first dimension of a shape");
    if (legacyAllowed && first == 0)
    {
        // Rereads the shape as u64 width, height, channels. Rank and first dimension were the halves of the width.
        m_in->Seek(position);
        const auto width = m_in->Read<uint64_t>("the width of a shape");
        const auto height = m_in->Read<uint64_t>("the height of a shape");
        const auto channels = m_in->Read<uint64_t>("the channels of a shape");
        dims = {size_t(channels), size_t(width), size_t(height)};
    }
    else
    {
        if (rank < 1 || rank > TensorShape::c_maxRank)
            m_in->Damaged(position, Concat("the rank of a shape (1 to ", TensorShape::c_maxRank, ")"),
                          std::to_string(rank));
        dims.push_back(first);
        for (uint32_t axis = 1; axis < rank; axis++)
            dims.push_back(m_in->Read<uint32_t>("a dimension of a shape"));
    }
    constexpr size_t mostElements = size_t(1) << 48;
    size_t elements = 1;
    for (const size_t dim : dims)
    {
        if (dim > mostElements || (dim != 0 && elements > mostElements / dim))
            m_in->Damaged(position, "the dimensions of a shape", "dimensions whose product is too large");
        elements *= dim != 0 ? dim : 1;
    }
    shape = TensorShape(std::span<const size_t>(dims));
}

void ModelArchive::WriteShape(const TensorShape& shape)
{
    // Writes at least one dimension, because readers always take a first one.
    const TensorShape written = shape.Rank() > 0 ? shape : TensorShape{1};
    m_out->Write(uint32_t(written.Rank()));
    for (const size_t dim : written.Dims())
        m_out->Write(uint32_t(dim));
}

void ModelArchive::MatrixField(Matrix& matrix)
{
    if (m_in != nullptr)
        matrix = ReadMatrix(*m_in, m_dataType, *m_device);
    else
        WriteMatrix(*m_out, matrix, m_elementType);
}

void ModelArchive::List(std::vector<bool>& values)
{
    if (m_in == nullptr)
    {
        m_out->Write(uint64_t(values.size()));
        for (const bool value : values)
            m_out->Write(uint8_t(value));
        return;
    }
    const size_t count = m_in->Count("the length of a list", 1);
    values.clear();
    for (size_t i = 0; i < count; i++)
        values.push_back(m_in->ReadBool("an element of a list of booleans"));
}

bool ModelArchive::Mark(std::string_view mark)
{
    if (m_in != nullptr)
        return m_in->Mark(mark);
    m_out->WideText(mark);
    return true;
}

int32_t ModelArchive::PeekInt32()
{
    if (m_in == nullptr)
        return 0;
    const size_t position = m_in->Position();
    const auto value = m_in->Read<int32_t>("an integer field");
    m_in->Seek(position);
    return value;
}

} // namespace cntk
