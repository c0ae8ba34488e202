// Fuzz targets of the files that hold networks and weights.
#include "ActionsLib/Actions/DbnFile.h"
#include "ActionsLib/Ndl/NdlNetworkBuilder.h"
#include "ComputationNetwork/Files/CheckpointFile.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "EvalLibrary/EvaluationModel.h"
#include "Exchange/NpzFile.h"
#include "Fuzz/FuzzTarget.h"
#include "Fuzz/MarkedFileMutation.h"
#include "Fuzz/NpzMutation.h"

namespace cntk
{

namespace
{

// The path of libcntk's cntk_model_load_memory; actions load files through the same functions.
void FuzzModel(std::string_view input)
{
    const std::shared_ptr<const EvaluationModel> model = EvaluationModel::LoadMemory(input, {});
    for (const ComputationNodePtr& node : model->Group(CNTK_ALL))
    {
        cntk_node_info info = {};
        info.struct_size = sizeof info;
        DescribeNode(*node, &info);
    }
    (void)model->MakeNetwork(model->OutputNames({}));
}

void FuzzCheckpoint(std::string_view input)
{
    const std::shared_ptr<Device> device = MakeCpuDevice({.threads = 1, .matrixEngine = MatrixEngine::Own});
    LoadCheckpoint(InputPath("m.dnn.ckp", input), DataType::Float32, *device);
}

void FuzzDbn(std::string_view input)
{
    ReadDbnFile(InputPath("m.dbn", input));
}

void FuzzNpz(std::string_view input)
{
    const auto network = Prepare(
        []
        {
            return BuildNetworkFromNdlText("features=Input(3, tag=feature)\nW=Parameter(2,3)\nb=Parameter(2,1)\n"
                                           "z=Plus(Times(W,features),b,tag=output)\n",
                                           "weights.ndl", DataType::Float32, MakeSmallDevice());
        });
    ReadNpz(*network, InputPath("m.npz", input), {});
}

// The file of initFromFilePath.
void FuzzTextMatrix(std::string_view input)
{
    (void)ReadTextMatrix(InputPath("m.txt", input));
}

} // namespace

std::vector<FuzzTarget> ModelTargets()
{
    constexpr size_t mega = size_t(1) << 20;
    return {{"Model", FuzzModel, {500, 256 * mega}, MutateMarkedFile},
            {"Checkpoint", FuzzCheckpoint, {200, 256 * mega}, MutateMarkedFile},
            {"Dbn", FuzzDbn, {20, 8 * mega}},
            {"Npz", FuzzNpz, {20, 16 * mega}, MutateNpz},
            {"TextMatrix", FuzzTextMatrix, {200, 8 * mega}}};
}

} // namespace cntk
