#include "Fuzz/NpzMutation.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

namespace
{

constexpr std::string_view c_localMark("PK\3\4", 4);
constexpr size_t c_localBytes = 30; // of a local header without name and extra field

struct ArchiveEntry
{
    std::string name;
    std::string data; // as in the archive
    uint16_t method = 0;
    uint32_t crc = 0;
    uint32_t bytes = 0; // decompressed
};

template <class T>
T NumberAt(std::string_view file, size_t at)
{
    T value = 0;
    if (at + sizeof value <= file.size())
        std::memcpy(&value, file.data() + at, sizeof value);
    return value;
}

template <class T>
void AppendNumber(std::string& file, T value)
{
    file.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// CRC-32 of zip archives.
uint32_t ChecksumOf(std::string_view data)
{
    uint32_t crc = UINT32_MAX;
    for (const char c : data)
    {
        crc ^= uint8_t(c);
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320u : 0u);
    }
    return ~crc;
}

// Reads the local headers. An entry whose size is unknown or wrong ends at the next header.
std::vector<ArchiveEntry> ReadEntries(std::string_view file)
{
    std::vector<ArchiveEntry> entries;
    for (size_t at = file.find(c_localMark); at != std::string_view::npos; at = file.find(c_localMark, at))
    {
        ArchiveEntry entry;
        entry.method = NumberAt<uint16_t>(file, at + 8);
        entry.crc = NumberAt<uint32_t>(file, at + 14);
        size_t packed = NumberAt<uint32_t>(file, at + 18);
        entry.bytes = NumberAt<uint32_t>(file, at + 22);
        const size_t nameBytes = NumberAt<uint16_t>(file, at + 26);
        const size_t begin = at + c_localBytes + nameBytes + NumberAt<uint16_t>(file, at + 28);
        if (begin > file.size())
            break;
        entry.name = file.substr(at + c_localBytes, nameBytes);
        if (packed > file.size() - begin)
            packed = std::min(file.find("PK", begin), file.size()) - begin;
        entry.data = file.substr(begin, packed);
        entries.push_back(std::move(entry));
        at = begin + packed;
    }
    return entries;
}

std::string WriteArchive(const std::vector<ArchiveEntry>& entries)
{
    std::string file, directory;
    // The fields that the local header and the record of the directory share.
    const auto appendShared = [](std::string& to, const ArchiveEntry& entry)
    {
        for (const uint16_t number : {uint16_t(20), uint16_t(0), entry.method, uint16_t(0), uint16_t(33)})
            AppendNumber(to, number); // version, flags, method, time, date
        for (const uint32_t number : {entry.crc, uint32_t(entry.data.size()), entry.bytes})
            AppendNumber(to, number);
        AppendNumber(to, uint16_t(entry.name.size()));
        AppendNumber(to, uint16_t(0)); // extra field
    };
    for (const ArchiveEntry& entry : entries)
    {
        directory += std::string_view("PK\1\2\24\3", 6);
        appendShared(directory, entry);
        directory += std::string(10, '\0'); // comment, disk, attributes
        AppendNumber(directory, uint32_t(file.size()));
        directory += entry.name;
        file += c_localMark;
        appendShared(file, entry);
        file += entry.name + entry.data;
    }
    const auto begin = uint32_t(file.size());
    file += directory + std::string("PK\5\6\0\0\0\0", 8);
    AppendNumber(file, uint16_t(entries.size()));
    AppendNumber(file, uint16_t(entries.size()));
    AppendNumber(file, uint32_t(directory.size()));
    AppendNumber(file, begin);
    AppendNumber(file, uint16_t(0)); // comment
    return file;
}

class NpzChange
{
public:
    NpzChange(std::vector<ArchiveEntry>& entries, unsigned seed) : m_entries(entries), m_random(seed) {}

