// Update rules, each in one pass over the parameter.
#include "Math/Gpu/DeviceFunctions.cuh"
#include "Math/Gpu/GpuKernels.h"
#include "Math/UpdateRules.h"

#include <cmath>
#include <optional>

namespace cntk
{

namespace
{

template <class T>
struct MomentumFactors
{
    T momentum;
    T factor;
};

// s = momentum * s + factor * gradient; parameter -= s. A non-null deviceFactors overrides factors.
template <class T>
__global__ void UpdateWithMomentum(const DeviceMatrix<T> parameter, const DeviceMatrix<T> smoothed,
                                   const DeviceMatrix<T> gradient, MomentumFactors<T> factors,
                                   const MomentumFactors<T>* deviceFactors)
{
    if (deviceFactors != nullptr)
        factors = *deviceFactors;
    for (size_t index = FirstElement(); index < parameter.Elements(); index += ElementStep())
    {
        const T s = factors.momentum * smoothed.At(index) + factors.factor * gradient.At(index);
        smoothed.At(index) = s;
        parameter.At(index) -= s;
    }
}

// s = momentum * s + factor * gradient; parameter -= step * s, for the listed columns.
template <class T>
__global__ void UpdateColumnsWithMomentum(const DeviceMatrix<T> parameter, const DeviceMatrix<T> smoothed,
                                          const DeviceMatrix<T> gradient, T momentum, T factor, T step,
                                          const int32_t* columns, size_t count)
{
    for (size_t index = FirstElement(); index < count * parameter.rows; index += ElementStep())
    {
        const size_t column = size_t(columns[index / parameter.rows]);
        const size_t row = index % parameter.rows;
        T& s = smoothed.Column(column)[row];
        s = momentum * s + factor * gradient.Column(column)[row];
        parameter.Column(column)[row] -= step * s;
    }
}

// ---- rules of UpdateFormulas.h --------------------------------------------------------------------------------------

struct DeviceFunctions
{
    template <class T>
    CNTK_HOST_DEVICE static T SquareRoot(T x)
    {
        return std::sqrt(x);
    }
    template <class T>
    CNTK_HOST_DEVICE static T LogOf(T x)
    {
        return std::log(x);
    }
    template <class T>
    CNTK_HOST_DEVICE static T SineOf(T x)
    {
        return std::sin(x);
    }
    template <class T>
    CNTK_HOST_DEVICE static T CosineOf(T x)
    {
        return std::cos(x);
    }
    CNTK_HOST_DEVICE static double ToNumber(uint64_t whole) { return double(whole); }
};

constexpr unsigned c_sumBlocks = c_threads; // one block adds up all partial sums

// The arguments that change from one update to the next.
template <class T>
struct ChangingArguments
{
    UpdateConstants<T> constants;
    UpdateExtras<T> extras;
    T rate;
    double normLimit; // of the gradient
    T noiseDeviation; // 0: no noise
    NoiseDraw noise;

    // The parameter after a step, with noise and regularisation.
    __device__ T Moved(T stepped, size_t place) const
    {
        if (noiseDeviation != T(0))
            stepped += Noise::At<DeviceFunctions, T>(noise, place, noiseDeviation);
        return UpdateExtrasOf::Parameter<T>(extras, stepped);
    }
};

// Partial sums of the gradient's squares. Without them the norm has no limit.
struct SquareSums
{
    const double* sums = nullptr;
    unsigned count = 0;

    // The factor that limits the norm to `most`. All threads of a block call it.
    __device__ double FactorFor(double most) const
    {
        if (sums == nullptr)
            return 1;
        const double norm = std::sqrt(ReduceBlock(threadIdx.x < count ? sums[threadIdx.x] : 0.0, 0.0, Adding()));
        return norm > most ? most / norm : 1.0;
    }
};

template <class T>
struct UpdateTask
{
    DeviceMatrix<T> parameter;
    DeviceMatrix<T> gradient;
    T* states[c_mostUpdateStates];
    size_t stateStrides[c_mostUpdateStates];
    const int32_t* columns; // null: all columns
    size_t elements;
    ChangingArguments<T> arguments;
    const ChangingArguments<T>* deviceArguments; // overrides arguments unless null
    double* multiplierSums;                      // null: the rate is not divided by the mean multiplier
    SquareSums squares;
    const double* stop; // the update is skipped if this is not 0; may be null

