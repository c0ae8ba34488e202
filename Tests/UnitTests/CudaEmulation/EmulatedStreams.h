// Streams, events and graphs with no more guarantees than CUDA gives. Queued work runs as late or as early as allowed,
// so that host code that forgets to wait gets wrong values or an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace CudaEmulation
{

// When queued work runs. CUDA allows all of these.
enum class WorkOrder : uint8_t
{
    Eager,     // as early as possible
    Late,      // when something waits for it
    FirstLate, // the first stream late, the others early
    FirstEager // the first stream early, the others late
};
inline constexpr WorkOrder c_workOrders[] = {WorkOrder::Eager, WorkOrder::Late, WorkOrder::FirstLate,
                                             WorkOrder::FirstEager};

// Calls so far. The kernels of a launched graph count as one graph launch.
struct WorkCounts
{
    size_t kernels = 0;    // including products
    size_t copies = 0;     // including cleared memory
    size_t hostWaits = 0;  // of the host for a stream
    size_t eventWaits = 0; // of the host for an event
    size_t captures = 0;
    size_t graphLaunches = 0;
    size_t streamWaits = 0;
};

enum class WorkKind : uint8_t
{
    Kernel,
    Copy
};

class Stream;
struct Event;
struct Graph;

// The streams of one device. Calls that CUDA refuses are errors of kind Device.
class Scheduler
{
public:
    explicit Scheduler(WorkOrder order);
    ~Scheduler();
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;

    Stream* MakeStream();
    void FreeStream(Stream* stream);
    Event* MakeEvent();
    void FreeEvent(Event* event);

    void Enqueue(Stream& stream, WorkKind kind, std::function<void()> work);
    void Record(Event& event, Stream& stream);
    // Later work of the stream waits for the work before the event's last record.
    void WaitFor(Stream& stream, Event& event);
    // The host waits.
    void Synchronize(Stream& stream);
    void Synchronize(Event& event);
    // The host waits for all streams.
    void SynchronizeAll();

    // ---- capture, in relaxed mode ----
    void BeginCapture(Stream& stream);
    // Null if the capture was invalidated.
    Graph* EndCapture(Stream& stream);
    void Launch(Graph& graph, Stream& stream);
    void FreeGraph(Graph* graph);

    const WorkCounts& Counts() const { return m_counts; }

private:
    void RunNext(Stream& stream);
    void RunUntil(Stream& stream, uint64_t position);
    void RunEager();
    bool RunsEagerly(const Stream& stream) const;
    [[noreturn]] static void RefuseInCapture(Stream& stream, const char* what);

    WorkOrder m_order;
    WorkCounts m_counts;
    std::vector<std::unique_ptr<Stream>> m_streams;
    std::vector<std::unique_ptr<Event>> m_events;
    std::vector<std::unique_ptr<Graph>> m_graphs;
};

// Queues work in a cudaStream_t. Work of the default stream (null) runs at once.
void Enqueue(void* stream, WorkKind kind, std::function<void()> work);

} // namespace CudaEmulation
