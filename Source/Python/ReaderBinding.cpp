// Sources of minibatches: reader plugins and arrays.
#include "Api/DataSource.h"
#include "Common/Error.h"
#include "Common/Text.h"
#include "Python/State.h"

#include <pybind11/stl.h>

namespace cntk::Python
{

namespace
{

using Api::DataSource;
using Api::InputData;

// A sample of a dense or sparse block, as double or float.
void CopySample(const InputData& data, size_t block, size_t column, size_t rows, std::byte* target)
{
    const size_t size = SizeOf(data.type);
    if (data.sparse.empty())
    {
        std::memcpy(target, static_cast<const std::byte*>(data.blocks[block]) + column * rows * size, rows * size);
        return;
    }
    std::memset(target, 0, rows * size);
    const Api::SparseRows& sparse = data.sparse[block];
    for (int32_t k = sparse.starts[column]; k < sparse.starts[column + 1]; k++)
        std::memcpy(target + size_t(sparse.columns[k]) * size,
                    static_cast<const std::byte*>(sparse.values) + size_t(k) * size, size);
}

// The values in the forms of sheet 8.2.
py::object ArrayOf(const MinibatchData& minibatch)
{
    const InputData& data = *minibatch.data;
    const size_t rows = Api::ElementsOf(minibatch.shape);
    Api::ValueForm form{Api::ValueForm::Kind::Frames, minibatch.shape, data.type, {}};
    std::vector<void*> blocks;
    if (data.IsFrames())
    {
        form.lengths.assign(data.count, 1);
        py::object array = ArraysFor(form, blocks);
        for (size_t sample = 0; sample < data.count; sample++)
            CopySample(data, 0, sample, rows, static_cast<std::byte*>(blocks[0]) + sample * rows * SizeOf(data.type));
        return array;
    }
    form.kind = Api::ValueForm::Kind::Sequences;
    form.lengths.assign(data.lengths.begin(), data.lengths.end());
    py::object arrays = ArraysFor(form, blocks);
    const bool isPacked = data.form == InputData::Form::Packed;
    const Api::SequencePlaces places = isPacked ? Api::SequencePlaces(*data.layout) : Api::SequencePlaces(MBLayout());
    for (size_t sequence = 0; sequence < data.count; sequence++)
        for (size_t step = 0; step < data.lengths[sequence]; step++)
            CopySample(data, isPacked ? 0 : sequence,
                       isPacked ? places.places[sequence].firstColumn + step * places.stride : step, rows,
                       static_cast<std::byte*>(blocks[sequence]) + step * rows * SizeOf(data.type));
    return arrays;
}

// Reads the next minibatch: a list of MinibatchData, None for streams not wanted; None at the end of the epoch.
py::object NextOf(DataSource& source)
{
    std::vector<std::shared_ptr<const InputData>> streams;
    bool hasNext = false;
    {
        const py::gil_scoped_release released;
        hasNext = source.Next(streams);
    }
    ForwardLog(source);
    if (!hasNext)
        return py::none();
    py::list result;
    for (size_t i = 0; i < streams.size(); i++)
    {
        if (!streams[i])
        {
            result.append(py::none());
            continue;
        }
        const size_t rows = streams[i]->rows;
        result.append(MinibatchData{streams[i], {rows}});
    }
    return result;
}

} // namespace

void ForwardLog(DataSource& source)
{
    const std::string text = source.TakeLog();
    if (text.empty())
        return;
    const py::object logger = py::module_::import("logging").attr("getLogger")("cntk");
    for (const std::string_view line : Split(text, '\n'))
        if (!Trim(line).empty())
            logger.attr(line.starts_with("WARNING: ") ? "warning" : "info")(
                "%s", py::bytes(line).attr("decode")("utf-8", "replace"));
}

void BindReader(py::module_& module, const StatePtr& state)
{
    py::class_<MinibatchData>(module, "MinibatchData", "The data of one input in a reader's minibatch.")
        .def_property_readonly("num_samples", [](const MinibatchData& value) { return value.data->Samples(); })
        .def_property_readonly("num_sequences", [](const MinibatchData& value) { return value.data->count; })
        .def_property_readonly("is_sparse", [](const MinibatchData& value) { return !value.data->sparse.empty(); })
        .def_property(
            "shape", [](const MinibatchData& value) { return TupleOf(value.shape); },
            [](MinibatchData& value, const py::object& shape)
            {
                Api::Shape given = ShapeFrom(shape);
                if (value.data->rows != 0 && Api::ElementsOf(given) != value.data->rows)
                    Fail(ErrorKind::Data, "the samples of a stream have ", Counted(value.data->rows, "element"),
                         ", but the input's shape is ", Api::ToText(given));
                value.shape = std::move(given);
            })
        .def("asarray", &ArrayOf, "Samples as an array [N, *shape], sequences as a list of arrays [T, *shape].")
        .def("__len__", [](const MinibatchData& value) { return value.data->count; });

    py::class_<DataSource, std::shared_ptr<DataSource>>(module, "Source")
        .def(py::init(
            [state](const std::string& config, const py::object& dtype)
            {
                const DataType type = TypeFrom(*state, dtype);
                std::shared_ptr<DataSource> source;
                {
                    const py::gil_scoped_release released;
                    source = std::make_shared<DataSource>(config, type);
                }
                ForwardLog(*source);
                return source;
            }))
        .def(py::init(
            [state](const std::vector<std::tuple<std::string, Api::NodePtr, py::object>>& inputs, bool isShuffled)
            {
                std::vector<Api::ArrayStream> streams;
                for (const auto& [name, node, value] : inputs)
                {
                    // An input with data of its own needs no others.
                    std::shared_ptr<const InputData> data = node->data;
                    if (!value.is_none() || data == nullptr)
                        data = DataFrom(value, node->Name(), *node->value.shape, node->value.axis, node->type);
                    streams.push_back({name, Api::ElementsOf(*node->value.shape), std::move(data)});
                }
                if (streams.empty())
                    FailType("the reader has no data; expected a dict of inputs and data");
                const DataType type = streams.front().data->type;
                return std::make_shared<DataSource>(std::move(streams), type, isShuffled,
                                                    isShuffled ? state->context.NextSeed() : 0);
            }))
        .def("streams",
             [](const DataSource& source)
             {
                 std::vector<std::string> names;
                 for (const StreamInfo& stream : source.Streams())
                     names.push_back(stream.name);
                 return names;
             })
        .def("start",
             [](DataSource& source, size_t epoch, size_t minibatchSize, std::vector<std::string> wanted)
             {
                 {
                     const py::gil_scoped_release released;
                     source.StartEpoch(epoch, minibatchSize, std::move(wanted));
                 }
                 ForwardLog(source);
             })
        .def("next", &NextOf);

    module.def("describe_reader",
               [](const std::string& type)
               {
                   const PluginDescription description = Api::DescribeReader(type);
                   py::list options;
                   for (const PluginOption& option : description.options)
                       options.append(py::make_tuple(option.block, option.name, option.aliases, option.doc));
                   return py::make_tuple(description.name, description.doc, options);
               });
}

} // namespace cntk::Python
