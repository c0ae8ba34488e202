#include "Exchange/ZipArchive.h"

#include "Common/Error.h"

#ifdef CNTK_HAS_MINIZIP
#include <algorithm>
#include <exception>
#include <limits>
#include <minizip/unzip.h>
#include <minizip/zip.h>
#include <new>
#endif

namespace cntk
{

#ifdef CNTK_HAS_MINIZIP

void RequireZipArchives() {}

namespace
{

// minizip calls these functions. Exceptions must not pass through its C code: they are kept and thrown afterwards.
struct ZipTarget
{
    AtomicFile file;
    uint64_t position = 0;
    uint64_t size = 0;
    std::exception_ptr failure;

    explicit ZipTarget(const std::string& path) : file(path) {}
};

struct ZipSource
{
    PiecewiseFile file;
    uint64_t position = 0;
    std::exception_ptr failure;

    explicit ZipSource(const std::string& path) : file(path) {}
};

voidpf OpenZipStream(voidpf opaque, const void*, int)
{
    return opaque;
}

int CloseZipStream(voidpf, voidpf)
{
    return 0;
}

template <class Stream>
int HasZipFailed(voidpf opaque, voidpf)
{
    return static_cast<Stream*>(opaque)->failure ? 1 : 0;
}

template <class Stream>
ZPOS64_T TellZip(voidpf opaque, voidpf)
{
    return static_cast<Stream*>(opaque)->position;
}

uLong WriteZip(voidpf opaque, voidpf, const void* data, uLong bytes)
{
    auto& target = *static_cast<ZipTarget*>(opaque);
    try
    {
        if (target.position == target.size)
            target.file.Write(data, bytes);
        else
            target.file.Overwrite(target.position, data, bytes);
        target.position += bytes;
        target.size = std::max(target.size, target.position);
        return bytes;
    }
    catch (...)
    {
        target.failure = std::current_exception();
        return 0;
    }
}

uLong NoZipRead(voidpf, voidpf, void*, uLong)
{
    return 0;
}

uLong NoZipWrite(voidpf, voidpf, const void*, uLong)
{
    return 0;
}

uLong ReadZip(voidpf opaque, voidpf, void* data, uLong bytes)
{
    auto& source = *static_cast<ZipSource*>(opaque);
    try
    {
        const uint64_t left = source.file.Size() - std::min<uint64_t>(source.position, source.file.Size());
        const auto count = static_cast<uLong>(std::min<uint64_t>(bytes, left));
        if (count > 0)
            source.file.Read(source.position, static_cast<char*>(data), count);
        source.position += count;
        return count;
    }
    catch (...)
    {
        source.failure = std::current_exception();
        return 0;
    }
}

long SeekZip(uint64_t& position, uint64_t size, uint64_t offset, int origin)
{
    uint64_t wanted = offset;
    if (origin == ZLIB_FILEFUNC_SEEK_CUR)
        wanted = position + offset;
    else if (origin == ZLIB_FILEFUNC_SEEK_END)
        wanted = size + offset;
    if (wanted > size)
        return -1;
    position = wanted;
    return 0;
}

long SeekZipTarget(voidpf opaque, voidpf, ZPOS64_T offset, int origin)
{
    auto& target = *static_cast<ZipTarget*>(opaque);
    return SeekZip(target.position, target.size, offset, origin);
}

long SeekZipSource(voidpf opaque, voidpf, ZPOS64_T offset, int origin)
{
    auto& source = *static_cast<ZipSource*>(opaque);
    return SeekZip(source.position, source.file.Size(), offset, origin);
}

void ThrowZipFailure(const std::exception_ptr& failure)
{
    if (failure)
        std::rethrow_exception(failure);
}

constexpr uLong c_madeByUnix = (3 << 8) | 20;
constexpr uLong c_namesAreUtf8 = 1 << 11;
constexpr size_t c_zipPiece = size_t(1) << 26; // minizip counts bytes of a call in 32 bits

} // namespace

struct ZipWriter::Impl
{
    ZipTarget target;
    zipFile zip = nullptr;

    explicit Impl(const std::string& path) : target(path) {}

