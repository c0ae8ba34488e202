// Each stream has a queue. A task waits for at most one mark, which is older than the task, so that running a task and
// everything it waits for always ends.
#include "CudaEmulation/EmulatedStreams.h"

#include "Common/Error.h"
#include "CudaEmulation/CudaEmulation.h"

#include <algorithm>

namespace CudaEmulation
{

struct Capture
{
    std::vector<std::function<void()>> work;
    bool isValid = true;
};

// A point in a stream at which an event was recorded.
struct Mark
{
    Stream* stream = nullptr;
    uint64_t position = 0; // number of earlier tasks of the stream
    bool isDone = false;
    const Capture* capture = nullptr; // the capture that contains the record, if any
};

struct Task
{
    std::function<void()> work;        // may be empty
    std::shared_ptr<const Mark> after; // waits for this mark unless null
    std::shared_ptr<Mark> marks;       // done with this task unless null
};

struct Event
{
    std::shared_ptr<Mark> last; // null: never recorded
};

// Captured work, with its arguments.
struct Graph
{
    std::shared_ptr<const std::vector<std::function<void()>>> work;
};

class Stream
{
public:
    Scheduler* scheduler = nullptr;
    std::deque<Task> queue;
    uint64_t added = 0;
    uint64_t ran = 0;
    std::unique_ptr<Capture> capture; // null: not capturing
};

namespace
{

[[noreturn]] void Refuse(const char* what)
{
    cntk::Fail(cntk::ErrorKind::Device, "the GPU refuses: ", what);
}

template <class T>
void EraseFrom(std::vector<std::unique_ptr<T>>& all, const T* one)
{
    std::erase_if(all, [one](const std::unique_ptr<T>& other) { return other.get() == one; });
}

} // namespace

Scheduler::Scheduler(WorkOrder order) : m_order(order) {}

Scheduler::~Scheduler() = default;

// ---- streams and events ---------------------------------------------------------------------------------------------

Stream* Scheduler::MakeStream()
{
    Stream& stream = *m_streams.emplace_back(std::make_unique<Stream>());
    stream.scheduler = this;
    return &stream;
}

// CUDA finishes the work of a destroyed stream at some time.
void Scheduler::FreeStream(Stream* stream)
{
    RunUntil(*stream, stream->added);
    EraseFrom(m_streams, stream);
}

Event* Scheduler::MakeEvent()
{
    return m_events.emplace_back(std::make_unique<Event>()).get();
}

void Scheduler::FreeEvent(Event* event)
{
    EraseFrom(m_events, event);
}

// ---- work -----------------------------------------------------------------------------------------------------------

bool Scheduler::RunsEagerly(const Stream& stream) const
{
    const bool isFirst = m_streams.front().get() == &stream;
    return m_order == WorkOrder::Eager || (m_order == WorkOrder::FirstLate && !isFirst) ||
           (m_order == WorkOrder::FirstEager && isFirst);
}

void Scheduler::RunNext(Stream& stream)
{
    Task task = std::move(stream.queue.front());
    stream.queue.pop_front();
    ++stream.ran;
    if (task.after && !task.after->isDone)
        RunUntil(*task.after->stream, task.after->position);
    if (task.work)
        task.work();
    if (task.marks)
        task.marks->isDone = true;
}

void Scheduler::RunUntil(Stream& stream, uint64_t position)
{
    const DeviceAccess access;
    while (stream.ran < position)
        RunNext(stream);
}

// Repeats until no stream can run: work of one stream may unblock another one.
void Scheduler::RunEager()
{
    const DeviceAccess access;
    for (bool hasRun = true; hasRun;)
    {
        hasRun = false;
        for (const auto& stream : m_streams)
            while (RunsEagerly(*stream) && !stream->queue.empty() &&
                   (!stream->queue.front().after || stream->queue.front().after->isDone))
            {
                RunNext(*stream);
                hasRun = true;
            }
    }
}

void Scheduler::Enqueue(Stream& stream, WorkKind kind, std::function<void()> work)
{
    if (stream.capture)
    {
        if (!stream.capture->isValid)
            Refuse("operation failed due to a previous error during capture");
        stream.capture->work.push_back(std::move(work));
        return;
    }
    ++(kind == WorkKind::Kernel ? m_counts.kernels : m_counts.copies);
    stream.queue.push_back({std::move(work), nullptr, nullptr});
    ++stream.added;
    RunEager();
}

void Scheduler::Record(Event& event, Stream& stream)
{
    auto mark = std::make_shared<Mark>();
    mark->stream = &stream;
    event.last = mark;
    if (stream.capture)
    {
        mark->capture = stream.capture.get();
        return;
    }
    stream.queue.push_back({{}, nullptr, mark});
    mark->position = ++stream.added;
    RunEager();
}

void Scheduler::WaitFor(Stream& stream, Event& event)
{
    if (!event.last)
        return;
    const Capture* const capture = stream.capture.get();
    if (event.last->capture != capture)
    {
        // CUDA would add this stream to the capture, which the backend does not use.
        if (capture == nullptr)
            Refuse("a stream that waits for another one's capture is not emulated");
        RefuseInCapture(stream, "dependency created on uncaptured work in another stream");
    }
    if (capture != nullptr)
        return;
    ++m_counts.streamWaits;
    stream.queue.push_back({{}, event.last, nullptr});
    ++stream.added;
    RunEager();
}

void Scheduler::RefuseInCapture(Stream& stream, const char* what)
{
    stream.capture->isValid = false;
    Refuse(what);
}

void Scheduler::Synchronize(Stream& stream)
{
    if (stream.capture)
        RefuseInCapture(stream, "operation not permitted when stream is capturing");
    ++m_counts.hostWaits;
    RunUntil(stream, stream.added);
    RunEager();
}

void Scheduler::Synchronize(Event& event)
{
    if (!event.last)
        return;
    if (event.last->capture != nullptr)
        Refuse("operation not permitted on an event last recorded in a capturing stream");
    ++m_counts.eventWaits;
    if (event.last->isDone)
        return;
    RunUntil(*event.last->stream, event.last->position);
    RunEager();
}

void Scheduler::SynchronizeAll()
{
    for (const auto& stream : m_streams)
        if (stream->capture)
            RefuseInCapture(*stream, "operation not permitted when stream is capturing");
    for (const auto& stream : m_streams)
        RunUntil(*stream, stream->added);
    RunEager();
}

// ---- graphs ---------------------------------------------------------------------------------------------------------

void Scheduler::BeginCapture(Stream& stream)
{
    if (stream.capture)
        Refuse("operation not permitted when stream is capturing");
    ++m_counts.captures;
    stream.capture = std::make_unique<Capture>();
}

Graph* Scheduler::EndCapture(Stream& stream)
{
    if (!stream.capture)
        Refuse("the stream is not capturing");
    const std::unique_ptr<Capture> capture = std::move(stream.capture);
    if (!capture->isValid)
        return nullptr;
    Graph& graph = *m_graphs.emplace_back(std::make_unique<Graph>());
    graph.work = std::make_shared<const std::vector<std::function<void()>>>(std::move(capture->work));
    return &graph;
}

void Scheduler::Launch(Graph& graph, Stream& stream)
{
    if (stream.capture)
        RefuseInCapture(stream, "graphs in graphs are not emulated");
    ++m_counts.graphLaunches;
    stream.queue.push_back({[work = graph.work]
                            {
                                for (const std::function<void()>& task : *work)
                                    task();
                            },
                            nullptr, nullptr});
    ++stream.added;
    RunEager();
}

void Scheduler::FreeGraph(Graph* graph)
{
    EraseFrom(m_graphs, graph);
}

void Enqueue(void* stream, WorkKind kind, std::function<void()> work)
{
    if (stream == nullptr)
    {
        const DeviceAccess access;
        return work();
    }
    Stream& queue = *static_cast<Stream*>(stream);
    queue.scheduler->Enqueue(queue, kind, std::move(work));
}

} // namespace CudaEmulation
