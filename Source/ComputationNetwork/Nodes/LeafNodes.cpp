// LearnableParameter, InputValue and SparseInputValue: shapes, initial values, the reader's data and the model file's
// fields in all versions.
#include "ComputationNetwork/Nodes/LeafNodes.h"

#include "Common/Counted.h"
#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/ModelArchive.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/GradientSamples.h"
#include "ComputationNetwork/Nodes/ParameterFile.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace cntk
{

namespace
{

size_t DimensionOf(const NodeParameters& parameters, std::string_view name, size_t defaultValue)
{
    const long long dimension = parameters.Integer(name, static_cast<long long>(defaultValue));
    if (dimension < 0)
        Fail(ErrorKind::Config, "parameter '", name, "' is ", dimension, "; expected 0 (to be inferred) or more");
    return static_cast<size_t>(dimension);
}

// "3:4:5"
TensorShape ParseDims(const std::string& text)
{
    TensorShape shape;
    for (const std::string_view part : Split(text, ':'))
    {
        const std::optional<long long> dimension = ParseInteger(Trim(part));
        if (!dimension || *dimension < 0)
            Fail(ErrorKind::Config, "parameter 'dims' is '", text, "'; expected dimensions like {3, 4, 5}");
        if (shape.Rank() == TensorShape::c_maxRank)
            Fail(ErrorKind::Config, "parameter 'dims' is '", text, "'; at most ", TensorShape::c_maxRank,
                 " dimensions are possible");
        shape.SetDim(shape.Rank(), static_cast<size_t>(*dimension));
    }
    return shape;
}

// The first of some spellings that is given; the first one if none is.
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

// ---- LearnableParameter ----

void LearnableParameterNode::InferShape(ShapeInference& inference)
{
    if (inference.IsFinalPass() && SampleLayout().HasUnknown())
        Fail(ErrorKind::Model, "the dimensions [", SampleLayout().ToString(), "] of parameter '", Name(),
             "' are not known: no node that uses it determines them; give them");
    m_value = m_values.View();
}

void LearnableParameterNode::SetParameterShape(const TensorShape& shape)
{
    SetShape(shape, nullptr);
    if (shape.HasUnknown())
    {
        m_values = Matrix();
        m_value = MatrixView();
        return;
    }
    if (!m_values.IsAllocated() || m_values.Rows() != shape.MatrixRows() || m_values.Columns() != shape.MatrixColumns())
        WithNote([&] { m_values = Matrix(shape.MatrixRows(), shape.MatrixColumns(), GetDataType(), GetDevice()); },
                 [&] { return Concat("for parameter '", Name(), "' of ", shape.ToString()); });
    m_value = m_values.View();
    if (m_pending)
        Initialize(*std::exchange(m_pending, std::nullopt));
}

void LearnableParameterNode::Initialize(const Initialization& initialization)
{
    if (SampleLayout().HasUnknown() || !m_values.IsAllocated())
    {
        m_pending = initialization;
        return;
    }
    // The original's factors are single-precision constants, computed with in the element type.
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
                      Ops::FillUniform(m_values, -range, range, initialization.seed);
                      break;
                  }
                  case Initialization::Kind::Gaussian:
                  {
                      const T deviation = T(0.2f) * number / std::sqrt(T(m_values.Columns()));
                      Ops::FillGaussian(m_values, 0, deviation, initialization.seed);
                      break;
                  }
                  case Initialization::Kind::Fixed:
                      Ops::Fill(m_values, number);
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
    if (text.rows != m_values.Rows() || text.columns != m_values.Columns())
        Fail(ErrorKind::Data, "file '", path, "' holds ", Counted(text.rows, "row"), " of ",
             Counted(text.columns, "number"), ", but parameter '", Name(), "' is [", SampleLayout().ToString(),
             "]; expected ", Counted(m_values.Rows(), "line"), " of ", Counted(m_values.Columns(), "number"));
    m_values.FromHost(text.values);
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
    if (!(m_learningRateMultiplier >= 0))
        Fail(ErrorKind::Config, "parameter 'learningRateMultiplier' is '", parameters.Text("learningRateMultiplier"),
             "'; expected 0 or more");
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
    // -1 stands for the builder's own counter, which sets the seed afterwards.
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
        const std::string path = parameters.Text("initFromFilePath");
        if (path.empty())
            Fail(ErrorKind::Config, "init=fromFile needs the parameter 'initFromFilePath'");
        InitFromFile(path);
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
    if (!m_values.IsAllocated())
        m_values = Matrix(0, 0, GetDataType(), GetDevice());
    archive.MatrixField(m_values);
    if (!archive.IsLoading())
        return;
    if (m_values.Elements() != shape.Elements())
        Fail(ErrorKind::Model, "parameter '", Name(), "' has the dimensions [", shape.ToString(),
             "], but its matrix is ", m_values.Rows(), " x ", m_values.Columns());
    if (m_values.Rows() != shape.MatrixRows())
    {
        Matrix reshaped(shape.MatrixRows(), shape.MatrixColumns(), GetDataType(), GetDevice());
        reshaped.FromHost(m_values.ToHost());
        m_values = std::move(reshaped);
    }
    m_pending.reset();
    SetShape(shape, nullptr);
    m_value = m_values.View();
}

// Versions 1 and 2: rows = 0 announces a shape (autumn 2015), otherwise rows and columns are all (August 2015).
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

// ---- InputValue, SparseInputValue ----

void InputValueNode::InferShape(ShapeInference& inference)
{
    if (inference.IsFinalPass() && SampleLayout().HasUnknown())
        Fail(ErrorKind::Model, "the dimensions [", SampleLayout().ToString(), "] of input '", Name(),
             "' must be given");
    if (m_isSparseInput)
        m_sparse = &m_sparseValues;
}

void InputValueNode::SetSampleShape(const TensorShape& shape)
{
    SetShape(shape, GetMBLayout());
    if (m_isSparseInput)
        m_sparse = &m_sparseValues;
}

void InputValueNode::SetLayout(MBLayoutPtr layout)
{
    SetShape(SampleLayout(), std::move(layout));
}

void InputValueNode::SetParameters(const NodeParameters& parameters)
{
    // The second of two numbers is the book's initial number of columns, without effect.
    if (parameters.Has("dims"))
        SetSampleShape(ParseDims(parameters.Text("dims")));
    else if (parameters.Has("rows"))
        SetSampleShape(TensorShape{DimensionOf(parameters, "rows", 0)});
    m_dynamicAxis = parameters.Text("dynamicAxis", m_dynamicAxis);
}

std::string InputValueNode::DescribeFields() const
{
    return "[ " + SampleLayout().ToString() + " ]";
}

void InputValueNode::SerializeFields(ModelArchive& archive)
{
    TensorShape shape = SampleLayout();
    uint64_t rows = 0;
    uint64_t columns = 0;
    archive.Field(rows);
    archive.Field(columns);
    archive.Shape(shape, archive.Version() <= 7);
    if (archive.Version() >= 8)
    {
        uint32_t axes = 1;
        archive.Field(axes);
        if (axes > 1)
            Fail(ErrorKind::Model, "input '", Name(), "' has ", axes, " dynamic axes; expected 0 or 1");
        if (axes == 1)
            archive.WideText(m_dynamicAxis);
    }
    if (archive.Version() >= 10)
    {
        float learningRateMultiplier = 0;
        archive.Field(learningRateMultiplier);
    }
    if (!archive.IsLoading())
        return;
    if (rows != 0 && rows != shape.Elements())
        shape = TensorShape{rows};
    SetSampleShape(shape);
}

void InputValueNode::CheckRows(size_t rows) const
{
    if (rows != SampleElements())
        Fail(ErrorKind::Data, "input '", Name(), "' is [", SampleLayout().ToString(), "], ",
             Counted(SampleElements(), "number"), " a sample, but the data have ", rows);
}

void InputValueNode::TakeDense(const void* values, size_t columns)
{
    if (!m_dense.IsAllocated())
        m_dense = Matrix(0, 0, GetDataType(), GetDevice());
    m_dense.Resize(SampleElements(), columns);
    m_dense.CopyFromHost(values);
    m_value = m_dense.View();
}

template <class ElemType>
void InputValueNode::SetDense(const ElemType* values, size_t rows, size_t columns)
{
    CheckRows(rows);
    const size_t count = rows * columns;
    if (!m_isSparseInput && GetDataType() == DataTypeOf<ElemType>())
        return TakeDense(values, columns);
    VisitType(GetDataType(),
              [&](auto tag)
              {
                  using T = decltype(tag);
                  m_hostValues.resize(count * sizeof(T));
                  T* converted = reinterpret_cast<T*>(m_hostValues.data());
                  if (!m_isSparseInput)
                  {
                      std::transform(values, values + count, converted, [](ElemType value) { return T(value); });
                      return TakeDense(converted, columns);
                  }
                  m_hostRows.clear();
                  m_hostStarts.assign(1, 0);
                  for (size_t j = 0; j < columns; j++)
                  {
                      for (size_t i = 0; i < rows; i++)
                          if (values[j * rows + i] != ElemType(0))
                          {
                              converted[m_hostRows.size()] = T(values[j * rows + i]);
                              m_hostRows.push_back(int32_t(i));
                          }
                      m_hostStarts.push_back(int32_t(m_hostRows.size()));
                  }
                  SetSparse(converted, m_hostRows.data(), m_hostStarts.data(), rows, columns);
              });
}

template <class ElemType>
void InputValueNode::ReferToDense(const ElemType* values, size_t rows, size_t columns)
{
    if (m_isSparseInput || GetDataType() != DataTypeOf<ElemType>() || !GetDevice().IsHostMemory())
        return SetDense(values, rows, columns);
    CheckRows(rows);
    m_value = MatrixView{};
    m_value.data = const_cast<ElemType*>(values); // nobody writes the value of an input
    m_value.rows = rows;
    m_value.columns = columns;
    m_value.stride = rows;
    m_value.type = GetDataType();
    m_value.device = &GetDevice();
}

template <class ElemType>
void InputValueNode::SetSparse(const ElemType* values, const int32_t* rowIndices, const int32_t* columnStarts,
                               size_t rows, size_t columns)
{
    CheckRows(rows);
    const size_t first = size_t(columnStarts[0]);
    const size_t count = size_t(columnStarts[columns]);
    for (size_t k = first; k < count; k++)
        if (rowIndices[k] < 0 || size_t(rowIndices[k]) >= rows)
            Fail(ErrorKind::Data, "input '", Name(), "' has ", Counted(rows, "row"), ", but the data name row ",
                 rowIndices[k], " (rows are counted from 0)");
    if (m_isSparseInput)
    {
        if (SparseMatrix& sparse = m_sparseValues; sparse.Type() != GetDataType() || sparse.Rows() == 0)
            sparse = SparseMatrix(GetDataType(), GetDevice());
        const void* typed = values;
        if (GetDataType() != DataTypeOf<ElemType>())
            VisitType(GetDataType(),
                      [&](auto tag)
                      {
                          using T = decltype(tag);
                          m_hostValues.resize(count * sizeof(T));
                          T* converted = reinterpret_cast<T*>(m_hostValues.data());
                          std::transform(values, values + count, converted, [](ElemType value) { return T(value); });
                          typed = converted;
                      });
        m_sparseValues.FromHost(rows, columns, typed, {rowIndices, count}, {columnStarts, columns + 1});
        m_sparse = &m_sparseValues;
        return;
    }
    VisitType(GetDataType(),
              [&](auto tag)
              {
                  using T = decltype(tag);
                  m_hostValues.resize(rows * columns * sizeof(T));
                  T* dense = reinterpret_cast<T*>(m_hostValues.data());
                  std::fill(dense, dense + rows * columns, T(0));
                  for (size_t j = 0; j < columns; j++)
                      for (int32_t k = columnStarts[j]; k < columnStarts[j + 1]; k++)
                          dense[j * rows + size_t(rowIndices[k])] += T(values[k]);
                  TakeDense(dense, columns);
              });
}

template void InputValueNode::SetDense(const float*, size_t, size_t);
template void InputValueNode::SetDense(const double*, size_t, size_t);
template void InputValueNode::ReferToDense(const float*, size_t, size_t);
template void InputValueNode::ReferToDense(const double*, size_t, size_t);
template void InputValueNode::SetSparse(const float*, const int32_t*, const int32_t*, size_t, size_t);
template void InputValueNode::SetSparse(const double*, const int32_t*, const int32_t*, size_t, size_t);

// ---- EnvironmentInput ----

static void CheckProperty(const std::string& property, ErrorKind kind)
{
    if (property != "isTraining")
        Fail(kind, "the property of EnvironmentInput is '", property, "'; expected isTraining");
}

void EnvironmentInputNode::SerializeFields(ModelArchive& archive)
{
    archive.WideText(m_property);
    CheckProperty(m_property, ErrorKind::Model);
}

void EnvironmentInputNode::SetParameters(const NodeParameters& parameters)
{
    m_property = parameters.Text("property", "isTraining");
    CheckProperty(m_property, ErrorKind::Config);
}

// ---- records ----

void RegisterLeafNodes(NodeRegistry& registry)
{
    const NodeTraits leaf = {.backpropReadsInputs = false, .backpropReadsOutput = false, .isLeaf = true};
    const auto dimension = [](const char* name, const char* defaultText, const char* doc)
    {
        NodeParameterInfo info = Samples::Option(name, ParameterKind::Integer, defaultText, doc);
        info.positional = true;
        return info;
    };
    using Samples::Option;
    const std::vector<NodeParameterInfo> inputParameters = {
        dimension("rows", "", "numbers in one sample"),
        dimension("cols", "1", "the book's initial number of columns; without effect, the data decide"),
        Option("dims", ParameterKind::Shape, "", "dimensions of a tensor sample, {3, 4, 5}; instead of rows"),
        Option("dynamicAxis", ParameterKind::Text, "", "name of the axis whose minibatch layout the input shares")};

    registry.Add<LearnableParameterNode>(
        {.name = "LearnableParameter",
         .aliases = {"Parameter", "SparseLearnableParameter", "SparseParameter"},
         .doc = "A matrix or tensor that training adapts; with learningRateMultiplier=0 a constant.",
         .inputs = {0, 0},
         .inputNames = {},
         .traits = leaf,
         .parameters =
             {dimension("rows", "", "first dimension; 0 = to be inferred from the node that uses it"),
              dimension("cols", "1", "second dimension; 0 = to be inferred"),
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
              Option("initFromFilePath", ParameterKind::Text, "", "text file for init=fromFile, one matrix row a line"),
              Option("initOnCPUOnly", ParameterKind::Boolean, "false", "accepted; random values are always the CPU's"),
              Option("randomSeed", ParameterKind::Integer, "-1",
                     "seed of the random initial values; -1 takes the network's counter")},
         .samples = {},
         .bookSection = "4.1.4.3",
         .create = {}});

    NodeType input = {.name = "InputValue",
                      .aliases = {"Input"},
                      .doc = "Data from the reader, one dense column a sample.",
                      .inputs = {0, 0},
                      .inputNames = {},
                      .traits = leaf,
                      .parameters = inputParameters,
                      .samples = {},
                      .bookSection = "4.1.4.1",
                      .create = [] { return std::make_shared<InputValueNode>(false); }};
    registry.Add(input);
    input.name = "SparseInputValue";
    input.aliases = {"SparseInput"};
    input.doc =
        "Data from the reader, one sparse column a sample (one-hot words, labels); goes into Times and criteria.";
    input.create = [] { return std::make_shared<InputValueNode>(true); };
    registry.Add(input);

    registry.Add<DynamicAxisNode>({.name = "DynamicAxis",
                                   .aliases = {},
                                   .doc = "A name that inputs share by dynamicAxis=: they have one minibatch layout.",
                                   .inputs = {0, 0},
                                   .inputNames = {},
                                   .traits = leaf,
                                   .parameters = {},
                                   .samples = {},
                                   .bookSection = "",
                                   .create = {}});
    registry.Add<EnvironmentInputNode>(
        {.name = "EnvironmentInput",
         .aliases = {},
         .doc = "A property of the evaluation: isTraining is 1 while the network is trained, else 0.",
         .inputs = {0, 0},
         .inputNames = {},
         .traits = leaf,
         .parameters = {Option("property", ParameterKind::Text, "isTraining", "isTraining, the only one there is")},
         .samples = {},
         .bookSection = "",
         .create = {}});
}

} // namespace cntk
