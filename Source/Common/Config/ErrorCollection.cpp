#include "Common/Config/ErrorCollection.h"

namespace cntk
{

void ErrorCollection::Add(const Error& error)
{
    if (!m_first)
    {
        m_first = error;
        return;
    }
    for (const std::string& note : error.Notes())
        m_first->AddNote(note);
    m_first->AddNote((error.Where() ? error.Where().Location() + ": " : std::string()) + error.Message());
}

void ErrorCollection::ThrowIfAny() const
{
    if (m_first)
        throw *m_first;
}

} // namespace cntk
