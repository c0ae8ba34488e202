// ImageReader: image files and their classes, cropped, scaled and shuffled.
#pragma once

#include "Common/SeedStream.h"
#include "Readers/ImageReader/ImageArchives.h"
#include "Readers/ImageReader/ImageTransform.h"
#include "Readers/ReaderLib/MinibatchPipe.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cntk
{

struct ImageList
{
    struct Image
    {
        std::string path;
        int32_t label = 0;
        size_t line = 0; // of the list
    };

    std::string path;
    std::vector<Image> images;

    // Fails (Data) at lines that are not "name<TAB>class", and at classes that are not below labelDim.
    static ImageList Read(const std::string& path, size_t labelDim);
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
            visit(ImageArchives::FileOf(image.path),
                  "read as an image (" + m_list.path + ":" + std::to_string(image.line) + ")");
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