    void Apply()
    {
        if (m_entries.empty())
            m_entries.push_back({.name = "W.npy", .data = "", .method = 0, .crc = 0, .bytes = 0});
        const size_t index = Below(m_entries.size());
        ArchiveEntry& entry = m_entries[index];
        switch (Below(8))
        {
        case 0:
            entry.name = AnyText({"W.npy", "b.npy", "z.npy", "W", "special:cntk.json", "special:x", ""});
            return;
        case 1:
            m_entries.insert(m_entries.begin() + std::ptrdiff_t(index), ArchiveEntry(entry));
            return;
        case 2:
            m_entries.erase(m_entries.begin() + std::ptrdiff_t(index));
            return;
        case 3:
            return Store(entry, AnyManifest());
        case 4:
            return Store(entry, ChangedBytes(entry.data));
        case 5:
            return Store(entry, AnyArray(AnyShape()));
        default: // the shapes of the target's network
            return Store(entry, AnyArray(entry.name == "b.npy" ? "(2, 1)" : "(2, 3)"));
        }
    }

private:
    size_t Below(size_t bound) { return m_random() % bound; }

    template <class T>
    T AnyOf(std::initializer_list<T> values)
    {
        return values.begin()[Below(values.size())];
    }

    std::string AnyText(std::initializer_list<const char*> values) { return AnyOf(values); }

    static void Store(ArchiveEntry& entry, std::string data)
    {
        entry.method = 0;
        entry.crc = ChecksumOf(data);
        entry.bytes = uint32_t(data.size());
        entry.data = std::move(data);
    }

    std::string ChangedBytes(std::string data)
    {
        for (size_t count = 1 + Below(4); count > 0; count--)
        {
            const size_t at = Below(data.size() + 1);
            if (at < data.size() && Below(3) != 0)
                data[at] = char(Below(256));
            else if (at < data.size() && Below(2) == 0)
                data.erase(at, 1 + Below(8));
            else
                data.insert(at, 1 + Below(8), char(Below(256)));
        }
        return data;
    }

    std::string AnyNumber()
    {
        return AnyText({"0", "1", "2", "3", "6", "-1", "2L", "1e9", "4294967296", "3074457345618258603",
                        "9223372036854775807", "18446744073709551616"});
    }

    std::string AnyShape()
    {
        std::string shape = "(";
        for (size_t axes = Below(5); axes > 0; axes--)
            shape += AnyNumber() + AnyText({", ", ",", " "});
        return shape + AnyText({")", "]", ""});
    }

    // An npy file: version, size of the header, a dictionary of Python, elements.
    std::string AnyArray(const std::string& shape)
    {
        const std::string descr = AnyText({"<f4", "<f8", ">f4", ">f8", "<f2", "|u1", "<i8", "|O", "<c16", "<f"});
        std::string text = "{'descr': '" + descr + "', 'fortran_order': " + AnyText({"False", "False", "True", "0"}) +
                           ", 'shape': " + shape + ", }";
        text += std::string(Below(64), ' ') + '\n';
        if (Below(8) == 0)
            text = ChangedBytes(text);
        std::string data("\x93NUMPY", 6);
        data += char(AnyOf({1, 1, 1, 2, 3, 0}));
        data += '\0';
        const size_t bytes = Below(8) == 0 ? Below(UINT32_MAX) : text.size();
        if (data[6] == 1)
            AppendNumber(data, uint16_t(bytes));
        else
            AppendNumber(data, uint32_t(bytes));
        data += text;
        const size_t count = AnyOf<size_t>({0, 2, 6, 6, 6, 7}) * AnyOf<size_t>({1, 2, 4, 4, 8, 8});
        for (size_t i = 0; i < count; i++)
            data += char(Below(256));
        return data;
    }

    std::string AnyManifest()
    {
        return "{\"format\": " + AnyNumber() + ", \"nodes\": " +
               AnyText({"{}", "[]", "null", "{\"W\": {\"type\": 1, \"dims\": [-1, 2.5]}}", "\"\\ud800\""}) +
               (Below(4) == 0 ? "" : "}");
    }

    std::vector<ArchiveEntry>& m_entries;
    std::minstd_rand m_random;
};

} // namespace

size_t MutateNpz(uint8_t* data, size_t size, size_t maxSize, unsigned seed)
{
    std::vector<ArchiveEntry> entries = ReadEntries({reinterpret_cast<const char*>(data), size});
    NpzChange(entries, seed / 2).Apply();
    std::string file = WriteArchive(entries);
    file.resize(std::min(file.size(), maxSize));
    std::copy(file.begin(), file.end(), data);
    return file.size();
}

} // namespace cntk
