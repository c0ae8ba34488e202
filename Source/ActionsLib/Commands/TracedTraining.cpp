// Lines of progress on standard output.
#include "ActionsLib/Commands/TracedTraining.h"

#include <cstdio>

namespace cntk
{

void TrainTraced(const CommandContext& command, TrainingRequest& request)
{
    ProgramContext& program = command.program;
    const size_t before = program.epochsDone;
    if (program.progressTracing)
        request.epochDone = [&program, before](const EpochReport& report)
        {
            const size_t done = before + report.epoch + 1;
            std::printf("PROGRESS: %.2f%%\n", 100.0 * double(done) / double(program.epochsTotal));
            if (!report.evaluations.empty())
                std::printf("EVALERR: %.7f%%\n", 100 * report.evaluations[0]);
            std::fflush(stdout);
        };
    Train(request, program.log);
    program.epochsDone = before + request.options.maxEpochs;
}

} // namespace cntk
