// Kernel cases of whole-matrix operations: fills, sums, products, random numbers, update rules.
#include "Math/Operations.h"
#include "Math/Products.h"
#include "MathTests/KernelCases.h"

#include <limits>

namespace cntk
{

namespace
{

using Ops::Transpose;

void AddFillCases(std::vector<KernelCase>& cases)
{
    cases.push_back({"Fill", [](KernelCaseRun& run)
                     {
                         Ops::Fill(run.Undefined(7, 5), 1.5);
                         Ops::Fill(run.Undefined(7, 5, 3), -2);
                         Ops::Fill(run.Undefined(700, 800), 3);
                         Ops::Fill(run.Output(0, 5), 1);
                     }});
    cases.push_back({"ZeroColumns", [](KernelCaseRun& run)
                     {
                         const std::vector<int32_t> some{1, 2, 3, 7, 19}, all{0, 1, 2, 3, 4};
                         Ops::ZeroColumns(run.Output(7, 20), some);
                         Ops::ZeroColumns(run.Output(700, 20, 3), some);
                         Ops::ZeroColumns(run.Output(7, 5), all);
                         Ops::ZeroColumns(run.Output(7, 5), {});
                         Ops::ZeroColumns(run.Output(0, 5), all);
                     }});
    cases.push_back({"Copy", [](KernelCaseRun& run)
                     {
                         Ops::Copy(run.Input(7, 5), run.Undefined(7, 5));
                         Ops::Copy(run.Input(7, 5, 2), run.Undefined(7, 5, 3));
                         Ops::Copy(run.Input(700, 800), run.Undefined(700, 800));
                         Ops::Copy(run.Input(700, 800, 3), run.Undefined(700, 800, 1));
                         Ops::Copy(run.Input(1, 200001, 2), run.Undefined(1, 200001, 0));
                     }});
    cases.push_back({"Scale", [](KernelCaseRun& run)
                     {
                         Ops::Scale(run.Output(7, 5), 0.3);
                         Ops::Scale(run.Output(7, 5, 2), -1);
                     }});
    cases.push_back({"MaskColumns", [](KernelCaseRun& run)
                     {
                         Ops::MaskColumns(run.Output(7, 20), run.Mask(20));
                         Ops::MaskColumns(run.Output(7, 20, 2), run.Mask(20), 3.5);
                         Ops::MaskColumns(run.Output(7, 20), {});
                     }});
    cases.push_back({"SumAll",
                     [](KernelCaseRun& run)
                     {
                         for (size_t size : {0, 1, 50, 1000})
                         {
                             Ops::SumAll(run.Input(size, 25), run.Output(1, 1), 2, 1);
                             Ops::SumAll(run.Input(size, 25, 1), run.Undefined(1, 1));
                         }
                         Ops::SumAll(run.Input(600, 900), run.Output(1, 1));
                     },
                     512}); // the terms are far larger than their sum
    cases.push_back({"Scalar", [](KernelCaseRun& run) { run.Record(Ops::ScalarOf(run.Input(1, 1))); }});
    cases.push_back({"HasNotFinite", [](KernelCaseRun& run)
                     {
                         run.Record(Ops::HasNotFinite(run.Input(50, 60)));
                         run.Record(Ops::HasNotFinite(run.Input(5, 6, 2)));
                         run.Record(Ops::HasNotFinite(run.Undefined(5, 6)));
                         const MatrixView values = run.Output(50, 60);
                         Ops::Fill(values.Rows(7, 1).Columns(59, 1), -1e308 * 10);
                         run.Record(Ops::HasNotFinite(values));
                     }});
    cases.push_back({"ClearNotFinite", [](KernelCaseRun& run)
                     {
                         for (const size_t pad : {0, 3})
                         {
                             const MatrixView values = run.Output(300, 7, pad);
                             Ops::Fill(values.Columns(2, 3).Rows(9, 2), 1e308 * 10);
                             Ops::Fill(values.Columns(4, 3).Rows(1, 2), std::numeric_limits<double>::quiet_NaN());
                             const std::vector<uint8_t> mask{1, 1, 0, 1, 0, 0, 1};
                             Ops::ClearNotFinite(values, mask);
                             Ops::ClearNotFinite(values, {});
                         }
                     }});
    cases.push_back({"AddNumbers", [](KernelCaseRun& run)
                     {
                         const Matrix totals(3 + Ops::c_rowsAfterTotals, 1, DataType::Float64, run.GetDevice());
                         const Matrix other(1, 1, DataType::Float64, run.GetDevice());
                         const MatrixView all = run.Output(1, 4);
                         const auto add = [&](size_t first, bool isNew)
                         {
                             const MatrixView numbers[] = {all.Columns(first, 1), other, all.Columns(1, 1)};
                             Ops::AddNumbers(numbers, isNew, totals);
                             for (const double total : totals.ToHost())
                                 run.Record(total);
                         };
                         Ops::Fill(other, 1e-12);
                         add(0, true);
                         add(3, false);
                         add(2, true);
                         Ops::Fill(all.Columns(2, 1), 1e308 * 10);
                         add(0, true);
                         add(2, true); // the fourth new column
                         add(2, true);
                     }});
    cases.push_back({"AddManyNumbers", [](KernelCaseRun& run)
                     {
                         const Matrix totals(40 + Ops::c_rowsAfterTotals, 1, DataType::Float64, run.GetDevice());
                         const MatrixView all = run.Output(1, 40);
                         std::vector<MatrixView> numbers;
                         for (size_t i = 0; i < 40; ++i)
                             numbers.push_back(all.Columns(i, 1));
                         Ops::AddNumbers(numbers, true, totals);
                         Ops::AddNumbers(numbers, true, totals);
                         for (const double total : totals.ToHost())
                             run.Record(total);
                     }});
}

void AddProductCases(std::vector<KernelCase>& cases)
{
    for (Transpose transposeA : {Transpose::No, Transpose::Yes})
    {
        for (Transpose transposeB : {Transpose::No, Transpose::Yes})
        {
            const auto product = [=](KernelCaseRun& run)
            {
                const size_t sizes[][3] = {{1, 1, 1},   {2, 25, 50},   {50, 25, 2}, {50, 25, 50}, {5, 1, 64},
                                           {1, 7, 130}, {33, 17, 129}, {64, 64, 1}, {3, 4, 0},    {190, 130, 250}};
                for (const auto& [m, n, k] : sizes)
                {
                    for (size_t pad : {0, 3})
                    {
                        const MatrixView a = transposeA == Transpose::Yes ? run.Input(k, m, pad) : run.Input(m, k, pad);
                        const MatrixView b = transposeB == Transpose::Yes ? run.Input(n, k, pad) : run.Input(k, n, pad);
                        Ops::Multiply(a, transposeA, b, transposeB, run.Undefined(m, n, pad));
                        Ops::Multiply(a, transposeA, b, transposeB, run.Output(m, n, pad), 0.5, 1);
                        Ops::Multiply(a, transposeA, b, transposeB, run.Output(m, n, pad), -1, 0.25);
                    }
                }
            };
            cases.push_back({std::string("Multiply") + (transposeA == Transpose::Yes ? "T" : "N") +
                                 (transposeB == Transpose::Yes ? "T" : "N"),
                             product});
        }
        const std::string suffix = transposeA == Transpose::Yes ? "T" : "N";
        cases.push_back({"MultiplyBiasActivate" + suffix, [=](KernelCaseRun& run)
                         {
                             for (ElementwiseOp op : {ElementwiseOp::Copy, ElementwiseOp::Sigmoid, ElementwiseOp::Tanh,
                                                      ElementwiseOp::RectifiedLinear, ElementwiseOp::Exp})
                             {
                                 const MatrixView a =
                                     transposeA == Transpose::Yes ? run.Input(9, 50, 1) : run.Input(50, 9, 1);
                                 Ops::MultiplyBiasActivate(a, transposeA, run.Input(9, 25), run.Input(50, 1), op,
                                                           run.Undefined(50, 25, 2));
                             }
                         }});
        cases.push_back({"MultiplySparse" + suffix, [=](KernelCaseRun& run)
                         {
                             for (double density : {0.0, 0.1, 0.7})
                             {
                                 const MatrixView a =
                                     transposeA == Transpose::Yes ? run.Input(40, 31, 2) : run.Input(31, 40, 2);
                                 const SparseView s = run.Sparse(40, 23, density);
                                 Ops::Multiply(a, transposeA, s, run.Undefined(31, 23, 1));
                                 Ops::Multiply(a, transposeA, s, run.Output(31, 23), 0.5, 1);
                                 Ops::Multiply(a, transposeA, s.Columns(3, 9), run.Output(31, 9), 2, 0.25);
                             }
                             const MatrixView a =
                                 transposeA == Transpose::Yes ? run.Input(500, 200) : run.Input(200, 500);
                             Ops::Multiply(a, transposeA, run.OneHot(500, 700), run.Undefined(200, 700));
                         }});
    }
    cases.push_back({"MultiplyByTransposeOfSparse", [](KernelCaseRun& run)
                     {
                         TouchedColumns touched;
                         const SparseView s = run.Sparse(40, 23, 0.05);
                         const MatrixView c = run.Output(31, 40, 2);
                         Ops::MultiplyByTransposeOf(run.Input(31, 23, 1), s, c, touched);
                         Ops::MultiplyByTransposeOf(run.Input(31, 9), s.Columns(5, 9), c, touched, 0.5);
                         for (int32_t column : touched.columns)
                             run.Record(column);
                         TouchedColumns many;
                         Ops::MultiplyByTransposeOf(run.Input(300, 900), run.OneHot(600, 900), run.Output(300, 600),
                                                    many);
                         for (int32_t column : many.columns)
                             run.Record(column);
                     }});
    cases.push_back({"LookUpColumns", [](KernelCaseRun& run)
                     {
                         for (double density : {0.0, 0.02, 0.5})
                         {
                             const SparseView s = run.Sparse(3 * 40, 23, density);
                             Ops::LookUpColumns(run.Input(7, 40, 2), s, run.Undefined(21, 23, 1));
                             Ops::LookUpColumns(run.Input(7, 40), s.Columns(5, 9), run.Undefined(21, 9));
                         }
                         // Whole registers and remaining rows; sums of more columns than one pass takes.
                         Ops::LookUpColumns(run.Input(75, 40), run.Sparse(40, 23, 0.1), run.Undefined(75, 23));
                         Ops::LookUpColumns(run.Input(200, 500), run.OneHot(500, 1900), run.Undefined(200, 1900));
                     }});
    cases.push_back({"LookUpColumnsGradient", [](KernelCaseRun& run)
                     {
                         TouchedColumns touched;
                         const SparseView s = run.Sparse(3 * 40, 23, 0.02);
                         const MatrixView table = run.Output(7, 40, 2);
                         Ops::LookUpColumnsGradient(run.Input(21, 23, 1), s, table, touched);
                         Ops::LookUpColumnsGradient(run.Input(21, 9), s.Columns(5, 9), table, touched);
                         for (int32_t column : touched.columns)
                             run.Record(column);
                         TouchedColumns many;
                         Ops::LookUpColumnsGradient(run.Input(300, 900), run.OneHot(600, 900), run.Output(300, 600),
                                                    many);
                         for (int32_t column : many.columns)
                             run.Record(column);
                     }});
    cases.push_back({"SumColumnProducts", [](KernelCaseRun& run)
                     {
                         const auto sum = [&](size_t rows, size_t columns, const std::vector<size_t>& steps, size_t pad)
                         {
                             std::vector<ColumnProducts> terms;
                             for (const size_t count : steps)
                                 terms.push_back({run.Input(count, rows, pad), run.Input(count, columns)});
                             Ops::SumColumnProducts(terms, run.Undefined(rows, columns, pad));
                         };
                         // Incomplete tiles and registers, and columns shorter than a register.
                         for (const size_t size : {1, 2, 3, 4, 5, 6, 9})
                             sum(size, 11 - size, {7}, size % 2);
                         sum(50, 65, {300, 300, 300, 300}, 0); // in several parts
                         sum(50, 13, {16, 1, 0, 37}, 3);
                         sum(7, 4, {0}, 0);
                         sum(64, 17, {2000, 33, 5000}, 1);
                         sum(65, 17, {40, 90}, 0);                           // more rows than one part has
                         sum(12, 30, std::vector<size_t>(17, size_t(3)), 0); // more terms
                         sum(0, 4, {5}, 0);
                     }});
    cases.push_back({"ToDense", [](KernelCaseRun& run)
                     {
                         const SparseView s = run.Sparse(17, 23, 0.2);
                         Ops::ToDense(s, run.Undefined(17, 23, 2));
                         Ops::ToDense(s.Columns(4, 5), run.Undefined(17, 5));
                     }});
}

void AddRandomCases(std::vector<KernelCase>& cases)
{
    // The streams are exact: no tolerance.
    cases.push_back({"FillUniform",
                     [](KernelCaseRun& run)
                     {
                         Ops::FillUniform(run.Undefined(7, 5), -0.05, 0.05, 1);
                         Ops::FillUniform(run.Undefined(50, 3, 2), 0, 1, 0);
                         Ops::FillUniform(run.Undefined(333, 301), -3, 0.5, 123456789012345);
                         Ops::FillUniform(run.Undefined(1, 1), 0, 1, 2147483647);
                     },
                     0});
    cases.push_back({"FillGaussian",
                     [](KernelCaseRun& run)
                     {
                         Ops::FillGaussian(run.Undefined(7, 5), 0, 0.1, 2);
                         Ops::FillGaussian(run.Undefined(50, 3, 2), 1, 2, 77);
                     },
                     0});
    cases.push_back({"FillDropoutMask",
                     [](KernelCaseRun& run)
                     {
                         Ops::FillDropoutMask(run.Undefined(7, 5), 0.5, 2, 1);
                         Ops::FillDropoutMask(run.Undefined(50, 3, 2), 0.2, 1.25, 3);
                         Ops::FillDropoutMask(run.Undefined(333, 301), 0.1, 1 / 0.9, 1073807360);
                     },
                     0});
}

void AddUpdateCases(std::vector<KernelCase>& cases)
{
    cases.push_back(
        {"MomentumUpdate", [](KernelCaseRun& run)
         {
             for (double momentum : {0.0, 0.9})
             {
                 Ops::MomentumUpdate(run.Output(50, 25), run.Output(50, 25), run.Input(50, 25), 0.1, momentum);
                 Ops::MomentumUpdate(run.Output(50, 25, 1), run.Output(50, 25, 2), run.Input(50, 25, 3), 0.1, momentum);
                 Ops::MomentumUpdate(run.Output(300, 500), run.Output(300, 500), run.Input(300, 500), 0.1, momentum);
             }
         }});
    cases.push_back(
        {"MomentumUpdateOfTouchedColumns", [](KernelCaseRun& run)
         {
             TouchedColumns touched;
             Ops::MomentumUpdate(run.Output(9, 20), run.Output(9, 20), run.Input(9, 20), 0.1, 0.9, &touched);
             touched.columns = {0, 3, 4, 19};
             Ops::MomentumUpdate(run.Output(9, 20), run.Output(9, 20), run.Input(9, 20), 0.1, 0.9, &touched);
             touched.all = true;
             Ops::MomentumUpdate(run.Output(9, 20), run.Output(9, 20), run.Input(9, 20), 0.1, 0.9, &touched);
         }});
}

} // namespace

std::vector<KernelCase> MatrixCases()
{
    std::vector<KernelCase> cases;
    AddFillCases(cases);
    AddProductCases(cases);
    AddRandomCases(cases);
    AddUpdateCases(cases);
    return cases;
}

} // namespace cntk
