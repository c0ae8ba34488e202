// Which part of the data an epoch is (epochSize, book 3.3.1.1), and which part of a minibatch a worker's. Positions
// count on from epoch to epoch.
#pragma once

#include "Common/Error.h"
#include "Common/ReaderInterface.h"

#include <cstddef>

namespace cntk
{

// Places [begin, end).
struct PlaceRange
{
    size_t begin = 0;
    size_t end = 0;
};

inline bool IsWholeDataSet(const EpochRequest& request)
{
    return request.epochSize == 0 || request.epochSize >= c_wholeDataSet;
}

// The positions of the epoch where each has epochSize of them. unit: what is counted, for the message.
inline PlaceRange PositionsOfEpoch(const EpochRequest& request, size_t epochSize, const char* unit = "sample")
{
    if (epochSize > c_wholeDataSet / (request.epoch + 1))
        Fail(ErrorKind::Config, "epochSize=", epochSize, " is too large: epoch ", request.epoch + 1,
             " would end beyond ", unit, " ", c_wholeDataSet);
    return {request.epoch * epochSize, (request.epoch + 1) * epochSize};
}

// This worker's of the `count` that a minibatch has.
inline PlaceRange ShareOfWorker(const EpochRequest& request, size_t count)
{
    return {count * request.rank / request.workers, count * (request.rank + 1) / request.workers};
}

} // namespace cntk
