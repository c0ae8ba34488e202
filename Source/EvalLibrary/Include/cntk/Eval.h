// The evaluation interface of CNTK 1.1 (book 5.4): programs written for its EvalDll compile again. Header only, on
// cntk.h.
//
//     IEvaluateModel<float>* model;
//     GetEvalF(&model);
//     model->Init("numCPUThreads=1");
//     model->CreateNetwork("modelPath=\"first.dnn\"");
//     model->Evaluate(inputs, outputs);   // map<wstring, vector<float>*>
//     model->Destroy();
//
// Errors are std::runtime_error. A vector of n * dimension values holds n samples. They form one sequence that
// continues from call to call until ResetState; networks that look ahead in time take each call as a whole sequence.
#ifndef CNTK_EVAL_H
#define CNTK_EVAL_H

#include <algorithm>
#include <cntk/cntk.hpp>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace Microsoft
{
namespace MSR
{
namespace CNTK
{

enum NodeGroup
{
    nodeInput,    // inputs that the output nodes need
    nodeOutput,   // output nodes
    nodeSpecified // the keys of the map
};

template <class ElemType>
class IEvaluateModel
{
public:
    virtual ~IEvaluateModel() = default;
    // config: settings for CreateNetwork, such as numCPUThreads=1 (the default).
    virtual void Init(const std::string& config) = 0;
    virtual void Destroy() = 0; // deletes the object
    // networkDescription: lines or semicolons: modelPath, outputNodeNames (instead of the model's), deviceId.
    virtual void CreateNetwork(const std::string& networkDescription) = 0;
    // Dimensions of samples by name. nodeSpecified before CreateNetwork gives 0.
    virtual void GetNodeDimensions(std::map<std::wstring, std::size_t>& dimensions, NodeGroup nodeGroup) = 0;
    // Prepares the evaluation of one output and begins a sequence.
    virtual void StartEvaluateMinibatchLoop(const std::wstring& outputNodeName) = 0;
    // The output vectors get the size of the results. Inputs that no output needs are ignored.
    virtual void Evaluate(std::map<std::wstring, std::vector<ElemType>*>& inputs,
                          std::map<std::wstring, std::vector<ElemType>*>& outputs) = 0;
    // Evaluates with the inputs of the previous call, whose vectors must still exist.
    virtual void Evaluate(std::map<std::wstring, std::vector<ElemType>*>& outputs) = 0;
    virtual void ResetState() = 0;
};

// UTF-32 or UTF-16 units to UTF-8 and back.
inline std::string NarrowName(const std::wstring& wide)
{
    std::string narrow;
    for (const wchar_t unit : wide)
    {
        const unsigned long code = static_cast<unsigned long>(unit);
        if (code < 0x80)
            narrow += char(code);
        else if (code < 0x800)
            narrow += {char(0xC0 | code >> 6), char(0x80 | (code & 0x3F))};
        else if (code < 0x10000)
            narrow += {char(0xE0 | code >> 12), char(0x80 | (code >> 6 & 0x3F)), char(0x80 | (code & 0x3F))};
        else
            narrow += {char(0xF0 | code >> 18), char(0x80 | (code >> 12 & 0x3F)), char(0x80 | (code >> 6 & 0x3F)),
                       char(0x80 | (code & 0x3F))};
    }
    return narrow;
}

inline std::wstring WideName(const std::string& narrow)
{
    std::wstring wide;
    for (std::size_t i = 0; i < narrow.size();)
    {
        const unsigned char lead = static_cast<unsigned char>(narrow[i++]);
        const int more = lead < 0xC0 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
        unsigned long code = more == 0 ? lead : lead & (0x3Fu >> more);
        for (int k = 0; k < more && i < narrow.size(); ++k)
            code = code << 6 | (static_cast<unsigned char>(narrow[i++]) & 0x3F);
        wide += static_cast<wchar_t>(code);
    }
    return wide;
}

template <class ElemType>
class Eval final : public IEvaluateModel<ElemType>
{
public:
    using Vectors = std::map<std::wstring, std::vector<ElemType>*>;

    void Init(const std::string& config) override { m_config = config; }
    void Destroy() override { delete this; }

    void CreateNetwork(const std::string& networkDescription) override
    {
        const char* const precision = sizeof(ElemType) == sizeof(float) ? "float" : "double";
        m_evaluator.reset();
        m_model = std::make_unique<cntk::Model>(
            cntk::Model::Open(m_config + "\n" + networkDescription + "\nprecision=" + precision + "\n"));
    }

    void GetNodeDimensions(std::map<std::wstring, std::size_t>& dimensions, NodeGroup nodeGroup) override
    {
        if (nodeGroup == nodeSpecified)
        {
            for (auto& entry : dimensions)
                entry.second = m_model ? m_model->Find(NarrowName(entry.first)).elements : 0;
            return;
        }
        dimensions.clear();
        if (nodeGroup == nodeOutput)
            for (const cntk::NodeInfo& node : Model().Nodes(CNTK_OUTPUTS))
                dimensions[WideName(node.name)] = node.elements;
        else
        {
            const cntk::Evaluator evaluator(Model());
            for (const cntk::NodeInfo& node : evaluator.Inputs())
                dimensions[WideName(node.name)] = node.elements;
        }
    }

    void StartEvaluateMinibatchLoop(const std::wstring& outputNodeName) override
    {
        m_evaluator = std::make_unique<cntk::Evaluator>(Model(), std::vector<std::string>{NarrowName(outputNodeName)});
    }

    void Evaluate(Vectors& inputs, Vectors& outputs) override
    {
        m_inputs = inputs;
        Evaluate(outputs);
    }

    void Evaluate(Vectors& outputs) override
    {
        for (const auto& entry : outputs)
            if (entry.second == nullptr)
                throw std::runtime_error("output '" + NarrowName(entry.first) + "' has no vector for its values");
        RequireOutputs(outputs);
        std::size_t samples = 0;
        for (std::size_t i = 0; i < m_evaluator->Inputs().size(); ++i)
        {
            const cntk::NodeInfo& node = m_evaluator->Inputs()[i];
            const auto given = std::find_if(m_inputs.begin(), m_inputs.end(),
                                            [&](const auto& entry) { return IsSame(entry.first, node.name); });
            if (given == m_inputs.end() || given->second == nullptr)
                throw std::runtime_error("the outputs need input '" + node.name + "', which was not given");
            m_evaluator->SetDense(i, *given->second);
            samples = given->second->size() / node.elements;
        }
        m_evaluator->SetSequences({samples});
        const cntk_status status = cntk_evaluate_next(m_evaluator->Handle());
        if (status == CNTK_MODEL) // the network looks ahead; any other error occurs again
            m_evaluator->Evaluate();
        else
            cntk::Require(status);
        for (auto& entry : outputs)
            m_evaluator->Output(m_evaluator->OutputIndex(NarrowName(entry.first)), *entry.second);
    }

    void ResetState() override
    {
        if (m_evaluator)
            m_evaluator->Reset();
    }

private:
    const cntk::Model& Model() const
    {
        if (!m_model)
            throw std::runtime_error("there is no network; call CreateNetwork first");
        return *m_model;
    }

    static bool IsSame(const std::wstring& wide, const std::string& narrow)
    {
        const std::string name = NarrowName(wide);
        const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; };
        return std::equal(name.begin(), name.end(), narrow.begin(), narrow.end(),
                          [&](char a, char b) { return lower(a) == lower(b); });
    }

    // Makes an evaluator for more outputs if some are missing; the sequence then begins again.
    void RequireOutputs(const Vectors& outputs)
    {
        std::vector<std::string> names;
        if (m_evaluator)
            for (const cntk::NodeInfo& node : m_evaluator->Outputs())
                names.push_back(node.name);
        const std::size_t known = names.size();
        for (const auto& entry : outputs)
            if (std::none_of(names.begin(), names.end(), [&](const auto& name) { return IsSame(entry.first, name); }))
                names.push_back(NarrowName(entry.first));
        if (!m_evaluator || names.size() > known)
            m_evaluator = std::make_unique<cntk::Evaluator>(Model(), names);
    }

    std::string m_config;
    std::unique_ptr<cntk::Model> m_model;
    std::unique_ptr<cntk::Evaluator> m_evaluator;
    Vectors m_inputs;
};

template <class ElemType>
inline void GetEval(IEvaluateModel<ElemType>** model)
{
    *model = new Eval<ElemType>();
}

inline void GetEvalF(IEvaluateModel<float>** model)
{
    GetEval<float>(model);
}

inline void GetEvalD(IEvaluateModel<double>** model)
{
    GetEval<double>(model);
}

} // namespace CNTK
} // namespace MSR
} // namespace Microsoft

#endif
