// The checkpoint sections of CNTK v1.1, followed by a section of our own.
#include "ComputationNetwork/Files/CheckpointFile.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "ComputationNetwork/ModelArchive.h"

#include <cmath>

namespace cntk
{

namespace
{

constexpr uint64_t c_version = 2;
constexpr std::string_view c_ownBegin = "BCNTKClassic";
constexpr std::string_view c_ownEnd = "ECNTKClassic";

// Rejects an invalid learning rate. A resumed training would end at once, as if its rate were too small, or diverge.
void RequireRate(const ByteReader& in, size_t position, double rate)
{
    if (!std::isfinite(rate) || rate < 0)
        in.Damaged(position, "the learning rate, a finite number from 0", Concat(rate));
}

// Reads rate and criterion. They are doubles, except in float runs of the older format, which the position of the end
// mark shows.
void ReadRates(ByteReader& in, CheckpointInfo& info)
{
    in.Expect("BLearnRate");
    info.samplesSeen = in.Read<uint64_t>("the number of samples seen");
    const size_t position = in.Position();
    if (in.Left() >= 2 * sizeof(float))
    {
        const auto rate = in.Read<float>("the learning rate");
        const auto criterion = in.Read<float>("the previous criterion");
        if (in.Mark("ELearnRate"))
        {
            RequireRate(in, position, double(rate));
            info.learningRatePerSample = double(rate);
            info.previousCriterion = double(criterion);
            return;
        }
        in.Seek(position);
    }
    info.learningRatePerSample = in.Read<double>("the learning rate");
    info.previousCriterion = in.Read<double>("the previous criterion");
    in.Expect("ELearnRate");
    RequireRate(in, position, info.learningRatePerSample);
}

void ReadExtra(ByteReader& in, CheckpointInfo& info)
{
    if (!in.Mark(c_ownBegin))
        return; // written by CNTK v1.1
    const size_t count = in.Count("the number of entries", 2 + sizeof(uint64_t));
    for (size_t i = 0; i < count; i++)
    {
        const std::string name = in.WideText("the name of an entry");
        const size_t length = in.Count("the length of an entry", 1);
        info.extra[name] = std::string(in.Bytes(length, "the value of an entry"));
    }
    in.Expect(c_ownEnd);
}

using NamedMatrices = std::map<std::string, const Matrix*>;

void WriteNamed(ByteWriter& out, const NamedMatrices& matrices)
{
    out.Write(uint64_t(matrices.size()));
    for (const auto& [name, matrix] : matrices)
    {
        out.WideText(name);
        WriteMatrix(out, *matrix, matrix->Type());
    }
}

std::map<std::string, Matrix> ReadNamed(ByteReader& in, DataType dataType, Device& device)
{
    std::map<std::string, Matrix> matrices;
    const size_t count = in.Count("the number of parameters", 2);
    for (size_t i = 0; i < count; i++)
    {
        const std::string name = in.WideText("the name of a parameter");
        matrices[name] = ReadMatrix(in, dataType, device);
    }
    return matrices;
}

void WriteBlocks(ByteWriter& out, const BlockMomentumSection& blocks)
{
    out.WideText("BMACKP");
    out.WideText("BOptions");
    out.Write(uint8_t(blocks.resetsMomentum));
    out.WideText("EOptions");
    out.WideText("BMomentumTimeConstant");
    out.Write(blocks.timeConstantPerWorker);
    out.WideText("EMomentumTimeConstant");
    out.WideText("BSyncPeriodInSamples");
    out.Write(blocks.periodPerWorker);
    out.WideText("ESyncPeriodInSamples");
    out.WideText("BParam");
    WriteNamed(out, blocks.models);
    WriteNamed(out, blocks.velocities);
    out.WideText("EParam");
    out.WideText("EMACKP");
}

// Reads the section of BlockMomentumSGD. Its options are taken from the config and its models from the model file.
void ReadBlocks(ByteReader& in, Checkpoint& checkpoint, DataType dataType, Device& device)
{
    if (!in.Mark("BMACKP"))
        return;
    in.Expect("BOptions");
    in.ReadBool("whether smoothed gradients are reset");
    in.Expect("EOptions");
    in.Expect("BMomentumTimeConstant");
    in.Read<double>("the time constant of the block momentum");
    in.Expect("EMomentumTimeConstant");
    in.Expect("BSyncPeriodInSamples");
    in.Read<uint64_t>("the length of a block");
    in.Expect("ESyncPeriodInSamples");
    in.Expect("BParam");
    ReadNamed(in, dataType, device);
    checkpoint.blockVelocities = ReadNamed(in, dataType, device);
    in.Expect("EParam");
    in.Expect("EMACKP");
}

} // namespace

void SaveCheckpoint(const std::string& path, const CheckpointInfo& info,
                    std::span<const Matrix* const> smoothedGradients, const BlockMomentumSection* blocks)
{
    ByteWriter out(path);
    out.WideText("BVersion");
    out.Write(c_version);
    out.WideText("EVersion");
    out.WideText("BCKP");

    out.WideText("BLearnRate");
    out.Write(info.samplesSeen);
    out.Write(info.learningRatePerSample);
    out.Write(info.previousCriterion);
    out.WideText("ELearnRate");

    out.WideText("BMinibatchSize");
    out.Write(info.minibatchSize);
    out.WideText("EMinibatchSize");

    out.WideText("BGradient");
    for (const Matrix* matrix : smoothedGradients)
        WriteMatrix(out, *matrix, matrix->Type());
    out.WideText("EGradient");
    if (blocks != nullptr)
        WriteBlocks(out, *blocks);
    out.WideText("ECKP");

    out.WideText(c_ownBegin);
    out.Write(uint64_t(info.extra.size()));
    for (const auto& [name, value] : info.extra)
    {
        out.WideText(name);
        out.Write(uint64_t(value.size()));
        out.Bytes(value.data(), value.size());
    }
    out.WideText(c_ownEnd);
    out.Commit();
}

Checkpoint LoadCheckpoint(const std::string& path, DataType dataType, Device& device)
{
    const MappedFile file(ResolveInputPath(path));
    ByteReader in(file.Text(), path, "checkpoint file");
    if (in.Peek("BCN"))
        Fail(ErrorKind::Model, "'", path, "' is a model file, not a checkpoint; expected the '.ckp' file beside it");
    if (in.Mark("BVersion"))
    {
        const size_t position = in.Position();
        const auto version = in.Read<uint64_t>("the version of the checkpoint");
        if (version == 0)
            in.Damaged(position, Concat("a version (1 to ", c_version, ")"), "0");
        if (version > c_version)
            Fail(ErrorKind::Model, "'", path, "' is a checkpoint of version ", version,
                 ", written by a later program; expected version ", c_version, " or older");
        in.Expect("EVersion");
    }
    else if (in.Left() > 0 && !in.Peek("BCKP"))
        Fail(ErrorKind::Model, "'", path, "' is no checkpoint file: expected the mark 'BVersion' or 'BCKP' at byte 0, ",
             "found ", in.Describe(0));

    Checkpoint checkpoint;
    in.Expect("BCKP");
    ReadRates(in, checkpoint.info);
    if (in.Mark("BMinibatchSize"))
    {
        checkpoint.info.minibatchSize = in.Read<uint64_t>("the minibatch size");
        in.Expect("EMinibatchSize");
    }
    in.Expect("BGradient");
    while (!in.Mark("EGradient"))
        checkpoint.smoothedGradients.push_back(ReadMatrix(in, dataType, device));
    ReadBlocks(in, checkpoint, dataType, device);
    in.Expect("ECKP");
    ReadExtra(in, checkpoint.info);
    return checkpoint;
}

} // namespace cntk
