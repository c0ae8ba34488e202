// Data in the forms of sheet 8.2, and arrays for results.
#include "Common/Error.h"
#include "Common/Text.h"
#include "Python/State.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace cntk::Python
{

namespace
{

using Api::BlockForm;
using Api::InputData;
using Api::Shape;

// Python objects whose memory an InputData refers to. The last owner may not hold Python's lock.
std::shared_ptr<void> OwnerOf(std::vector<py::object> objects)
{
    return {new std::vector<py::object>(std::move(objects)), [](void* pointer)
            {
                const py::gil_scoped_acquire lock;
                delete static_cast<std::vector<py::object>*>(pointer);
            }};
}

Shape ShapeOf(const py::array& array)
{
    return {array.shape(), array.shape() + array.ndim()};
}

class DataConverter
{
public:
    DataConverter(const std::string& name, const Shape& shape, const std::string& axis, DataType type,
                  BlockType blockType)
        : m_name(name), m_shape(shape), m_axis(axis), m_type(type), m_blockType(blockType),
          m_data(std::make_shared<InputData>())
    {
        m_data->type = type;
    }

    std::shared_ptr<const InputData> Convert(const py::handle& value)
    {
        if (py::hasattr(value, "_one_hot_matrices"))
            TakeOneHot(value);
        else if (IsSparse(value))
            TakeSparseFrames(value);
        else if (IsList(value) && !IsEmpty(value) && IsSparse(ElementOf(value, 0)))
            TakeSparseSequences(value);
        else if (py::isinstance<py::array>(value) || !IsList(value) || !py::isinstance<py::array>(First(value)))
            TakeWhole(value);
        else
            TakeList(value);
        m_data->owner = OwnerOf(std::move(m_objects));
        return m_data;
    }

private:
    static bool IsList(const py::handle& value)
    {
        return py::isinstance<py::list>(value) || py::isinstance<py::tuple>(value);
    }
    static bool IsEmpty(const py::handle& value) { return py::len(value) == 0; }
    static py::object ElementOf(const py::handle& value, size_t index)
    {
        return py::reinterpret_borrow<py::object>(value)[py::int_(index)];
    }
    static py::object First(const py::handle& value)
    {
        return IsEmpty(value) ? py::object(py::none()) : ElementOf(value, 0);
    }
    // A matrix of scipy.
    static bool IsSparse(const py::handle& value) { return py::hasattr(value, "tocsr"); }

    bool TakesFrames() const { return m_axis == Api::c_defaultAxis || m_axis == Api::c_batchAxis; }
    bool TakesSequences() const { return m_axis != Api::c_batchAxis; }

    [[noreturn]] void FailForm(const std::string& came) const
    {
        const std::string sample = Api::ToText(m_shape);
        const std::string frames = Concat("samples as an array [N, *", sample, "]");
        const std::string sequences = Concat("sequences as a list of N arrays [T, *", sample, "]");
        Fail(ErrorKind::Data, "the data of input '", m_name, "' of shape ", sample, " x ", m_axis, " are ", came,
             "; expected ", TakesFrames() ? frames : sequences,
             TakesFrames() && TakesSequences() ? " or " + sequences
             : TakesFrames()                   ? ", one for each sequence"
                                               : " or an array [N, T, *" + sample + "]");
    }

    bool EndsWithShape(const Shape& shape) const
    {
        return shape.size() >= m_shape.size() &&
               std::equal(m_shape.begin(), m_shape.end(), shape.end() - ptrdiff_t(m_shape.size()));
    }

    // Returns the form of an array of floating-point numbers whose elements lie at equal distances within a sample, if
    // a feeder can take it. axis: that of the samples.
    std::optional<BlockForm> FormOf(const py::array& array, size_t axis) const
    {
        const bool isDouble = py::isinstance<py::array_t<double>>(array);
        if (m_blockType != BlockType::AnyFloat || (!isDouble && !py::isinstance<py::array_t<float>>(array)) ||
            (array.flags() & py::detail::npy_api::NPY_ARRAY_ALIGNED_) == 0)
            return std::nullopt;
        const auto size = ptrdiff_t(isDouble ? sizeof(double) : sizeof(float));
        ptrdiff_t element = size, samples = 1; // distance of the elements, elements seen so far
        for (size_t i = size_t(array.ndim()) - 1; i > axis; i--)
        {
            if (array.shape(i) == 1)
                continue;
            if (samples == 1)
                element = array.strides(i);
            else if (array.strides(i) != samples * element)
                return std::nullopt;
            samples *= array.shape(i);
        }
        const ptrdiff_t step = array.shape(axis) > 1 ? array.strides(axis) : samples * size;
        if (step % size != 0 || element % size != 0)
            return std::nullopt;
        return BlockForm{isDouble ? DataType::Float64 : DataType::Float32, step / size, element / size};
    }

    // Returns the memory of an array, and keeps the array. axis: that of the samples. form: set to the array's, which a
    // feeder converts, or else to the form of a converted copy.
    const std::byte* Keep(const py::array& array, size_t axis, BlockForm& form)
    {
        if (const std::optional<BlockForm> own = FormOf(array, axis))
        {
            form = *own;
            m_objects.push_back(array);
            return static_cast<const std::byte*>(array.data());
        }
        form = {m_type, ptrdiff_t(Api::ElementsOf(m_shape)), 1};
        return static_cast<const std::byte*>(Keep(array));
    }

    bool IsPlain(const BlockForm& form) const
    {
        return form.type == m_type && form.element == 1 && form.step == ptrdiff_t(Api::ElementsOf(m_shape));
    }

    // Returns the memory of an array with the input's element type, in C order, and keeps the array.
    const void* Keep(const py::array& array)
    {
        py::array converted =
            m_type == DataType::Float32
                ? py::array(py::array_t<float, py::array::c_style | py::array::forcecast>::ensure(array))
                : py::array(py::array_t<double, py::array::c_style | py::array::forcecast>::ensure(array));
        if ((converted.flags() & py::detail::npy_api::NPY_ARRAY_ALIGNED_) == 0)
            converted = converted.attr("copy")();
        const void* const data = converted.data();
        m_objects.push_back(std::move(converted));
        return data;
    }

    py::array ArrayOf(const py::handle& value) const
    {
        return RealArray(value, Concat("the data of input '", m_name, "'"));
    }

    void TakeWhole(const py::handle& value)
    {
        if (IsList(value))
        {
            const py::array whole = HasEqualLengths(value) ? py::array::ensure(value) : py::array();
            if (!whole || whole.dtype().kind() == 'O' || whole.size() == 0)
                return TakeList(value);
            return TakeArray(ArrayOf(whole));
        }
        TakeArray(ArrayOf(value));
    }

    // False for a list of lists of different lengths. numpy would find that out after a walk over all numbers.
    static bool HasEqualLengths(const py::handle& value)
    {
        const py::object first = First(value);
        for (const py::handle& element : value)
            if (IsList(first) && IsList(element) && py::len(element) != py::len(first))
                return false;
        return true;
    }

    void TakeArray(const py::array& array)
    {
        const Shape shape = ShapeOf(array);
        const size_t rank = m_shape.size();
        if (!EndsWithShape(shape))
            FailForm("an array of the shape " + Api::ToText(shape));
        if (shape.size() == rank + 1 && TakesFrames())
            return TakeFrames(array, shape[0]);
        if (shape.size() == rank + 2 && TakesSequences())
            return TakeEqualSequences(array, shape[0], shape[1]);
        FailForm(Concat("an array of the shape ", Api::ToText(shape),
                        shape.size() == rank + 1 ? " (put a single sequence into a list)" : ""));
    }

    void TakeFrames(const py::array& array, size_t count)
    {
        m_data->form = InputData::Form::Frames;
        m_data->count = count;
        BlockForm form;
        m_data->blocks = {Keep(array, 0, form)};
        if (!IsPlain(form))
            m_data->forms = {form};
    }

    void TakeEqualSequences(const py::array& array, size_t count, size_t length)
    {
        if (count == 0 || length == 0)
            FailForm(count == 0 ? "no sequences" : "sequences without steps");
        BlockForm form;
        const std::byte* const data = Keep(array, 1, form);
        const bool isOwn = m_objects.back().is(array);
        const ptrdiff_t bytes = isOwn ? array.strides(0) : ptrdiff_t(length) * form.step * ptrdiff_t(SizeOf(m_type));
        for (size_t sequence = 0; sequence < count; sequence++)
            AddSequence(data + ptrdiff_t(sequence) * bytes, length);
        if (!IsPlain(form))
            m_data->forms.assign(count, form);
    }

    void AddSequence(const void* block, size_t length)
    {
        if (length == 0)
            FailForm(Concat("sequences of which sequence ", m_data->count, " has no steps"));
        m_data->form = InputData::Form::Sequences;
        m_data->blocks.push_back(block);
        m_data->lengths.push_back(uint32_t(length));
        m_data->count++;
    }

    // A list whose elements may differ in length.
    void TakeList(const py::handle& value)
    {
        std::vector<py::array> arrays;
        for (const py::handle& element : value)
        {
            py::array array = py::array::ensure(element);
            if (!array)
                PyErr_Clear();
            if (!array || array.dtype().kind() == 'O')
                FailForm("a list whose element " + std::to_string(arrays.size()) + " is no rectangular array");
            arrays.push_back(ArrayOf(array));
        }
        if (arrays.empty())
            FailForm("an empty list");
        const size_t rank = m_shape.size();
        for (size_t i = 0; i < arrays.size(); i++)
            if (const Shape shape = ShapeOf(arrays[i]);
                arrays[i].ndim() != arrays[0].ndim() || !EndsWithShape(shape) || shape.size() > rank + 1)
                FailForm(Concat("a list whose element ", i, " has the shape ", Api::ToText(shape)));
        const bool isFrames = size_t(arrays[0].ndim()) == rank;
        if (isFrames && !TakesFrames())
            FailForm(Concat("a list of ", arrays.size(), " arrays of the shape ", Api::ToText(ShapeOf(arrays[0])),
                            " (put a single sequence into a list)"));
        if (!isFrames && !TakesSequences())
            FailForm(Concat("a list of ", arrays.size(), " arrays of the shape ", Api::ToText(ShapeOf(arrays[0]))));
        if (isFrames)
            return TakeFrames(py::module_::import("numpy").attr("stack")(value), arrays.size());
        for (const py::array& array : arrays)
            AddSequence(Keep(array, 0, m_data->forms.emplace_back()), size_t(array.shape(0)));
        if (std::all_of(m_data->forms.begin(), m_data->forms.end(), [this](const auto& form) { return IsPlain(form); }))
            m_data->forms.clear();
    }

    // ---- sparse ----

    size_t KeepSparse(const py::handle& matrix)
    {
        py::object csr = matrix.attr("tocsr")();
        csr.attr("sum_duplicates")();
        const auto rows = csr.attr("shape")[py::int_(0)].cast<size_t>();
        const auto columns = csr.attr("shape")[py::int_(1)].cast<size_t>();
        if (m_shape.size() != 1 || columns != m_shape[0])
            FailForm(Concat("a sparse matrix of the shape ", Api::ToText({rows, columns})));
        const auto indices = [&](const char* name)
        {
            const auto array = py::array_t<int32_t, py::array::c_style | py::array::forcecast>::ensure(csr.attr(name));
            m_objects.push_back(array);
            return array.data();
        };
        const void* const values = Keep(ArrayOf(csr.attr("data")));
        m_data->sparse.push_back({values, indices("indices"), indices("indptr")});
        return rows;
    }

    void TakeSparseFrames(const py::handle& matrix)
    {
        if (!TakesFrames())
            FailForm("a sparse matrix (put a single sequence into a list)");
        m_data->count = KeepSparse(matrix);
    }

    void TakeSparseSequences(const py::handle& matrices)
    {
        if (!TakesSequences())
            FailForm("a list of sparse matrices");
        m_data->form = InputData::Form::Sequences;
        for (const py::handle& matrix : matrices)
        {
            const size_t length = KeepSparse(matrix);
            if (length == 0)
                FailForm(Concat("sequences of which sequence ", m_data->count, " has no steps"));
            m_data->lengths.push_back(uint32_t(length));
            m_data->count++;
        }
    }

    // cntk.io.OneHot: CSR arrays (values, columns, starts) of all samples, or of each sequence.
    void TakeOneHot(const py::handle& value)
    {
        const auto classes = value.attr("num_classes").cast<size_t>();
        if (m_shape.size() != 1 || classes != m_shape[0])
            FailForm(Concat("one-hot data of ", classes, " classes"));
        const bool isFrames = value.attr("is_frames").cast<bool>();
        if (isFrames && !TakesFrames())
            FailForm("ids of a single sequence (put them into a list)");
        if (!isFrames && !TakesSequences())
            FailForm("ids of sequences");
        m_data->form = isFrames ? InputData::Form::Frames : InputData::Form::Sequences;
        for (const py::handle& ids : value.attr("_one_hot_matrices")())
        {
            const auto columns =
                py::array_t<int32_t, py::array::c_style | py::array::forcecast>::ensure(ids[py::int_(0)]);
            const auto starts =
                py::array_t<int32_t, py::array::c_style | py::array::forcecast>::ensure(ids[py::int_(1)]);
            m_objects.push_back(columns);
            m_objects.push_back(starts);
            m_data->sparse.push_back({Keep(ArrayOf(ids[py::int_(2)])), columns.data(), starts.data()});
            if (isFrames)
                m_data->count = size_t(columns.size());
            else
            {
                if (columns.size() == 0)
                    FailForm(Concat("ids of sequences of which sequence ", m_data->count, " has no steps"));
                m_data->lengths.push_back(uint32_t(columns.size()));
                m_data->count++;
            }
        }
    }

    const std::string& m_name;
    const Shape& m_shape;
    const std::string& m_axis;
    DataType m_type;
    BlockType m_blockType;
    std::shared_ptr<InputData> m_data;
    std::vector<py::object> m_objects;
};

py::array NewArray(const Api::ValueForm& form, std::vector<size_t> leading, std::vector<void*>& blocks)
{
    leading.insert(leading.end(), form.shape.begin(), form.shape.end());
    py::array array(DtypeOf(form.type), leading);
    blocks.push_back(array.mutable_data());
    return array;
}

} // namespace

std::shared_ptr<const InputData> DataFrom(const py::handle& value, const std::string& name, const Shape& shape,
                                          const std::string& axis, DataType type, BlockType blockType)
{
    if (py::isinstance<MinibatchData>(value))
        return value.cast<const MinibatchData&>().data;
    return DataConverter(name, shape, axis, type, blockType).Convert(value);
}

py::object ArraysFor(const Api::ValueForm& form, std::vector<void*>& blocks)
{
    switch (form.kind)
    {
    case Api::ValueForm::Kind::Single:
        return NewArray(form, {}, blocks);
    case Api::ValueForm::Kind::Frames:
        return NewArray(form, {form.lengths.size()}, blocks);
    case Api::ValueForm::Kind::Sequences:
        break;
    }
    return SequenceArraysFor(form, blocks);
}

py::object SequenceArraysFor(const Api::ValueForm& form, std::vector<void*>& blocks)
{
    py::list arrays;
    if (form.kind == Api::ValueForm::Kind::Single)
        arrays.append(NewArray(form, {1}, blocks));
    else if (form.kind == Api::ValueForm::Kind::Frames)
    {
        // One block for all, of which each sequence gets its part.
        py::array all = NewArray(form, {form.lengths.size(), 1}, blocks);
        for (size_t sequence = 0; sequence < form.lengths.size(); sequence++)
            arrays.append(all[py::int_(sequence)]);
    }
    else
        for (const size_t length : form.lengths)
            arrays.append(NewArray(form, {length}, blocks));
    return arrays;
}

} // namespace cntk::Python
