// Marks in DBN files are four characters without a terminating zero.
#include "ActionsLib/Actions/DbnFile.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Text.h"
#include "ComputationNetwork/Files/ByteStream.h"

#include <cmath>

namespace cntk
{
namespace
{

class DbnReader
{
public:
    DbnReader(std::string_view content, const std::string& path) : m_in(content, path, "DBN file") {}

    DbnModel Read()
    {
        DbnModel model;
        // Files of the original's exportdbn have another fourth character and no comment.
        constexpr std::string_view exported("DBN\0", 4);
        if (m_in.Left() >= exported.size() && m_in.Bytes(exported.size(), "the mark 'DBN'") != exported)
        {
            m_in.Seek(0);
            Expect("DBN\n");
            model.comment = m_in.NarrowText("the comment");
        }
        Expect("BDBN");
        m_in.Read<int32_t>("the version");
        const size_t layers = Size("the number of layers", 1);
        model.mean = Vector("gmean");
        model.deviation = Vector("gstddev");
        if (model.mean.size() != model.deviation.size())
            Damaged(Concat("as many values in gstddev as in gmean (", model.mean.size(), ")"),
                    std::to_string(model.deviation.size()));
        Expect("BNET");
        for (size_t i = 0; i < layers; ++i)
            model.layers.push_back(Layer(i, model));
        Expect("ENET");
        if (model.EndsInPerceptron())
        {
            model.prior = Vector("Pu");
            if (model.prior.size() != model.layers.back().weights.rows)
                Damaged(Concat("as many values in Pu as the last layer has outputs (", model.layers.back().weights.rows,
                               ")"),
                        std::to_string(model.prior.size()));
        }
        Expect("EDBN");
        if (m_in.Left() > 0)
            Damaged("the end of the file after the mark 'EDBN'", Counted(m_in.Left(), "byte") + " more");
        return model;
    }

private:
    [[noreturn]] void Damaged(std::string_view expected, std::string_view found) const
    {
        m_in.Damaged(m_in.Position(), expected, found);
    }

    void Expect(std::string_view mark)
    {
        const size_t position = m_in.Position();
        const std::string words = Concat("the mark '", mark.substr(0, mark.find('\n')), "'");
        if (m_in.Bytes(mark.size(), words) != mark)
            m_in.Damaged(position, words, m_in.Describe(position));
    }

    size_t Size(const char* what, int32_t least)
    {
        const size_t position = m_in.Position();
        const auto size = m_in.Read<int32_t>(what);
        if (size < least)
            m_in.Damaged(position, Concat(what, " (at least ", least, ")"), std::to_string(size));
        return size_t(size);
    }

    // A matrix in the order of the file: weights output by output.
    struct Block
    {
        size_t rows;
        size_t columns;
        std::vector<float> values;
    };

    Block ReadBlock(const char* name)
    {
        Expect("BMAT");
        const size_t position = m_in.Position();
        const std::string found = m_in.NarrowText("the name of a matrix");
        if (found != name)
            m_in.Damaged(position, Concat("the matrix '", name, "'"), Concat("'", found, "'"));
        Block block{Size("a number of rows", 0), Size("a number of columns", 0), {}};
        const std::string_view bytes =
            m_in.Bytes(uint64_t(block.rows) * block.columns * sizeof(float), Concat("the values of '", name, "'"));
        block.values.resize(block.rows * block.columns);
        if (!bytes.empty())
            std::memcpy(block.values.data(), bytes.data(), bytes.size());
        for (const float value : block.values)
            if (!std::isfinite(value))
                m_in.Damaged(position, Concat("finite numbers in the matrix '", name, "'"), std::to_string(value));
        Expect("EMAT");
        return block;
    }

    std::vector<double> Vector(const char* name)
    {
        const size_t position = m_in.Position();
        const Block block = ReadBlock(name);
        if (block.columns != 1 && !block.values.empty())
            m_in.Damaged(position, Concat("one column in '", name, "'"), std::to_string(block.columns));
        return {block.values.begin(), block.values.end()};
    }

    DbnLayer Layer(size_t index, const DbnModel& model)
    {
        DbnLayer layer;
        layer.type = m_in.NarrowText("the type of a layer");
        const size_t position = m_in.Position();
        const Block weights = ReadBlock("W");
        const size_t inputs = weights.rows;
        const size_t outputs = weights.columns;
        if (weights.values.empty())
            m_in.Damaged(position, Concat("weights in layer ", index + 1),
                         Concat("a matrix of ", inputs, " x ", outputs));
        if (index > 0 && inputs != model.layers.back().weights.rows)
            m_in.Damaged(position,
                         Concat("as many inputs of layer ", index + 1, " as layer ", index, " has outputs (",
                                model.layers.back().weights.rows, ")"),
                         std::to_string(inputs));
        layer.weights = {outputs, inputs, std::vector<double>(inputs * outputs)};
        for (size_t o = 0; o < outputs; ++o)
            for (size_t i = 0; i < inputs; ++i)
                layer.weights.values[o + i * outputs] = weights.values[o * inputs + i];
        const size_t biasPosition = m_in.Position();
        layer.bias = Vector("a");
        if (layer.bias.size() != outputs)
            m_in.Damaged(biasPosition, Concat("a bias for each of the ", outputs, " outputs of layer ", index + 1),
                         std::to_string(layer.bias.size()));
        ReadBlock("b"); // bias of the inputs, which only the pre-training needs
        return layer;
    }

    ByteReader m_in;
};

class DbnWriter
{
public:
    explicit DbnWriter(const DbnModel& model)
    {
        Mark("DBN\n");
        Text(model.comment);
        Mark("BDBN");
        Number(0);
        Number(int32_t(model.layers.size()));
        Vector("gmean", model.mean);
        Vector("gstddev", model.deviation);
        Mark("BNET");
        for (const DbnLayer& layer : model.layers)
            Layer(layer);
        Mark("ENET");
        if (model.EndsInPerceptron())
            Vector("Pu", model.prior);
        Mark("EDBN");
    }
    const std::string& Bytes() const { return m_bytes; }

private:
    void Mark(std::string_view mark) { m_bytes += mark; }
    void Text(const std::string& text) { m_bytes.append(text.c_str(), text.size() + 1); }
    template <class T>
    void Value(T value)
    {
        m_bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
    }
    void Number(int32_t number) { Value(number); }

    void Block(const char* name, size_t rows, size_t columns, const std::vector<double>& values)
    {
        Mark("BMAT");
        Text(name);
        Number(int32_t(rows));
        Number(int32_t(columns));
        for (const double value : values)
            Value(float(value));
        Mark("EMAT");
    }
    void Vector(const char* name, const std::vector<double>& values) { Block(name, values.size(), 1, values); }

    void Layer(const DbnLayer& layer)
    {
        const size_t outputs = layer.weights.rows, inputs = layer.weights.columns;
        std::vector<double> byOutput(inputs * outputs);
        for (size_t o = 0; o < outputs; ++o)
            for (size_t i = 0; i < inputs; ++i)
                byOutput[o * inputs + i] = layer.weights.values[o + i * outputs];
        Text(layer.type);
        Block("W", inputs, outputs, byOutput);
        Vector("a", layer.bias);
        Block("b", 0, 0, {});
    }

    std::string m_bytes;
};

} // namespace

void WriteDbnFile(const DbnModel& model, const std::string& path)
{
    AtomicFile file(path);
    file.Write(DbnWriter(model).Bytes());
    file.Commit();
}

DbnModel ReadDbnFile(const std::string& path)
{
    const MappedFile file(path);
    return DbnReader(file.Text(), path).Read();
}

} // namespace cntk
