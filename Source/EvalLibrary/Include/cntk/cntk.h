/* Evaluates CNTK models from other programs: C11 and C++. Link with libcntk (pkg-config cntk, CMake cntk::cntk).
 *
 *     cntk_model* model;
 *     cntk_evaluator* evaluator;
 *     if (cntk_model_load("first.dnn", CNTK_AS_FILE, &model) != CNTK_OK) { puts(cntk_last_error()); return 1; }
 *     cntk_evaluator_create(model, NULL, 0, &evaluator);
 *     cntk_set_dense(evaluator, 0, CNTK_FLOAT, features, samples);
 *     cntk_evaluate(evaluator);
 *     cntk_get(evaluator, 0, CNTK_FLOAT, scores, capacity, &samples);
 *
 * Errors: a function that can fail returns a status. cntk_last_error() has the message. Out parameters are NULL or 0
 * after an error, and so are the members of cntk_node_info. No exception, signal, output or change of locale or
 * environment leaves the library.
 *
 * Threads: a model never changes, so every thread may use it at any time. An evaluator is used by one thread at a time;
 * different evaluators run at once. Evaluators of one model share its parameters.
 *
 * Data: sample after sample; the elements of a sample in the order of its dims, the first dimension fastest; sequences
 * one after another, without padding. These are the lines of action=write. */
#ifndef CNTK_CNTK_H
#define CNTK_CNTK_H

#include <stddef.h>
#include <stdint.h>

/* Grows when functions are added. A program that was built for an earlier version keeps working. */
#define CNTK_API_VERSION 1

#if defined(__GNUC__)
#define CNTK_EXPORT __attribute__((visibility("default")))
#else
#define CNTK_EXPORT
#endif

