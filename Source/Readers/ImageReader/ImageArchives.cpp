// Reads archives with libzip, if available. One thread at a time uses a handle; unused handles are kept for reuse.
#include "Readers/ImageReader/ImageArchives.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Text.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <mutex>
#include <string_view>
#include <utility>
#ifdef CNTK_HAS_LIBZIP
#include <zip.h>
#endif

namespace cntk
{
namespace
{

constexpr std::string_view c_separators[] = {"@/", "@\\"};

size_t SeparatorOf(const std::string& path)
{
    size_t found = std::string::npos;
    for (const std::string_view separator : c_separators)
        found = std::min(found, path.find(separator));
    return found;
}

} // namespace

std::string ImageArchives::FileOf(const std::string& path)
{
    return path.substr(0, SeparatorOf(path));
}

bool ImageArchives::IsInArchive(const std::string& path)
{
    return SeparatorOf(path) != std::string::npos;
}

#ifdef CNTK_HAS_LIBZIP

namespace
{

constexpr size_t c_mostIdle = 64; // open files
constexpr zip_uint64_t c_mostBytes = zip_uint64_t(1) << 30;
constexpr size_t c_firstPiece = size_t(1) << 20;

struct CloseArchive
{
    void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseEntry
{
    void operator()(zip_file_t* entry) const { zip_fclose(entry); }
};
using ArchivePtr = std::unique_ptr<zip_t, CloseArchive>;

ArchivePtr Open(const std::string& path)
{
    if (!FileExists(path))
        Fail(ErrorKind::Data, "archive '", path, "' does not exist", NearFilesHint(path));
    const PiecewiseFile file(path); // fails if it is a folder or unreadable
    int code = 0;
    ArchivePtr archive(zip_open(path.c_str(), ZIP_RDONLY, &code));
    if (archive)
        return archive;
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string reason = zip_error_strerror(&error);
    zip_error_fini(&error);
    Fail(ErrorKind::Data, "archive '", path, "' cannot be opened: ", reason);
}

[[noreturn]] void FailMissing(zip_t* archive, const std::string& path, const std::string& name)
{
    std::vector<std::string> names;
    for (zip_int64_t i = 0; i < zip_get_num_entries(archive, 0); ++i)
        if (const char* const known = zip_get_name(archive, zip_uint64_t(i), ZIP_FL_ENC_GUESS))
            names.emplace_back(known);
    Fail(ErrorKind::Data, "archive '", path, "' has no file '", name, "'", DidYouMean(name, names));
}

std::vector<char> ReadEntry(zip_t* archive, const std::string& path, const std::string& name)
{
    const zip_int64_t index = zip_name_locate(archive, name.c_str(), ZIP_FL_ENC_GUESS);
    zip_stat_t status;
    if (index < 0 || zip_stat_index(archive, zip_uint64_t(index), 0, &status) != 0)
        FailMissing(archive, path, name);
    if ((status.valid & ZIP_STAT_SIZE) == 0 || status.size > c_mostBytes)
        Fail(ErrorKind::Data, "archive '", path, "' says that '", name, "' has ", status.size,
             " bytes; expected an image of at most ", c_mostBytes);
    const std::unique_ptr<zip_file_t, CloseEntry> entry(zip_fopen_index(archive, zip_uint64_t(index), 0));
    std::vector<char> bytes;
    bool isRead = entry != nullptr;
    while (isRead && bytes.size() < status.size) // the memory grows with the data, because the size may be wrong
    {
        const size_t used = bytes.size();
        bytes.resize(std::min(size_t(status.size), 2 * used + c_firstPiece));
        isRead = zip_fread(entry.get(), bytes.data() + used, bytes.size() - used) == zip_int64_t(bytes.size() - used);
    }
    char beyond; // reading at the end makes libzip compare the checksum
    if (!isRead || zip_fread(entry.get(), &beyond, 1) != 0)
        Fail(ErrorKind::Data, "archive '", path, "': '", name,
             "' cannot be read: ", entry ? zip_file_strerror(entry.get()) : zip_strerror(archive));
    return bytes;
}

} // namespace

class ImageArchives::Handles
{
public:
    ArchivePtr Take(const std::string& path)
    {
        {
            const std::lock_guard lock(m_mutex);
            for (auto idle = m_idle.rbegin(); idle != m_idle.rend(); ++idle)
            {
                if (idle->first != path)
                    continue;
                ArchivePtr archive = std::move(idle->second);
                m_idle.erase(std::next(idle).base());
                return archive;
            }
        }
        return Open(path);
    }

    void PutBack(const std::string& path, ArchivePtr archive)
    {
        const std::lock_guard lock(m_mutex);
        m_idle.emplace_back(path, std::move(archive));
        if (m_idle.size() > c_mostIdle)
            m_idle.pop_front();
    }

private:
    std::mutex m_mutex;
    std::deque<std::pair<std::string, ArchivePtr>> m_idle; // ordered by use, the latest last
};

std::vector<char> ImageArchives::Read(const std::string& path)
{
    const size_t separator = SeparatorOf(path);
    const std::string archivePath = ResolveInputPath(path.substr(0, separator));
    std::string name = path.substr(separator + c_separators[0].size());
    std::replace(name.begin(), name.end(), '\\', '/');
    ArchivePtr archive = m_handles->Take(archivePath);
    std::vector<char> bytes = ReadEntry(archive.get(), archivePath, name);
    m_handles->PutBack(archivePath, std::move(archive));
    return bytes;
}

#else

class ImageArchives::Handles
{
};

std::vector<char> ImageArchives::Read(const std::string& path)
{
    Fail(ErrorKind::Device, "image '", path,
         "' is in an archive, but this program was built without libzip; unpack the archive, or build with libzip");
}

#endif

ImageArchives::ImageArchives() : m_handles(std::make_unique<Handles>()) {}

ImageArchives::~ImageArchives() = default;

} // namespace cntk
