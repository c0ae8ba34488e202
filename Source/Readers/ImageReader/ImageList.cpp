// Lines of the list of images.
#include "Readers/ImageReader/ImageList.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "Readers/ReaderLib/LineReader.h"

#include <filesystem>

namespace cntk
{

ImageList ImageList::Read(const std::string& path, size_t labelDim)
{
    ImageList list;
    list.path = path;
    std::string folder = std::filesystem::path(path).parent_path().string();
    if (folder.empty())
        folder = ".";
    LineReader reader(path);
    for (std::string_view line; reader.Next(line);)
    {
        if (Trim(line).empty())
            continue;
        const size_t tab = line.find('\t');
        if (tab != std::string_view::npos && Trim(line.substr(0, tab)).empty())
            Fail(ErrorKind::Data, reader.Location(line),
                 ": there is no file in front of the tab; expected the image's "
                 "file, a tab and its class");
        if (tab == std::string_view::npos)
            Fail(ErrorKind::Data, reader.Location(line), ": '", line,
                 "' has no tab between two columns; expected the image's file, a tab and its class");
        std::string_view text = line.substr(tab + 1);
        text = Trim(text.substr(0, text.find('\t'))); // further columns do not matter
        const std::optional<long long> label = ParseInteger(text);
        if (!label || *label < 0)
            Fail(ErrorKind::Data, reader.Location(text), ": the class is '", text, "'; expected a whole number from 0");
        if (size_t(*label) >= labelDim)
            Fail(ErrorKind::Data, reader.Location(text), ": class ", *label, " is not below labelDim=", labelDim);
        Image image;
        image.path = line.substr(0, tab);
        if (image.path.starts_with("..."))
            image.path = folder + image.path.substr(3);
        image.label = int32_t(*label);
        image.line = reader.LineNumber();
        list.images.push_back(std::move(image));
    }
    if (list.images.empty())
        Fail(ErrorKind::Data, "list of images '", path, "' names no image");
    return list;
}

} // namespace cntk
