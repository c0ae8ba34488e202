// Turns a file into columns of a minibatch: decodes, crops, mirrors, scales, subtracts the mean, orders the elements.
#pragma once

#include "Readers/ImageReader/ImageArchives.h"
#include "Readers/ImageReader/ImageOptions.h"

#include <memory>
#include <random>
#include <string>

namespace cntk
{

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

} // namespace cntk