    void Require(int result) const
    {
        ThrowZipFailure(target.failure);
        if (result == Z_MEM_ERROR)
            throw std::bad_alloc();
        if (result != ZIP_OK)
            Fail(ErrorKind::Internal, "minizip cannot write the archive: code ", result);
    }
};

ZipWriter::ZipWriter(const std::string& path) : m_impl(std::make_unique<Impl>(path))
{
    zlib_filefunc64_def functions = {};
    functions.zopen64_file = OpenZipStream;
    functions.zread_file = NoZipRead;
    functions.zwrite_file = WriteZip;
    functions.ztell64_file = TellZip<ZipTarget>;
    functions.zseek64_file = SeekZipTarget;
    functions.zclose_file = CloseZipStream;
    functions.zerror_file = HasZipFailed<ZipTarget>;
    functions.opaque = &m_impl->target;
    m_impl->zip = zipOpen2_64(path.c_str(), APPEND_STATUS_CREATE, nullptr, &functions);
    m_impl->Require(m_impl->zip != nullptr ? ZIP_OK : Z_MEM_ERROR);
}

ZipWriter::~ZipWriter()
{
    if (m_impl->zip != nullptr)
        zipClose(m_impl->zip, nullptr);
}

void ZipWriter::BeginEntry(const std::string& name, uint64_t bytes)
{
    zip_fileinfo info = {};
    info.dosDate = (1 << 21) | (1 << 16); // 1980-01-01
    const bool isAscii = std::all_of(name.begin(), name.end(), [](char c) { return uint8_t(c) < 0x80; });
    const bool isZip64 = bytes >= std::numeric_limits<uint32_t>::max();
    m_impl->Require(zipOpenNewFileInZip4_64(m_impl->zip, name.c_str(), &info, nullptr, 0, nullptr, 0, nullptr, 0, 0, 0,
                                            -MAX_WBITS, DEF_MEM_LEVEL, Z_DEFAULT_STRATEGY, nullptr, 0, c_madeByUnix,
                                            isAscii ? 0 : c_namesAreUtf8, isZip64 ? 1 : 0));
}

void ZipWriter::Write(const void* data, size_t bytes)
{
    const auto* position = static_cast<const char*>(data);
    while (bytes > 0)
    {
        const size_t count = std::min(bytes, c_zipPiece);
        m_impl->Require(zipWriteInFileInZip(m_impl->zip, position, static_cast<unsigned>(count)));
        position += count;
        bytes -= count;
    }
}

void ZipWriter::EndEntry()
{
    m_impl->Require(zipCloseFileInZip(m_impl->zip));
}

void ZipWriter::Commit()
{
    m_impl->Require(zipClose(std::exchange(m_impl->zip, nullptr), nullptr));
    m_impl->target.file.Commit();
}

struct ZipReader::Impl
{
    ZipSource source;
    std::string path;
    unzFile zip = nullptr;
    std::vector<ZipEntry> entries;
    std::vector<unz64_file_pos> positions;
    size_t open = 0;

    explicit Impl(const std::string& file) : source(file), path(file) {}
    ~Impl()
    {
        if (zip != nullptr)
            unzClose(zip);
    }
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    [[noreturn]] void Damaged(std::string_view why) const
    {
        ThrowZipFailure(source.failure);
        Fail(ErrorKind::Data, "'", path, "' is a damaged zip archive: ", why);
    }

    [[noreturn]] void DamagedEntry(std::string_view why) const
    {
        Damaged(Concat("entry '", entries[open].name, "' ", why));
    }

    // minizip 1.1 takes no account of sizes and places of more than 32 bits on systems with a 64-bit long.
    [[noreturn]] void FailLarge() const
    {
        Fail(ErrorKind::Data, "'", path, "' has ", source.file.Size(),
             " bytes, but this program's minizip reads archives up to 4 GiB; split the arrays into several files and "
             "import one after the other");
    }
    bool IsLarge() const { return source.file.Size() >= std::numeric_limits<uint32_t>::max(); }

