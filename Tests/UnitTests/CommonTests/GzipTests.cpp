// Gzip files are read like their content.
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Gzip.h"

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
