// Numbers are printed as in the original, because scripts read them.
#include "ActionsLib/Actions/TextOutput.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "Common/LabelLine.h"
#include "Common/Text.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <regex>

namespace cntk
{

namespace
{

// Replaces "\n", "\r", "\t" and "\s" (a blank) in separators.
std::string Unescape(const std::string& text)
{
    std::string result;
    for (size_t i = 0; i < text.size(); ++i)
    {
        if (text[i] != '\\' || i + 1 == text.size())
        {
            result += text[i];
            continue;
        }
        const char next = text[++i];
        if (next == 'n')
            result += '\n';
        else if (next == 'r')
            result += '\r';
        else if (next == 't')
            result += '\t';
        else if (next == 's')
            result += ' ';
        else
            (result += '\\') += next;
    }
    return result;
}

// "%" + precisionFormat + conversion, without flags that the conversion does not accept.
std::string FormatOf(const std::string& precisionFormat, std::string_view flags, const char* conversion)
{
    std::string kept;
    size_t i = 0;
    for (; i < precisionFormat.size() && std::string_view("-+ #0").find(precisionFormat[i]) != std::string_view::npos;
         ++i)
        if (flags.find(precisionFormat[i]) != std::string_view::npos)
            kept += precisionFormat[i];
    return "%" + kept + precisionFormat.substr(i) + conversion;
}

template <class T>
void AppendFormatted(std::string& text, const std::string& format, T value)
{
    char buffer[128];
    const int length = std::snprintf(buffer, sizeof buffer, format.c_str(), value);
    if (size_t(length) < sizeof buffer)
    {
        text.append(buffer, size_t(length));
        return;
    }
    std::string wide(size_t(length) + 1, '\0'); // with the terminating zero
    std::snprintf(wide.data(), wide.size(), format.c_str(), value);
    text.append(wide, 0, size_t(length));
}

// Indices of an element of a sample with several axes: "1,0,2".
std::string IndexText(size_t element, const TensorShape& shape)
{
    std::string text;
    for (size_t axis = 0; axis < std::max<size_t>(shape.Rank(), 1); ++axis)
    {
        text += (axis > 0 ? "," : "") + std::to_string(element % shape[axis]);
        element /= shape[axis];
    }
    return text;
}

} // namespace

const OptionTable<OutputFormat>& OutputFormat::Options()
{
    using S = OutputFormat;
    static const OptionTable<S> table = {
        Choice("type", &S::type, {{"real", Type::Real}, {"category", Type::Category}, {"sparse", Type::Sparse}},
               "numbers, the index (or label) of the largest value, or only the values that are not zero")
            .Here(), // at the root it is an old name of precision
        Opt("labelMappingFile", &S::labelMappingFile,
            "text file, one label a line: category prints the label, sparse adds it to the index"),
        Opt("transpose", &S::transpose,
            "true: a line is a sample; false: a line is a row of the sequence's matrix. With type=sparse, true: "
            "entries "
            "row by row, separated by sampleSeparator; false: entries time step by time step, separated by "
            "elementSeparator"),
        Opt("prologue", &S::prologue,
            "text at the beginning of the file, printed literally: \\n and the like are not replaced"),
        Opt("epilogue", &S::epilogue, "text at the end of the file, also printed literally"),
        Opt("sequenceSeparator", &S::sequenceSeparator, "text before all sequences but the first of a minibatch"),
        Opt("sequencePrologue", &S::sequencePrologue, "text before each sequence"),
        Opt("sequenceEpilogue", &S::sequenceEpilogue, "text after each sequence"),
        Opt("elementSeparator", &S::elementSeparator, "text between the values of a line"),
        Opt("sampleSeparator", &S::sampleSeparator, "text between lines"),
        Opt("precisionFormat", &S::precisionFormat,
            "between % and f when numbers are printed: .2 gives %.2f; of type category between % and u, or s where "
            "labels are printed: 3 gives %3u"),
    };
    return table;
}

OutputFormat ReadOutputFormat(const ConfigParameters& block)
{
    OutputFormat format = ReadOptions<OutputFormat>(block);
    format.labelMappingWhere = block.WhereOf("labelMappingFile");
    // printf gets the text between % and f unchanged.
    static const std::regex accepted("[-+ #0]*[0-9]{0,3}(\\.[0-9]{0,2})?");
    if (!std::regex_match(format.precisionFormat, accepted))
        FailAt(block.WhereOf("precisionFormat"), ErrorKind::Config, "precisionFormat is '", format.precisionFormat,
               "', expected flags, width and precision as between % and f of printf: '.2', '10', '+8.3'");
    return format;
}

// Labels that createLabelMap has put in quotes are printed without quotes.
std::vector<std::string> ReadOutputLabels(const OutputFormat& format)
{
    const std::string& path = format.labelMappingFile;
    if (path.empty())
        return {};
    if (!FileExists(ResolveInputPath(path)))
        FailAt(format.labelMappingWhere, ErrorKind::Data, "label map '", path, "' does not exist", NearFilesHint(path));
    std::vector<std::string> labels;
    const std::string content = ReadTextFile(ResolveInputPath(path));
    RequirePlainText(content, Concat("label map '", path, "'"));
    RequireNoZeroBytes(content, Concat("label map '", path, "'"));
    RequireNewlines(content, Concat("label map '", path, "'"));
    for (std::string_view line : Split(content, '\n'))
    {
        if (!line.empty() && line.back() == '\r')
            line.remove_suffix(1);
        labels.push_back(LabelOfWrittenLine(line));
    }
    if (!labels.empty() && labels.back().empty())
        labels.pop_back();
    if (labels.empty())
        FailAt(format.labelMappingWhere, ErrorKind::Data, "label map '", path, "' has no labels");
    return labels;
}

TextOutput::TextOutput(const std::string& path, std::string nodeName, const OutputFormat& format, Log& log)
    : m_file(path), m_nodeName(std::move(nodeName)), m_format(format), m_log(log),
      m_numberFormat(FormatOf(format.precisionFormat, "-+ #0", "f")),
      m_indexFormat(FormatOf(format.precisionFormat, "-0", "zu")),
      m_labelFormat(FormatOf(format.precisionFormat, "-", "s"))
{
    for (std::string* separator : {&m_format.sequenceSeparator, &m_format.sequencePrologue, &m_format.sequenceEpilogue,
                                   &m_format.elementSeparator, &m_format.sampleSeparator})
        *separator = Unescape(*separator);
    m_labels = ReadOutputLabels(format);
    m_text = m_format.prologue;
}

void TextOutput::Write(std::span<const double> values, const TensorShape& sampleShape, const MBLayout* layout)
{
    std::vector<size_t> columns;
    bool first = true;
    const auto emit = [&](size_t sequenceId)
    {
        if (!first)
            AppendSeparator(m_format.sequenceSeparator, sampleShape, columns.size(), sequenceId);
        first = false;
        WriteSequence(values, sampleShape, columns, sequenceId);
    };
    if (layout == nullptr)
    {
        columns = {0};
        emit(0);
    }
    else if (layout->IsFrameMode())
    {
        for (size_t column = 0; column < layout->Columns(); ++column)
        {
            columns.assign(1, column);
            emit(column);
        }
    }
    else
    {
        for (const SequenceInfo& sequence : layout->Sequences())
        {
            if (sequence.id == SequenceInfo::c_gap)
                continue;
            columns.clear();
            const ptrdiff_t end = std::min<ptrdiff_t>(sequence.end, ptrdiff_t(layout->TimeSteps()));
            for (ptrdiff_t time = std::max<ptrdiff_t>(sequence.begin, 0); time < end; ++time)
                columns.push_back(size_t(time) * layout->ParallelSequences() + sequence.row);
            emit(sequence.id);
        }
    }
    ++m_minibatch;
    constexpr size_t c_flushBytes = 1 << 20;
    if (m_text.size() >= c_flushBytes)
        Flush();
}

void TextOutput::WriteSequence(std::span<const double> values, const TensorShape& sampleShape,
                               const std::vector<size_t>& columns, size_t sequenceId)
{
    const size_t rows = sampleShape.Elements();
    const size_t timeSteps = columns.size();
    AppendSeparator(m_format.sequencePrologue, sampleShape, timeSteps, sequenceId);
    if (m_format.type == OutputFormat::Type::Sparse)
    {
        WriteSparseSequence(values, sampleShape, columns, sequenceId);
    }
    else if (m_format.type == OutputFormat::Type::Category)
    {
        for (size_t t = 0; t < timeSteps; ++t)
        {
            if (t > 0)
                AppendSeparator(m_format.transpose ? m_format.sampleSeparator : m_format.elementSeparator, sampleShape,
                                timeSteps, sequenceId);
            AppendCategory(values.subspan(columns[t] * rows, rows));
        }
    }
    else
    {
        // A line is a sample (transpose) or a row of the sequence's matrix.
        const size_t lines = m_format.transpose ? timeSteps : rows;
        const size_t elements = m_format.transpose ? rows : timeSteps;
        for (size_t line = 0; line < lines; ++line)
        {
            if (line > 0)
                AppendSeparator(m_format.sampleSeparator, sampleShape, timeSteps, sequenceId);
            if (!m_format.transpose && sampleShape.Rank() > 1)
                m_text += "[" + IndexText(line, sampleShape) + "]\t";
            for (size_t element = 0; element < elements; ++element)
            {
                if (element > 0)
                    AppendSeparator(m_format.elementSeparator, sampleShape, timeSteps, sequenceId);
                const size_t row = m_format.transpose ? element : line;
                const size_t time = m_format.transpose ? line : element;
                AppendNumber(values[columns[time] * rows + row]);
            }
        }
    }
    AppendSeparator(m_format.sequenceEpilogue, sampleShape, timeSteps, sequenceId);
}

void TextOutput::WriteSparseSequence(std::span<const double> values, const TensorShape& sampleShape,
                                     const std::vector<size_t>& columns, size_t sequenceId)
{
    const size_t rows = sampleShape.Elements();
    const bool labels = UseLabels(rows);
    const std::string& separator = m_format.transpose ? m_format.sampleSeparator : m_format.elementSeparator;
    bool first = true;
    for (size_t i = 0; i < rows * columns.size(); ++i)
    {
        // Row by row, or time step by time step.
        const size_t row = m_format.transpose ? i / columns.size() : i % rows;
        const size_t t = m_format.transpose ? i % columns.size() : i / rows;
        const double value = values[columns[t] * rows + row];
        if (value == 0)
            continue;
        if (!first)
            AppendSeparator(separator, sampleShape, columns.size(), sequenceId);
        first = false;
        if (value != 1)
            AppendNumber(value);
        m_text += "[" + IndexText(row, sampleShape);
        if (labels)
            m_text += "=" + m_labels[row];
        if (columns.size() > 1)
            m_text += ";" + std::to_string(t);
        m_text += "]";
    }
}

void TextOutput::AppendNumber(double value)
{
    if (value == 0)
        value = 0; // minus zero prints as zero
    if (!m_format.precisionFormat.empty())
        return AppendFormatted(m_text, m_numberFormat, value);
    char buffer[512]; // a number takes at most 309 digits, a sign, and six places behind the point
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, 6).ptr;
    m_text.append(buffer, end);
}