    void AddEntry()
    {
        unz_file_info64 info = {};
        std::string name(std::numeric_limits<uint16_t>::max() + 1, '\0');
        if (unzGetCurrentFileInfo64(zip, &info, name.data(), static_cast<uLong>(name.size()), nullptr, 0, nullptr, 0) !=
            UNZ_OK)
            Damaged("its directory cannot be read");
        name.resize(info.size_filename);
        constexpr auto c_unknown = std::numeric_limits<uint32_t>::max(); // the size stands elsewhere
        if (IsLarge() && (info.uncompressed_size == c_unknown || info.compressed_size == c_unknown))
            FailLarge();
        if (info.compressed_size > source.file.Size())
            Damaged(Concat("entry '", name, "' promises ", info.compressed_size, " bytes, but the file has ",
                           source.file.Size()));
        unz64_file_pos position = {};
        unzGetFilePos64(zip, &position);
        entries.push_back({std::move(name), info.uncompressed_size, info.compressed_size});
        positions.push_back(position);
    }
};

ZipReader::ZipReader(const std::string& path) : m_impl(std::make_unique<Impl>(path))
{
    zlib_filefunc64_def functions = {};
    functions.zopen64_file = OpenZipStream;
    functions.zread_file = ReadZip;
    functions.zwrite_file = NoZipWrite;
    functions.ztell64_file = TellZip<ZipSource>;
    functions.zseek64_file = SeekZipSource;
    functions.zclose_file = CloseZipStream;
    functions.zerror_file = HasZipFailed<ZipSource>;
    functions.opaque = &m_impl->source;
    m_impl->zip = unzOpen2_64(path.c_str(), &functions);
    ThrowZipFailure(m_impl->source.failure);
    if (m_impl->zip == nullptr)
        Fail(ErrorKind::Data, "'", path, "' is no zip archive; expected an npz file, as numpy.savez writes it");
    int result = unzGoToFirstFile(m_impl->zip);
    for (; result == UNZ_OK; result = unzGoToNextFile(m_impl->zip))
        m_impl->AddEntry();
    if (result != UNZ_END_OF_LIST_OF_FILE)
        m_impl->Damaged("its directory cannot be read");
}

ZipReader::~ZipReader() = default;

const std::vector<ZipEntry>& ZipReader::Entries() const
{
    return m_impl->entries;
}

void ZipReader::OpenEntry(size_t index)
{
    m_impl->open = index;
    unz_file_info64 info = {};
    if (unzGoToFilePos64(m_impl->zip, &m_impl->positions[index]) != UNZ_OK ||
        unzGetCurrentFileInfo64(m_impl->zip, &info, nullptr, 0, nullptr, 0, nullptr, 0) != UNZ_OK)
        m_impl->DamagedEntry("cannot be found again");
    if ((info.flag & 1) != 0)
        m_impl->DamagedEntry("is encrypted");
    if (info.compression_method != 0 && info.compression_method != Z_DEFLATED)
        m_impl->DamagedEntry(
            Concat("is compressed by method ", info.compression_method, "; expected stored or deflated"));
    const int result = unzOpenCurrentFile(m_impl->zip);
    if (result == UNZ_INTERNALERROR) // minizip found no memory for its buffers
        throw std::bad_alloc();
    if (result != UNZ_OK)
    {
        ThrowZipFailure(m_impl->source.failure);
        if (m_impl->IsLarge())
            m_impl->FailLarge();
        m_impl->DamagedEntry("differs from its record in the directory");
    }
}

size_t ZipReader::Read(void* target, size_t bytes)
{
    auto* position = static_cast<char*>(target);
    size_t done = 0;
    while (done < bytes)
    {
        const auto wanted = static_cast<unsigned>(std::min(bytes - done, c_zipPiece));
        const int count = unzReadCurrentFile(m_impl->zip, position + done, wanted);
        if (count < 0)
            m_impl->DamagedEntry("cannot be decompressed");
        if (count == 0)
            break;
        done += size_t(count);
    }
    return done;
}

void ZipReader::CloseEntry()
{
    char more = 0;
    if (Read(&more, 1) != 0)
        m_impl->DamagedEntry("is longer than it says");
    const int result = unzCloseCurrentFile(m_impl->zip);
    if (result == UNZ_CRCERROR)
        m_impl->DamagedEntry("has another checksum (CRC-32) than it says");
    if (result != UNZ_OK)
        m_impl->DamagedEntry("cannot be closed");
}

#else

void RequireZipArchives()
{
    Fail(ErrorKind::Config, "this program was built without minizip and nlohmann-json, so it has no npz files; build "
                            "it with libminizip-dev and nlohmann-json3-dev");
}

struct ZipWriter::Impl
{
};

ZipWriter::ZipWriter(const std::string&)
{
    RequireZipArchives();
}
ZipWriter::~ZipWriter() = default;
void ZipWriter::BeginEntry(const std::string&, uint64_t) {}
void ZipWriter::Write(const void*, size_t) {}
void ZipWriter::EndEntry() {}
void ZipWriter::Commit() {}

struct ZipReader::Impl
{
    std::vector<ZipEntry> entries;
};

ZipReader::ZipReader(const std::string&)
{
    RequireZipArchives();
}
ZipReader::~ZipReader() = default;
const std::vector<ZipEntry>& ZipReader::Entries() const
{
    return m_impl->entries;
}
void ZipReader::OpenEntry(size_t) {}
size_t ZipReader::Read(void*, size_t)
{
    return 0;
}
void ZipReader::CloseEntry() {}

#endif

} // namespace cntk
