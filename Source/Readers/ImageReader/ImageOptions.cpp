// Reads and checks the blocks of images and labels.
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Text.h"
#include "Readers/ImageReader/ImageReader.h"

#include <algorithm>
#include <initializer_list>

namespace cntk
{
namespace
{

constexpr double c_mostPixels = 65535;

// Returns the only block of the reader that has one of the keys.
const ConfigParameters& FindTheBlock(const ConfigParameters& config, std::initializer_list<const char*> keys,
                                     const char* what, const char* example, std::string& name)
{
    for (const std::string& candidate : config.BlockNames())
    {
        const ConfigParameters& block = config.RequireBlock(candidate);
        const auto key =
            std::find_if(keys.begin(), keys.end(), [&](const char* each) { return block.ExistsHere(each); });
        if (key == keys.end())
            continue;
        if (!name.empty())
            FailAt(block.Where(), ErrorKind::Config, "'", name, "' and '", candidate, "' both have '", *key,
                   "'; expected one block of ", what);
        name = candidate;
    }
    if (name.empty())
        FailAt(config.Where(), ErrorKind::Config, "the reader has no block of ", what, "; expected one such as ",
               example, ", named as the network's input");
    return config.RequireBlock(name);
}

void CheckFeatures(const ConfigParameters& block, ImageFeatureOptions& options)
{
    if (options.channels != 1 && options.channels != 3)
        FailAt(block.WhereOf("channels"), ErrorKind::Config, "channels=", options.channels,
               "; expected 1 (gray) or 3 (blue, green, red)");
    const std::vector<double>& ratio = options.cropRatio;
    if (ratio.empty() || ratio.size() > 2 || ratio.front() > ratio.back())
        FailAt(block.WhereOf("cropRatio"), ErrorKind::Config, "cropRatio is '", block.Require("cropRatio").Text(),
               "'; expected a number, or the smallest and the largest as in 0.5:0.9");
    constexpr std::pair<const char*, Interpolation> names[] = {{"nearest", Interpolation::Nearest},
                                                               {"linear", Interpolation::Linear},
                                                               {"cubic", Interpolation::Cubic},
                                                               {"lanczos", Interpolation::Lanczos}};
    for (const std::string& wanted : options.interpolationNames)
    {
        const auto known = std::find_if(std::begin(names), std::end(names),
                                        [&](const auto& name) { return EqualsIgnoreCase(wanted, name.first); });
        if (known == std::end(names))
            FailAt(block.WhereOf("interpolations"), ErrorKind::Config, "interpolations: there is no '", wanted,
                   "'; expected one or several of nearest, linear, cubic, lanczos, separated by ':'");
        options.interpolations.push_back(known->second);
    }
    if (options.interpolations.empty())
        options.interpolations.push_back(Interpolation::Linear);
}

} // namespace

OptionTable<ImageFeatureOptions> ImageFeatureOptions::Options()
{
    using S = ImageFeatureOptions;
    return {
        Opt("width", &S::width, "Required. Width of the images after scaling", Range{1, c_mostPixels}).Required(),
        Opt("height", &S::height, "Required. Height of the images after scaling", Range{1, c_mostPixels}).Required(),
        Opt("channels", &S::channels, "Required. 3: blue, green, red; 1: gray").Required(),
        Choice("cropType", &S::cropType,
               {{"center", CropType::Center}, {"random", CropType::Random}, {"multiview10", CropType::MultiView10}},
               "Position of the square that is cropped. multiview10: each image counts as ten samples, the four "
               "corners and the centre, then the same flipped"),
        Opt("cropRatio", &S::cropRatio,
            "Side of the square, relative to the image's shorter side; min:max is a range for jitterType=uniratio",
            Range{.min = 0, .max = 1, .minOpen = true}),
        Choice("jitterType", &S::jitter, {{"none", false}, {"uniratio", true}},
               "none: use the smallest cropRatio; uniratio: draw it from its range for each image"),
        Opt("hflip", &S::flip, "Mirror each image with probability 1/2; default: only for cropType=random"),
        Opt("interpolations", &S::interpolationNames,
            "Interpolation that scales the square: nearest, linear, cubic or lanczos. Several are separated by ':'; "
            "one of them is drawn for each image"),
        Opt("meanFile", &S::meanFile,
            "OpenCV's XML file with a mean image (MeanImg, Channel, Row, Col), which is subtracted from the images if "
            "it has their size")
            .InputFile(),
        Choice("mbFormat", &S::planes, {{"nchw", true}, {"nhwc", false}, {"legacy", false}},
               "Order of the elements. nchw: x fastest, then y, then channel (imageLayout=CHW); nhwc, legacy: channel "
               "fastest, then x, then y"),
    };
}

OptionTable<ImageLabelOptions> ImageLabelOptions::Options()
{
    using S = ImageLabelOptions;
    return {
        Opt("labelDim", &S::labelDim, "Number of classes; required unless labelMappingFile is given",
            Range{1, double(INT32_MAX)}),
        Opt("labelMappingFile", &S::labelMappingFile,
            "File with the name of one class a line, by which the list names classes. A line of the list without a "
            "class "
            "has the class that its image's folder names")
            .InputFile(),
    };
}

OptionTable<ImageReaderOptions> ImageReaderOptions::Options()
{
    using S = ImageReaderOptions;
    return {
        Opt("file", &S::file,
            "Required. Text file with one image a line: its file, a tab, its class from 0. '...' at the start of a "
            "name stands for the folder of this file; photos.zip@/cats/1.jpg is a file inside an archive. Or a folder "
            "with one sub-folder of images a class, which the sub-folder names; the classes are sorted by name")
            .Required()
            .InputFile(),
        Choice("randomize", &S::randomize, {{"auto", true}, {"true", true}, {"none", false}, {"false", false}},
               "auto: shuffled in each sweep; none: in the order of the file"),
        Opt("grayscale", &S::grayscale, "Read images as gray; default: true if channels=1"),
        Opt("numCPUThreads", &S::threads, "Number of threads that decode and scale; 0: as many as the process may use"),
        Opt("seed", &S::seed, "Seed of the random crops, flips and interpolations"),
        Opt("prefetch", &S::prefetch, "Prefetch minibatches in a thread"),
        Opt("traceLevel", &S::traceLevel, "Amount of printing: 1 prints the number of images"),
    };
}

ImageConfig ReadImageConfig(const ReaderContext& context)
{
    const ConfigParameters& config = context.config;
    ImageConfig image;
    image.reader = ReadReaderOptions<ImageReaderOptions>(context);
    if (context.forWriting)
        image.reader.randomize = false;
    image.reader.file = ResolveInputPath(image.reader.file);
    image.fileWhere = config.WhereOf("file");

    const ConfigParameters& features =
        FindTheBlock(config, {"width"}, "images", "features=[width=28; height=28; channels=1]", image.featuresName);
    const ConfigParameters& labels =
        FindTheBlock(config, {"labelDim", "labelMappingFile"}, "labels", "labels=[labelDim=10]", image.labelsName);
    image.features = ReadOptions<ImageFeatureOptions>(features);
    image.labels = ReadOptions<ImageLabelOptions>(labels);
    CheckFeatures(features, image.features);
    image.meanFileWhere = features.WhereOf("meanFile");
    image.layoutSource = image.features.planes ? "mbFormat=nchw, which goes with imageLayout=CHW"
                                               : "mbFormat=nhwc, which goes with imageLayout=HWC";
    const SourcePos where = features.ExistsHere("mbFormat") ? features.WhereOf("mbFormat") : features.Where();
    if (where)
        image.layoutSource += Concat(", at ", where.Location());
    if (!image.features.meanFile.empty())
        image.features.meanFile = ResolveInputPath(image.features.meanFile);
    const bool isGray = image.reader.grayscale.value_or(image.features.channels == 1);
    if (isGray != (image.features.channels == 1))
        FailAt(config.WhereOf("grayscale"), ErrorKind::Config, "grayscale=", isGray ? "true" : "false",
               ", but channels=", image.features.channels, "; gray images have 1 channel, others 3");
    image.labelMappingWhere = labels.WhereOf("labelMappingFile");
    image.labelsSource = image.labels.labelDim != 0 ? Concat("'", image.reader.file, "', ",
                                                             SettingText(labels, "labelDim", image.labels.labelDim))
                                                    : Concat("'", image.reader.file, "'");
    return image;
}

void DescribeImageOptions(PluginDescription& description)
{
    AddOptions<ImageReaderOptions>(description, "");
    AddOptions<ImageFeatureOptions>(description, "features");
    AddOptions<ImageLabelOptions>(description, "labels");
}

void AddImageInputFiles(const ReaderContext& context, std::vector<ConfigValue>& files)
{
    AddInputFiles<ImageReaderOptions>(context, files);
    ReadImageConfig(context);
    for (const std::string& name : context.config.BlockNames())
    {
        const ConfigParameters& block = context.config.RequireBlock(name);
        if (block.ExistsHere("width"))
            AddInputFiles<ImageFeatureOptions>(block, files);
        else if (block.ExistsHere("labelMappingFile"))
            AddInputFiles<ImageLabelOptions>(block, files);
    }
}

} // namespace cntk
