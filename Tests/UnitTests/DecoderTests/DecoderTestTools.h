// Tools for tests of the decoder: files in a temporary folder, graphs from text, and an enumeration of all paths that
// shares no code with the search.
#pragma once

#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Log.h"
#include "Decoder/DecodeOptions.h"
#include "Decoder/GraphCompiler.h"
#include "Decoder/UtteranceDecoder.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace cntk
{

// Returns the message of the error that the body throws, with its kind: "data: ...".
template <class Body>
std::string DecoderMessageOf(Body&& body)
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

class DecoderTest : public testing::Test
{
protected:
    DecoderTest()
    {
        std::string pattern = (std::filesystem::temp_directory_path() / "DecoderTestsXXXXXX").string();
        m_folder = mkdtemp(pattern.data());
        m_log.RedirectTo(Path("log.txt"));
    }
    ~DecoderTest() override { std::filesystem::remove_all(m_folder); }

    std::string Path(const std::string& name) const { return m_folder + "/" + name; }
    std::string Write(const std::string& name, std::string_view text) const
    {
        std::ofstream(Path(name), std::ios::binary) << text;
        return Path(name);
    }
    std::string LogText() const { return ReadTextFile(Path("log.txt")); }

    // The message of an error without the test's folder.
    template <class Body>
    std::string MessageFor(Body&& body) const
    {
        std::string message = DecoderMessageOf(body);
        for (size_t at = message.find(m_folder + "/"); at != std::string::npos; at = message.find(m_folder + "/"))
            message.erase(at, m_folder.size() + 1);
        return message;
    }

    // Compiles a graph from the files acceptor, transitions, and lookahead and models if they exist.
    void Compile(const std::string& name = "graph.dg")
    {
        DecodeOptions options;
        options.precompile = true;
        options.infsm = Path("acceptor");
        options.transitionFile = Path("transitions");
        options.lookaheadFile = FileExists(Path("lookahead")) ? Path("lookahead") : std::string();
        options.modelMap = FileExists(Path("models")) ? Path("models") : std::string();
        options.graph = Path(name);
        CompileGraph(options, m_log);
    }

    std::string m_folder;
    Log m_log;
};

// The folder of shared data, or nothing.
inline std::string SharedSpeechFolder()
{
    const char* const shared = std::getenv("CNTK_TEST_SHARED");
    const std::string folder = std::string(shared == nullptr ? "../shared" : shared) + "/data/synthspeech/";
    return FileExists(folder + "decoding/README.md") ? folder : std::string();
}

} // namespace cntk
