// The plugin loader with the plugins of Tests/UnitTests/TestPlugins: successes and error messages.
#include "Common/CompositeReader.h"
#include "Common/Config/ConfigParameters.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Interruption.h"
#include "Common/Log.h"
#include "Common/PluginLoader.h"
#include "Common/ReaderInterface.h"
#include "CommonTests/TemporaryFolder.h"
#include "CommonTests/ThrownErrors.h"

#include <csignal>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace cntk
{
namespace
{

class PluginLoaderTests : public testing::Test
{
protected:
    PluginLoaderTests()
    {
        m_folder = (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "plugins").string();
        m_search.programFolders = {m_folder};
    }

    std::string MessageOf(const std::string& type, ErrorKind kind)
    {
        return cntk::MessageOf(kind, [&] { PluginLibrary::Open(type, m_search); });
    }

    std::string m_folder;
    PluginSearch m_search;
    const std::string m_existing = "readers that exist: EchoReader, ForeignReader, LonelyReader, OldReader";
};

TEST_F(PluginLoaderTests, OpensAndReads)
{
    const auto config = ConfigParameters::Parse("reader=[readerType=EchoReader]");
    Log log;
    const ReaderContext context{*config, log};
    std::unique_ptr<IDataReader<double>> reader;
    {
        const PluginLibrary library = PluginLibrary::Open("EchoReader", m_search);
        EXPECT_EQ(library.Path(), m_folder + "/EchoReader.so");
        reader = library.MakeReader<double>(context);
    }
    ASSERT_EQ(reader->Streams().size(), 1u);
    reader->StartEpoch({});
    HostMinibatch<double> minibatch;
    EXPECT_TRUE(reader->GetMinibatch(minibatch));
    EXPECT_EQ(minibatch.streams[0].values[0], 2.0);
    EXPECT_TRUE(reader->GetMinibatch(minibatch));
    EXPECT_FALSE(reader->GetMinibatch(minibatch));
}

TEST_F(PluginLoaderTests, TheFirstFolderThatHasALibraryCounts)
{
    const TemporaryFolder first, second;
    first.Write("libb.so", "");
    second.Write("liba.so", "");
    second.Write("libb.so", "");
    PluginSearch search;
    search.programFolders = {"none", first.Path()};
    search.libraryPath = {second.Path()};
    EXPECT_EQ(search.Folders(), (std::vector<std::string>{"none", first.Path(), second.Path()}));
    EXPECT_EQ(FindLibrary(search.Folders(), "liba.so"), second / "liba.so");
    EXPECT_EQ(FindLibrary(search.Folders(), "libb.so"), first / "libb.so");
    EXPECT_EQ(FindLibrary(search.Folders(), "libc.so"), std::nullopt);
}

TEST_F(PluginLoaderTests, ASignalTakesTheTemporaryFilesOfPluginsAlong)
{
    const TemporaryFolder folder;
    const std::string path = folder / "begun";
    const pid_t child = ::fork();
    if (child == 0)
    {
        InstallSignalHandlers();
        const auto config = ConfigParameters::Parse("file=" + path);
        Log log;
        const auto reader = PluginLibrary::Open(m_folder + "/../filing/FilingReader.so", m_search)
                                .MakeReader<float>(ReaderContext{*config, log});
        if (!FileExists(path + ".tmp"))
            ::_exit(2);
        ::raise(SIGTERM);
        ::_exit(1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << status;
    EXPECT_FALSE(FileExists(path + ".tmp"));
}

TEST_F(PluginLoaderTests, NameInAnyCaseAndPaths)
{
    EXPECT_EQ(PluginLibrary::Open("echoreader", m_search).Name(), "EchoReader");
    EXPECT_EQ(PluginLibrary::Open(m_folder + "/EchoReader.so", {}).Name(), "EchoReader");
    EXPECT_EQ(PluginLibrary::Open(m_folder + "/EchoReader", {}).Name(), "EchoReader");
}

TEST_F(PluginLoaderTests, NoSuchReaderNamesTheNearestAndTheFolders)
{
    EXPECT_EQ(MessageOf("EcoReader", ErrorKind::Config),
              "there is no reader or writer 'EcoReader'; folders searched for 'EcoReader.so': " + m_folder +
                  ", the system's library folders; " + m_existing + "; did you mean 'EchoReader'?");
}

// Libraries of these names in an earlier folder hide the installed ones.
TEST_F(PluginLoaderTests, AliasesLookForTheReadersLibrary)
{
    const TemporaryFolder folder;
    for (const std::string reader : {"HTKMLFReader", "BinaryReader", "LMSequenceReader", "LUSequenceReader"})
    {
        const std::string library = folder / (reader + ".so");
        std::filesystem::copy_file(m_folder + "/EchoReader.so", library);
        const std::string writer = reader.substr(0, reader.size() - std::string("Reader").size()) + "Writer";
        EXPECT_EQ(PluginLibrary::Open(writer, {{folder.Path()}, {}}).Path(), library);
    }
    EXPECT_EQ(PluginLibrary::Open("experimentalHTKMLFReader", {{folder.Path()}, {}}).Path(),
              folder / "HTKMLFReader.so");
}

TEST_F(PluginLoaderTests, MissingLibraryOfAPluginGivesTheLoadersReason)
{
    EXPECT_EQ(
        MessageOf("LonelyReader", ErrorKind::Device),
        "plugin 'LonelyReader' exists, but it does not load: libCntkTestAbsent.so: cannot open shared object file: "
        "No such file or directory; file: " +
            m_folder + "/LonelyReader.so; folders searched: " + m_folder + ", the system's library folders; " +
            m_existing);
}

TEST_F(PluginLoaderTests, OtherInterfaceVersion)
{
    EXPECT_EQ(MessageOf("OldReader", ErrorKind::Device),
              "'" + m_folder +
                  "/OldReader.so' cannot be used as a reader or writer: it was built for version 4711 of the plugin "
                  "interface, this program has version " +
                  std::to_string(c_pluginAbi) + "; build both from the same sources");
}

TEST_F(PluginLoaderTests, LibraryThatIsNoPlugin)
{
    EXPECT_EQ(
        MessageOf("ForeignReader", ErrorKind::Device),
        "'" + m_folder +
            "/ForeignReader.so' cannot be used as a reader or writer: it is no plugin of this program: it does not "
            "export 'CntkPluginAbi'");
}

TEST_F(PluginLoaderTests, PathThatDoesNotExist)
{
    EXPECT_THAT(MessageOf(m_folder + "/Echo.so", ErrorKind::Config),
                testing::StartsWith("plugin file '" + m_folder + "/Echo.so' does not exist"));
    EXPECT_THAT(MessageOf(" ", ErrorKind::Config),
                testing::StartsWith("the reader type is empty; readers that exist: "));
}

TEST_F(PluginLoaderTests, ReadersSideBySideAreBlocksOfThisBlock)
{
    const auto messageOf = [](const std::string& text)
    {
        const auto config = ConfigParameters::Parse(text, "exp.cntk");
        Log log;
        try
        {
            LoadReader<float>(c_defaultReaderType, {config->RequireBlock("reader"), log});
        }
        catch (const Error& error)
        {
            return error.Where().Location() + ": " + error.Message();
        }
        return std::string("no error");
    };
    EXPECT_EQ(messageOf("reader=[\nreaders=a\na=[\nreaders=a\nfile=x\n]\n]"),
              "exp.cntk:4:9: readers: 'a' is one of several readers and has readers of its own, 'a'; expected a single "
              "reader with its blocks");
    EXPECT_EQ(messageOf("reader=[\nreaders=reader\na=[\nfile=x\n]\n]"),
              "exp.cntk:2:9: readers: there is no block 'reader' in 'exp.cntk:reader'");
    EXPECT_EQ(messageOf("b=[\nfile=x\n]\nreader=[\nreaders=frames:b\nframe=[\nfile=x\n]\n]"),
              "exp.cntk:5:9: readers: there is no block 'frames' in 'exp.cntk:reader'; did you mean 'frame'?");
}

TEST_F(PluginLoaderTests, ReaderWithoutAWriter)
{
    const auto config = ConfigParameters::Parse("writer=[writerType=EchoReader]");
    Log log;
    const ReaderContext context{*config, log};
    const PluginLibrary library = PluginLibrary::Open("EchoReader", m_search);
    try
    {
        library.MakeWriter<float>(context);
        FAIL();
    }
    catch (const Error& error)
    {
        EXPECT_EQ(error.Message(),
                  "plugin 'EchoReader' does not write: '" + m_folder + "/EchoReader.so' does not export 'GetWriterF'");
    }
}

TEST_F(PluginLoaderTests, ListShowsWhatIsThereAndWhatIsWrongWithIt)
{
    const std::vector<PluginRecord> records = ListPlugins(m_search);
    ASSERT_EQ(records.size(), 4u);
    EXPECT_EQ(records[0].name, "EchoReader");
    EXPECT_TRUE(records[0].reads);
    EXPECT_FALSE(records[0].writes);
    EXPECT_EQ(records[0].problem, "");
    EXPECT_EQ(records[0].description.doc, "Reads nothing and says so twice.");
    ASSERT_EQ(records[0].description.options.size(), 1u);
    EXPECT_EQ(records[1].problem, "it is no plugin of this program: it does not export 'CntkPluginAbi'");
    EXPECT_THAT(records[2].problem, testing::HasSubstr("libCntkTestAbsent.so: cannot open shared object file"));
    EXPECT_THAT(records[3].problem, testing::HasSubstr("version 4711"));
}

TEST_F(PluginLoaderTests, ReaderTypeHasADefaultAndIsInherited)
{
    const auto config = ConfigParameters::Parse("readerType=EchoReader\nreader=[file=x]");
    EXPECT_EQ(ReaderTypeOf(config->RequireBlock("reader")), "EchoReader");
    EXPECT_EQ(ReaderTypeOf(*ConfigParameters::Parse("file=x")), "UCIFastReader");
}

} // namespace
} // namespace cntk
