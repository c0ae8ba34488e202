// Fills in descriptors and chooses algorithms.
#include "Math/Gpu/CuDnnPlan.h"

#include <array>

#ifdef CNTK_WITH_CUDNN
namespace cntk
{

namespace
{

constexpr size_t c_mostPlans = 512; // with more shapes, each recurs too rarely to be worth a plan
constexpr int c_mostAlgorithms = 16;

void Require(cudnnStatus_t status)
{
    if (status != CUDNN_STATUS_SUCCESS)
        throw CuDnnRefusal();
}

} // namespace

CuDnnPlan* CuDnnPlans::Find(const CuDnnShape& shape)
{
    for (size_t i = 0; i < m_plans.size(); ++i)
    {
        const size_t at = m_next < m_plans.size() ? m_next : 0;
        m_next = at + 1;
        if (m_plans[at]->shape == shape)
            return m_plans[at].get();
    }
    return nullptr;
}

CuDnnPlan& CuDnnPlans::PlanOf(const CuDnnShape& shape)
{
    if (CuDnnPlan* const plan = Find(shape))
        return *plan;
    if (m_plans.size() == c_mostPlans)
        m_plans.clear();
    CuDnnPlan& plan = *m_plans.emplace_back(std::make_unique<CuDnnPlan>());
    m_next = m_plans.size();
    plan.shape = shape;
    try
    {
        Describe(plan);
    }
    catch (const CuDnnRefusal&)
    {
        plan.descriptors.reset();
        plan.algorithms.clear();
    }
    return plan;
}

void CuDnnPlans::Describe(CuDnnPlan& plan) const
{
    const CuDnnForm& form = plan.shape.form;
    const cudnnDataType_t type = plan.shape.type == DataType::Float32 ? CUDNN_DATA_FLOAT : CUDNN_DATA_DOUBLE;
    plan.descriptors = std::make_unique<CuDnnDescriptors>(m_functions);
    const auto describe = [&](cudnnTensorDescriptor_t tensor, int channels, int channelStep, int sampleStride,
                              int CuDnnAxis::*size, int CuDnnAxis::*step)
    {
        int dimensions[2 + CuDnnForm::c_maxAxes] = {plan.shape.samples, channels};
        int strides[2 + CuDnnForm::c_maxAxes] = {sampleStride, channelStep};
        for (int axis = 0; axis < form.rank; ++axis)
        {
            dimensions[2 + axis] = form.axes[size_t(axis)].*size;
            strides[2 + axis] = form.axes[size_t(axis)].*step;
        }
        Require(m_functions.cudnnSetTensorNdDescriptor(tensor, type, 2 + form.rank, dimensions, strides));
    };
    describe(plan.descriptors->input.Get(), form.channels, form.channelStep, plan.shape.inputStride, &CuDnnAxis::input,
             &CuDnnAxis::inputStep);
    describe(plan.descriptors->output.Get(), form.maps, form.mapStep, plan.shape.outputStride, &CuDnnAxis::windows,
             &CuDnnAxis::outputStep);
    if (plan.shape.task < CuDnnTask::MaxPooling)
        DescribeConvolution(plan, type);
    else
        DescribePooling(plan);
}

// cuDNN must compute the same number of windows.
void CuDnnPlans::CheckOutput(const CuDnnPlan& plan, const int* dimensions) const
{
    const CuDnnForm& form = plan.shape.form;
    bool isSame = dimensions[0] == plan.shape.samples && dimensions[1] == form.maps;
    for (int axis = 0; axis < form.rank; ++axis)
        isSame = isSame && dimensions[2 + axis] == form.axes[size_t(axis)].windows;
    if (!isSame)
        throw CuDnnRefusal();
}

void CuDnnPlans::DescribeConvolution(CuDnnPlan& plan, cudnnDataType_t type) const
{
    const CuDnnForm& form = plan.shape.form;
    const CuDnnDescriptors& d = *plan.descriptors;
    int kernel[2 + CuDnnForm::c_maxAxes] = {form.maps, form.channels};
    int padding[CuDnnForm::c_maxAxes] = {};
    int stride[CuDnnForm::c_maxAxes] = {};
    int dilation[CuDnnForm::c_maxAxes] = {};
    for (int axis = 0; axis < form.rank; ++axis)
    {
        const CuDnnAxis& a = form.axes[size_t(axis)];
        kernel[2 + axis] = a.kernel;
        padding[axis] = a.padding;
        stride[axis] = a.stride;
        dilation[axis] = 1;
    }
    Require(m_functions.cudnnSetFilterNdDescriptor(
        d.filter.Get(), type, form.isInterleaved ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW, 2 + form.rank, kernel));
    // Kernels are not flipped, which cuDNN calls a cross-correlation.
    Require(m_functions.cudnnSetConvolutionNdDescriptor(d.convolution.Get(), form.rank, padding, stride, dilation,
                                                        CUDNN_CROSS_CORRELATION, type));
    int found[2 + CuDnnForm::c_maxAxes] = {};
    Require(m_functions.cudnnGetConvolutionNdForwardOutputDim(d.convolution.Get(), d.input.Get(), d.filter.Get(),
                                                              2 + form.rank, found));
    CheckOutput(plan, found);
    const bool isExact = plan.shape.type == DataType::Float32 && m_math == GpuMatrixMath::Float;
    Require(
        m_functions.cudnnSetConvolutionMathType(d.convolution.Get(), isExact ? CUDNN_FMA_MATH : CUDNN_DEFAULT_MATH));
    FindAlgorithms(plan);
}

void CuDnnPlans::DescribePooling(CuDnnPlan& plan) const
{
    const CuDnnForm& form = plan.shape.form;
    int window[CuDnnForm::c_maxAxes] = {};
    int padding[CuDnnForm::c_maxAxes] = {};
    int stride[CuDnnForm::c_maxAxes] = {};
    for (int axis = 0; axis < form.rank; ++axis)
    {
        const CuDnnAxis& a = form.axes[size_t(axis)];
        window[axis] = a.kernel;
        padding[axis] = a.padding;
        stride[axis] = a.stride;
    }
    const cudnnPoolingMode_t mode =
        plan.shape.task == CuDnnTask::MaxPooling ? CUDNN_POOLING_MAX : CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING;
    Require(m_functions.cudnnSetPoolingNdDescriptor(plan.descriptors->pooling.Get(), mode, CUDNN_PROPAGATE_NAN,
                                                    form.rank, window, padding, stride));
    int found[2 + CuDnnForm::c_maxAxes] = {};
    Require(m_functions.cudnnGetPoolingNdForwardOutputDim(plan.descriptors->pooling.Get(),
                                                          plan.descriptors->input.Get(), 2 + form.rank, found));
    CheckOutput(plan, found);
    plan.algorithms.emplace_back();
}

// With gpuMatrixMath=float no algorithm may round factors. A conversion to half precision is never allowed: its range
// is too small.
std::optional<cudnnMathType_t> CuDnnPlans::MathOf(DataType type, cudnnMathType_t found) const
{
    if (found == CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION)
        return std::nullopt;
    if (type == DataType::Float64 || m_math != GpuMatrixMath::Float)
        return found;
    return found == CUDNN_TENSOR_OP_MATH ? std::nullopt : std::optional(CUDNN_FMA_MATH);
}

// Keeps the deterministic algorithms, in cuDNN's order of speed.
template <class Found, class Ask, class AskWorkspace>
void CuDnnPlans::TakeAlgorithms(CuDnnPlan& plan, const Ask& ask, const AskWorkspace& askWorkspace) const
{
    std::array<Found, c_mostAlgorithms> found{};
    int count = 0;
    Require(ask(c_mostAlgorithms, &count, found.data()));
    for (int i = 0; i < count; ++i)
    {
        const Found& f = found[size_t(i)];
        const std::optional<cudnnMathType_t> math = MathOf(plan.shape.type, f.mathType);
        if (f.status != CUDNN_STATUS_SUCCESS || f.determinism != CUDNN_DETERMINISTIC || !math)
            continue;
        CuDnnAlgorithm algorithm{int(f.algo), *math, 0};
        // The size of the workspace depends on the math type.
        Require(m_functions.cudnnSetConvolutionMathType(plan.descriptors->convolution.Get(), algorithm.math));
        if (askWorkspace(f.algo, &algorithm.workspace) == CUDNN_STATUS_SUCCESS &&
            algorithm.workspace <= plan.shape.mostWorkspace)
            plan.algorithms.push_back(algorithm);
    }
    if (!plan.algorithms.empty())
        Require(
            m_functions.cudnnSetConvolutionMathType(plan.descriptors->convolution.Get(), plan.algorithms.front().math));
}

void CuDnnPlans::FindAlgorithms(CuDnnPlan& plan) const
{
    const CuDnnDescriptors& d = *plan.descriptors;
    const auto input = d.input.Get();
    const auto output = d.output.Get();
    const auto filter = d.filter.Get();
    const auto convolution = d.convolution.Get();
    switch (plan.shape.task)
    {
    case CuDnnTask::Forward:
        TakeAlgorithms<cudnnConvolutionFwdAlgoPerf_t>(
            plan,
            [&](int most, int* count, cudnnConvolutionFwdAlgoPerf_t* found)
            {
                return m_functions.cudnnGetConvolutionForwardAlgorithm_v7(m_handle, input, filter, convolution, output,
                                                                          most, count, found);
            },
            [&](cudnnConvolutionFwdAlgo_t algorithm, size_t* bytes)
            {
                return m_functions.cudnnGetConvolutionForwardWorkspaceSize(m_handle, input, filter, convolution, output,
                                                                           algorithm, bytes);
            });
        break;
    case CuDnnTask::InputGradient:
        TakeAlgorithms<cudnnConvolutionBwdDataAlgoPerf_t>(
            plan,
            [&](int most, int* count, cudnnConvolutionBwdDataAlgoPerf_t* found)
            {
                return m_functions.cudnnGetConvolutionBackwardDataAlgorithm_v7(m_handle, filter, output, convolution,
                                                                               input, most, count, found);
            },
            [&](cudnnConvolutionBwdDataAlgo_t algorithm, size_t* bytes)
            {
                return m_functions.cudnnGetConvolutionBackwardDataWorkspaceSize(m_handle, filter, output, convolution,
                                                                                input, algorithm, bytes);
            });
        break;
    default:
        TakeAlgorithms<cudnnConvolutionBwdFilterAlgoPerf_t>(
            plan,
            [&](int most, int* count, cudnnConvolutionBwdFilterAlgoPerf_t* found)
            {
                return m_functions.cudnnGetConvolutionBackwardFilterAlgorithm_v7(m_handle, input, output, convolution,
                                                                                 filter, most, count, found);
            },
            [&](cudnnConvolutionBwdFilterAlgo_t algorithm, size_t* bytes)
            {
                return m_functions.cudnnGetConvolutionBackwardFilterWorkspaceSize(m_handle, input, output, convolution,
                                                                                  filter, algorithm, bytes);
            });
    }
}

} // namespace cntk
#endif
