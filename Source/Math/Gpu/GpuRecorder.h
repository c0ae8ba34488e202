// Captures CUDA graphs: the graph, the memory that it uses, and the arguments that change at each launch.
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
    // A copy of the mask that belongs to the graph.
    const uint8_t* MaskOnDevice(std::span<const uint8_t> mask, const GpuMasks& known);
    // During the capture: reserves memory for an argument that changes. Before a later launch: stores its new value.
    const void* TakeArgument(const void* argument, size_t bytes, bool repeats);

    void BeginArguments();
    // True if the same number of bytes was taken as during the capture.
    bool HasAllArguments() const { return m_fits && m_argumentBytes == m_arguments.size(); }
    // Uploads the masks and launches the graph.
    void Finish(GpuGraph graph);
    // Uploads the arguments and launches the graph.
    void Launch();
    // The graph is invalid afterwards.
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
    std::byte* m_deviceArguments;
    std::vector<std::byte> m_arguments;
    size_t m_argumentBytes = 0; // taken so far
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
    std::set<std::pair<std::string, std::string>> m_reported; // work and reason
    std::unique_ptr<GpuRecording> m_recording;                // being captured
    GpuRecording* m_repeated = nullptr;
    const char* m_problem = nullptr; // why the last capture failed
};

} // namespace cntk
