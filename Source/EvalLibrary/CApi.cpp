// The C interface (cntk.h). Every function that can fail runs inside Guarded, so that no exception leaves the library.
#include "Common/Error.h"
#include "Common/Text.h"
#include "EvalLibrary/EvaluationModel.h"
#include "EvalLibrary/Include/cntk/cntk.h"
#include "EvalLibrary/ModelEvaluator.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <string_view>

using namespace cntk;

struct cntk_model
{
    std::shared_ptr<const EvaluationModel> model;
};

struct cntk_evaluator
{
    ModelEvaluator evaluator;
};

namespace
{

// Plain memory, so that a thread's end runs no code of a library that may be closed.
constexpr size_t c_longestMessage = 4096;
thread_local char s_lastError[c_longestMessage];

void KeepMessage(std::string_view message)
{
    const size_t length = std::min(message.size(), c_longestMessage - 1);
    std::memcpy(s_lastError, message.data(), length);
    s_lastError[length] = '\0';
}

cntk_status KeepError(const Error& error)
{
    try
    {
        std::string text = error.Where() ? error.Where().Location() + ": " : std::string();
        text += error.Message();
        for (const std::string& note : error.Notes())
            text += "\nnote: " + note;
        KeepMessage(text);
    }
    catch (...)
    {
        KeepMessage(error.what());
    }
    return cntk_status(ExitCodeOf(error.Kind()));
}

template <class Body>
cntk_status Guarded(Body&& body) noexcept
{
    try
    {
        body();
        return CNTK_OK;
    }
    catch (const Error& error)
    {
        return KeepError(error);
    }
    catch (const std::bad_alloc&)
    {
        KeepMessage("out of memory");
        return CNTK_DEVICE;
    }
    catch (const std::exception& error)
    {
        KeepMessage(error.what());
        return CNTK_INTERNAL;
    }
    catch (...)
    {
        KeepMessage("unknown error");
        return CNTK_INTERNAL;
    }
}

template <class T>
T& Required(T* object, std::string_view name)
{
    if (object == nullptr)
        Fail(ErrorKind::Usage, name, " is NULL");
    return *object;
}

DataType TypeOf(cntk_type type, std::string_view expected = "CNTK_FLOAT (1) or CNTK_DOUBLE (2)")
{
    if (type != CNTK_FLOAT && type != CNTK_DOUBLE)
        Fail(ErrorKind::Usage, "type is ", int(type), "; expected ", expected);
    return type == CNTK_FLOAT ? DataType::Float32 : DataType::Float64;
}

EvaluationModel::Settings SettingsFor(cntk_type type)
{
    EvaluationModel::Settings settings;
    if (type != CNTK_AS_FILE)
        settings.dataType = TypeOf(type, "CNTK_AS_FILE (0), CNTK_FLOAT (1) or CNTK_DOUBLE (2)");
    return settings;
}

// Calls load() and puts the model into *model, or NULL.
template <class Load>
cntk_status LoadInto(cntk_model** model, Load&& load)
{
    if (model != nullptr)
        *model = nullptr;
    return Guarded(
        [&]
        {
            Required(model, "model");
            *model = new cntk_model{load()};
        });
}

const ComputationNode& NodeAt(std::span<const ComputationNodePtr> nodes, size_t index)
{
    if (index >= nodes.size())
        Fail(ErrorKind::Usage, "the group has no node ", index, "; it has ", Counted(nodes.size(), "node"),
             ", counted from 0");
    return *nodes[index];
}

// Fails (Data) if the caller's memory is too small. Sets *needed to `count`, also then.
void RequireRoom(size_t elements, size_t capacity, const void* values, std::string_view name, size_t count,
                 size_t* needed)
{
    if (capacity >= elements && elements > 0 && values == nullptr)
        Fail(ErrorKind::Usage, "values is NULL");
    if (needed != nullptr)
        *needed = count;
    if (capacity < elements)
        Fail(ErrorKind::Data, "'", name, "' has ", Counted(elements, "value"), ", but there is room for ", capacity);
}

// Describes the node that find() returns. After an error the structure has no node.
template <class Find>
cntk_status DescribeInto(cntk_node_info* info, Find&& find)
{
    const cntk_status status = Guarded([&] { DescribeNode(find(), info); });
    if (status != CNTK_OK)
        ForgetNode(info);
    return status;
}

} // namespace

