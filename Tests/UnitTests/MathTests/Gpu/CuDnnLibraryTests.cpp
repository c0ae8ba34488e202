// Opens cuDNN: messages about unusable libraries, and the answers of the real library to our descriptors, which need no
// card.
#include "CudaEmulation/CuDnnEmulation.h"
#include "CudaEmulation/EmulatedGpu.h"
#include "Math/Gpu/CuDnn.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vector>

namespace cntk
{
namespace
{

std::string TestLibrary(const std::string& name)
{
    return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "gpu" / (name + ".so")).string();
}

std::string ProblemOf(const std::string& library)
{
    std::string problem;
    EXPECT_FALSE(OpenCuDnn(library, problem));
    return problem;
}

TEST(CuDnnLibraryTests, Missing)
{
    EXPECT_EQ(ProblemOf("libcudnn-that-is-not-there.so.9"), "libcudnn-that-is-not-there.so.9 was not found");
}

TEST(CuDnnLibraryTests, OfAnotherVersion)
{
    const std::string library = TestLibrary("OldCuDnn");
    EXPECT_EQ(ProblemOf(library), library + " is of version 8; 9 is needed");
}

TEST(CuDnnLibraryTests, Incomplete)
{
    const std::string library = TestLibrary("BareCuDnn");
    EXPECT_EQ(ProblemOf(library), library + " has no function cudnnGetErrorString");
}

// ---- the real library -----------------------------------------------------------------------------------------------

int& Reached()
{
    thread_local int reached = 0;
    return reached;
}

template <class... Arguments>
cudnnStatus_t Reach(Arguments...)
{
    ++Reached();
    return CUDNN_STATUS_NOT_SUPPORTED;
}

// The library has every function, in an accepted version. Descriptors are the library's own; without a card there is no
// handle, so nothing is computed.
class RealCuDnnTests : public testing::Test
{
protected:
    void SetUp() override
    {
        std::string problem;
        const std::optional<CuDnnFunctions> real = OpenCuDnn(CuDnnLibraryName(), problem);
        if (!real)
        {
            ASSERT_EQ(problem, CuDnnLibraryName() + " was not found");
            GTEST_SKIP() << problem;
        }
        CuDnnFunctions functions = *real;
        EXPECT_EQ(functions.cudnnGetVersion() / 10000, size_t(c_cuDnnMajor));
        EXPECT_STREQ(functions.cudnnGetErrorString(CUDNN_STATUS_BAD_PARAM), "CUDNN_STATUS_BAD_PARAM");
        const CuDnnFunctions emulated = EmulatedCuDnn();
        functions.cudnnCreate = emulated.cudnnCreate;
        functions.cudnnDestroy = emulated.cudnnDestroy;
        functions.cudnnSetStream = emulated.cudnnSetStream;
        functions.cudnnGetConvolutionForwardAlgorithm_v7 = &Reach;
        functions.cudnnGetConvolutionBackwardDataAlgorithm_v7 = &Reach;
        functions.cudnnGetConvolutionBackwardFilterAlgorithm_v7 = &Reach;
        functions.cudnnPoolingForward = &Reach;
        functions.cudnnPoolingBackward = &Reach;
        m_context = std::make_unique<GpuContext>(m_runtime, "GPU 0", 4);
        m_dnn = MakeDnn(functions, *m_context, GpuMatrixMath::Float);
    }

    static MatrixView Image(size_t rows, size_t columns, DataType type)
    {
        MatrixView view;
        view.type = type;
        view.rows = rows;
        view.columns = columns;
        view.stride = rows;
        return view;
    }

