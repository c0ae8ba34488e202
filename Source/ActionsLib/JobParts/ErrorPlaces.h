// Adds places to errors: the line of the network description that makes a node, or the config line of a value.
#pragma once

#include "ActionsLib/Ndl/NdlBuilder.h"
#include "Common/Error.h"
#include "ComputationNetwork/NodeError.h"

#include <string>

namespace cntk
{

// Throws the error with the node's place in the network description and the macros around it. Nodes from model files
// have no place; their errors are thrown unchanged.
[[noreturn]] inline void ThrowWithPlace(const NdlContext& context, const NodeError& error)
{
    const NdlPlace* const place = context.FindPlace(error.Node());
    if (place == nullptr)
        throw NodeError(error);
    Error placed = error.At(place->where);
    for (const std::string& caller : *place->callers)
        placed.AddNote(caller);
    throw placed;
}

// "file:3:4: " for a node that the network description makes, else "".
inline std::string PlacePrefix(const NdlContext& context, const ComputationNode& node)
{
    const NdlPlace* const place = context.FindPlace(node);
    return place && place->where ? place->where.Location() + ": " : "";
}

// Runs body; errors about a node get the node's place.
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

// Runs body; errors without a place get this one. Errors of the device keep none.
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
