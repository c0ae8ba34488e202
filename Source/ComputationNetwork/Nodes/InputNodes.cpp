// InputValue, SparseInputValue, DynamicAxis and EnvironmentInput: the external inputs of a network.
#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/ModelArchive.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/GradientSamples.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/Nodes/ShapeParameters.h"

#include <algorithm>

namespace cntk
{

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
    // The second of two dimensions is the book's initial number of columns, which has no effect.
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
    archive.Shape(shape, archive.Version() <= 9);
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
    m_denseIsMissing = false;
}

namespace
{

// Returns true if the rows of each column ascend without repetition.
bool IsStrictlyAscending(std::span<const int32_t> rowIndices, std::span<const int32_t> columnStarts)
{
    for (size_t j = 0; j + 1 < columnStarts.size(); j++)
        for (int32_t k = columnStarts[j] + 1; k < columnStarts[j + 1]; k++)
            if (rowIndices[size_t(k)] <= rowIndices[size_t(k) - 1])
                return false;
    return true;
}

} // namespace

template <class ElemType>
void InputValueNode::SetDense(const ElemType* values, size_t rows, size_t columns)
{
    CheckRows(rows);
    m_sparseForm = nullptr;
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
    m_sparseForm = nullptr;
    m_denseIsMissing = false;
    m_value = MatrixView{};
    m_value.data = const_cast<ElemType*>(values); // the value of an input is never written
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
    const std::span<const int32_t> rowsOfAll{rowIndices, count}, starts{columnStarts, columns + 1};
    m_sparseForm = nullptr;
    if (m_isSparseInput || (GetDevice().IsHostMemory() && IsStrictlyAscending(rowsOfAll, starts)))
    {
        TakeSparse(values, rowsOfAll, starts);
        if (m_isSparseInput)
            return;
        m_sparseForm = &m_sparseValues;
        m_value = MatrixView{};
        m_denseIsMissing = true;
        if (!m_isReadAsSparse)
            MakeDense();
        return;
    }
    m_denseIsMissing = false;
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

template <class ElemType>
void InputValueNode::TakeSparse(const ElemType* values, std::span<const int32_t> rowIndices,
                                std::span<const int32_t> columnStarts)
{
    if (m_sparseValues.Type() != GetDataType() || m_sparseValues.Rows() == 0)
        m_sparseValues = SparseMatrix(GetDataType(), GetDevice());
    const void* typed = values;
    if (GetDataType() != DataTypeOf<ElemType>())
        VisitType(GetDataType(),
                  [&](auto tag)
                  {
                      using T = decltype(tag);
                      m_hostValues.resize(rowIndices.size() * sizeof(T));
                      T* converted = reinterpret_cast<T*>(m_hostValues.data());
                      std::transform(values, values + rowIndices.size(), converted,
                                     [](ElemType value) { return T(value); });
                      typed = converted;
                  });
    m_sparseValues.FromHost(SampleElements(), columnStarts.size() - 1, typed, rowIndices, columnStarts);
    if (m_isSparseInput)
        m_sparse = &m_sparseValues;
}

void InputValueNode::MakeDense()
{
    const SparseView sparse = m_sparseValues.View();
    if (!m_dense.IsAllocated())
        m_dense = Matrix(0, 0, GetDataType(), GetDevice());
    m_dense.Resize(sparse.rows, sparse.columns);
    Ops::ToDense(sparse, m_dense);
    m_value = m_dense.View();
    m_denseIsMissing = false;
}

void InputValueNode::ReadAsSparse(bool isReadAsSparse)
{
    m_isReadAsSparse = isReadAsSparse;
    if (!isReadAsSparse && m_denseIsMissing)
        MakeDense();
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

void RegisterInputNodes(NodeRegistry& registry)
{
    using Samples::Option;
    const std::vector<NodeParameterInfo> inputParameters = {
        Dimension("rows", "", "number of values in one sample"),
        Dimension("cols", "1", "the book's initial number of columns; without effect, the data decide"),
        Option("dims", ParameterKind::Shape, "", "dimensions of a tensor sample, {3, 4, 5}; instead of rows"),
        Option("dynamicAxis", ParameterKind::Text, "", "name of the axis whose minibatch layout the input shares")};
    NodeType input = {.name = "InputValue",
                      .aliases = {"Input"},
                      .doc = "Data from the reader, one dense column a sample.",
                      .inputs = {0, 0},
                      .inputNames = {},
                      .traits = OwnerTraits(NodeKind::Input),
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

    NodeTraits axis = c_leafTraits;
    axis.kind = NodeKind::DynamicAxis;
    registry.Add<DynamicAxisNode>({.name = "DynamicAxis",
                                   .aliases = {},
                                   .doc = "A name that inputs share by dynamicAxis=: they have one minibatch layout.",
                                   .inputs = {0, 0},
                                   .inputNames = {},
                                   .traits = axis,
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
         .traits = c_leafTraits,
         .parameters = {Option("property", ParameterKind::Text, "isTraining", "isTraining, the only property")},
         .samples = {},
         .bookSection = "",
         .create = {}});
}

} // namespace cntk
