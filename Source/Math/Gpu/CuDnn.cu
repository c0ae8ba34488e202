// Convolution and pooling by cuDNN.
#include "Common/Error.h"
#include "Math/Device.h"
#include "Math/Gpu/CuDnn.h"
#include "Math/Gpu/CuDnnPlan.h"
#include "Math/Gpu/DeviceFunctions.cuh"

#include <algorithm>
#include <climits>
#include <optional>

#ifdef CNTK_WITH_CUDNN
namespace cntk
{

namespace
{

constexpr size_t c_mostWorkspace = size_t(256) << 20;

// ---- layouts of kernels ---------------------------------------------------------------------------------------------

// Copies weights [maps x pixels x channels], maps fastest, to cuDNN's order, channels fastest.
template <class T>
__global__ void ChannelsFastest(const T* weights, T* kernels, size_t maps, size_t pixels, size_t channels)
{
    const size_t count = maps * pixels * channels;
    for (size_t index = FirstElement(); index < count; index += ElementStep())
    {
        const size_t channel = index % channels;
        const size_t pixel = index / channels % pixels;
        const size_t map = index / channels / pixels;
        kernels[index] = weights[map + maps * (pixel + pixels * channel)];
    }
}

// The way back: weights = beta * weights + kernels.
template <class T>
__global__ void MapsFastest(const T* kernels, T* weights, size_t maps, size_t pixels, size_t channels, T beta)
{
    const size_t count = maps * pixels * channels;
    for (size_t index = FirstElement(); index < count; index += ElementStep())
    {
        const size_t map = index % maps;
        const size_t pixel = index / maps % pixels;
        const size_t channel = index / maps / pixels;
        const T value = kernels[channel + channels * (pixel + pixels * map)];
        weights[index] = beta == T(0) ? value : beta * weights[index] + value;
    }
}

// ---- calls ---------------------------------------------------------------------------------------------------------

// The factors 0 and 1 in the element type. cuDNN reads them from host memory.
const void* FactorOf(DataType type, double value)
{
    static constexpr float c_floats[] = {0, 1};
    static constexpr double c_doubles[] = {0, 1};
    const size_t at = value == 0 ? 0 : 1;
    return type == DataType::Float32 ? static_cast<const void*>(&c_floats[at]) : &c_doubles[at];
}

// True if cuDNN has computed nothing: it refused the call, could not compile a kernel (the run-time compiler is a
// library of its own, which may be missing), or had no memory. Other statuses are failures of the card.
bool IsRefusal(cudnnStatus_t status)
{
    return int(status) < 4000 || status == CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED ||
           status == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
           status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
}

// ---- cuDNN ----------------------------------------------------------------------------------------------------------

class CuDnn final : public GpuDnn
{
public:
    CuDnn(const CuDnnFunctions& functions, cudnnHandle_t handle, GpuContext& context, GpuMatrixMath math)
        : GpuDnn(Concat("cuDNN ", functions.cudnnGetVersion() / 10000, ".", functions.cudnnGetVersion() / 100 % 100)),
          m_functions(functions), m_handle(handle), m_context(context), m_plans(m_functions, handle, math)
    {
    }
    ~CuDnn() override { m_functions.cudnnDestroy(m_handle); }

    bool Convolve(const ConvolutionGeometry& geometry, const MatrixView& weights, const MatrixView& input,
                  const MatrixView& output) override;
    bool ConvolveInputGradient(const ConvolutionGeometry& geometry, const MatrixView& weights,
                               const MatrixView& gradient, const MatrixView& inputGradient, double beta) override;
    bool ConvolveWeightGradient(const ConvolutionGeometry& geometry, const MatrixView& gradient,
                                const MatrixView& input, const MatrixView& weightGradient, double beta) override;
    bool Pool(PoolKind kind, const WindowGeometry& geometry, const MatrixView& input,
              const MatrixView& output) override;
    bool PoolGradient(PoolKind kind, const WindowGeometry& geometry, const MatrixView& gradient,
                      const MatrixView& inputGradient, double beta) override;

private:
    CuDnnPlan* ConvolutionPlan(CuDnnTask task, const ConvolutionGeometry& geometry, const MatrixView& input,
                               const MatrixView& output);
    CuDnnPlan* PoolingPlan(CuDnnTask task, const WindowGeometry& geometry, const MatrixView& input,
                           const MatrixView& output);
    CuDnnPlan* PlanOf(CuDnnTask task, const std::optional<CuDnnForm>& form, const MatrixView& input,
                      const MatrixView& output, size_t mostWorkspace);
    template <class Call>
    bool Run(CuDnnPlan& plan, const char* what, const Call& call);
    void TakeStream();

