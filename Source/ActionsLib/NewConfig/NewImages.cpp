// Lists of images, and a convolutional network for their size.
#include "ActionsLib/NewConfig/NewImages.h"

#include "ActionsLib/NewConfig/NewFiles.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/ImageHeader.h"
#include "Common/Text.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>

namespace cntk
{

namespace
{

namespace fs = std::filesystem;

constexpr size_t c_largestSide = 64; // larger images are scaled down
constexpr size_t c_imagesToInspect = 200;
constexpr const char* c_imageEndings[] = {".png", ".jpg", ".jpeg", ".bmp",  ".ppm",
                                          ".pgm", ".pnm", ".tif",  ".tiff", ".webp"};

struct FoundImages
{
    std::vector<std::string> classes; // sorted
    std::vector<std::string> lines;   // path, tab, class
    std::vector<size_t> classIds;     // of each line
    size_t side = 0;                  // of the network's input, which is a square
    size_t channels = 1;
};

std::vector<std::string> EntriesOf(const std::string& folder, bool wantsFolders)
{
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    {
        const std::string name = entry.path().filename().string();
        const std::string ending = ToLower(entry.path().extension().string());
        const bool isImage =
            std::find(std::begin(c_imageEndings), std::end(c_imageEndings), ending) != std::end(c_imageEndings);
        if (!name.starts_with('.') && (wantsFolders ? entry.is_directory() : entry.is_regular_file() && isImage))
            names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
}

std::optional<ImageHeader> HeaderOf(const std::string& path)
{
    constexpr size_t c_bytesToRead = size_t(1) << 16;
    const PiecewiseFile file(path);
    std::string bytes(std::min(file.Size(), c_bytesToRead), '\0');
    file.Read(0, bytes.data(), bytes.size());
    return ReadImageHeader(bytes);
}

FoundImages FindImages(const std::string& folder)
{
    FoundImages found;
    size_t smallest = SIZE_MAX;
    for (const std::string& name : EntriesOf(folder, true))
    {
        const std::vector<std::string> images = EntriesOf(folder + "/" + name, false);
        if (images.empty())
            continue;
        for (size_t i = 0; i < images.size(); ++i)
        {
            const std::string path = folder + "/" + name + "/" + images[i];
            found.lines.push_back(path + "\t" + name);
            found.classIds.push_back(found.classes.size());
            if (i >= c_imagesToInspect)
                continue;
            if (const std::optional<ImageHeader> header = HeaderOf(path))
            {
                smallest = std::min({smallest, header->width, header->height});
                found.channels = std::max(found.channels, header->channels);
            }
        }
        found.classes.push_back(name);
    }
    if (smallest == SIZE_MAX)
        found.channels = 3;
    found.side = std::min(smallest, c_largestSide);
    return found;
}

std::string ImageReaderText(const FoundImages& images, const char* block, DataPart part)
{
    return Concat("  ", block, "=[\n    readerType=ImageReader\n    file=$Folder$/", c_partNames[part],
                  ".txt\n    features=[ width=", images.side, "; height=", images.side, "; channels=", images.channels,
                  " ]\n    labels=[ labelDim=", images.classes.size(),
                  "; labelMappingFile=$Folder$/labels.txt ]\n  ]\n");
}

// Each convolution with pooling halves the image; small images have one pooling.
std::string ConvolutionText(const FoundImages& images)
{
    std::string text = "      c1 = ConvLayer(x, 16)\n";
    size_t side = images.side, maps = 16, number = 1;
    std::string last = "c1";
    while (side >= 8 && number < 4)
    {
        const std::string pool = Concat("p", number);
        if (number > 1 || images.side >= 16)
        {
            text += Concat("      ", pool, " = MaxPooling(", last, ", 2, 2, 2, 2, imageLayout=CHW)\n");
            last = pool;
            side /= 2;
        }
        if (side < 8 && number > 1)
            break;
        maps *= 2;
        ++number;
        text += Concat("      c", number, " = ConvLayer(", last, ", ", maps, ")\n");
        last = Concat("c", number);
    }
    return text +
           Concat("      h = Layer(", last,
                  ", 128, 7)\n      s = RectifiedLinear(h)\n"
                  "      d = Dropout(s)                          # dropoutRate of SGD; small data sets need it\n");
}

std::string ImageNetworkText(const FoundImages& images)
{
    return Concat(
        "  NDLNetworkBuilder=[\n    run=network\n    load=macros\n    macros=[\n"
        "      ConvLayer(image, maps)                  # 3 x 3, with zeros around the image, and a bias for each map\n"
        "      {\n"
        "        W = Parameter(maps, 0, init=gaussian, initValueScale=7)\n"
        "        b = ImageParameter(1, 1, maps, init=fixedValue, value=0, imageLayout=CHW)\n"
        "        c = Convolution(W, image, 3, 3, maps, 1, 1, zeroPadding=true, imageLayout=CHW)\n"
        "        y = RectifiedLinear(Plus(c, b))\n"
        "      }\n"
        "      Layer(x, units, scale)                  # weights * x + bias; scale: of the start values\n"
        "      {\n"
        "        W = Parameter(units, 0, init=gaussian, initValueScale=scale)\n"
        "        b = Parameter(units, init=fixedValue, value=0)\n"
        "        z = Plus(Times(W, x), b)\n"
        "      }\n    ]\n    network=[\n      Classes = ",
        images.classes.size(), "\n      features = ImageInput(", images.side, ", ", images.side, ", ", images.channels,
        ", imageLayout=CHW, tag=feature)\n      labels = Input(Classes, tag=label)\n"
        "      x = Scale(0.00392157, features)         # pixels are 0..255; the network needs small numbers\n",
        ConvolutionText(images),
        "      z = Layer(d, Classes, 1)\n"
        "      loss = CrossEntropyWithSoftmax(labels, z, tag=criterion)\n"
        "      error = ErrorPrediction(labels, z, tag=eval)\n"
        "      posteriors = Softmax(z, tag=output)     # a probability for each class\n    ]\n  ]\n");
}

std::string ImageConfigText(const FoundImages& images, const NewFiles& files, const std::string& data,
                            const std::vector<std::string>& assumptions, size_t trainingImages)
{
    constexpr double c_rate = 0.002;
    TrainingSizes sizes = SizesOf(trainingImages, c_rate);
    sizes.epochs = std::min<size_t>(sizes.epochs, 30);
    sizes.rates = Concat(c_rate, "*", sizes.epochs / 2, ":", c_rate * 0.3, "*", sizes.epochs / 4, ":", c_rate * 0.1);
    std::string sgd = SgdText(sizes);
    sgd.insert(sgd.find("    keepModels"), "    dropoutRate=0.3\n");
    return HeadText(files, data, assumptions, "Train:Test:Predict") + "Train=[\n  action=train\n" +
           ImageNetworkText(images) + sgd + ImageReaderText(images, "reader", TrainingPart) +
           "  # Validation data choose the best model.\n" + ImageReaderText(images, "cvReader", ValidationPart) +
           "]\n\n# Error on images that the training has not seen\nTest=[\n  action=test\n" + c_classTest +
           ImageReaderText(images, "reader", TestPart) +
           "]\n\n# Probabilities of the classes, in the order of labels.txt, a line for each image of test.txt.\n" +
           NewDataText(files, "new", "a folder of images, or a list with one file a line") +
           "Predict=[\n  action=write\n  outputPath=$Folder$/predictions\n" +
           ImageReaderText(images, "reader", TestPart) + "]\n";
}

} // namespace

std::string WriteImageConfig(const NewConfigRequest& request)
{
    std::string folder = request.data;
    while (folder.size() > 1 && folder.ends_with('/'))
        folder.pop_back();
    const FoundImages images = FindImages(folder);
    if (images.classes.size() < 2)
        Fail(ErrorKind::Data, "'", request.data, "' is a folder with ", Counted(images.classes.size(), "sub-folder"),
             " of images; expected two or more, one for each class. For a table or a text give the file");
    if (images.lines.size() < 10)
        Fail(ErrorKind::Data, "'", request.data, "' has ", Counted(images.lines.size(), "image"),
             "; expected 10 or more, to split them into training, validation and test data");
    const std::vector<std::string_view> records(images.lines.begin(), images.lines.end());
    const DataSplit split = SplitRecords(records, images.classIds);
    NewFiles files(request.config, ".txt");
    const std::array<std::string, DataParts> parts = TextsOfParts(records, split, "");
    for (size_t part = 0; part < DataParts; ++part)
        files.Add(Concat(c_partNames[part], ".txt"), parts[part]);
    files.Add("labels.txt", LabelMapText(images.classes));
    const std::vector<std::string> assumptions = {
        Concat(images.lines.size(), " images of ", images.classes.size(),
               " classes, named as their folders: ", Join(images.classes, ", ")),
        Concat("the network sees ", images.side, " x ", images.side, " pixels, ",
               images.channels == 1 ? "gray" : "in colour",
               ": the square in the middle of each image, scaled; values are scaled to 0..1"),
        split.InWords("image")};
    files.AddConfig(ImageConfigText(images, files, request.data, assumptions, split.counts[TrainingPart]));
    files.Write();
    return ReportText(files, request.data, assumptions);
}

} // namespace cntk
