// Parts that all fuzz targets share. A target is a function that gives one input to a parser. An Error is an expected
// answer, except one of kind Internal. Every other exception ends the program, and the fuzzer reports it.
#pragma once

#include "Common/Error.h"
#include "Common/Log.h"
#include "Math/Device.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

template <class ElemType>
class IDataReader;

// Memory that a parser may hold at once for an input of n bytes, unpacked: perByte * n + constant bytes.
struct MemoryLimit
{
    size_t perByte = 0;
    size_t constant = 0;
};

struct FuzzTarget
{
    const char* name;
    void (*run)(std::string_view input);
    MemoryLimit limit;
    // Changes an input of a known structure in place and returns its new size. Null: bytes are changed without
    // knowledge of the format.
    size_t (*mutate)(uint8_t* data, size_t size, size_t maxSize, unsigned seed) = nullptr;
};

// Returns the targets in the order of names; each file of Targets/ defines one list.
std::vector<FuzzTarget> AllFuzzTargets();
std::vector<FuzzTarget> ConfigTargets();
std::vector<FuzzTarget> ModelTargets();
std::vector<FuzzTarget> RecordTargets();
std::vector<FuzzTarget> WordTargets();
std::vector<FuzzTarget> SpeechTargets();
std::vector<FuzzTarget> ImageTargets();
std::vector<FuzzTarget> DecoderTargets();
// Ends the program with a message if there is no target of that name.
const FuzzTarget& RequireFuzzTarget(const std::vector<FuzzTarget>& targets, std::string_view name);

// Runs the target on one input. Ends the program if the target exceeds its memory limit.
void RunFuzzTarget(const FuzzTarget& target, std::string_view input);

// Runs a parser. Ignores Errors, except of kind Internal.
template <class Body>
void Try(Body&& body)
{
    try
    {
        body();
    }
    catch (const Error& error)
    {
        if (error.Kind() == ErrorKind::Internal)
            throw;
        (void)error.Report(); // the excerpt of the source text is code under test, too
    }
}

// Prepares something for a target. An Error is a mistake of the target, so that it ends the program.
template <class Body>
auto Prepare(Body&& body)
{
    try
    {
        return body();
    }
    catch (const Error& error)
    {
        throw std::logic_error("a fuzz target cannot prepare its input: " + error.Report());
    }
}

// Writes the input as a file into a folder in memory and returns its path. The next input replaces the file.
std::string InputPath(const std::string& name, std::string_view content);
// The folder of these files.
const std::string& InputFolder();

// Splits an input that holds several files at lines "====". Returns exactly `count` parts; missing ones are empty.
std::vector<std::string_view> PartsOf(std::string_view input, size_t count);

// A log that nobody reads.
std::unique_ptr<Log> MakeQuietLog();

// A CPU device that refuses more than 64 MiB, because a network description may ask for any amount of memory.
std::shared_ptr<Device> MakeSmallDevice();

// Reads two epochs, at most 200 minibatches each.
void ReadEpochs(IDataReader<float>& reader);

} // namespace cntk
