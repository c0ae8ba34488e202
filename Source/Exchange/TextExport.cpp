#include "Exchange/TextExport.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "ComputationNetwork/Nodes/PrecomputeNodes.h"

#include <charconv>
#include <deque>
#include <set>

namespace cntk
{

namespace
{

template <class Element>
void WriteMatrixText(AtomicFile& file, const MatrixView& matrix)
{
    constexpr size_t c_bufferSize = size_t(1) << 16;
    constexpr size_t c_longestNumber = 32; // "-2.2250738585072014e-308" and a separator
    std::string text;
    for (size_t row = 0; row < matrix.rows; ++row)
        for (size_t column = 0; column < matrix.columns; ++column)
        {
            char number[c_longestNumber];
            const Element value = matrix.As<Element>()[row + column * matrix.stride];
            text.append(number, std::to_chars(number, number + c_longestNumber, value).ptr);
            text += column + 1 < matrix.columns ? ' ' : '\n';
            if (text.size() >= c_bufferSize)
            {
                file.Write(text);
                text.clear();
            }
        }
    file.Write(text);
}

} // namespace

std::string FileNameOf(const std::string& nodeName)
{
    constexpr std::string_view c_digits = "0123456789abcdef";
    std::string name;
    for (const char c : nodeName)
    {
        const auto byte = uint8_t(c);
        if (c != '/' && byte >= 0x20 && byte != 0x7F)
            name += c;
        else
            (name += '%').append({c_digits[byte >> 4], c_digits[byte & 15]});
    }
    return name;
}

void WriteTextFolder(const ExportedValues& values, const std::string& folder)
{
    std::string table = "name\ttype\tdims\tfile\n";
    std::deque<AtomicFile> files;
    std::set<std::string> names;
    for (const ComputationNodePtr& node : values.nodes)
    {
        const std::string name = FileNameOf(node->Name()) + ".txt";
        if (!names.insert(name).second)
            Fail(ErrorKind::Model, "two parameters have the file name '", name, "'; rename one of them (action=edit)");
        // The matrix of a parameter has the first dimension as rows, all others as columns.
        MatrixView matrix = StoredValues(*node)->View();
        matrix.rows = matrix.stride = node->SampleLayout().MatrixRows();
        matrix.columns = node->SampleLayout().MatrixColumns();
        AtomicFile& file = files.emplace_back(folder + "/" + name);
        if (matrix.type == DataType::Float32)
            WriteMatrixText<float>(file, matrix);
        else
            WriteMatrixText<double>(file, matrix);
        file.Stage();
        table += Concat(FileNameOf(node->Name()), "\t", node->TypeName(), "\t", node->SampleLayout().ToString(), "\t",
                        name, "\n");
    }
    AtomicFile& tableFile = files.emplace_back(folder + "/parameters.tsv");
    tableFile.Write(table);
    tableFile.Stage();
    for (AtomicFile& file : files)
        file.Commit();
}

} // namespace cntk
