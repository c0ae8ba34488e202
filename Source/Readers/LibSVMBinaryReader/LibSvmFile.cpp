// Header, layout and batches.
#include "Readers/LibSVMBinaryReader/LibSvmFile.h"

#include "Common/Text.h"
#include "Readers/ReaderLib/SparseColumnReader.h"

#include <algorithm>

namespace cntk
{
namespace
{

constexpr const char* c_rowsName = "the number of rows of the batch";
constexpr const char* c_valueCountName = "the number of values";
constexpr const char* c_startsName = "the starts of the columns";

} // namespace

LibSvmFile::LibSvmFile(const std::string& path, size_t ownValueBytes) : m_file(path), m_cursor(m_file)
{
    ReadHeader();
    FindLayout(ownValueBytes);
    CountRecords();
}

void LibSvmFile::ReadHeader()
{
    m_headerRows = m_cursor.TakeCount<int64_t>("the number of rows", 1, INT64_MAX);
    const size_t batches = m_cursor.TakeCount<int64_t>("the number of batches", 1, m_file.Size() / sizeof(int64_t));
    const size_t mostStreams = m_file.Size() / (2 * sizeof(int32_t));
    const size_t features = m_cursor.TakeCount<int32_t>("the number of features", 0, mostStreams);
    const size_t labels = m_cursor.TakeCount<int32_t>("the number of labels", features == 0 ? 1 : 0, mostStreams);
    for (size_t i = 0; i < features + labels; ++i)
    {
        m_cursor.Enter(i < features ? "feature" : "label", i < features ? i : i - features, m_cursor.Position());
        LibSvmStream stream;
        const size_t at = m_cursor.Position();
        stream.name =
            m_cursor.TakeText(m_cursor.TakeCount<int32_t>("the length of its name", 1, INT32_MAX), "its name");
        stream.dim = m_cursor.TakeCount<int32_t>("its dimension", 1, INT32_MAX);
        stream.isLabel = i >= features;
        for (const LibSvmStream& other : m_streams)
        {
            if (EqualsIgnoreCase(other.name, stream.name))
                m_cursor.FailAtByte(at, Concat("expected a name of its own, found '", stream.name, "' again"));
        }
        m_streams.push_back(std::move(stream));
    }
    m_offsetsAt = m_cursor.Position();
    m_cursor.Enter(nullptr, 0, m_offsetsAt);
    m_cursor.Append<int64_t>(m_offsets, batches, "the offsets of the batches");
    m_dataBegin = m_cursor.Position();
}

// Takes the starts of columns, which are there; false if they cannot be those of `count` values.
bool LibSvmFile::TakeStarts(size_t rows, int32_t count)
{
    int32_t last = 0;
    for (size_t k = 0; k <= rows; ++k)
    {
        const auto start = m_cursor.Take<int32_t>(c_startsName);
        if (start < last || (k == 0 && start != 0))
            return false;
        last = start;
    }
    return last == count;
}

// Where a batch ends that begins at the position, if values had that size; 0 where it cannot.
size_t LibSvmFile::FindEndOfBatch(size_t position, size_t valueBytes, bool checksStarts)
{
    const auto fits = [&](size_t count, size_t each) { return count <= m_cursor.Left() / each; };
    m_cursor.Enter("batch", 0, position);
    if (!fits(1, sizeof(int32_t)))
        return 0;
    const auto rows = m_cursor.Take<int32_t>(c_rowsName);
    if (rows < 1 || size_t(rows) > m_headerRows)
        return 0;
    for (const LibSvmStream& stream : m_streams)
    {
        if (stream.isLabel)
        {
            if (!fits(size_t(rows) * stream.dim, valueBytes))
                return 0;
            m_cursor.Skip(size_t(rows) * stream.dim, valueBytes, c_valueCountName);
            continue;
        }
        if (!fits(1, sizeof(int32_t)))
            return 0;
        const auto count = m_cursor.Take<int32_t>(c_valueCountName);
        if (count < 0 || !fits(size_t(count), valueBytes + sizeof(int32_t)))
            return 0;
        m_cursor.Skip(size_t(count), valueBytes + sizeof(int32_t), c_valueCountName);
        if (!fits(size_t(rows) + 1, sizeof(int32_t)))
            return 0;
        if (!checksStarts)
            m_cursor.Skip(size_t(rows) + 1, sizeof(int32_t), c_startsName);
        else if (!TakeStarts(size_t(rows), count))
            return 0;
    }
    return m_cursor.Position();
}

bool LibSvmFile::FindLayout(size_t valueBytes, bool isStrict)
{
    for (const size_t begin : {m_dataBegin, m_dataBegin + sizeof(int32_t)})
    {
        const size_t end = FindEndOfBatch(begin, valueBytes, isStrict);
        const uint64_t base = begin - m_offsets[0]; // may wrap: the sum below does so, too
        const bool isBase = base == 0 || base == m_dataBegin || base == m_dataBegin + sizeof(int32_t);
        const uint64_t next = m_offsets.size() > 1 ? base + m_offsets[1] : m_file.Size();
        if (!isBase || end == 0 || end != next)
            continue;
        const uint64_t last = base + m_offsets.back();
        if (isStrict && (last >= m_file.Size() || FindEndOfBatch(last, valueBytes, true) != m_file.Size()))
            continue;
        m_base = base;
        m_valueBytes = valueBytes;
        return true;
    }
    return false;
}

// The batches begin behind the offsets, or behind one more number: the rows of a batch. Offsets count from the file's
// begin, from the end of the offsets or from behind that number; values have 4 or 8 bytes. Right is what lets the first
// batch end where the second begins, or the file ends; if there are several, that whose starts of
// columns make sense and whose last batch ends the file.
void LibSvmFile::FindLayout(size_t ownValueBytes)
{
    const size_t otherValueBytes = ownValueBytes == sizeof(float) ? sizeof(double) : sizeof(float);
    for (const bool isStrict : {true, false})
    {
        if (FindLayout(ownValueBytes, isStrict) || FindLayout(otherValueBytes, isStrict))
            return;
    }
    m_cursor.Enter("batch", 0, m_dataBegin);
    m_cursor.FailAtByte(m_dataBegin, Concat("expected a batch that ends where ",
                                            m_offsets.size() > 1 ? "the next one begins" : "the file ends",
                                            ", with values of 4 or 8 bytes, found none; the offset of the batch is ",
                                            int64_t(m_offsets[0])));
}

void LibSvmFile::CountRecords()
{
    m_firstRecords.assign(1, 0);
    for (size_t batch = 0; batch < m_offsets.size(); ++batch)
    {
        const size_t offsetAt = m_offsetsAt + batch * sizeof(int64_t);
        m_cursor.Enter("batch", batch, offsetAt);
        if (m_offsets[batch] >= m_file.Size() - m_base || Begin(batch) < m_dataBegin)
            m_cursor.FailAtByte(offsetAt,
                                Concat("expected its offset, a number of ", m_base < m_dataBegin ? m_dataBegin : 0,
                                       " to ", m_file.Size() - m_base - 1, ", found ", int64_t(m_offsets[batch])));
        m_cursor.Enter("batch", batch, Begin(batch));
        const size_t most = m_headerRows - m_firstRecords.back();
        m_firstRecords.push_back(m_firstRecords.back() + m_cursor.TakeCount<int32_t>(c_rowsName, 0, most));
    }
    m_cursor.Enter(nullptr, 0, 0);
    if (Records() != m_headerRows)
        m_cursor.FailAtByte(
            0, Concat("expected the number of rows, ", Records(), " in all batches, found ", m_headerRows));
}

size_t LibSvmFile::BatchOf(size_t record) const
{
    const auto behind = std::upper_bound(m_firstRecords.begin(), m_firstRecords.end(), record);
    return size_t(behind - m_firstRecords.begin()) - 1;
}

template <class ElemType>
void LibSvmFile::Read(size_t batch, LibSvmBatch<ElemType>& target)
{
    m_cursor.Enter("batch", batch, Begin(batch));
    target.records = m_cursor.TakeCount<int32_t>(c_rowsName, 0, m_headerRows);
    target.streams.resize(m_streams.size());
    for (size_t i = 0; i < m_streams.size(); ++i)
    {
        const LibSvmStream& info = m_streams[i];
        auto& stream = target.streams[i];
        stream.values.clear();
        stream.rowIndices.clear();
        stream.columnStarts.clear();
        if (info.isLabel)
        {
            m_cursor.AppendValues(stream.values, target.records * info.dim, m_valueBytes, "values of the label");
            continue;
        }
        const size_t count = m_cursor.TakeCount<int32_t>(c_valueCountName, 0, INT32_MAX);
        m_cursor.AppendValues(stream.values, count, m_valueBytes, "values");
        m_cursor.Append<int32_t>(stream.rowIndices, count, "rows of the values");
        CheckRowIndices(m_cursor, info.name, info.dim, stream.rowIndices, 0);
        const size_t startsAt = m_cursor.Position();
        m_cursor.Append<int32_t>(stream.columnStarts, target.records + 1, c_startsName);
        for (size_t k = 0; k <= target.records; ++k)
        {
            const size_t least = k == 0 ? 0 : k == target.records ? count : size_t(stream.columnStarts[k - 1]);
            const size_t most = k == 0 ? 0 : count;
            const int32_t start = stream.columnStarts[k];
            if (start < 0 || size_t(start) < least || size_t(start) > most)
                m_cursor.FailAtByte(startsAt + k * sizeof(int32_t),
                                    Concat("expected the start of column ", k, " of '", info.name, "', a number of ",
                                           least, " to ", most, ", found ", start));
        }
    }
}

template void LibSvmFile::Read(size_t, LibSvmBatch<float>&);
template void LibSvmFile::Read(size_t, LibSvmBatch<double>&);

} // namespace cntk
