// The record of a node type: the only place where a type is described. NDL, MEL, the model file, help, the generated
// Nodes page, suggestions and the generic tests all read it.
#pragma once

#include "Math/TensorView.h"

#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

class ComputationNode;
class MBLayout;
struct SourcePos;

struct Arity
{
    static constexpr size_t c_any = std::numeric_limits<size_t>::max();
    size_t min = 0;
    size_t max = 0;
};

// Types whose class other code uses directly, by As<Class>(node) (ComputationNode.h).
enum class NodeKind
{
    Other,
    Parameter,   // LearnableParameterNode
    Input,       // InputValueNode
    DynamicAxis, // DynamicAxisNode
    Statistic,   // PrecomputeNode
    Delay,       // DelayNode
    Convolution, // ConvolutionNode
    Elementwise  // ElementwiseNode
};

// Labels that a criterion reads from input 0.
enum class LabelForm
{
    Values,           // one value per class
    WordsWithClasses, // word, its class, first word of the class, first word of the next class
    WordsWithNoise    // words with the logarithms of their noise probabilities
};

// Behaviour of a node, which drives planning. Tests verify each claim (poisoned buffers).
struct NodeTraits
{
    bool isElementwise = false;         // computes column by column, element by element (with broadcasting)
    bool backpropReadsInputs = true;    // BackpropTo reads values of inputs
    unsigned backpropIgnoresInputs = 0; // bit i: except that of input i, which only ForwardProp reads
    bool backpropReadsOutput = true;    // BackpropTo reads this node's value
    bool needsWholeMinibatch = false;   // cannot run frame by frame (criteria, statistics, TimeReverse)
    bool isCriterion = false;           // 1x1 value, a sum over samples
    bool isMaximised = false;           // of a criterion: training raises its value
    LabelForm labelForm = LabelForm::Values;
    bool makesLayout = false;           // its layout follows from the values of its input (Where)
    bool isDelay = false;               // PastValue, FutureValue
    int delayDirection = +1;            // of a delay: +1 reads earlier steps (PastValue), -1 later ones (FutureValue)
    bool isLeaf = false;                // no inputs: parameters and inputs
    bool differentiable = true;         // false: BackpropTo fails; the plan reports it if a gradient is needed
    bool backpropOverwrites = false;    // BackpropTo honours GradientBeta(): the first contribution replaces
    bool gradientPassesThrough = false; // BackpropTo adds its gradient unchanged to inputs of the same shape (Plus)
    // For one input and backpropOverwrites: where GradientBeta() is 0, node and input may share the gradient's memory.
    bool backpropInPlace = false;
    // BackpropTo adds to few columns of a parameter's gradient and records them (as products with sparse data do).
    bool recordsTouchedColumns = false;
    // Where GradientBeta() is 0, BackpropTo replaces the contents of the previously recorded columns instead of adding
    // to zeros.
    bool replacesTouchedColumns = false;
    // Bit i: if input i has a sparse form, only that form is read (ComputationNode::HasSparseForm).
    unsigned inputsReadSparse = 0;
    unsigned inputsReadWhole = 0; // bit i: input i is read at all time steps; it cannot be part of the node's loop
    NodeKind kind = NodeKind::Other;
    bool ownsValue = false; // the node holds its value's memory itself (parameters, inputs, statistics)

    bool BackpropReads(size_t input) const
    {
        constexpr size_t c_bits = std::numeric_limits<unsigned>::digits;
        return backpropReadsInputs && (input >= c_bits || (backpropIgnoresInputs >> input & 1) == 0);
    }
};

// Traits of types that only move values: BackpropTo reads nothing but the gradient.
inline constexpr NodeTraits c_readsGradientsOnly = {
    .backpropReadsInputs = false, .backpropReadsOutput = false, .backpropOverwrites = true};

enum class ParameterKind
{
    Integer,
    Real,
    Boolean,
    Text,
    Shape // "3:4:5"
};

// An argument of the NDL function besides its node inputs.
struct NodeParameterInfo
{
    std::string name;
    ParameterKind kind = ParameterKind::Text;
    std::string defaultText; // "" with required = true
    bool required = false;
    bool positional = false; // may be given by position, after the node inputs (for leaf nodes: from the first)
    std::string doc;
    std::vector<std::string> aliases;
};

// Parameters as given, by lower-case name. Typed getters fail with the parameter's name and the accepted form.
class NodeParameters
{
public:
    void Set(std::string_view name, std::string value);
    bool Has(std::string_view name) const;
    std::string Text(std::string_view name, std::string_view defaultValue = {}) const;
    double Real(std::string_view name, double defaultValue) const;
    long long Integer(std::string_view name, long long defaultValue) const;
    bool Boolean(std::string_view name, bool defaultValue) const;

private:
    std::map<std::string, std::string, std::less<>> m_values;
};

// One case of the generic registry tests: inputs in double, gradients checked for all differentiable inputs.
struct GradientSample
{
    // Shape of each input. Inputs with inLayout become minibatch inputs (one column a sample), others parameters.
    struct Input
    {
        TensorShape shape;
        bool inLayout = false;
        double low = -1, high = 1; // range of the random values
        bool oneHot = false;       // columns with a single 1 (labels)
        bool sparse = false;
        bool checkGradient = true;
        std::vector<double> values; // explicit values instead (column-major), one minibatch
    };
    std::vector<Input> inputs;
    std::map<std::string, std::string> parameters;
    double kinkDistance = 0; // skip elements whose input is closer than this to 0 (RectifiedLinear)
    double tolerance = 1e-6; // relative
    // Sets data that the node needs besides its inputs, for a minibatch of this layout. Empty: nothing.
    std::function<void(ComputationNode&, const MBLayout&)> prepare;
};

struct NodeType
{
    std::string name;                 // name in model files: "Times"
    std::vector<std::string> aliases; // further names in NDL and in old model files
    std::string doc;                  // description and formula of the computation, one or two sentences
    Arity inputs;
    std::vector<std::string> inputNames; // for help: {"A", "B"}; the last repeats
    NodeTraits traits;
    std::vector<NodeParameterInfo> parameters;
    std::vector<GradientSample> samples;
    std::string bookSection; // "4.1.4.2"
    std::function<std::shared_ptr<ComputationNode>()> create;
};

} // namespace cntk
