#include "ActionsLib/Commands/ErrorPlaces.h"

namespace cntk
{

void ThrowWithPlace(const NdlContext& context, const NodeError& error)
{
    const NdlPlace* const place = context.FindPlace(error.Node());
    if (place == nullptr)
        throw NodeError(error);
    Error placed = error.At(place->where);
    for (const std::string& caller : *place->callers)
        placed.AddNote(caller);
    throw placed;
}

std::string PlacePrefix(const NdlContext& context, const ComputationNode& node)
{
    const NdlPlace* const place = context.FindPlace(node);
    return place && place->where ? place->where.Location() + ": " : "";
}

} // namespace cntk
