// The parameters of ImageReader: of the reader block, of the block of images and of the block of labels.
#pragma once

#include "Common/ReaderInterface.h"
#include "Readers/ReaderLib/ReaderOptions.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace cntk
{

enum class CropType
{
    Center,
    Random,
    MultiView10
};

enum class Interpolation
{
    Nearest,
    Linear,
    Cubic,
    Lanczos
};

struct ImageFeatureOptions
{
    static constexpr size_t c_views = 10;

    size_t width = 0;
    size_t height = 0;
    size_t channels = 0;
    CropType cropType = CropType::Center;
    std::vector<double> cropRatio{1.0}; // one ratio, or the smallest and the largest
    bool jitter = false;
    std::optional<bool> flip;
    std::vector<std::string> interpolationNames{"linear"};
    std::string meanFile;
    bool planes = true; // true: channel after channel; false: the channels of a pixel together

    std::vector<Interpolation> interpolations; // parsed interpolationNames

    size_t Elements() const { return width * height * channels; }
    // Number of samples that an image counts as.
    size_t Views() const { return cropType == CropType::MultiView10 ? c_views : 1; }
    bool Flips() const { return flip.value_or(cropType == CropType::Random); }

    static OptionTable<ImageFeatureOptions> Options();
};

struct ImageLabelOptions
{
    size_t labelDim = 0;

    static OptionTable<ImageLabelOptions> Options();
};

struct ImageReaderOptions
{
    std::string file;
    bool randomize = true;
    std::optional<bool> grayscale;
    size_t threads = 0;
    size_t seed = 0;
    bool prefetch = true;
    int traceLevel = 0;

    static OptionTable<ImageReaderOptions> Options();
};

struct ImageConfig
{
    ImageReaderOptions reader;
    ImageFeatureOptions features;
    ImageLabelOptions labels;
    std::string featuresName;
    std::string labelsName;
    std::string labelsSource; // for messages
    std::string layoutSource; // mbFormat and its place, for messages
    SourcePos fileWhere;
    SourcePos meanFileWhere;
};

ImageConfig ReadImageConfig(const ReaderContext& context);
void DescribeImageOptions(PluginDescription& description);
void AddImageInputFiles(const ReaderContext& context, std::vector<ConfigValue>& files);

} // namespace cntk
