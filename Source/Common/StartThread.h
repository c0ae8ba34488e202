// Starts threads. A thread that the system refuses is an Error with the reason.
#pragma once

#include <functional>
#include <future>
#include <thread>

namespace cntk
{

// Fail (Device) if the system starts no further thread.
std::thread StartThread(std::function<void()> body);
// The future waits for the end of body and rethrows its exception.
std::future<void> StartTask(std::function<void()> body);

} // namespace cntk
