// Follows make mode over the models that earlier commands will have written.
#include "ActionsLib/Commands/TrainingPlan.h"

#include "ActionsLib/ActionTable.h"
#include "ActionsLib/Commands/CommandDevice.h"
#include "ActionsLib/Commands/CommandModels.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Text.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "ComputationNetwork/Nodes/PrecomputeNodes.h"

#include <vector>

namespace cntk
{

void RequireNoEpochOf(const TrainingFiles& files, std::optional<size_t> newest, const NamedFile& read,
                      const SourcePos& where)
{
    const std::string path = CanonicalPath(read.path), begin = CanonicalPath(files.FinalModel()) + ".";
    const auto epochs = path.starts_with(begin) ? ParseSize(std::string_view(path).substr(begin.size())) : std::nullopt;
    if (epochs && *epochs < files.MaxEpochs() && (!newest || *epochs > *newest))
        RequireNotRead({"modelPath", files.Model(*epochs)}, {read}, where);
}

TrainingPlan::TrainingPlan(const CommandContext& command, const TrainingRequest& request)
    : m_command(command), m_files(ResolveOutputPath(request.modelPath), request.options.maxEpochs),
      m_makeMode(request.makeMode)
{
}

std::optional<size_t> TrainingPlan::FindResumePoint() const
{
    return m_makeMode ? m_command.program.planned.FindResumePoint(m_files) : std::nullopt;
}

void TrainingPlan::RequireKept(const NamedFile& read, const SourcePos& where) const
{
    RequireNoEpochOf(m_files, FindResumePoint(), read, where);
}

bool TrainingPlan::BeginsWithPlannedModel() const
{
    const auto epochsDone = FindResumePoint();
    return epochsDone && *epochsDone != m_files.MaxEpochs() &&
           m_command.program.planned.Find(m_files.Model(*epochsDone)) != nullptr;
}

ComputationNetwork* TrainingPlan::Start(ComputationNetwork* made)
{
    m_network = made;
    const PlannedModels& planned = m_command.program.planned;
    const auto epochsDone = FindResumePoint();
    if (!epochsDone)
        return m_network;
    const std::string model = m_files.Model(*epochsDone);
    m_isOver = *epochsDone == m_files.MaxEpochs();
    m_firstWritten = *epochsDone + 1;
    if (m_isOver)
        return m_network;
    if (planned.Find(model) != nullptr)
    {
        m_command.program.log.Print("Command '%s' will go on with model %s\n", m_command.name.c_str(), model.c_str());
        m_loaded = LoadModelToCheck(m_command, model, DeviceOf(m_command));
        m_network = m_loaded.get();
        return m_network;
    }
    try
    {
        m_loaded = LoadModel(model, m_command.program.dataType, MakeCpuDevice({.threads = 1}));
    }
    catch (const Error&)
    {
        // Damaged, perhaps: the run will tell, and then goes on with an earlier one.
    }
    return m_network;
}

void TrainingPlan::Finish()
{
    if (m_isOver)
        return;
    ComputationNetwork* const network = m_loaded ? m_loaded.get() : m_network;
    // The training will have computed them, also where its data cannot be read before an earlier command has run.
    if (network != nullptr)
        for (const ComputationNodePtr& node : network->Nodes())
            if (auto* const statistics = dynamic_cast<PrecomputeNode*>(node.get());
                statistics != nullptr && !statistics->HasComputed())
                statistics->SetComputed(std::vector<double>(statistics->SampleElements()));
    m_command.program.planned.SaveTrained(m_files, m_firstWritten, network);
}

} // namespace cntk