    // The memory of the filter: the weights, or a copy with the channels fastest.
    class FilterMemory
    {
    public:
        FilterMemory(GpuContext& context, const CuDnnForm& form, const MatrixView& weights)
            : m_context(context), m_form(form), m_weights(weights),
              m_copy(context, form.isInterleaved ? weights.Elements() * SizeOf(weights.type) : 1)
        {
        }
        void* Data() const { return m_form.isInterleaved ? m_copy.Data() : m_weights.data; }
        void CopyFromWeights() const;
        void CopyToWeights(double beta) const;

    private:
        size_t Pixels() const { return m_weights.Elements() / size_t(m_form.maps) / size_t(m_form.channels); }

        GpuContext& m_context;
        const CuDnnForm& m_form;
        const MatrixView& m_weights;
        GpuArray<std::byte> m_copy;
    };

    CuDnnFunctions m_functions;
    cudnnHandle_t m_handle;
    GpuContext& m_context;
    GpuStream m_stream = nullptr;
    CuDnnPlans m_plans;
};

void CuDnn::FilterMemory::CopyFromWeights() const
{
    if (!m_form.isInterleaved)
        return;
    VisitType(m_weights.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  Launch("ChannelsFastest", m_context.Stream(), BlocksFor(m_weights.Elements(), c_threads), c_threads,
                         ChannelsFastest<T>, m_weights.As<const T>(), reinterpret_cast<T*>(m_copy.Data()),
                         size_t(m_form.maps), Pixels(), size_t(m_form.channels));
              });
}

void CuDnn::FilterMemory::CopyToWeights(double beta) const
{
    if (!m_form.isInterleaved)
        return;
    VisitType(m_weights.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  Launch("MapsFastest", m_context.Stream(), BlocksFor(m_weights.Elements(), c_threads), c_threads,
                         MapsFastest<T>, reinterpret_cast<const T*>(m_copy.Data()), m_weights.As<T>(),
                         size_t(m_form.maps), Pixels(), size_t(m_form.channels), T(beta));
              });
}

// ---- plans ----------------------------------------------------------------------------------------------------------

// Null if cuDNN does not compute the shape.
CuDnnPlan* CuDnn::PlanOf(CuDnnTask task, const std::optional<CuDnnForm>& form, const MatrixView& input,
                         const MatrixView& output, size_t mostWorkspace)
{
    const auto fits = [&](const MatrixView& view) { return view.columns * view.stride <= size_t(INT_MAX); };
    if (!form || !fits(input) || !fits(output))
        return nullptr;
    CuDnnPlan& plan = m_plans.PlanOf(
        {task, input.type, int(input.columns), int(input.stride), int(output.stride), mostWorkspace, *form});
    if (!plan.IsForCuDnn())
        return nullptr;
    TakeStream();
    return &plan;
}

CuDnnPlan* CuDnn::ConvolutionPlan(CuDnnTask task, const ConvolutionGeometry& geometry, const MatrixView& input,
                                  const MatrixView& output)
{
    const std::optional<CuDnnForm> form = CuDnnForm::OfConvolution(geometry);
    if (form && form->isInterleaved && input.type == DataType::Float64)
        return nullptr; // cuDNN has such images in float only
    size_t most = c_mostWorkspace;
    if (geometry.mostSamplesAtOnce > 0)
    {
        // The limit counts samples whose windows are copied out, so it is converted to bytes.
        const size_t windows = geometry.OutputElements() / geometry.KernelCount();
        most = std::min(most, geometry.mostSamplesAtOnce * windows * geometry.KernelElements() * SizeOf(input.type));
    }
    return PlanOf(task, form, input, output, most);
}

