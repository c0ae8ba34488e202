// Opens the libraries of CUDA at run time, so that our own messages can explain what is missing.
#pragma once

#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <vector>

namespace cntk
{

// Searches the system's folders, then CUDA_PATH, CUDA_HOME and /usr/local/cuda. Returns null and the loader's reason if
// the library is not found. Libraries stay open until the program ends.
inline void* OpenCudaLibrary(const std::string& name, std::string& reason)
{
    std::vector<std::string> candidates{name};
    std::vector<std::string> folders;
    for (const char* variable : {"CUDA_PATH", "CUDA_HOME"})
        if (const char* folder = std::getenv(variable))
            folders.emplace_back(folder);
    folders.emplace_back("/usr/local/cuda");
    if (name.find('/') == std::string::npos)
        for (const std::string& folder : folders)
            for (const char* inner : {"/lib64/", "/lib/"})
                candidates.push_back(folder + inner + name);
    reason.clear();
    for (const std::string& candidate : candidates)
    {
        if (void* const library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL))
            return library;
        if (reason.empty())
            reason = dlerror();
    }
    return nullptr;
}

} // namespace cntk
