#include "Fuzz/MarkedFileMutation.h"

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

// A 16-bit text with its terminating zero: a mark, a type, or the name of a node.
struct WideWord
{
    size_t begin = 0;
    size_t end = 0;
};

std::vector<WideWord> FindWords(std::string_view file)
{
    std::vector<WideWord> words;
    for (size_t at = 0; at + 4 <= file.size();)
    {
        size_t end = at;
        while (end + 2 <= file.size() && file[end] > ' ' && file[end + 1] == 0)
            end += 2;
        const bool isWord = end >= at + 4 && end + 2 <= file.size() && file[end] == 0 && file[end + 1] == 0;
        if (isWord)
            words.push_back({at, end + 2});
        at = isWord ? end + 2 : at + 1;
    }
    return words;
}

std::string Wide(std::string_view text)
{
    std::string wide;
    for (const char c : text)
    {
        wide += c;
        wide += '\0';
    }
    return wide + std::string(2, '\0');
}

template <class T>
std::string BytesOf(T value)
{
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

class Mutation
{
public:
    Mutation(std::string& file, unsigned seed) : m_file(file), m_random(seed), m_words(FindWords(file)) {}

    void Apply()
    {
        if (m_words.empty())
            return;
        switch (Below(6))
        {
        case 0:
            return ResizeMatrix();
        case 1:
            return ReplaceWord();
        case 2:
            return CopySection();
        case 3:
            return RemoveSection();
        case 4:
            return SetVersion();
        default:
            return ChangeNumber();
        }
    }

private:
    size_t Below(size_t bound) { return m_random() % bound; }
    const WideWord& AnyWord() { return m_words[Below(m_words.size())]; }

    // Writes another size, and as many values.
    void ResizeMatrix()
    {
        const std::string begin = Wide("BMAT");
        const std::string end = Wide("EMAT");
        std::vector<size_t> places;
        for (size_t at = m_file.find(begin); at != std::string::npos; at = m_file.find(begin, at + 1))
            places.push_back(at + begin.size());
        if (places.empty())
            return;
        const size_t place = places[Below(places.size())];
        const size_t stop = m_file.find(end, place);
        if (stop == std::string::npos)
            return;
        const uint64_t elementSize = Below(2) == 0 ? 4 : 8;
        const uint64_t rows = Below(6);
        const uint64_t columns = Below(6);
        m_file.replace(place, stop - place,
                       BytesOf(elementSize) + Wide("unnamed") + BytesOf(int32_t(0)) + BytesOf(rows) + BytesOf(columns) +
                           std::string(rows * columns * elementSize, char(Below(256))));
    }

    // Puts the word of another place here, or a type that needs other fields and inputs.
    void ReplaceWord()
    {
        constexpr std::string_view types[] = {"Times",       "Plus",
                                              "Sigmoid",     "Convolution",
                                              "MaxPooling",  "AveragePooling",
                                              "Slice",       "Reshape",
                                              "RowStack",    "PastValue",
                                              "FutureValue", "BatchNormalization",
                                              "InputValue",  "Dropout",
                                              "RowRepeat",   "LookupTable",
                                              "Mean",        "LearnableParameter",
                                              "Softmax",     "CosDistance",
                                              "ReduceSum",   "KhatriRaoProduct",
                                              "Diagonal",    "TransposeDimensions",
                                              "LSTM",        "SparseInputValue",
                                              "StrideTimes", "CRF",
                                              "Logistic",    "EditDistanceError"};
        const WideWord to = AnyWord();
        const WideWord from = AnyWord();
        const std::string word =
            Below(2) == 0 ? m_file.substr(from.begin, from.end - from.begin) : Wide(types[Below(std::size(types))]);
        m_file.replace(to.begin, to.end - to.begin, word);
    }

    void CopySection()
    {
        const auto [begin, end] = AnySection();
        const std::string section = m_file.substr(begin, end - begin);
        m_file.insert(AnyWord().begin, section);
    }

    void RemoveSection()
    {
        const auto [begin, end] = AnySection();
        m_file.erase(begin, end - begin);
    }

    // From one word to one of the next eight.
    std::pair<size_t, size_t> AnySection()
    {
        const size_t first = Below(m_words.size());
        const size_t last = std::min(first + Below(8), m_words.size() - 1);
        return {m_words[first].begin, m_words[last].end};
    }

    // The reader knows versions 1 to 14.
    void SetVersion()
    {
        const std::string mark = Wide("BVersion");
        const size_t begin = m_file.find(mark);
        if (begin == std::string::npos || m_file.size() - begin < mark.size() + sizeof(uint64_t))
            return;
        m_file.replace(begin + mark.size(), sizeof(uint64_t), BytesOf(uint64_t(1 + Below(14))));
    }

    // Numbers follow words: counts, sizes, dimensions.
    void ChangeNumber()
    {
        const size_t bytes = size_t(1) << Below(4);
        const size_t at = AnyWord().end + 4 * Below(4);
        const uint64_t numbers[] = {
            0, 1, 2, 3, 8, 255, 65535, UINT32_MAX, INT32_MAX, uint64_t(1) << 40, UINT64_MAX, uint64_t(1) << 63};
        const uint64_t number = numbers[Below(std::size(numbers))];
        if (at + bytes <= m_file.size())
            std::memcpy(m_file.data() + at, &number, bytes);
    }

    std::string& m_file;
    std::minstd_rand m_random;
    std::vector<WideWord> m_words;
};

} // namespace

size_t MutateMarkedFile(uint8_t* data, size_t size, size_t maxSize, unsigned seed)
{
    std::string file(reinterpret_cast<const char*>(data), size);
    Mutation(file, seed / 2).Apply();
    file.resize(std::min(file.size(), maxSize));
    std::copy(file.begin(), file.end(), data);
    return file.size();
}

} // namespace cntk
