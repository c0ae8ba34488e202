// The list of images, their order, and minibatches that are decoded in parallel.
#include "Readers/ImageReader/ImageReader.h"

#include "Common/AllowedCores.h"
#include "Common/DataFile.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Log.h"
#include "Common/Text.h"
#include "Readers/ReaderLib/MinibatchPipe.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>

namespace cntk
{

namespace
{

constexpr const char* c_readerName = "ImageReader";
constexpr size_t c_imageStream = 0;
constexpr size_t c_labelStream = 1;

// Runs body(0) ... body(count - 1) in several threads. If several calls throw, rethrows the exception of the lowest
// number.
template <class Body>
void ForEachInParallel(size_t count, size_t threads, const Body& body)
{
    std::atomic<size_t> next{0};
    std::mutex mutex;
    size_t failed = SIZE_MAX;
    std::exception_ptr error;
    const auto work = [&]
    {
        for (size_t i = next++; i < count; i = next++)
        {
            try
            {
                body(i);
            }
            catch (...)
            {
                const std::lock_guard lock(mutex);
                if (i < failed)
                {
                    failed = i;
                    error = std::current_exception();
                }
            }
        }
    };
    std::vector<std::jthread> helpers;
    for (size_t i = 1; i < std::min(threads, count); ++i)
        helpers.emplace_back(work);
    work();
    helpers.clear(); // joins
    if (error)
        std::rethrow_exception(error);
}

// Seeds the generator of a sample. The seed does not depend on the thread and differs between neighbouring samples.
uint32_t SeedOf(size_t seed, size_t position)
{
    uint64_t mixed = uint64_t(position) + uint64_t(seed) * 0x9E3779B97F4A7C15u + 0x9E3779B97F4A7C15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
    return uint32_t(mixed ^ (mixed >> 31));
}

ImageClasses ReadClasses(const ImageConfig& config)
{
    ImageClasses classes;
    classes.labelDim = config.labels.labelDim;
    const std::string path = ResolveInputPath(config.labels.labelMappingFile);
    if (path.empty())
        return classes;
    if (!FileExists(path))
        FailAt(config.labelMappingWhere, ErrorKind::Data, "label map '", path, "' does not exist", NearFilesHint(path),
               "; expected a file with the name of one class a line");
    classes.map = WithPosition(config.labelMappingWhere, [&] { return LabelMap::FromFile(path); });
    return classes;
}

} // namespace

template <class ElemType>
ImageReader<ElemType>::ImageReader(const ReaderContext& context)
    : m_log(context.log), m_config(ReadImageConfig(context)), m_classes(ReadClasses(m_config)),
      m_list(WithPosition(m_config.fileWhere, [&] { return ImageList::Read(m_config.reader.file, m_classes); })),
      m_transform(m_config.features, m_config.features.channels == 1, m_config.meanFileWhere), m_pipe(context.log)
{
    if (TotalSamples() > UINT32_MAX)
        FailAt(m_config.fileWhere, ErrorKind::Data, "list of images '", m_list.path, "' has ", TotalSamples(),
               " samples; at most ", UINT32_MAX, " can be read");
    StreamInfo images;
    images.name = m_config.featuresName;
    images.rows = m_config.features.Elements();
    images.source = Concat("images of '", m_list.path, "'");
    const ImageFeatureOptions& size = m_config.features;
    images.shape = size.planes ? std::vector{size.width, size.height, size.channels}
                               : std::vector{size.channels, size.width, size.height};
    images.shapeSource = m_config.layoutSource;
    StreamInfo labels;
    labels.name = m_config.labelsName;
    labels.rows = m_config.labels.labelDim;
    if (m_classes.map)
    {
        labels.rows = std::max(labels.rows, m_classes.map->Size());
        labels.labelNames = m_classes.map->Names();
    }
    else if (labels.rows == 0)
        FailAt(m_config.fileWhere, ErrorKind::Config, "'", labels.name,
               "' has neither labelDim, the number of classes, nor labelMappingFile, their names");
    labels.sparse = true;
    labels.isLabel = true;
    labels.source = m_config.labelsSource;
    m_streams = {std::move(images), std::move(labels)};
    if (m_config.reader.threads == 0)
        m_config.reader.threads = unsigned(AllowedCores());
    if (!m_transform.Warning().empty())
        m_log.Print("WARNING: %s\n", m_transform.Warning().c_str());
    if (m_config.reader.traceLevel > 0)
        m_log.Print("%s: %zu images in '%s'\n", c_readerName, m_list.images.size(), m_list.path.c_str());
}

template <class ElemType>
void ImageReader<ElemType>::StartEpoch(const EpochRequest& request)
{
    CNTK_ASSERT(request.minibatchSize > 0 && request.rank < request.workers);
    m_pipe.Stop();
    m_wanted = ChooseStreams(c_readerName, m_streams, request.wanted);
    if (request.trainingSeed != m_request.trainingSeed)
        m_sweep = SIZE_MAX; // the order changes
    m_augmentationSeeds = SeedStream(request.trainingSeed, "augmentation");
    m_request = request;
    const PlaceRange epoch = PositionsOfEpoch(request, IsWholeDataSet(request) ? TotalSamples() : request.epochSize);
    m_position = epoch.begin;
    m_epochEnd = epoch.end;
    m_pipe.Start([this](Slot& slot) { return Fill(slot); }, m_config.reader.prefetch);
}

template <class ElemType>
void ImageReader<ElemType>::EnterSweep(size_t sweep)
{
    if (!m_config.reader.randomize || m_sweep == sweep)
        return;
    m_sweep = sweep;
    m_order.resize(TotalSamples());
    std::iota(m_order.begin(), m_order.end(), 0u);
    std::mt19937 generator{uint32_t(SeedStream(m_request.trainingSeed, "order")(sweep))};
    std::shuffle(m_order.begin(), m_order.end(), generator);
}

// Runs in the prefetch thread or in the caller's. A minibatch ends at the end of the epoch and of the sweep.
template <class ElemType>
bool ImageReader<ElemType>::Fill(Slot& slot)
{
    if (m_position >= m_epochEnd)
        return false;
    const size_t total = TotalSamples();
    const size_t inSweep = m_position % total;
    const size_t count = std::min({m_request.minibatchSize, m_epochEnd - m_position, total - inSweep});
    RequireColumns(count, "images");
    EnterSweep(m_position / total);
    const PlaceRange share = ShareOfWorker(m_request, count);
    m_firstPosition = m_position + share.begin;
    m_samples.clear();
    for (size_t i = inSweep + share.begin; i < inSweep + share.end; ++i)
        m_samples.push_back(m_order.empty() ? i : m_order[i]);
    m_position += count;

    slot.Prepare(m_streams.size());
    slot.layouts[0]->InitAsFrameMode(m_samples.size());
    for (size_t stream = 0; stream < m_streams.size(); ++stream)
    {
        if (!m_wanted[stream])
        {
            slot.Clear(stream);
            continue;
        }
        StreamBatch<ElemType>& batch = slot.streams[stream];
        batch.rows = m_streams[stream].rows;
        batch.columns = m_samples.size();
        batch.sparse = m_streams[stream].sparse;
        batch.layout = slot.layouts[0];
    }
    if (m_wanted[c_imageStream])
        FillImages(slot.streams[c_imageStream]);
    if (m_wanted[c_labelStream])
        FillLabels(slot.streams[c_labelStream]);
    return true;
}

template <class ElemType>
void ImageReader<ElemType>::DecodeOne(size_t column, ElemType* target) const
{
    const size_t views = m_config.features.Views();
    const ImageList::Image& image = m_list.images[m_samples[column] / views];
    std::mt19937 random(SeedOf(m_augmentationSeeds(m_config.reader.seed), m_firstPosition + column));
    const auto withLine = [&](const std::string& text) { return Concat(m_list.PlaceOf(image), ": ", text); };
    try
    {
        const std::string warning = m_transform.Apply(image.path, m_samples[column] % views, random, target);
        if (!warning.empty())
            m_log.Warn(withLine(warning));
    }
    catch (const Error& error)
    {
        throw Error(error.Kind(), withLine(error.Message()));
    }
}

template <class ElemType>
void ImageReader<ElemType>::FillImages(StreamBatch<ElemType>& batch)
{
    batch.values.resize(batch.rows * batch.columns);
    ForEachInParallel(batch.columns, m_config.reader.threads,
                      [&](size_t column) { DecodeOne(column, batch.values.data() + column * batch.rows); });
}

template <class ElemType>
void ImageReader<ElemType>::FillLabels(StreamBatch<ElemType>& batch) const
{
    const size_t views = m_config.features.Views();
    PrepareOneHot(batch);
    for (size_t column = 0; column < batch.columns; ++column)
    {
        const ImageList::Image& image = m_list.images[m_samples[column] / views];
        if (image.label == ImageList::c_withoutClass)
            Fail(ErrorKind::Data, "image '", image.path, "' has no class: folder of images '", m_list.path,
                 "' has no sub-folders; expected one for each class");
        batch.rowIndices[column] = image.label;
    }
}

template <class ElemType>
std::unique_ptr<IDataReader<ElemType>> MakeImageReader(const ReaderContext& context)
{
    return std::make_unique<ImageReader<ElemType>>(context);
}

template class ImageReader<float>;
template class ImageReader<double>;
template std::unique_ptr<IDataReader<float>> MakeImageReader<float>(const ReaderContext&);
template std::unique_ptr<IDataReader<double>> MakeImageReader<double>(const ReaderContext&);

} // namespace cntk
