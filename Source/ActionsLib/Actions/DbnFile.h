// The content of files of dbn.exe, a trainer of deep belief networks.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cntk
{

struct DbnMatrix
{
    size_t rows = 0;
    size_t columns = 0;
    std::vector<double> values; // column by column
};

struct DbnLayer
{
    std::string type;
    DbnMatrix weights; // outputs x inputs
    std::vector<double> bias;

    // Layers of other types have a non-linearity.
    bool IsLinear() const { return type == "perceptron" || type == "rbmisalinearbernoulli"; }
};

struct DbnModel
{
    std::string comment;
    std::vector<double> mean; // of the features, or of one frame of a window
    std::vector<double> deviation;
    std::vector<DbnLayer> layers;
    std::vector<double> prior; // of the classes, if the last layer is a perceptron

    size_t InputSize() const { return layers.front().weights.columns; }
    bool EndsInPerceptron() const { return layers.back().type == "perceptron"; }
};

// Fails (Model) with the byte position if the file is no DBN file, is truncated, or holds sizes that do not fit.
DbnModel ReadDbnFile(const std::string& path);
void WriteDbnFile(const DbnModel& model, const std::string& path);

} // namespace cntk
