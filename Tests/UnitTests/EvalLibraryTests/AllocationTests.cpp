// Repeated evaluations allocate nothing.
#include "AllocationCounter.h"
#include "EvalLibraryTests/EvalModels.h"

namespace cntk::Testing
{

TEST(CApiAllocations, TheSteadyStateAllocatesNothing)
{
    const std::vector<double> data = EvalData(3 * 8);
    const std::vector<float> floats(data.begin(), data.end());
    for (const std::string& bytes : {FrameModel(), RecurrentModel(), RecurrentModel(DataType::Float32), LstmModel(),
                                     HardmaxModel(), RecurrentModel(DataType::Float64, "FutureValue")})
    {
        Evaluation evaluation(bytes);
        cntk_node_info info = {};
        info.struct_size = sizeof info;
        ExpectOk(cntk_evaluator_output(evaluation.evaluator, 0, &info));
        std::vector<double> output(100);
        const void* view = nullptr;
        size_t samples = 0;
        const auto evaluate = [&](std::vector<size_t>& lengths, size_t count, bool next)
        {
            cntk_set_sequences(evaluation.evaluator, lengths.data(), lengths.size());
            cntk_set_dense(evaluation.evaluator, 0, CNTK_FLOAT, floats.data(), count);
            const cntk_status status =
                next ? cntk_evaluate_next(evaluation.evaluator) : cntk_evaluate(evaluation.evaluator);
            cntk_get(evaluation.evaluator, 0, CNTK_DOUBLE, output.data(), output.size(), &samples);
            cntk_view(evaluation.evaluator, 0, &view, &samples);
            return status == CNTK_OK;
        };
        std::vector<size_t> none, two = {5, 3}, shorter = {2, 3};
        const bool resumes = bytes != RecurrentModel(DataType::Float64, "FutureValue");
        size_t failed = 0, before = 0;
        for (int round = 0; round < 12; round++)
        {
            if (round == 6) // after the warm-up
                before = s_allocations;
            failed += !evaluate(none, 8, false);
            failed += !evaluate(two, 8, false);
            failed += !evaluate(shorter, 5, false);
            for (int step = 0; step < 3 && resumes; step++)
                failed += !evaluate(shorter, 5, true);
        }
        EXPECT_EQ(s_allocations - before, 0u);
        EXPECT_EQ(failed, 0u) << cntk_last_error();
    }
}

} // namespace cntk::Testing
