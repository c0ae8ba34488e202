// The other update rules, of UpdateFormulas.h: stretches of the parameter go to the threads.
#include "Math/Cpu/CpuKernels.h"
#include "Math/Cpu/ThreadPool.h"
#include "Math/UpdateRules.h"

#include <algorithm>
#include <array>

namespace cntk
{

namespace
{

// In the second pass blocks of so many elements are visited from the last to the first: what the first pass saw last is
// still in the cache.
constexpr size_t c_descentBlock = 16 * 1024;
constexpr size_t c_operationsPerElement = 12;
constexpr size_t c_operationsOfNoise = 20; // of an element, in addition

enum class From
{
    Begin,
    End // block by block
};

// The stretches of a call: one where all matrices are contiguous, else one a column.
template <class T>
class UpdateStretches
{
public:
    UpdateStretches(const UpdateCall& call, NoiseFunction<T> noise, const MatrixView& parameter,
                    std::span<const MatrixView> states, const MatrixView& gradient)
        : m_call(call), m_parameter(parameter), m_states(states), m_gradient(gradient)
    {
        m_isWhole = !call.touched && parameter.IsContiguous() && gradient.IsContiguous() &&
                    std::all_of(states.begin(), states.end(), [](const MatrixView& s) { return s.IsContiguous(); });
        m_columns = call.touched ? call.touched->columns.size() : parameter.columns;
        m_loop.constants = call.constants.As<T>();
        m_loop.extras = call.extras.As<T>();
        if (call.noiseDeviation == 0)
            return;
        m_loop.drawNoise = noise;
        m_loop.noise = call.noise;
        m_loop.noiseDeviation = T(call.noiseDeviation);
    }

    void SetRate(double rate) { m_loop.rate = T(rate); }
    size_t Elements() const { return m_columns * m_parameter.rows; }

    // Calls body(part, loop) for the stretches of each part on the pool's threads.
    template <class Body>
    void ForEach(ThreadPool& pool, From from, const Body& body) const
    {
        const size_t operations = c_operationsPerElement + (m_loop.drawNoise != nullptr ? c_operationsOfNoise : 0);
        const int parts = UsefulThreads(operations * Elements(), pool, c_operationsPerSum);
        if (m_isWhole)
            return ForEachPart(pool, Elements(), 64, parts,
                               [&](int part, size_t begin, size_t end) { VisitWhole(part, begin, end, from, body); });
        ForEachPart(pool, m_columns, 1, parts,
                    [&](int part, size_t begin, size_t end)
                    {
                        for (size_t i = begin; i < end; ++i)
                            body(part, Column(m_call.touched ? size_t(m_call.touched->columns[i]) : i));
                    });
    }

private:
    template <class Body>
    void VisitWhole(int part, size_t begin, size_t end, From from, const Body& body) const
    {
        if (from == From::Begin)
            return body(part, Stretch(0, begin, end - begin));
        while (end > begin)
        {
            const size_t first = end - begin > c_descentBlock ? end - c_descentBlock : begin;
            body(part, Stretch(0, first, end - first));
            end = first;
        }
    }

    UpdateLoop<T> Stretch(size_t column, size_t first, size_t count) const
    {
        const auto at = [&](const MatrixView& view) { return view.As<T>() + column * view.stride + first; };
        UpdateLoop<T> loop = m_loop;
        loop.count = count;
        loop.parameter = at(m_parameter);
        loop.gradient = at(m_gradient);
        for (size_t i = 0; i < m_states.size(); ++i)
            loop.states[i] = at(m_states[i]);
        loop.noiseIndex = uint64_t(column) * m_parameter.rows + first;
        return loop;
    }
    UpdateLoop<T> Column(size_t column) const { return Stretch(column, 0, m_parameter.rows); }

    const UpdateCall& m_call;
    const MatrixView& m_parameter;
    std::span<const MatrixView> m_states;
    const MatrixView& m_gradient;
    bool m_isWhole;
    size_t m_columns;
    UpdateLoop<T> m_loop;
};

template <class T>
void Update(const UpdateKernels<T>& kernels, const UpdateCall& call, UpdateStretches<T> stretches, ThreadPool& pool)
{
    stretches.SetRate(call.rate);
    if (!call.normalizes)
        return stretches.ForEach(pool, From::Begin,
                                 [update = kernels.update[size_t(call.formula)]](int, const UpdateLoop<T>& loop)
                                 { update(loop); });
    // Added up part by part, so that the sum depends on the number of threads only.
    std::array<double, c_mostParts> sums{};
    stretches.ForEach(pool, From::Begin,
                      [&sums, direct = kernels.direct[size_t(call.formula)]](int part, const UpdateLoop<T>& loop)
                      { sums[size_t(part)] += direct(loop); });
    double sum = 0;
    for (const double part : sums)
        sum += part;
    stretches.SetRate(call.rate * double(stretches.Elements()) / sum);
    stretches.ForEach(pool, From::End, [descend = kernels.descend](int, const UpdateLoop<T>& loop) { descend(loop); });
}

} // namespace

void CpuKernels::UpdateParameter(const UpdateCall& call, const MatrixView& parameter,
                                 std::span<const MatrixView> states, const MatrixView& gradient)
{
    UpdateCall resolved = call;
    if (!ResolveOnHost(resolved, *this, gradient))
        return;
    VisitType(parameter.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  UpdateStretches<T> stretches(resolved, m_kernels.noise.Of<T>(), parameter, states, gradient);
                  Update(m_kernels.updates.Of<T>(), resolved, std::move(stretches), m_pool);
              });
}

} // namespace cntk
