// The best model of a training. It is saved as modelPath.best. With early stopping it becomes the final model.
#pragma once

#include "SGD/Trainer/TrainingSetup.h"

#include <cstddef>

namespace cntk
{

class BestModel
{
public:
    // Both references must outlive this. mayGoBack: the model of an epoch may be an older one, because the rate control
    // rolled back.
    BestModel(TrainingSetup& setup, TrainingState& state, bool mayGoBack);

    // Saves the model after epochsDone epochs if its value is the best so far. True if the value has not improved for
    // too long.
    bool StopsAfter(size_t epochsDone, double value);
    // True if there is a best model and the training stopped after so many epochs because nothing had improved for too
    // long.
    bool HasStoppedAfter(size_t epochsDone) const;
    // Restores the file of the best model if it is missing and the model of its epoch is the same. Fails if neither
    // exists.
    void Require();
    // Loads the best model into the networks when the training ends after so many epochs.
    void Take(size_t epochsDone);

private:
    bool Exists() const;

    TrainingSetup& m_setup;
    EarlyStopping& m_earlyStopping;
    bool m_mayGoBack;
};

} // namespace cntk
