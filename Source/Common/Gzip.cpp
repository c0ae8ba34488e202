// zlib is opened at run time, so that the program starts without it.
#include "Common/Gzip.h"

#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <dlfcn.h>
#include <limits>

#ifdef CNTK_WITH_ZLIB
#include <zlib.h>
#endif

namespace cntk
{

bool IsGzip(std::string_view firstBytes)
{
    return firstBytes.starts_with("\x1F\x8B\x08");
}

#ifdef CNTK_WITH_ZLIB

namespace
{

class Zlib
{
public:
    explicit Zlib(const std::string& file) : m_handle(dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL))
    {
        if (m_handle == nullptr)
            Fail(ErrorKind::Device, file,
                 " is compressed by gzip, but the library libz.so.1 cannot be opened; install zlib, or unpack the "
                 "file");
        Find("inflateInit2_", begin);
        Find("inflate", step);
        Find("inflateReset", reset);
        Find("inflateEnd", end);
    }
    ~Zlib() { dlclose(m_handle); }
    Zlib(const Zlib&) = delete;
    Zlib& operator=(const Zlib&) = delete;

    decltype(&inflateInit2_) begin = nullptr;
    decltype(&inflate) step = nullptr;
    decltype(&inflateReset) reset = nullptr;
    decltype(&inflateEnd) end = nullptr;

private:
    template <class Function>
    void Find(const char* name, Function& function)
    {
        function = reinterpret_cast<Function>(dlsym(m_handle, name));
        if (function == nullptr)
            Fail(ErrorKind::Device, "libz.so.1 has no function '", name, "'; install zlib 1.2 or later");
    }

    void* m_handle;
};

// One decompression; frees its state.
class Inflation
{
public:
    Inflation(std::string_view packed, const std::string& file) : m_zlib(file), m_packed(packed), m_file(file)
    {
        constexpr int c_gzipWithLargestWindow = 16 + MAX_WBITS;
        m_stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
        if (m_zlib.begin(&m_stream, c_gzipWithLargestWindow, ZLIB_VERSION, int(sizeof m_stream)) != Z_OK)
            throw OutOfMemory(Concat("out of memory while ", file, " is unpacked"));
    }
    ~Inflation() { m_zlib.end(&m_stream); }
    Inflation(const Inflation&) = delete;
    Inflation& operator=(const Inflation&) = delete;

    std::string Run()
    {
        std::string text;
        size_t used = 0;
        for (;;)
        {
            if (used == text.size())
                Grow(text);
            constexpr size_t c_most = std::numeric_limits<uInt>::max();
            const size_t left = Left();
            m_stream.avail_in = uInt(std::min(left, c_most));
            const size_t room = std::min(text.size() - used, c_most);
            m_stream.next_out = reinterpret_cast<Bytef*>(text.data() + used);
            m_stream.avail_out = uInt(room);
            const int result = m_zlib.step(&m_stream, Z_NO_FLUSH);
            used += room - m_stream.avail_out;
            if (result == Z_STREAM_END)
            {
                if (!IsGzip(m_packed.substr(m_packed.size() - Left())))
                    break;
                m_zlib.reset(&m_stream);
            }
            else if (result == Z_MEM_ERROR)
                throw OutOfMemory(Concat("out of memory while ", m_file, " is unpacked"));
            else if (result != Z_OK && result != Z_BUF_ERROR)
                Fail(ErrorKind::Data, m_file, " is compressed by gzip, but damaged at byte ", m_packed.size() - Left(),
                     m_stream.msg != nullptr ? Concat(": ", m_stream.msg) : std::string());
            else if (Left() == 0 && m_stream.avail_out > 0)
                Fail(ErrorKind::Data, m_file, " is compressed by gzip, but incomplete: it ends at byte ",
                     m_packed.size(), ", ", Counted(used, "byte"), " into the text");
        }
        text.resize(used);
        return text;
    }

private:
    void Grow(std::string& text) const
    {
        constexpr size_t c_likelyBytes = size_t(64) << 20, c_mostPerByte = 256;
        const size_t most = std::max(c_likelyBytes, c_mostPerByte * m_packed.size());
        if (text.size() == most)
            Fail(ErrorKind::Data, m_file, " is compressed by gzip and has more than ", c_mostPerByte,
                 " bytes of text for each of its bytes; if you trust the file, unpack it");
        const size_t bytes = std::min(most, std::max(4 * m_packed.size(), 2 * text.size()));
        WithNote([&] { text.resize(bytes); },
                 [&] { return Concat("for the text of ", m_file, ", which needs ", bytes, " bytes unpacked"); });
    }

    size_t Left() const
    {
        return size_t(m_packed.data() + m_packed.size() - reinterpret_cast<const char*>(m_stream.next_in));
    }

    Zlib m_zlib;
    std::string_view m_packed;
    const std::string& m_file;
    z_stream m_stream = {};
};

} // namespace

std::string Gunzip(std::string_view packed, const std::string& file)
{
    return Inflation(packed, file).Run();
}

#else

std::string Gunzip(std::string_view, const std::string& file)
{
    Fail(ErrorKind::Data, file,
         " is compressed by gzip, which this program was built without (zlib.h was missing); unpack it");
}

#endif

} // namespace cntk
