// Fuzz targets of ImageReader, where OpenCV was found: the list of images, and an image.
#include "Fuzz/FuzzTarget.h"

#ifdef CNTK_FUZZ_IMAGES

#include "Common/Config/ConfigParameters.h"
#include "Common/ReaderInterface.h"
#include "Readers/ImageReader/ImageReader.h"

namespace cntk
{

namespace
{

void ReadImages(const std::string& list)
{
    const std::unique_ptr<Log> log = MakeQuietLog();
    const auto config =
        ConfigParameters::Parse("reader=[\nprefetch=false\nrandomize=false\nnumCPUThreads=1\nfile=" + list +
                                    "\nf=[\nwidth=4\nheight=4\nchannels=3\n]\nl=[\nlabelDim=3\n]\n]\n",
                                "fuzz.cntk");
    ReadEpochs(*MakeImageReader<float>({config->RequireBlock("reader"), *log}));
}

void FuzzImageList(std::string_view input)
{
    ReadImages(InputPath("map.txt", input));
}

void FuzzImage(std::string_view input)
{
    ReadImages(InputPath("map.txt", InputPath("image", input) + "\t1\n"));
}

} // namespace

std::vector<FuzzTarget> ImageTargets()
{
    constexpr size_t mega = size_t(1) << 20;
    return {{"ImageList", FuzzImageList, {400, 24 * mega}}, {"Image", FuzzImage, {5000, 1100 * mega}}};
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
