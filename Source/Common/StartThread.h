// Starts threads. A thread that the system refuses is an Error with the reason.
#pragma once

#include <functional>
#include <thread>

namespace cntk
{

// Fails (Device) if the system starts no further thread.
std::thread StartThread(std::function<void()> body);

} // namespace cntk
