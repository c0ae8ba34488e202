// Files that commands of the run will write. Jobs are prepared in order; each job may read the outputs that earlier jobs
// have declared, although these files do not exist yet.
#pragma once

#include "Common/File.h"
#include "Common/FileClashes.h"
#include "Common/Text.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cntk
{

class DeclaredOutputs
{
public:
    void Add(const std::string& command, const std::vector<std::string>& paths)
    {
        for (const std::string& path : paths)
            m_outputs.emplace_back(CanonicalPath(path), command);
    }
    // The command writes files whose names stand in a list that is not read here.
    void AddListed(const std::string& command) { m_writerOfLists = command; }

    // The command that writes the file; empty if none does. A declared path stands also for names that begin with the
    // path and a '.': the model of an epoch, the values of a node.
    std::string WriterOf(const std::string& path) const
    {
        const std::string canonical = CanonicalPath(path);
        std::string writer;
        for (const auto& [output, command] : m_outputs)
            if (canonical.starts_with(output) && (canonical.size() == output.size() || canonical[output.size()] == '.'))
                writer = command;
        return writer;
    }
    // The command that writes the model of an epoch, modelPath.N, under this very name: an edit that adds a layer.
    std::string WriterOfEpochModel(const std::string& modelPath) const
    {
        const std::string begin = CanonicalPath(modelPath) + ".";
        for (const auto& [output, command] : m_outputs)
            if (output.starts_with(begin) && ParseSize(std::string_view(output).substr(begin.size())))
                return command;
        return {};
    }
    const std::string& WriterOfLists() const { return m_writerOfLists; }

    bool WillExist(const std::string& path) const
    {
        return path == "-" || FileExists(ResolveInputPath(path)) || !WriterOf(path).empty();
    }

private:
    std::vector<std::pair<std::string, std::string>> m_outputs; // canonical path and command
    std::string m_writerOfLists;
};

} // namespace cntk
