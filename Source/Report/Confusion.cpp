#include "Report/Confusion.h"

#include "Common/Text.h"
#include "Report/Markup.h"

#include <algorithm>
#include <numeric>

namespace cntk
{

namespace
{

constexpr size_t c_mostErrorsInTable = 1000;
constexpr size_t c_mostClassesInPicture = 50;
constexpr size_t c_mostClassesWithNumbers = 12;
constexpr size_t c_listed = 20; // errors, and classes
constexpr size_t c_longestName = 18;

std::string ShareText(const std::optional<double>& share)
{
    return share ? ShortestNumber(*share) : std::string();
}

std::string PercentText(const std::optional<double>& share)
{
    return share ? RoundedNumber(100 * *share, 3) + " %" : std::string("–");
}

// Cuts long names at a character, for pictures.
std::string ShortName(const std::string& name)
{
    if (CellsOf(name) <= c_longestName)
        return name;
    size_t end = 0;
    for (size_t next = 1; next < name.size() && CellsOf(std::string_view(name).substr(0, next)) < c_longestName; ++next)
        end = BeginOfCharacter(name, next);
    return name.substr(0, end) + "…";
}

std::string PictureTitle(const ConfusionCounts& counts)
{
    return Concat("Confusion matrix of ", counts.Node(), ": ", counts.Correct(), " of ",
                  Counted(counts.Samples(), "sample"), " right, accuracy ", PercentText(counts.Accuracy()));
}

double WidthOf(const std::string& text, double fontSize)
{
    return 0.6 * fontSize * double(CellsOf(text));
}

// Sizes of the heat map.
struct HeatMap
{
    explicit HeatMap(const ConfusionCounts& counts)
        : classes(counts.Classes()), cell(classes <= c_mostClassesWithNumbers ? 44 : 15),
          fontSize(classes <= c_mostClassesWithNumbers ? 13 : 10)
    {
        double longest = 0;
        for (size_t i = 0; i < classes; ++i)
            longest = std::max(longest, WidthOf(ShortName(counts.NameOf(i)), fontSize));
        left = 44 + longest;
        top = 66 + std::max(longest, WidthOf("precision", 12));
    }

