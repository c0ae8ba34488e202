// Trace: passes its input on and prints it, to inspect a running network.
#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/ModelArchive.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/GradientSamples.h"
#include "ComputationNetwork/Nodes/NodeInterfaces.h"
#include "ComputationNetwork/Nodes/NodeViews.h"

#include <algorithm>
#include <cstdio>

namespace cntk
{

namespace
{

using Op = ElementwiseOp;

// Fields in the order of the model file.
struct TraceFormat
{
    std::string message;
    uint64_t logFirst = 10;      // minibatches
    uint64_t logFrequency = 100; // after the first ones, one of this many is printed; 0: none
    bool logGradientToo = false;
    bool isCategory = false;      // index of the largest element instead of all elements
    std::string labelMappingFile; // kept, but never opened: a model from a stranger must not choose files
    bool isSparse = false;        // index:value of elements that are not 0
    bool transpose = true;        // accepted without effect; samples are always printed one after another
    std::string prologue;
    std::string epilogue = "\n";
    std::string sequenceSeparator = "\n";
    std::string sequencePrologue;
    std::string sequenceEpilogue;
    std::string elementSeparator = " ";
    std::string sampleSeparator = "\n";
    std::string precisionFormat; // ".12"
    uint64_t onlyUpToRow = UINT32_MAX;
    uint64_t onlyUpToTime = UINT32_MAX;
};

// Accepts the text between % and f: "8.3".
bool IsNumberFormat(const std::string& text)
{
    return text.size() < 12 && text.find_first_not_of("0123456789.-+ ") == std::string::npos &&
           std::count(text.begin(), text.end(), '.') <= 1;
}

class TraceNode final : public ComputationNode, public StepState
{
public:
    void InferShape(ShapeInference& inference) override
    {
        RequireDenseInputs(*this, inference);
        SetShape(Input(0)->SampleLayout(), Input(0)->GetMBLayout());
    }
    void ForwardProp(const FrameRange& range) override { Ops::Copy(Input(0)->Value(range), Value(range)); }
    void EndForwardProp() override
    {
        m_minibatches++;
        m_logs = m_minibatches <= m_format.logFirst ||
                 (m_format.logFrequency > 0 && (m_minibatches - 1) % m_format.logFrequency == 0);
        if (m_logs)
            Print(Value(), "");
    }
    // A different key for each minibatch: a device must not repeat work without calling this node, which prints.
    void AppendStepKey(std::vector<uint64_t>& key) const override { key.push_back(m_minibatches); }
    void BackpropTo(size_t input, const FrameRange& range) override
    {
        Ops::Elementwise(Op::Copy, Gradient(range), InputGradient(input, range), 1, GradientBeta(input));
        if (m_logs && m_format.logGradientToo && range.IsAll())
            Print(Gradient(), " gradient");
    }

    void SerializeFields(ModelArchive& archive) override
    {
        TraceFormat& f = m_format;
        archive.WideText(f.message);
        archive.Field(f.logFirst);
        archive.Field(f.logFrequency);
        archive.Field(f.logGradientToo);
        archive.Field(f.isCategory);
        archive.WideText(f.labelMappingFile);
        archive.Field(f.isSparse);
        archive.Field(f.transpose);
        for (std::string* text : {&f.prologue, &f.epilogue, &f.sequenceSeparator, &f.sequencePrologue,
                                  &f.sequenceEpilogue, &f.elementSeparator, &f.sampleSeparator, &f.precisionFormat})
            archive.NarrowText(*text);
        archive.Field(f.onlyUpToRow);
        archive.Field(f.onlyUpToTime);
        CheckFormat(ErrorKind::Model);
    }

    void SetParameters(const NodeParameters& parameters) override
    {
        const auto count = [&](const char* name, uint64_t value)
        {
            const long long given = parameters.Integer(name, (long long)value);
            if (given < 0)
                Fail(ErrorKind::Config, "parameter '", name, "' is ", given, "; expected 0 or more");
            return uint64_t(given);
        };
        TraceFormat& f = m_format;
        f.message = parameters.Text("say");
        f.logFirst = count("logFirst", f.logFirst);
        f.logFrequency = count("logFrequency", f.logFrequency);
        f.logGradientToo = parameters.Boolean("logGradientToo", false);
        f.precisionFormat = parameters.Text("precisionFormat");
        f.onlyUpToRow = count("onlyUpToRow", f.onlyUpToRow);
        f.onlyUpToTime = count("onlyUpToT", f.onlyUpToTime);
        CheckFormat(ErrorKind::Config);
    }

private:
    void CheckFormat(ErrorKind kind) const
    {
        if (!IsNumberFormat(m_format.precisionFormat))
            Fail(kind, "parameter 'precisionFormat' is '", m_format.precisionFormat,
                 "'; expected the width and precision of a number, like .6");
    }

