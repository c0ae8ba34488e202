#include "CNTK/Mistakes.h"

#include "ActionsLib/JobParts/ErrorPlaces.h"
#include "ActionsLib/JobParts/NetworkSource.h"
#include "ActionsLib/JobParts/ReaderSource.h"
#include "Common/Log.h"
#include "Common/Text.h"

#include <algorithm>

namespace cntk
{

void Mistakes::Add(const Error& error)
{
    // Several commands may meet one mistake of a block that they share.
    const auto isSame = [&](const Error& known)
    { return known.Message() == error.Message() && known.Where().Location() == error.Where().Location(); };
    const std::string asNote = (error.Where() ? error.Where().Location() + ": " : std::string()) + error.Message();
    const auto hasNote = [&](const Error& known)
    { return std::find(known.Notes().begin(), known.Notes().end(), asNote) != known.Notes().end(); };
    if (std::none_of(m_errors.begin(), m_errors.end(),
                     [&](const Error& known) { return isSame(known) || hasNote(known); }))
        m_errors.push_back(error);
}

void Mistakes::ThrowIfAny(Log& log) const
{
    if (m_errors.empty())
        return;
    if (m_errors.size() == 1)
        throw Error(m_errors[0]);
    for (const Error& error : m_errors)
        log.Tell("%s\n\n", error.Report().c_str());
    // Notes with a place are further mistakes of one block.
    size_t count = m_errors.size();
    for (const Error& error : m_errors)
        count += size_t(std::count_if(error.Notes().begin(), error.Notes().end(),
                                      [](const std::string& note) { return !note.starts_with("while "); }));
    const Error& first = m_errors[0];
    Fail(first.Kind(), "the check found ", count, " mistakes, which are described above; the first one is: ",
         first.Where() ? first.Where().Location() + ": " : std::string(), first.Message());
}

void FindFurtherMistakes(const CommandContext& command, const Action& action, Mistakes& mistakes)
{
    for (const BlockRecord& record : Blocks())
    {
        const bool isRead = std::find(action.blocks.begin(), action.blocks.end(), record.name) != action.blocks.end();
        if (record.check != nullptr && isRead)
            if (const ConfigParameters* const block = command.block.FindBlock(record.name))
                mistakes.Try([&] { record.check(*block); });
    }
    mistakes.Try([&] { RequireData(command, action); });
    if (std::find(action.blocks.begin(), action.blocks.end(), "NDLNetworkBuilder") != action.blocks.end())
        mistakes.Try(
            [&]
            {
                const std::unique_ptr<NetworkBuilder> builder = NetworkBuilder::Find(command);
                if (builder != nullptr)
                    AtPlacesOfNodes(command.program.ndl, [&] { builder->Validate(command.program); });
            });
    if (const auto model = command.block.Find("modelPath"); model && !model->Text().empty())
        command.program.outputs.Add(command.name, {model->Text()});
}

} // namespace cntk
