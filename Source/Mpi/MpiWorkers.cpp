// Workers that communicate through MPI.
#include "Common/Error.h"
#include "Common/Workers.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mpi.h>
#include <thread>
#include <vector>

namespace cntk
{

namespace
{

constexpr size_t c_mostBytesAtOnce = size_t(1) << 30; // MPI counts in int
constexpr int c_tag = 1;

class MpiWorkers final : public Workers
{
public:
    // isFirst: this object finalizes MPI for the process.
    MpiWorkers(MPI_Comm comm, bool isFirst) : m_comm(comm), m_isFirst(isFirst)
    {
        MPI_Comm_rank(m_comm, &m_rank);
        MPI_Comm_size(m_comm, &m_count);
        MPI_Comm machine = MPI_COMM_NULL;
        MPI_Comm_split_type(m_comm, MPI_COMM_TYPE_SHARED, m_rank, MPI_INFO_NULL, &machine);
        MPI_Comm_size(machine, &m_onThisMachine);
        MPI_Comm_free(&machine);
    }
    // Errors do not reach this point: Abort ends the other workers.
    ~MpiWorkers() override
    {
        if (m_isFirst)
            MPI_Finalize();
        else
            MPI_Comm_free(&m_comm);
    }

    size_t Rank() const override { return size_t(m_rank); }
    size_t Count() const override { return size_t(m_count); }
    size_t CountOnThisMachine() const override { return size_t(m_onThisMachine); }

    std::string Describe() const override
    {
        char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
        int length = 0;
        MPI_Get_library_version(version, &length);
        const std::string text(version, size_t(length));
        return text.substr(0, text.find_first_of(",\n"));
    }

    void Exchange(std::span<const std::span<const std::byte>> sent,
                  std::span<const std::span<std::byte>> received) override
    {
        m_requests.clear();
        for (int i = 0; i < m_count; ++i)
            if (i != m_rank)
                InPieces(
                    received[size_t(i)].size(), [&](size_t begin, int size)
                    { MPI_Irecv(received[size_t(i)].data() + begin, size, MPI_BYTE, i, c_tag, m_comm, NewRequest()); });
        // Each worker begins with the next rank, so that the workers do not all send to the same one.
        for (int step = 1; step < m_count; ++step)
        {
            const int i = (m_rank + step) % m_count;
            InPieces(sent[size_t(i)].size(), [&](size_t begin, int size)
                     { MPI_Isend(sent[size_t(i)].data() + begin, size, MPI_BYTE, i, c_tag, m_comm, NewRequest()); });
        }
        MPI_Waitall(int(m_requests.size()), m_requests.data(), MPI_STATUSES_IGNORE);
    }

    // Waits without keeping a core busy, unlike MPI's barrier: the first worker may take long to write a model or to
    // run a test.
    void Wait() override
    {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Ibarrier(m_comm, &request);
        int haveAllCome = 0;
        for (int i = 0; haveAllCome == 0; ++i)
        {
            MPI_Test(&request, &haveAllCome, MPI_STATUS_IGNORE);
            if (haveAllCome == 0 && i > 1000)
                std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
    }

    std::unique_ptr<Workers> Another() override
    {
        int provided = 0;
        MPI_Query_thread(&provided);
        if (provided < MPI_THREAD_MULTIPLE)
            Fail(ErrorKind::Device, "this MPI does not support several threads, which "
                                    "useBufferedAsyncGradientAggregation needs; leave that option out");
        MPI_Comm copy = MPI_COMM_NULL;
        MPI_Comm_dup(m_comm, &copy);
        return std::make_unique<MpiWorkers>(copy, false);
    }

    [[noreturn]] void Abort(int exitCode) override
    {
        MPI_Abort(MPI_COMM_WORLD, exitCode);
        std::abort(); // MPI_Abort does not return
    }

private:
    template <class Piece>
    static void InPieces(size_t bytes, const Piece& piece)
    {
        for (size_t begin = 0; begin < bytes; begin += c_mostBytesAtOnce)
            piece(begin, int(std::min(c_mostBytesAtOnce, bytes - begin)));
    }

    MPI_Request* NewRequest()
    {
        m_requests.push_back(MPI_REQUEST_NULL);
        return &m_requests.back();
    }

    MPI_Comm m_comm;
    bool m_isFirst;
    int m_rank = 0;
    int m_count = 1;
    int m_onThisMachine = 1;
    std::vector<MPI_Request> m_requests;
};

} // namespace

extern "C" __attribute__((visibility("default"))) Workers* CntkMeetWorkers(int interface, std::string* problem)
{
    if (interface != c_workersInterface)
    {
        *problem = "the library was built for another version of the program";
        return nullptr;
    }
    int provided = 0;
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS)
    {
        *problem = "MPI does not start";
        return nullptr;
    }
    return new MpiWorkers(MPI_COMM_WORLD, true);
}

} // namespace cntk
