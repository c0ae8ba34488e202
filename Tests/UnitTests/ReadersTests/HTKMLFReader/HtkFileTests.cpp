#include "Common/Htk/HtkFile.h"
#include "HtkTestTools.h"

#include <algorithm>
#include <array>
#include <limits>

namespace cntk
{
namespace
{

class HtkFileTests : public HtkTest
{
protected:
    std::string ErrorFor(const std::string& bytes, const std::string& name = "x.htk")
    {
        std::string message = MessageOf([&] { HtkFile(Write(name, bytes)); });
        if (const size_t at = message.find(m_folder + "/"); at != std::string::npos)
            message.erase(at, m_folder.size() + 1);
        return message;
    }
    std::vector<float> ReadAll(HtkFile& file) const
    {
        std::vector<float> values(file.Frames() * file.Kind().dimension);
        file.Read(0, file.Frames(), values.data());
        return values;
    }
    static std::string InLittleEndian(std::string bytes)
    {
        for (const auto [at, size] : {std::array<size_t, 2>{0, 4}, {4, 4}, {8, 2}, {10, 2}})
            std::reverse(bytes.begin() + ptrdiff_t(at), bytes.begin() + ptrdiff_t(at + size));
        for (size_t at = 12; at < bytes.size(); at += 4)
            std::reverse(bytes.begin() + ptrdiff_t(at), bytes.begin() + ptrdiff_t(at + 4));
        return bytes;
    }
};

TEST_F(HtkFileTests, BigAndLittleEndian)
{
    HtkFile big(Write("big.htk", HtkFileBytes(3, 1)));
    const std::vector<float> expected = {1, 1.5, 2, 2.5, 3, 3.5};
    EXPECT_EQ(ReadAll(big), expected);
    EXPECT_EQ(big.Kind().Text(), "2-dimensional 'USER' with frame shift 10.0 ms");

    HtkFile little(Write("little.htk", InLittleEndian(HtkFileBytes(3, 1))));
    EXPECT_EQ(ReadAll(little), expected);
    EXPECT_TRUE(little.Kind() == big.Kind());
}

TEST_F(HtkFileTests, Kinds)
{
    for (const auto& [kind, name] : std::vector<std::pair<int, std::string>>{
             {6, "MFCC"}, {7, "FBANK"}, {11, "PLP"}, {9, "USER"}, {6 | 0400 | 01000 | 020000, "MFCC_D_A_0"}})
        EXPECT_EQ(HtkFile(Write("x.htk", HtkFileBytes(1, 0, kind))).Kind().Text(),
                  "2-dimensional '" + name + "' with frame shift 10.0 ms");
    EXPECT_EQ(ErrorFor(HtkFileBytes(1, 0, 3)),
              "data: feature file 'x.htk', byte 10: the parameter kind is 3, read as big-endian, expected MFCC (6), "
              "FBANK (7), USER (9), PLP (11) or FESTREAM (12); is it an HTK file?");
    EXPECT_EQ(ErrorFor(HtkFileBytes(1, 0, 9 | 040000)),
              "data: feature file 'x.htk', byte 10: vector-quantized features (_V) are not supported, expected vectors "
              "of numbers");
}

TEST_F(HtkFileTests, StreamIdIsSkipped)
{
    std::string bytes = HtkFileBytes(2, 7, 12);
    bytes.insert(12, 16, 'x');
    HtkFile file(Write("x.htk", bytes));
    EXPECT_EQ(ReadAll(file), (std::vector<float>{7, 7.5, 8, 8.5}));
    EXPECT_EQ(file.Kind().code, 9);
}

TEST_F(HtkFileTests, Compressed)
{
    // value = (stored + B) / A
    std::string bytes = HtkHeaderBytes(2 + 4, 4, 9 | 02000 | 010000);
    for (const float value : {100.0f, 10.0f, 50.0f, -5.0f})
        AppendFloat(bytes, value);
    for (const int stored : {150, 25, -50, 5})
        AppendBigEndian(bytes, uint16_t(int16_t(stored)), 2);
    bytes += "CR"; // checksum
    HtkFile file(Write("x.htk", bytes));
    EXPECT_EQ(file.Frames(), 2u);
    EXPECT_EQ(ReadAll(file), (std::vector<float>{2, 2, 0, 0}));
    // Files of one stream may store their numbers differently.
    EXPECT_TRUE(file.Kind() == HtkFile(Write("y.htk", HtkFileBytes(1, 0))).Kind());
    EXPECT_EQ(ErrorFor(HtkHeaderBytes(3, 4, 9 | 02000)),
              "data: feature file 'x.htk', byte 0: the number of vectors is 3, expected 4 more than there are, as in "
              "every compressed file");
    EXPECT_EQ(ErrorFor(HtkHeaderBytes(6, 4, 9 | 02000)),
              "data: feature file 'x.htk' ends at byte 12, expected scales and offsets of 2 elements up to byte 28");
}

TEST_F(HtkFileTests, RealCompressedFileAgreesWithThePlainOne)
{
    const std::string corpus = Shared("data/synthspeech/");
    if (!FileExists(corpus + "extras/dev-slt2-u0496.fbank_c"))
        GTEST_SKIP() << "no shared data";
    HtkFile compressed(corpus + "extras/dev-slt2-u0496.fbank_c");
    HtkFile plain(corpus + "fbank/dev20/dev-slt2-u0496.fbank");
    ASSERT_TRUE(compressed.Kind() == plain.Kind());
    ASSERT_EQ(compressed.Frames(), plain.Frames());
    const std::vector<float> a = ReadAll(compressed), b = ReadAll(plain);
    float largest = 0, difference = 0;
    for (size_t i = 0; i < a.size(); ++i)
    {
        largest = std::max(largest, std::abs(b[i]));
        difference = std::max(difference, std::abs(a[i] - b[i]));
    }
    EXPECT_GT(largest, 5);
    EXPECT_LT(difference, largest / 32767);
}

TEST_F(HtkFileTests, Damaged)
{
    EXPECT_EQ(ErrorFor("short"), "data: feature file 'x.htk' has 5 bytes, expected an HTK header of 12");
    EXPECT_EQ(ErrorFor(HtkFileBytes(3, 0).substr(0, 30)),
              "data: feature file 'x.htk' ends at byte 30, but its header says 3 vectors of 8 bytes, which end at byte "
              "36");
    EXPECT_EQ(ErrorFor(HtkHeaderBytes(uint32_t(-6), 8, 9)),
              "data: feature file 'x.htk', byte 0: the number of vectors is -6, expected 0 or more");
    EXPECT_EQ(ErrorFor(HtkHeaderBytes(1, 7, 9)),
              "data: feature file 'x.htk', byte 8: a vector has 7 bytes, expected 4 for each of its elements");
    EXPECT_EQ(ErrorFor(HtkHeaderBytes(1, 0, 9)),
              "data: feature file 'x.htk', byte 8: a vector has 0 bytes, expected 4 for each of its elements");
    EXPECT_EQ(MessageOf([&] { HtkFile(Path("none.htk")); }),
              "data: feature file '" + Path("none.htk") + "' does not exist");
}

// The frame shift shows the byte order, in which the other fields are read.
TEST_F(HtkFileTests, ImpossibleSamplePeriod)
{
    const auto withPeriod = [](uint32_t period)
    {
        std::string bytes = HtkFileBytes(3, 1);
        for (size_t i = 0; i < 4; ++i)
            bytes[4 + i] = char(period >> (24 - 8 * i));
        return bytes;
    };
    EXPECT_EQ(ErrorFor(withPeriod(0)),
              "data: feature file 'x.htk', byte 4: the sample period is 0 in units of 100 ns, expected the frame "
              "shift, such as 100000 (10 ms): it shows the byte order of the file");
    EXPECT_EQ(ErrorFor(withPeriod(uint32_t(-1))),
              "data: feature file 'x.htk', byte 4: the sample period is -1 in units of 100 ns, read as little-endian, "
              "expected the frame shift, such as 100000 (10 ms): it shows the byte order of the file");
    EXPECT_EQ(HtkFile(Write("x.htk", InLittleEndian(withPeriod(0)))).Kind().Text(),
              "2-dimensional 'USER' with frame shift 0.0 ms");
}

TEST_F(HtkFileTests, FindsNanAndInfinity)
{
    std::string bytes = HtkHeaderBytes(3, 8, 9);
    for (const float value : {1.0f, -3e38f, 1e-44f, 4.0f, 5.0f, -std::numeric_limits<float>::infinity()})
        AppendFloat(bytes, value);
    HtkFile file(Write("x.htk", bytes));
    std::vector<float> values(4);
    file.Read(0, 2, values.data());
    EXPECT_EQ(values, (std::vector<float>{1, -3e38f, 1e-44f, 4}));
    EXPECT_EQ(MessageOf([&] { file.Read(1, 2, values.data()); }),
              "data: feature file '" + Path("x.htk") +
                  "', byte 32: element 1 of frame 2 is -inf, expected a finite number");
    bytes = HtkHeaderBytes(1 + 4, 4, 9 | 02000);
    for (const float value : {100.0f, 0.0f, 50.0f, -5.0f, 0.0f})
        AppendFloat(bytes, value);
    EXPECT_EQ(ErrorFor(bytes), "data: feature file 'x.htk', byte 16: the scale of element 1 is 0, expected a finite "
                               "number other than 0");
}

TEST_F(HtkFileTests, SwapsAndChecksEachValue)
{
    for (size_t dimension = 1; dimension <= 9; ++dimension)
        for (size_t bad = 0; bad <= dimension; ++bad) // the last one: none is
        {
            std::string bytes = HtkHeaderBytes(1, dimension * 4, 9);
            std::vector<float> expected;
            for (size_t i = 0; i < dimension; ++i)
            {
                expected.push_back(float(i) - 1.25f);
                AppendFloat(bytes, i == bad ? std::numeric_limits<float>::quiet_NaN() : expected.back());
            }
            for (const bool isLittle : {false, true})
            {
                HtkFile file(Write("x.htk", isLittle ? InLittleEndian(bytes) : bytes));
                if (bad == dimension)
                    EXPECT_EQ(ReadAll(file), expected);
                else
                    EXPECT_EQ(MessageOf([&] { ReadAll(file); }),
                              Concat("data: feature file '", Path("x.htk"), "', byte ", 12 + 4 * bad, ": element ", bad,
                                     " of frame 0 is nan, expected a finite number"));
            }
        }
}

TEST_F(HtkFileTests, ImagesOfIdx3)
{
    std::string bytes;
    for (const uint64_t number : {2051, 2, 1, 3})
        AppendBigEndian(bytes, number, 4);
    bytes += std::string("\x00\x01\x02\xFF\x10\x20", 6);
    HtkFile file(Write("train-ubyte", bytes));
    EXPECT_EQ(ReadAll(file), (std::vector<float>{0, 1, 2, 255, 16, 32}));
    bytes[3] = 1;
    EXPECT_EQ(ErrorFor(bytes, "t-ubyte"), "data: feature file 't-ubyte', byte 0: the magic number is 2049, expected "
                                          "2051 (idx3), since the name ends in -ubyte");
    bytes[3] = 3;
    bytes.pop_back();
    EXPECT_EQ(ErrorFor(bytes, "t-ubyte"),
              "data: feature file 't-ubyte' has 21 bytes, but its header says 2 images of 3 bytes");
}

} // namespace
} // namespace cntk