#ifdef __cplusplus
extern "C"
{
#endif

    /* The exit codes of the program. */
    typedef enum cntk_status
    {
        CNTK_OK = 0,
        CNTK_USAGE = 2,    /* a wrong argument, or calls in a wrong order */
        CNTK_CONFIG = 3,   /* the text given to cntk_model_open */
        CNTK_DATA = 4,     /* the input data: numbers of samples, rows of sparse samples */
        CNTK_MODEL = 5,    /* the model file, or a node of the network */
        CNTK_DEVICE = 6,   /* memory, disk, GPU */
        CNTK_INTERNAL = 70 /* a bug of the library */
    } cntk_status;

    typedef enum cntk_type
    {
        CNTK_AS_FILE = 0, /* for loading: the precision of the model file */
        CNTK_FLOAT = 1,
        CNTK_DOUBLE = 2,
        CNTK_TYPE_LAST = 0x7fffffff /* never used: any int is a value of the type, so wrong ones can be refused */
    } cntk_type;

    typedef enum cntk_group
    {
        CNTK_INPUTS = 0, /* inputs for data, labels included */
        CNTK_OUTPUTS = 1,
        CNTK_CRITERIA = 2,
        CNTK_EVALUATIONS = 3,
        CNTK_PARAMETERS = 4, /* nodes whose values the model stores */
        CNTK_ALL = 5
    } cntk_group;

    typedef struct cntk_model cntk_model;
    typedef struct cntk_evaluator cntk_evaluator;

    /* Strings and arrays live as long as the object that was asked. */
    typedef struct cntk_node_info
    {
        size_t struct_size; /* set by the caller: sizeof(cntk_node_info) */
        const char* name;
        const char* type;
        const size_t* dims; /* of a sample, or of the whole value of a node without samples */
        size_t rank;
        size_t elements; /* the product of dims */
        int is_sparse;
        int has_samples; /* 0: one value for the whole minibatch, such as a parameter */
    } cntk_node_info;

    CNTK_EXPORT const char* cntk_version(void);
    CNTK_EXPORT int cntk_api_version(void);
    /* The message of this thread's last failing call, "" before the first one; valid until the next failing call. Its
     * first line says what is wrong and what to do; more lines say where. */
    CNTK_EXPORT const char* cntk_last_error(void);

    /* ---- models ---- */

    /* Loads a model file of any version. type: precision of the evaluation. */
    CNTK_EXPORT cntk_status cntk_model_load(const char* path, cntk_type type, cntk_model** model);
    /* Loads a model file from memory, which is not needed afterwards. */
    CNTK_EXPORT cntk_status cntk_model_load_memory(const void* bytes, size_t size, cntk_type type, cntk_model** model);
    /* Loads a model as a text in the config language says, one "key=value" a line or separated by semicolons:
     * modelPath, precision (float, double; default: as the file), deviceId (default: cpu), numCPUThreads (of one
     * evaluation, default: 1; 0: all cores), outputNodeNames (instead of the model's output nodes, separated by ':').
     * Other keys have no effect. */
    CNTK_EXPORT cntk_status cntk_model_open(const char* config, cntk_model** model);
    CNTK_EXPORT void cntk_model_release(cntk_model* model); /* NULL is allowed */

    /* 0 for a model or group that does not exist. */
    CNTK_EXPORT size_t cntk_model_count(const cntk_model* model, cntk_group group);
    CNTK_EXPORT cntk_status cntk_model_node(const cntk_model* model, cntk_group group, size_t index,
                                            cntk_node_info* info);
    /* Ignores the case of the name. */
    CNTK_EXPORT cntk_status cntk_model_find(const cntk_model* model, const char* name, cntk_node_info* info);
    /* Copies the values of a parameter, the first dimension fastest. capacity, count: numbers of elements. With too
     * little room nothing is copied, the status is CNTK_DATA, and count is the number needed. values may be NULL if
     * capacity is 0. */
    CNTK_EXPORT cntk_status cntk_model_parameter(const cntk_model* model, const char* name, cntk_type type,
                                                 void* values, size_t capacity, size_t* count);

    /* ---- evaluators ---- */

    /* outputs: names of nodes in any case; count 0: the model's output nodes. The model may be released before. */
    CNTK_EXPORT cntk_status cntk_evaluator_create(const cntk_model* model, const char* const* outputs, size_t count,
                                                  cntk_evaluator** evaluator);
    CNTK_EXPORT void cntk_evaluator_release(cntk_evaluator* evaluator); /* NULL is allowed */
    /* The inputs that the outputs need, without labels that only criteria read. */
    CNTK_EXPORT size_t cntk_evaluator_input_count(const cntk_evaluator* evaluator);
    CNTK_EXPORT size_t cntk_evaluator_output_count(const cntk_evaluator* evaluator);
    CNTK_EXPORT cntk_status cntk_evaluator_input(const cntk_evaluator* evaluator, size_t index, cntk_node_info* info);
    CNTK_EXPORT cntk_status cntk_evaluator_output(const cntk_evaluator* evaluator, size_t index, cntk_node_info* info);

    /* Divides the samples of the following calls into sequences, until it is called again. count 0: samples are
     * independent, which is the initial setting. A length may be 0. */
    CNTK_EXPORT cntk_status cntk_set_sequences(cntk_evaluator* evaluator, const size_t* lengths, size_t count);
    /* The same for inputs of another dynamic axis than the default one. */
    CNTK_EXPORT cntk_status cntk_set_axis_sequences(cntk_evaluator* evaluator, const char* axis, const size_t* lengths,
                                                    size_t count);
    /* Give an input its samples for the next evaluation. The memory must stay unchanged until that call returns. */
    CNTK_EXPORT cntk_status cntk_set_dense(cntk_evaluator* evaluator, size_t input, cntk_type type, const void* values,
                                           size_t samples);
    /* Samples with a single 1: its row, counted from 0. */
    CNTK_EXPORT cntk_status cntk_set_words(cntk_evaluator* evaluator, size_t input, const int32_t* rows,
                                           size_t samples);
    /* Sample i has the elements starts[i] to starts[i + 1] - 1 of values and rows. Rows of a sample ascend. starts has
     * samples + 1 elements. */
    CNTK_EXPORT cntk_status cntk_set_sparse(cntk_evaluator* evaluator, size_t input, cntk_type type, const void* values,
                                            const int32_t* rows, const int32_t* starts, size_t samples);

    /* Evaluates the outputs. Sequences begin. */
    CNTK_EXPORT cntk_status cntk_evaluate(cntk_evaluator* evaluator);
    /* Sequences continue where the previous call ended; their number must be the same. They begin after creation and
     * after cntk_reset. Independent samples count as sequences of one sample each. Fails (CNTK_MODEL) if a node looks
     * ahead in time. */
    CNTK_EXPORT cntk_status cntk_evaluate_next(cntk_evaluator* evaluator);
    CNTK_EXPORT void cntk_reset(cntk_evaluator* evaluator);

    /* Points at the values of an output in the model's type. The memory belongs to the evaluator and changes at its
     * next evaluation. */
    CNTK_EXPORT cntk_status cntk_view(const cntk_evaluator* evaluator, size_t output, const void** values,
                                      size_t* samples);
    /* Copies the values of an output. capacity: number of elements. With too little room nothing is copied, the status
     * is CNTK_DATA, and samples is set. */
    CNTK_EXPORT cntk_status cntk_get(const cntk_evaluator* evaluator, size_t output, cntk_type type, void* values,
                                     size_t capacity, size_t* samples);

#ifdef __cplusplus
}
#endif

#endif
