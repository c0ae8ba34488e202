// Model files in a folder of the test's own, and sections of them written by hand.
#pragma once

#include "Common/Error.h"
#include "Common/File.h"
#include "CommonTests/TemporaryFolder.h"
#include "ComputationNetwork/ComputationNetwork.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "ComputationNetwork/ModelArchive.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <unistd.h>

namespace cntk
{

class ModelFileTests : public ::testing::Test
{
protected:
    ModelFileTests()
        : m_folder(std::filesystem::temp_directory_path() /
                   ("ModelFileTests." + std::to_string(::getpid()) + "." +
                    ::testing::UnitTest::GetInstance()->current_test_info()->name()))
    {
        std::filesystem::create_directories(m_folder);
    }
    ~ModelFileTests() override { std::filesystem::remove_all(m_folder); }

    std::string Path(const std::string& name) const { return (m_folder / name).string(); }

    // Message of the error with the test's folder taken out.
    std::string LoadError(const std::string& name, DataType type = DataType::Float32) const
    {
        try
        {
            LoadModel(Path(name), type, m_device);
        }
        catch (const Error& error)
        {
            EXPECT_EQ(error.Kind(), ErrorKind::Model);
            std::string message = error.Message();
            const std::string folder = m_folder.string() + "/";
            for (size_t at = message.find(folder); at != std::string::npos; at = message.find(folder))
                message.erase(at, folder.size());
            return message;
        }
        return "no error";
    }

    std::unique_ptr<ComputationNetwork> SmallNetwork(DataType type) const
    {
        auto network = std::make_unique<ComputationNetwork>(type, m_device);
        const auto features = network->AddInput("features", TensorShape{3});
        const auto labels = network->AddInput("labels", TensorShape{2});
        const auto weights = network->AddParameter("W", TensorShape{2, 3});
        std::dynamic_pointer_cast<LearnableParameterNode>(weights)->InitUniform(1, 1);
        const auto product = network->Add("Times", "z", {weights, features});
        const auto criterion = network->Add("SquareError", "c", {labels, product});
        network->AddToGroup(NodeGroup::Feature, features);
        network->AddToGroup(NodeGroup::Label, labels);
        network->AddToGroup(NodeGroup::Criterion, criterion);
        network->AddToGroup(NodeGroup::Output, product);
        network->Validate();
        return network;
    }
    std::string SmallFile(DataType type) const
    {
        SaveModel(*SmallNetwork(type), Path("small.dnn"));
        return ReadBytes(Path("small.dnn"));
    }

    std::shared_ptr<Device> m_device = MakeCpuDevice();
    std::filesystem::path m_folder;
};

// Writes sections of a model by hand.
class ModelBytes
{
public:
    ModelBytes& Mark(std::string_view text)
    {
        const std::u16string wide = ToWide(text);
        return Append(wide.c_str(), 2 * (wide.size() + 1));
    }
    template <class T>
    ModelBytes& Number(T value)
    {
        return Append(&value, sizeof(value));
    }
    ModelBytes& Version(uint64_t version) { return Mark("BCN").Mark("BVersion").Number(version).Mark("EVersion"); }
    // Records of August 2015, in double precision.
    ModelBytes& OldParameter(const char* name, uint64_t rows, uint64_t columns, std::initializer_list<double> values)
    {
        Mark("LearnableParameter").Mark(name).Number(uint8_t(1)).Number(rows).Number(columns);
        Number('d').Mark("BMAT").Number(uint64_t(8)).Mark(name).Number(int32_t(0)).Number(rows).Number(columns);
        for (const double value : values)
            Number(value);
        return Mark("EMAT");
    }
    ModelBytes& OldInput(const char* name, uint64_t width, uint64_t height, uint64_t channels)
    {
        Mark("InputValue").Mark(name).Number(width * height * channels).Number(uint64_t(3));
        return Number(width).Number(height).Number(channels);
    }
    ModelBytes& Relation(const char* name, std::initializer_list<const char*> inputs)
    {
        Mark(name).Number(uint64_t(inputs.size()));
        for (const char* input : inputs)
            Mark(input);
        return *this;
    }
    const std::string& Text() const { return m_bytes; }

private:
    ModelBytes& Append(const void* data, size_t size)
    {
        m_bytes.append(static_cast<const char*>(data), size);
        return *this;
    }
    std::string m_bytes;
};

} // namespace cntk
