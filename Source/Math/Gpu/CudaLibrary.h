// Finding the libraries of CUDA at run time, so that their absence is ours to explain.
#pragma once

#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <vector>

namespace cntk
{

// Where the system looks, then in CUDA_PATH, CUDA_HOME and /usr/local/cuda. Null, and the loader's reason, where there
// is none. Libraries stay open until the program ends.
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
