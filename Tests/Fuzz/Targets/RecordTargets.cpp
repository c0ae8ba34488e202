// Fuzz targets of data files of records: texts of numbers and the binary formats.
#include "Common/Config/ConfigParameters.h"
#include "Common/ReaderInterface.h"
#include "Fuzz/FuzzTarget.h"
#include "Readers/BinaryReader/BinaryReader.h"
#include "Readers/CNTKTextFormatReader/CtfReader.h"
#include "Readers/DSSMReader/DssmReader.h"
#include "Readers/LibSVMBinaryReader/LibSvmReader.h"
#include "Readers/SparsePCReader/SparsePcReader.h"
#include "Readers/UCIFastReader/UciReader.h"

namespace cntk
{

namespace
{

using MakeReaderFunction = std::unique_ptr<IDataReader<float>> (*)(const ReaderContext& context);

void ReadAll(MakeReaderFunction make, const std::string& block)
{
    const std::unique_ptr<Log> log = MakeQuietLog();
    const auto config =
        ConfigParameters::Parse("reader=[\nrandomize=none\nprefetch=false\n" + block + "\n]\n", "fuzz.cntk");
    ReadEpochs(*make({config->RequireBlock("reader"), *log}));
}

// Data and label mapping file.
void FuzzUci(std::string_view input)
{
    const std::vector<std::string_view> parts = PartsOf(input, 2);
    ReadAll(MakeUciReader<float>,
            "file=" + InputPath("data.txt", parts[1]) +
                "\nfeatures=[\ndim=2\n]\nlabels=[\ndim=1\nstart=2\nlabelType=category\nlabelMappingFile=" +
                InputPath("map.txt", parts[0]) + "\n]");
}

void FuzzCtf(std::string_view input)
{
    ReadAll(MakeCtfReader<float>,
            "file=" + InputPath("data.ctf", input) +
                "\nmaxErrors=2\ninput=[\nA=[\ndim=2\nformat=dense\n]\nB=[\ndim=10\nformat=sparse\n]\n]");
}

void FuzzBinary(std::string_view input)
{
    ReadAll(MakeBinaryReader<float>, "file=" + InputPath("data.bin", input));
}

void FuzzLibSvm(std::string_view input)
{
    ReadAll(MakeLibSvmReader<float>, "file=" + InputPath("data.svm", input));
}

void FuzzSparsePc(std::string_view input)
{
    ReadAll(MakeSparsePcReader<float>,
            "file=" + InputPath("data.spc", input) + "\na=[\ndim=4\n]\nb=[\ndim=3\n]\nl=[\nlabelDim=1\n]");
}

// One file for both streams.
void FuzzDssm(std::string_view input)
{
    const std::string path = InputPath("data.dssm", input);
    ReadAll(MakeDssmReader<float>,
            "d=[\ndim=4\nfile=" + path + "\n]\nq=[\ndim=4\nfile=" + path + "\n]\nl=[\nlabelDim=3\n]");
}

} // namespace

std::vector<FuzzTarget> RecordTargets()
{
    constexpr size_t mega = size_t(1) << 20;
    return {{"Uci", FuzzUci, {200, 24 * mega}},           {"Ctf", FuzzCtf, {200, 24 * mega}},
            {"Binary", FuzzBinary, {100, 24 * mega}},     {"LibSvm", FuzzLibSvm, {100, 24 * mega}},
            {"SparsePc", FuzzSparsePc, {100, 24 * mega}}, {"Dssm", FuzzDssm, {100, 24 * mega}}};
}

} // namespace cntk
