// Fuzz targets of the texts that users write: configs, network descriptions, scripts of the model editing language.
#include "ActionsLib/Mel/MelEditor.h"
#include "ActionsLib/Ndl/NdlNetworkBuilder.h"
#include "Common/Config/ConfigFiles.h"
#include "Common/Config/ConfigParameters.h"
#include "Common/SourceText.h"
#include "Common/Text.h"
#include "Fuzz/FuzzTarget.h"

#include <optional>
#include <utility>

namespace cntk
{

namespace
{

// Reads every value of a block in every form. Most values have few forms, so only the first error of a value is
// reported: the reports took half of the time of this target.
void VisitBlock(const ConfigParameters& block, size_t depth)
{
    for (const std::string& name : block.Names())
    {
        bool isReported = false;
        const auto attempt = [&](auto&& body)
        {
            try
            {
                body();
            }
            catch (const Error& error)
            {
                if (error.Kind() == ErrorKind::Internal)
                    throw;
                if (!std::exchange(isReported, true))
                    (void)error.Report();
            }
        };
        std::optional<ConfigValue> value;
        attempt([&] { value = block.FindHere(name); });
        if (!value)
            continue;
        attempt([&] { (void)value->AsSize(); });
        attempt([&] { (void)value->AsBool(); });
        attempt([&] { (void)value->AsDouble(); });
        attempt([&] { (void)value->AsArray().size(); });
        attempt([&] { (void)block.ResolveVariables(value->Text(), value->Where()); });
        attempt(
            [&]
            {
                const ConfigParameters* inner = block.FindBlockHere(name);
                if (inner != nullptr && depth < 8)
                    VisitBlock(*inner, depth + 1);
            });
    }
}

// Two layered files and an argument of the command line.
void FuzzConfig(std::string_view input)
{
    const std::vector<std::string_view> parts = PartsOf(input, 3);
    std::vector<std::string> arguments = {
        Concat("configFile=", InputPath("a.cntk", parts[0]), "+", InputPath("b.cntk", parts[1]))};
    // These arguments would change the process or read files of the machine.
    const std::string argument(parts[2]);
    const std::string lower = ToLower(argument);
    if (!argument.empty() && lower.find("currentdirectory") == std::string::npos &&
        lower.find("configfile") == std::string::npos)
        arguments.push_back(argument);
    const LoadedConfig config = LoadConfig(arguments);
    VisitBlock(*config.root, 0);
    Try([&] { (void)config.root->Values(); });
    Try([&] { (void)config.root->UnreadEntries(); });
}

void FuzzNdl(std::string_view input)
{
    NdlContext context;
    context.most = 1000;
    context.writesDumps = false;
    BuildNetworkFromNdlText(std::string(input), "input.ndl", DataType::Float32, MakeSmallDevice(), &context);
}

constexpr const char* c_editedNetwork = R"(
  Layer(x)=[ W=Parameter(4,3,init=fixedValue,value=0.5); b=Parameter(4,1,init=fixedValue,value=0)
    t=Times(W,x); z=Plus(t,b); s=Sigmoid(z) ]
  Last(x)=[ W=Parameter(2,4,init=fixedValue,value=0.5); z=Times(W,x) ]
  features=Input(3, tag=feature)
  labels=Input(2, tag=label)
  L1=Layer(features)
  L2=Last(L1.s)
  ce=CrossEntropyWithSoftmax(labels, L2.z, tag=criterion)
)";

void FuzzMel(std::string_view input)
{
    const std::unique_ptr<Log> log = MakeQuietLog();
    NdlContext context;
    context.most = 1000;
    context.writesDumps = false;
    const std::shared_ptr<Device> device = MakeSmallDevice();
    MelEditor editor(DataType::Float32, device, context, *log, MelEditor::Mode::Check);
    editor.Models().Add(
        "m",
        Prepare([&] { return BuildNetworkFromNdlText(c_editedNetwork, "edited.ndl", DataType::Float32, device); }));
    editor.Run(PrepareMel(std::make_shared<SourceText>("input.mel", std::string(input))));
}

} // namespace

// An array of a config may have a million elements, a network of the targets 64 MiB.
std::vector<FuzzTarget> ConfigTargets()
{
    constexpr size_t mega = size_t(1) << 20;
    return {{"Config", FuzzConfig, {4000, 400 * mega}},
            {"Ndl", FuzzNdl, {8000, 144 * mega}},
            {"Mel", FuzzMel, {8000, 144 * mega}}};
}

} // namespace cntk
