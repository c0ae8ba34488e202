#include "Exchange/NpzManifest.h"

#include "Common/Error.h"

#ifdef CNTK_HAS_MINIZIP
#include <nlohmann/json.hpp>
#endif

namespace cntk
{

#ifdef CNTK_HAS_MINIZIP

namespace
{

constexpr int c_manifestFormat = 1;

} // namespace

std::string MakeNpzManifest(const ExportedValues& values, DataType precision)
{
    nlohmann::ordered_json nodes = nlohmann::ordered_json::object();
    for (const ComputationNodePtr& node : values.nodes)
    {
        const auto dims = node->SampleLayout().Dims();
        nodes[node->Name()] = {{"type", node->TypeName()}, {"dims", std::vector<size_t>(dims.begin(), dims.end())}};
    }
    nlohmann::ordered_json manifest;
    manifest["format"] = c_manifestFormat;
    manifest["version"] = CNTK_VERSION;
    manifest["precision"] = NameOf(precision);
    manifest["nodes"] = std::move(nodes);
    return manifest.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void RequireKnownManifest(std::string_view text, const std::string& what)
{
    const auto manifest = nlohmann::json::parse(text, nullptr, false);
    if (!manifest.is_object())
        return;
    const auto format = manifest.find("format");
    if (format != manifest.end() && format->is_number() && format->get<double>() > c_manifestFormat)
        Fail(ErrorKind::Data, what, " has format ", format->get<double>(), "; expected ", c_manifestFormat,
             ": the file was written by a later program");
}

#else

std::string MakeNpzManifest(const ExportedValues&, DataType)
{
    return {};
}

void RequireKnownManifest(std::string_view, const std::string&) {}

#endif

} // namespace cntk
