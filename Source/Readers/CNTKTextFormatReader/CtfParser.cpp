// Parsing of CNTK text format. A malformed sample is reported and dropped; parsing resumes at the next '|' or row.
#include "Common/Characters.h"
#include "Common/Error.h"
#include "Readers/CNTKTextFormatReader/CtfStore.h"

#include <algorithm>
#include <cmath>

namespace cntk
{
namespace
{

constexpr size_t c_noStream = SIZE_MAX;
constexpr size_t c_mostTextShown = 40;

const char* SkipBlanks(const char* at)
{
    while (IsBlank(*at))
        ++at;
    return at;
}

bool EndsSample(char c)
{
    return c == '|' || c == '\n';
}

} // namespace

template <class ElemType>
void CtfData<ElemType>::Clear(size_t streamCount)
{
    streams.resize(streamCount);
    for (Stream& stream : streams)
    {
        stream.values.clear();
        stream.rowIndices.clear();
        stream.sampleStarts.assign(1, 0);
        stream.sequenceStarts.assign(1, 0);
    }
    ids.clear();
}

template <class ElemType>
size_t CtfData<ElemType>::Bytes() const
{
    size_t bytes = ids.capacity() * sizeof(uint64_t);
    for (const Stream& stream : streams)
        bytes += stream.values.capacity() * sizeof(ElemType) + stream.rowIndices.capacity() * sizeof(int32_t) +
                 (stream.sampleStarts.capacity() + stream.sequenceStarts.capacity()) * sizeof(size_t);
    return bytes;
}

template <class ElemType>
CtfParser<ElemType>::CtfParser(const std::vector<CtfStream>& streams, CtfFindingReceiver receiver)
    : m_streams(streams), m_receiver(std::move(receiver)), m_numbers('.', " \t\r\n|"), m_wanted(streams.size(), true)
{
}

template <class ElemType>
void CtfParser<ElemType>::Report(const char* at, std::string message, bool isError) const
{
    const char* lineStart = at;
    while (lineStart > m_begin && lineStart[-1] != '\n')
        --lineStart;
    m_receiver({m_offset + size_t(at - m_begin), size_t(at - lineStart) + 1, std::move(message), isError});
}

template <class ElemType>
std::string CtfParser<ElemType>::TokenAt(const char* at) const
{
    if (at == m_end)
        return "the end of the file";
    if (*at == '\n')
        return "the end of the row";
    const char* end = at;
    while (size_t(end - at) < c_mostTextShown && !IsBlank(*end) && !EndsSample(*end))
        ++end;
    return Concat("'", end == at ? std::string_view(at, 1) : std::string_view(at, size_t(end - at)), "'");
}

// Returns the next '|' or newline.
template <class ElemType>
const char* CtfParser<ElemType>::SkipToSample(const char* at)
{
    while (!EndsSample(*at))
        ++at;
    return at;
}

// True if the file ends at this number without a newline: the number may have lost digits.
template <class ElemType>
bool CtfParser<ElemType>::IsCutOff(const char* at) const
{
    return at == m_end && m_endsFile;
}

template <class ElemType>
size_t CtfParser<ElemType>::FindStream(std::string_view name)
{
    for (size_t i = 0; i < m_streams.size(); ++i)
    {
        const size_t stream =
            m_nextStream + i < m_streams.size() ? m_nextStream + i : m_nextStream + i - m_streams.size();
        if (m_streams[stream].alias == name)
        {
            m_nextStream = stream + 1 < m_streams.size() ? stream + 1 : 0;
            return stream;
        }
    }
    return c_noStream;
}

template <class ElemType>
size_t CtfParser<ElemType>::ParseSequence(std::string_view text, size_t offset, size_t rows, uint64_t defaultId,
                                          bool endsFile, CtfData<ElemType>& data)
{
    m_begin = text.data();
    m_end = text.data() + text.size();
    m_offset = offset;
    m_rows = rows;
    m_endsFile = endsFile && !text.ends_with('\n');
    m_samples.assign(m_streams.size(), 0);
    data.ids.push_back(defaultId);
    for (const char* at = m_begin; at < m_end;)
        at = ParseRow(at, data);
    size_t missing = c_complete;
    for (size_t i = m_streams.size(); i-- > 0;)
    {
        Stream& stream = data.streams[i];
        stream.sequenceStarts.push_back(stream.sequenceStarts.back() + m_samples[i]);
        if (m_wanted[i] && m_samples[i] == 0)
            missing = i;
    }
    return missing;
}

template <class ElemType>
const char* CtfParser<ElemType>::ParseRow(const char* at, CtfData<ElemType>& data)
{
    const char* const start = at;
    while (IsDigit(*at))
        ++at;
    at = SkipBlanks(at);
    if (*at != '|')
    {
        Report(at,
               Concat("expected ", at == start ? "a sequence id or '|'" : "'|'", " and the name of a stream, found ",
                      *at == '\n' && at == start ? "a blank line" : TokenAt(at)));
        at = SkipToSample(at);
    }
    while (*at == '|')
        at = ParseSample(at + 1, data);
    return at + 1;
}

// at: the position after the '|'.
template <class ElemType>
const char* CtfParser<ElemType>::ParseSample(const char* at, CtfData<ElemType>& data)
{
    if (*at == '#')
        return SkipToSample(at);
    const char* const name = at;
    while (uint8_t(*at) > ' ' && *at != '|')
        ++at;
    if (at == name)
    {
        Report(at, Concat("expected the name of a stream after '|', found ", IsBlank(*at) ? "a blank" : TokenAt(at)));
        return SkipToSample(at);
    }
    const size_t index = FindStream({name, size_t(at - name)});
    if (index == c_noStream)
    {
        Report(name, Concat("no stream of the reader has the name '", std::string_view(name, size_t(at - name)), "'"),
               false);
        return SkipToSample(at);
    }
    if (!m_wanted[index])
        return SkipToSample(at);
    const CtfStream& stream = m_streams[index];
    Stream& target = data.streams[index];
    const size_t values = target.values.size();
    const char* end = stream.sparse ? ParseSparse(at, stream, target) : ParseDense(at, stream, target);
    if (end != nullptr && IsCutOff(end))
    {
        Report(end, "expected a newline, found the end of the file; the last sample may be cut off");
        end = nullptr;
    }
    else if (end != nullptr && m_samples[index] == m_rows)
    {
        Report(name, Concat("stream '", stream.alias, "' has more samples than the sequence has rows (", m_rows,
                            "), expected one a row"));
        end = nullptr;
    }
    if (end == nullptr)
    {
        target.values.resize(values);
        target.rowIndices.resize(stream.sparse ? values : 0);
        return SkipToSample(at);
    }
    ++m_samples[index];
    if (stream.sparse)
        target.sampleStarts.push_back(target.values.size());
    return end;
}

// Reports a number that becomes infinite: its effect in training may show much later.
template <class ElemType>
void CtfParser<ElemType>::ReportTooLarge(const char* at, const CtfStream& stream) const
{
    Report(at, Concat("expected a number of stream '", stream.alias, "' within the range of precision=",
                      sizeof(ElemType) == sizeof(float) ? "float" : "double", ", found ", TokenAt(at)));
}

template <class ElemType>
const char* CtfParser<ElemType>::ParseDense(const char* at, const CtfStream& stream, Stream& data) const
{
    const size_t first = data.values.size();
    data.values.resize(first + stream.dim); // missing values are 0
    ElemType* const values = data.values.data() + first;
    size_t count = 0;
    for (;;)
    {
        at = SkipBlanks(at);
        while (count + 4 <= stream.dim && m_end - at > ptrdiff_t(NumberParser::c_fourDigitsLength) &&
               NumberParser::ParseFourDigits(at, values + count))
        {
            at += NumberParser::c_fourDigitsLength;
            count += 4;
        }
        if (EndsSample(*at))
            return at;
        if (IsBlank(*at))
            continue;
        double value = 0;
        const char* const end = m_numbers.Parse(at, value);
        if (end == nullptr)
        {
            Report(at, Concat("expected a number of stream '", stream.alias, "', found ", TokenAt(at)));
            return nullptr;
        }
        if (count == stream.dim)
        {
            Report(at, Concat("stream '", stream.alias, "' has more than dim=", stream.dim,
                              " values, expected the end of the sample, found ", TokenAt(at)));
            return nullptr;
        }
        if (!std::isfinite(ElemType(value)))
        {
            ReportTooLarge(at, stream);
            return nullptr;
        }
        values[count++] = ElemType(value);
        at = end;
    }
}

template <class ElemType>
const char* CtfParser<ElemType>::ParseSparse(const char* at, const CtfStream& stream, Stream& data)
{
    const size_t first = data.values.size();
    for (;;)
    {
        at = SkipBlanks(at);
        if (EndsSample(*at))
            break;
        const char* const pair = at;
        uint64_t index = 0;
        for (; IsDigit(*at); ++at)
            index = index <= INT32_MAX ? index * 10 + uint64_t(*at - '0') : index;
        if (at == pair || *at != ':')
        {
            Report(pair,
                   Concat("expected a pair index:value of sparse stream '", stream.alias, "', found ", TokenAt(pair)));
            return nullptr;
        }
        if (index >= stream.dim)
        {
            Report(pair, Concat("index ", std::string_view(pair, size_t(at - pair)), " of sparse stream '",
                                stream.alias, "' is too large, expected less than dim=", stream.dim));
            return nullptr;
        }
        double value = 0;
        const char* const end = m_numbers.Parse(at + 1, value);
        if (end == nullptr)
        {
            Report(at + 1, Concat("expected a number of sparse stream '", stream.alias, "' after ':', found ",
                                  TokenAt(at + 1)));
            return nullptr;
        }
        if (!std::isfinite(ElemType(value)))
        {
            ReportTooLarge(at + 1, stream);
            return nullptr;
        }
        data.rowIndices.push_back(int32_t(index));
        data.values.push_back(ElemType(value));
        at = end;
    }
    m_sorter.SortLast(data.rowIndices, data.values, first);
    return at;
}

template struct CtfData<float>;
template struct CtfData<double>;
template class CtfParser<float>;
template class CtfParser<double>;

} // namespace cntk
