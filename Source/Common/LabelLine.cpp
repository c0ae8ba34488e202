// The grammar of lines of label mapping files.
#include "Common/LabelLine.h"

#include "Common/Text.h"

#include <algorithm>

namespace cntk
{
namespace
{

// Splits a line in the grammar of config arrays.
std::vector<std::string> ElementsOf(std::string_view line)
{
    std::vector<std::string> labels;
    std::string label;
    bool quoted = false;
    bool isBlank = true; // only white space since the label began
    const size_t lastQuote = line.rfind('"'), lastBrace = line.rfind('}');
    const auto closesAfter = [](size_t last, size_t i) { return last != std::string_view::npos && last > i; };
    const auto finish = [&]
    {
        std::string_view text = quoted ? std::string_view(label) : Trim(label);
        size_t times = 1;
        if (const size_t star = text.rfind('*'); !quoted && star != std::string_view::npos && star > 0)
        {
            const auto count = ParseInteger(text.substr(star + 1));
            constexpr long long c_mostRepeats = 1000000;
            if (count && *count >= 0 && *count <= c_mostRepeats)
            {
                times = std::min(size_t(*count), size_t{2}); // a map refuses two equal labels already
                text = Trim(text.substr(0, star));
            }
        }
        if (quoted || !text.empty())
            labels.insert(labels.end(), times, std::string(text));
        label.clear();
        quoted = false;
        isBlank = true;
    };
    for (size_t i = 0; i < line.size(); ++i)
    {
        const char c = line[i];
        const bool atStart = isBlank && !quoted;
        if (atStart && ((c == '"' && closesAfter(lastQuote, i)) || (c == '{' && closesAfter(lastBrace, i))))
        {
            const size_t close = line.find(c == '{' ? '}' : c, i + 1);
            label = std::string(line.substr(i + 1, close - i - 1));
            quoted = true;
            i = close;
        }
        else if (c == '#' && (atStart || line[i - 1] == ' ' || line[i - 1] == '\t'))
        {
            break;
        }
        else if (c == ',' || c == ':')
        {
            finish();
        }
        else if (!quoted)
        {
            label += c;
            isBlank = isBlank && Trim(line.substr(i, 1)).empty();
        }
    }
    finish();
    return labels;
}

} // namespace

std::vector<std::string> LabelsOfLine(std::string_view line)
{
    line = Trim(line);
    if (line.empty() || line[0] == '#')
        return {};
    std::vector<std::string> labels = ElementsOf(line);
    if (labels.empty()) // a punctuation mark is a label, too, and has an id
        labels.emplace_back(line);
    return labels;
}

// "a:b" needs quotes. A label with a quote may need braces.
std::optional<std::string> LineOfLabel(const std::string& label)
{
    for (const std::string& line : {label, "\"" + label + "\"", "{" + label + "}"})
        if (LabelsOfLine(line) == std::vector<std::string>{label})
            return line;
    return std::nullopt;
}

std::string LabelOfWrittenLine(std::string_view line)
{
    if (line.size() > 2 && (line[0] == '"' || line[0] == '{'))
    {
        const std::string inside(line.substr(1, line.size() - 2));
        if (LineOfLabel(inside) == line)
            return inside;
    }
    return std::string(line);
}

} // namespace cntk
