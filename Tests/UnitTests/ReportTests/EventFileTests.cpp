// Checksums and frames of event files.
#include "Report/EventFile.h"

#include <gtest/gtest.h>

namespace cntk
{

TEST(EventFileTest, KnownChecksums)
{
    EXPECT_EQ(Crc32C(""), 0u);
    EXPECT_EQ(Crc32C("123456789"), 0xE3069283u);
    EXPECT_EQ(Crc32C(std::string(32, '\0')), 0x8A9136AAu);   // RFC 3720
    EXPECT_EQ(Crc32C(std::string(32, '\xFF')), 0x62A8AB43u); // RFC 3720
    EXPECT_EQ(MaskedCrc32C("123456789"), ((0xE3069283u >> 15) | (0xE3069283u << 17)) + 0xA282EAD8u);
}

TEST(EventFileTest, ARecordHasLengthAndChecksums)
{
    const std::string record = EventRecord("abc");
    ASSERT_EQ(record.size(), 8u + 4 + 3 + 4);
    EXPECT_EQ(record.substr(0, 8), std::string("\3\0\0\0\0\0\0\0", 8));
    EXPECT_EQ(record.substr(12, 3), "abc");
}

} // namespace cntk
