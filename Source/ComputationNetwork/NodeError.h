// Errors with the node that caused them. Callers that know where the user described the node, such as builders, add its
// origin.
#pragma once

#include "Common/Error.h"
#include "ComputationNetwork/ComputationNode.h"

#include <memory>
#include <utility>

namespace cntk
{

class NodeError final : public Error
{
public:
    NodeError(ErrorKind kind, std::string message, const ComputationNode& node)
        : Error(kind, std::move(message)), m_node(node.shared_from_this())
    {
    }
    NodeError(const Error& error, const ComputationNode& node) : Error(error), m_node(node.shared_from_this()) {}

    const ComputationNode& Node() const { return *m_node; }

private:
    std::shared_ptr<const ComputationNode> m_node;
};

template <class... Parts>
[[noreturn]] void FailOf(const ComputationNode& node, ErrorKind kind, const Parts&... parts)
{
    throw NodeError(kind, Concat(parts...), node);
}

// Runs body. Rethrows an error of the data, such as an invalid word label, as an error of the node with note() added.
template <class Body, class Note>
void TellDataErrorsOf(const ComputationNode& node, Body&& body, Note&& note)
{
    try
    {
        body();
    }
    catch (const NodeError&)
    {
        throw;
    }
    catch (const Error& error)
    {
        if (error.Kind() != ErrorKind::Data)
            throw;
        NodeError told(error, node);
        told.AddNote(note());
        throw told;
    }
}

} // namespace cntk
