// The best model of a training with early stopping: kept as modelPath.best, and the final one in the end.
#pragma once

#include "SGD/TrainingParts.h"

#include <cstddef>

namespace cntk
{

class BestModel
{
public:
    // Both must outlive this. mayGoBack: the model of an epoch may be an older one, which the rate's control went back
    // to.
    BestModel(TrainingParts& parts, TrainingState& state, bool mayGoBack);

    // Of so many epochs, with the value that decides: keeps the model if it is the best so far. True when nothing
    // became better for too long.
    bool StopsAfter(size_t epochsDone, double value);
    // There was one, and nothing had become better for too long when the training was stopped after so many epochs.
    bool HasStoppedAfter(size_t epochsDone) const;
    // Has the file be there, if there is a best model. Somebody may have removed it: the model of its epoch is the
    // same, and becomes it; else an Error.
    void Require();
    // The training is over after so many epochs: its networks are the best ones, not the last.
    void Take(size_t epochsDone);

private:
    bool IsThere() const;

    TrainingParts& m_parts;
    EarlyStopping& m_earlyStopping;
    bool m_mayGoBack;
};

} // namespace cntk
