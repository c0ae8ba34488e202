// Decoding and transforming images with OpenCV.
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/ImageHeader.h"
#include "Readers/ImageReader/ImageReader.h"

#include <algorithm>
#include <cstdint>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <string_view>
#include <vector>

namespace cntk
{

struct DecodedImage
{
    cv::Mat pixels;
};

namespace
{

int CodeOf(Interpolation interpolation)
{
    switch (interpolation)
    {
    case Interpolation::Nearest:
        return cv::INTER_NEAREST;
    case Interpolation::Linear:
        return cv::INTER_LINEAR;
    case Interpolation::Cubic:
        return cv::INTER_CUBIC;
    case Interpolation::Lanczos:
        break;
    }
    return cv::INTER_LANCZOS4;
}

std::vector<char> ReadImage(const std::string& path, ImageArchives& archives)
{
    if (!FileExists(path) && ImageArchives::IsInArchive(path))
        return archives.Read(path);
    if (!FileExists(path))
        Fail(ErrorKind::Data, "image '", path, "' does not exist", NearFilesHint(path));
    const PiecewiseFile file(path);
    if (file.Size() == 0)
        Fail(ErrorKind::Data, "image '", path, "' is empty");
    std::vector<char> bytes(file.Size());
    file.Read(0, bytes.data(), bytes.size());
    return bytes;
}

constexpr std::string_view c_endOfJpeg = "\xFF\xD9";

// True for a JPEG file without its end marker.
bool EndsEarly(const std::vector<char>& bytes)
{
    constexpr std::string_view begin = "\xFF\xD8\xFF";
    constexpr char marker = '\xFF', scan = '\xDA';
    const std::string_view text(bytes.data(), bytes.size());
    if (!text.starts_with(begin))
        return false;
    // Skips the segments before the pixels, because one may contain a thumbnail. A marker byte may be repeated.
    size_t at = 2;
    while (at + 4 <= text.size() && text[at] == marker && text[at + 1] != scan)
        at += text[at + 1] == marker ? 1 : 2 + (size_t(uint8_t(text[at + 2])) << 8 | uint8_t(text[at + 3]));
    return at >= text.size() || text.find(c_endOfJpeg, at) == std::string_view::npos;
}

// Fails (Data) if the decoded pixels take more than 128 MiB and 1000 bytes for each byte of the file. OpenCV allocates
// all pixels that a header promises before it reads the first one. It limits the pixels of other formats to 2^30.
void RequireLikelySize(std::string_view file, const std::string& path)
{
    constexpr size_t channels = 3;
    const size_t mostPixels = ((size_t(128) << 20) + 1000 * file.size()) / channels;
    const std::optional<ImageHeader> header = ReadImageHeader(file);
    if (header && header->height != 0 && header->width > mostPixels / header->height)
        Fail(ErrorKind::Data, "image '", path, "' is damaged: it promises ", header->width, " x ", header->height,
             " pixels; expected at most ", mostPixels, " pixels in ", file.size(), " bytes");
}

cv::Mat Decode(const std::string& path, std::vector<char>& bytes, bool isGray)
{
    if (bytes.size() > INT32_MAX)
        Fail(ErrorKind::Data, "image '", path, "' has ", bytes.size(), " bytes; at most ", INT32_MAX,
             " can be decoded");
    RequireLikelySize({bytes.data(), bytes.size()}, path);
    const cv::Mat data(1, int(bytes.size()), CV_8UC1, bytes.data()); // some decoders refuse signed bytes
    cv::Mat pixels;
    std::string reason;
    try
    {
        pixels = cv::imdecode(data, isGray ? cv::IMREAD_GRAYSCALE : cv::IMREAD_COLOR);
    }
    catch (const cv::Exception& exception)
    {
        reason = ": " + exception.err;
    }
    if (pixels.empty())
        Fail(ErrorKind::Data, "image '", path,
             "' cannot be decoded: it is damaged, or in a format that OpenCV does not read", reason);
    return pixels;
}

// Returns the square to crop.
cv::Rect Square(const ImageFeatureOptions& options, const cv::Mat& image, size_t view, std::mt19937& random)
{
    double ratio = options.cropRatio.front();
    if (options.jitter && options.cropRatio.back() > ratio)
        ratio = std::uniform_real_distribution<double>(ratio, options.cropRatio.back())(random);
    const int side = std::max(1, int(std::min(image.rows, image.cols) * ratio));
    const int right = image.cols - side;
    const int bottom = image.rows - side;
    int x = right / 2;
    int y = bottom / 2;
    if (options.cropType == CropType::Random)
    {
        x = std::uniform_int_distribution<int>(0, right)(random);
        y = std::uniform_int_distribution<int>(0, bottom)(random);
    }
    const size_t corner = view % (ImageFeatureOptions::c_views / 2);
    if (options.cropType == CropType::MultiView10 && corner < 4)
    {
        x = corner % 2 == 0 ? 0 : right;
        y = corner < 2 ? 0 : bottom;
    }
    return {x, y, side, side};
}

} // namespace

ImageTransform::ImageTransform(const ImageFeatureOptions& options, bool isGray, const SourcePos& meanFileWhere)
    : m_options(options), m_isGray(isGray)
{
    cv::setNumThreads(1); // the reader's own threads process one image each
    if (!options.meanFile.empty())
        ReadMean(meanFileWhere);
}

ImageTransform::~ImageTransform() = default;

void ImageTransform::ReadMean(const SourcePos& where)
{
    const std::string& path = m_options.meanFile;
    if (!FileExists(path))
        FailAt(where, ErrorKind::Data, "meanFile '", path, "' does not exist", NearFilesHint(path));
    const std::string text = WithPosition(where, [&] { return ReadTextFile(path); });
    const auto failToRead = [&]
    { FailAt(where, ErrorKind::Data, "meanFile '", path, "' cannot be read: it is no XML file of OpenCV"); };
    if (text.find('\0') != std::string::npos) // ends OpenCV's parser
        failToRead();
    cv::Mat mean;
    int channels = 0;
    int rows = 0;
    int columns = 0;
    try
    {
        const cv::FileStorage file(text, cv::FileStorage::READ | cv::FileStorage::MEMORY);
        if (!file.isOpened())
            failToRead();
        // OpenCV allocates all elements that the file promises before it reads them.
        const cv::FileNode image = file["MeanImg"];
        if (double(image["rows"]) * double(image["cols"]) > double(text.size()))
            FailAt(where, ErrorKind::Data, "meanFile '", path, "' is damaged: it promises ", double(image["rows"]),
                   " x ", double(image["cols"]), " elements in ", text.size(), " bytes");
        image >> mean;
        file["Channel"] >> channels;
        file["Row"] >> rows;
        file["Col"] >> columns;
    }
    catch (const cv::Exception&)
    {
        failToRead();
    }
    if (mean.empty() || channels <= 0 || rows <= 0 || columns <= 0)
        FailAt(where, ErrorKind::Data, "meanFile '", path, "' does not have all of MeanImg, Channel, Row and Col");
    const size_t elements = mean.total() * size_t(mean.channels());
    if (elements != size_t(channels) * size_t(rows) * size_t(columns))
        FailAt(where, ErrorKind::Data, "meanFile '", path, "': MeanImg has ", elements,
               " elements, but Channel x Row x Col is ", channels, " x ", rows, " x ", columns);
    if (size_t(channels) != m_options.channels || size_t(rows) != m_options.height ||
        size_t(columns) != m_options.width)
    {
        m_warning = Concat("the mean image of '", path, "' (width ", columns, ", height ", rows, ", channels ",
                           channels, ") does not have the size of the images (", m_options.width, ", ",
                           m_options.height, ", ", m_options.channels, "); it is not subtracted");
        return;
    }
    m_mean = std::make_unique<DecodedImage>();
    mean.reshape(channels, rows).convertTo(m_mean->pixels, CV_64F);
    if (!cv::checkRange(m_mean->pixels))
        FailAt(where, ErrorKind::Data, "meanFile '", path, "': MeanImg has a NaN or infinite element");
}

template <class ElemType>
std::string ImageTransform::Apply(const std::string& listed, size_t view, std::mt19937& random, ElemType* target) const
{
    constexpr int depth = cv::DataType<ElemType>::depth;
    const std::string path = ResolveInputPath(listed);
    std::vector<char> bytes = ReadImage(path, m_archives);
    const bool endsEarly = EndsEarly(bytes);
    if (endsEarly) // otherwise OpenCV would not decode the existing part
        bytes.insert(bytes.end(), c_endOfJpeg.begin(), c_endOfJpeg.end());
    const cv::Mat image = Decode(path, bytes, m_isGray);
    cv::Mat pixels;
    image(Square(m_options, image, view, random)).convertTo(pixels, depth);
    const bool isMultiView = m_options.cropType == CropType::MultiView10;
    if (isMultiView ? view >= ImageFeatureOptions::c_views / 2 : m_options.Flips() && (random() & 1u) != 0)
        cv::flip(pixels, pixels, 1);
    const std::vector<Interpolation>& interpolations = m_options.interpolations;
    const size_t drawn =
        interpolations.size() == 1 ? 0 : std::uniform_int_distribution<size_t>(0, interpolations.size() - 1)(random);
    const cv::Size size(int(m_options.width), int(m_options.height));
    if (pixels.size() != size)
    {
        cv::Mat scaled;
        cv::resize(pixels, scaled, size, 0, 0, CodeOf(interpolations[drawn]));
        pixels = scaled;
    }
    if (m_mean)
        cv::subtract(pixels, m_mean->pixels, pixels, cv::noArray(), depth);

    const size_t channels = m_options.channels;
    const size_t plane = m_options.width * m_options.height;
    for (size_t y = 0; y < m_options.height; ++y)
    {
        const ElemType* source = pixels.ptr<ElemType>(int(y));
        if (!m_options.planes)
        {
            std::copy_n(source, m_options.width * channels, target + y * m_options.width * channels);
            continue;
        }
        for (size_t channel = 0; channel < channels; ++channel)
        {
            ElemType* line = target + channel * plane + y * m_options.width;
            for (size_t x = 0; x < m_options.width; ++x)
                line[x] = source[x * channels + channel];
        }
    }
    if (!endsEarly)
        return {};
    return Concat("image '", path, "' is damaged: the JPEG file has no end; the missing part is filled in");
}

template std::string ImageTransform::Apply<float>(const std::string&, size_t, std::mt19937&, float*) const;
template std::string ImageTransform::Apply<double>(const std::string&, size_t, std::mt19937&, double*) const;

} // namespace cntk
