#include "Common/ImageHeader.h"
#include "Common/Text.h"

#include <gtest/gtest.h>

namespace cntk::Testing
{

namespace
{

std::string TextOfHeader(std::string_view file)
{
    const std::optional<ImageHeader> header = ReadImageHeader(file);
    return header ? Concat(header->width, " x ", header->height, " x ", header->channels) : "none";
}

} // namespace

TEST(ImageHeader, HasTheSizeOfEachFormat)
{
    EXPECT_EQ(TextOfHeader("P6\n# c 9\n 30 \t20\n255\n"), "30 x 20 x 3");
    EXPECT_EQ(TextOfHeader("P6\n60000%6000@\n2"), "60000 x 6000 x 3");
    EXPECT_EQ(TextOfHeader("P5 30 20 255"), "30 x 20 x 1");
    EXPECT_EQ(TextOfHeader({"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\0\0\0\0\2\x08\2", 26}), "256 x 2 x 3");
    EXPECT_EQ(TextOfHeader({"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\0\0\0\0\2\x08\4", 26}), "256 x 2 x 1");
    EXPECT_EQ(TextOfHeader({"\xFF\xD8\xFF\xE0\0\4ab\xFF\xFF\xC2\0\x11\x08\1\0\0\2\3", 19}), "2 x 256 x 3");
    EXPECT_EQ(TextOfHeader({"\xFF\xD8\xFF\xC0\0\x11\x08\1\0\0\2\1", 12}), "2 x 256 x 1");
    const std::string bitmap = "BM" + std::string(12, 'x');
    EXPECT_EQ(TextOfHeader(bitmap + std::string("\x28\0\0\0\3\0\0\0\xFF\xFF\xFF\xFF", 12)), "3 x 1 x 3");
    EXPECT_EQ(TextOfHeader(bitmap + std::string("\x0C\0\0\0\3\0\4\0\0\0\0\0", 12)), "3 x 4 x 3");
}

TEST(ImageHeader, IsMissingInOtherAndShortFiles)
{
    EXPECT_EQ(TextOfHeader("GIF89a"), "none");
    EXPECT_EQ(TextOfHeader("P5 30"), "none");
    EXPECT_EQ(TextOfHeader(""), "none");
    EXPECT_EQ(TextOfHeader("\x89PNG\r\n\x1a\n"), "none");
    EXPECT_EQ(TextOfHeader("\xFF\xD8\xFF\xE0"), "none");
}

} // namespace cntk::Testing
