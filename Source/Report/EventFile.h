// Event files of TensorBoard: records of a length, its checksum, an Event message, the message's checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cntk
{

// CRC-32C (Castagnoli), and the form in which records hold it: rotated, plus a constant.
uint32_t Crc32C(std::string_view bytes);
uint32_t MaskedCrc32C(std::string_view bytes);
// A record around a message.
std::string EventRecord(std::string_view message);

// False if the program was built without the library for these messages.
bool HasEventFiles();

class EventFile
{
public:
    // Creates events.out.tfevents.<unix seconds>.<host>.<process id>.0 in the folder, with the version record.
    // Fails (Config) without the library, and (Device) if the file cannot be written.
    explicit EventFile(const std::string& folder);
    ~EventFile();
    EventFile(const EventFile&) = delete;
    EventFile& operator=(const EventFile&) = delete;

    // The session begins at this step: viewers drop later steps of earlier files.
    void BeginAt(size_t step);
    // Writes named numbers at a step, and flushes.
    void Add(size_t step, const std::vector<std::pair<std::string, double>>& scalars);

private:
    void Write(std::string_view message);

    std::string m_path;
    std::FILE* m_file = nullptr;
};

} // namespace cntk
