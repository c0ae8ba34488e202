// Fuzz targets of ImageReader, where OpenCV was found: the list of images with its archive and mean file, and an image.
#include "Fuzz/FuzzTarget.h"

#ifdef CNTK_FUZZ_IMAGES

#include "Common/Config/ConfigParameters.h"
#include "Common/ReaderInterface.h"
#include "Readers/ImageReader/ImageReader.h"

namespace cntk
{

namespace
{

void ReadImages(const std::string& list, const std::string& meanFile)
{
    const std::unique_ptr<Log> log = MakeQuietLog();
    const auto config =
        ConfigParameters::Parse("reader=[\nprefetch=false\nrandomize=false\nnumCPUThreads=1\nfile=" + list +
                                    "\nf=[\nwidth=4\nheight=4\nchannels=3\n" + meanFile + "]\nl=[\nlabelDim=3\n]\n]\n",
                                "fuzz.cntk");
    ReadEpochs(*MakeImageReader<float>({config->RequireBlock("reader"), *log}));
}

// List, an archive that the list may name as ".../a.zip", mean file.
void FuzzImageList(std::string_view input)
{
    const std::vector<std::string_view> parts = PartsOf(input, 3);
    InputPath("a.zip", parts[1]);
    ReadImages(InputPath("map.txt", parts[0]),
               parts[2].empty() ? "" : "meanFile=" + InputPath("mean.xml", parts[2]) + "\n");
}

void FuzzImage(std::string_view input)
{
    ReadImages(InputPath("map.txt", InputPath("image", input) + "\t1\n"), "");
}

} // namespace

// An archive may promise an image of 1 GiB, which the limit of ImageList refuses.
std::vector<FuzzTarget> ImageTargets()
{
    constexpr size_t mega = size_t(1) << 20;
    return {{"ImageList", FuzzImageList, {5000, 1000 * mega}}, {"Image", FuzzImage, {5000, 1100 * mega}}};
}

} // namespace cntk

#else

namespace cntk
{

std::vector<FuzzTarget> ImageTargets()
{
    return {};
}

} // namespace cntk

#endif
