// Positions, shuffled blocks and the records of a minibatch.
#include "Readers/ReaderLib/RecordWalk.h"

#include "Common/Error.h"
#include "Readers/ReaderLib/MinibatchPipe.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace cntk
{
namespace
{

__attribute__((format(printf, 2, 3))) void Append(std::string& text, const char* format, ...)
{
    char buffer[200];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(buffer, sizeof buffer, format, arguments);
    va_end(arguments);
    text += buffer;
}

} // namespace

void RecordWalk::Start(const EpochRequest& request)
{
    CNTK_ASSERT(request.minibatchSize > 0 && request.rank < request.workers);
    const size_t minibatchSize = request.minibatchSize;
    m_request = request;
    m_seeds = SeedStream(request.trainingSeed, "order");
    m_epochSize = IsWholeDataSet(request) ? m_counter.Extend(SIZE_MAX) : request.epochSize;
    if (TakesFull())
    {
        RequireColumns(minibatchSize, "records"); // every minibatch has this size, however few records there are
        m_epochSize = (m_epochSize + minibatchSize - 1) / minibatchSize * minibatchSize;
    }
    m_epochStart = PositionsOfEpoch(request, m_epochSize).begin;
    m_position = m_epochStart;
    m_blockEnd = 0;
    if (m_counter.Extend(m_epochStart + 1) <= m_epochStart)
        m_startRecord = m_epochStart % m_counter.Known();
    else
        m_startRecord = m_epochStart;
    m_range = m_options.range == 0 ? 0 : std::min(std::max(m_options.range, minibatchSize), m_epochSize);
}

size_t RecordWalk::RecordAt(size_t position) const
{
    const size_t known = m_counter.Known();
    CNTK_ASSERT(position < known || m_counter.IsComplete());
    return position < known ? position : position % known;
}

// Cuts a minibatch at the end of the data.
size_t RecordWalk::LimitToSweep(size_t count)
{
    if (m_counter.Extend(m_position + count) >= m_position + count)
        return count;
    const size_t total = m_counter.Known();
    return std::min(count, total - m_position % total);
}

void RecordWalk::EnterBlock(size_t position, std::string& log)
{
    const size_t begin = m_epochStart + (position - m_epochStart) / m_range * m_range;
    const size_t count = std::min(m_range, m_epochStart + m_epochSize - begin);
    m_counter.Extend(begin + count);
    if (count > UINT32_MAX)
        Fail(ErrorKind::Config, "randomize: a window of ", count, " records is too large; at most ", UINT32_MAX,
             " records can be shuffled with each other");
    m_blockBegin = begin;
    m_blockEnd = begin + count;
    const size_t seed = m_seeds(begin / m_range);
    if (m_orderSeed == seed && m_orderRange == m_range && m_order.size() == count)
        return;
    const size_t refused = ShuffleWithinWindow(m_order, count, m_range, GlibcRand(uint32_t(seed)));
    Append(log, "RandomOrdering: %zu retries for %zu elements (%.1f%%) to ensure window condition\n", refused, count,
           100.0 * double(refused) / double(count));
    Append(log, "RandomOrdering: recached sequence for seed %zu: %u, %u, ...\n", seed, m_order.front(),
           m_order[count > 1 ? 1 : 0]);
    m_orderSeed = seed;
    m_orderRange = m_range;
}

bool RecordWalk::Next(std::vector<size_t>& records, std::string& log)
{
    records.clear();
    const size_t left = m_epochStart + m_epochSize - m_position;
    if (left == 0)
        return false;
    size_t count = std::min(m_request.minibatchSize, left);
    if (TakesFull())
        m_counter.Extend(m_position + count);
    else
        count = LimitToSweep(count);
    RequireColumns(count, "records");
    const PlaceRange share = ShareOfWorker(m_request, count);
    // Reserves memory for the largest minibatch of the epoch. A huge minibatchSize means all records.
    records.reserve(std::max<size_t>(share.end - share.begin, std::min(m_request.minibatchSize, m_counter.Known())));
    for (size_t position = m_position + share.begin; position < m_position + share.end; ++position)
    {
        if (m_range == 0)
        {
            records.push_back(RecordAt(position));
            continue;
        }
        if (position >= m_blockEnd)
            EnterBlock(position, log);
        records.push_back(RecordAt(m_blockBegin + m_order[position - m_blockBegin]));
    }
    m_position += count;
    return true;
}

} // namespace cntk
