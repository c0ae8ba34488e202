// C++17 front of cntk.h: objects that release themselves, vectors, and exceptions. Header only.
//
//     cntk::Model model = cntk::Model::Load("first.dnn");
//     cntk::Evaluator evaluator(model);
//     evaluator.SetDense(evaluator.InputIndex("features"), features);
//     evaluator.Evaluate();
//     std::vector<float> scores = evaluator.Output<float>(0);
#ifndef CNTK_CNTK_HPP
#define CNTK_CNTK_HPP

#include <cntk/cntk.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace cntk
{

// The message of cntk_last_error().
class Error : public std::runtime_error
{
public:
    Error(cntk_status status, const std::string& message) : std::runtime_error(message), m_status(status) {}
    cntk_status Status() const noexcept { return m_status; }

private:
    cntk_status m_status;
};

inline void Require(cntk_status status)
{
    if (status != CNTK_OK)
        throw Error(status, cntk_last_error());
}

template <class T>
constexpr cntk_type TypeOf()
{
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>, "values are float or double");
    return std::is_same_v<T, float> ? CNTK_FLOAT : CNTK_DOUBLE;
}

struct NodeInfo
{
    std::string name;
    std::string type;
    std::vector<std::size_t> dims;
    std::size_t elements = 0; // of a sample
    bool isSparse = false;
    bool hasSamples = false;
};

// Calls ask(info) and copies the information.
template <class Ask>
NodeInfo AskNode(Ask&& ask)
{
    cntk_node_info info = {};
    info.struct_size = sizeof info;
    Require(ask(&info));
    return {info.name,     info.type,           std::vector<std::size_t>(info.dims, info.dims + info.rank),
            info.elements, info.is_sparse != 0, info.has_samples != 0};
}

// Move only. All threads may use it at once.
class Model
{
public:
    static Model Load(const std::string& path, cntk_type type = CNTK_AS_FILE)
    {
        return Make([&](cntk_model** model) { return cntk_model_load(path.c_str(), type, model); });
    }
    static Model LoadMemory(const void* bytes, std::size_t size, cntk_type type = CNTK_AS_FILE)
    {
        return Make([&](cntk_model** model) { return cntk_model_load_memory(bytes, size, type, model); });
    }
    // config: "modelPath=first.dnn; numCPUThreads=2"
    static Model Open(const std::string& config)
    {
        return Make([&](cntk_model** model) { return cntk_model_open(config.c_str(), model); });
    }

    std::vector<NodeInfo> Nodes(cntk_group group) const
    {
        std::vector<NodeInfo> nodes;
        for (std::size_t i = 0; i < cntk_model_count(Handle(), group); ++i)
            nodes.push_back(AskNode([&](cntk_node_info* info) { return cntk_model_node(Handle(), group, i, info); }));
        return nodes;
    }
    NodeInfo Find(const std::string& name) const
    {
        return AskNode([&](cntk_node_info* info) { return cntk_model_find(Handle(), name.c_str(), info); });
    }
    // The values of a parameter, the first dimension fastest.
    template <class T>
    std::vector<T> Parameter(const std::string& name) const
    {
        std::size_t count = 0;
        const cntk_status status = cntk_model_parameter(Handle(), name.c_str(), TypeOf<T>(), nullptr, 0, &count);
        if (count == 0)
            Require(status);
        std::vector<T> values(count);
        Require(cntk_model_parameter(Handle(), name.c_str(), TypeOf<T>(), values.data(), count, &count));
        return values;
    }

    const cntk_model* Handle() const noexcept { return m_model.get(); }

private:
    struct Release
    {
        void operator()(cntk_model* model) const noexcept { cntk_model_release(model); }
    };
    explicit Model(cntk_model* model) : m_model(model) {}
    template <class MakeHandle>
    static Model Make(MakeHandle&& makeHandle)
    {
        cntk_model* model = nullptr;
        Require(makeHandle(&model));
        return Model(model);
    }

    std::unique_ptr<cntk_model, Release> m_model;
};

// Move only. One thread at a time. It keeps what it needs of the model.
class Evaluator
{
public:
    // outputs: names of nodes; none: the model's output nodes.
    explicit Evaluator(const Model& model, const std::vector<std::string>& outputs = {})
    {
        std::vector<const char*> names;
        for (const std::string& name : outputs)
            names.push_back(name.c_str());
        cntk_evaluator* evaluator = nullptr;
        Require(cntk_evaluator_create(model.Handle(), names.data(), names.size(), &evaluator));
        m_evaluator.reset(evaluator);
        for (std::size_t i = 0; i < cntk_evaluator_input_count(evaluator); ++i)
            m_inputs.push_back(AskNode([&](cntk_node_info* info) { return cntk_evaluator_input(evaluator, i, info); }));
        for (std::size_t i = 0; i < cntk_evaluator_output_count(evaluator); ++i)
            m_outputs.push_back(
                AskNode([&](cntk_node_info* info) { return cntk_evaluator_output(evaluator, i, info); }));
    }

