// Recognises checkpoints, DBN files, later formats and plain text by their first bytes.
#include "ComputationNetwork/Files/ForeignFiles.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Text.h"
#include "ComputationNetwork/Files/ByteStream.h"

#include <algorithm>

namespace cntk
{

namespace
{

// Suggests "; give the model file 'out/m.dnn' beside it" for "out/m.dnn.ckp" and "out/m.dnn.2.ckp".
std::string ModelBeside(const std::string& path)
{
    constexpr std::string_view ending = ".ckp";
    if (path.size() <= ending.size() || !EqualsIgnoreCase(std::string_view(path).substr(path.size() - 4), ending))
        return "; give the model file it was written with";
    const std::string model = path.substr(0, path.size() - ending.size());
    return Concat("; give the model file '", model, "'", FileExists(model) ? "" : " (which does not exist here)");
}

// Returns the version of a checkpoint, or 0 for other files.
uint64_t CheckpointVersion(std::string_view content, const std::string& path)
{
    ByteReader in(content, path, "checkpoint file");
    if (in.Mark("BCKP"))
        return 1;
    if (!in.Mark("BVersion") || in.Left() < sizeof(uint64_t))
        return 0;
    const auto version = in.Read<uint64_t>("version");
    return in.Mark("EVersion") && in.Mark("BCKP") ? version : 0;
}

// Recognises a protobuf message whose first dictionary entry is "version".
bool IsLaterFormat(std::string_view content)
{
    return content.size() > 16 && content[0] == 0x08 && content.substr(0, 64).find("version") != std::string_view::npos;
}

bool IsText(std::string_view content)
{
    return std::none_of(content.begin(), content.end(),
                        [](char c) { return uint8_t(c) < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f'; });
}

std::string FirstLine(std::string_view content)
{
    constexpr size_t longest = 40;
    while (!content.empty())
    {
        const size_t end = std::min(content.find('\n'), content.size());
        const std::string_view line = Trim(content.substr(0, end));
        if (!line.empty())
            return line.size() > longest ? Concat(line.substr(0, longest), "...") : std::string(line);
        content.remove_prefix(std::min(end + 1, content.size()));
    }
    return {};
}

} // namespace

void FailNotAModel(std::string_view content, const std::string& path)
{
    if (content.empty())
        Fail(ErrorKind::Model, "'", path, "' is empty; expected a model file");
    if (const uint64_t version = CheckpointVersion(content, path); version != 0)
        Fail(ErrorKind::Model, "'", path, "' is a training checkpoint (version ", version,
             "), which holds the learner's state and no network", ModelBeside(path));
    if (content.starts_with(std::string_view("DBN\n", 4)) || content.starts_with(std::string_view("DBN\0", 4)))
        Fail(ErrorKind::Model, "'", path,
             "' is a DBN file, not a model; convert it with action=convertdbn and give the model made from it");
    if (IsLaterFormat(content))
        Fail(ErrorKind::Model, "'", path,
             "' is a CNTK 2 model (protobuf); expected a model of format version 1 to 14, as CNTK 1 saved them");
    if (content.size() >= 2 && uint8_t(content[0]) == 0x1F && uint8_t(content[1]) == 0x8B)
        Fail(ErrorKind::Model, "'", path, "' is a gzip-compressed file; unpack it and give the model inside");
    if (IsText(content.substr(0, 4096)))
        Fail(ErrorKind::Model, "'", path, "' is a text file that begins with '", FirstLine(content),
             "'; expected a model file, as the actions train and edit write them");
    ByteReader in(content, path, "model file");
    if (std::string_view("B\0C\0N\0\0\0", 8).starts_with(content.substr(0, 8)))
        Fail(ErrorKind::Model, "model file '", path, "' ends at byte ", content.size(),
             ": expected the mark 'BCN' at byte 0");
    Fail(ErrorKind::Model, "'", path, "' is no model file: expected the mark 'BCN' at byte 0, found ", in.Describe(0));
}

} // namespace cntk
