#include "SGD/Trainer/BestModel.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Log.h"

#include <string>

namespace cntk
{

BestModel::BestModel(TrainingSetup& setup, TrainingState& state, bool mayGoBack)
    : m_setup(setup), m_earlyStopping(state.earlyStopping), m_mayGoBack(mayGoBack)
{
}

bool BestModel::Exists() const
{
    return m_earlyStopping.IsOn() && m_earlyStopping.BestEpoch() > 0;
}

bool BestModel::HasStoppedAfter(size_t epochsDone) const
{
    return Exists() && m_earlyStopping.ShouldStop(epochsDone);
}

bool BestModel::StopsAfter(size_t epochsDone, double value)
{
    if (!m_earlyStopping.IsOn())
        return false;
    const std::string path = m_setup.files.BestModel();
    if (m_earlyStopping.Observe(epochsDone, value))
    {
        m_setup.SaveModelsAs(path);
        m_setup.log.Print("%s epoch %zu is the best so far (%.8g); its model is '%s'.\n",
                          m_earlyStopping.MayStop() ? "Early stopping:" : "keepModels:", epochsDone,
                          TrainingSetup::ToBeLowered(m_setup.DecisiveNode(), value), path.c_str());
    }
    return m_earlyStopping.ShouldStop(epochsDone);
}

void BestModel::Require()
{
    if (!Exists())
        return;
    const TrainingFiles& files = m_setup.files;
    const size_t epoch = m_earlyStopping.BestEpoch();
    const std::string path = files.BestModel(), same = files.Model(epoch);
    if (files.HasAll(path))
        return;
    // With AdjustAfterEpoch the model of an epoch may be an older one, which the rate control rolled back to.
    const bool isSame = !m_mayGoBack;
    if (!isSame || !files.HasAll(same))
        Fail(ErrorKind::Model, "the best model so far, '", path, "' of epoch ", epoch, ", is gone",
             isSame ? Concat(", and so is '", same, "', which could take its place") : "",
             "; put it back, or continue without it (earlyStopPatience=0), or start afresh (makeMode=false)");
    files.WaitForWorkers(); // all workers have checked the files
    for (size_t i = 0; i < files.Networks() && files.AreWrittenHere(); ++i)
    {
        const MappedFile model(files.OfNetwork(i, same));
        AtomicFile copy(files.OfNetwork(i, path));
        copy.Write(model.Text());
        copy.Commit();
    }
    files.WaitForWorkers();
    m_setup.log.Warn(Concat("the best model so far, '", path, "' of epoch ", epoch, ", is gone; '", same,
                            "' is the same model, and takes its place"));
}

void BestModel::Take(size_t epochsDone)
{
    if (!Exists() || !m_earlyStopping.MayStop())
        return;
    const size_t best = m_earlyStopping.BestEpoch();
    if (best != epochsDone || m_mayGoBack) // the rate control may have rolled back in that very epoch
    {
        Require();
        ReloadModels(m_setup.networks, m_setup.files, m_setup.files.BestModel());
    }
    m_setup.log.Tell("Early stopping: the best of %zu epochs was epoch %zu (%.8g); '%s' is its model.\n", epochsDone,
                     best, TrainingSetup::ToBeLowered(m_setup.DecisiveNode(), m_earlyStopping.Best()),
                     m_setup.files.FinalModel().c_str());
}

} // namespace cntk
