/* Evaluates a model on samples of a text file, one sample a line, and prints the outputs like action=write.
 *
 *     cc Evaluate.c $(pkg-config --cflags --libs cntk) -o evaluate
 *     ./evaluate model.dnn samples.txt [output node] */
#include <cntk/cntk.h>

#include <stdio.h>
#include <stdlib.h>

static int fail(void)
{
    fprintf(stderr, "error: %s\n", cntk_last_error());
    return EXIT_FAILURE;
}

/* Reads the next number. Returns 0 at the end. */
static int read_number(FILE* file, float* value)
{
    return fscanf(file, "%f", value) == 1;
}

int main(int argc, char** argv)
{
    cntk_model* model = NULL;
    cntk_evaluator* evaluator = NULL;
    cntk_node_info input = {.struct_size = sizeof input}, output = {.struct_size = sizeof output};
    const char* const* names = argc > 3 ? (const char* const*)argv + 3 : NULL;
    if (argc < 3)
    {
        fprintf(stderr, "usage: %s MODEL SAMPLES [OUTPUT]\n", argv[0]);
        return 2;
    }
    if (cntk_model_load(argv[1], CNTK_AS_FILE, &model) != CNTK_OK ||
        cntk_evaluator_create(model, names, names != NULL, &evaluator) != CNTK_OK)
        return fail();
    cntk_model_release(model); /* the evaluator keeps what it needs */
    if (cntk_evaluator_input(evaluator, 0, &input) != CNTK_OK || cntk_evaluator_output(evaluator, 0, &output) != CNTK_OK)
        return fail();

    FILE* file = fopen(argv[2], "r");
    if (file == NULL)
    {
        perror(argv[2]);
        return EXIT_FAILURE;
    }
    float* sample = malloc(input.elements * sizeof *sample);
    float* result = malloc(output.elements * sizeof *result);
    if (sample == NULL || result == NULL)
        return EXIT_FAILURE;
    for (;;)
    {
        size_t read = 0, samples = 0;
        while (read < input.elements && read_number(file, sample + read))
            read++;
        if (read < input.elements)
            break;
        if (cntk_set_dense(evaluator, 0, CNTK_FLOAT, sample, 1) != CNTK_OK || cntk_evaluate(evaluator) != CNTK_OK ||
            cntk_get(evaluator, 0, CNTK_FLOAT, result, output.elements, &samples) != CNTK_OK)
            return fail();
        for (size_t i = 0; i < output.elements; i++)
            printf("%s%.6f", i > 0 ? " " : "", result[i]);
        printf("\n");
    }
    if (ferror(file))
    {
        perror(argv[2]);
        return EXIT_FAILURE;
    }
    free(sample);
    free(result);
    fclose(file);
    cntk_evaluator_release(evaluator);
    return EXIT_SUCCESS;
}
