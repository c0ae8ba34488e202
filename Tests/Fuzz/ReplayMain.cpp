// Runs the fuzz targets without libFuzzer, for builds of any compiler with AddressSanitizer:
//   FuzzReplay TARGET SECONDS FILE|FOLDER...   runs each file, then random changes of the files for SECONDS
//   FuzzReplay --list                          prints the names of all targets
// An input that ends the program is left in the file crash-TARGET of the working directory.
#include "Fuzz/FuzzTarget.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sanitizer/common_interface_defs.h>

namespace
{

std::mt19937 s_random{1};

size_t Below(size_t bound)
{
    return bound == 0 ? 0 : s_random() % bound;
}

std::string s_input; // the input that runs
std::string s_crashPath;

void KeepInput()
{
    std::ofstream(s_crashPath, std::ios::binary) << s_input;
    std::fprintf(stderr, "the input is in %s\n", s_crashPath.c_str());
}

std::vector<std::string> ReadInputs(int count, char** paths)
{
    std::vector<std::filesystem::path> files;
    for (int i = 0; i < count; i++)
    {
        if (!std::filesystem::is_directory(paths[i]))
            files.emplace_back(paths[i]);
        else
            for (const auto& entry : std::filesystem::directory_iterator(paths[i]))
                files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    std::vector<std::string> inputs;
    for (const auto& path : files)
    {
        std::ifstream file(path, std::ios::binary);
        inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    return inputs;
}

} // namespace

// Stands for libFuzzer's function in this program: one to four random changes of bytes.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t maxSize)
{
    for (size_t changes = 1 + Below(4); changes > 0; changes--)
    {
        const size_t at = Below(size);
        switch (Below(6))
        {
        case 0: // one bit
            if (size > 0)
                data[at] ^= uint8_t(1u << Below(8));
            break;
        case 1: // a number of 4 or 8 bytes that is small, large or negative
        {
            const size_t bytes = Below(2) == 0 ? 4 : 8;
            const int64_t numbers[] = {0, 1, -1, 255, 65536, INT32_MAX, int64_t(1) << 40, INT64_MAX};
            if (size >= bytes)
                std::memcpy(data + Below(size - bytes + 1), &numbers[Below(std::size(numbers))], bytes);
            break;
        }
        case 2: // one byte less
            if (size > 1)
                std::memmove(data + at, data + at + 1, --size - at);
            break;
        case 3: // one byte more
            if (size < maxSize)
            {
                std::memmove(data + at + 1, data + at, size - at);
                data[at] = uint8_t(s_random());
                size++;
            }
            break;
        case 4: // a part is repeated
        {
            const size_t from = Below(size);
            const size_t bytes = std::min({Below(64), size - from, maxSize - size});
            const std::vector<uint8_t> part(data + from, data + from + bytes);
            std::memmove(data + at + bytes, data + at, size - at);
            std::copy(part.begin(), part.end(), data + at);
            size += bytes;
            break;
        }
        default: // the end is missing
            if (Below(4) == 0 && size > 1)
                size = 1 + Below(size - 1);
        }
    }
    return size;
}

int main(int argc, char** argv)
{
    const std::vector<cntk::FuzzTarget> targets = cntk::AllFuzzTargets();
    if (argc == 2 && std::string(argv[1]) == "--list")
    {
        for (const cntk::FuzzTarget& target : targets)
            std::puts(target.name);
        return 0;
    }
    if (argc < 4)
    {
        std::fputs("usage: FuzzReplay TARGET SECONDS FILE|FOLDER...\n", stderr);
        return 2;
    }
    const cntk::FuzzTarget& target = cntk::RequireFuzzTarget(targets, argv[1]);
    const std::vector<std::string> inputs = ReadInputs(argc - 3, argv + 3);
    if (inputs.empty())
    {
        std::fputs("there are no inputs\n", stderr);
        return 2;
    }
    s_crashPath = std::string("crash-") + target.name;
    __sanitizer_set_death_callback(KeepInput);
    std::signal(SIGABRT, [](int) { KeepInput(); }); // uncaught exceptions and memory limits
    for (const std::string& input : inputs)
    {
        s_input = input;
        cntk::RunFuzzTarget(target, s_input);
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(std::atof(argv[2]));
    size_t changed = 0;
    for (; std::chrono::steady_clock::now() < end; changed++)
    {
        const std::string& seed = inputs[Below(inputs.size())];
        const size_t most = seed.size() + 1024;
        s_input = seed;
        s_input.resize(most);
        auto* const data = reinterpret_cast<uint8_t*>(s_input.data());
        const bool knowsFormat = target.mutate != nullptr && Below(2) == 0;
        s_input.resize(knowsFormat ? target.mutate(data, seed.size(), most, unsigned(s_random()))
                                   : LLVMFuzzerMutate(data, seed.size(), most));
        cntk::RunFuzzTarget(target, s_input);
    }
    std::printf("%s: %zu files and %zu changed inputs\n", target.name, inputs.size(), changed);
    return 0;
}