void TextOutput::AppendCategory(std::span<const double> column)
{
    // The last of equal values, as in the original.
    size_t best = 0;
    for (size_t row = 1; row < column.size(); ++row)
        if (column[row] >= column[best])
            best = row;
    if (UseLabels(column.size()))
        AppendFormatted(m_text, m_labelFormat, m_labels[best].c_str());
    else
        AppendFormatted(m_text, m_indexFormat, best);
}

bool TextOutput::UseLabels(size_t dimension)
{
    if (m_labels.empty() || m_labels.size() == dimension)
        return !m_labels.empty();
    if (m_labelWarnings++ < 5)
        m_log.Print(
            "write: Row dimension %d does not match number of entries %d in labelMappingFile, not using mapping\n",
            int(dimension), int(m_labels.size()));
    return false;
}

void TextOutput::AppendSeparator(const std::string& separator, const TensorShape& sampleShape, size_t timeSteps,
                                 size_t sequenceId)
{
    if (separator.find('%') == std::string::npos)
    {
        m_text += separator;
        return;
    }
    for (size_t i = 0; i < separator.size(); ++i)
    {
        const char next = i + 1 < separator.size() ? separator[i + 1] : '\0';
        if (separator[i] != '%' || (next != 's' && next != 'n' && next != 'd' && next != 'x'))
        {
            m_text += separator[i];
            continue;
        }
        ++i;
        if (next == 's')
            m_text += m_nodeName;
        else if (next == 'n')
            m_text += std::to_string(m_minibatch);
        else if (next == 'd')
            m_text += std::to_string(sequenceId);
        else
        {
            for (const size_t dim : sampleShape.Dims())
                m_text += std::to_string(dim) + " ";
            m_text += std::to_string(timeSteps);
        }
    }
}

void TextOutput::Flush()
{
    m_file.Write(m_text);
    m_text.clear();
}

void TextOutput::PutThrough(std::string_view text)
{
    m_text += text;
    Flush();
}

void TextOutput::Stage()
{
    m_text += m_format.epilogue;
    Flush();
    m_file.Stage();
}

} // namespace cntk
