// LearnableParameter: shape, initial values (also from text files), and the model file's fields in all versions.
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Text.h"
#include "ComputationNetwork/ModelArchive.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/GradientSamples.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/Nodes/ShapeParameters.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>

namespace cntk
{

namespace
{

constexpr std::string_view c_blanks = " \t\r\v\f";

// Appends the numbers of a line and returns their count.
size_t ReadLine(std::string_view line, const std::string& path, size_t lineNumber, std::vector<double>& values)
{
    size_t count = 0;
    for (size_t start = line.find_first_not_of(c_blanks); start != std::string_view::npos;)
    {
        const size_t end = std::min(line.find_first_of(c_blanks, start), line.size());
        const std::string_view token = line.substr(start, end - start);
        const std::optional<double> number = ParseDouble(token);
        if (!number)
            Fail(ErrorKind::Data, "file '", path, "', line ", lineNumber, ", column ", start + 1, ": '", token,
                 "' is not a number");
        // Infinity is accepted, also as -1e50 in a float: it excludes rows from a softmax.
        if (std::isnan(*number))
            Fail(ErrorKind::Data, "file '", path, "', line ", lineNumber, ", column ", start + 1, ": found ", token,
                 ", expected a number");
        values.push_back(*number);
        count++;
        start = line.find_first_not_of(c_blanks, end);
    }
    return count;
}

// Reads all rows and sets the matrix' rows and columns. The text is freed afterwards.
std::vector<double> ReadRows(const std::string& path, TextMatrix& matrix)
{
    const std::string text = ReadTextFile(ResolveInputPath(path));
    std::vector<double> values;
    size_t lineNumber = 0;
    for (size_t begin = 0; begin < text.size();)
    {
        const size_t end = std::min(text.find('\n', begin), text.size());
        const std::string_view line(text.data() + begin, end - begin);
        begin = end + 1;
        lineNumber++;
        const size_t count = ReadLine(line, path, lineNumber, values);
        if (count == 0)
            continue;
        if (matrix.rows == 0)
            values.reserve(count * (text.size() / line.size() + 1)); // an estimate that assumes rows of equal length
        else if (count != matrix.columns)
            Fail(ErrorKind::Data, "file '", path, "', line ", lineNumber, ": ", count,
                 count == 1 ? " number" : " numbers", ", but the lines before have ", matrix.columns,
                 "; all rows of a matrix have the same length");
        matrix.columns = count;
        matrix.rows++;
    }
    return values;
}

} // namespace

TextMatrix ReadTextMatrix(const std::string& path)
{
    TextMatrix matrix;
    const std::vector<double> byRow = ReadRows(path, matrix);
    if (matrix.rows == 0)
        Fail(ErrorKind::Data, "file '", path, "' holds no numbers; expected a matrix, one row a line");
    matrix.values.resize(byRow.size());
    for (size_t i = 0; i < matrix.rows; i++)
        for (size_t j = 0; j < matrix.columns; j++)
            matrix.values[j * matrix.rows + i] = byRow[i * matrix.columns + j];
    return matrix;
}

namespace
{

// Returns the first given spelling of a parameter, or the first spelling if none is given.
std::string_view SpellingOf(const NodeParameters& parameters, std::initializer_list<std::string_view> spellings)
{
    for (const std::string_view spelling : spellings)
        if (parameters.Has(spelling))
            return spelling;
    return *spellings.begin();
}

TensorShape AppendDim(TensorShape shape, uint64_t dimension)
{
    if (shape.Rank() == TensorShape::c_maxRank)
        Fail(ErrorKind::Model, "a shape has more than ", TensorShape::c_maxRank, " dimensions");
    shape.SetDim(shape.Rank(), dimension);
    return shape;
}

} // namespace

void LearnableParameterNode::InferShape(ShapeInference& inference)
{
    if (inference.IsFinalPass() && SampleLayout().HasUnknown())
        Fail(ErrorKind::Model, "the dimensions [", SampleLayout().ToString(), "] of parameter '", Name(),
             "' are not known: no node that uses it determines them; give them");
    ViewValues();
}

void LearnableParameterNode::InferDimensions(const TensorShape& expected)
{
    const TensorShape& known = SampleLayout();
    if (!known.HasUnknown())
        return;
    // Dimensions that the user gave are kept. If they contradict the expected ones, the consumer's own check fails.
    TensorShape inferred = known;
    bool allUnknown = true;
    for (size_t axis = 0; axis < known.Rank(); axis++)
        allUnknown = allUnknown && known[axis] == 0;
    if (allUnknown && known.Rank() < expected.Rank())
        inferred = expected;
    else
        for (size_t axis = 0; axis < known.Rank(); axis++)
            if (known[axis] == 0)
                inferred.SetDim(axis, expected[axis]);
    if (!(inferred == known))
        SetParameterShape(inferred);
}

void LearnableParameterNode::SetParameterShape(const TensorShape& shape)
{
    SetShape(shape, nullptr);
    if (shape.HasUnknown())
    {
        m_values = std::make_shared<Matrix>();
        m_value = MatrixView();
        return;
    }
    if (!m_values->IsAllocated() || m_values->Rows() != shape.MatrixRows() ||
        m_values->Columns() != shape.MatrixColumns())
        WithNote(
            [&] {
                m_values =
                    std::make_shared<Matrix>(shape.MatrixRows(), shape.MatrixColumns(), GetDataType(), GetDevice());
            },
            [&] { return Concat("for parameter '", Name(), "' of ", shape.ToString()); });
    ViewValues();
    if (m_pending)
        Initialize(*std::exchange(m_pending, std::nullopt));
}

void LearnableParameterNode::ViewValues()
{
    m_value = m_values->View();
    if (m_value.device != nullptr)
        m_value.device = &GetDevice();
}

void LearnableParameterNode::ShareStorage(std::shared_ptr<Matrix> storage, const TensorShape& shape)
{
    const bool isInReach =
        &storage->GetDevice() == &GetDevice() || (storage->GetDevice().IsHostMemory() && GetDevice().IsHostMemory());
    if (storage->Type() != GetDataType() || !isInReach || storage->Rows() != shape.MatrixRows() ||
        storage->Columns() != shape.MatrixColumns())
        Fail(ErrorKind::Internal, "the storage for parameter '", Name(), "' has another element type, device or size");
    m_pending.reset();
    m_values = std::move(storage);
    SetShape(shape, nullptr);
    ViewValues();
}

void LearnableParameterNode::Initialize(const Initialization& initialization)
{
    if (SampleLayout().HasUnknown() || !m_values->IsAllocated())
    {
        m_pending = initialization;
        return;
    }
    // The factors of CNTK v1.1 are single-precision constants, used in the element type.
    VisitType(GetDataType(),
              [&](auto tag)
              {
                  using T = decltype(tag);
                  const T number = T(initialization.number);
                  switch (initialization.kind)
                  {
                  case Initialization::Kind::Uniform:
                  {
                      const T range = T(0.05f) * number;
                      Ops::FillUniform(*m_values, -range, range, initialization.seed);
                      break;
                  }
                  case Initialization::Kind::Gaussian:
                  {
                      const T deviation = T(0.2f) * number / std::sqrt(T(m_values->Columns()));
                      Ops::FillGaussian(*m_values, 0, deviation, initialization.seed);
                      break;
                  }
                  case Initialization::Kind::Fixed:
                      Ops::Fill(*m_values, number);
                      break;
                  }
              });
}

void LearnableParameterNode::InitUniform(uint64_t seed, double initValueScale)
{
    Initialize({Initialization::Kind::Uniform, seed, initValueScale});
}

void LearnableParameterNode::InitGaussian(uint64_t seed, double initValueScale)
{
    Initialize({Initialization::Kind::Gaussian, seed, initValueScale});
}

void LearnableParameterNode::InitFixed(double value)
{
    Initialize({Initialization::Kind::Fixed, 0, value});
}

void LearnableParameterNode::InitFromFile(const std::string& path)
{
    const TextMatrix text = ReadTextMatrix(path);
    if (SampleLayout().HasUnknown())
        InferFromFileSize(text.rows, text.columns);
    if (text.rows != m_values->Rows() || text.columns != m_values->Columns())
        Fail(ErrorKind::Data, "file '", path, "' holds ", Counted(text.rows, "row"), " of ",
             Counted(text.columns, "number"), ", but parameter '", Name(), "' is [", SampleLayout().ToString(),
             "]; expected ", Counted(m_values->Rows(), "line"), " of ", Counted(m_values->Columns(), "number"));
    m_values->FromHost(text.values);
    m_pending.reset();
}

void LearnableParameterNode::InferFromFileSize(size_t rows, size_t columns)
{
    TensorShape shape = SampleLayout();
    if (shape.Rank() <= 2)
        shape = TensorShape{shape[0] != 0 ? shape[0] : rows, shape[1] != 0 && shape.Rank() > 1 ? shape[1] : columns};
    else if (shape[0] == 0)
        shape.SetDim(0, rows);
    SetParameterShape(shape);
}

void LearnableParameterNode::SetParameters(const NodeParameters& parameters)
{
    if (parameters.Has("dims"))
        SetParameterShape(ParseDims(parameters.Text("dims")));
    else if (parameters.Has("rows") && !parameters.Has("cols"))
        SetParameterShape(TensorShape{DimensionOf(parameters, "rows", 0)});
    else if (parameters.Has("rows") || parameters.Has("cols"))
        SetParameterShape(TensorShape{DimensionOf(parameters, "rows", 0), DimensionOf(parameters, "cols", 1)});
    m_learningRateMultiplier = float(parameters.Real("learningRateMultiplier", m_learningRateMultiplier));
    if (!(m_learningRateMultiplier >= 0 && std::isfinite(m_learningRateMultiplier)))
        Fail(ErrorKind::Config, "parameter 'learningRateMultiplier' is '", parameters.Text("learningRateMultiplier"),
             "'; expected 0 or more, at most 3.4e38");
    if (!parameters.Boolean(SpellingOf(parameters, {"needGradient", "needsGradient", "computeGradient"}), true))
        m_learningRateMultiplier = 0;
    for (const char* name :
         {"rows", "cols", "dims", "init", "initValueScale", "value", "initFromFilePath", "randomSeed"})
        if (parameters.Has(name))
            return SetInitialization(parameters);
}

void LearnableParameterNode::SetInitialization(const NodeParameters& parameters)
{
    std::string init = parameters.Text("init");
    if (init.empty())
        init = parameters.Has("initFromFilePath") ? "fromFile" : parameters.Has("value") ? "fixedValue" : "uniform";
    const double scale = parameters.Real("initValueScale", 1);
    if (!std::isfinite(scale))
        Fail(ErrorKind::Config, "parameter 'initValueScale' is '", parameters.Text("initValueScale"),
             "'; expected a finite number");
    // -1 selects the builder's own counter, which sets the seed later.
    const long long seed = std::max(1LL, parameters.Integer("randomSeed", 1));
    if (EqualsIgnoreCase(init, "uniform"))
        InitUniform(uint64_t(seed), scale);
    else if (EqualsIgnoreCase(init, "gaussian"))
        InitGaussian(uint64_t(seed), scale);
    else if (EqualsIgnoreCase(init, "fixedValue"))
        InitFixed(parameters.Real("value", 0));
    else if (EqualsIgnoreCase(init, "zero"))
        InitFixed(0);
    else if (EqualsIgnoreCase(init, "fromFile"))
    {
        // The book permits an empty path: the user sets the values later.
        const std::string path = parameters.Text("initFromFilePath");
        path.empty() ? InitFixed(0) : InitFromFile(path);
    }
    else
        Fail(ErrorKind::Config, "parameter 'init' is '", init,
             "'; expected uniform, gaussian, fixedValue, zero or fromFile",
             DidYouMean(init, {"uniform", "gaussian", "fixedValue", "zero", "fromFile"}));
}

std::string LearnableParameterNode::DescribeFields() const
{
    char text[128];
    std::snprintf(text, sizeof(text), "[%zu,%zu]   learningRateMultiplier=%f  NeedsGradient=%s",
                  SampleLayout().MatrixRows(), SampleLayout().MatrixColumns(), double(m_learningRateMultiplier),
                  IsTrainableLeaf() ? "true" : "false");
    return text;
}

void LearnableParameterNode::SerializeFields(ModelArchive& archive)
{
    TensorShape shape = SampleLayout();
    if (archive.Version() >= 3)
    {
        archive.Field(m_learningRateMultiplier);
        archive.Shape(shape);
    }
    else
        LoadOldShape(archive, shape);
    if (archive.IsLoading() || !m_values->IsAllocated())
        m_values = std::make_shared<Matrix>(0, 0, GetDataType(), GetDevice());
    archive.MatrixField(*m_values);
    if (!archive.IsLoading())
        return;
    if (m_values->Elements() != shape.Elements())
        Fail(ErrorKind::Model, "parameter '", Name(), "' has the dimensions [", shape.ToString(),
             "], but its matrix is ", m_values->Rows(), " x ", m_values->Columns());
    // Inferred dimensions would cost memory that the file's size does not bound.
    if (shape.HasUnknown())
        Fail(ErrorKind::Model, "parameter '", Name(), "' has the dimensions [", shape.ToString(),
             "]; expected dimensions of at least 1");
    m_values->Reshape(shape.MatrixRows(), shape.MatrixColumns());
    m_pending.reset();
    SetShape(shape, nullptr);
    ViewValues();
}

// Reads the shape of versions 1 and 2: rows = 0 announces a shape (autumn 2015), otherwise the file has rows and
// columns only (August 2015).
void LearnableParameterNode::LoadOldShape(ModelArchive& archive, TensorShape& shape)
{
    bool needGradient = IsTrainableLeaf();
    uint64_t rows = 0;
    uint64_t columns = 0;
    archive.Field(needGradient);
    archive.Field(rows);
    archive.Field(columns);
    if (rows != 0)
        shape = TensorShape{rows, columns};
    else
    {
        archive.Shape(shape, true);
        if (columns > 1)
            shape = AppendDim(shape, columns);
    }
    m_learningRateMultiplier = needGradient ? 1.0f : 0.0f;
}

void RegisterParameterNodes(NodeRegistry& registry)
{
    using Samples::Option;
    registry.Add<LearnableParameterNode>(
        {.name = "LearnableParameter",
         .aliases = {"Parameter", "SparseLearnableParameter", "SparseParameter"},
         .doc = "A matrix or tensor that training adapts; with learningRateMultiplier=0 a constant.",
         .inputs = {0, 0},
         .inputNames = {},
         .traits = OwnerTraits(NodeKind::Parameter),
         .parameters =
             {Dimension("rows", "", "first dimension; 0 = to be inferred from the node that uses it"),
              Dimension("cols", "1", "second dimension; 0 = to be inferred"),
              Option("dims", ParameterKind::Shape, "",
                     "all dimensions of a tensor, {3, 4, 5}; instead of rows and cols"),
              Option("needGradient", ParameterKind::Boolean, "true", "false: not trained (multiplier 0)",
                     {"needsGradient", "computeGradient"}),
              Option("learningRateMultiplier", ParameterKind::Real, "1",
                     "factor of the learning rate for this parameter"),
              Option(
                  "init", ParameterKind::Text, "uniform",
                  "uniform (+-0.05*initValueScale), gaussian (deviation 0.2*initValueScale/sqrt(columns)), fixedValue, "
                  "zero or fromFile"),
              Option("initValueScale", ParameterKind::Real, "1", "factor of the random initial values"),
              Option("value", ParameterKind::Real, "0", "the value for init=fixedValue"),
              Option("initFromFilePath", ParameterKind::Text, "",
                     "text file for init=fromFile, one matrix row a line; without it "
                     "the values are 0 until another step sets them"),
              Option("initOnCPUOnly", ParameterKind::Boolean, "false",
                     "accepted without effect: the CPU always generates the random values"),
              Option("randomSeed", ParameterKind::Integer, "-1",
                     "seed of the random initial values; -1 takes the network's counter")},
         .samples = {},
         .bookSection = "4.1.4.3",
         .create = {}});
}

} // namespace cntk