    __device__ bool IsStopped() const { return stop != nullptr && *stop != 0; }
    __device__ size_t Column(size_t index) const
    {
        const size_t column = index / parameter.rows;
        return columns != nullptr ? size_t(columns[column]) : column;
    }
    __device__ ChangingArguments<T> Arguments() const
    {
        return deviceArguments != nullptr ? *deviceArguments : arguments;
    }
};

// With multiplierSums, replaces the gradients by directions, and each block writes the sum of its multipliers.
template <class T, class Rule>
__global__ void UpdateElements(const UpdateTask<T> task)
{
    if (task.IsStopped())
        return;
    ChangingArguments<T> arguments = task.Arguments();
    arguments.extras.gradientScale *= T(task.squares.FactorFor(arguments.normLimit));
    double sum = 0;
    for (size_t index = FirstElement(); index < task.elements; index += ElementStep())
    {
        const size_t column = task.Column(index);
        const size_t row = index % task.parameter.rows;
        T state[c_mostUpdateStates] = {};
        for (size_t i = 0; i < c_mostUpdateStates; ++i)
            if (task.states[i] != nullptr)
                state[i] = task.states[i][column * task.stateStrides[i] + row];
        T& value = task.parameter.Column(column)[row];
        T& gradient = task.gradient.Column(column)[row];
        T multiplier = 0;
        const T direction = Rule::template Direction<DeviceFunctions, T>(
            arguments.constants, UpdateExtrasOf::Gradient<T>(arguments.extras, gradient, value), state[0], state[1],
            state[2], multiplier);
        for (size_t i = 0; i < c_mostUpdateStates; ++i)
            if (task.states[i] != nullptr)
                task.states[i][column * task.stateStrides[i] + row] = state[i];
        if (task.multiplierSums == nullptr)
            value = arguments.Moved(value - arguments.rate * direction, column * task.parameter.rows + row);
        else
        {
            gradient = direction;
            sum += double(multiplier);
        }
    }
    if (task.multiplierSums == nullptr)
        return;
    sum = ReduceBlock(sum, 0.0, Adding());
    if (threadIdx.x == 0)
        task.multiplierSums[blockIdx.x] = sum;
}

// Steps along the directions, with the rate divided by the mean multiplier.
template <class T>
__global__ void StepByMeanMultiplier(const UpdateTask<T> task, unsigned sums)
{
    if (task.IsStopped())
        return;
    const double sum = ReduceBlock(threadIdx.x < sums ? task.multiplierSums[threadIdx.x] : 0.0, 0.0, Adding());
    const ChangingArguments<T> arguments = task.Arguments();
    const T rate = T(double(arguments.rate) * double(task.elements) / sum);
    for (size_t index = FirstElement(); index < task.elements; index += ElementStep())
    {
        const size_t column = task.Column(index);
        const size_t row = index % task.parameter.rows;
        T& value = task.parameter.Column(column)[row];
        value = arguments.Moved(value - rate * task.gradient.Column(column)[row], column * task.parameter.rows + row);
    }
}

template <class T>
void LaunchUpdate(UpdateFormula formula, const UpdateTask<T>& task, GpuStream stream, unsigned blocks)
{
    switch (formula)
    {
#define CNTK_CASE_ROW(name, states, multiplies)                                                                        \
    case UpdateFormula::name:                                                                                          \
        Launch(#name, stream, blocks, c_threads, UpdateElements<T, name##UpdateRule>, task);                           \
        return;
        CNTK_UPDATE_RULES(CNTK_CASE_ROW)
#undef CNTK_CASE_ROW
    }
}

} // namespace

void GpuKernels::MomentumUpdate(const MatrixView& parameter, const MatrixView& smoothed, const MatrixView& gradient,
                                double rate, double momentum, const TouchedColumns* touched)
{
    VisitType(parameter.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  const DeviceMatrix<T> p(parameter);
                  const DeviceMatrix<T> s(smoothed);
                  const DeviceMatrix<T> g(gradient);
                  if (touched == nullptr)
                  {
                      const MomentumFactors<T> factors{T(momentum), T((1 - momentum) * rate)};
                      Launch("MomentumUpdate", m_context.Stream(), BlocksFor(p.Elements(), c_threads), c_threads,
                             UpdateWithMomentum<T>, p, s, g, factors, m_context.ChangingArgument(factors));
                      return;
                  }
                  const size_t count = touched->columns.size();
                  if (count == 0)
                      return;
                  // Same as CNTK v1.1: in the sparse form the smoothed gradient does not contain the rate.
                  const GpuArray<int32_t> columns(m_context, std::span<const int32_t>(touched->columns));
                  Launch("MomentumUpdate", m_context.Stream(), BlocksFor(count * p.rows, c_threads), c_threads,
                         UpdateColumnsWithMomentum<T>, p, s, g, T(momentum), T(1 - momentum), T(rate), columns.Data(),
                         count);
              });
}

void GpuKernels::UpdateParameter(const UpdateCall& call, const MatrixView& parameter,
                                 std::span<const MatrixView> states, const MatrixView& gradient)
{
    std::optional<GpuArray<int32_t>> columns;
    if (call.touched != nullptr)
        columns.emplace(m_context, std::span<const int32_t>(call.touched->columns));
    std::optional<GpuArray<double>> sums;
    if (call.normalizes)
        sums.emplace(m_context, c_sumBlocks);
    SquareSums squareSums;
    std::optional<GpuArray<double>> squares;
    if (std::isfinite(call.normLimit))
    {
        squares.emplace(m_context, c_mostSumBlocks);
        squareSums = {squares->Data(), PutSumsOfSquares(gradient, squares->Data())};
    }
    VisitType(parameter.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  UpdateTask<T> task{DeviceMatrix<T>(parameter),
                                     DeviceMatrix<T>(gradient),
                                     {},
                                     {},
                                     columns ? columns->Data() : nullptr,
                                     (columns ? call.touched->columns.size() : parameter.columns) * parameter.rows,
                                     {call.constants.As<T>(), call.extras.As<T>(), T(call.rate), call.normLimit,
                                      T(call.noiseDeviation), call.noise},
                                     nullptr,
                                     sums ? sums->Data() : nullptr,
                                     squareSums,
                                     call.stop.As<const double>()};
                  for (size_t i = 0; i < states.size(); ++i)
                  {
                      task.states[i] = states[i].As<T>();
                      task.stateStrides[i] = states[i].stride;
                  }
                  task.deviceArguments = m_context.ChangingArgument(task.arguments);
                  const unsigned blocks = BlocksFor(task.elements, c_threads, sums ? c_sumBlocks : 65535);
                  LaunchUpdate(call.formula, task, m_context.Stream(), blocks);
                  if (sums)
                      Launch("a step", m_context.Stream(), BlocksFor(task.elements, c_threads), c_threads,
                             StepByMeanMultiplier<T>, task, blocks);
              });
}

} // namespace cntk