    // Prints to stderr, even if the program's log is a file, because a person is watching.
    void Print(const MatrixView& view, const char* what)
    {
        m_host.resize(view.Elements());
        VisitType(view.type,
                  [&](auto tag)
                  {
                      std::vector<decltype(tag)> values(view.Elements());
                      if (!values.empty())
                          view.device->CopyToHost(values.data(), view.data, values.size() * sizeof(tag));
                      std::copy(values.begin(), values.end(), m_host.begin());
                  });
        std::string text = Concat("------- Trace[", m_minibatches, "] ", m_format.message, " '", Name(), "'", what,
                                  "\n", m_format.prologue);
        const MBLayout* layout = GetMBLayout().get();
        const size_t rows = view.rows;
        if (layout == nullptr || layout->IsFrameMode())
            for (size_t column = 0; column < view.columns; column++)
                AppendSequence(text, column, 1, view.columns, rows, column > 0);
        else
        {
            bool isFollowing = false;
            for (const SequenceInfo& sequence : layout->Sequences())
            {
                if (sequence.id == SequenceInfo::c_gap)
                    continue;
                const size_t first = size_t(std::max<ptrdiff_t>(sequence.begin, 0));
                const size_t end = std::min(size_t(std::max<ptrdiff_t>(sequence.end, 0)), layout->TimeSteps());
                AppendSequence(text, first * layout->ParallelSequences() + sequence.row, end - first,
                               layout->ParallelSequences(), rows, isFollowing);
                isFollowing = true;
            }
        }
        text += m_format.epilogue;
        std::fputs(text.c_str(), stderr);
    }

    void AppendSequence(std::string& text, size_t firstColumn, size_t steps, size_t stride, size_t rows,
                        bool isFollowing)
    {
        text += (isFollowing ? m_format.sequenceSeparator : "") + m_format.sequencePrologue;
        for (size_t step = 0; step < std::min<size_t>(steps, m_format.onlyUpToTime); step++)
        {
            if (step > 0)
                text += m_format.sampleSeparator;
            AppendSample(text, m_host.data() + (firstColumn + step * stride) * rows, rows);
        }
        text += m_format.sequenceEpilogue;
    }

    void AppendSample(std::string& text, const double* values, size_t rows)
    {
        if (m_format.isCategory)
        {
            text += std::to_string(std::max_element(values, values + rows) - values);
            return;
        }
        bool isFirst = true;
        for (size_t row = 0; row < std::min<size_t>(rows, m_format.onlyUpToRow); row++)
        {
            if (m_format.isSparse && values[row] == 0)
                continue;
            if (!isFirst)
                text += m_format.elementSeparator;
            isFirst = false;
            if (m_format.isSparse)
                text += std::to_string(row) + ":";
            char number[400];
            std::snprintf(number, sizeof number, ("%" + m_format.precisionFormat + "f").c_str(), values[row]);
            text += number;
        }
    }

    TraceFormat m_format;
    uint64_t m_minibatches = 0;
    bool m_logs = false;
    std::vector<double> m_host;
};

using namespace Samples;

} // namespace

void RegisterTraceNodes(NodeRegistry& registry)
{
    const std::map<std::string, std::string> quiet = {{"logFirst", "0"}, {"logFrequency", "0"}};
    registry.Add<TraceNode>(
        {.name = "Trace",
         .aliases = {},
         .doc = "v = x, printed to standard error in the first minibatches, later once in a while.",
         .inputs = {1, 1},
         .inputNames = {"x"},
         .traits = {.backpropReadsInputs = false, .backpropReadsOutput = false, .backpropOverwrites = true},
         .parameters = {Option("say", ParameterKind::Text, "", "a message before the values"),
                        Option("logFirst", ParameterKind::Integer, "10", "number of first minibatches to print"),
                        Option("logFrequency", ParameterKind::Integer, "100",
                               "afterwards prints one minibatch of this many; 0 = none"),
                        Option("logGradientToo", ParameterKind::Boolean, "false", "prints gradients, too"),
                        Option("precisionFormat", ParameterKind::Text, "", "width and precision of values: 8.3"),
                        Option("onlyUpToRow", ParameterKind::Integer, "4294967295", "largest number of rows to print"),
                        Option("onlyUpToT", ParameterKind::Integer, "4294967295",
                               "largest number of steps of a sequence to print")},
         .samples = {Case({Data({3})}, quiet), Case({Parameter({3, 2})}, quiet)},
         .bookSection = "",
         .create = {}});
}

} // namespace cntk