    const std::vector<NodeInfo>& Inputs() const noexcept { return m_inputs; }
    const std::vector<NodeInfo>& Outputs() const noexcept { return m_outputs; }
    // Ignore the case of the name.
    std::size_t InputIndex(const std::string& name) const { return IndexOf(m_inputs, name, "input"); }
    std::size_t OutputIndex(const std::string& name) const { return IndexOf(m_outputs, name, "output"); }

    // No lengths: samples are independent.
    void SetSequences(const std::vector<std::size_t>& lengths)
    {
        Require(cntk_set_sequences(Handle(), lengths.data(), lengths.size()));
    }
    void SetSequences(const std::string& axis, const std::vector<std::size_t>& lengths)
    {
        Require(cntk_set_axis_sequences(Handle(), axis.c_str(), lengths.data(), lengths.size()));
    }

    // The memory must stay unchanged until the next evaluation returns. `values` may be a vector, an array or a span;
    // its size determines the number of samples.
    template <class Values>
    void SetDense(std::size_t input, const Values& values)
    {
        const std::size_t elements = m_inputs.at(input).elements;
        if (elements == 0 || std::size(values) % elements != 0)
            throw Error(CNTK_DATA, "input '" + m_inputs.at(input).name + "' takes " + std::to_string(elements) +
                                       " values a sample, but " + std::to_string(std::size(values)) + " were given");
        SetDense(input, std::data(values), std::size(values) / elements);
    }
    template <class T>
    void SetDense(std::size_t input, const T* values, std::size_t samples)
    {
        Require(cntk_set_dense(Handle(), input, TypeOf<T>(), values, samples));
    }
    void SetWords(std::size_t input, const std::vector<std::int32_t>& rows)
    {
        Require(cntk_set_words(Handle(), input, rows.data(), rows.size()));
    }
    // starts has an element for each sample and one more.
    template <class T>
    void SetSparse(std::size_t input, const std::vector<T>& values, const std::vector<std::int32_t>& rows,
                   const std::vector<std::int32_t>& starts)
    {
        if (starts.empty())
            throw Error(CNTK_DATA, "starts is empty; expected an element for each sample and one more");
        Require(cntk_set_sparse(Handle(), input, TypeOf<T>(), values.data(), rows.data(), starts.data(),
                                starts.size() - 1));
    }

    void Evaluate() { Require(cntk_evaluate(Handle())); }
    void EvaluateNext() { Require(cntk_evaluate_next(Handle())); }
    void Reset() noexcept { cntk_reset(Handle()); }

    std::size_t Samples(std::size_t output) const
    {
        const void* values = nullptr;
        std::size_t samples = 0;
        Require(cntk_view(Handle(), output, &values, &samples));
        return samples;
    }
    // Copies the samples of an output.
    template <class T>
    std::vector<T> Output(std::size_t output) const
    {
        std::vector<T> values;
        Output(output, values);
        return values;
    }
    // The same into a vector that keeps its memory.
    template <class T>
    void Output(std::size_t output, std::vector<T>& values) const
    {
        std::size_t samples = Samples(output);
        values.resize(samples * m_outputs.at(output).elements);
        Require(cntk_get(Handle(), output, TypeOf<T>(), values.data(), values.size(), &samples));
    }

    cntk_evaluator* Handle() const noexcept { return m_evaluator.get(); }

private:
    struct Release
    {
        void operator()(cntk_evaluator* evaluator) const noexcept { cntk_evaluator_release(evaluator); }
    };
    static char Lower(char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; }
    static bool IsSame(const std::string& a, const std::string& b)
    {
        if (a.size() != b.size())
            return false;
        for (std::size_t i = 0; i < a.size(); ++i)
            if (Lower(a[i]) != Lower(b[i]))
                return false;
        return true;
    }
    static std::size_t IndexOf(const std::vector<NodeInfo>& nodes, const std::string& name, const char* kind)
    {
        std::string names;
        for (std::size_t i = 0; i < nodes.size(); ++i)
        {
            if (IsSame(nodes[i].name, name))
                return i;
            names += (i > 0 ? ", " : "") + nodes[i].name;
        }
        throw Error(CNTK_USAGE, std::string("the evaluator has no ") + kind + " '" + name + "'; it has " +
                                    (names.empty() ? "none" : names));
    }

    std::unique_ptr<cntk_evaluator, Release> m_evaluator;
    std::vector<NodeInfo> m_inputs;
    std::vector<NodeInfo> m_outputs;
};

} // namespace cntk

#endif
