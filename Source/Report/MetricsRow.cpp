#include "Report/MetricsRow.h"

#include <algorithm>
#include <array>

namespace cntk
{

namespace
{

constexpr std::array<const char*, 8> c_kinds{"start",  "minibatch", "epoch", "validation",
                                             "result", "confusion", "model", "end"};

} // namespace

const char* NameOf(RowKind kind)
{
    return c_kinds.at(size_t(kind));
}

std::optional<RowKind> RowKindOf(std::string_view name)
{
    const auto found = std::find(c_kinds.begin(), c_kinds.end(), name);
    if (found == c_kinds.end())
        return {};
    return RowKind(found - c_kinds.begin());
}

bool IsIn(RowGroup group, RowKind kind)
{
    const bool isEvaluation = kind == RowKind::Result || kind == RowKind::Confusion;
    return kind != RowKind::Start && kind != RowKind::End && isEvaluation == (group == RowGroup::Evaluation);
}

bool ContinuationPoint::IsRepeated(RowKind kind, std::optional<size_t> epoch, std::optional<size_t> minibatch) const
{
    if (!epoch || *epoch <= epochs)
        return false;
    return kind != RowKind::Minibatch || *epoch > epochs + 1 || minibatch.value_or(0) > minibatches;
}

} // namespace cntk
