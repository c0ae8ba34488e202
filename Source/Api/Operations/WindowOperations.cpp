// Operations on images and operations with statistics: convolution, pooling, batch normalization, cosine distance,
// lookup. Images are (channels, height, width), the engine's [width x height x channels].
#include "Api/Operations.h"
#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <utility>

namespace cntk::Api
{

namespace
{

using Options = std::vector<std::pair<std::string, std::string>>;

// Lists one value for each axis of the window, in the engine's order: those of the image's axes from the last one on,
// then `ofChannels`.
template <class T>
std::string PerAxis(const std::vector<T>& values, size_t axes, const std::string& ofChannels)
{
    std::vector<std::string> texts;
    for (size_t i = 0; i < axes; i++)
    {
        // A single value holds for all axes.
        const size_t index = values.size() == 1 ? 0 : axes - 1 - i;
        if constexpr (std::is_same_v<T, bool>)
            texts.push_back(values[index] ? "true" : "false");
        else
            texts.push_back(std::to_string(values[index]));
    }
    texts.push_back(ofChannels);
    return Join(texts, ":");
}

void CheckCount(size_t count, size_t axes, const char* what)
{
    if (count != 1 && count != axes)
        Fail(ErrorKind::Model, "the ", what, " of a window have ", count, " values; expected 1 or ", axes);
}

class ConvolutionOperation final : public Operation
{
public:
    ConvolutionOperation(std::vector<size_t> strides, std::vector<bool> padding)
        : m_strides(std::move(strides)), m_padding(std::move(padding))
    {
    }

    std::string TypeName() const override { return "Convolution"; }
    Options Attributes() const override { return {{"strides", PerAxis(m_strides, m_strides.size(), "")}}; }
    std::optional<Shape> InferShape(std::span<const OperandType> operands) const override
    {
        const Shape &kernels = operands[0].GetShape(), &image = operands[1].GetShape();
        if (kernels.size() != image.size() + 1 || image.size() < 2 || kernels[1] != image[0])
            Fail(ErrorKind::Model, "Convolution of ", operands[1].Describe(), " with kernels ", operands[0].Describe(),
                 "; expected an image (channels, ..) and kernels (outputs, channels, ..)");
        return std::nullopt;
    }
    ComputationNodePtr Lower(NetworkWriter& writer, std::span<const LoweredOperand> operands) const override
    {
        const Shape& kernels = operands[0].shape;
        const size_t axes = kernels.size() - 2;
        CheckCount(m_strides.size(), axes, "strides");
        CheckCount(m_padding.size(), axes, "paddings");
        const std::vector<size_t> window(kernels.begin() + 2, kernels.end());
        const size_t elements = ElementsOf(kernels) / kernels[0];
        const ComputationNodePtr matrix = writer.Reshape(operands[0].node, {elements, kernels[0]});
        return writer.Add("Convolution", {matrix, operands[1].node},
                          Parameters({{"kernelShape", PerAxis(window, axes, std::to_string(kernels[1]))},
                                      {"mapCount", std::to_string(kernels[0])},
                                      {"stride", PerAxis(m_strides, axes, std::to_string(kernels[1]))},
                                      {"autoPadding", PerAxis(m_padding, axes, "false")}}));
    }

private:
    std::vector<size_t> m_strides;
    std::vector<bool> m_padding;
};

class PoolingOperation final : public Operation
{
public:
    PoolingOperation(std::string kind, std::vector<size_t> window, std::vector<size_t> strides,
                     std::vector<bool> padding)
        : m_kind(std::move(kind)), m_window(std::move(window)), m_strides(std::move(strides)),
          m_padding(std::move(padding))
    {
    }

    std::string TypeName() const override { return "Pooling"; }
    Options Attributes() const override { return {{"kind", m_kind}}; }
    ComputationNodePtr Lower(NetworkWriter& writer, std::span<const LoweredOperand> operands) const override
    {
        const Shape& image = operands[0].shape;
        const size_t axes = image.size() < 2 ? 0 : image.size() - 1;
        if (m_window.size() != axes)
            Fail(ErrorKind::Model, "Pooling of an image of the shape ", ToText(image), " with a window of ",
                 Counted(m_window.size(), "axis"), "; expected (channels, ..) and a window of ", axes);
        CheckCount(m_strides.size(), axes, "strides");
        CheckCount(m_padding.size(), axes, "paddings");
        return writer.Add("Pooling", {operands[0].node},
                          Parameters({{"kind", m_kind},
                                      {"kernelShape", PerAxis(m_window, axes, "1")},
                                      {"stride", PerAxis(m_strides, axes, "1")},
                                      {"autoPadding", PerAxis(m_padding, axes, "false")}}));
    }

private:
    std::string m_kind;
    std::vector<size_t> m_window, m_strides;
    std::vector<bool> m_padding;
};

class CosineOperation final : public Operation
{
public:
    std::string TypeName() const override { return "CosDistance"; }
    std::optional<Shape> InferShape(std::span<const OperandType> operands) const override
    {
        if (ElementsOf(operands[0].GetShape()) != ElementsOf(operands[1].GetShape()))
            Fail(ErrorKind::Model, "CosDistance compares ", operands[0].Describe(), " with ", operands[1].Describe(),
                 "; expected equal shapes");
        return Shape{};
    }
    ComputationNodePtr Lower(NetworkWriter& writer, std::span<const LoweredOperand> operands) const override
    {
        return writer.Add("CosDistance", {operands[0].node, operands[1].node});
    }
};

} // namespace

OperationPtr Convolution(std::vector<size_t> strides, std::vector<bool> padding)
{
    return std::make_shared<ConvolutionOperation>(std::move(strides), std::move(padding));
}

OperationPtr Pooling(const std::string& kind, std::vector<size_t> window, std::vector<size_t> strides,
                     std::vector<bool> padding)
{
    return std::make_shared<PoolingOperation>(kind, std::move(window), std::move(strides), std::move(padding));
}

OperationPtr CosineDistance()
{
    return std::make_shared<CosineOperation>();
}

} // namespace cntk::Api
