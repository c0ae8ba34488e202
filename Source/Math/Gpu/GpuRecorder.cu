// Graphs are captured on the one stream of all work. Masks and numbers are brought to their places outside of the
// graph: before it is launched, in the same stream.
#include "Common/Error.h"
#include "Math/Gpu/GpuRecorder.h"

#include <cstring>
#include <utility>

namespace cntk
{

namespace
{

// Far more than the numbers of a network's update.
constexpr size_t c_mostNumberBytes = size_t(63) << 10;
static_assert(c_mostNumberBytes < GpuTransfers::c_leastBytes, "numbers are brought there without taking memory");
constexpr size_t c_numberAlignment = 16;

} // namespace

// ---- one piece of work ----------------------------------------------------------------------------------------------

GpuRecording::GpuRecording(GpuContext& context)
    : m_context(context), m_memoryChanges(context.MemoryChanges()),
      m_numbersThere(static_cast<std::byte*>(AllocateLasting(c_mostNumberBytes)))
{
}

GpuRecording::~GpuRecording()
{
    m_context.RemoveReserve(*this);
    FreeMemory();
}

// What was launched before goes on with the memory: who gets it next comes behind in the stream.
void GpuRecording::FreeMemory() noexcept
{
    if (m_graph != nullptr)
        m_context.Runtime().FreeGraph(std::exchange(m_graph, nullptr));
    for (void* const memory : m_scratch.all)
        m_context.Memory().Free(memory);
    m_scratch.all.clear();
    for (void* const memory : m_lasting)
        m_context.Memory().Free(memory);
    m_lasting.clear();
}

// Not from the scratch, which the work itself writes to.
void* GpuRecording::AllocateLasting(size_t bytes)
{
    m_lasting.reserve(m_lasting.size() + 1);
    void* const memory = m_context.Memory().AllocateBesideScratch(bytes);
    m_lasting.push_back(memory);
    return memory;
}

const uint8_t* GpuRecording::MaskThere(std::span<const uint8_t> mask, const GpuMasks& known)
{
    for (const GpuMasks::Mask& own : m_masks)
        if (GpuMasks::Holds(own, mask))
            return own.there + (mask.data() - own.host);
    GpuMasks::Mask added;
    if (const GpuMasks::Mask* const whole = known.FindWhole(mask))
    {
        added.host = whole->host;
        added.copy = whole->copy;
    }
    else
    {
        added.host = mask.data();
        added.copy.assign(mask.begin(), mask.end());
    }
    added.room = added.copy.size();
    added.there = static_cast<uint8_t*>(AllocateLasting(added.room));
    m_masks.push_back(std::move(added));
    return m_masks.back().there + (mask.data() - m_masks.back().host);
}

const void* GpuRecording::TakeNumbers(const void* numbers, size_t bytes, bool repeats)
{
    const size_t begin = (m_numbersTaken + c_numberAlignment - 1) / c_numberAlignment * c_numberAlignment;
    m_numbersTaken = begin + bytes;
    if (repeats)
    {
        m_fits = m_fits && m_numbersTaken <= m_numbers.size();
        if (m_fits)
            std::memcpy(m_numbers.data() + begin, numbers, bytes);
        return nullptr;
    }
    if (m_numbersTaken > c_mostNumberBytes)
        m_context.NoteObstacle("it has too many numbers that change");
    m_numbers.resize(m_numbersTaken);
    std::memcpy(m_numbers.data() + begin, numbers, bytes);
    return m_numbersThere + begin;
}

void GpuRecording::BeginNumbers()
{
    m_numbersTaken = 0;
    m_fits = true;
}

void GpuRecording::Finish(GpuGraph graph)
{
    m_graph = graph;
    for (const GpuMasks::Mask& mask : m_masks)
        m_context.Upload(mask.there, mask.copy.data(), mask.copy.size());
    m_context.AddReserve(*this);
    Launch();
}

void GpuRecording::Launch()
{
    m_context.Upload(m_numbersThere, m_numbers.data(), m_numbers.size());
    m_context.Runtime().Launch(m_graph, m_context.Stream());
}

// ---- recording ------------------------------------------------------------------------------------------------------

bool GpuRecorder::Begin()
{
    if (m_recording != nullptr || m_repeated != nullptr)
        Fail(ErrorKind::Internal, "work is recorded within recorded work");
    m_problem = nullptr;
    try
    {
        m_recording = std::make_unique<GpuRecording>(m_context);
        m_context.Runtime().BeginCapture(m_context.Stream());
    }
    catch (const Error&)
    {
        m_recording.reset();
        m_problem = "CUDA refuses to record it";
        return false;
    }
    m_context.BeginRecording(*m_recording);
    return true;
}

std::unique_ptr<RecordedWork> GpuRecorder::End()
{
    m_context.EndRecording();
    std::unique_ptr<GpuRecording> recording = std::move(m_recording);
    const GpuGraph graph = m_context.Runtime().EndCapture(m_context.Stream());
    m_problem = "CUDA makes no graph of it";
    if (graph == nullptr)
        return nullptr;
    if (recording->MemoryChanges() != m_context.MemoryChanges())
    {
        m_context.Runtime().FreeGraph(graph);
        m_problem = "memory was given back meanwhile";
        return nullptr;
    }
    try
    {
        recording->Finish(graph);
    }
    catch (const Error&)
    {
        m_problem = "CUDA does not launch the graph";
        return nullptr;
    }
    m_problem = nullptr;
    return recording;
}

void GpuRecorder::Abandon() noexcept
{
    m_context.EndRecording();
    if (const GpuGraph graph = m_context.Runtime().EndCapture(m_context.Stream()))
        m_context.Runtime().FreeGraph(graph);
    m_recording.reset();
}

// ---- repeating ------------------------------------------------------------------------------------------------------

bool GpuRecorder::IsValid(const RecordedWork& work) const
{
    return static_cast<const GpuRecording&>(work).MemoryChanges() == m_context.MemoryChanges();
}

void GpuRecorder::BeginRepeat(RecordedWork& work)
{
    m_repeated = &static_cast<GpuRecording&>(work);
    m_repeated->BeginNumbers();
    m_context.BeginRepeat(*m_repeated);
}

bool GpuRecorder::EndRepeat()
{
    GpuRecording& work = *std::exchange(m_repeated, nullptr);
    m_context.EndRepeat();
    if (!work.HasAllNumbers() || !IsValid(work))
        return false;
    work.Launch();
    return true;
}

void GpuRecorder::AbandonRepeat() noexcept
{
    m_repeated = nullptr;
    m_context.EndRepeat();
}

void GpuRecorder::Report(const char* what, const char* why)
{
    if (m_trace && m_reported.emplace(what, why).second)
        m_trace(Concat(what, " runs step by step, not as a CUDA graph: ", why));
}

} // namespace cntk
