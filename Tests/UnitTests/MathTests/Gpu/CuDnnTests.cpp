// Tests the calls of cuDNN with its emulation: the convolutions and poolings it gets, its algorithms, the number of
// calls, and its refusals and failures. The kernel tests compare its values.
#include "Common/Error.h"
#include "CommonTests/ThrownErrors.h"
#include "CudaEmulation/CuDnnEmulation.h"
#include "CudaEmulation/CudaEmulation.h"
#include "CudaEmulation/EmulatedGpu.h"
#include "Math/Gpu/CuDnn.h"
#include "Math/Gpu/CuDnnForm.h"
#include "Math/Gpu/GpuDevice.h"
#include "Math/ImageOperations.h"
#include "Math/Operations.h"
#include "MathTests/KernelCases.h"
#include "MathTests/WindowAxes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>

namespace cntk
{
namespace
{

using CuDnnEmulation::Calls;
using CuDnnEmulation::CallsOfThread;
using Weights = ConvolutionGeometry::Weights;

WindowAxis Channels(size_t channels, size_t maps)
{
    return {.input = channels, .kernel = channels, .stride = channels, .maps = maps};
}

ConvolutionGeometry Convolution(Weights weights, std::initializer_list<WindowAxis> axes)
{
    ConvolutionGeometry geometry;
    geometry.weights = weights;
    for (const WindowAxis& axis : axes)
        geometry.axes[geometry.rank++] = axis;
    return geometry;
}

ConvolutionGeometry Planar(const WindowAxis& a, const WindowAxis& b, size_t channels, size_t maps)
{
    return Convolution(Weights::KernelByKernel, {a, b, Channels(channels, maps)});
}

ConvolutionGeometry Interleaved(const WindowAxis& a, const WindowAxis& b, size_t channels, size_t maps)
{
    return Convolution(Weights::OutputsFastest, {Channels(channels, maps), a, b});
}

// Counts the device's allocations.
class AllocationCountingRuntime final : public EmulatedRuntime
{
public:
    AllocationCountingRuntime(size_t bytes, int& allocations)
        : EmulatedRuntime(EmulatedMemory::Open, bytes), m_allocations(allocations)
    {
    }
    void* Allocate(size_t bytes) override
    {
        ++m_allocations;
        return EmulatedRuntime::Allocate(bytes);
    }

private:
    int& m_allocations;
};

const WindowAxis c_row = Axis(7, 3, 2, -1, 4);
const WindowAxis c_column = Axis(6, 2, 1, 0, 5);

// ---- forms ----------------------------------------------------------------------------------------------------------

TEST(CuDnnFormTests, ImagesInPlanes)
{
    const auto form = CuDnnForm::OfConvolution(Planar(c_row, c_column, 3, 8));
    ASSERT_TRUE(form);
    EXPECT_EQ(form->rank, 2);
    EXPECT_EQ(form->axes[0], (CuDnnAxis{6, 2, 1, 0, 5, 7, 4}));
    EXPECT_EQ(form->axes[1], (CuDnnAxis{7, 3, 2, 1, 4, 1, 1}));
    EXPECT_EQ(form->channels, 3);
    EXPECT_EQ(form->channelStep, 42);
    EXPECT_EQ(form->maps, 8);
    EXPECT_EQ(form->mapStep, 20);
    EXPECT_FALSE(form->isInterleaved);
}

TEST(CuDnnFormTests, ImagesWithTheChannelsFastest)
{
    const auto form = CuDnnForm::OfConvolution(Interleaved(c_row, c_column, 3, 8));
    ASSERT_TRUE(form);
    EXPECT_EQ(form->axes[0], (CuDnnAxis{6, 2, 1, 0, 5, 21, 32}));
    EXPECT_EQ(form->axes[1], (CuDnnAxis{7, 3, 2, 1, 4, 3, 8}));
    EXPECT_EQ(form->channelStep, 1);
    EXPECT_EQ(form->mapStep, 1);
    EXPECT_TRUE(form->isInterleaved);
}

// Axes keep their order even if one has a single element.
TEST(CuDnnFormTests, OneRow)
{
    const auto form = CuDnnForm::OfConvolution(Interleaved(Axis(1, 1, 1, 0, 1), c_column, 3, 8));
    ASSERT_TRUE(form);
    EXPECT_EQ(form->axes[0].input, 6);
    EXPECT_EQ(form->axes[1].input, 1);
}

TEST(CuDnnFormTests, OneAxisOfWindows)
{
    const auto planar = CuDnnForm::OfConvolution(Convolution(Weights::KernelByKernel, {c_row, Channels(3, 8)}));
    ASSERT_TRUE(planar);
    EXPECT_EQ(planar->rank, 2);
    EXPECT_EQ(planar->axes[0], (CuDnnAxis{1, 1, 1, 0, 1, 7, 4}));
    EXPECT_EQ(planar->axes[1], (CuDnnAxis{7, 3, 2, 1, 4, 1, 1}));
    const auto interleaved = CuDnnForm::OfConvolution(Convolution(Weights::OutputsFastest, {Channels(3, 8), c_row}));
    ASSERT_TRUE(interleaved);
    EXPECT_EQ(interleaved->axes[0], (CuDnnAxis{1, 1, 1, 0, 1, 21, 32}));
}

TEST(CuDnnFormTests, ThreeAxesAndNoChannels)
{
    WindowAxis last = Axis(5, 3, 1, 0, 3);
    last.maps = 4;
    const auto form = CuDnnForm::OfConvolution(Convolution(Weights::KernelByKernel, {c_row, c_column, last}));
    ASSERT_TRUE(form);
    EXPECT_EQ(form->rank, 3);
    EXPECT_EQ(form->channels, 1);
    EXPECT_EQ(form->channelStep, 7 * 6 * 5);
    EXPECT_EQ(form->maps, 4);
    EXPECT_EQ(form->mapStep, 4 * 5 * 3);
    EXPECT_EQ(form->axes[0], (CuDnnAxis{5, 3, 1, 0, 3, 42, 20}));
}

TEST(CuDnnFormTests, UnsupportedByCuDnn)
{
    const auto expectNone = [](const char* why, const ConvolutionGeometry& geometry)
    { EXPECT_FALSE(CuDnnForm::OfConvolution(geometry)) << why; };
    expectNone("more padding in front", Planar(Axis(7, 4, 1, -2, 7), c_column, 3, 8));
    expectNone("more padding behind", Planar(Axis(7, 4, 1, -1, 7), c_column, 3, 8));
    expectNone("windows that begin inside", Planar(Axis(5, 2, 2, 1, 2), c_column, 3, 8));
    expectNone("windows outside of the input", Planar(Axis(3, 2, 1, -3, 8), c_column, 3, 8));
    expectNone("fewer windows than there is room for", Planar(Axis(7, 3, 1, 0, 4), c_column, 3, 8));
    WindowAxis unshared = c_column;
    unshared.isShared = false;
    expectNone("a kernel for each window", Planar(c_row, unshared, 3, 8));
    WindowAxis maps = c_row;
    maps.maps = 2;
    expectNone("maps along two axes", Planar(maps, c_column, 3, 8));
    expectNone("four axes of windows",
               Convolution(Weights::KernelByKernel, {c_row, c_row, c_row, c_row, Channels(3, 8)}));
    expectNone("no axis of windows", Convolution(Weights::KernelByKernel, {Channels(3, 8)}));
    expectNone("some of the channels", Convolution(Weights::OutputsFastest, {Axis(4, 2, 1, 0, 3), c_row, c_column}));
    expectNone("a size beyond integers", Planar(Axis(size_t(1) << 16, 1, 1, 0, size_t(1) << 16),
                                                Axis(size_t(1) << 16, 1, 1, 0, size_t(1) << 16), 1, 1));
}

TEST(CuDnnFormTests, Pooling)
{
    WindowGeometry geometry;
    geometry.rank = 4;
    // Two adjacent axes without windows become the channels.
    geometry.axes = {c_row, c_column, Axis(3, 1, 1, 0, 3), Axis(5, 1, 1, 0, 5)};
    const auto form = CuDnnForm::OfPooling(geometry);
    ASSERT_TRUE(form);
    EXPECT_EQ(form->rank, 2);
    EXPECT_EQ(form->channels, 15);
    EXPECT_EQ(form->channelStep, 42);
    EXPECT_EQ(form->mapStep, 20);
    // Other axes become windows of one element.
    geometry.axes = {Axis(2, 1, 1, 0, 2), c_row, Axis(3, 1, 1, 0, 3), c_column};
    const auto split = CuDnnForm::OfPooling(geometry);
    ASSERT_TRUE(split);
    EXPECT_EQ(split->rank, 3);
    EXPECT_EQ(split->channels, 3);
    EXPECT_EQ(split->channelStep, 14);
    EXPECT_EQ(split->axes[2], (CuDnnAxis{2, 1, 1, 0, 2, 1, 1}));
    geometry.axes = {c_row, c_column, c_row, c_column};
    EXPECT_FALSE(CuDnnForm::OfPooling(geometry)) << "four axes of windows";
    geometry.axes = {Axis(5, 2, 2, 1, 2), c_column, Axis(3, 1, 1, 0, 3), Axis(5, 1, 1, 0, 5)};
    EXPECT_FALSE(CuDnnForm::OfPooling(geometry)) << "windows that begin inside";
}

// ---- what is called -------------------------------------------------------------------------------------------------

class CuDnnTests : public testing::Test
{
protected:
    void TearDown() override
    {
        m_device.reset();
        EXPECT_EQ(CuDnnEmulation::LivingObjects(), 0u);
    }

