// Gzip files are read like their content.
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Gzip.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

namespace cntk
{

namespace
{

// "hello\n" by gzip -n.
const std::string
    c_hello("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48\xcd\xc9\xc9\xe7\x02\x00\x20\x30\x3a\x36\x06\x00"
            "\x00\x00",
            26);

std::string FailureOf(const std::string& packed)
{
    try
    {
        Gunzip(packed, "file 'x.gz'");
        return "none";
    }
    catch (const Error& error)
    {
        return std::string(NameOf(error.Kind())) + ": " + error.Message();
    }
}

std::string WriteFile(const std::string& bytes)
{
    const std::string path =
        (std::filesystem::temp_directory_path() / ("GzipTests" + std::to_string(getpid()))).string();
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
}

} // namespace

TEST(Gzip, Unpacks)
{
    EXPECT_TRUE(IsGzip(c_hello));
    EXPECT_FALSE(IsGzip("\x1f\x8b"));
    EXPECT_EQ(Gunzip(c_hello, "file 'x.gz'"), "hello\n");
    EXPECT_EQ(Gunzip(c_hello + c_hello, "file 'x.gz'"), "hello\nhello\n");
    EXPECT_EQ(Gunzip(c_hello + std::string(5, '\0'), "file 'x.gz'"), "hello\n"); // padding of tapes
}

TEST(Gzip, DamagedFilesAreErrors)
{
    EXPECT_EQ(FailureOf(c_hello.substr(0, 13)),
              "data: file 'x.gz' is compressed by gzip, but incomplete: it ends at byte 13, 2 bytes into the text");
    std::string damaged = c_hello;
    damaged[18] ^= 1; // of the checksum
    EXPECT_TRUE(FailureOf(damaged).starts_with("data: file 'x.gz' is compressed by gzip, but damaged at byte "));
}

// gzip makes zeros about a thousand times smaller.
TEST(Gzip, TextsOfUnlikelySizeAreErrors)
{
    const std::string zeros = WriteFile("");
    const auto pack = [&](size_t mega)
    {
        const std::string command = "head -c " + std::to_string(mega << 20) + " /dev/zero | gzip -9 > '" + zeros + "'";
        EXPECT_EQ(std::system(command.c_str()), 0);
        return std::string(MappedFile(zeros).Text());
    };
    EXPECT_EQ(Gunzip(pack(60), "file 'x.gz'").size(), size_t(60) << 20);
    EXPECT_EQ(FailureOf(pack(130)), "data: file 'x.gz' is compressed by gzip and has more than 256 bytes of text for "
                                    "each of its bytes; if you trust the file, unpack it");
    RemoveFile(zeros);
}

TEST(Gzip, FilesAreReadLikeTheirContent)
{
    const std::string path = WriteFile(c_hello + c_hello);
    EXPECT_EQ(ReadTextFile(path), "hello\nhello\n");
    const PiecewiseFile file(path);
    EXPECT_EQ(file.Size(), 12u);
    std::string part(5, '\0');
    file.Read(4, part.data(), part.size());
    EXPECT_EQ(part, "o\nhel");
    RemoveFile(path);
}

} // namespace cntk