CuDnnPlan* CuDnn::PoolingPlan(CuDnnTask task, const WindowGeometry& geometry, const MatrixView& input,
                              const MatrixView& output)
{
    return PlanOf(task, CuDnnForm::OfPooling(geometry), input, output, 0);
}

// ---- work -----------------------------------------------------------------------------------------------------------

void CuDnn::TakeStream()
{
    if (m_stream == m_context.Stream())
        return;
    if (m_functions.cudnnSetStream(m_handle, static_cast<cudaStream_t>(m_context.Stream())) != CUDNN_STATUS_SUCCESS)
        Fail(ErrorKind::Device, "cuDNN failed to take a stream");
    m_stream = m_context.Stream();
}

// Runs the plan's algorithm. If cuDNN refuses it or memory is short, the plan moves on to its next algorithm for good.
// Returns false if none is left.
template <class Call>
bool CuDnn::Run(CuDnnPlan& plan, const char* what, const Call& call)
{
    while (plan.IsForCuDnn())
    {
        const CuDnnAlgorithm& algorithm = plan.algorithms[plan.current];
        try
        {
            const GpuArray<std::byte> workspace(m_context, algorithm.workspace);
            const cudnnStatus_t status = call(algorithm, static_cast<void*>(workspace.Data()));
            if (status == CUDNN_STATUS_SUCCESS)
                return true;
            if (status == CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER)
                return false; // depends on this call, not on the shape
            if (!IsRefusal(status))
                Fail(ErrorKind::Device, "cuDNN failed to ", what, ": ", m_functions.cudnnGetErrorString(status));
        }
        catch (const OutOfMemory&)
        {
        }
        if (++plan.current < plan.algorithms.size())
            m_functions.cudnnSetConvolutionMathType(plan.descriptors->convolution.Get(),
                                                    plan.algorithms[plan.current].math);
    }
    return false;
}

bool CuDnn::Convolve(const ConvolutionGeometry& geometry, const MatrixView& weights, const MatrixView& input,
                     const MatrixView& output)
{
    CuDnnPlan* const plan = ConvolutionPlan(CuDnnTask::Forward, geometry, input, output);
    if (plan == nullptr)
        return false;
    const CuDnnDescriptors& d = *plan->descriptors;
    const FilterMemory kernels(m_context, plan->shape.form, weights);
    kernels.CopyFromWeights();
    return Run(*plan, "convolve",
               [&](const CuDnnAlgorithm& algorithm, void* workspace)
               {
                   return m_functions.cudnnConvolutionForward(
                       m_handle, FactorOf(input.type, 1), d.input.Get(), input.data, d.filter.Get(), kernels.Data(),
                       d.convolution.Get(), cudnnConvolutionFwdAlgo_t(algorithm.number), workspace, algorithm.workspace,
                       FactorOf(input.type, 0), d.output.Get(), output.data);
               });
}

bool CuDnn::ConvolveInputGradient(const ConvolutionGeometry& geometry, const MatrixView& weights,
                                  const MatrixView& gradient, const MatrixView& inputGradient, double beta)
{
    CuDnnPlan* const plan = ConvolutionPlan(CuDnnTask::InputGradient, geometry, inputGradient, gradient);
    if (plan == nullptr)
        return false;
    const CuDnnDescriptors& d = *plan->descriptors;
    const FilterMemory kernels(m_context, plan->shape.form, weights);
    kernels.CopyFromWeights();
    return Run(*plan, "compute the input's gradient of a convolution",
               [&](const CuDnnAlgorithm& algorithm, void* workspace)
               {
                   return m_functions.cudnnConvolutionBackwardData(
                       m_handle, FactorOf(gradient.type, 1), d.filter.Get(), kernels.Data(), d.output.Get(),
                       gradient.data, d.convolution.Get(), cudnnConvolutionBwdDataAlgo_t(algorithm.number), workspace,
                       algorithm.workspace, FactorOf(gradient.type, beta), d.input.Get(), inputGradient.data);
               });
}

