// Questions to a reader's plugin before the reader is created.
#include "ActionsLib/JobParts/ReaderSource.h"
#include "Common/Config/ConfigParameters.h"
#include "Common/Log.h"

#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace cntk
{
namespace
{

std::vector<std::string> FilesOf(const std::string& plugin, const std::string& text)
{
    const std::string folder = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
    const auto config =
        ConfigParameters::Parse("More=[reader=[readerType=" + folder + '/' + plugin + "; " + text + "]; notes=n.txt]");
    Log log;
    std::vector<std::string> files;
    for (const ConfigValue& file : InputFilesOf(config->RequireBlock("More").RequireBlock("reader"), false, log).files)
        files.push_back(file.KeyPath() + '=' + file.Text());
    return files;
}

TEST(ReaderSourceTests, FilesThatAMarkedReaderOpens)
{
    using testing::ElementsAre;
    EXPECT_THAT(FilesOf("marked/MarkedReader", "corpus=a.txt"), ElementsAre("More:reader:corpus=a.txt"));
    EXPECT_THAT(FilesOf("marked/MarkedReader", "file=a.txt"), ElementsAre());
    EXPECT_THAT(FilesOf("marked/MarkedReader", "readers=a:b:c; a=[corpus=a.txt]; b=[corpus=b.txt]"),
                ElementsAre("More:reader:a:corpus=a.txt", "More:reader:b:corpus=b.txt"));
}

TEST(ReaderSourceTests, FilesOfReadersThatSayNothing)
{
    for (const char* plugin : {"EchoReader", "OldReader", "ForeignReader", "LonelyReader", "NoReader"})
        EXPECT_THAT(FilesOf(std::string("plugins/") + plugin, "file=a.txt"), testing::IsEmpty()) << plugin;
}

} // namespace
} // namespace cntk
