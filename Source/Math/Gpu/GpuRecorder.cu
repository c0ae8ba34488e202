// Graphs are captured from the one stream of all work. Masks and arguments are uploaded in the same stream before the
// graph is launched.
#include "Common/Error.h"
#include "Math/Gpu/GpuRecorder.h"

#include <cstring>
#include <utility>

namespace cntk
{

namespace
{

// Far more than the arguments of a network's update.
constexpr size_t c_mostArgumentsBytes = size_t(63) << 10;
static_assert(c_mostArgumentsBytes < GpuTransfers::c_leastBytes, "arguments are uploaded without allocating memory");
constexpr size_t c_argumentAlignment = 16;

} // namespace

// ---- one graph ------------------------------------------------------------------------------------------------------

GpuRecording::GpuRecording(GpuContext& context)
    : m_context(context), m_memoryChanges(context.MemoryChanges()),
      m_deviceArguments(static_cast<std::byte*>(AllocateLasting(c_mostArgumentsBytes)))
{
}

GpuRecording::~GpuRecording()
{
    m_context.RemoveReserve(*this);
    FreeMemory();
}

// Launched work may still use the memory; its next owner comes later in the same stream.
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

// Not from the scratch memory, which the graph overwrites.
void* GpuRecording::AllocateLasting(size_t bytes)
{
    m_lasting.reserve(m_lasting.size() + 1);
    void* const memory = m_context.Memory().AllocateOutsideScratch(bytes);
    m_lasting.push_back(memory);
    return memory;
}

const uint8_t* GpuRecording::MaskOnDevice(std::span<const uint8_t> mask, const GpuMasks& known)
{
    for (const GpuMasks::Mask& own : m_masks)
        if (GpuMasks::Holds(own, mask))
            return own.onDevice + (mask.data() - own.host);
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
    added.onDevice = static_cast<uint8_t*>(AllocateLasting(added.room));
    m_masks.push_back(std::move(added));
    return m_masks.back().onDevice + (mask.data() - m_masks.back().host);
}

const void* GpuRecording::TakeArgument(const void* argument, size_t bytes, bool repeats)
{
    const size_t begin = (m_argumentBytes + c_argumentAlignment - 1) / c_argumentAlignment * c_argumentAlignment;
    m_argumentBytes = begin + bytes;
    if (repeats)
    {
        m_fits = m_fits && m_argumentBytes <= m_arguments.size();
        if (m_fits)
            std::memcpy(m_arguments.data() + begin, argument, bytes);
        return nullptr;
    }
    if (m_argumentBytes > c_mostArgumentsBytes)
        m_context.NoteObstacle("too many of its arguments change");
    m_arguments.resize(m_argumentBytes);
    std::memcpy(m_arguments.data() + begin, argument, bytes);
    return m_deviceArguments + begin;
}

void GpuRecording::BeginArguments()
{
    m_argumentBytes = 0;
    m_fits = true;
}

void GpuRecording::Finish(GpuGraph graph)
{
    m_graph = graph;
    for (const GpuMasks::Mask& mask : m_masks)
        m_context.Upload(mask.onDevice, mask.copy.data(), mask.copy.size());
    m_context.AddReserve(*this);
    Launch();
}

void GpuRecording::Launch()
{
    m_context.Upload(m_deviceArguments, m_arguments.data(), m_arguments.size());
    m_context.Runtime().Launch(m_graph, m_context.Stream());
}

// ---- capture --------------------------------------------------------------------------------------------------------

bool GpuRecorder::Begin()
{
    if (m_recording != nullptr || m_repeated != nullptr)
        Fail(ErrorKind::Internal, "a CUDA graph is captured within another capture");
    m_problem = nullptr;
    try
    {
        m_recording = std::make_unique<GpuRecording>(m_context);
        m_context.Runtime().BeginCapture(m_context.Stream());
    }
    catch (const Error&)
    {
        m_recording.reset();
        m_problem = "CUDA refuses to capture it";
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
    m_problem = "CUDA cannot make a graph of it";
    if (graph == nullptr)
        return nullptr;
    if (recording->MemoryChanges() != m_context.MemoryChanges())
    {
        m_context.Runtime().FreeGraph(graph);
        m_problem = "memory was freed meanwhile";
        return nullptr;
    }
    try
    {
        recording->Finish(graph);
    }
    catch (const Error&)
    {
        m_problem = "CUDA cannot launch the graph";
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

// ---- later launches -------------------------------------------------------------------------------------------------

bool GpuRecorder::IsValid(const RecordedWork& work) const
{
    return static_cast<const GpuRecording&>(work).MemoryChanges() == m_context.MemoryChanges();
}

void GpuRecorder::BeginRepeat(RecordedWork& work)
{
    m_repeated = &static_cast<GpuRecording&>(work);
    m_repeated->BeginArguments();
    m_context.BeginRepeat(*m_repeated);
}

bool GpuRecorder::EndRepeat()
{
    GpuRecording& work = *std::exchange(m_repeated, nullptr);
    m_context.EndRepeat();
    if (!work.HasAllArguments() || !IsValid(work))
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
