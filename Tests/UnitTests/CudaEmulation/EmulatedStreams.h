// Streams, events and graphs as CUDA promises them, and no more: work is queued and runs when it must, or as soon as it
// may, so that host code that forgets to wait gets wrong numbers or an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace CudaEmulation
{

// When queued work runs. CUDA allows each of these.
enum class WorkOrder : uint8_t
{
    Eager,     // as soon as it may
    Late,      // when somebody waits for it
    FirstLate, // the first stream late, the others as soon as they may
    FirstEager // the first stream as soon as it may, the others late
};
inline constexpr WorkOrder c_workOrders[] = {WorkOrder::Eager, WorkOrder::Late, WorkOrder::FirstLate,
                                             WorkOrder::FirstEager};

// What was asked of a device so far. Kernels in graphs that are launched count as one launch of a graph.
struct WorkCounts
{
    size_t kernels = 0;    // and products
    size_t copies = 0;     // and memory cleared
    size_t hostWaits = 0;  // the host waited for a stream
    size_t eventWaits = 0; // or for an event
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

// The streams of one device. What CUDA refuses is an Error of kind Device.
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
    // The stream's later work waits for the work before the event's last record.
    void WaitFor(Stream& stream, Event& event);
    // The host waits.
    void Synchronize(Stream& stream);
    void Synchronize(Event& event);
    // The host waits for all streams.
    void SynchronizeAll();

    // ---- capture, in relaxed mode ----
    void BeginCapture(Stream& stream);
    // Null where the capture was invalidated.
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

// For what is written against a cudaStream_t. Null, the default stream, runs at once: no stream of ours waits for it.
void Enqueue(void* stream, WorkKind kind, std::function<void()> work);

} // namespace CudaEmulation