    size_t classes;
    double cell;
    double fontSize;
    double left = 0; // of the first cell
    double top = 0;
    double X(size_t predicted) const { return left + cell * double(predicted); }
    double Y(size_t label) const { return top + cell * double(label); }
};

constexpr double c_measureWidth = 62; // of a column at the right

void DrawCells(Svg& picture, const ConfusionCounts& counts, const HeatMap& map)
{
    for (const ConfusionCounts::Pair& pair : counts.Pairs())
    {
        const double share = double(pair.count) / double(counts.OfLabel(pair.label));
        const double x = map.X(pair.predicted), y = map.Y(pair.label);
        picture.Rectangle(x, y, map.cell, map.cell, c_first, std::max(share, 0.04));
        if (map.classes <= c_mostClassesWithNumbers)
            picture.Text(x + map.cell / 2, y + map.cell / 2 + 5, std::to_string(pair.count),
                         {.anchor = Svg::Anchor::Middle,
                          .size = pair.count < 100'000 ? 13.0 : 10.0,
                          .fill = std::string(share > 0.5 ? c_paper : c_ink)});
    }
    const double right = map.X(map.classes), bottom = map.Y(map.classes);
    for (size_t i = 0; i <= map.classes; ++i)
    {
        picture.Line(map.left, map.Y(i), right, map.Y(i), c_faint);
        picture.Line(map.X(i), map.top, map.X(i), bottom, c_faint);
    }
}

void DrawNames(Svg& picture, const ConfusionCounts& counts, const HeatMap& map)
{
    for (size_t i = 0; i < map.classes; ++i)
    {
        const std::string name = ShortName(counts.NameOf(i));
        const double middle = map.cell / 2 + map.fontSize / 3;
        picture.Text(map.left - 6, map.Y(i) + middle, name, {.anchor = Svg::Anchor::End, .size = map.fontSize});
        picture.Text(map.X(i) + middle, map.top - 6, name, {.size = map.fontSize, .turned = -90});
        double x = map.X(map.classes) + 8;
        for (const auto& measure : {counts.Precision(i), counts.Recall(i), counts.F1(i)})
        {
            picture.Text(x, map.Y(i) + middle, PercentText(measure), {.size = map.fontSize});
            x += c_measureWidth;
        }
    }
    double x = map.X(map.classes) + 8 + map.fontSize;
    for (const char* const name : {"precision", "recall", "F1"})
    {
        picture.Text(x, map.top - 6, name, {.size = 12, .turned = -90, .isBold = true});
        x += c_measureWidth;
    }
    picture.Text((map.left + map.X(map.classes)) / 2, 56, "predicted class",
                 {.anchor = Svg::Anchor::Middle, .isBold = true});
    picture.Text(20, (map.top + map.Y(map.classes)) / 2, "label",
                 {.anchor = Svg::Anchor::Middle, .turned = -90, .isBold = true});
}

Svg DrawHeatMap(const ConfusionCounts& counts)
{
    const HeatMap map(counts);
    const std::string title = PictureTitle(counts);
    const double bottom = map.Y(map.classes);
    const double width = std::max({map.X(map.classes) + 12 + 3 * c_measureWidth, WidthOf(title, 15) + 24, 420.0});
    Svg picture(width, bottom + 54, title);
    picture.Text(12, 26, title, {.size = 15, .isBold = true});
    DrawCells(picture, counts, map);
    DrawNames(picture, counts, map);
    picture.Text(12, bottom + 36, "share of the label's samples: 0", {.size = 12});
    const double scale = 12 + WidthOf("share of the label's samples: 0", 12);
    for (int i = 0; i < 10; ++i)
        picture.Rectangle(scale + 14 * i, bottom + 25, 14, 14, c_first, 0.1 * (i + 1));
    picture.Text(scale + 148, bottom + 36, "100 %", {.size = 12});
    return picture;
}

// Classes with samples, those of the lowest F1 first.
std::vector<size_t> WorstClasses(const ConfusionCounts& counts)
{
    std::vector<size_t> classes(counts.Classes());
    std::iota(classes.begin(), classes.end(), size_t(0));
    std::erase_if(classes, [&](size_t i) { return counts.OfLabel(i) == 0; });
    std::stable_sort(classes.begin(), classes.end(),
                     [&](size_t a, size_t b) { return counts.F1(a).value_or(0) < counts.F1(b).value_or(0); });
    classes.resize(std::min(classes.size(), c_listed));
    return classes;
}

Svg DrawLists(const ConfusionCounts& counts)
{
    const std::vector<ConfusionCounts::Pair> errors = counts.MostFrequentErrors(c_listed);
    const std::vector<size_t> worst = WorstClasses(counts);
    constexpr double c_row = 20, c_names = 300, c_bar = 260, c_second_column = 680, c_top = 96;
    const std::string title = PictureTitle(counts);
    Svg picture(1060, c_top + c_row * double(std::max(errors.size(), worst.size())) + 20, title);
    picture.Text(12, 26, title, {.size = 15, .isBold = true});
    picture.Text(12, 60, "most frequent errors: label → predicted class, samples", {.isBold = true});
    double y = c_top;
    for (const ConfusionCounts::Pair& error : errors)
    {
        picture.Text(c_names, y,
                     ShortName(counts.NameOf(error.label)) + " → " + ShortName(counts.NameOf(error.predicted)),
                     {.anchor = Svg::Anchor::End});
        const double length = c_bar * double(error.count) / double(errors.front().count);
        picture.Rectangle(c_names + 10, y - 12, length, 14, c_first);
        picture.Text(c_names + 16 + length, y, std::to_string(error.count));
        y += c_row;
    }
    picture.Text(c_second_column, 60, "worst classes: precision, recall, F1", {.isBold = true});
    y = c_top;
    for (const size_t index : worst)
    {
        picture.Text(c_second_column, y, ShortName(counts.NameOf(index)));
        double x = c_second_column + 170;
        for (const auto& measure : {counts.Precision(index), counts.Recall(index), counts.F1(index)})
        {
            picture.Text(x, y, PercentText(measure));
            x += c_measureWidth;
        }
        y += c_row;
    }
    return picture;
}

} // namespace

std::string ConfusionCsv(const ConfusionCounts& counts)
{
    constexpr const char* c_lineEnd = "\n";
    if (counts.Classes() > c_mostClassesInMatrix)
    {
        std::string text = Concat("label,predicted,samples", c_lineEnd);
        for (const ConfusionCounts::Pair& pair : counts.MostFrequentErrors(c_mostErrorsInTable))
            text += Concat(CsvField(counts.NameOf(pair.label)), ",", CsvField(counts.NameOf(pair.predicted)), ",",
                           pair.count, c_lineEnd);
        return text;
    }
    std::string text = "label";
    for (size_t i = 0; i < counts.Classes(); ++i)
        text += "," + CsvField(counts.NameOf(i));
    text += Concat(",samples,precision,recall,F1", c_lineEnd);
    for (size_t label = 0; label < counts.Classes(); ++label)
    {
        text += CsvField(counts.NameOf(label));
        for (size_t predicted = 0; predicted < counts.Classes(); ++predicted)
            text += Concat(",", counts.Count(label, predicted));
        text += Concat(",", counts.OfLabel(label), ",", ShareText(counts.Precision(label)), ",",
                       ShareText(counts.Recall(label)), ",", ShareText(counts.F1(label)), c_lineEnd);
    }
    return text;
}

Svg ConfusionPicture(const ConfusionCounts& counts)
{
    return counts.Classes() <= c_mostClassesInPicture ? DrawHeatMap(counts) : DrawLists(counts);
}

PredictionsFile::PredictionsFile(const std::string& path, const ConfusionCounts& counts)
    : m_file(path), m_counts(counts)
{
}

void PredictionsFile::Add(const ClassifiedSample& sample)
{
    if (m_records == 0)
    {
        m_hasSequences = !sample.sequence.empty();
        m_text = Concat("record,label,predicted,probability", m_hasSequences ? ",sequence" : "", "\n");
    }
    m_text += Concat(++m_records, ",", CsvField(m_counts.NameOf(sample.label)), ",",
                     CsvField(m_counts.NameOf(sample.predicted)), ",", RoundedNumber(sample.probability, 6));
    if (m_hasSequences)
        m_text += "," + CsvField(sample.sequence);
    m_text += "\n";
    constexpr size_t c_flushBytes = 1 << 20;
    if (m_text.size() >= c_flushBytes)
        Flush();
}

void PredictionsFile::Flush()
{
    m_file.Write(m_text);
    m_text.clear();
}

void PredictionsFile::Commit()
{
    Flush();
    m_file.Commit();
}

} // namespace cntk
