// The program's whole training of a graph: epochs, control of the learning rate, checkpoints and the log (sheet 9.2).
#pragma once

#include "Api/DataSource.h"
#include "Api/Node.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cntk::Api
{

struct WholeTraining
{
    std::vector<NodePtr> roots; // criterion and evaluations by tag
    std::string sgd;            // the options of the SGD block, as text
    std::string modelPath;      // models, checkpoints
    std::string logPath;        // the log goes to this file
    // Opens the data; called once, or again where the training reads in two passes.
    std::function<std::shared_ptr<DataSource>()> open;
    std::map<std::string, NodePtr> streams; // the input that each stream of the data feeds
    std::function<bool()> stopRequested;    // asked after each minibatch
};

// Trains. Afterwards the parameters of the graph have the values of the final model. Fails as the program does; throws
// Interrupted if a stop was requested.
void Train(Context& context, const WholeTraining& training);

// The options of the SGD block: name, default and documentation.
struct OptionText
{
    std::string name, defaultText, doc;
    std::vector<std::string> aliases;
};
std::vector<OptionText> SgdOptionTexts();

} // namespace cntk::Api
