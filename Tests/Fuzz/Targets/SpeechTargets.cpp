// Fuzz targets of the files of speech: features, script files, labels, lattices.
#include "Common/Config/ConfigParameters.h"
#include "Common/Htk/HtkFile.h"
#include "Common/Htk/ScpFile.h"
#include "Common/ReaderInterface.h"
#include "Fuzz/FuzzTarget.h"
#include "Readers/HTKMLFReader/HtkReader.h"
#include "Readers/HTKMLFReader/LatticeToc.h"
#include "Readers/HTKMLFReader/MlfFile.h"
#include "Readers/HTKMLFReader/SlfFile.h"

#include <algorithm>

namespace cntk
{

namespace
{

constexpr std::string_view c_states = "sil\nah\nb\n";

void FuzzHtk(std::string_view input)
{
    const bool isImages = input.starts_with(std::string_view("\0\0\x08\x03", 4)); // idx3, known by the name's end
    HtkFile file(InputPath(isImages ? "a-ubyte" : "a.mfc", input));
    (void)file.Kind().Text();
    constexpr size_t piece = 16;
    std::vector<float> values;
    for (size_t first = 0; first < file.Frames(); first += piece)
    {
        const size_t frames = std::min(piece, file.Frames() - first);
        values.resize(frames * file.Kind().dimension); // without frames the file bounds no dimension
        file.Read(first, frames, values.data());
    }
}

UtteranceKeys KeysOfTests()
{
    UtteranceKeys keys;
    keys.Add("a/u1", 0);
    keys.Add("b/u2", 1);
    keys.Add("b/u3", 2);
    return keys;
}

// List of states and label file.
void FuzzMlf(std::string_view input)
{
    const std::vector<std::string_view> parts = PartsOf(input, 2);
    const std::unique_ptr<Log> log = MakeQuietLog();
    StateList states;
    if (!parts[0].empty())
        states = StateList::FromFile(InputPath("states.txt", parts[0]));
    LabelTable table(3);
    table.ReadMlf(InputPath("a.mlf", parts[1]), KeysOfTests(), states, 100, *log);
    for (size_t utterance = 0; utterance < 3; utterance++)
        if (table.Has(utterance))
        {
            // The reader compares the frames with those of the features before it expands labels.
            const uint32_t frames = table.Frames(utterance);
            std::vector<uint32_t> ids(frames <= 100000 ? frames : 0);
            if (!ids.empty())
                table.Expand(utterance, ids.data());
        }
}

// Script file, label file, and an archive that the script file may name as "archive".
void FuzzScp(std::string_view input)
{
    const std::vector<std::string_view> parts = PartsOf(input, 3);
    InputPath("archive", parts[2]);
    const std::string scp = InputPath("a.scp", parts[0]);
    Try([&] { (void)ReadScpFile(scp, ""); });
    const std::unique_ptr<Log> log = MakeQuietLog();
    const auto config = ConfigParameters::Parse(
        "reader=[\nframeMode=false\nrandomize=none\nverbosity=0\nnbruttsineachrecurrentiter=2\nfeatures=[\ndim=2\n"
        "scpFile=" +
            scp + "\nprefixPathInSCP=" + InputFolder() + "\n]\nlabels=[\nlabelDim=3\nmlfFile=" +
            InputPath("a.mlf", parts[1]) + "\nlabelMappingFile=" + InputPath("states.txt", c_states) + "\n]\n]\n",
        "fuzz.cntk");
    ReadEpochs(*MakeHtkReader<float>({config->RequireBlock("reader"), *log}));
}

// List of lattices and a lattice.
void FuzzSlf(std::string_view input)
{
    const std::vector<std::string_view> parts = PartsOf(input, 2);
    const std::unique_ptr<Log> log = MakeQuietLog();
    Try(
        [&]
        {
            LatticeToc toc(3);
            toc.Read(InputPath("a.toc", parts[0]), "", KeysOfTests(), *log);
        });
    const StateList states = StateList::FromFile(InputPath("states.txt", c_states));
    const std::string key = "a/u1";
    const PiecewiseFile file(InputPath("a.lat", parts[1]));
    (void)ReadSlf(file, 0, {key, 6, states, 3});
}

} // namespace

std::vector<FuzzTarget> SpeechTargets()
{
    constexpr size_t mega = size_t(1) << 20;
    return {{"Htk", FuzzHtk, {100, 8 * mega}},
            {"Mlf", FuzzMlf, {200, 8 * mega}},
            {"Scp", FuzzScp, {400, 24 * mega}},
            {"Slf", FuzzSlf, {200, 8 * mega}}};
}

} // namespace cntk