extern "C"
{

    const char* cntk_version(void)
    {
        return CNTK_VERSION;
    }

    int cntk_api_version(void)
    {
        return CNTK_API_VERSION;
    }

    const char* cntk_last_error(void)
    {
        return s_lastError;
    }

    // ---- models ----

    cntk_status cntk_model_load(const char* path, cntk_type type, cntk_model** model)
    {
        return LoadInto(model, [&] { return EvaluationModel::Load(&Required(path, "path"), SettingsFor(type)); });
    }

    cntk_status cntk_model_load_memory(const void* bytes, size_t size, cntk_type type, cntk_model** model)
    {
        return LoadInto(
            model,
            [&]
            {
                Required(static_cast<const char*>(bytes), "bytes");
                return EvaluationModel::LoadMemory({static_cast<const char*>(bytes), size}, SettingsFor(type));
            });
    }

    cntk_status cntk_model_open(const char* config, cntk_model** model)
    {
        return LoadInto(model, [&] { return EvaluationModel::Open(&Required(config, "config")); });
    }

    void cntk_model_release(cntk_model* model)
    {
        delete model;
    }

    size_t cntk_model_count(const cntk_model* model, cntk_group group)
    {
        size_t count = 0;
        Guarded([&] { count = Required(model, "model").model->Group(group).size(); });
        return count;
    }

    cntk_status cntk_model_node(const cntk_model* model, cntk_group group, size_t index, cntk_node_info* info)
    {
        return DescribeInto(info,
                            [&]() -> const ComputationNode&
                            { return NodeAt(Required(model, "model").model->Group(group), index); });
    }

    cntk_status cntk_model_find(const cntk_model* model, const char* name, cntk_node_info* info)
    {
        return DescribeInto(info,
                            [&]() -> const ComputationNode&
                            { return *Required(model, "model").model->Require(&Required(name, "name")); });
    }

    cntk_status cntk_model_parameter(const cntk_model* model, const char* name, cntk_type type, void* values,
                                     size_t capacity, size_t* count)
    {
        if (count != nullptr)
            *count = 0;
        return Guarded(
            [&]
            {
                const DataType dataType = TypeOf(type);
                const EvaluationModel& loaded = *Required(model, "model").model;
                const size_t elements = loaded.ParameterElements(&Required(name, "name"));
                RequireRoom(elements, capacity, values, name, elements, count);
                loaded.CopyParameter(name, dataType, values);
            });
    }

    // ---- evaluators ----

    cntk_status cntk_evaluator_create(const cntk_model* model, const char* const* outputs, size_t count,
                                      cntk_evaluator** evaluator)
    {
        if (evaluator != nullptr)
            *evaluator = nullptr;
        return Guarded(
            [&]
            {
                Required(evaluator, "evaluator");
                if (count > 0)
                    Required(outputs, "outputs");
                *evaluator = new cntk_evaluator{
                    ModelEvaluator(Required(model, "model").model, std::span<const char* const>(outputs, count))};
            });
    }

    void cntk_evaluator_release(cntk_evaluator* evaluator)
    {
        delete evaluator;
    }

    size_t cntk_evaluator_input_count(const cntk_evaluator* evaluator)
    {
        return evaluator == nullptr ? 0 : evaluator->evaluator.Inputs();
    }

    size_t cntk_evaluator_output_count(const cntk_evaluator* evaluator)
    {
        return evaluator == nullptr ? 0 : evaluator->evaluator.Outputs();
    }

    cntk_status cntk_evaluator_input(const cntk_evaluator* evaluator, size_t index, cntk_node_info* info)
    {
        return DescribeInto(info,
                            [&]() -> const ComputationNode&
                            { return Required(evaluator, "evaluator").evaluator.InputNode(index); });
    }

    cntk_status cntk_evaluator_output(const cntk_evaluator* evaluator, size_t index, cntk_node_info* info)
    {
        return DescribeInto(info,
                            [&]() -> const ComputationNode&
                            { return Required(evaluator, "evaluator").evaluator.OutputNode(index); });
    }

    // ---- data ----

    cntk_status cntk_set_sequences(cntk_evaluator* evaluator, const size_t* lengths, size_t count)
    {
        return cntk_set_axis_sequences(evaluator, "", lengths, count);
    }

    cntk_status cntk_set_axis_sequences(cntk_evaluator* evaluator, const char* axis, const size_t* lengths,
                                        size_t count)
    {
        return Guarded(
            [&]
            {
                if (count > 0)
                    Required(lengths, "lengths");
                Required(evaluator, "evaluator").evaluator.SetSequences(&Required(axis, "axis"), {lengths, count});
            });
    }

    cntk_status cntk_set_dense(cntk_evaluator* evaluator, size_t input, cntk_type type, const void* values,
                               size_t samples)
    {
        return Guarded(
            [&]
            {
                GivenSamples given;
                given.kind = GivenSamples::Kind::Dense;
                given.type = TypeOf(type);
                given.values = values;
                given.samples = samples;
                Required(evaluator, "evaluator").evaluator.SetSamples(input, given);
            });
    }

    cntk_status cntk_set_words(cntk_evaluator* evaluator, size_t input, const int32_t* rows, size_t samples)
    {
        return Guarded(
            [&]
            {
                GivenSamples given;
                given.kind = GivenSamples::Kind::Words;
                given.rows = rows;
                given.samples = samples;
                Required(evaluator, "evaluator").evaluator.SetSamples(input, given);
            });
    }

    cntk_status cntk_set_sparse(cntk_evaluator* evaluator, size_t input, cntk_type type, const void* values,
                                const int32_t* rows, const int32_t* starts, size_t samples)
    {
        return Guarded(
            [&]
            {
                GivenSamples given;
                given.kind = GivenSamples::Kind::Sparse;
                given.type = TypeOf(type);
                given.values = values;
                given.rows = rows;
                given.starts = starts;
                given.samples = samples;
                Required(evaluator, "evaluator").evaluator.SetSamples(input, given);
            });
    }

    // ---- evaluation ----

    cntk_status cntk_evaluate(cntk_evaluator* evaluator)
    {
        return Guarded([&] { Required(evaluator, "evaluator").evaluator.Evaluate(Beginning::AtStart); });
    }

    cntk_status cntk_evaluate_next(cntk_evaluator* evaluator)
    {
        return Guarded([&] { Required(evaluator, "evaluator").evaluator.Evaluate(Beginning::Resume); });
    }

    void cntk_reset(cntk_evaluator* evaluator)
    {
        if (evaluator != nullptr)
            evaluator->evaluator.Reset();
    }

    cntk_status cntk_view(const cntk_evaluator* evaluator, size_t output, const void** values, size_t* samples)
    {
        if (values != nullptr)
            *values = nullptr;
        if (samples != nullptr)
            *samples = 0;
        return Guarded(
            [&]
            {
                // The evaluator keeps samples in their order, which its user does not see as a change.
                ModelEvaluator& asked = const_cast<cntk_evaluator&>(Required(evaluator, "evaluator")).evaluator;
                Required(values, "values") = asked.View(output);
                if (samples != nullptr)
                    *samples = asked.Samples(output);
            });
    }

    cntk_status cntk_get(const cntk_evaluator* evaluator, size_t output, cntk_type type, void* values, size_t capacity,
                         size_t* samples)
    {
        if (samples != nullptr)
            *samples = 0;
        return Guarded(
            [&]
            {
                const DataType dataType = TypeOf(type);
                ModelEvaluator& asked = const_cast<cntk_evaluator&>(Required(evaluator, "evaluator")).evaluator;
                const size_t count = asked.Samples(output);
                const ComputationNode& node = asked.OutputNode(output);
                RequireRoom(count * node.SampleElements(), capacity, values, node.Name(), count, samples);
                if (count > 0)
                    asked.Copy(output, dataType, values);
            });
    }

} // extern "C"
