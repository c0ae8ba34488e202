// A program for the interface of CNTK 1.1, IEvaluateModel: evaluates the samples of a text file in one call.
//
//     g++ -std=c++17 EvaluateModel.cpp $(pkg-config --cflags --libs cntk) -o evaluate
//     ./evaluate model.dnn samples.txt
#include <cntk/Eval.h>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

using namespace Microsoft::MSR::CNTK;

int main(int argc, char** argv)
try
{
    if (argc < 3)
    {
        std::fprintf(stderr, "usage: %s MODEL SAMPLES\n", argv[0]);
        return 2;
    }
    IEvaluateModel<float>* model = nullptr;
    GetEvalF(&model);
    model->Init("numCPUThreads=1");
    model->CreateNetwork("modelPath=\"" + std::string(argv[1]) + "\"");

    std::map<std::wstring, std::size_t> inputs, outputs;
    model->GetNodeDimensions(inputs, nodeInput);
    model->GetNodeDimensions(outputs, nodeOutput);
    const std::wstring inputName = inputs.begin()->first, outputName = outputs.begin()->first;

    std::ifstream file(argv[2]);
    std::vector<float> samples{std::istream_iterator<float>(file), {}}, results;
    std::map<std::wstring, std::vector<float>*> given{{inputName, &samples}}, wanted{{outputName, &results}};
    model->StartEvaluateMinibatchLoop(outputName);
    model->Evaluate(given, wanted);

    const std::size_t rows = outputs[outputName];
    for (std::size_t i = 0; i < results.size(); ++i)
        std::printf("%.6f%c", double(results[i]), (i + 1) % rows == 0 ? '\n' : ' ');
    model->Destroy();
    return 0;
}
catch (const std::exception& error)
{
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
}
