// Messages and reports of errors that a piece of code throws.
#pragma once

#include "Common/Error.h"

#include <gtest/gtest.h>
#include <string>

namespace cntk
{

// Returns the report of the error with its source line; "no error" if there is none.
template <class Body>
std::string ReportOf(ErrorKind kind, Body&& body)
{
    try
    {
        body();
    }
    catch (const Error& error)
    {
        EXPECT_EQ(error.Kind(), kind);
        return error.Report();
    }
    return "no error";
}

// Returns only the message.
template <class Body>
std::string MessageOf(ErrorKind kind, Body&& body)
{
    try
    {
        body();
    }
    catch (const Error& error)
    {
        EXPECT_EQ(error.Kind(), kind);
        return error.Message();
    }
    return "no error";
}

} // namespace cntk
