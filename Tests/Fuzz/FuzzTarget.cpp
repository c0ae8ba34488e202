// Files, limits of memory and devices for the fuzz targets.
#include "Fuzz/FuzzTarget.h"

#include "Common/Gzip.h"
#include "Common/ReaderInterface.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sanitizer/common_interface_defs.h>
#include <unistd.h>

// g++ has these functions of sanitizer/allocator_interface.h, but not the header.
extern "C"
{
    int __sanitizer_install_malloc_and_free_hooks(void (*mallocHook)(const volatile void*, size_t),
                                                  void (*freeHook)(const volatile void*));
    size_t __sanitizer_get_allocated_size(const volatile void* memory);
}

namespace cntk
{

namespace
{

// Bytes that were allocated since the target began and are not freed yet.
std::atomic<int64_t> s_liveBytes{0};
std::atomic<int64_t> s_mostLiveBytes{INT64_MAX};

void CountAllocation(const volatile void* /*memory*/, size_t bytes)
{
    const int64_t live = s_liveBytes.fetch_add(int64_t(bytes)) + int64_t(bytes);
    const int64_t most = s_mostLiveBytes;
    if (live <= most)
        return;
    s_mostLiveBytes = INT64_MAX; // the report allocates memory, too
    std::fprintf(stderr, "MEMORY LIMIT: the parser holds %lld bytes, more than the %lld allowed for this input\n",
                 static_cast<long long>(live), static_cast<long long>(most));
    __sanitizer_print_stack_trace();
    std::abort();
}

void CountFree(const volatile void* memory)
{
    if (memory != nullptr)
        s_liveBytes -= int64_t(__sanitizer_get_allocated_size(memory));
}

class InputFiles
{
public:
    InputFiles()
    {
        std::string pattern = (FileSystemInMemory() / "cntk-fuzz-XXXXXX").string();
        m_folder = mkdtemp(pattern.data());
    }
    ~InputFiles()
    {
        std::error_code ignored;
        std::filesystem::remove_all(m_folder, ignored);
    }
    const std::string& Folder() const { return m_folder; }

private:
    static std::filesystem::path FileSystemInMemory()
    {
        const std::filesystem::path memory = "/dev/shm";
        return access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
    }
    std::string m_folder;
};

// Counts the bytes of another device.
class SmallDevice final : public Device
{
public:
    SmallDevice() : m_device(MakeCpuDevice({.threads = 1, .matrixEngine = MatrixEngine::Own})) {}

    DeviceId Id() const override { return m_device->Id(); }
    std::string Describe() const override { return m_device->Describe(); }
    Kernels& GetKernels() override { return m_device->GetKernels(); }
    void* Allocate(size_t bytes) override
    {
        if (bytes > c_mostBytes - std::min(m_bytes, c_mostBytes))
            throw OutOfMemory("the device of the fuzz targets has 64 MiB", c_mostBytes);
        void* const memory = m_device->Allocate(bytes);
        m_bytes += bytes; // memory is never given back to the limit: a device serves one input
        return memory;
    }
    void Free(void* memory) noexcept override { m_device->Free(memory); }
    void CopyFromHost(void* destination, const void* host, size_t bytes) override
    {
        m_device->CopyFromHost(destination, host, bytes);
    }
    void CopyToHost(void* host, const void* source, size_t bytes) override
    {
        m_device->CopyToHost(host, source, bytes);
    }
    void Copy(void* destination, const void* source, size_t bytes) override
    {
        m_device->Copy(destination, source, bytes);
    }
    void Zero(void* destination, size_t bytes) override { m_device->Zero(destination, bytes); }
    void Synchronize() override { m_device->Synchronize(); }
    bool IsHostMemory() const override { return true; }

private:
    static constexpr size_t c_mostBytes = size_t(64) << 20;

    std::shared_ptr<Device> m_device;
    size_t m_bytes = 0;
};

// Counts the texts that gzip has compressed with their own bytes.
size_t BytesOf(std::string_view input)
{
    constexpr size_t c_mostParts = 8, c_deflate = 1032;
    size_t bytes = input.size();
    for (const std::string_view part : PartsOf(input, c_mostParts))
    {
        if (!IsGzip(part))
            continue;
        size_t unpacked = c_deflate * part.size();
        Try([&] { unpacked = Gunzip(part, "part of the input").size(); });
        bytes += unpacked;
    }
    return bytes;
}

} // namespace

std::vector<FuzzTarget> AllFuzzTargets()
{
    std::vector<FuzzTarget> all;
    for (const auto& list : {ConfigTargets(), ModelTargets(), RecordTargets(), WordTargets(), SpeechTargets(),
                             ImageTargets(), DecoderTargets()})
        all.insert(all.end(), list.begin(), list.end());
    return all;
}

const FuzzTarget& RequireFuzzTarget(const std::vector<FuzzTarget>& targets, std::string_view name)
{
    for (const FuzzTarget& target : targets)
        if (target.name == name)
            return target;
    std::fprintf(stderr, "there is no fuzz target '%.*s'\n", int(name.size()), name.data());
    std::exit(2);
}

void RunFuzzTarget(const FuzzTarget& target, std::string_view input)
{
    static const int installed = __sanitizer_install_malloc_and_free_hooks(CountAllocation, CountFree);
    if (installed == 0)
        std::abort();
    s_liveBytes = 0;
    s_mostLiveBytes = int64_t(target.limit.perByte * BytesOf(input) + target.limit.constant);
    Try([&] { target.run(input); });
    s_mostLiveBytes = INT64_MAX;
}

const std::string& InputFolder()
{
    static const InputFiles files;
    return files.Folder();
}

std::string InputPath(const std::string& name, std::string_view content)
{
    std::string path = InputFolder() + "/" + name;
    std::FILE* const file = std::fopen(path.c_str(), "wb");
    if (file == nullptr || std::fwrite(content.data(), 1, content.size(), file) != content.size() ||
        std::fclose(file) != 0)
    {
        std::perror(path.c_str());
        std::exit(2);
    }
    return path;
}

std::vector<std::string_view> PartsOf(std::string_view input, size_t count)
{
    constexpr std::string_view separator = "\n====\n";
    std::vector<std::string_view> parts;
    while (parts.size() + 1 < count)
    {
        const size_t end = std::min(input.find(separator), input.size());
        parts.push_back(input.substr(0, end));
        input.remove_prefix(std::min(end + separator.size(), input.size()));
    }
    parts.push_back(input);
    return parts;
}

std::unique_ptr<Log> MakeQuietLog()
{
    auto log = std::make_unique<Log>();
    log->RedirectTo("/dev/null");
    return log;
}

std::shared_ptr<Device> MakeSmallDevice()
{
    return std::make_shared<SmallDevice>();
}

void ReadEpochs(IDataReader<float>& reader)
{
    constexpr size_t most = 200;
    HostMinibatch<float> minibatch;
    for (size_t epoch = 0; epoch < 2; epoch++)
    {
        EpochRequest request;
        request.epoch = epoch;
        request.minibatchSize = 3;
        reader.StartEpoch(request);
        for (size_t i = 0; i < most && reader.GetMinibatch(minibatch); i++)
            continue;
    }
    (void)reader.TotalSamples();
}

} // namespace cntk
