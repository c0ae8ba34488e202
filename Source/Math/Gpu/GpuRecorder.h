// Recorded work of a GPU: a CUDA graph, the memory that it uses, and the numbers that it is given anew each time.
#pragma once

#include "Math/Gpu/GpuContext.h"
#include "Math/RepeatedWork.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cntk
{

class GpuRecording final : public RecordedWork
{
public:
    explicit GpuRecording(GpuContext& context);
    ~GpuRecording() override;

    GpuScratch& Scratch() { return m_scratch; }
    // A mask that stays as it is with the work.
    const uint8_t* MaskThere(std::span<const uint8_t> mask, const GpuMasks& known);
    // While the work is recorded: makes a place for numbers that change. While it is repeated: takes new ones.
    const void* TakeNumbers(const void* numbers, size_t bytes, bool repeats);

    void BeginNumbers();
    // As many were taken as the work was recorded with.
    bool HasAllNumbers() const { return m_fits && m_numbersTaken == m_numbers.size(); }
    // With what it has been given; the graph is launched.
    void Finish(GpuGraph graph);
    void Launch();
    // The work is then no longer valid.
    void FreeMemory() noexcept;
    uint64_t MemoryChanges() const { return m_memoryChanges; }

private:
    void* AllocateLasting(size_t bytes);

    GpuContext& m_context;
    GpuGraph m_graph = nullptr;
    uint64_t m_memoryChanges;
    GpuScratch m_scratch;
    std::vector<void*> m_lasting;
    std::vector<GpuMasks::Mask> m_masks;
    std::byte* m_numbersThere;
    std::vector<std::byte> m_numbers;
    size_t m_numbersTaken = 0;
    bool m_fits = true;
};

class GpuRecorder final : public WorkRecorder
{
public:
    GpuRecorder(GpuContext& context, std::function<void(const std::string& text)> trace)
        : m_context(context), m_trace(std::move(trace))
    {
    }

    uint64_t Obstacles() const override { return m_context.Obstacles(); }
    const char* LastObstacle() const override { return m_problem != nullptr ? m_problem : m_context.LastObstacle(); }
    bool Begin() override;
    std::unique_ptr<RecordedWork> End() override;
    void Abandon() noexcept override;
    bool IsValid(const RecordedWork& work) const override;
    void BeginRepeat(RecordedWork& work) override;
    bool EndRepeat() override;
    void AbandonRepeat() noexcept override;
    void Report(const char* what, const char* why) override;

private:
    GpuContext& m_context;
    std::function<void(const std::string& text)> m_trace;
    std::set<std::pair<std::string, std::string>> m_reported; // what and why
    std::unique_ptr<GpuRecording> m_recording;                // what is being recorded
    GpuRecording* m_repeated = nullptr;
    const char* m_problem = nullptr; // of CUDA, with the last recording
};

} // namespace cntk
