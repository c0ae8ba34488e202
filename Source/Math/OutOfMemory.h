// The error of memory that a device does not have, with the figure that tells a caller what would have fitted.
#pragma once

#include "Common/Error.h"

#include <cstddef>
#include <string>
#include <utility>

namespace cntk
{

class OutOfMemory : public Error
{
public:
    OutOfMemory(std::string message, size_t freeBytes)
        : Error(ErrorKind::Device, std::move(message)), m_freeBytes(freeBytes)
    {
    }

    size_t FreeBytes() const { return m_freeBytes; } // of the device, when the memory was asked for

private:
    size_t m_freeBytes;
};

} // namespace cntk
