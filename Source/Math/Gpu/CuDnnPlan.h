// Plans, one per shape: cuDNN's descriptors and the algorithms that may be used.
#pragma once

#include "Math/DataType.h"
#include "Math/Device.h"
#include "Math/Gpu/CuDnn.h"
#include "Math/Gpu/CuDnnForm.h"

#ifdef CNTK_WITH_CUDNN
#include <cstddef>
#include <memory>
#include <vector>

namespace cntk
{

enum class CuDnnTask
{
    Forward,
    InputGradient,
    WeightGradient,
    MaxPooling,
    AveragePooling,
    AveragePoolingGradient
};

struct CuDnnShape
{
    CuDnnTask task;
    DataType type;
    int samples;
    int inputStride; // elements from one sample to the next
    int outputStride;
    size_t mostWorkspace; // in bytes
    CuDnnForm form;

    bool operator==(const CuDnnShape&) const = default;
};

// Thrown when cuDNN refuses a shape.
struct CuDnnRefusal
{
};

template <class Handle>
class CuDnnDescriptor
{
public:
    CuDnnDescriptor(cudnnStatus_t (*make)(Handle*), cudnnStatus_t (*destroy)(Handle)) : m_destroy(destroy)
    {
        if (make(&m_handle) != CUDNN_STATUS_SUCCESS)
            throw CuDnnRefusal();
    }
    ~CuDnnDescriptor() { m_destroy(m_handle); }
    CuDnnDescriptor(const CuDnnDescriptor&) = delete;
    CuDnnDescriptor& operator=(const CuDnnDescriptor&) = delete;

    Handle Get() const { return m_handle; }

private:
    Handle m_handle = nullptr;
    cudnnStatus_t (*m_destroy)(Handle);
};

struct CuDnnAlgorithm
{
    int number = 0; // in the enumeration of its task
    cudnnMathType_t math = CUDNN_DEFAULT_MATH;
    size_t workspace = 0;
};

struct CuDnnDescriptors
{
    explicit CuDnnDescriptors(const CuDnnFunctions& f)
        : input(f.cudnnCreateTensorDescriptor, f.cudnnDestroyTensorDescriptor),
          output(f.cudnnCreateTensorDescriptor, f.cudnnDestroyTensorDescriptor),
          filter(f.cudnnCreateFilterDescriptor, f.cudnnDestroyFilterDescriptor),
          convolution(f.cudnnCreateConvolutionDescriptor, f.cudnnDestroyConvolutionDescriptor),
          pooling(f.cudnnCreatePoolingDescriptor, f.cudnnDestroyPoolingDescriptor)
    {
    }

    CuDnnDescriptor<cudnnTensorDescriptor_t> input;
    CuDnnDescriptor<cudnnTensorDescriptor_t> output;
    CuDnnDescriptor<cudnnFilterDescriptor_t> filter;
    CuDnnDescriptor<cudnnConvolutionDescriptor_t> convolution;
    CuDnnDescriptor<cudnnPoolingDescriptor_t> pooling;
};

struct CuDnnPlan
{
    CuDnnShape shape;
    std::unique_ptr<CuDnnDescriptors> descriptors; // null if cuDNN refuses the shape
    std::vector<CuDnnAlgorithm> algorithms;        // the fastest first; pooling has one
    size_t current = 0;

    bool IsForCuDnn() const { return current < algorithms.size(); }
};

// All plans of a device in the order of first use. The search starts behind the last plan found, which is usually
// right, because minibatches use the same shapes in the same order.
class CuDnnPlans
{
public:
    CuDnnPlans(const CuDnnFunctions& functions, cudnnHandle_t handle, GpuMatrixMath math)
        : m_functions(functions), m_handle(handle), m_math(math)
    {
    }

    CuDnnPlan& PlanOf(const CuDnnShape& shape);

private:
    CuDnnPlan* Find(const CuDnnShape& shape);
    void Describe(CuDnnPlan& plan) const;
    void DescribeConvolution(CuDnnPlan& plan, cudnnDataType_t type) const;
    void DescribePooling(CuDnnPlan& plan) const;
    void CheckOutput(const CuDnnPlan& plan, const int* dimensions) const;
    void FindAlgorithms(CuDnnPlan& plan) const;
    template <class Found, class Ask, class AskWorkspace>
    void TakeAlgorithms(CuDnnPlan& plan, const Ask& ask, const AskWorkspace& askWorkspace) const;
    std::optional<cudnnMathType_t> MathOf(DataType type, cudnnMathType_t found) const;

    const CuDnnFunctions& m_functions;
    cudnnHandle_t m_handle;
    GpuMatrixMath m_math;
    std::vector<std::unique_ptr<CuDnnPlan>> m_plans;
    size_t m_next = 0;
};

} // namespace cntk
#endif
