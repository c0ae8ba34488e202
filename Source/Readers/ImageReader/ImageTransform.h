// From a file to the columns of a minibatch: decode, cut out, mirror, scale, subtract the mean, order the elements.
#pragma once

#include "Readers/ImageReader/ImageArchives.h"
#include "Readers/ImageReader/ImageOptions.h"

#include <memory>
#include <random>
#include <string>

namespace cntk
{

// A decoded image. What it is made of is OpenCV's business, which stays in one file.
struct DecodedImage;

class ImageTransform
{
public:
    // meanFileWhere: for errors of the mean file.
    ImageTransform(const ImageFeatureOptions& options, bool isGray, const SourcePos& meanFileWhere);
    ~ImageTransform();

    // What is left to say about the mean image: "" or a warning.
    const std::string& Warning() const { return m_warning; }

    // Decodes the file and writes the column of one of its views. Threads may call it at once.
    // Random draws come from `random`, in the order: side, place, mirror, interpolation.
    // Returns what is to be warned of: "" where nothing is.
    template <class ElemType>
    std::string Apply(const std::string& path, size_t view, std::mt19937& random, ElemType* target) const;

private:
    void ReadMean(const SourcePos& where);

    ImageFeatureOptions m_options;
    bool m_isGray;
    std::unique_ptr<DecodedImage> m_mean; // null: nothing to subtract
    mutable ImageArchives m_archives;     // what is open; guards itself
    std::string m_warning;
};

} // namespace cntk