bool CuDnn::ConvolveWeightGradient(const ConvolutionGeometry& geometry, const MatrixView& gradient,
                                   const MatrixView& input, const MatrixView& weightGradient, double beta)
{
    CuDnnPlan* const plan = ConvolutionPlan(CuDnnTask::WeightGradient, geometry, input, gradient);
    if (plan == nullptr)
        return false;
    const CuDnnDescriptors& d = *plan->descriptors;
    const FilterMemory kernels(m_context, plan->shape.form, weightGradient);
    const double betaOfKernels = plan->shape.form.isInterleaved ? 0 : beta;
    const bool isDone =
        Run(*plan, "compute the kernels' gradient of a convolution",
            [&](const CuDnnAlgorithm& algorithm, void* workspace)
            {
                return m_functions.cudnnConvolutionBackwardFilter(
                    m_handle, FactorOf(gradient.type, 1), d.input.Get(), input.data, d.output.Get(), gradient.data,
                    d.convolution.Get(), cudnnConvolutionBwdFilterAlgo_t(algorithm.number), workspace,
                    algorithm.workspace, FactorOf(gradient.type, betaOfKernels), d.filter.Get(), kernels.Data());
            });
    if (isDone)
        kernels.CopyToWeights(beta);
    return isDone;
}

bool CuDnn::Pool(PoolKind kind, const WindowGeometry& geometry, const MatrixView& input, const MatrixView& output)
{
    CuDnnPlan* const plan =
        PoolingPlan(kind == PoolKind::Max ? CuDnnTask::MaxPooling : CuDnnTask::AveragePooling, geometry, input, output);
    if (plan == nullptr)
        return false;
    return Run(*plan, "pool",
               [&](const CuDnnAlgorithm&, void*)
               {
                   const CuDnnDescriptors& d = *plan->descriptors;
                   return m_functions.cudnnPoolingForward(m_handle, d.pooling.Get(), FactorOf(input.type, 1),
                                                          d.input.Get(), input.data, FactorOf(input.type, 0),
                                                          d.output.Get(), output.data);
               });
}

// Leaves maxima to our own kernel: each of several equal maxima gets the gradient there, while cuDNN does not document
// its choice.
bool CuDnn::PoolGradient(PoolKind kind, const WindowGeometry& geometry, const MatrixView& gradient,
                         const MatrixView& inputGradient, double beta)
{
    if (kind == PoolKind::Max)
        return false;
    CuDnnPlan* const plan = PoolingPlan(CuDnnTask::AveragePoolingGradient, geometry, inputGradient, gradient);
    if (plan == nullptr)
        return false;
    // The gradient of an average does not depend on the values: any memory of their size serves.
    return Run(*plan, "compute the gradient of a pooling",
               [&](const CuDnnAlgorithm&, void*)
               {
                   const CuDnnDescriptors& d = *plan->descriptors;
                   return m_functions.cudnnPoolingBackward(
                       m_handle, d.pooling.Get(), FactorOf(gradient.type, 1), d.output.Get(), gradient.data,
                       d.output.Get(), gradient.data, d.input.Get(), inputGradient.data, FactorOf(gradient.type, beta),
                       d.input.Get(), inputGradient.data);
               });
}

} // namespace

std::unique_ptr<GpuDnn> MakeDnn(const CuDnnFunctions& functions, GpuContext& context, GpuMatrixMath math)
{
    cudnnHandle_t handle = nullptr;
    const cudnnStatus_t status = functions.cudnnCreate(&handle);
    if (status != CUDNN_STATUS_SUCCESS)
        return std::make_unique<GpuDnn>(
            Concat("own kernels (cuDNN cannot start: ", functions.cudnnGetErrorString(status), ")"));
    return std::make_unique<CuDnn>(functions, handle, context, math);
}

} // namespace cntk
#endif