    void MakeDevice(GpuMatrixMath math = GpuMatrixMath::Float, size_t bytes = c_emulatedMemoryBytes)
    {
        m_device =
            FindGpu({0, math}, std::make_unique<AllocationCountingRuntime>(bytes, m_allocations), MakeEmulatedBlas,
                    [this, math](GpuContext& context) { return MakeDnn(m_functions, context, math); });
        m_before = CallsOfThread();
    }

    Matrix Numbers(size_t rows, size_t columns, DataType type = DataType::Float32)
    {
        std::vector<double> values(rows * columns);
        for (size_t i = 0; i < values.size(); ++i)
            values[i] = double(i % 7) - 3;
        Matrix matrix(rows, columns, type, *m_device);
        matrix.FromHost(values);
        return matrix;
    }

    // A convolution with both gradients: three calls of cuDNN if it accepts the shape.
    std::vector<double> Run(const ConvolutionGeometry& geometry, size_t samples, DataType type = DataType::Float32)
    {
        const Matrix weights = Numbers(geometry.KernelCount(), geometry.KernelElements(), type);
        const Matrix input = Numbers(geometry.InputElements(), samples, type);
        const Matrix output = Numbers(geometry.OutputElements(), samples, type);
        const Matrix inputGradient = Numbers(geometry.InputElements(), samples, type);
        const Matrix weightGradient = Numbers(geometry.KernelCount(), geometry.KernelElements(), type);
        Ops::Convolve(geometry, weights.View(), input.View(), output.View());
        Ops::ConvolveInputGradient(geometry, weights.View(), output.View(), inputGradient.View(), true);
        Ops::ConvolveWeightGradient(geometry, output.View(), input.View(), weightGradient.View(), true);
        std::vector<double> results = output.ToHost();
        for (const Matrix* more : {&inputGradient, &weightGradient})
        {
            const std::vector<double> values = more->ToHost();
            results.insert(results.end(), values.begin(), values.end());
        }
        return results;
    }

