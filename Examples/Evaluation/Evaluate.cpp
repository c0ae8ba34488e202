// Describes a model, then evaluates all samples of a text file on several threads, with one evaluator a thread.
//
//     g++ -std=c++17 -pthread Evaluate.cpp $(pkg-config --cflags --libs cntk) -o evaluate
//     ./evaluate model.dnn samples.txt [threads]
#include <cntk/cntk.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

int main(int argc, char** argv)
try
{
    if (argc < 3)
    {
        std::fprintf(stderr, "usage: %s MODEL SAMPLES [THREADS]\n", argv[0]);
        return 2;
    }
    const cntk::Model model = cntk::Model::Load(argv[1]);
    const cntk::Evaluator first(model);
    for (const cntk::NodeInfo& node : first.Inputs())
        std::printf("input %s: %zu values a sample\n", node.name.c_str(), node.elements);
    for (const cntk::NodeInfo& node : first.Outputs())
        std::printf("output %s: %zu values a sample\n", node.name.c_str(), node.elements);

    std::ifstream file(argv[2]);
    const std::vector<float> samples{std::istream_iterator<float>(file), {}};
    const std::size_t elements = first.Inputs().at(0).elements, count = samples.size() / elements;
    const std::size_t threads = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 2;

    std::vector<std::vector<float>> results(threads);
    std::vector<std::thread> workers;
    for (std::size_t i = 0; i < threads; ++i)
        workers.emplace_back(
            [&, i]
            {
                cntk::Evaluator evaluator(model); // shares the parameters of the model
                const std::size_t begin = count * i / threads, end = count * (i + 1) / threads;
                evaluator.SetDense(0, samples.data() + begin * elements, end - begin);
                evaluator.Evaluate();
                results[i] = evaluator.Output<float>(0);
            });
    for (std::thread& worker : workers)
        worker.join();

    const std::size_t rows = first.Outputs().at(0).elements;
    for (const std::vector<float>& result : results)
        for (std::size_t i = 0; i < result.size(); ++i)
            std::printf("%.6f%c", double(result[i]), (i + 1) % rows == 0 ? '\n' : ' ');
    return 0;
}
catch (const cntk::Error& error)
{
    std::fprintf(stderr, "error: %s\n", error.what());
    return error.Status();
}
