// The line of an epoch in the short log, by the width of the terminal.
#include "Report/ShortLog.h"

#include <gtest/gtest.h>

namespace cntk
{

namespace
{

MetricsRow Row(RowKind kind, double criterion, double error)
{
    MetricsRow row;
    row.kind = kind;
    row.epoch = 3;
    row.criterion = criterion;
    row.nodes = {{"err", "ErrorPrediction", error, false}};
    row.samples = 60'000;
    row.seconds = 0.5;
    row.learningRatePerSample = 0.01;
    return row;
}

} // namespace

TEST(ShortLogTest, ALineHasAllNumbers)
{
    const MetricsRow epoch = Row(RowKind::Epoch, 0.0743589, 0.031),
                     validation = Row(RowKind::Validation, 0.0812, 0.035);
    EXPECT_EQ(
        ShortEpochLine(epoch, &validation, 40, 65, 200),
        "Epoch 3 of 40: loss 0.0744 error 3.1%  Validation loss 0.0812 error 3.5%  rate 0.01  120k samples/s  1:05 "
        "left");
    EXPECT_EQ(ShortEpochLine(epoch, nullptr, 40, -1, 200),
              "Epoch 3 of 40: loss 0.0744 error 3.1%  rate 0.01  120k samples/s");
}

TEST(ShortLogTest, NarrowTerminalsGetShorterLines)
{
    const MetricsRow epoch = Row(RowKind::Epoch, 0.0743589, 0.031),
                     validation = Row(RowKind::Validation, 0.0812, 0.035);
    EXPECT_EQ(ShortEpochLine(epoch, &validation, 40, 65, 80),
              "3/40: 0.0744 3.1% Validation loss 0.0812 error 3.5% rate 0.01 120k/s 1:05");
    EXPECT_EQ(ShortEpochLine(epoch, &validation, 40, 65, 100),
              "3/40: loss 0.0744 error 3.1% Validation loss 0.0812 error 3.5% rate 0.01 120k/s 1:05");
    EXPECT_EQ(ShortEpochLine(epoch, nullptr, 40, 65, 60), "3/40: loss 0.0744 error 3.1% rate 0.01 120k/s 1:05");
    EXPECT_EQ(ShortEpochLine(epoch, &validation, 40, 65, 70),
              "3/40: 0.0744 3.1% Validation loss 0.0812 error 3.5% rate 0.01 1:05");
    EXPECT_EQ(ShortEpochLine(epoch, &validation, 40, 65, 60),
              "3/40: 0.0744 3.1% Validation loss 0.0812 error 3.5% 1:05");
}

TEST(ShortLogTest, CountsAreShort)
{
    EXPECT_EQ(ShortCount(949.6), "950");
    EXPECT_EQ(ShortCount(9999), "9999");
    EXPECT_EQ(ShortCount(12'345), "12.3k");
    EXPECT_EQ(ShortCount(1'250'000), "1.25M");
}

} // namespace cntk
