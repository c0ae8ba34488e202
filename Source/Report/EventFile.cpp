#include "Report/EventFile.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Text.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <unistd.h>

#ifdef CNTK_WITH_PROTOZERO
#include <protozero/pbf_writer.hpp>
#endif

namespace cntk
{

namespace
{

constexpr std::array<uint32_t, 256> MakeCrcTable()
{
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < 256; ++i)
    {
        uint32_t value = i;
        for (int bit = 0; bit < 8; ++bit)
            value = (value >> 1) ^ ((value & 1) != 0 ? 0x82F63B78u : 0u);
        table[i] = value;
    }
    return table;
}

// Numbers in records are little-endian.
template <class Number>
std::string LittleEndian(Number number)
{
    std::string bytes;
    for (size_t i = 0; i < sizeof number; ++i)
        bytes += char(uint8_t(number >> (8 * i)));
    return bytes;
}

#ifdef CNTK_WITH_PROTOZERO

// Fields of the messages Event, SessionLog, Summary and Summary.Value.
enum EventField : protozero::pbf_tag_type
{
    WallTime = 1,
    Step = 2,
    FileVersion = 3,
    SummaryField = 5,
    SessionLogField = 7
};
constexpr protozero::pbf_tag_type c_sessionStatus = 1, c_summaryValue = 1, c_valueTag = 1, c_valueNumber = 2;
constexpr int c_sessionStarts = 1;

double UnixSeconds()
{
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string VersionEvent()
{
    std::string message;
    protozero::pbf_writer event(message);
    event.add_double(WallTime, UnixSeconds());
    event.add_string(FileVersion, "brain.Event:2");
    return message;
}

std::string SessionEvent(size_t step)
{
    std::string message, session;
    protozero::pbf_writer(session).add_enum(c_sessionStatus, c_sessionStarts);
    protozero::pbf_writer event(message);
    event.add_double(WallTime, UnixSeconds());
    event.add_int64(Step, int64_t(step));
    event.add_message(SessionLogField, session);
    return message;
}

std::string ScalarsEvent(size_t step, const std::vector<std::pair<std::string, double>>& scalars)
{
    std::string message, summary;
    protozero::pbf_writer values(summary);
    for (const auto& [tag, number] : scalars)
    {
        std::string value;
        protozero::pbf_writer writer(value);
        writer.add_string(c_valueTag, tag);
        writer.add_float(c_valueNumber, float(number));
        values.add_message(c_summaryValue, value);
    }
    protozero::pbf_writer event(message);
    event.add_double(WallTime, UnixSeconds());
    event.add_int64(Step, int64_t(step));
    event.add_message(SummaryField, summary);
    return message;
}

#else

[[noreturn]] std::string FailWithoutLibrary()
{
    Fail(ErrorKind::Config, "event files for TensorBoard cannot be written: this program was built without protozero "
                            "(Debian package libprotozero-dev)");
}
std::string VersionEvent()
{
    FailWithoutLibrary();
}
std::string SessionEvent(size_t)
{
    FailWithoutLibrary();
}
std::string ScalarsEvent(size_t, const std::vector<std::pair<std::string, double>>&)
{
    FailWithoutLibrary();
}

#endif

} // namespace

uint32_t Crc32C(std::string_view bytes)
{
    static constexpr std::array<uint32_t, 256> c_table = MakeCrcTable();
    uint32_t crc = 0xFFFFFFFFu;
    for (const char byte : bytes)
        crc = (crc >> 8) ^ c_table[(crc ^ uint8_t(byte)) & 0xFF];
    return ~crc;
}

uint32_t MaskedCrc32C(std::string_view bytes)
{
    const uint32_t crc = Crc32C(bytes);
    return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u;
}

std::string EventRecord(std::string_view message)
{
    const std::string length = LittleEndian(uint64_t(message.size()));
    std::string record = length + LittleEndian(MaskedCrc32C(length));
    record += message;
    return record + LittleEndian(MaskedCrc32C(message));
}

bool HasEventFiles()
{
#ifdef CNTK_WITH_PROTOZERO
    return true;
#else
    return false;
#endif
}

EventFile::EventFile(const std::string& folder)
{
    const std::string version = VersionEvent();
    std::array<char, 256> host{};
    if (gethostname(host.data(), host.size() - 1) != 0)
        std::strcpy(host.data(), "localhost");
    m_path = Concat(folder, "/events.out.tfevents.", std::time(nullptr), ".", host.data(), ".", getpid(), ".0");
    MakeFoldersFor(m_path);
    m_file = std::fopen(m_path.c_str(), "wbe");
    if (m_file == nullptr)
        Fail(ErrorKind::Device, "cannot write '", m_path, "': ", std::strerror(errno));
    Write(version);
}

EventFile::~EventFile()
{
    if (m_file != nullptr)
        std::fclose(m_file);
}

void EventFile::BeginAt(size_t step)
{
    Write(SessionEvent(step));
}

void EventFile::Add(size_t step, const std::vector<std::pair<std::string, double>>& scalars)
{
    Write(ScalarsEvent(step, scalars));
}

void EventFile::Write(std::string_view message)
{
    const std::string record = EventRecord(message);
    if (std::fwrite(record.data(), 1, record.size(), m_file) != record.size() || std::fflush(m_file) != 0)
        Fail(ErrorKind::Device, "cannot write '", m_path, "': ", std::strerror(errno));
}

} // namespace cntk
