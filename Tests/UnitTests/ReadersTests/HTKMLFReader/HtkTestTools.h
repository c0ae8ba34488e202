// Tools for tests of HTKMLFReader: HTK files whose numbers show their origin.
#pragma once

#include "Readers/HTKMLFReader/HtkReader.h"
#include "ReadersTests/ReaderTestTools.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace cntk
{

inline void AppendBigEndian(std::string& bytes, uint64_t value, int count)
{
    for (int i = count - 1; i >= 0; --i)
        bytes += char(value >> (8 * i));
}

inline std::string HtkHeaderBytes(size_t frames, size_t vectorBytes, int kind, uint32_t period = 100000)
{
    std::string bytes;
    AppendBigEndian(bytes, frames, 4);
    AppendBigEndian(bytes, period, 4);
    AppendBigEndian(bytes, vectorBytes, 2);
    AppendBigEndian(bytes, uint64_t(kind), 2);
    return bytes;
}

inline void AppendFloat(std::string& bytes, float value)
{
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    AppendBigEndian(bytes, bits, 4);
}

// Frame f has the elements first + f, then the same plus 0.5.
inline std::string HtkFileBytes(size_t frames, float first, int kind = 9)
{
    std::string bytes = HtkHeaderBytes(frames, 8, kind);
    for (size_t frame = 0; frame < frames; ++frame)
    {
        AppendFloat(bytes, first + float(frame));
        AppendFloat(bytes, first + float(frame) + 0.5f);
    }
    return bytes;
}

class HtkTest : public ReaderTest
{
protected:
    // Three utterances u0, u1, u2 of 4, 3 and 5 frames in one archive of two elements. Frame f of the archive is f,
    // f+0.5 and has class f modulo 3.
    void WriteCorpus()
    {
        Write("data.htk", HtkFileBytes(12, 0));
        Write("a.scp", "u0.f=.../data.htk[0,3]\nu1.f=.../data.htk[4,6]\nu2.f=.../data.htk[7,11]\n");
        Write("a.mlf", Mlf({{"u0", 0, 4}, {"u1", 4, 3}, {"u2", 7, 5}}));
        Write("states", "s0\ns1\ns2\n");
    }
    struct MlfUtterance
    {
        std::string name;
        size_t first;
        size_t frames;
    };
    static std::string Mlf(const std::vector<MlfUtterance>& utterances)
    {
        std::string text = "#!MLF!#\n";
        for (const MlfUtterance& utterance : utterances)
        {
            text += "\"*/" + utterance.name + ".lab\"\n";
            for (size_t i = 0; i < utterance.frames; ++i)
                text += std::to_string(i * 100000) + " " + std::to_string((i + 1) * 100000) + " s" +
                        std::to_string((utterance.first + i) % 3) + " -1.5\n";
            text += ".\n";
        }
        return text;
    }
    std::string Blocks(const std::string& features = "dim=2", const std::string& labels = "") const
    {
        return " features=[" + features + " scpFile=" + Path("a.scp") + "] labels=[mlfFile=" + Path("a.mlf") +
               " labelDim=3 labelMappingFile=" + Path("states") + labels + "]";
    }
    template <class ElemType = float>
    std::unique_ptr<IDataReader<ElemType>> Make(const std::string& parameters, bool forWriting = false)
    {
        m_config = ConfigParameters::Parse(OnLines(" " + parameters));
        return MakeHtkReader<ElemType>({*m_config, m_log, 0, forWriting});
    }
    std::string ErrorOf(const std::string& parameters)
    {
        std::string message = MessageOf([&] { ReadEpoch(*Make(parameters), MakeRequest(0, 100)); });
        for (size_t at; (at = message.find(m_folder + "/")) != std::string::npos;)
            message.erase(at, m_folder.size() + 1);
        return message;
    }
};

} // namespace cntk
