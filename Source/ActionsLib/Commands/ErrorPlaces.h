// Errors get their place in what the user wrote: in the network description, or where a config names what is wrong.
#pragma once

#include "ActionsLib/Ndl/NdlBuilder.h"
#include "Common/Error.h"
#include "ComputationNetwork/ComputationNode.h"

#include <string>

namespace cntk
{

// With the place of the node in the network description of this run and the macros around it; as it is, if the node
// does not come from one.
[[noreturn]] void ThrowWithPlace(const NdlContext& context, const NodeError& error);

// "file:3:4: " of a node that the network description of this run makes; "" of others.
std::string PlacePrefix(const NdlContext& context, const ComputationNode& node);

// Runs body; what a node is to blame for gets the place of the node in the network description of this run.
template <class Body>
void AtPlacesOfNodes(const NdlContext& context, Body&& body)
{
    try
    {
        body();
    }
    catch (const NodeError& error)
    {
        ThrowWithPlace(context, error);
    }
}

// An error without a place passing through gets this one, unless it is the machine's.
template <class Body>
auto AtPlace(Body&& body, const SourcePos& where) -> decltype(body())
{
    try
    {
        return body();
    }
    catch (const Error& error)
    {
        if (error.Where() || !where || error.Kind() == ErrorKind::Device)
            throw;
        throw error.At(where);
    }
}

} // namespace cntk
