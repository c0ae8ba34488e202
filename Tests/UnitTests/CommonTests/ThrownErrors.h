// What an error says that a piece of code throws: most tests of messages begin with this.
#pragma once

#include "Common/Error.h"

#include <gtest/gtest.h>
#include <string>

namespace cntk
{

// The report of the error, source line and all; "no error" where none is thrown.
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

// Its message alone.
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
