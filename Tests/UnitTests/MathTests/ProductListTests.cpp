// Products that are computed together equal those computed one by one, bit for bit. Messages of the checks.
#include "Common/Error.h"
#include "CommonTests/ThrownErrors.h"
#include "Math/Products.h"
#include "ReferenceBackend/ReferenceDevice.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace cntk
{

namespace
{

class ProductListTests : public testing::TestWithParam<std::tuple<DataType, int>>
{
};

Matrix Random(size_t rows, size_t columns, DataType type, Device& device, uint64_t seed)
{
    Matrix matrix(rows, columns, type, device);
    Ops::FillUniform(matrix, -1, 1, seed);
    return matrix;
}

struct Shape
{
    size_t m, n, k;
};

} // namespace

// Small products that run in parallel, products that are cut, and products that all threads share.
TEST_P(ProductListTests, GiveTheSameBits)
{
    const auto [type, threads] = GetParam();
    const auto device = threads == 0 ? MakeReferenceDevice() : MakeCpuDevice({.threads = threads});
    const std::vector<std::vector<Shape>> lists = {{{200, 200, 100}, {200, 200, 100}, {37, 5, 100}, {1, 1, 3}},
                                                   {{3, 4, 5}, {7, 2, 0}},
                                                   {{200, 201, 640}, {130, 200, 640}, {16, 1000, 33}},
                                                   {{64, 64, 64}},
                                                   {{500, 500, 320}, {20, 20, 20}}};
    for (size_t i = 0; i < (threads == 0 ? 2 : lists.size()); ++i)
        for (const double beta : {0.0, 1.0})
        {
            std::vector<Matrix> operands;
            std::vector<Matrix> together, apart;
            uint64_t seed = 1;
            for (const auto& [m, n, k] : lists[i])
            {
                const bool isTransposed = seed % 2 == 0;
                operands.push_back(Random(isTransposed ? k : m, isTransposed ? m : k, type, *device, ++seed));
                operands.push_back(Random(n, k, type, *device, ++seed));
                together.push_back(Random(m, n, type, *device, ++seed));
                apart.push_back(Random(m, n, type, *device, seed));
            }
            std::vector<Product> products;
            seed = 1;
            for (size_t j = 0; j < lists[i].size(); ++j, seed += 3)
                products.push_back({.a = operands[2 * j],
                                    .transposeA = seed % 2 == 0 ? Ops::Transpose::Yes : Ops::Transpose::No,
                                    .b = operands[2 * j + 1],
                                    .transposeB = Ops::Transpose::Yes,
                                    .c = together[j],
                                    .alpha = 0.5,
                                    .beta = beta});
            Ops::MultiplyAll(products);
            for (size_t j = 0; j < products.size(); ++j)
            {
                products[j].c = apart[j];
                Ops::Multiply(products[j]);
                EXPECT_EQ(together[j].ToHost(), apart[j].ToHost()) << "list " << i << ", product " << j;
            }
        }
}

// Gradients of the weights of several gates share their input, which is packed once.
TEST_P(ProductListTests, ProductsOfOneOperandGiveTheSameBits)
{
    const DataType type = std::get<0>(GetParam());
    const int threads = std::get<1>(GetParam());
    const auto device = threads == 0 ? MakeReferenceDevice() : MakeCpuDevice({.threads = threads});
    const Shape small{20, 3, 5}, packed{300, 50, 700};
    for (const Shape& shape : threads == 0 ? std::vector<Shape>{small} : std::vector<Shape>{small, packed})
        for (const Ops::Transpose transposeA : {Ops::Transpose::No, Ops::Transpose::Yes})
            for (const Ops::Transpose transposeB : {Ops::Transpose::No, Ops::Transpose::Yes})
            {
                const auto& [m, n, k] = shape;
                const auto random = [&](size_t rows, size_t columns, bool isTransposed, uint64_t seed)
                { return Random(isTransposed ? columns : rows, isTransposed ? rows : columns, type, *device, seed); };
                const Matrix b = random(k, n, transposeB == Ops::Transpose::Yes, 1);
                const Matrix other = random(k, n, transposeB == Ops::Transpose::Yes, 2);
                std::vector<Matrix> operands, together, apart;
                std::vector<Product> products;
                for (size_t i = 0; i < 12; ++i)
                {
                    operands.push_back(random(i == 5 ? m / 2 : m, k, transposeA == Ops::Transpose::Yes, 10 + i));
                    together.push_back(Random(i == 5 ? m / 2 : m, n, type, *device, 30 + i));
                    apart.push_back(Random(i == 5 ? m / 2 : m, n, type, *device, 30 + i));
                }
                for (size_t i = 0; i < operands.size(); ++i)
                    products.push_back({.a = operands[i],
                                        .transposeA = transposeA,
                                        .b = i == 7 ? other : b,
                                        .transposeB = transposeB,
                                        .c = together[i],
                                        .alpha = i == 9 ? 0.0 : 0.5,
                                        .beta = i % 2 == 0 ? 0.0 : 1.0});
                Ops::MultiplyAll(products);
                for (size_t i = 0; i < products.size(); ++i)
                {
                    products[i].c = apart[i];
                    Ops::Multiply(products[i]);
                    EXPECT_EQ(together[i].ToHost(), apart[i].ToHost()) << m << " rows, product " << i;
                }
            }
}

// Covers one product and several; on one thread, next to others, or on all threads; one slab of steps and several;
// columns of whole cache lines and others. Few steps are for one thread.
TEST_P(ProductListTests, UpdatesAfterProductsGiveTheSameBits)
{
    const auto [type, threads] = GetParam();
    const auto device = threads == 0 ? MakeReferenceDevice() : MakeCpuDevice({.threads = threads});
    const std::vector<std::vector<Shape>> lists = {{{32, 5, 64}},
                                                   {{64, 12, 2600}},
                                                   {{64, 40, 70}, {64, 40, 70}, {16, 40, 70}, {48, 1, 700}},
                                                   {{512, 500, 100}},
                                                   {{320, 450, 900}},
                                                   {{2064, 50, 64}},
                                                   {{208, 200, 100}, {208, 200, 100}, {208, 200, 100}},
                                                   {{300, 150, 110}, {300, 150, 110}},
                                                   {{127, 300, 400}},
                                                   {{5, 7, 64}},
                                                   {{530, 33, 70}},
                                                   {{50, 400, 64}},
                                                   {{256, 783, 32}},
                                                   {{70, 402, 35}}};
    for (const std::vector<Shape>& list : std::span(lists).first(threads == 0 ? 1 : lists.size()))
        for (const double momentum : {0.0, 0.75})
            for (const bool keepsGradient : {true, false})
            {
                std::vector<Matrix> a, b, results, behind, apart, smoothed, smoothedApart;
                std::vector<Product> products;
                for (uint64_t i = 0; i < list.size(); ++i)
                {
                    const auto& [m, n, k] = list[i];
                    a.push_back(Random(m, k, type, *device, 10 * i + 1));
                    b.push_back(Random(n, k, type, *device, 10 * i + 2));
                    results.push_back(Random(m, n, type, *device, 10 * i + 3));
                    for (auto* parameters : {&behind, &apart})
                        parameters->push_back(Random(m, n, type, *device, 10 * i + 4));
                    for (auto* states : {&smoothed, &smoothedApart})
                        states->push_back(Random(m, n, type, *device, 10 * i + 5));
                }
                // The last product of a list has no update, while the others have one.
                const size_t updates = std::max<size_t>(1, list.size() - 1);
                for (size_t i = 0; i < list.size(); ++i)
                {
                    products.push_back(
                        {.a = a[i], .b = b[i], .transposeB = Ops::Transpose::Yes, .c = results[i], .alpha = 0.3});
                    const bool isPossible = Ops::CanUpdateBehind(results[i], list[i].k);
                    EXPECT_EQ(isPossible, threads > 0 && (Ops::ThreadsApart(*device) == 1 || list[i].k >= 64));
                    if (isPossible && i < updates)
                        products[i].update = {.parameter = behind[i],
                                              .smoothed = smoothed[i],
                                              .rate = 0.1,
                                              .momentum = momentum,
                                              .keepsGradient = keepsGradient};
                }
                Ops::MultiplyAll(products);
                for (size_t i = 0; i < list.size(); ++i)
                {
                    SCOPED_TRACE(testing::Message() << list[i].m << " x " << list[i].n << " x " << list[i].k
                                                    << ", momentum " << momentum << ", keeps " << keepsGradient);
                    const bool hasUpdate = products[i].update.parameter.data != nullptr;
                    Matrix gradient(list[i].m, list[i].n, type, *device);
                    products[i].c = gradient;
                    products[i].update = {};
                    Ops::Multiply(products[i]);
                    if (hasUpdate)
                        Ops::MomentumUpdate(apart[i], smoothedApart[i], gradient, 0.1, momentum);
                    EXPECT_EQ(behind[i].ToHost(), apart[i].ToHost());
                    EXPECT_EQ(smoothed[i].ToHost(), smoothedApart[i].ToHost());
                    if (keepsGradient || !hasUpdate)
                    {
                        EXPECT_EQ(results[i].ToHost(), gradient.ToHost());
                    }
                }
            }
}

// For all distributions of the work.
TEST_P(ProductListTests, SumsGiveTheSameBitsWithAnyNumberOfThreads)
{
    const DataType type = std::get<0>(GetParam());
    const int threads = std::get<1>(GetParam());
    if (threads == 0)
        return;
    const auto sumOn = [type](int count)
    {
        const auto device = MakeCpuDevice({.threads = count});
        std::vector<double> bits;
        for (const auto& [m, n, k] : {Shape{50, 65, 300}, Shape{64, 1203, 100}, Shape{3, 2, 5}, Shape{200, 77, 200}})
        {
            std::vector<Matrix> operands;
            for (uint64_t i = 0; i < 8; ++i)
                operands.push_back(Random(k, i % 2 == 0 ? m : n, type, *device, i + 1));
            std::vector<ColumnProducts> terms;
            for (size_t i = 0; i < operands.size(); i += 2)
                terms.push_back({operands[i], operands[i + 1]});
            const Matrix sum(m, n, type, *device);
            Ops::SumColumnProducts(terms, sum);
            const std::vector<double> values = sum.ToHost();
            bits.insert(bits.end(), values.begin(), values.end());
        }
        return bits;
    };
    EXPECT_EQ(sumOn(threads), sumOn(1));
}

INSTANTIATE_TEST_SUITE_P(, ProductListTests,
                         testing::Combine(testing::Values(DataType::Float32, DataType::Float64),
                                          testing::Values(0, 1, 4)));

TEST(ProductListTest, MessagesOfOperandsThatDoNotFit)
{
    const auto device = MakeCpuDevice();
    const auto messageOf = [](const Product& product)
    {
        try
        {
            Ops::MultiplyAll({&product, 1});
        }
        catch (const Error& error)
        {
            return error.Message();
        }
        return std::string();
    };
    const Matrix a(2, 3, DataType::Float32, *device), b(3, 4, DataType::Float32, *device),
        c(2, 4, DataType::Float32, *device), other(3, 4, DataType::Float64, *device);
    EXPECT_EQ(messageOf({.a = a, .b = b, .c = c}), "");
    EXPECT_EQ(messageOf({.a = b, .b = a, .c = c}),
              "MultiplyAll: the product of [3 x 4] and [2 x 3] does not fit [2 x 4]");
    EXPECT_EQ(messageOf({.a = a, .b = other, .c = c}),
              "MultiplyAll: operands are on different devices or of different types");
    EXPECT_EQ(messageOf({}), "MultiplyAll: the result is on no device");

    const Matrix left(16, 64, DataType::Float32, *device), right(64, 4, DataType::Float32, *device),
        gradient(16, 4, DataType::Float32, *device), parameter(16, 4, DataType::Float32, *device),
        wrong(16, 5, DataType::Float32, *device);
    const Matrix smoothed = parameter.Clone();
    EXPECT_EQ(
        messageOf({.a = left, .b = right, .c = gradient, .update = {.parameter = parameter, .smoothed = smoothed}}),
        "");
    EXPECT_EQ(
        messageOf({.a = left, .b = right, .c = gradient, .update = {.parameter = wrong, .smoothed = smoothed}}),
        "MultiplyAll: an update of [16 x 5] does not fit a gradient of [16 x 4], is of another device or type, or "
        "is not in one piece");
    EXPECT_EQ(messageOf({.a = a, .b = b, .c = c, .update = {.parameter = c}}),
              "MultiplyAll: no update can be made behind a product [2 x 4] of 3 steps on this device");
    Ops::MultiplyAll({});
}

TEST(ProductListTest, MessagesOfTermsThatDoNotFit)
{
    const auto device = MakeCpuDevice();
    const Matrix a(3, 2, DataType::Float32, *device), b(3, 4, DataType::Float32, *device),
        c(2, 4, DataType::Float32, *device), other(3, 4, DataType::Float64, *device);
    const auto messageOf = [&](const std::vector<ColumnProducts>& terms)
    { return MessageOf(ErrorKind::Internal, [&] { Ops::SumColumnProducts(terms, c); }); };
    EXPECT_EQ(messageOf({{a, b}, {b, b}}), "SumColumnProducts: columns of [3 x 4] and [3 x 4] do not fit [2 x 4]");
    EXPECT_EQ(messageOf({{a, other}}), "SumColumnProducts: operands are on different devices or of different types");
    EXPECT_EQ(messageOf({}),
              "SumColumnProducts: there are 0 terms; there must be one, and a device that the result is on");
}

} // namespace cntk
