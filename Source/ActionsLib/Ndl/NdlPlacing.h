// Errors of the network and of nodes get their place in the script.
#pragma once

#include "Common/Error.h"

namespace cntk
{

// Where the error has no place yet. An error of the model is one of the script then.
inline Error Placed(const Error& error, const SourcePos& where)
{
    if (error.Where())
        return error;
    return error.Retold(error.Kind() == ErrorKind::Model ? ErrorKind::Config : error.Kind(), error.Message(), where);
}

// What the body throws gets the place.
template <class Body>
auto At(const SourcePos& where, Body&& body)
{
    try
    {
        return body();
    }
    catch (const Error& error)
    {
        throw Placed(error, where);
    }
}

} // namespace cntk
