// The list of images (map file): names and classes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cntk
{

struct ImageList
{
    struct Image
    {
        std::string path;
        int32_t label = 0;
        size_t line = 0; // of the list
    };

    std::string path;
    std::vector<Image> images;

    // Fails (Data) on lines that are not "name<TAB>class", and on classes that are not below labelDim.
    static ImageList Read(const std::string& path, size_t labelDim);
};

} // namespace cntk
