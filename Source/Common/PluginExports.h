// Defines the functions that a plugin library exports (ReaderInterface.h) from the templates that create its reader and
// writer. Use these macros in a source file of their own, so that one program can link several plugins.
#pragma once

#include "Common/Interruption.h"
#include "Common/ReaderInterface.h"

namespace cntk
{

// Weak, because a plugin that writes no files need not be linked with Common.
[[gnu::weak]] void UseTemporaryFiles(TemporaryFiles& files);

} // namespace cntk

// makeReader<ElemType>(context) returns a std::unique_ptr<IDataReader<ElemType>>.
#define CNTK_EXPORT_READER(makeReader)                                                                                 \
    extern "C" CNTK_PLUGIN_EXPORT uint32_t CntkPluginAbi()                                                             \
    {                                                                                                                  \
        return cntk::c_pluginAbi;                                                                                      \
    }                                                                                                                  \
    extern "C" CNTK_PLUGIN_EXPORT void ShareTemporaryFiles(cntk::TemporaryFiles& files)                                \
    {                                                                                                                  \
        if (cntk::UseTemporaryFiles)                                                                                   \
            cntk::UseTemporaryFiles(files);                                                                            \
    }                                                                                                                  \
    extern "C" CNTK_PLUGIN_EXPORT void GetReaderF(std::unique_ptr<cntk::IDataReader<float>>& reader,                   \
                                                  const cntk::ReaderContext& context)                                  \
    {                                                                                                                  \
        reader = makeReader<float>(context);                                                                           \
    }                                                                                                                  \
    extern "C" CNTK_PLUGIN_EXPORT void GetReaderD(std::unique_ptr<cntk::IDataReader<double>>& reader,                  \
                                                  const cntk::ReaderContext& context)                                  \
    {                                                                                                                  \
        reader = makeReader<double>(context);                                                                          \
    }

// findFiles(context, files) adds the files that the reader opens (FindInputFilesFunction).
#define CNTK_EXPORT_INPUT_FILES(findFiles)                                                                             \
    extern "C" CNTK_PLUGIN_EXPORT void FindInputFiles(const cntk::ReaderContext& context,                              \
                                                      std::vector<cntk::ConfigValue>& files)                           \
    {                                                                                                                  \
        findFiles(context, files);                                                                                     \
    }

// makeWriter<ElemType>(context) gives a std::unique_ptr<IDataWriter<ElemType>>.
// makeWriter<ElemType>(context) returns a std::unique_ptr<IDataWriter<ElemType>>.
#define CNTK_EXPORT_WRITER(makeWriter)                                                                                 \
    extern "C" CNTK_PLUGIN_EXPORT void GetWriterF(std::unique_ptr<cntk::IDataWriter<float>>& writer,                   \
                                                  const cntk::ReaderContext& context)                                  \
    {                                                                                                                  \
        writer = makeWriter<float>(context);                                                                           \
    }                                                                                                                  \
    extern "C" CNTK_PLUGIN_EXPORT void GetWriterD(std::unique_ptr<cntk::IDataWriter<double>>& writer,                  \
                                                  const cntk::ReaderContext& context)                                  \
    {                                                                                                                  \
        writer = makeWriter<double>(context);                                                                          \
    }