    // Returns how often the library accepted the description of a shape and found the same windows.
    int ReachedBy(const ConvolutionGeometry& geometry, size_t samples, DataType type)
    {
        const MatrixView input = Image(geometry.InputElements(), samples, type);
        const MatrixView output = Image(geometry.OutputElements(), samples, type);
        const MatrixView weights = Image(geometry.KernelCount(), geometry.KernelElements(), type);
        const int before = Reached();
        EXPECT_FALSE(m_dnn->Convolve(geometry, weights, input, output));
        EXPECT_FALSE(m_dnn->ConvolveInputGradient(geometry, weights, output, input, 1));
        EXPECT_FALSE(m_dnn->ConvolveWeightGradient(geometry, output, input, weights, 1));
        return Reached() - before;
    }
    int ReachedByPooling(const WindowGeometry& geometry, size_t samples, DataType type)
    {
        const MatrixView input = Image(geometry.InputElements(), samples, type);
        const MatrixView output = Image(geometry.OutputElements(), samples, type);
        const int before = Reached();
        EXPECT_FALSE(m_dnn->Pool(PoolKind::Max, geometry, input, output));
        EXPECT_FALSE(m_dnn->Pool(PoolKind::Average, geometry, input, output));
        EXPECT_FALSE(m_dnn->PoolGradient(PoolKind::Average, geometry, output, input, 1));
        return Reached() - before;
    }

    EmulatedRuntime m_runtime;
    std::unique_ptr<GpuContext> m_context;
    std::unique_ptr<GpuDnn> m_dnn;
};

std::vector<WindowAxis> AllAxes()
{
    std::vector<WindowAxis> axes;
    for (const size_t input : {1, 5, 8})
        for (const size_t kernel : {1, 2, 3, 5})
            for (const size_t stride : {1, 2, 3})
                for (size_t padding = 0; padding < kernel && padding < 3; ++padding)
                    if (input + 2 * padding >= kernel)
                    {
                        WindowAxis axis{.input = input, .kernel = kernel, .stride = stride};
                        axis.start = -ptrdiff_t(padding);
                        axis.windows = (input + 2 * padding - kernel) / stride + 1;
                        axes.push_back(axis);
                    }
    return axes;
}

TEST_F(RealCuDnnTests, HasTheSameWindows)
{
    const std::vector<WindowAxis> axes = AllAxes();
    const WindowAxis channels{.input = 3, .kernel = 3, .stride = 3, .maps = 4};
    size_t samples = 0; // new sizes each time, because refused shapes are not tried again
    for (size_t i = 0; i < axes.size(); ++i)
        for (size_t j = i % 3; j < axes.size(); j += 3)
            for (const DataType type : {DataType::Float32, DataType::Float64})
            {
                ConvolutionGeometry geometry;
                geometry.rank = 3;
                geometry.axes = {axes[i], axes[j], channels};
                SCOPED_TRACE(geometry.ToString());
                EXPECT_EQ(ReachedBy(geometry, ++samples, type), 3);
                geometry.rank = 4;
                geometry.axes = {axes[i], axes[j], axes[i], channels};
                EXPECT_EQ(ReachedBy(geometry, ++samples, type), 3);
                geometry.rank = 2;
                geometry.axes = {axes[i], channels};
                EXPECT_EQ(ReachedBy(geometry, ++samples, type), 3);
                geometry.weights = ConvolutionGeometry::Weights::OutputsFastest;
                geometry.rank = 3;
                geometry.axes = {channels, axes[i], axes[j]};
                EXPECT_EQ(ReachedBy(geometry, ++samples, type), type == DataType::Float32 ? 3 : 0);
            }
    EXPECT_GT(samples, 1000u);
}

TEST_F(RealCuDnnTests, PoolsTheSameWindows)
{
    const std::vector<WindowAxis> axes = AllAxes();
    const WindowAxis channels{.input = 3, .windows = 3};
    size_t samples = 0;
    for (size_t i = 0; i < axes.size(); ++i)
        for (size_t j = i % 3; j < axes.size(); j += 3)
            for (const DataType type : {DataType::Float32, DataType::Float64})
            {
                if (axes[i].kernel == 1 && axes[i].stride == 1 && axes[j].kernel == 1 && axes[j].stride == 1)
                    continue; // nothing is pooled
                WindowGeometry geometry;
                geometry.rank = 3;
                for (const auto& order :
                     {std::array{axes[i], axes[j], channels}, std::array{channels, axes[i], axes[j]},
                      std::array{axes[i], channels, axes[j]}})
                {
                    std::copy(order.begin(), order.end(), geometry.axes.begin());
                    SCOPED_TRACE(geometry.ToString());
                    EXPECT_EQ(ReachedByPooling(geometry, ++samples, type), 3);
                }
            }
}

} // namespace
} // namespace cntk