    std::vector<double> WithoutCuDnn(const ConvolutionGeometry& geometry, size_t samples)
    {
        const std::shared_ptr<Device> device = std::move(m_device);
        m_device = MakeEmulatedGpu(EmulatedMemory::Open, c_emulatedMemoryBytes, WorkOrder::Late, EmulatedDnn::Missing);
        std::vector<double> results = Run(geometry, samples);
        m_device = device;
        return results;
    }

    int Work() const { return CallsOfThread().Work() - m_before.Work(); }

    CuDnnFunctions m_functions = EmulatedCuDnn();
    std::shared_ptr<Device> m_device;
    int m_allocations = 0;
    Calls m_before;
};

TEST_F(CuDnnTests, TakesSupportedShapesOnly)
{
    MakeDevice();
    EXPECT_THAT(m_device->Describe(), testing::HasSubstr("; convolutions: cuDNN 9.0)"));
    Run(Planar(c_row, c_column, 3, 8), 2);
    EXPECT_EQ(Work(), 3);
    Run(Interleaved(c_row, c_column, 3, 8), 2);
    EXPECT_EQ(Work(), 6);
    Run(Planar(c_row, c_column, 3, 8), 2, DataType::Float64);
    EXPECT_EQ(Work(), 9);
    Run(Interleaved(c_row, c_column, 3, 8), 2, DataType::Float64);
    EXPECT_EQ(Work(), 9) << "there are no such kernels for double";
    Run(Planar(Axis(7, 4, 1, -1, 7), c_column, 3, 8), 2);
    EXPECT_EQ(Work(), 9);
    Run(Planar(c_row, c_column, 3, 8), 0);
    EXPECT_EQ(Work(), 9) << "there is nothing to do";
}

TEST_F(CuDnnTests, PoolsExceptTheGradientOfMaxima)
{
    MakeDevice();
    WindowGeometry geometry;
    geometry.rank = 3;
    geometry.axes = {Axis(4, 1, 1, 0, 4), c_row, c_column};
    const Matrix input = Numbers(geometry.InputElements(), 2);
    const Matrix output = Numbers(geometry.OutputElements(), 2);
    const Matrix inputGradient = Numbers(geometry.InputElements(), 2);
    for (const PoolKind kind : {PoolKind::Max, PoolKind::Average})
    {
        Ops::Pool(kind, geometry, input.View(), output.View());
        Ops::PoolGradient(kind, geometry, input.View(), output.View(), output.View(), inputGradient.View(), false);
    }
    EXPECT_EQ(CallsOfThread().poolings - m_before.poolings, 2);
    EXPECT_EQ(CallsOfThread().poolingGradients - m_before.poolingGradients, 1);
}

TEST_F(CuDnnTests, QueriesEachShapeOnceAndAllocatesNothingMore)
{
    MakeDevice();
    const std::vector<ConvolutionGeometry> geometries = {
        Planar(c_row, c_column, 3, 8), Interleaved(c_row, c_column, 3, 8), Planar(c_column, c_row, 2, 5)};
    for (const ConvolutionGeometry& geometry : geometries)
        Run(geometry, 4);
    Run(geometries[0], 3); // another number of samples is another shape
    EXPECT_EQ(CallsOfThread().questions - m_before.questions, 12);
    const Calls after = CallsOfThread();
    const int allocations = m_allocations;
    for (int repeat = 0; repeat < 3; ++repeat)
    {
        for (const ConvolutionGeometry& geometry : geometries)
            Run(geometry, 4);
        Run(geometries[0], 3);
    }
    EXPECT_EQ(CallsOfThread().questions, after.questions);
    EXPECT_EQ(CallsOfThread().descriptors, after.descriptors);
    EXPECT_EQ(CallsOfThread().Work() - after.Work(), 3 * 12);
    EXPECT_EQ(m_allocations, allocations);
    EXPECT_NE(CallsOfThread().lastStream, nullptr);
}

TEST_F(CuDnnTests, MathFollowsGpuMatrixMath)
{
    MakeDevice(GpuMatrixMath::Float);
    Run(Planar(c_row, c_column, 3, 8), 2);
    EXPECT_EQ(CallsOfThread().lastMath, CuDnnEmulation::CUDNN_FMA_MATH);
    Run(Planar(c_row, c_column, 3, 8), 2, DataType::Float64);
    EXPECT_EQ(CallsOfThread().lastMath, CuDnnEmulation::CUDNN_DEFAULT_MATH);
    for (const GpuMatrixMath math : {GpuMatrixMath::Tf32, GpuMatrixMath::Bfloat16})
    {
        MakeDevice(math);
        Run(Planar(c_row, c_column, 3, 8), 2);
        EXPECT_EQ(CallsOfThread().lastMath, CuDnnEmulation::CUDNN_TENSOR_OP_MATH);
    }
}

// The user's limit is a number of unfolded samples, 10 * 4 * 4 bytes each.
TEST_F(CuDnnTests, TheWorkspaceIsBounded)
{
    MakeDevice();
    ConvolutionGeometry geometry = Planar(Axis(6, 2, 1, 0, 5), Axis(3, 2, 1, 0, 2), 1, 8);
    Run(geometry, 2);
    EXPECT_EQ(Work(), 3);
    EXPECT_LE(CallsOfThread().lastWorkspace, size_t(256) << 20);
    geometry.mostSamplesAtOnce = 1;
    Run(geometry, 2);
    EXPECT_EQ(Work(), 3) << "there is no algorithm that needs so little";
    geometry.mostSamplesAtOnce = 1000;
    Run(geometry, 2);
    EXPECT_EQ(Work(), 6);
}

// Ensures that the kernel tests compare values of cuDNN.
TEST_F(CuDnnTests, KernelCasesReachIt)
{
    for (const KernelCase& kernelCase : ImageCases())
    {
        if (kernelCase.name != "ConvolutionSame" && kernelCase.name != "PoolingSame")
            continue;
        SCOPED_TRACE(kernelCase.name);
        const bool isConvolution = kernelCase.name == "ConvolutionSame";
        for (const DataType type : {DataType::Float32, DataType::Float64})
        {
            SCOPED_TRACE(NameOf(type));
            MakeDevice();
            KernelCaseRun run(*m_device, type);
            kernelCase.run(run);
            run.Results();
            // Two layouts, one and several samples, replacing and adding, and three epilogues.
            const int layouts = type == DataType::Float32 ? 2 : 1;
            EXPECT_EQ(CallsOfThread().forward - m_before.forward, isConvolution ? layouts * 2 * 4 : 0);
            EXPECT_EQ(CallsOfThread().inputGradients - m_before.inputGradients, isConvolution ? layouts * 2 * 2 : 0);
            EXPECT_EQ(CallsOfThread().weightGradients - m_before.weightGradients, isConvolution ? layouts * 2 * 2 : 0);
            EXPECT_EQ(CallsOfThread().poolings - m_before.poolings, isConvolution ? 0 : 2 * 2 * 2);
            EXPECT_EQ(CallsOfThread().poolingGradients - m_before.poolingGradients, isConvolution ? 0 : 2 * 2 * 2);
        }
    }
}

// ---- refusals and failures ------------------------------------------------------------------------------------------

TEST_F(CuDnnTests, CannotStart)
{
    m_functions.cudnnCreate = [](CuDnnEmulation::cudnnHandle_t*)
    { return CuDnnEmulation::CUDNN_STATUS_NOT_INITIALIZED; };
    MakeDevice();
    EXPECT_THAT(m_device->Describe(),
                testing::HasSubstr("; convolutions: own kernels (cuDNN cannot start: CUDNN_STATUS_NOT_INITIALIZED))"));
    EXPECT_EQ(Run(Planar(c_row, c_column, 3, 8), 2), WithoutCuDnn(Planar(c_row, c_column, 3, 8), 2));
    EXPECT_EQ(Work(), 0);
}

TEST_F(CuDnnTests, OurKernelsComputeRefusedShapes)
{
    using namespace CuDnnEmulation;
    const ConvolutionGeometry geometry = Interleaved(c_row, c_column, 3, 8);
    const auto expectOwn = [&](const char* what)
    {
        SCOPED_TRACE(what);
        MakeDevice();
        const std::vector<double> first = Run(geometry, 2);
        EXPECT_EQ(first, WithoutCuDnn(geometry, 2));
        const int questions = CallsOfThread().questions;
        EXPECT_EQ(Run(geometry, 2), first);
        EXPECT_EQ(CallsOfThread().questions, questions) << "what it refused is remembered";
        EXPECT_EQ(Work(), 0);
        m_device.reset();
        m_functions = EmulatedCuDnn();
    };
    m_functions.cudnnSetTensorNdDescriptor = [](cudnnTensorDescriptor_t, cudnnDataType_t, int, const int*, const int*)
    { return CUDNN_STATUS_NOT_SUPPORTED; };
    expectOwn("a descriptor");
    m_functions.cudnnGetConvolutionNdForwardOutputDim = [](const cudnnConvolutionDescriptor_t,
                                                           const cudnnTensorDescriptor_t, const cudnnFilterDescriptor_t,
                                                           int rank, int dimensions[])
    {
        std::fill_n(dimensions, rank, 1);
        return CUDNN_STATUS_SUCCESS;
    };
    expectOwn("other windows than ours");
    const auto refuseAll = [](auto& ask)
    {
        ask = [](auto... arguments)
        {
            (void)std::initializer_list<int>{((void)arguments, 0)...};
            ++CallsOfThread().questions;
            return CUDNN_STATUS_NOT_SUPPORTED;
        };
    };
    refuseAll(m_functions.cudnnGetConvolutionForwardAlgorithm_v7);
    refuseAll(m_functions.cudnnGetConvolutionBackwardDataAlgorithm_v7);
    refuseAll(m_functions.cudnnGetConvolutionBackwardFilterAlgorithm_v7);
    expectOwn("any algorithm");
    m_functions.cudnnConvolutionForward = [](auto...) { return CUDNN_STATUS_NOT_SUPPORTED; };
    m_functions.cudnnConvolutionBackwardData = [](auto...) { return CUDNN_STATUS_BAD_PARAM; };
    m_functions.cudnnConvolutionBackwardFilter = [](auto...) { return CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER; };
    expectOwn("the work");
    m_functions.cudnnConvolutionForward = [](auto...) { return CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED; };
    m_functions.cudnnConvolutionBackwardData = [](auto...)
    { return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED; };
    m_functions.cudnnConvolutionBackwardFilter = [](auto...)
    { return CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED; };
    expectOwn("the work, where something else is missing");
}

TEST_F(CuDnnTests, AFailureOfTheCardIsAnError)
{
    using namespace CuDnnEmulation;
    m_functions.cudnnConvolutionForward = [](auto...) { return CUDNN_STATUS_EXECUTION_FAILED; };
    MakeDevice();
    EXPECT_EQ(MessageOf(ErrorKind::Device, [&] { Run(Planar(c_row, c_column, 3, 8), 2); }),
              "cuDNN failed to convolve: CUDNN_STATUS_EXECUTION_FAILED");
}

// If memory is short, the workspace is given up first.
TEST_F(CuDnnTests, NoMemoryForAWorkspace)
{
    using namespace CuDnnEmulation;
    m_functions.cudnnGetConvolutionForwardWorkspaceSize =
        [](cudnnHandle_t, const cudnnTensorDescriptor_t, const cudnnFilterDescriptor_t,
           const cudnnConvolutionDescriptor_t, const cudnnTensorDescriptor_t, cudnnConvolutionFwdAlgo_t, size_t* bytes)
    {
        *bytes = size_t(100) << 20;
        return CUDNN_STATUS_SUCCESS;
    };
    MakeDevice(GpuMatrixMath::Float, size_t(8) << 20);
    const ConvolutionGeometry geometry = Planar(c_row, c_column, 3, 8);
    EXPECT_EQ(Run(geometry, 2), WithoutCuDnn(geometry, 2));
    EXPECT_EQ(CallsOfThread().forward, m_before.forward);
    EXPECT_EQ(Work(), 2);
}

// ---- the emulation --------------------------------------------------------------------------------------------------

TEST_F(CuDnnTests, TheEmulationDetectsFatalErrors)
{
    using namespace CuDnnEmulation;
    cudnnHandle_t handle = nullptr;
    cudnnTensorDescriptor_t tensor = nullptr;
    cudnnPoolingDescriptor_t pooling = nullptr;
    ASSERT_EQ(cudnnCreate(&handle), CUDNN_STATUS_SUCCESS);
    ASSERT_EQ(cudnnCreateTensorDescriptor(&tensor), CUDNN_STATUS_SUCCESS);
    ASSERT_EQ(cudnnCreatePoolingDescriptor(&pooling), CUDNN_STATUS_SUCCESS);
    const int ones[] = {1, 1, 1, 1};
    const int none[] = {0, 0, 0, 0};
    const float one = 1;
    EXPECT_THROW(cudnnPoolingForward(handle, pooling, &one, tensor, &one, &one, tensor, nullptr), std::logic_error)
        << "descriptors that were not set";
    ASSERT_EQ(cudnnSetTensorNdDescriptor(tensor, CUDNN_DATA_FLOAT, 4, ones, ones), CUDNN_STATUS_SUCCESS);
    ASSERT_EQ(cudnnSetPoolingNdDescriptor(pooling, CUDNN_POOLING_MAX, CUDNN_PROPAGATE_NAN, 2, ones, none, ones),
              CUDNN_STATUS_SUCCESS);
    float hostMemory = 0;
    EXPECT_THROW(cudnnPoolingForward(handle, pooling, &one, tensor, &hostMemory, &one, tensor, &hostMemory),
                 std::logic_error);
    EmulatedRuntime runtime(EmulatedMemory::Open);
    float* const memory = static_cast<float*>(runtime.Allocate(8));
    EXPECT_THROW(cudnnPoolingForward(handle, pooling, memory, tensor, memory, &one, tensor, memory + 1),
                 std::logic_error)
        << "factors on the device";
    EXPECT_EQ(cudnnSetPoolingNdDescriptor(pooling, CUDNN_POOLING_MAX, CUDNN_PROPAGATE_NAN, 2, ones, ones, ones),
              CUDNN_STATUS_BAD_PARAM);
    EXPECT_EQ(cudnnSetTensorNdDescriptor(tensor, CUDNN_DATA_FLOAT, 3, ones, ones), CUDNN_STATUS_NOT_SUPPORTED);
    cudnnDestroyPoolingDescriptor(pooling);
    EXPECT_THROW(cudnnPoolingForward(handle, pooling, &one, tensor, memory, &one, tensor, memory), std::logic_error);
    cudnnDestroyTensorDescriptor(tensor);
    cudnnDestroy(handle);
}

} // namespace
} // namespace cntk
