// Fuzz targets of texts of words, with their lists of words, classes and labels.
#include "Common/Config/ConfigParameters.h"
#include "Common/ReaderInterface.h"
#include "Fuzz/FuzzTarget.h"
#include "Readers/LMSequenceReader/LmReader.h"
#include "Readers/LUSequenceReader/LuReader.h"
#include "Readers/ReaderLib/LabelMap.h"
#include "Readers/ReaderLib/Vocabulary.h"

namespace cntk
{

namespace
{

// Class file and text.
void FuzzLm(std::string_view input)
{
    const std::vector<std::string_view> parts = PartsOf(input, 2);
    const std::unique_ptr<Log> log = MakeQuietLog();
    const auto config = ConfigParameters::Parse(
        "reader=[\nprefetch=false\nfile=" + InputPath("text.txt", parts[1]) +
            "\nwordclass=" + InputPath("classes.txt", parts[0]) +
            "\nfeatures=[\ndim=0\nmode=class\n]\nlabelIn=[\ndim=1\nlabelType=Category\n]\nlabels=[\ndim=1\n"
            "labelType=NextWord\n]\n]\n",
        "fuzz.cntk");
    ReadEpochs(*MakeLmReader<float>({config->RequireBlock("reader"), *log}));
}

// List of words, list of labels, text.
void FuzzLu(std::string_view input)
{
    const std::vector<std::string_view> parts = PartsOf(input, 3);
    const std::unique_ptr<Log> log = MakeQuietLog();
    const auto config = ConfigParameters::Parse(
        "reader=[\nprefetch=false\nfile=" + InputPath("text.txt", parts[2]) +
            "\nfeatures=[\ndim=0\n]\nlabelIn=[\nbeginSequence=BOS\nendSequence=EOS\ntoken=" +
            InputPath("words.txt", parts[0]) + "\n]\nlabels=[\ntoken=" + InputPath("tags.txt", parts[1]) + "\n]\n]\n",
        "fuzz.cntk");
    ReadEpochs(*MakeLuReader<float>({config->RequireBlock("reader"), *log}));
}

void FuzzWordLists(std::string_view input)
{
    const std::string path = InputPath("list.txt", input);
    Try([&] { (void)LabelMap::FromFile(path); });
    Try([&] { (void)Vocabulary::FromList(path, Vocabulary::BlankLine::EndOfList); });
    Try([&] { (void)Vocabulary::FromClassList(path); });
    Try([&] { (void)Vocabulary::FromClassFile(path); });
}

} // namespace

std::vector<FuzzTarget> WordTargets()
{
    constexpr size_t mega = size_t(1) << 20;
    return {{"Lm", FuzzLm, {400, 24 * mega}},
            {"Lu", FuzzLu, {400, 24 * mega}},
            {"WordLists", FuzzWordLists, {400, 8 * mega}}};
}

} // namespace cntk
