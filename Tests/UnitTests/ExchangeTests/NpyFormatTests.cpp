// npy headers, conversion of elements, order of values, names of text files.
#include "Common/Error.h"
#include "Exchange/ModelValues.h"
#include "Exchange/NpyFormat.h"
#include "Exchange/TextExport.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk
{

namespace
{

using ::testing::HasSubstr;

std::string MessageOfHeader(const std::string& text, uint64_t bytes)
{
    try
    {
        ParseNpyHeader(text, bytes, "entry");
    }
    catch (const Error& error)
    {
        EXPECT_EQ(error.Kind(), ErrorKind::Data);
        return error.Message();
    }
    return {};
}

std::string HeaderOf(const std::string& dictionary)
{
    return std::string("\x93NUMPY\1\0", 8) + char(dictionary.size()) + '\0' + dictionary;
}

} // namespace

TEST(NpyFormat, WrittenHeadersAreReadBack)
{
    const size_t shape[] = {50, 2};
    const std::string text = MakeNpyHeader("<f4", shape);
    EXPECT_EQ(text.size() % 64, 0u);
    EXPECT_EQ(text.back(), '\n');
    const NpyHeader header = ParseNpyHeader(text, text.size() + 400, "entry");
    EXPECT_EQ(header.type, NpyType::Float);
    EXPECT_EQ(header.shape, (std::vector<uint64_t>{50, 2}));
    EXPECT_EQ(header.elements, 100u);
    EXPECT_EQ(header.dataBegin, text.size());
    EXPECT_FALSE(header.isFortranOrder);
}

TEST(NpyFormat, VectorsHaveACommaBehindTheirSize)
{
    const size_t shape[] = {7};
    EXPECT_THAT(MakeNpyHeader("|u1", shape), HasSubstr("'shape': (7,), }"));
}

TEST(NpyFormat, DamageIsNamed)
{
    const std::string good = "{'descr': '<f8', 'fortran_order': True, 'shape': (2,), }\n";
    EXPECT_EQ(MessageOfHeader(HeaderOf(good), 10 + good.size() + 16), "");
    EXPECT_THAT(MessageOfHeader(HeaderOf(good), 10 + good.size() + 15), HasSubstr("does not agree with its 15 bytes"));
    EXPECT_THAT(MessageOfHeader("\x93NUMPX", 7), HasSubstr("is no npy array"));
    EXPECT_THAT(MessageOfHeader(HeaderOf("{'descr': '<f8', 'shape': (2,)}"), 100), HasSubstr("each once"));
    EXPECT_THAT(MessageOfHeader(HeaderOf("{'descr': '<f8', 'descr': '<f8'}"), 100), HasSubstr("found 'descr'"));
    EXPECT_THAT(MessageOfHeader(HeaderOf("{'descr': [('a', '<f8')]}"), 100), HasSubstr("holds records"));
    EXPECT_THAT(MessageOfHeader(HeaderOf("{'fortran_order': 1}"), 100), HasSubstr("True or False"));
    EXPECT_THAT(MessageOfHeader(HeaderOf("{'shape': (-2,)}"), 100), HasSubstr("whole numbers"));
    EXPECT_THAT(MessageOfHeader(HeaderOf("{'descr': '<f8"), 100), HasSubstr("a closing quote"));
    EXPECT_THAT(
        MessageOfHeader(HeaderOf("{'descr': '<f8', 'fortran_order': True, 'shape': (4294967296, 4294967296), }"), 1000),
        HasSubstr("(4294967296, 4294967296) of 8-byte elements"));
}

TEST(NpyFormat, ShapesOfPython2)
{
    const std::string header = HeaderOf("{'descr': '<f4', 'fortran_order': False, 'shape': (3L, 4L), }");
    EXPECT_EQ(ParseNpyHeader(header, header.size() + 48, "it").shape, (std::vector<uint64_t>{3, 4}));
}

TEST(NpyFormat, ElementsOfAllTypesBecomeDoubles)
{
    const auto convert = [](NpyType type, bool isBigEndian, std::initializer_list<int> bytes)
    {
        NpyHeader header;
        header.type = type;
        header.isBigEndian = isBigEndian;
        std::vector<std::byte> source;
        for (const int byte : bytes)
            source.push_back(std::byte(byte));
        double value = 0;
        const size_t finite = ConvertNpyElements(header, source.data(), 1, &value);
        EXPECT_EQ(finite, size_t(std::isfinite(value)));
        EXPECT_TRUE(NpyElement(header, source.data(), 0) == value || std::isnan(value));
        return value;
    };
    EXPECT_EQ(convert(NpyType::Float, false, {0, 0, 0xC0, 0x3F}), 1.5);
    EXPECT_EQ(convert(NpyType::Float, true, {0x3F, 0xC0, 0, 0}), 1.5);
    EXPECT_EQ(convert(NpyType::Double, true, {0xC0, 0, 0, 0, 0, 0, 0, 0}), -2.0);
    EXPECT_EQ(convert(NpyType::Half, false, {0x00, 0x3C}), 1.0);
    EXPECT_EQ(convert(NpyType::Half, false, {0x01, 0x80}), -std::ldexp(1.0, -24));
    EXPECT_EQ(convert(NpyType::Half, false, {0x00, 0x7C}), HUGE_VAL);
    EXPECT_TRUE(std::isnan(convert(NpyType::Half, false, {0x01, 0x7C})));
}

TEST(NpyFormat, ElementsThatDoNotFitAreFound)
{
    NpyHeader header;
    header.type = NpyType::Double;
    const double source[] = {1, 1e300, 2};
    float floats[3];
    EXPECT_EQ(ConvertNpyElements(header, reinterpret_cast<const std::byte*>(source), 3, floats), 1u);
    double doubles[3];
    EXPECT_EQ(ConvertNpyElements(header, reinterpret_cast<const std::byte*>(source), 3, doubles), 3u);
    EXPECT_EQ(floats[2], 2.0f);
}

// Rows are copied one slice after another.
TEST(ModelValues, OrderIsReversedForEveryRank)
{
    for (const TensorShape& shape :
         {TensorShape{5}, TensorShape{40, 35}, TensorShape{2, 3, 4}, TensorShape{3, 2, 4, 5}})
    {
        const size_t count = shape.Elements();
        std::vector<double> source(count), target(count);
        for (size_t i = 0; i < count; ++i)
            source[i] = double(i);
        const size_t rows = shape[0], middle = rows / 2;
        const auto copyOut = [&](size_t first, size_t end)
        {
            CopyRowsToCOrder(reinterpret_cast<const std::byte*>(source.data()), shape, sizeof(double), first, end,
                             reinterpret_cast<std::byte*>(target.data() + first * ElementsOfRow(shape)));
        };
        copyOut(0, middle);
        copyOut(middle, rows);
        std::vector<double> back(count);
        const auto copyBack = [&](size_t first, size_t end)
        {
            CopyRowsFromCOrder(reinterpret_cast<const std::byte*>(target.data() + first * ElementsOfRow(shape)), shape,
                               sizeof(double), first, end, reinterpret_cast<std::byte*>(back.data()));
        };
        copyBack(middle, rows);
        copyBack(0, middle);
        EXPECT_EQ(back, source);
        for (size_t i = 0; i < count; ++i)
        {
            size_t rest = i, reversed = 0;
            for (const size_t dim : shape.Dims())
            {
                reversed = reversed * dim + rest % dim;
                rest /= dim;
            }
            ASSERT_EQ(target[reversed], double(i)) << shape.ToString();
        }
    }
}

TEST(TextExport, NamesBecomeFileNames)
{
    EXPECT_EQ(FileNameOf("L1.W"), "L1.W");
    EXPECT_EQ(FileNameOf("a/b\tc"), "a%2fb%09c");
    EXPECT_EQ(FileNameOf("W0*H0+B0"), "W0*H0+B0");
}

} // namespace cntk
