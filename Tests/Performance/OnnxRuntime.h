// Runs small ONNX models through the C interface of onnxruntime 1.20, for comparison. Its header is not needed: the
// table of functions never changes its order, and the numbers below are places in it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cntk
{

// The message of a protobuf file, field by field.
class ProtobufMessage
{
public:
    void Number(unsigned field, uint64_t value)
    {
        Varint(field << 3);
        Varint(value);
    }
    void Text(unsigned field, const std::string& value)
    {
        Varint(field << 3 | 2);
        Varint(value.size());
        m_bytes += value;
    }
    void Message(unsigned field, const ProtobufMessage& value) { Text(field, value.m_bytes); }
    const std::string& Bytes() const { return m_bytes; }

private:
    void Varint(uint64_t value)
    {
        for (; value >= 0x80; value >>= 7)
            m_bytes += char(0x80 | (value & 0x7F));
        m_bytes += char(value);
    }

    std::string m_bytes;
};

// A graph of opset 17 with one input and one output in float. A dimension of 0 is open.
class OnnxModel
{
public:
    void AddInitializer(const std::string& name, const std::vector<size_t>& dims, const std::vector<float>& values)
    {
        ProtobufMessage tensor;
        for (const size_t dim : dims)
            tensor.Number(1, dim);
        tensor.Number(2, 1);
        tensor.Text(8, name);
        tensor.Text(9, std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
        m_graph.Message(5, tensor);
    }
    void AddNode(const std::string& type, const std::vector<std::string>& inputs,
                 const std::vector<std::string>& outputs, const std::string& attribute = {}, size_t value = 0)
    {
        ProtobufMessage node;
        for (const std::string& input : inputs)
            node.Text(1, input);
        for (const std::string& output : outputs)
            node.Text(2, output);
        node.Text(4, type);
        if (!attribute.empty())
        {
            ProtobufMessage number;
            number.Text(1, attribute);
            number.Number(3, value);
            number.Number(20, 2);
            node.Message(5, number);
        }
        m_graph.Message(1, node);
    }
    void SetBorder(const std::string& input, const std::vector<size_t>& inputDims, const std::string& output,
                   const std::vector<size_t>& outputDims)
    {
        m_input = input;
        m_output = output;
        m_graph.Text(2, "graph");
        m_graph.Message(11, Value(input, inputDims));
        m_graph.Message(12, Value(output, outputDims));
    }
    std::string Bytes() const
    {
        ProtobufMessage model, opset;
        model.Number(1, 8);
        model.Message(7, m_graph);
        opset.Number(2, 17);
        model.Message(8, opset);
        return model.Bytes();
    }
    const std::string& InputName() const { return m_input; }
    const std::string& OutputName() const { return m_output; }

private:
    static ProtobufMessage Value(const std::string& name, const std::vector<size_t>& dims)
    {
        ProtobufMessage shape, tensor, type, value;
        for (const size_t dim : dims)
        {
            ProtobufMessage size;
            dim == 0 ? size.Text(2, "N") : size.Number(1, dim);
            shape.Message(1, size);
        }
        tensor.Number(1, 1);
        tensor.Message(2, shape);
        type.Message(1, tensor);
        value.Text(1, name);
        value.Message(2, type);
        return value;
    }

    ProtobufMessage m_graph;
    std::string m_input, m_output;
};

class OnnxRuntime
{
public:
    explicit OnnxRuntime(const char* path)
    {
        struct Base
        {
            const Functions* (*getApi)(uint32_t version);
            const char* (*getVersion)();
        };
        void* const library = dlopen(path, RTLD_NOW);
        const auto getBase =
            library == nullptr ? nullptr : reinterpret_cast<const Base* (*)()>(dlsym(library, "OrtGetApiBase"));
        if (getBase == nullptr)
            Stop("cannot open onnxruntime");
        m_functions = getBase()->getApi(20);
        if (m_functions == nullptr)
            Stop("onnxruntime is older than 1.20");
        Check(Call<c_createEnv>(3, "benchmark", &m_environment));
        Check(Call<c_createCpuMemory>(0, 0, &m_memory));
        std::printf("onnxruntime %s\n", getBase()->getVersion());
    }

    // One thread, all optimizations.
    class Session
    {
    public:
        Session(OnnxRuntime& runtime, const std::string& model) : m_runtime(runtime)
        {
            void* options = nullptr;
            runtime.Check(runtime.Call<c_createOptions>(&options));
            runtime.Check(runtime.Call<c_setThreads>(options, 1));
            runtime.Check(runtime.Call<c_setOptimization>(options, 99));
            runtime.Check(runtime.Call<c_createSession>(runtime.m_environment, static_cast<const void*>(model.data()),
                                                        model.size(), options, &m_session));
        }

        void Run(const std::vector<float>& input, const std::vector<int64_t>& dims, const OnnxModel& model,
                 std::vector<float>& output)
        {
            void *given = nullptr, *result = nullptr, *values = nullptr, *shape = nullptr;
            size_t count = 0;
            m_runtime.Check(m_runtime.Call<c_makeTensor>(m_runtime.m_memory, const_cast<float*>(input.data()),
                                                         input.size() * sizeof(float), dims.data(), dims.size(), 1,
                                                         &given));
            const char* const inputName = model.InputName().c_str();
            const char* const outputName = model.OutputName().c_str();
            m_runtime.Check(m_runtime.Call<c_run>(m_session, static_cast<void*>(nullptr), &inputName, &given, size_t(1),
                                                  &outputName, size_t(1), &result));
            m_runtime.Check(m_runtime.Call<c_getData>(result, &values));
            if (output.empty())
            {
                m_runtime.Check(m_runtime.Call<c_getShape>(result, &shape));
                m_runtime.Check(m_runtime.Call<c_countElements>(shape, &count));
                output.resize(count);
            }
            std::copy_n(static_cast<const float*>(values), output.size(), output.begin());
            m_runtime.Release(given);
            m_runtime.Release(result);
        }

    private:
        OnnxRuntime& m_runtime;
        void* m_session = nullptr;
    };

private:
    using Functions = void*;
    static constexpr size_t c_getMessage = 2, c_createEnv = 3, c_createSession = 8, c_run = 9, c_createOptions = 10,
                            c_setOptimization = 23, c_setThreads = 24, c_makeTensor = 49, c_getData = 51,
                            c_countElements = 64, c_getShape = 65, c_createCpuMemory = 69, c_releaseValue = 96;

    template <size_t Place, class... Arguments>
    void* Call(Arguments... arguments)
    {
        return reinterpret_cast<void* (*)(Arguments...)>(m_functions[Place])(arguments...);
    }
    void Release(void* value) { reinterpret_cast<void (*)(void*)>(m_functions[c_releaseValue])(value); }
    void Check(void* status)
    {
        if (status != nullptr)
            Stop(static_cast<const char*>(Call<c_getMessage>(status)));
    }
    [[noreturn]] static void Stop(const char* message)
    {
        std::fprintf(stderr, "%s\n", message);
        std::exit(1);
    }

    const Functions* m_functions = nullptr;
    void* m_environment = nullptr;
    void* m_memory = nullptr;
};

} // namespace cntk
