// ImageReader: image files and their classes, cropped, scaled and shuffled.
#pragma once

#include "Common/Random.h"
#include "Common/ReaderInterface.h"
#include "Readers/ImageReader/ImageArchives.h"
#include "Readers/ReaderLib/LabelMap.h"
#include "Readers/ReaderLib/MinibatchPipe.h"
#include "Readers/ReaderLib/ReaderOptions.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
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
    size_t labelDim = 0; // 0: as many as the classes have names
    std::string labelMappingFile;

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
    SourcePos labelMappingWhere;
};

ImageConfig ReadImageConfig(const ReaderContext& context);
void DescribeImageOptions(PluginDescription& description);
void AddImageInputFiles(const ReaderContext& context, std::vector<ConfigValue>& files);

// A decoded image. Hides the types of OpenCV in one file.
struct DecodedImage;

class ImageTransform
{
public:
    // meanFileWhere: position for errors of the mean file.
    ImageTransform(const ImageFeatureOptions& options, bool isGray, const SourcePos& meanFileWhere);
    ~ImageTransform();

    // A warning about the mean image, or "".
    const std::string& Warning() const { return m_warning; }

    // Decodes the file and writes the column of one of its views. Thread-safe. Draws from `random` in the order: side,
    // place, mirror, interpolation. Returns a warning, or "".
    template <class ElemType>
    std::string Apply(const std::string& path, size_t view, std::mt19937& random, ElemType* target) const;

private:
    void ReadMean(const SourcePos& where);

    ImageFeatureOptions m_options;
    bool m_isGray;
    std::unique_ptr<DecodedImage> m_mean; // null: no mean is subtracted
    mutable ImageArchives m_archives;     // the open archives; thread-safe
    std::string m_warning;
};

// How classes are written: names of a map, or numbers.
struct ImageClasses
{
    std::optional<LabelMap> map; // without a map, sub-folders name the classes of a folder
    size_t labelDim = 0;
};

struct ImageList
{
    struct Image
    {
        std::string path;
        int32_t label = 0; // c_withoutClass in a folder without sub-folders
        size_t line = 0;   // of the list; 0: the image was found in a folder
    };

    static constexpr int32_t c_withoutClass = -1;

    std::string path;
    std::vector<Image> images;

    // Reads a list of lines "name<TAB>class", or a folder with one sub-folder of images a class. A line without a tab
    // has the class that its image's folder names. Images of a folder without sub-folders have no class. Fails (Data)
    // at other lines and at unknown classes.
    static ImageList Read(const std::string& path, ImageClasses& classes);
    // Returns the place that names the image, for messages.
    std::string PlaceOf(const Image& image) const;

private:
    static ImageList ReadFolder(const std::string& path, ImageClasses& classes);
};

template <class ElemType>
class ImageReader final : public IDataReader<ElemType>
{
public:
    explicit ImageReader(const ReaderContext& context);

    const std::vector<StreamInfo>& Streams() const override { return m_streams; }
    void StartEpoch(const EpochRequest& request) override;
    bool GetMinibatch(HostMinibatch<ElemType>& minibatch) override { return m_pipe.Next(minibatch); }
    size_t TotalSamples() override { return m_list.images.size() * m_config.features.Views(); }
    std::vector<std::string> CreateLabelMaps() override { return {}; }
    void VisitListedFiles(const ListedFileVisitor& visit) const override
    {
        for (const ImageList::Image& image : m_list.images)
            visit(ImageArchives::FileOf(image.path), "read as an image (" + m_list.PlaceOf(image) + ")");
    }

private:
    using Slot = MinibatchSlot<ElemType>;

    bool Fill(Slot& slot);
    void EnterSweep(size_t sweep);
    void FillImages(StreamBatch<ElemType>& batch);
    void FillLabels(StreamBatch<ElemType>& batch) const;
    void DecodeOne(size_t column, ElemType* target) const;

    Log& m_log;
    ImageConfig m_config;
    ImageClasses m_classes;
    ImageList m_list;
    ImageTransform m_transform;
    std::vector<StreamInfo> m_streams;
    std::vector<bool> m_wanted;

    // Positions count samples and continue from sweep to sweep; a sample is a view of an image.
    EpochRequest m_request;
    size_t m_position = 0;
    size_t m_epochEnd = 0;
    size_t m_sweep = SIZE_MAX;
    SeedStream m_augmentationSeeds;
    std::vector<uint32_t> m_order; // of a sweep; empty: the order of the list
    std::vector<size_t> m_samples; // of the minibatch
    size_t m_firstPosition = 0;    // of the minibatch

    MinibatchPipe<ElemType> m_pipe; // last: its thread uses the other members
};

template <class ElemType>
std::unique_ptr<IDataReader<ElemType>> MakeImageReader(const ReaderContext& context);

} // namespace cntk
