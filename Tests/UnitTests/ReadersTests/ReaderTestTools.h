// Tools for reader tests: files in a temporary folder, a log in a file, errors as text, whole epochs.
#pragma once

#include "Common/Config/ConfigParameters.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Log.h"
#include "Common/ReaderInterface.h"

#include <cstdlib>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace cntk
{

// Puts each "name=" on a line of its own, so that tests may separate parameters by blanks.
std::string OnLines(const std::string& parameters);
// Removes the folders of quoted paths from a message.
std::string WithoutFolders(const std::string& message);

// Provides a folder for each test and removes it afterwards.
class ReaderTest : public testing::Test
{
protected:
    ReaderTest()
    {
        std::string pattern = (std::filesystem::temp_directory_path() / "ReadersTestsXXXXXX").string();
        m_folder = mkdtemp(pattern.data());
        m_log.RedirectTo(Path("log.txt"));
    }
    ~ReaderTest() override { std::filesystem::remove_all(m_folder); }

    std::string Path(const std::string& name) const { return m_folder + "/" + name; }
    std::string Write(const std::string& name, std::string_view text) const
    {
        std::FILE* file = std::fopen(Path(name).c_str(), "wb");
        std::fwrite(text.data(), 1, text.size(), file);
        std::fclose(file);
        return Path(name);
    }
    std::string LogText() const { return ReadTextFile(Path("log.txt")); }

    // Returns the folder of shared test data; skips the test if there is none.
    static std::string Shared(const std::string& path)
    {
        const char* folder = std::getenv("CNTK_TEST_SHARED");
        return std::string(folder == nullptr ? "../shared" : folder) + "/" + path;
    }

    std::string m_folder;
    Log m_log;
    std::unique_ptr<ConfigParameters> m_config;
};

// Returns the message of the error that the body throws, with its kind: "data: ...".
template <class Body>
std::string MessageOf(Body&& body)
{
    try
    {
        body();
    }
    catch (const Error& error)
    {
        return std::string(NameOf(error.Kind())) + ": " + error.Message();
    }
    return "no error";
}

inline EpochRequest MakeRequest(size_t epoch, size_t minibatchSize, size_t epochSize = c_wholeDataSet)
{
    EpochRequest request;
    request.epoch = epoch;
    request.minibatchSize = minibatchSize;
    request.epochSize = epochSize;
    return request;
}

// A request for writing, and for averages.
inline EpochRequest MakeRequestOnce(size_t minibatchSize)
{
    EpochRequest request = MakeRequest(0, minibatchSize);
    request.eachOnce = true;
    return request;
}

// The rand() of Windows, on which some of the recorded minibatches were made.
class WindowsRand
{
public:
    explicit WindowsRand(uint32_t seed) : m_state(seed) {}
    size_t Draw(size_t begin, size_t end)
    {
        const uint32_t first = Next();
        const uint32_t second = Next();
        return begin + size_t(uint64_t(int64_t(int32_t(first * 32767u + second))) % (end - begin));
    }

private:
    uint32_t Next()
    {
        m_state = m_state * 214013u + 2531011u;
        return (m_state >> 16) & 0x7FFFu;
    }
    uint32_t m_state;
};

// One delivered sample: the dense values of stream 0, and the class ids or values of stream 1.
struct Sample
{
    std::vector<double> features;
    std::vector<double> labels;
    bool operator==(const Sample&) const = default;
};

// Reads one epoch; sizes gets the minibatch sizes.
template <class ElemType>
std::vector<Sample> ReadEpoch(IDataReader<ElemType>& reader, const EpochRequest& request,
                              std::vector<size_t>* sizes = nullptr)
{
    std::vector<Sample> samples;
    HostMinibatch<ElemType> minibatch;
    reader.StartEpoch(request);
    while (reader.GetMinibatch(minibatch))
    {
        const StreamBatch<ElemType>& first = minibatch.streams.at(0);
        EXPECT_EQ(first.layout->ActualSamples(), first.columns);
        EXPECT_TRUE(first.layout->IsFrameMode());
        EXPECT_EQ(first.values.size(), first.rows * first.columns);
        if (sizes != nullptr)
            sizes->push_back(first.columns);
        for (size_t column = 0; column < first.columns; ++column)
        {
            Sample sample;
            for (size_t row = 0; row < first.rows; ++row)
                sample.features.push_back(double(first.values[column * first.rows + row]));
            if (minibatch.streams.size() > 1)
            {
                const StreamBatch<ElemType>& second = minibatch.streams[1];
                if (second.sparse && second.columns > 0)
                {
                    EXPECT_EQ(second.values.at(column), ElemType(1));
                    EXPECT_EQ(second.columnStarts.at(column), int32_t(column));
                    EXPECT_EQ(second.columnStarts.at(column + 1), int32_t(column + 1));
                    sample.labels.push_back(second.rowIndices.at(column));
                }
                for (size_t row = 0; !second.sparse && row < second.rows; ++row)
                    sample.labels.push_back(double(second.values.at(column * second.rows + row)));
            }
            samples.push_back(std::move(sample));
        }
    }
    return samples;
}

} // namespace cntk
